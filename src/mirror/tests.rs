//! Races with the disk: files that are replaced between two requests.

use std::fs;
use std::path::Path;

use super::*;
use crate::format::{self, Writer};

fn mirror(path: &Path, max_open: usize) -> Mirror {
    mirror_within(path, max_open, MEMORY)
}

fn mirror_within(path: &Path, max_open: usize, max_memory: u64) -> Mirror {
    let options = Options {
        max_open,
        max_memory,
        formats: format::Options::default(),
        refresh: std::time::Duration::ZERO,
        strip_ext: false,
        only_containers: false,
        follow_outside: false,
        max_depth: None,
        filter: Filter::default(),
        mountpoint: None,
    };
    Mirror::of_directory(path.to_owned(), options, Arc::new(Engine::new(1 << 20))).unwrap()
}

/// With the dataset `a`.
fn container(path: &Path, bytes: &[u8]) {
    let mut writer = Writer::create(path).unwrap();
    writer.add("a").bytes(bytes).unwrap();
    writer.finish().unwrap();
}

fn find(mirror: &Mirror, dir: NodeId, name: &str) -> NodeId {
    mirror.lookup(dir, name.as_bytes()).unwrap().unwrap().0
}

fn read(mirror: &Mirror, id: NodeId) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    mirror.content(id, FileKind::Data)?.pass(&mut |piece| {
        bytes.extend_from_slice(piece);
        std::ops::ControlFlow::Continue(())
    })?;
    Ok(bytes)
}

#[test]
fn a_node_is_never_another_file_of_its_name() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    container(&at("x.rab"), b"old");
    fs::write(at("x.txt"), "old").unwrap();
    for name in ["sub", "other"] {
        fs::create_dir(at(name)).unwrap();
    }
    let mirror = mirror(dir.path(), 8);
    let [run, text, sub] = ["x.rab", "x.txt", "sub"].map(|name| find(&mirror, ROOT, name));
    container(&at("new"), b"new");
    fs::rename(at("new"), at("x.rab")).unwrap();
    fs::write(at("new"), "new").unwrap();
    fs::rename(at("new"), at("x.txt")).unwrap();
    fs::rename(at("other"), at("sub")).unwrap();
    assert!(matches!(mirror.lookup(run, b"a"), Err(Error::Changed { .. })));
    assert!(matches!(read(&mirror, text), Err(Error::Changed { .. })));
    assert!(matches!(mirror.stat(text, FileKind::Data), Err(Error::NotFound)));
    assert!(matches!(mirror.list(sub, 0, &mut |_, _| true), Err(Error::NotFound)));
    let again = find(&mirror, ROOT, "x.txt");
    assert_eq!((again == text, read(&mirror, again).unwrap()), (false, b"new".to_vec()));
}

#[test]
fn what_is_held_is_closed_last() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    for name in ["held", "1", "2", "3"] {
        fs::write(at(name), "old").unwrap();
    }
    let mirror = mirror(dir.path(), 2);
    let held = find(&mirror, ROOT, "held");
    mirror.hold(held).unwrap();
    fs::write(at("new"), "new").unwrap();
    fs::rename(at("new"), at("held")).unwrap();
    for name in ["1", "2", "3"] {
        assert_eq!(read(&mirror, find(&mirror, ROOT, name)).unwrap(), b"old");
    }
    assert_eq!(read(&mirror, held).unwrap(), b"old");
    mirror.release(held);
    for name in ["1", "2"] {
        read(&mirror, find(&mirror, ROOT, name)).unwrap();
    }
    assert!(matches!(read(&mirror, held), Err(Error::Changed { .. })));
}

#[test]
fn a_container_is_known_as_long_as_anything_in_it() {
    let dir = tempfile::tempdir().unwrap();
    container(&dir.path().join("x.rab"), b"inside");
    let mirror = mirror(dir.path(), 8);
    let run = find(&mirror, ROOT, "x.rab");
    let inner = find(&mirror, run, "a");
    mirror.forget(run, 1);
    assert_eq!((read(&mirror, inner).unwrap(), mirror.nodes()), (b"inside".to_vec(), 2));
    mirror.forget(inner, 1);
    assert_eq!((read(&mirror, inner).is_err(), mirror.nodes()), (true, 1));
}

#[test]
fn open_containers_are_bounded_by_their_memory_also_as_that_grows() {
    let dir = tempfile::tempdir().unwrap();
    let names = ["a.rab", "b.rab", "c.rab"];
    for name in names {
        fs::copy(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/rab/readme.rab"), dir.path().join(name))
            .unwrap();
    }
    let are_open = |mirror: &Mirror, ids: [NodeId; 3]| {
        ids.map(|id| mirror.opened.tree_if_open(&mirror.outer(id).unwrap()).is_some())
    };
    let opened = |mirror: &Mirror| {
        let ids = names.map(|name| find(mirror, ROOT, name));
        for id in ids {
            mirror.list(id, 0, &mut |_, _| true).unwrap();
        }
        ids
    };
    let unbounded = mirror(dir.path(), 8);
    let ids = opened(&unbounded);
    assert_eq!(are_open(&unbounded, ids), [true, true, true]);
    let of_three = unbounded.opened.memory();

    let exact = mirror_within(dir.path(), 8, of_three);
    let ids = opened(&exact);
    assert_eq!(are_open(&exact, ids), [true, true, true]);
    // What was decoded of the last one is remembered.
    let dataset = find(&exact, ids[2], "my first array");
    read(&exact, dataset).unwrap();
    exact.list(ids[2], 0, &mut |_, _| true).unwrap();
    assert_eq!(are_open(&exact, ids), [false, true, true]);

    let small = mirror_within(dir.path(), 8, of_three - 1);
    let ids = opened(&small);
    assert_eq!(are_open(&small, ids), [false, true, true]);
    let none = mirror_within(dir.path(), 8, 0);
    let ids = opened(&none);
    assert_eq!(are_open(&none, ids), [false, false, true], "the one in use stays");
}
