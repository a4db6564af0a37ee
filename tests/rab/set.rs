//! `rab set`: metadata as a whole, and key by key.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::kit::{bytes_entry, rab as write, try_sh};
use crate::{RAB, good, of_many_aliases, rab};

fn two() -> String {
    bytes_entry("a", 0, 1) + &bytes_entry("b", 1, 1).replace("{}", "\n    old: 1\n    unit: mV")
}

fn metadata(file: &Path, name: &str) -> Value {
    let info: Value = serde_json::from_str(&good(&[&"info", &"--json", &file, &name])).unwrap();
    info["metadata"].clone()
}

/// What was stored is printed on standard error.
fn changed(arguments: &[&dyn AsRef<std::ffi::OsStr>]) {
    let outcome = rab(arguments);
    assert_eq!((outcome.code, outcome.out.as_str()), (0, ""), "{outcome:?}");
}

#[test]
fn keys_have_yaml_values() {
    let (_dir, file) = write(&two(), b"01");
    let keys = ["rate=3.0e+4", "id='7'", "on=yes", "list=[1, a]", "none=", "text=a=b", "unit=V"];
    let mut call: Vec<&dyn AsRef<std::ffi::OsStr>> = vec![&"set", &file, &"*"];
    keys.iter().for_each(|key| call.extend([&"--key" as &dyn AsRef<std::ffi::OsStr>, key]));
    changed(&call);
    let want = json!({ "id": "7", "list": [1, "a"], "none": null, "on": true, "rate": 30000.0, "text": "a=b", "unit": "V" });
    assert_eq!(metadata(&file, "a"), want);
    assert_eq!(metadata(&file, "b")["old"], 1);
    assert_eq!(good(&[&"cat", &file, &"*"]), "01");
    let text = fs::read(&file).unwrap();
    let sorted = b"    none: null\n    'on': true\n    rate: 30000.0\n";
    assert!(text.windows(sorted.len()).any(|part| part == sorted), "{}", text.escape_ascii());
}

#[test]
fn keys_are_taken_out() {
    let (_dir, file) = write(&two(), b"01");
    changed(&[&"set", &file, &"*", &"--unset", &"old"]);
    assert_eq!((metadata(&file, "a"), metadata(&file, "b")), (json!({}), json!({ "unit": "mV" })));
    let before = fs::read(&file).unwrap();
    let outcome = rab(&[&"set", &file, &"*", &"--unset", &"old", &"--key", &"x=1"]);
    assert!(
        outcome.code == 2 && outcome.err.ends_with("no dataset here has the key \"old\"\n"),
        "{outcome:?}"
    );
    assert_eq!(fs::read(&file).unwrap(), before);
}

#[test]
fn all_of_it_from_a_file() {
    let (dir, file) = write(&two(), b"01");
    let meta = dir.path().join("meta");
    fs::write(&meta, "when: 2020-01-02\nwho: {first: no}\n").unwrap();
    changed(&[&"set", &file, &"b", &"--meta", &meta, &"--key", &"x=1"]);
    assert_eq!(metadata(&file, "b"), json!({ "when": "2020-01-02", "who": { "first": false }, "x": 1 }));
    assert_eq!(metadata(&file, "a"), json!({}));
    let outcome = try_sh(r#"echo '{"k": "yes"}' | "$1" set "$2" a --meta -"#, &[&RAB, &file]);
    assert_eq!((outcome.code, metadata(&file, "a")), (0, json!({ "k": "yes" })), "{outcome:?}");
    fs::write(&meta, "null").unwrap();
    changed(&[&"set", &file, &"a", &"--meta", &meta]);
    assert_eq!(metadata(&file, "a"), Value::Null);
    changed(&[&"set", &file, &"a", &"--key", &"k=1"]);
    assert_eq!(metadata(&file, "a"), json!({ "k": 1 }));
}

#[test]
fn what_cannot_be_metadata() {
    let (dir, file) = write(&two().replace("{}", "just text"), b"01");
    let before = fs::read(&file).unwrap();
    let meta = dir.path().join("meta");
    let refused = |text: &[u8], code: i32, problem: &str| {
        fs::write(&meta, text).unwrap();
        let outcome = rab(&[&"set", &file, &"b", &"--meta", &meta]);
        assert!(outcome.code == code && outcome.err.contains(problem), "{outcome:?}");
    };
    refused(b"[1, 2]", 2, "is not a mapping (key: value), as metadata must be");
    refused(b"{a: [", 2, "cannot be read as YAML or JSON");
    refused(of_many_aliases().as_bytes(), 2, "takes more than 64 MiB once its aliases are written out");
    refused(b"a: \xff", 10, "cannot be opened: stream did not contain valid UTF-8");
    refused(b"? [1]\n: 2", 1, "a key is itself a list or a mapping, which PyYAML cannot read");
    let outcome = rab(&[&"set", &file, &"b"]);
    assert!(outcome.code == 2 && outcome.err.contains("give --key KEY=VALUE"), "{outcome:?}");
    assert_eq!(rab(&[&"set", &file, &"b", &"--key", &"x"]).code, 2);
    assert_eq!(rab(&[&"set", &file, &"b", &"--key", &"x=["]).code, 2);
    assert_eq!(rab(&[&"set", &file, &"none", &"--key", &"x=1"]).code, 3);
    let outcome = rab(&[&"set", &file, &"a", &"--key", &"x=1"]);
    assert!(
        outcome.code == 2 && outcome.err.contains("its metadata is not a mapping with keys"),
        "{outcome:?}"
    );
    assert_eq!(fs::read(&file).unwrap(), before);
}

#[test]
fn types_are_printed_and_texts_kept() {
    let (_dir, file) = write(&two(), b"01");
    let outcome = rab(&[
        &"set",
        &file,
        &"a",
        &"--key",
        &"t=12:30:00",
        &"--key",
        &"note=yes",
        &"--key-str",
        &"u=12:30:00",
    ]);
    let want = "note: t: integer 45000 (the meaning of 12:30:00 in YAML 1.1; --key-str keeps the text)\n\
                note: note: boolean true (the meaning of yes in YAML 1.1; --key-str keeps the text)\n\
                note: u: text \"12:30:00\"\n";
    assert_eq!((outcome.code, outcome.err.as_str()), (0, want));
    assert_eq!(metadata(&file, "a"), json!({ "t": 45000, "note": true, "u": "12:30:00" }));
}

#[test]
fn keys_within_mappings() {
    let (_dir, file) = write(&two(), b"01");
    changed(&[
        &"set",
        &file,
        &"a",
        &"--key",
        &"who={first: {x: 1}, last: y}",
        &"--key",
        &"who.first.x=2",
        &"--key",
        &"who.new=3",
    ]);
    assert_eq!(metadata(&file, "a"), json!({ "who": { "first": { "x": 2 }, "last": "y", "new": 3 } }));
    // A key of the whole name wins; without a mapping a key is called so.
    changed(&[&"set", &file, &"a", &"--key", &"a.b=1", &"--key", &"a={b: 2}"]);
    changed(&[&"set", &file, &"a", &"--key", &"a.b=3"]);
    changed(&[&"set", &file, &"a", &"--unset", &"who.first.x", &"--unset", &"who.last"]);
    let want = json!({ "a.b": 3, "a": { "b": 2 }, "who": { "first": {}, "new": 3 } });
    assert_eq!(metadata(&file, "a"), want);
    let outcome = rab(&[&"set", &file, &"a", &"--key", &"who.none.x=1"]);
    assert!(outcome.code == 2 && outcome.err.contains("\"who.none.x\" is in no mapping"), "{outcome:?}");
    assert_eq!(rab(&[&"set", &file, &"a", &"--unset", &"who.none.x"]).code, 2);
    for (assignment, problem) in [
        ("=5", "with a key before the ="),
        ("who.=1", "\"who.\" ends after its dot: name a key of the mapping \"who\""),
        ("who.first.=1", "name a key of the mapping \"who.first\""),
        ("who.new.x=1", "\"who.new\" is not a mapping, so it has no keys (its type is integer)"),
    ] {
        for option in ["--key", "--key-str"] {
            let outcome = rab(&[&"set", &file, &"a", &option, &assignment]);
            assert!(outcome.code == 2 && outcome.err.contains(problem), "{assignment}: {outcome:?}");
        }
    }
    assert_eq!(metadata(&file, "a"), want);
    let outcome = rab(&[&"set", &file, &"b", &"--key", &"n=5", &"--key", &"n.x=1"]);
    let note = "note: n.x: is a key of its own, as \"n\" is not a mapping (its type is integer)\n";
    assert!(outcome.code == 0 && outcome.err.starts_with(note), "{outcome:?}");
    assert_eq!(metadata(&file, "b"), json!({ "n": 5, "n.x": 1, "old": 1, "unit": "mV" }));
}

/// What YAML means by a tag is stored, or nothing is.
#[test]
fn tags_that_are_unknown_or_do_not_fit_are_refused() {
    let (_dir, file) = write(&two(), b"01");
    let before = fs::read(&file).unwrap();
    for value in
        ["!!python/object:os.system", "!foo bar", "!!int abc", "!!float yes", "[1, !foo 2]", "!bar {a: 1}"]
    {
        let outcome = rab(&[&"set", &file, &"a", &"--key", &format!("k={value}")]);
        assert!(
            outcome.code == 2 && outcome.err.contains("is unknown here, or does not fit its value"),
            "{value}: {outcome:?}"
        );
        assert!(outcome.err.contains("--key-str k=... stores text as it is"), "{outcome:?}");
    }
    assert_eq!(fs::read(&file).unwrap(), before);
    changed(&[&"set", &file, &"a", &"--key", &"i=!!int 7", &"--key", &"s=!!str 7", &"--key", &"f=!!float 1"]);
    assert_eq!(metadata(&file, "a"), json!({ "i": 7, "s": "7", "f": 1.0 }));
}

#[test]
fn a_key_is_given_once() {
    let (_dir, file) = write(&two(), b"01");
    let outcome = rab(&[&"set", &file, &"a", &"--key", &"k=1", &"--key-str", &"k=2"]);
    assert!(outcome.code == 2 && outcome.err.ends_with("the key \"k\" is given twice\n"), "{outcome:?}");
}
