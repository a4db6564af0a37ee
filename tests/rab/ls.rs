//! `rab ls`: what there is, in the header's order.

use serde_json::Value;

use crate::kit::{bytes_entry, data, entry, rab as write};
use crate::{SAMPLES, expected, good, rab};

#[test]
fn json_is_what_a_correct_reader_sees() {
    for sample in SAMPLES {
        let out = good(&[&"ls", &"--json", &data(&format!("{sample}.rab"))]);
        let listed: Vec<Value> = serde_json::from_str(&out).unwrap();
        let expected = expected(sample);
        assert_eq!(listed.len(), expected.len(), "{sample}");
        for (got, want) in listed.iter().zip(&expected) {
            for key in ["name", "type", "compression", "shape"] {
                assert_eq!(got[key], want[key], "{sample}: {key} of {want}");
            }
            let told = got["length"].as_u64();
            assert!(told.is_none() || told == want["length"].as_u64(), "{sample}: {got}");
            assert_eq!(
                told.is_none(),
                want["shape"].is_null() && !want["compression"].is_null() && want["type"] != "dataframe"
            );
        }
    }
}

#[test]
fn names_come_one_a_line() {
    let out = good(&[&"ls", &data("readme.rab")]);
    let names: Vec<_> = expected("readme").iter().map(|e| e["name"].as_str().unwrap().to_owned()).collect();
    assert_eq!(out.lines().collect::<Vec<_>>(), names);
}

#[test]
fn globs_choose_and_exact_names_win() {
    let file = data("readme.rab");
    assert_eq!(good(&[&"ls", &file, &"my *array"]).lines().count(), 3);
    assert_eq!(good(&[&"ls", &file, &"*[Tt]ext"]), "Some text\n");
    let header = ["a[1]", "a1", "d/x", "d/e/y"].map(|name| bytes_entry(name, 0, 1)).concat();
    let (_dir, file) = write(&header, b"?");
    assert_eq!(good(&[&"ls", &file, &"a[1]"]), "a[1]\n");
    assert_eq!(good(&[&"ls", &file, &"a[0-9]"]), "a1\n");
    assert_eq!(good(&[&"ls", &file, &"d/*"]), "d/x\nd/e/y\n");
    let said = rab(&[&"ls", &file, &"nothing*"]);
    assert_eq!((said.code, said.out.as_str()), (3, ""), "{said:?}");
    assert!(
        said.err.starts_with("rab: ") && said.err.contains("has no dataset \"nothing*\""),
        "{}",
        said.err
    );
    assert_eq!(rab(&[&"ls", &file, &"a[1"]).code, 2);
}

#[test]
fn long_shows_types_shapes_and_lengths() {
    let out = good(&[&"ls", &"-l", &data("readme.rab")]);
    let lines: Vec<Vec<&str>> = out.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(lines[0], ["TYPE", "SHAPE", "LENGTH", "STORED", "NAME"]);
    assert_eq!(lines[2], ["float64", "(5,", "3)", "120", "120", "my", "second", "array"]);
    assert_eq!(lines[4][..3], ["text", "-", "?"]);
    let table = good(&[&"ls", &"-l", &data("dataframe.rab"), &"table"]);
    assert!(table.contains("(50, 6)"), "{table}");
}

#[test]
fn damaged_descriptions_are_listed_as_such() {
    let header =
        entry("odd", &["byteLength: 9", "byteOffset: 0", "type: bytes"]) + &bytes_entry("good", 0, 4);
    let (_dir, file) = write(&header, b"data");
    let out = good(&[&"ls", &"-l", &file]);
    assert!(out.lines().nth(1).unwrap().contains("damaged"), "{out}");
    let listed: Vec<Value> = serde_json::from_str(&good(&[&"ls", &"--json", &file])).unwrap();
    assert!(listed[0]["problem"].as_str().unwrap().contains("it ends at byte"), "{listed:?}");
    assert!(listed[1].get("problem").is_none());
}

#[test]
fn a_listing_says_the_same_as_info() {
    for sample in SAMPLES {
        let file = data(&format!("{sample}.rab"));
        let listed: Vec<Value> = serde_json::from_str(&good(&[&"ls", &"--json", &file])).unwrap();
        if listed.is_empty() {
            continue;
        }
        let all = good(&[&"info", &"--json", &file, &"*"]);
        assert_eq!(all.lines().count(), listed.len());
        for (brief, full) in listed.iter().zip(all.lines()) {
            let full: Value = serde_json::from_str(full).unwrap();
            for (key, value) in brief.as_object().unwrap() {
                assert_eq!(*value, full[key], "{sample}: {key}");
            }
        }
    }
}
