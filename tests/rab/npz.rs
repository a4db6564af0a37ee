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
    let outcome = rab(&[&"cat", &small(), &"things"]);
    assert_eq!((outcome.code, outcome.out.as_str()), (1, ""), "{outcome:?}");
    assert!(outcome.err.contains("dataset \"things\": it holds Python objects (a pickle)"), "{outcome:?}");
}

#[test]
fn checksums_of_stored_and_of_deflated_members_are_compared() {
    let outcome = rab(&[&"verify", &small()]);
    assert_eq!((outcome.code, outcome.out.lines().count()), (0, 1), "{outcome:?}");
    assert!(
        outcome.out.ends_with("1 checked as bytes, as Python objects are not interpreted\n"),
        "{outcome:?}"
    );

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
        let outcome = rab(&[&"verify", &bad]);
        let damaged: Vec<_> = outcome.out.lines().collect();
        assert_eq!((outcome.code, damaged.len()), (12, 1), "{name}: {outcome:?}");
        assert!(
            damaged[0].contains(&format!("dataset {name:?}")) && damaged[0].contains(problem),
            "{outcome:?}"
        );
        // The checksum is also verified for deflated members before they are converted.
        let outcome = rab(&[&"convert", &bad, &dir.path().join("out.rab"), &name]);
        assert!(outcome.code == 12 && !dir.path().join("out.rab").exists(), "{outcome:?}");
    }
}

/// Python objects are checked as bytes, whether they are compressed or not.
#[test]
fn objects_are_verified_as_bytes_however_they_are_stored() {
    let dir = kit::scratch();
    for (save, is_stored) in [("savez", true), ("savez_compressed", false)] {
        let file = dir.path().join(format!("{save}.npz"));
        let make = "import sys, numpy as np
objects = np.array([{'a': 1}, None, 'text' * 100], dtype=object)
getattr(np, sys.argv[1])(sys.argv[2], objects=objects, numbers=np.arange(3))";
        kit::python(&[&"-c", &make, &save, &file]);
        let outcome = rab(&[&"verify", &file]);
        assert_eq!((outcome.code, outcome.err.as_str()), (0, ""), "{save}: {outcome:?}");
        assert!(outcome.out.contains("ok: 2 datasets, "), "{save}: {outcome:?}");
        assert!(
            outcome.out.ends_with("1 checked as bytes, as Python objects are not interpreted\n"),
            "{save}: {outcome:?}"
        );
        assert_eq!(rab(&[&"verify", &"-q", &file]).out, "");
        // Values are still refused.
        assert_eq!(rab(&[&"cat", &file, &"objects"]).code, 1, "{save}");

        let mut bytes = std::fs::read(&file).unwrap();
        let name = bytes.windows(11).position(|window| window == b"objects.npy").unwrap();
        bytes[name + if is_stored { 220 } else { 60 }] ^= 4;
        std::fs::write(&file, bytes).unwrap();
        let outcome = rab(&[&"verify", &file]);
        assert!(outcome.code == 12 && outcome.out.contains("dataset \"objects\""), "{save}: {outcome:?}");
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
         dates=np.array(["2020-01-02", "NaT"], ">M8[s]"), spans=np.asfortranarray(np.arange(6).reshape(2, 3).astype("m8[ms]")),
         long=np.arange(3).astype("longdouble"), deep_fortran=np.asfortranarray(np.resize(deep, (2, 2))), objects=np.array([None], object))
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
    assert_eq!(get("dates"), "['2020-01-02T00:00:00'                 'NaT']\n");
    assert_eq!(get("spans[1]"), "[3 4 5]\n");
    assert_eq!(good(&[&"get", &file, &"dates", &"--json"]), "[\"2020-01-02T00:00:00\",\"NaT\"]\n");
    assert_eq!(good(&[&"get", &file, &"dates", &"--as", &"csv"]), "#0\n2020-01-02T00:00:00\nNaT\n");
    let known =
        ["st", "fortran", "bytes", "void", "gaps", "big", "dates", "spans", "long", "deep", "deep_fortran"];
    let mut convert: Vec<&dyn AsRef<std::ffi::OsStr>> = vec![&"convert", &file, &copy];
    convert.extend(known.iter().map(|name| name as &dyn AsRef<std::ffi::OsStr>));
    let outcome = rab(&convert);
    assert_eq!((outcome.code, outcome.err.as_str()), (0, ""), "{outcome:?}");
    let mut same: Vec<&dyn AsRef<std::ffi::OsStr>> = vec![&"-c", &SAME, &file, &copy];
    same.extend(known.iter().map(|name| name as &dyn AsRef<std::ffi::OsStr>));
    kit::python(&same);
    good(&[&"convert", &file, &one, &"st"]);
    let script = "import sys, numpy as np; a = np.load(sys.argv[1])['st']; b = np.load(sys.argv[2]); assert a.dtype == b.dtype and (a == b).all()";
    kit::python(&[&"-c", &script, &file, &one]);
    // What has no place elsewhere becomes bytes, with a note; so does what is not understood.
    let outcome = rab(&[&"convert", &file, &plain, &"st", &"none", &"deep", &"dates"]);
    assert_eq!(outcome.code, 0, "{outcome:?}");
    assert!(outcome.err.contains("dataset \"st\": RAB has no type <i4,>f8,S3,<U2,3<f4,|b1: "), "{outcome:?}");
    assert_eq!(outcome.err.lines().count(), 4, "{outcome:?}");
    assert_eq!(
        good(&[&"ls", &"-l", &plain, &"st"]).lines().nth(1).unwrap().split_whitespace().next(),
        Some("bytes")
    );
}

#[test]
fn what_is_not_read_does_not_keep_the_others_from_being_unpacked() {
    let dir = kit::scratch();
    let outcome = rab(&[&"unpack", &small(), &dir.path().join("out")]);
    assert!(
        outcome.code == 1 && outcome.err.contains("dataset \"things\": it holds Python objects"),
        "{outcome:?}"
    );
    let names = kit::names(&dir.path().join("out"));
    for name in ["grid", "grid.meta.yaml", "names", "notes.txt", "packed", "points", "things.meta.yaml"] {
        assert!(names.contains(&name.to_owned()), "{name} is not in {names:?}");
    }
    assert!(!names.contains(&"things".to_owned()));
}

/// A ZIP64 archive that takes no room: `hole.npy`, 4.5 GiB of bytes that are nothing but zeros and a word near their
/// end, and `after.npy` behind it.
fn beyond_4_gib(path: &Path) {
    use std::os::unix::fs::FileExt;
    let npy = |descr: &str, count: u64| {
        let text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({count},), }}\n");
        [b"\x93NUMPY\x01\0", &(text.len() as u16).to_le_bytes()[..], text.as_bytes()].concat()
    };
    let file = std::fs::File::create(path).unwrap();
    let (mut at, mut directory) = (0u64, Vec::new());
    for (name, head, data) in [("hole.npy", npy("|u1", HOLE), HOLE), ("after.npy", npy("<u2", 3), 6)] {
        let len = head.len() as u64 + data;
        let both = [len, len].map(u64::to_le_bytes).concat();
        let crc = if data == 6 { kit::crc32(&[&head[..], &[7, 0, 8, 0, 9, 0]].concat()) } else { 0 };
        // Flags, method, time, date, CRC-32, both sizes, which the extra field has.
        let common =
            [&[0, 0, 0, 0, 0, 0, 33, 0][..], &crc.to_le_bytes(), &[0xff; 8], &[name.len() as u8, 0]].concat();
        let local =
            [b"PK\x03\x04\x2d\0", &common[..], &[20, 0], name.as_bytes(), &[1, 0, 16, 0], &both, &head]
                .concat();
        file.write_all_at(&local, at).unwrap();
        directory.extend(
            [b"PK\x01\x02\x2d\0\x2d\0", &common[..], &[28, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]].concat(),
        );
        directory
            .extend([&[0xff; 4][..], name.as_bytes(), &[1, 0, 24, 0], &both, &at.to_le_bytes()].concat());
        at += local.len() as u64 + data;
        match data {
            HOLE => file.write_all_at(b"word", at - 100).unwrap(),
            _ => file.write_all_at(&[7, 0, 8, 0, 9, 0], at - 6).unwrap(),
        }
    }
    let len = directory.len() as u64;
    let numbers = [2, 2, len, at].map(u64::to_le_bytes).concat();
    let end64 =
        [b"PK\x06\x06", &44u64.to_le_bytes()[..], &[45, 0, 45, 0, 0, 0, 0, 0, 0, 0, 0, 0], &numbers].concat();
    let locator = [b"PK\x06\x07\0\0\0\0", &(at + len).to_le_bytes()[..], &[1, 0, 0, 0]].concat();
    let end = [&b"PK\x05\x06\0\0\0\0"[..], &[0xff; 12], &[0, 0]].concat();
    file.write_all_at(&[directory, end64, locator, end].concat(), at).unwrap();
}

const HOLE: u64 = 9 << 29;

#[test]
fn members_beyond_4_gib() {
    let dir = kit::scratch();
    let file = dir.path().join("large.npz");
    beyond_4_gib(&file);
    assert_eq!(good(&[&"get", &file, &"after"]), "[7 8 9]\n");
    let offset = (HOLE - 100).to_string();
    assert_eq!(good(&[&"cat", &file, &"hole", &"--offset", &offset, &"--length", &"4"]), "word");
    assert_eq!(good(&[&"get", &file, &"hole[-101:-98]"]), "[  0 119 111]\n");
    let long = good(&[&"ls", &"-l", &file]);
    assert!(long.contains("(4831838208,)") && long.contains("4831838208"), "{long}");
    // What numpy makes of it.
    let script = "import sys, numpy as np; a = np.load(sys.argv[1]); assert a['after'].tolist() == [7, 8, 9]";
    kit::python(&[&"-c", &script, &file]);
    let mount = kit::Mount::new(&file);
    use std::os::unix::fs::FileExt;
    let hole = std::fs::File::open(mount.join("hole")).unwrap();
    assert_eq!(hole.metadata().unwrap().len(), HOLE);
    let mut word = [1; 6];
    hole.read_exact_at(&mut word, HOLE - 101).unwrap();
    assert_eq!(&word, b"\0word\0");
    assert_eq!(mount.read("after").unwrap(), [7, 0, 8, 0, 9, 0]);
}
