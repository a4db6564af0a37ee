use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use super::super::Folder;
use super::super::directory::Child;
use super::*;
use crate::array::{Array, Dtype, Element, Endian, Order};
use crate::tree::{Abilities, Builder, Datasets, NameList, Sidecars};

/// Datasets whose bytes are their numbers. Those with a dot in their file names are no arrays, `bad` makes no sense,
/// and the bytes of `gone` and `torn` are not to be had.
struct Numbers(Vec<String>);

impl Datasets for Numbers {
    fn count(&self) -> u64 {
        self.0.len() as u64
    }

    fn size(&self, _: u32) -> Size {
        Size { len: Some(4), stored: 4 }
    }

    fn content(&self, dataset: u32) -> Result<Content> {
        match self.0.get(dataset as usize).map(String::as_str) {
            Some("gone") => Err(Error::NotFound),
            Some("torn") => Err(Error::damaged(Default::default(), "it is torn")),
            _ => Ok(Content::Inline(dataset.to_le_bytes().into())),
        }
    }

    fn ready_content(&self, dataset: u32) -> Result<Option<Content>> {
        self.content(dataset).map(Some)
    }

    fn describe(&self, dataset: u32) -> Result<Description> {
        let name = self.0.get(dataset as usize).ok_or(Error::NotFound)?;
        let dtype = Dtype { element: Element::from_name("uint32").unwrap(), endian: Endian::Little };
        Ok(Description {
            array: (!name.rsplit('/').next().unwrap().contains('.'))
                .then(|| Array::new(dtype, [1], Order::C)),
            decoded_len: Some(4),
            fault: name.starts_with("bad.").then(|| "it is invalid".into()),
            ..Description::of(name.as_str(), "any")
        })
    }

    fn abilities(&self) -> Abilities<'_> {
        Abilities { sidecars: Some(self), ..Abilities::default() }
    }
}

impl Sidecars for Numbers {
    fn sidecar_size(&self, _: u32, _: &[u8]) -> Size {
        Size::NOTHING
    }

    fn sidecar(&self, _: u32, _: &[u8]) -> Result<Content> {
        Ok(Content::Inline(Arc::default()))
    }
}

/// Each array is a directory with the files `0` and `1`; the first directory has a file that names all arrays.
struct Store;

struct Two(Content);

impl Folder for Two {
    fn find(&self, name: &[u8]) -> Result<Option<Content>> {
        Ok(matches!(name, b"0" | b"1").then(|| self.0.clone()))
    }

    fn list(&self, cursor: u64, each: &mut dyn FnMut(&[u8], u64) -> bool) -> Result<()> {
        let _ = (cursor..2).all(|at| each(at.to_string().as_bytes(), at + 1));
        Ok(())
    }
}

fn walk(directory: &Directory, found: &mut Vec<u8>) -> Result<()> {
    directory.each(&mut |name, child| match child? {
        Child::Directory(inner) => walk(&inner, found),
        Child::Dataset(dataset) => {
            let kind = dataset.describe()?.array.as_ref().map_or("", |_| "[]");
            found.extend([name, kind.as_bytes(), b";"].concat());
            Ok(())
        }
    })
}

impl View for Store {
    fn kind(&self) -> &'static str {
        "store"
    }

    fn extension(&self) -> &'static str {
        ""
    }

    fn shows(&self, about: &Description) -> bool {
        about.array.is_some()
    }

    fn represent(&self, dataset: &Dataset) -> Result<Made> {
        Ok(Made::Directory(Arc::new(Two(dataset.content()?))))
    }

    fn store(&self) -> Option<&dyn super::super::Store> {
        Some(self)
    }
}

impl super::super::Store for Store {
    fn beside(&self, directory: &Directory) -> &'static [&'static str] {
        if directory.is_container() { &[".all"] } else { &[] }
    }

    fn file_beside(&self, directory: &Directory, _: &str) -> Result<Content> {
        let mut found = Vec::new();
        walk(directory, &mut found)?;
        Ok(Content::Inline(found.into()))
    }
}

static ALL: &[&dyn View] = &[&super::super::npy::Npy, &Store];

/// Counts how often it represents a dataset.
struct Counted;

static COUNT: AtomicU64 = AtomicU64::new(0);

impl View for Counted {
    fn kind(&self) -> &'static str {
        "counted"
    }
    fn extension(&self) -> &'static str {
        ".x"
    }
    fn shows(&self, _: &Description) -> bool {
        true
    }
    fn represent(&self, dataset: &Dataset) -> Result<Made> {
        COUNT.fetch_add(1, Ordering::Relaxed);
        Ok(Made::File(dataset.content()?))
    }
}

fn overlay(names: &[&str], shown: Option<&'static dyn View>) -> Overlay {
    let list: NameList = names.iter().copied().collect();
    let numbers = Numbers(names.iter().map(|name| name.to_string()).collect());
    let tree = Builder::build(&list, Arc::new(numbers)).unwrap();
    Overlay::with(ALL, Arc::new(tree), shown)
}

fn go(tree: &Overlay, path: &str) -> Result<Option<NodeId>> {
    let mut node = ROOT;
    for name in path.split('/') {
        match tree.lookup(node, name.as_bytes())? {
            Some((next, _)) => node = next,
            None => return Ok(None),
        }
    }
    Ok(Some(node))
}

fn bytes(tree: &Overlay, path: &str) -> Vec<u8> {
    let content = tree.content(go(tree, path).unwrap().unwrap(), FileKind::Data).unwrap();
    content.read(0, 9999).unwrap().to_vec()
}

/// All that is listed below a directory; each can be looked up and gives the number that was listed.
fn listed(tree: &Overlay, path: &str) -> Vec<String> {
    let dir = if path.is_empty() { ROOT } else { go(tree, path).unwrap().unwrap() };
    let mut entries: BTreeMap<String, Entry> = BTreeMap::new();
    tree.list(dir, 0, &mut |name, entry| {
        assert!(entries.insert(String::from_utf8(name.to_vec()).unwrap(), entry).is_none());
        true
    })
    .unwrap();
    let mut all = Vec::new();
    for (name, entry) in entries.into_iter().filter(|(_, entry)| entry.file == FileKind::Data) {
        assert_eq!(tree.lookup(dir, name.as_bytes()).unwrap(), Some((entry.node, entry.file)), "{name}");
        assert_eq!((tree.kind(entry.node).unwrap(), tree.parent(entry.node)), (entry.kind, dir), "{name}");
        let inner = if path.is_empty() { name } else { format!("{path}/{name}") };
        if entry.kind != NodeKind::File {
            all.extend(listed(tree, &inner));
        }
        all.push(inner);
    }
    all.retain(|name| !name.is_empty());
    all
}

#[test]
fn views_are_found_and_not_listed() {
    let tree = overlay(&["a", "d/b", "t.txt", "d/views/.views"], None);
    assert_eq!(listed(&tree, ""), ["a", "d/b", "d/views/.views", "d/views", "d", "t.txt"]);
    let npy = [".views/npy/a.npy", ".views/npy/d/b.npy", ".views/npy/d/views", ".views/npy/d", ".views/npy"];
    let store = [
        ".views/store/.all",
        ".views/store/a/0",
        ".views/store/a/1",
        ".views/store/a",
        ".views/store/d/b/0",
        ".views/store/d/b/1",
        ".views/store/d/b",
        ".views/store/d/views",
        ".views/store/d",
        ".views/store",
    ];
    assert_eq!(listed(&tree, ".views"), [&npy[..], &store].concat());
    assert_eq!(bytes(&tree, ".views/npy/d/b.npy").split_off(128), [1, 0, 0, 0]);
    assert_eq!(bytes(&tree, ".views/store/d/b/1"), [1, 0, 0, 0]);
    assert_eq!(bytes(&tree, ".views/store/.all"), b"a[];b[];.views;t.txt;");
    for none in [".views/npy/t.txt.npy", ".views/npy/a", ".views/x", "d/.views", ".views/store/a/2"] {
        assert_eq!(go(&tree, none).unwrap(), None, "{none}");
    }
    assert!(matches!(go(&tree, ".views/npy/a.npy/x"), Err(Error::NotADirectory)));
}

#[test]
fn listings_go_on_after_any_cursor() {
    let tree = overlay(&["a", "b", "d/c"], Some(&Store));
    for path in ["", ".views", ".views/npy", ".views/store", ".views/store/a"] {
        let dir = if path.is_empty() { ROOT } else { go(&tree, path).unwrap().unwrap() };
        let from = |cursor| {
            let mut found = Vec::new();
            tree.list(dir, cursor, &mut |name, entry| {
                found.push((name.to_vec(), entry.cursor));
                true
            })
            .unwrap();
            found
        };
        let all = from(0);
        for (at, (_, cursor)) in all.iter().enumerate() {
            assert_eq!(from(*cursor), all[at + 1..], "{path}");
        }
    }
}

#[test]
fn names_that_clash() {
    // A directory and datasets with names that the view gives.
    let tree = overlay(&["x", "x.npy/in", "y", "y.npy~2/in", "y.npy/in", "t.npy"], None);
    let found = listed(&tree, ".views/npy");
    for name in ["x.npy~2", "x.npy/in.npy", "y.npy~3", "y.npy~2/in.npy", "y.npy/in.npy"] {
        assert!(found.contains(&format!(".views/npy/{name}")), "{name}: {found:?}");
    }
    assert!(go(&tree, ".views/npy/x.npy/x.npy").unwrap().is_none());
    assert_eq!(bytes(&tree, ".views/npy/y.npy~3").split_off(128), [2, 0, 0, 0]);
    let store = overlay(&[".all", "a"], None);
    assert_eq!(bytes(&store, ".views/store/.all"), b".all;a[];");
}

#[test]
fn a_kind_is_listed_in_place_of_datasets() {
    let npy = super::super::named("npy").unwrap();
    let tree = overlay(&["a", "d/b", "t.txt", "x", "x.npy"], Some(npy));
    let store = overlay(&["a", "t.txt"], Some(&Store));
    assert_eq!(listed(&store, ""), [".all", "a/0", "a/1", "a", "t.txt"]);
    // What the view does not show keeps its name.
    assert_eq!(listed(&tree, ""), ["a.npy", "d/b.npy", "d", "t.txt", "x.npy", "x.npy~2"]);
    assert_eq!(bytes(&tree, "x.npy~2").split_off(128), [3, 0, 0, 0]);
    assert_eq!(bytes(&tree, "x.npy"), [4, 0, 0, 0]);
    assert_eq!(bytes(&tree, "d/b.npy"), bytes(&tree, ".views/npy/d/b.npy"));
    assert_eq!(bytes(&tree, "a"), [0, 0, 0, 0]);
}

#[test]
fn a_store_that_cannot_be_made_is_an_error_and_not_one_without_data() {
    let tree = overlay(&["gone", "torn", "a"], None);
    let of = |name| go(&tree, &format!(".views/store/{name}")).unwrap().unwrap();
    assert!(matches!(tree.lookup(of("a"), b"2"), Ok(None)));
    let list = |name| tree.list(of(name), 0, &mut |_, _| true);
    assert!(
        matches!(tree.lookup(of("gone"), b"0"), Err(Error::Other(message)) if message.contains("is gone"))
    );
    assert!(matches!(tree.lookup(of("torn"), b"0"), Err(Error::Damaged { .. })));
    assert!(matches!((list("gone"), list("torn")), (Err(Error::Other(_)), Err(Error::Damaged { .. }))));
}

#[test]
fn what_makes_no_sense_is_an_error_and_not_missing() {
    let tree = overlay(&["bad.", "good"], None);
    assert!(
        matches!(go(&tree, ".views/npy/bad..npy"), Err(Error::Other(message)) if message.contains("invalid"))
    );
    assert_eq!(listed(&tree, ".views/npy"), [".views/npy/good.npy"]);
}

#[test]
fn nodes_live_until_they_are_forgotten() {
    let tree = overlay(&["a"], None);
    let node = go(&tree, ".views/npy/a.npy").unwrap().unwrap();
    assert_eq!(go(&tree, ".views/npy/a.npy").unwrap(), Some(node));
    tree.forget(node, 1);
    assert!(tree.content(node, FileKind::Data).is_ok());
    tree.forget(node, 1);
    assert!(matches!(tree.content(node, FileKind::Data), Err(Error::NotFound)));
    // Its directories are still remembered, and its number is the same again.
    assert_eq!(go(&tree, ".views/npy/a.npy").unwrap(), Some(node));
}

#[test]
fn what_changed_is_forgotten_in_its_views_too() {
    let tree = overlay(&["a"], None);
    let node = go(&tree, ".views/npy/a.npy").unwrap().unwrap();
    for id in [1, node] {
        let all = tree.siblings(id);
        assert!(all[0] == (0..2) && all.contains(&(node..node + 1)), "{all:?}");
    }
}

#[test]
fn what_is_open_is_made_once() {
    let names: Vec<String> = (0..200).map(|number| format!("n{number}")).collect();
    let list: NameList = names.iter().map(String::as_str).collect();
    let tree = Builder::build(&list, Arc::new(Numbers(names))).unwrap();
    let tree = Overlay::with(&[&Counted], Arc::new(tree), None);
    let at = |number: u64| go(&tree, &format!(".views/counted/n{number}.x")).unwrap().unwrap();
    let made_by = |work: &dyn Fn()| {
        let before = COUNT.load(Ordering::Relaxed);
        work();
        COUNT.load(Ordering::Relaxed) - before
    };
    let read = |number| {
        let content = tree.content(at(number), FileKind::Data).unwrap();
        assert_eq!(content.read(0, 9).unwrap().to_vec(), (number as u32).to_le_bytes());
    };
    let others = || (100..200).for_each(read);
    tree.hold(at(0)).unwrap();
    tree.hold(at(0)).unwrap();
    assert_eq!(made_by(&|| read(0)), 1);
    assert_eq!(made_by(&others), 100);
    tree.release(at(0));
    assert_eq!(made_by(&|| read(0)), 0, "it is open");
    assert!(tree.ready_content(at(0), FileKind::Data).unwrap().is_some() && tree.is_ready(at(0)));
    tree.release(at(0));
    assert_eq!(made_by(&|| read(0)), 0, "it was open lately");
    assert_eq!(made_by(&others), 100, "each is kept until 64 others are");
    assert_eq!(made_by(&|| read(0)), 1, "nobody has it open");
}
