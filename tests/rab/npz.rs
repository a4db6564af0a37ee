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
