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
    let said = rab(&[&"mv", &file, &"*", &"x"]);
    assert_eq!((said.code, said.err.ends_with("has no dataset \"*\"\n")), (3, true), "{said:?}");
}

#[test]
fn a_name_that_is_taken() {
    let (_dir, file) = write(&three(), b"012");
    let said = rab(&[&"mv", &file, &"a", &"c"]);
    assert_eq!(said.code, 1, "{said:?}");
    assert!(
        said.err.ends_with("dataset \"c\": cannot be written: there is already a dataset of this name\n"),
        "{said:?}"
    );
    good(&[&"mv", &file, &"a", &"a"]);
    good(&[&"mv", &"--force", &file, &"a", &"a"]);
    good(&[&"mv", &"--force", &file, &"a", &"c"]);
    assert_eq!((good(&[&"ls", &file]), good(&[&"cat", &file, &"c"])), ("c\n*\n".into(), "0".into()));
    let said = rab(&[&"mv", &"-f", &file, &"none", &"c"]);
    assert_eq!((said.code, good(&[&"ls", &file])), (3, "c\n*\n".into()), "{said:?}");
}

#[test]
fn a_name_that_is_no_unicode() {
    use std::os::unix::ffi::OsStrExt;
    let (_dir, file) = write(&three(), b"012");
    let said = rab(&[&"mv", &file, &"a", &std::ffi::OsStr::from_bytes(b"\xff")]);
    assert!(said.code == 2 && said.err.contains("must be Unicode"), "{said:?}");
}
