//! The verbs on an archive of numpy's.

use std::path::{Path, PathBuf};

use crate::{good, kit, rab};

fn small() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/npz/small.npz")
}

#[test]
fn what_is_in_it() {
    let names = "grid\npacked/wave\nnames\npoints\nthings\nnotes.txt\n";
    assert_eq!(good(&[&"ls", &small()]), names);
    let long = good(&[&"ls", &"-l", &small()]);
    let column = |at: usize| -> Vec<&str> {
        long.lines()
            .skip(1)
            .map(|line| line.split("  ").filter(|word| !word.is_empty()).nth(at).unwrap())
            .collect()
    };
    assert_eq!(column(0), ["int16", "float32", "<U2", "structure", "pickle", "bytes"]);
    assert!(long.contains("(2, 3)") && long.contains("(20, 10)"), "{long}");
    let info = good(&[&"info", &small(), &"grid"]);
    for line in
        ["type: int16", "dtype: '<i2'", "order: C", "member: grid.npy", "compression: null", "crc32: "]
    {
        assert!(info.contains(line), "{line:?} is not in {info}");
    }
    assert!(good(&[&"info", &small()]).contains("format: NPZ"));
}

#[test]
fn arrays_and_bytes() {
    assert_eq!(good(&[&"get", &small(), &"grid[1, ::-1]"]), "[5 4 3]\n");
    assert_eq!(good(&[&"get", &small(), &"packed/wave[3, 2:5]"]), "[32. 33. 34.]\n");
    assert_eq!(good(&[&"cat", &small(), &"notes.txt"]), "plain é\n");
    let said = rab(&[&"cat", &small(), &"things"]);
    assert_eq!((said.code, said.out.as_str()), (1, ""), "{said:?}");
    assert!(said.err.contains("dataset \"things\": it holds Python objects (a pickle)"), "{said:?}");
}

#[test]
fn checksums_of_stored_and_of_deflated_members_are_compared() {
    let said = rab(&[&"verify", &small()]);
    assert_eq!(said.code, 0, "{said:?}");
    assert!(said.out.ends_with(": ok: datasets: 6, with checksum: 2\n"), "{said:?}");

    let dir = kit::scratch();
    let bad = dir.path().join("bad.npz");
    let whole = std::fs::read(small()).unwrap();
    let place = |wanted: &[u8]| whole.windows(wanted.len()).position(|window| window == wanted).unwrap();
    for (at, name, problem) in [
        (place(b"grid.npy") + 8 + 128, "grid", "the crc32 of its stored bytes is"),
        (place(b"things.npy") + 10 + 5, "things", ""),
        (place(b"notes.txt") + 9 + 3, "notes.txt", ""),
    ] {
        let mut bytes = whole.clone();
        bytes[at] ^= 4;
        std::fs::write(&bad, bytes).unwrap();
        let said = rab(&[&"verify", &bad]);
        assert_eq!((said.code, said.out.lines().count()), (12, 1), "{name}: {said:?}");
        assert!(said.out.contains(&format!("dataset {name:?}")) && said.out.contains(problem), "{said:?}");
    }
}

const MAKE: &str = r#"
import sys, numpy as np
fields = [("n", "<i4"), ("it's \"é\"", ">f8"), ("s", "S3"), ("u", "<U2"), ("three", "<f4", (3,)), ("ok", "?")]
st = np.zeros(4, fields)
st["n"], st["s"], st["u"], st["three"] = [1, 2, 3, 4], b"ab", "é漢", [[1, 2, 3]] * 4
gaps = np.zeros((2, 2), np.dtype({"names": ["a", "b"], "formats": ["u1", "<i4"], "offsets": [0, 4]}))
deep = np.zeros(2, [("x", [("y", "<i2")]), ("z", "<f4", (2, 2))])
np.savez(sys.argv[1], st=st, fortran=np.asfortranarray(np.array([["a", "bcd"], ["é", ""]])), bytes=np.array([b"x", b"yz"]),
         void=np.frombuffer(b"abcdef", "V3"), gaps=gaps, big=np.array(["é"], ">U3"), none=np.zeros(3, "S0"), deep=deep,
         dates=np.array(["2020-01-02"], "M8[D]"), objects=np.array([None], object))
"#;

const SAME: &str = r#"
import sys, numpy as np
a, b = np.load(sys.argv[1], allow_pickle=True), np.load(sys.argv[2])
for name in sys.argv[3:]:
    assert a[name].dtype == b[name].dtype and a[name].shape == b[name].shape, (name, a[name].dtype, b[name].dtype)
    assert a[name].tobytes() == b[name].tobytes(), name
"#;

#[test]
fn structures_and_texts_are_arrays_too() {
    let dir = kit::scratch();
    let [file, copy, one, plain] = ["a.npz", "b.npz", "st.npy", "c.rab"].map(|name| dir.path().join(name));
    kit::python(&[&"-c", &MAKE, &file]);
    let get = |what: &str| good(&[&"get", &file, &what]);
    assert_eq!(get("st[1]"), "(2, 0.0, b'ab', 'é漢', [1.0, 2.0, 3.0], False)\n");
    assert_eq!(get("fortran[:, 0]"), "['a' 'é']\n");
    assert_eq!(get("bytes"), "[b'x' b'yz']\n");
    let known = ["st", "fortran", "bytes", "void", "gaps", "big"];
    let mut convert: Vec<&dyn AsRef<std::ffi::OsStr>> = vec![&"convert", &file, &copy];
    convert.extend(known.iter().map(|name| name as &dyn AsRef<std::ffi::OsStr>));
    let said = rab(&convert);
    assert_eq!((said.code, said.err.as_str()), (0, ""), "{said:?}");
    let mut same: Vec<&dyn AsRef<std::ffi::OsStr>> = vec![&"-c", &SAME, &file, &copy];
    same.extend(known.iter().map(|name| name as &dyn AsRef<std::ffi::OsStr>));
    kit::python(&same);
    good(&[&"convert", &file, &one, &"st"]);
    let script = "import sys, numpy as np; a = np.load(sys.argv[1])['st']; b = np.load(sys.argv[2]); assert a.dtype == b.dtype and (a == b).all()";
    kit::python(&[&"-c", &script, &file, &one]);
    // What has no place elsewhere is bytes, and that is said; what is not understood is too.
    let said = rab(&[&"convert", &file, &plain, &"st", &"none", &"deep", &"dates"]);
    assert_eq!(said.code, 0, "{said:?}");
    assert!(
        said.err.contains("dataset \"st\": its type <i4,>f8,S3,<U2,3<f4,|b1 is none that RAB has"),
        "{said:?}"
    );
    assert_eq!(said.err.lines().count(), 4, "{said:?}");
    assert_eq!(
        good(&[&"ls", &"-l", &plain, &"st"]).lines().nth(1).unwrap().split_whitespace().next(),
        Some("bytes")
    );
}

#[test]
fn what_is_not_read_does_not_keep_the_others_from_being_unpacked() {
    let dir = kit::scratch();
    let said = rab(&[&"unpack", &small(), &dir.path().join("out")]);
    assert!(said.code == 1 && said.err.contains("dataset \"things\": it holds Python objects"), "{said:?}");
    let names = kit::names(&dir.path().join("out"));
    for name in ["grid", "grid.meta.yaml", "names", "notes.txt", "packed", "points", "things.meta.yaml"] {
        assert!(names.contains(&name.to_owned()), "{name} is not in {names:?}");
    }
    assert!(!names.contains(&"things".to_owned()));
}
