//! The verbs on .npy and plain .zip files.

use std::fs;
use std::path::{Path, PathBuf};

use crate::kit::{names, python, scratch};
use crate::{good, rab};

fn sample(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

#[test]
fn verbs_on_npy() {
    let file = sample("npy/big_f.npy");
    assert_eq!(good(&[&"ls", &file]), "big_f\n");
    assert_eq!(good(&[&"get", &file, &"big_f[1, :, -1]"]), "[15 19 23]\n");
    assert!(good(&[&"verify", &file]).ends_with("big_f.npy: ok: 1 dataset, 0 with a checksum\n"));
    let info = good(&[&"info", &file, &"big_f"]);
    assert!(
        info.contains("type: int32") && info.contains("order: F") && info.contains("headerLength: 128"),
        "{info}"
    );
    assert!(good(&[&"refs", &file]).contains("big_f.npy\", 128, 96]"));
    let objects = sample("npy/objects.npy");
    assert!(good(&[&"ls", &"-l", &objects]).contains("pickle"));
    assert!(
        good(&[&"verify", &objects]).contains("1 checked as bytes, as Python objects are not interpreted")
    );
    let outcome = rab(&[&"cat", &objects, &"objects"]);
    assert!(outcome.code == 1 && outcome.err.contains("it holds Python objects"), "{outcome:?}");
}

#[test]
fn npy_files_are_written() {
    let dir = scratch();
    let at = |name: &str| dir.path().join(name);
    for name in ["big_f", "scalar", "empty", "text", "structure"] {
        let (file, out) = (sample(&format!("npy/{name}.npy")), at(&format!("{name}.npy")));
        for (verb, arguments) in [("convert", [&file, &out]), ("pack", [&out, &file])] {
            good(&[&verb, arguments[0], arguments[1]]);
            let same = "import sys, numpy as np; a, b = map(np.load, sys.argv[1:]); assert a.dtype == b.dtype and a.flags.f_contiguous == b.flags.f_contiguous and (a == b).all()";
            python(&[&"-c", &same, &file, &out]);
            fs::remove_file(&out).unwrap();
        }
        good(&[&"unpack", &file, &at(name)]);
        good(&[&"pack", &out, &at(name)]);
        assert_eq!(good(&[&"diff", &file, &out]), "");
    }
    let outcome = rab(&[&"pack", &at("two.npy"), &sample("npy/scalar.npy"), &sample("npy/empty.npy")]);
    assert!(
        outcome.code == 1 && outcome.err.contains("holds one array, and it already has one"),
        "{outcome:?}"
    );
    assert!(!at("two.npy").exists());
    let outcome = rab(&[&"convert", &sample("npz/small.npz"), &at("two.npy")]);
    assert!(outcome.code == 2 && outcome.err.contains("a .npy file holds one array, and"), "{outcome:?}");
    let outcome = rab(&[&"convert", &sample("npz/small.npz"), &at("two.npz"), &"--name", &"x"]);
    assert!(outcome.code == 2 && outcome.err.contains("--name is for one dataset"), "{outcome:?}");
}

#[test]
fn verbs_on_zip() {
    let dir = scratch();
    let file = sample("zip/plain.zip");
    assert_eq!(good(&[&"ls", &file]), "stored.txt\nd/deflated.txt\nd/é %/x\n../up\nempty\nbzip2\n");
    assert!(good(&[&"cat", &file, &"d/deflated.txt"]).ends_with("line 2999\n"));
    let outcome = rab(&[&"verify", &file]);
    assert!(
        outcome.out.contains("5 of 6 datasets ok; 1 not checked: its compression is bzip2"),
        "{outcome:?}"
    );
    let outcome = rab(&[&"unpack", &file, &dir.path().join("out")]);
    assert!(outcome.code == 1 && outcome.err.contains("its compression is bzip2"), "{outcome:?}");
    assert_eq!(names(&dir.path().join("out")), ["%2E%2E", "d", "empty", "none", "stored.txt"]);
    let outcome = rab(&[&"pack", &dir.path().join("x.zip"), &file]);
    assert!(outcome.code == 2 && outcome.err.contains("cannot write ."), "{outcome:?}");
    // What can be read of it goes into other formats.
    let (out, deflated) = (dir.path().join("x.rab"), "d/deflated.txt");
    good(&[&"convert", &file, &out, &deflated, &"stored.txt"]);
    assert_eq!(good(&[&"cat", &out, &deflated]), good(&[&"cat", &file, &deflated]));
}
