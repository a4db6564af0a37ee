//! Containers of every format are made by `rab pack`, and made of each other by `rab convert`.

use std::fs;
use std::path::{Path, PathBuf};

use crate::kit::{names, python, scratch};
use crate::{good, rab};

/// An array as numpy saves it.
fn npy(descr: &str, is_fortran: bool, shape: &str, elements: &[u8]) -> Vec<u8> {
    let order = if is_fortran { "True" } else { "False" };
    let text = format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}");
    let text = format!("{text:<117}\n");
    [b"\x93NUMPY\x01\0", &(text.len() as u16).to_le_bytes()[..], text.as_bytes(), elements].concat()
}

fn elements(len: usize) -> Vec<u8> {
    (0..len).map(|n| (n * 37 % 251) as u8).collect()
}

#[test]
fn arrays_go_from_each_format_to_each() {
    let all = ["rab", "npz", "ra", "npy", "safetensors"];
    for (descr, is_fortran, shape, len) in [
        ("<f4", false, "(2, 3)", 24),
        (">c16", false, "(5,)", 80),
        ("<i2", true, "(3, 4)", 24),
        ("<u8", false, "()", 8),
    ] {
        let dir = scratch();
        // The last one has neither complex128 nor the order.
        let formats = if descr == ">c16" { &all[..4] } else { &all[..] };
        let bytes = elements(len);
        let first = dir.path().join("a.npy");
        fs::write(&first, npy(descr, is_fortran, shape, &bytes)).unwrap();
        // What RawArray and safetensors do not keep is noted, and nothing else.
        let is_big = descr.starts_with('>');
        let convert = |from: &Path, to: &Path, keeps_all: bool| {
            let outcome = rab(&[&"convert", &from, &to]);
            let note = match keeps_all {
                true => "",
                false if is_big => {
                    "its big-endian byte order is not kept: its elements are written little-endian\n"
                }
                false => "its F order is not kept: its elements are written in C order\n",
            };
            assert!(
                outcome.code == 0 && outcome.err.ends_with(note) && outcome.err.is_empty() == keeps_all,
                "{outcome:?}"
            );
        };
        let is_plain = |format: &str| matches!(format, "ra" | "safetensors");
        for &from in formats {
            let start = dir.path().join(from).join(format!("a.{from}"));
            fs::create_dir(start.parent().unwrap()).unwrap();
            let has_more = is_big || is_fortran;
            convert(&first, &start, !(is_plain(from) && has_more));
            for &to in formats {
                let folder = dir.path().join(format!("{from}-{to}"));
                fs::create_dir(&folder).unwrap();
                let (next, last) = (folder.join(format!("a.{to}")), folder.join("last.npz"));
                convert(&start, &next, is_plain(from) || !(is_plain(to) && has_more));
                good(&[&"convert", &next, &last]);
                let want = dir.path().join("want.npz");
                good(&[&"convert", &"-f", &first, &want]);
                assert_eq!(good(&[&"diff", &last, &want]), "", "{descr} {from} {to}");
            }
        }
    }
}

#[test]
fn what_a_format_cannot_hold_is_refused_or_named() {
    let dir = scratch();
    let sample = |name: &str| Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name);
    let out = dir.path().join("x.rab");
    let whole = sample("rawarray/c/c_i16_1d_7.ra");
    let outcome = rab(&[&"convert", &whole, &out]);
    let note = "dataset \"c_i16_1d_7\": RAB has no type |V16: it is written as bytes, and its shape [7]";
    assert!(outcome.code == 0 && outcome.err.contains(note), "{outcome:?}");
    let raw = |file: &Path| fs::read(file).unwrap();
    good(&[&"unpack", &"--no-meta", &out, &dir.path().join("raw")]);
    assert!(raw(&whole).ends_with(&raw(&dir.path().join("raw/c_i16_1d_7"))));
    let outcome = rab(&[&"convert", &sample("rab/readme.rab"), &dir.path().join("x.ra")]);
    assert!(outcome.code != 0 && outcome.err.contains("a RawArray file holds"), "{outcome:?}");
    let outcome = rab(&[&"convert", &sample("rab/metadata.rab"), &dir.path().join("x.npz")]);
    assert!(outcome.code == 0 && outcome.err.contains("its metadata is not kept"), "{outcome:?}");
}

/// What was asked for is not.
#[test]
fn orders_that_are_not_kept_are_noted() {
    let dir = scratch();
    let at = |name: &str| dir.path().join(name);
    let make = "import sys, numpy as np; np.save(sys.argv[1], np.arange(6, dtype='>i4').reshape(2, 3).T)";
    python(&[&"-c", &make, &at("f.npy")]);
    let (order, swapped) =
        ("its F order is not kept: its elements are written in C order", "its big-endian byte order");
    good(&[&"pack", &at("f.npz"), &at("f.npy")]);
    for out in ["f.safetensors", "f.ra", "f.awkd"] {
        let packed = rab(&[&"pack", &at(out), &at("f.npy")]);
        let converted = rab(&[&"convert", &"-f", &at("f.npz"), &at(out)]);
        for outcome in [packed, converted] {
            assert!(outcome.code == 0 && outcome.err.contains(order), "{out}: {outcome:?}");
            // Awkward files keep it.
            assert_eq!(outcome.err.contains(swapped), out != "f.awkd", "{out}: {outcome:?}");
        }
        let asked = rab(&[&"pack", &"-f", &"--order=C", &at(out), &at("f.npy")]);
        assert!(asked.code == 0 && !asked.err.contains(order), "{out}: {asked:?}");
    }
}

#[test]
fn arrays_are_packed() {
    let dir = scratch();
    let in_dir = |name: &str| dir.path().join(name);
    for name in ["a", "b"] {
        fs::write(in_dir(&format!("{name}.npy")), npy("<f4", false, "(2, 3)", &elements(24))).unwrap();
    }
    good(&[&"pack", &in_dir("out.npz"), &in_dir("a.npy"), &in_dir("b.npy")]);
    assert_eq!(good(&[&"ls", &in_dir("out.npz")]), "a\nb\n");
    good(&[&"verify", &"-q", &in_dir("out.npz")]);
    good(&[&"pack", &in_dir("a.ra"), &in_dir("a.npy")]);
    assert_eq!(good(&[&"get", &in_dir("a.ra"), &"a[1, 2]"]), good(&[&"get", &in_dir("out.npz"), &"b[1, 2]"]));
    let outcome = rab(&[&"pack", &in_dir("c.ra"), &in_dir("a.npy"), &in_dir("b.npy")]);
    assert!(
        outcome.code != 0 && outcome.err.contains("one array") && !in_dir("c.ra").exists(),
        "{outcome:?}"
    );
}

#[test]
fn records_are_packed() {
    let dir = scratch();
    let in_dir = |name: &str| dir.path().join(name);
    let text = "one\ntwo\nthree\n";
    fs::create_dir(in_dir("in")).unwrap();
    let inputs: [PathBuf; 2] = [in_dir("in/a.txt"), in_dir("in/b.npy")];
    fs::write(&inputs[0], text).unwrap();
    fs::write(&inputs[1], npy("<f4", false, "(2, 3)", &elements(24))).unwrap();
    good(&[&"pack", &in_dir("x.ffr"), &inputs[0], &inputs[1]]);
    assert_eq!(good(&[&"ls", &in_dir("x.ffr")]), "records/0\nrecords/1\n");
    assert_eq!(good(&[&"cat", &in_dir("x.ffr"), &"records/0"]), text);
    good(&[&"unpack", &in_dir("x.ffr"), &in_dir("out")]);
    assert_eq!(names(&in_dir("out/records")), ["0", "1"]);
    assert_eq!(fs::read(in_dir("out/records/1")).unwrap(), fs::read(&inputs[1]).unwrap());
    good(&[&"pack", &"--lines", &in_dir("lines.ffr"), &inputs[0]]);
    assert_eq!(good(&[&"cat", &in_dir("lines.ffr"), &"records/2"]), "three");
    good(&[&"pack", &"--packed-folder", &in_dir("folder.ffr"), &in_dir("in")]);
    assert_eq!(good(&[&"ls", &in_dir("folder.ffr")]), "a.txt\nb.npy\n");
    good(&[&"pack", &"--lines", &"--shards", &"2", &in_dir("shards"), &inputs[0]]);
    assert_eq!(names(&in_dir("shards")), ["PART_00000.ffr", "PART_00001.ffr"]);
    for (words, arguments) in [
        ("exists", &[&in_dir("x.ffr") as &dyn AsRef<std::ffi::OsStr>, &inputs[0]][..]),
        ("would be replaced by the output", &[&"-f", &in_dir("x.ffr"), &in_dir("x.ffr")]),
        (
            "would be replaced by the output",
            &[&"-f", &"--lines", &"--shards=2", &in_dir("shards"), &in_dir("shards/PART_00000.ffr")],
        ),
        ("--packed-folder packs it", &[&in_dir("y.ffr"), &in_dir("in")]),
        ("--packed-folder needs", &[&"--packed-folder", &in_dir("y.ffr"), &inputs[0]]),
        ("without names or types", &[&"--text", &in_dir("y.ffr"), &inputs[0]]),
        ("say with --records how standard input", &[&in_dir("y.ffr"), &"-"]),
        ("is named twice", &[&"--lines", &in_dir("y.ffr"), &"-", &"-"]),
        ("must end in .ffr", &[&"--lines", &in_dir("y.rab"), &inputs[0]]),
    ] {
        let outcome = rab(&[&[&"pack" as &dyn AsRef<std::ffi::OsStr>][..], arguments].concat());
        assert!(outcome.code != 0 && outcome.err.contains(words), "{words}: {outcome:?}");
    }
    assert!(!in_dir("y.ffr").exists());
}
