//! What programs know of stores. To one that has a store open, what is missing of it is data of a sort: zeros. So where a
//! store was and is not any more, or is that of another container, what is missing is an error. Containers do not change,
//! so what is missing of the same one was never there.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::num::NonZeroUsize;

use lru::LruCache;
use parking_lot::Mutex;

use super::Overlay;
use super::nodes::{MAX_LEN, Node, ViewNodeKind, is_view};
use crate::tree::{FileKind, NodeId, NodeKind, ROOT, Tree};
use crate::view::directory::Child;
use crate::view::{Directory, View};
use crate::{Error, Result};

/// Stores, and directories that lead to them, that are kept.
const FOUND: NonZeroUsize = NonZeroUsize::new(16 << 10).unwrap();
/// Members of stores that are known; about 16 MiB. Of more, everything is taken for one of them.
const MAX_MEMBERS: usize = 1 << 20;
/// Directories in each other that are looked into: no view says more of what is deeper.
const MAX_DEPTH: usize = 128;

const GONE: &str = "it is gone: open what is in it again";
const REPLACED: &str = "its container was replaced, and the new one does not have it: open the store again";
const ROOT_GONE: &str = "the source of this mount is gone: put it back, or mount again";
const NO_PIECE: &str = "it has all of its pieces, and none of that name: open it again";

/// Where something is, from the root on, as who looked for it called it.
type Path = Vec<u8>;

pub struct Stores(Mutex<Known>);

struct Known {
    /// Where the directories are that the kernel remembers, and how often each was looked up.
    places: HashMap<NodeId, (Path, u64)>,
    /// Where containers are stores, and the directories that lead there.
    found: LruCache<Path, Option<Store>>,
    /// The arrays and groups of stores that programs were told of, as hashes: they look for pieces of arrays by their names
    /// alone, whatever stands in their place later.
    members: HashSet<u64>,
}

struct Store {
    container: NodeId,
    /// It was there first, and something else after it: some program may have either open.
    was_replaced: bool,
}

impl Stores {
    pub fn new() -> Stores {
        let found = LruCache::sparse(FOUND);
        Stores(Mutex::new(Known { places: HashMap::new(), found, members: HashSet::new() }))
    }

    /// What is called so in a directory that was looked up; None where no program could say it.
    fn path(&self, dir: NodeId, name: &[u8]) -> Option<Path> {
        if dir == ROOT {
            return Some(name.into());
        }
        let known = self.0.lock();
        let (above, _) = known.places.get(&dir)?;
        Some([above, name].join(&b'/')).filter(|path| path.len() <= MAX_LEN)
    }

    /// A directory was looked up.
    fn entered(&self, id: NodeId, path: &[u8]) {
        let mut known = self.0.lock();
        let place = known.places.entry(id).or_default();
        *place = (path.into(), place.1 + 1);
    }

    /// So many look-ups of a node are forgotten.
    pub fn left(&self, id: NodeId, lookups: u64) {
        let mut known = self.0.lock();
        let Some((_, known_lookups)) = known.places.get_mut(&id) else { return };
        *known_lookups = known_lookups.saturating_sub(lookups);
        if *known_lookups == 0 {
            known.places.remove(&id);
        }
    }

    /// There is a directory where a store can be: this container's, if it is one.
    fn seen(&self, path: &[u8], container: Option<NodeId>) {
        let found = &mut self.0.lock().found;
        if let Some(Some(store)) = found.get_mut(path) {
            store.was_replaced |= container != Some(store.container);
        } else if let Some(container) = container {
            found.put(path.into(), Some(Store { container, was_replaced: false }));
        } else {
            return;
        }
        // After it, so that it is dropped before them.
        for above in above(path) {
            if found.get(above).is_none() {
                found.put(above.into(), None);
            }
        }
    }

    /// Was a store there, or behind it?
    fn had(&self, path: &[u8]) -> bool {
        self.0.lock().found.get(path).is_some()
    }

    /// Is it in a store, and in one whose container was replaced, or `is_gone`?
    fn lost(&self, path: &[u8], is_gone: bool) -> bool {
        self.0.lock().is_in(path, |store| is_gone || store.was_replaced)
    }

    /// A program knows what is at a path: an array, or a group.
    fn know(&self, path: &[u8], is_array: bool) {
        let mut known = self.0.lock();
        if known.members.len() < MAX_MEMBERS && known.is_in(path, |_| true) {
            known.members.insert(member(path, is_array));
        }
    }

    /// Does what is at a path stand where a store had something else that was replaced with its container? What is no
    /// directory where it had one (then nothing is below it, to programs), and what is called as a piece of an array is.
    fn covers(&self, path: &[u8], is_directory: bool, is_piece: bool) -> bool {
        let mut known = self.0.lock();
        let was = |path, is_array| {
            known.members.len() >= MAX_MEMBERS || known.members.contains(&member(path, is_array))
        };
        let covers = !is_directory && (was(path, true) || was(path, false))
            || is_piece && above(path).last().is_some_and(|array| was(array, true));
        covers && known.is_in(path, |store| store.was_replaced)
    }

    /// No store was found yet.
    fn is_empty(&self) -> bool {
        self.0.lock().found.is_empty()
    }
}

impl Known {
    /// Is the path that of something in such a store?
    fn is_in(&mut self, path: &[u8], is_such: impl Fn(&Store) -> bool) -> bool {
        above(path).any(|path| self.found.get(path).is_some_and(|store| store.as_ref().is_some_and(&is_such)))
    }
}

/// The directories that a path leads through.
fn above(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    let slashes = path.iter().enumerate().filter(|(_, byte)| **byte == b'/');
    slashes.map(|(at, _)| path.get(..at).unwrap_or_default())
}

fn member(path: &[u8], is_array: bool) -> u64 {
    let mut hasher = DefaultHasher::new();
    (path, is_array).hash(&mut hasher);
    hasher.finish()
}

impl Overlay {
    /// What was found in a directory, or why what is missing there is an error.
    pub(super) fn still_there(
        &self,
        dir: NodeId,
        node: Option<&Node>,
        name: &[u8],
        found: Result<Option<(NodeId, FileKind)>>,
    ) -> Result<Option<(NodeId, FileKind)>> {
        match &found {
            Ok(None) => self.missing(dir, node, name, false)?,
            Err(Error::NotFound | Error::NotADirectory) => self.missing(dir, node, name, true)?,
            Ok(Some((id, _))) if self.can_change => match self.kind(*id) {
                Ok(kind) => self.there(dir, node, name, *id, kind).inspect_err(|_| self.forget(*id, 1))?,
                Err(_) => return found,
            },
            _ => return found,
        }
        self.of_node(dir, found)
    }

    /// There is something of that name. What is no directory and called as what led to a store is an error: so is then,
    /// to the kernel, all that was below it, and a program takes "not a directory" for "no such file". So is what stands
    /// where an array of a store was that was replaced.
    pub(super) fn there(
        &self,
        dir: NodeId,
        node: Option<&Node>,
        name: &[u8],
        id: NodeId,
        kind: NodeKind,
    ) -> Result<()> {
        if node.is_some_and(|node| matches!(node.what, ViewNodeKind::Face { .. })) {
            return Ok(());
        }
        let is_directory = matches!(kind, NodeKind::Directory { .. });
        let Some(path) = self.stores.path(dir, name) else { return Ok(()) };
        if is_directory {
            self.stores.entered(id, &path);
        } else if self.stores.had(&path) {
            return Err(self.gone(&path, GONE));
        }
        if let Some(of) = self.can_be_store(id).filter(|_| is_directory) {
            self.stores.seen(&path, Some(of).filter(|of| self.tree.is_container(*of)));
        }
        let Some(store) = self.view_in(node).and_then(|view| view.store()) else { return Ok(()) };
        if self.stores.covers(&path, is_directory, store.is_piece(name)) {
            return Err(self.gone(&path, REPLACED));
        }
        if is_directory {
            let is_array =
                self.nodes.get(id).is_some_and(|node| matches!(node.what, ViewNodeKind::Face { .. }));
            self.stores.know(&path, is_array);
        }
        Ok(())
    }

    /// Who is given a file that says all that is in a store knows it all.
    pub(super) fn told_all(&self, node: &Node, view: &dyn View) {
        if !self.can_change || !view.announces(&node.name) {
            return;
        }
        let Some(mut path) = self.stores.path(node.parent.id(), b"") else { return };
        self.told_of(view, &Directory::new(node.of.clone()), &mut path, MAX_DEPTH);
    }

    /// Of every array and every group below a directory, whose own path ends with a slash. What cannot be read is not said of
    /// a store either.
    fn told_of(&self, view: &dyn View, directory: &Directory, path: &mut Path, deep: usize) {
        let len = path.len();
        let _: Result<()> = directory.each(&mut |name, child| {
            path.extend_from_slice(&view.shown(name));
            match child {
                Ok(Child::Dataset(dataset)) if view.shows(dataset.about()) => self.stores.know(path, true),
                Ok(Child::Directory(directory)) if deep > 0 => {
                    self.stores.know(path, false);
                    path.push(b'/');
                    self.told_of(view, &directory, path, deep - 1);
                }
                _ => {}
            }
            path.truncate(len);
            Ok(())
        });
    }

    /// The view whose faces are in a directory.
    fn view_in(&self, node: Option<&Node>) -> Option<&'static dyn View> {
        match node.map(|node| &node.what) {
            None => self.shown,
            Some(ViewNodeKind::Views { .. } | ViewNodeKind::Derived { .. } | ViewNodeKind::Rows { .. }) => {
                None
            }
            Some(
                ViewNodeKind::Directory { view }
                | ViewNodeKind::Face { view, .. }
                | ViewNodeKind::Inside { view },
            ) => Some(*view),
        }
    }

    /// What was asked of a node that was found before. Were it "no such file" now, all that was below it would be missing
    /// and not lost.
    pub(super) fn of_node<T>(&self, id: NodeId, answer: Result<T>) -> Result<T> {
        match answer {
            Err(Error::NotFound) => Err(self.why_gone(id).unwrap_or(Error::NotFound)),
            answer => answer,
        }
    }

    fn why_gone(&self, id: NodeId) -> Option<Error> {
        if matches!(self.tree.stat(ROOT, FileKind::Data), Err(Error::NotFound)) {
            return Some(self.gone(b"/", ROOT_GONE));
        }
        if !self.can_change || self.stores.is_empty() {
            return None;
        }
        let path = match self.nodes.get(id) {
            Some(node) => self.stores.path(node.parent.id(), &node.name)?,
            None => self.stores.0.lock().places.get(&id)?.0.clone(),
        };
        let was_there = self.stores.had(&path) || self.stores.lost(&path, true);
        was_there.then(|| self.gone(&path, GONE))
    }

    /// There is nothing of that name; `is_gone` if the directory itself is not there any more.
    fn missing(&self, dir: NodeId, node: Option<&Node>, name: &[u8], is_gone: bool) -> Result<()> {
        let store = self.view_in(node).and_then(|view| view.store());
        if let Some(node) = node.filter(|node| matches!(node.what, ViewNodeKind::Face { .. })) {
            return match store.is_some_and(|store| store.is_piece(name)) {
                true => Err(self.gone(&node.name, NO_PIECE)),
                false => Ok(()),
            };
        }
        if !self.can_change || self.stores.is_empty() {
            return Ok(());
        }
        let Some(path) = self.stores.path(dir, name) else { return Ok(()) };
        if self.stores.had(&path) {
            return Err(self.gone(&path, GONE));
        }
        let is_data = store.is_some_and(|store| is_gone || !store.is_own(name));
        if is_data && self.stores.lost(&path, is_gone) {
            return Err(self.gone(&path, REPLACED));
        }
        Ok(())
    }

    /// The directory of the tree that this one shows as a store, if it is a container.
    fn can_be_store(&self, id: NodeId) -> Option<NodeId> {
        let node = match is_view(id) {
            true => self.nodes.get(id)?,
            false => return self.shown.filter(|view| view.makes_directories()).map(|_| id),
        };
        match &node.what {
            ViewNodeKind::Directory { view } if view.makes_directories() => Some(node.of.node()),
            _ => None,
        }
    }

    /// Of what is in a store: that its container is not there any more is not that the store has no such file.
    pub(super) fn of_store<T>(&self, node: &Node, answer: Result<T>) -> Result<T> {
        match (answer, &node.what) {
            (
                Err(Error::NotFound),
                ViewNodeKind::Face { view, .. }
                | ViewNodeKind::Inside { view }
                | ViewNodeKind::Directory { view },
            ) if view.makes_directories() => Err(self.gone(&node.name, GONE)),
            (answer, _) => answer,
        }
    }

    fn gone(&self, path: &[u8], why: &str) -> Error {
        let error = Error::Other(format!("{}: {why}", String::from_utf8_lossy(path)));
        self.tell(&error);
        error
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_leads_to_a_store_was_there_too() {
        let stores = Stores::new();
        stores.seen(b"sub/x.npz", None);
        assert!(stores.is_empty());
        stores.seen(b"sub/x.npz", Some(7));
        stores.seen(b"sub/x.npz", Some(7));
        for had in ["sub", "sub/x.npz"] {
            assert!(stores.had(had.as_bytes()), "{had}");
        }
        assert!(!stores.had(b"x.npz") && !stores.had(b"sub/x.npz/a") && !stores.had(b"s"));
        // The same container has what it had.
        assert!(!stores.lost(b"sub/x.npz/a/b", false) && stores.lost(b"sub/x.npz/a/b", true));
        assert!(!stores.lost(b"sub/y.npz", true));
    }

    #[test]
    fn a_store_that_was_replaced_once_may_be_missed_ever_after() {
        for other in [None, Some(8)] {
            let stores = Stores::new();
            for container in [Some(7), other, Some(7)] {
                stores.seen(b"x.npz", container);
            }
            assert!(stores.lost(b"x.npz/a", false) && stores.lost(b"x.npz/a/0", false), "{other:?}");
            assert!(!stores.lost(b"y.npz/a", false));
        }
    }

    #[test]
    fn places_are_known_as_long_as_the_kernel_remembers_them() {
        let stores = Stores::new();
        stores.entered(7, b"x.npz");
        stores.entered(7, b"y.npz");
        stores.left(7, 1);
        assert_eq!(stores.path(7, b"a"), Some(b"y.npz/a".into()));
        assert_eq!(stores.path(7, &[b'a'; MAX_LEN]), None);
        stores.left(7, 1);
        assert_eq!(stores.path(7, b"a"), None);
    }

    #[test]
    fn arrays_and_groups_are_known_and_of_too_many_everything_is() {
        let stores = Stores::new();
        stores.know(b"x.npz/b", true);
        [7, 8].into_iter().for_each(|container| stores.seen(b"x.npz", Some(container)));
        stores.know(b"x.npz/a", true);
        stores.know(b"x.npz/g", false);
        let covered = |name: &[u8], is_directory| {
            let is_piece = name.ends_with(b"/0");
            stores.covers(&[b"x.npz/", name].concat(), is_directory, is_piece)
        };
        assert!(covered(b"a", false) && covered(b"g", false) && covered(b"a/0", true));
        assert!(!covered(b"a", true) && !covered(b"g/0", true) && !covered(b"b", false));
        (0..MAX_MEMBERS).for_each(|at| stores.know(format!("x.npz/{at}").as_bytes(), true));
        assert!(covered(b"y", false) && !stores.covers(b"y.npz/y", false, false));
        assert_eq!(stores.0.lock().members.len(), MAX_MEMBERS);
    }
}
