//! `rab add`: more datasets in a container that is there.

use std::fs;

use crate::kit::{data, scratch};
use crate::{good, rab};

#[test]
fn datasets_are_added_behind_and_replaced_in_place() {
    let work = scratch();
    let (file, text, other) =
        (work.path().join("x.rab"), work.path().join("Some text"), work.path().join("new"));
    fs::copy(data("readme.rab"), &file).unwrap();
    fs::write(&text, "other\n").unwrap();
    fs::write(&other, "1").unwrap();
    let before = good(&[&"ls", &file]);
    let meta = good(&[&"info", &"--json", &file, &"Some text"]);

    let bytes = fs::read(&file).unwrap();
    let outcome = rab(&[&"add", &file, &other, &text]);
    assert_eq!(outcome.code, 1, "{outcome:?}");
    assert!(
        outcome.err.contains("x.rab: already has a dataset \"Some text\": --force replaces it"),
        "{outcome:?}"
    );
    assert_eq!(fs::read(&file).unwrap(), bytes);

    good(&[&"add", &file, &other, &text, &"--force", &"--text", &"--compress"]);
    assert_eq!(good(&[&"ls", &file]), before + "new\n");
    assert_eq!(good(&[&"cat", &file, &"Some text"]), "other\n");
    assert_eq!(good(&[&"cat", &file, &"new"]), "1");
    let of = |info: &str| serde_json::from_str::<serde_json::Value>(info).unwrap()["metadata"].clone();
    assert_eq!(of(&good(&[&"info", &"--json", &file, &"Some text"])), of(&meta), "it is kept");
    good(&[&"verify", &"-q", &file]);
    assert_eq!(rab(&[&"add", &work.path().join("none.rab"), &other]).code, 10);
}
