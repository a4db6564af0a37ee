//! A store that is busy, cuts replies off, ignores conditions or replaces objects, through the library and the commands.

use std::process::Command;

use rab::{Archive, Error};

use crate::RAB;
use crate::kit::*;
use crate::stores::*;

#[test]
fn a_hundred_readers_through_the_library() {
    let store = Store::new();
    let bytes = distinct(24 << 20);
    write_large(&store.file("x.rab"), &bytes);
    store.set(&[("busy", "0.2"), ("cut", "0.1")]);
    let archive = Archive::open(store.url("x.rab")).unwrap();
    let large = archive.dataset("large").unwrap();
    check_readers(&bytes, |buf, offset| large.read_at(buf, offset).unwrap());
    let mut whole = vec![0; bytes.len()];
    large.read_at(&mut whole, 0).unwrap();
    assert!(whole == bytes);
    assert!(store.logged("503") > 0 && store.logged("cut") > 0, "{:?}", store.log());
}

#[test]
fn a_replaced_object_is_an_error_where_conditions_are_ignored() {
    let store = Store::new();
    for (name, byte) in [("x.rab", 1), ("next.rab", 2)] {
        write_large(&store.file(name), &vec![byte; 8 << 20]);
    }
    let archive = Archive::open(store.url("x.rab")).unwrap();
    let large = archive.dataset("large").unwrap();
    store.set(&[("conditions", "off"), ("replacement", "bucket/next.rab"), ("replace_after", "0")]);
    let mut buf = [0; 1000];
    // Some came with the header.
    for offset in [0, 1 << 20, 6 << 20, 1 << 20, 0] {
        match large.read_at(&mut buf, offset) {
            Ok(()) => assert!(offset < 6 << 20 && buf == [1; 1000], "{offset}"),
            Err(error) => assert!(matches!(error, Error::Changed { .. }), "{error}"),
        }
    }
    // The server does serve the other one.
    let next = Archive::open(store.url("x.rab")).unwrap();
    next.dataset("large").unwrap().read_at(&mut buf, 0).unwrap();
    assert_eq!(buf, [2; 1000]);
}

#[test]
fn a_tag_that_changes_or_none_with_another_time() {
    let store = Store::new();
    for (name, seconds) in [("x.rab", 1_600_000_000), ("next.rab", 1_600_000_001)] {
        write_large(&store.file(name), &vec![1; 2 << 20]);
        let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(seconds);
        std::fs::File::options().write(true).open(store.file(name)).unwrap().set_modified(time).unwrap();
    }
    let cat = |url: &str| run(store.reached_by(Command::new(RAB)).args(["cat", url, "large"]));
    for tags in ["strong", "weak"] {
        store.set(&[("tags", tags)]);
        for url in store.urls("x.rab") {
            assert_eq!(cat(&url).code, 0, "{tags} {url}");
        }
    }
    store.set(&[("tags", "changing"), ("conditions", "off")]);
    for url in store.urls("x.rab") {
        let outcome = cat(&url);
        assert!(outcome.code == 12 && outcome.err.contains("changed since it was opened"), "{outcome:?}");
    }
    // Stores always have tags; of web servers, some do not.
    store.set(&[("tags", "none"), ("replacement", "bucket/next.rab")]);
    assert_eq!(cat(&store.url("x.rab")).code, 0);
    store.set(&[("replace_after", &(store.log().len() + 1).to_string())]);
    let outcome = cat(&store.url("x.rab"));
    assert!(outcome.code == 12 && outcome.err.contains("changed since it was opened"), "{outcome:?}");
}

#[test]
fn what_a_store_refuses_is_said() {
    let store = Store::new();
    write_large(&store.file("x.rab"), &[1; 100]);
    for (status, message) in [
        ("403 AccessDenied", "access is refused: "),
        ("404 NoSuchKey", "no such object"),
        ("400 InvalidRequest", "400"),
    ] {
        store.set(&[("status", status)]);
        for url in store.urls("x.rab") {
            let outcome = run(store.reached_by(Command::new(RAB)).args(["ls", &url]));
            assert!(outcome.code == 10 && outcome.err.contains(message), "{url}: {outcome:?}");
        }
    }
}
