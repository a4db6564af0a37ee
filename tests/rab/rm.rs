//! `rab rm`: what is named goes, all of it or nothing, and what stays is the same.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::kit::{bytes_entry, data, rab as write, scratch};
use crate::{good, rab};

fn four() -> String {
    bytes_entry("a/1", 0, 1) + &bytes_entry("a/2", 1, 1) + &bytes_entry("b", 2, 1) + &bytes_entry("c", 3, 1)
}

#[test]
fn names_and_globs() {
    let (_dir, file) = write(&four(), b"0123");
    good(&[&"rm", &file, &"a/*", &"b", &"a/1"]);
    assert_eq!((good(&[&"ls", &file]), good(&[&"cat", &file, &"*"])), ("c\n".into(), "3".into()));
    good(&[&"rm", &file, &"*"]);
    assert_eq!(good(&[&"ls", &file]), "");
}

#[test]
fn all_or_nothing() {
    let (dir, file) = write(&four(), b"0123");
    let before = fs::read(&file).unwrap();
    let outcome = rab(&[&"rm", &file, &"b", &"x*"]);
    assert_eq!((outcome.code, outcome.err.contains("has no dataset \"x*\"")), (3, true), "{outcome:?}");
    assert_eq!((fs::read(&file).unwrap(), fs::read_dir(dir.path()).unwrap().count()), (before, 1));
}

#[test]
fn every_dataset_of_a_name_that_comes_twice() {
    let (_dir, file) =
        write(&(bytes_entry("a", 0, 1) + &bytes_entry("a", 1, 1) + &bytes_entry("b", 2, 1)), b"012");
    good(&[&"rm", &file, &"a"]);
    assert_eq!(good(&[&"cat", &file, &"*"]), "12");
    good(&[&"rm", &file, &"[a]"]);
    assert_eq!(good(&[&"cat", &file, &"*"]), "2");
}

#[test]
fn files_that_cannot_be_edited() {
    let dir = scratch();
    let none = dir.path().join("none");
    fs::write(&none, "hello").unwrap();
    for (file, code) in [(dir.path().join("missing"), 10), (dir.path().to_owned(), 10), (none, 11)] {
        let calls: [&[&dyn AsRef<std::ffi::OsStr>]; 3] =
            [&[&"rm", &file, &"x"], &[&"mv", &file, &"x", &"y"], &[&"set", &file, &"x", &"--unset", &"y"]];
        for call in calls {
            let outcome = rab(call);
            assert_eq!((outcome.code, outcome.err.lines().count()), (code, 1), "{outcome:?}");
        }
    }
    let file = dir.path().join("x.rab");
    fs::copy(data("readme.rab"), &file).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o444)).unwrap();
    let outcome = rab(&[&"rm", &file, &"*"]);
    assert!(
        outcome.code == 1 && outcome.err.ends_with("cannot be written: it is read-only\n"),
        "{outcome:?}"
    );
    assert_eq!(fs::read(&file).unwrap(), fs::read(data("readme.rab")).unwrap());
}
