//! `rab mv`: a dataset under another name, in its place.

use crate::kit::{bytes_entry, rab as write};
use crate::{good, rab};

fn three() -> String {
    bytes_entry("a", 0, 1) + &bytes_entry("'*'", 1, 1) + &bytes_entry("c", 2, 1)
}

#[test]
fn names_are_exact() {
    let (_dir, file) = write(&three(), b"012");
    good(&[&"mv", &file, &"*", &"[b] é\n"]);
    assert_eq!(good(&[&"ls", &file]), "a\n[b] é\n\nc\n");
    assert_eq!(good(&[&"cat", &file, &"[b] é\n"]), "1");
    let outcome = rab(&[&"mv", &file, &"*", &"x"]);
    assert_eq!((outcome.code, outcome.err.ends_with("has no dataset \"*\"\n")), (3, true), "{outcome:?}");
}

#[test]
fn a_name_that_is_taken() {
    let (_dir, file) = write(&three(), b"012");
    let outcome = rab(&[&"mv", &file, &"a", &"c"]);
    assert_eq!(outcome.code, 1, "{outcome:?}");
    assert!(
        outcome.err.ends_with("dataset \"c\": cannot be written: there is already a dataset of this name\n"),
        "{outcome:?}"
    );
    good(&[&"mv", &file, &"a", &"a"]);
    good(&[&"mv", &"--force", &file, &"a", &"a"]);
    good(&[&"mv", &"--force", &file, &"a", &"c"]);
    assert_eq!((good(&[&"ls", &file]), good(&[&"cat", &file, &"c"])), ("c\n*\n".into(), "0".into()));
    let outcome = rab(&[&"mv", &"-f", &file, &"none", &"c"]);
    assert_eq!((outcome.code, good(&[&"ls", &file])), (3, "c\n*\n".into()), "{outcome:?}");
}

#[test]
fn a_name_that_is_no_unicode() {
    use std::os::unix::ffi::OsStrExt;
    let (_dir, file) = write(&three(), b"012");
    let outcome = rab(&[&"mv", &file, &"a", &std::ffi::OsStr::from_bytes(b"\xff")]);
    assert!(outcome.code == 2 && outcome.err.contains("must be Unicode"), "{outcome:?}");
}
