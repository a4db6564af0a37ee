//! What the kernel would have to be quick for: files that are others between two requests.

use std::fs;
use std::path::Path;

use super::*;
use crate::format::{self, Writer};

fn mirror(path: &Path, max_open: usize) -> Mirror {
    let options = Options {
        max_open,
        formats: format::Options::default(),
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
    mirror.content(id, Face::Data)?.pass(&mut |piece| {
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
    assert!(matches!(mirror.stat(text, Face::Data), Err(Error::NotFound)));
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
