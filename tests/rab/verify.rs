//! `rab verify`: intact datasets are counted, and all others named, one line each.

use std::io::Write;

use sha2::{Digest, Sha256};

use crate::kit::{Mount, bytes_entry, data, entry, python, rab as write, scratch, sh, write_rab};
use crate::{RAB, SAMPLES, good, rab};

#[test]
fn all_samples_are_whole() {
    for sample in SAMPLES {
        let outcome = rab(&[&"verify", &data(&format!("{sample}.rab"))]);
        assert_eq!((outcome.code, outcome.err.as_str()), (0, ""), "{sample}: {outcome:?}");
        assert!(outcome.out.contains(": ok: ") && outcome.out.lines().count() == 1, "{}", outcome.out);
        assert_eq!(rab(&[&"verify", &"-q", &data(&format!("{sample}.rab"))]).out, "");
    }
}

fn with_sum(name: &str, algorithm: &str, value: &str) -> String {
    let (algorithm, value) = (format!("  algorithm: {algorithm}"), format!("  value: '{value}'"));
    entry(name, &["byteLength: 4", "byteOffset: 0", "checksum:", &algorithm, &value, "type: bytes"])
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn checksums_are_compared() {
    let right = with_sum("right", "sha256", &sha256(b"data").to_uppercase());
    let unknown = with_sum("unknown", "crc99", "77");
    let (_dir, file) = write(&(right.clone() + &unknown), b"data");
    let outcome = rab(&[&"verify", &file]);
    assert_eq!(outcome.code, 0, "{outcome:?}");
    assert!(
        outcome.out.ends_with(
            "ok: 2 datasets, 1 with a checksum, 1 with one of an unknown algorithm, not compared\n"
        ),
        "{}",
        outcome.out
    );

    let (_dir, file) = write(&(right + &with_sum("wrong", "sha256", &sha256(b"Data"))), b"data");
    let outcome = rab(&[&"verify", &file]);
    assert_eq!((outcome.code, outcome.err.as_str()), (12, ""), "{outcome:?}");
    assert_eq!(outcome.out.lines().count(), 1, "{}", outcome.out);
    assert!(outcome.out.contains("dataset \"wrong\"") && outcome.out.contains("sha256"), "{}", outcome.out);
}

/// The sum of bytes that several have is made once; what is wrong with one of them is its own.
#[test]
fn whoever_has_the_bytes_of_another_is_described_well_himself() {
    let array = |name: &str, size: u32| {
        let (shape, sum) = (format!("shape: [{size}]"), format!("  value: '{}'", sha256(b"data")));
        let codec = [
            "byteLength: 4",
            "byteOffset: 0",
            "byteOrder: C",
            "checksum:",
            "  algorithm: sha256",
            &sum,
            "endianness: na",
            &shape,
            "type: int8",
        ];
        entry(name, &codec)
    };
    let (_dir, file) = write(&(array("right", 4) + &array("too large", 5) + &array("as well", 6)), b"data");
    for _ in 0..5 {
        let outcome = rab(&[&"verify", &file]);
        assert_eq!((outcome.code, outcome.out.lines().count()), (12, 2), "{outcome:?}");
        assert!(outcome.out.contains("dataset \"too large\"") && outcome.out.contains("dataset \"as well\""));
    }
}

#[test]
fn checksums_of_compressed_datasets_are_of_the_stored_bytes() {
    let stored = [0x78, 0x9c, 0x03, 0x00, 0x00, 0x00, 0x00, 0x01]; // nothing, as zlib
    let header = |sum: &str, len: u32| {
        let (value, len) = (format!("  value: {sum}"), format!("decodedLength: {len}"));
        let codec = [
            "byteLength: 8",
            "byteOffset: 0",
            "checksum:",
            "  algorithm: sha256",
            &value,
            "compression: gzip",
            &len,
            "type: bytes",
        ];
        entry("x", &codec)
    };
    for (sum, len, code) in [(sha256(&stored), 0, 0), (sha256(b"other"), 0, 12), (sha256(&stored), 3, 12)] {
        let (_dir, file) = write(&header(&sum, len), &stored);
        let outcome = rab(&[&"verify", &file]);
        assert_eq!(outcome.code, code, "{sum} {len}: {outcome:?}");
    }
}

#[test]
fn lengths_that_contradict_each_other_are_damage() {
    let stored = [0x78, 0x9c, 0x63, 0x60, 0x00, 0x00, 0x00, 0x02, 0x00, 0x01]; // two zeros, as zlib
    for (decoded, code) in [(2, 0), (3, 12)] {
        let decoded = format!("decodedLength: {decoded}");
        let codec = [
            "byteLength: 10",
            "byteOffset: 0",
            "byteOrder: C",
            "compression: gzip",
            &decoded,
            "endianness: na",
            "shape: [2]",
            "type: int8",
        ];
        let (_dir, file) = write(&entry("x", &codec), &stored);
        let outcome = rab(&[&"verify", &file]);
        assert_eq!(outcome.code, code, "{decoded}: {outcome:?}");
    }
}

#[test]
fn every_damaged_dataset_is_named() {
    let mut raw = std::fs::read(data("gzip.rab")).unwrap();
    let dir = scratch();
    let file = dir.path().join("bad.rab");
    let at = |name: &str| {
        let out = crate::good(&[&"info", &"--json", &data("gzip.rab"), &name]);
        let info: serde_json::Value = serde_json::from_str(&out).unwrap();
        (info["offset"].as_u64().unwrap() + info["stored"].as_u64().unwrap() / 2) as usize
    };
    let hurt = ["zlib 9", "gzip three members", "array zlib"];
    for name in hurt {
        raw[at(name)] ^= 0x55;
    }
    std::fs::write(&file, &raw).unwrap();
    let outcome = rab(&[&"verify", &file]);
    assert_eq!((outcome.code, outcome.err.as_str()), (12, ""), "{outcome:?}");
    let lines: Vec<_> = outcome.out.lines().collect();
    assert_eq!(lines.len(), hurt.len(), "{lines:?}");
    for (line, name) in lines.iter().zip(hurt) {
        assert!(line.contains(&format!("bad.rab: dataset {name:?}")), "{line}");
    }
}

#[test]
fn a_file_that_ends_early_and_one_that_is_none() {
    let (_dir, short) = write(&(bytes_entry("a", 0, 2) + &bytes_entry("b", 2, 9)), b"0123");
    let outcome = rab(&[&"verify", &short, &data("readme.rab")]);
    assert_eq!(outcome.code, 12, "{outcome:?}");
    let lines: Vec<_> = outcome.out.lines().collect();
    assert!(
        lines.len() == 2 && lines[0].contains("dataset \"b\"") && lines[1].contains("readme.rab: ok"),
        "{lines:?}"
    );
    let dir = scratch();
    let none = dir.path().join("none");
    std::fs::write(&none, "text").unwrap();
    let outcome = rab(&[&"verify", &none, &data("readme.rab")]);
    assert!(
        outcome.code == 11 && outcome.err.starts_with("rab: ") && outcome.out.contains("ok"),
        "{outcome:?}"
    );
    assert_eq!(rab(&[&"verify", &none, &short]).code, 12);
}

/// A file that its disk gives in part: one that is mounted out of a container which is cut short.
#[test]
fn what_cannot_be_read_hides_no_damage() {
    let mut state = 1u64;
    let mut noise = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) as u8
    };
    let bytes: Vec<u8> = (0..4 << 20).map(|_| noise()).collect();
    let dir = scratch();
    let inner = dir.path().join("inner.rab");
    let header = bytes_entry("last", (4 << 20) - 9, 9) + &with_sum("wrong", "sha256", &sha256(b"Data"));
    write_rab(&inner, &header, &bytes);
    let inner = std::fs::read(inner).unwrap();
    let mut stored = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
    stored.write_all(&inner).unwrap();
    let stored = stored.finish().unwrap();
    let half = format!("byteLength: {}", stored.len() / 2);
    let len = format!("decodedLength: {}", inner.len());
    let codec = [&half, "byteOffset: 0", "compression: gzip", &len, "type: bytes"];
    let (_dir, outer) = write(&entry("inner.rab", &codec), &stored);
    let mount = Mount::new(&outer);
    let outcome = rab(&[&"verify", &mount.join("inner.rab")]);
    assert_eq!(outcome.code, 12, "{outcome:?}");
    assert!(outcome.out.contains("dataset \"wrong\"") && outcome.out.lines().count() == 1, "{outcome:?}");
    assert!(outcome.err.contains("cannot be read: ") && outcome.err.lines().count() == 1, "{outcome:?}");
}

#[test]
fn a_name_that_comes_twice_is_damage() {
    let header = format!("\n{}{}\n", bytes_entry("a", 0, 1), bytes_entry("a", 1, 1));
    let (_dir, file) = write(&header, b"xy");
    let outcome = rab(&[&"verify", &file]);
    assert!(
        outcome.code == 12 && outcome.out.contains("there is another dataset of this name"),
        "{outcome:?}"
    );
    let out = scratch();
    let at = |name: &str| out.path().join(name);
    let outcome = rab(&[&"unpack", &file, &at("files")]);
    assert!(
        outcome.code == 12 && outcome.err.contains("there is another dataset of this name"),
        "{outcome:?}"
    );
    assert_eq!(std::fs::read(at("files/a~2")).unwrap(), b"y");
    for to in ["x.npz", "x.rab"] {
        let outcome = rab(&[&"convert", &file, &at(to)]);
        assert!(
            outcome.code == 12 && outcome.err.contains("there is another dataset of this name"),
            "{outcome:?}"
        );
        assert!(!at(to).exists());
    }
}

/// What is called as a container and is none is damaged, for all that is known.
#[test]
fn files_of_a_directory_that_should_be_containers() {
    let dir = scratch();
    let at = |name: &str| dir.path().join(name);
    std::fs::create_dir(at("sub")).unwrap();
    for (name, bytes) in [
        ("sub/zeros.rab", &[0; 5000][..]),
        ("empty.npz", b""),
        ("zeros.ffr", &[0; 5000]),
        ("empty.arrow", b""),
        ("empty.akd", b""),
        // Those are no containers, and nothing is wrong with them.
        ("notes.txt", b""),
        ("foreign.arrow", b"ARROW1\0\0 of another program"),
        ("._good.rab", b"\0\x05\x16\x07"),
    ] {
        std::fs::write(at(name), bytes).unwrap();
    }
    std::fs::copy(data("readme.rab"), at("good.rab")).unwrap();
    for verb in ["verify", "ls", "info"] {
        let outcome = rab(&[&verb, &"-r", &dir.path()]);
        assert_eq!((outcome.code, outcome.err.lines().count()), (12, 5), "{verb}: {outcome:?}");
        for (file, problem) in [
            ("sub/zeros.rab", "not a container of a known format: it begins with 00"),
            ("empty.npz", "not a container of a known format: it is empty"),
            ("zeros.ffr", ""),
            ("empty.arrow", "not a container of a known format: it is empty"),
            ("empty.akd", "not a container of a known format: it is empty"),
        ] {
            let start = format!("rab: {}: ", at(file).display());
            let is_reported = |line: &str| line.starts_with(&start) && line.contains(problem);
            assert!(outcome.err.lines().any(is_reported), "{verb} {file}: {outcome:?}");
        }
        assert!(outcome.out.contains("good.rab"), "{verb}: {outcome:?}");
    }
    let outcome = rab(&[&"verify", &"-r", &"--format", &"npz", &dir.path()]);
    assert_eq!((outcome.code, outcome.err.lines().count(), outcome.out.as_str()), (11, 1, ""), "{outcome:?}");
    assert_eq!(rab(&[&"refs", &dir.path()]).code, 12);
}

#[test]
fn a_directory_without_containers() {
    let dir = scratch();
    std::fs::write(dir.path().join("notes.txt"), "nothing").unwrap();
    for verb in ["verify", "ls", "info"] {
        let outcome = rab(&[&verb, &"-r", &dir.path()]);
        let want = format!("rab: {}: has no container in it\n", dir.path().display());
        assert_eq!((outcome.code, outcome.err, outcome.out.as_str()), (1, want, ""), "{verb}");
    }
    std::fs::copy(data("readme.rab"), dir.path().join("x.rab")).unwrap();
    let outcome = rab(&[&"ls", &"-r", &"--format", &"NPZ", &dir.path()]);
    assert!(outcome.code == 1 && outcome.err.ends_with(": has no NPZ container in it\n"), "{outcome:?}");
}

#[test]
fn links_in_a_directory_that_is_searched() {
    let (dir, outside) = (scratch(), scratch());
    let at = |name: &str| dir.path().join(name);
    let elsewhere = outside.path().join("elsewhere.rab");
    for file in [at("a.rab"), elsewhere.clone()] {
        std::fs::copy(data("readme.rab"), file).unwrap();
    }
    let link = |target: &std::path::Path, name: &str| std::os::unix::fs::symlink(target, at(name)).unwrap();
    link(std::path::Path::new("a.rab"), "inside.rab");
    link(&elsewhere, "outside.rab");
    link(&elsewhere, "outside-too");
    for verb in ["verify", "ls", "info"] {
        let listed = |arguments: &[&str]| {
            let dir = dir.path().to_str().unwrap();
            let mut all: Vec<&dyn AsRef<std::ffi::OsStr>> = vec![&verb, &"-r", &dir];
            all.extend(arguments.iter().map(|argument| argument as &dyn AsRef<std::ffi::OsStr>));
            let outcome = rab(&all);
            let files = ["a.rab", "inside.rab", "outside.rab", "outside-too"];
            let files = files.map(|name| outcome.out.matches(at(name).to_str().unwrap()).count());
            (files.map(|count| count > 0), outcome)
        };
        let (files, outcome) = listed(&[]);
        assert_eq!((files, outcome.code), ([true, false, false, false], 1), "{verb}: {outcome:?}");
        assert_eq!(
            outcome.err.matches("is a symbolic link that leads out of").count(),
            2,
            "{verb}: {outcome:?}"
        );
        assert!(outcome.err.contains("--follow-outside"), "{verb}: {outcome:?}");
        let (files, outcome) = listed(&["--follow-outside"]);
        // The first of the two by name.
        assert_eq!((files, outcome.code), ([true, false, false, true], 0), "{verb}: {outcome:?}");
    }
    std::fs::remove_file(&elsewhere).unwrap();
    let outcome = rab(&[&"verify", &"-r", &dir.path()]);
    assert_eq!((outcome.code, outcome.err.lines().count()), (10, 1), "{outcome:?}");
    assert!(outcome.err.contains("outside.rab: cannot be opened"), "{outcome:?}");
}

#[test]
fn checksums_are_not_left_out() {
    let outcome = rab(&[&"verify", &"--no-verify", &data("readme.rab")]);
    assert!(outcome.code == 2 && outcome.err.contains("--no-verify cannot be used with it"), "{outcome:?}");
}

/// Of files that may not be read, only those that are called like containers are missed.
#[test]
fn unreadable_files_that_are_no_containers_are_passed_over() {
    let dir = scratch();
    let at = |name: &str| dir.path().join(name);
    std::fs::copy(data("readme.rab"), at("good.rab")).unwrap();
    let run = || {
        // Even root may then not read what its mode forbids.
        let script = "cmd='exec \"$@\"'; [ $(id -u) = 0 ] && cmd='exec setpriv --bounding-set=-dac_override,-dac_read_search -- \"$@\"'; \
            set -- \"$0\" \"$@\"; eval $cmd";
        let command = std::process::Command::new("sh")
            .args(["-c", script, RAB, "verify", "-r"])
            .arg(dir.path())
            .output()
            .unwrap();
        (command.status.code(), String::from_utf8(command.stderr).unwrap())
    };
    let hidden = |name: &str| {
        std::fs::write(at(name), "hidden").unwrap();
        sh(r#"chmod 000 "$1""#, &[&at(name)]);
    };
    hidden("secret.txt");
    assert_eq!(run(), (Some(0), String::new()));
    hidden("secret.npz");
    let (code, err) = run();
    assert!(code == Some(10) && err.contains("secret.npz"), "{code:?} {err}");
}

/// Plain ZIP files count as containers where ZIP is asked for, as in a mount.
#[test]
fn a_directory_of_zip_files() {
    let dir = scratch();
    std::fs::copy("tests/data/zip/plain.zip", dir.path().join("plain.zip")).unwrap();
    let listed = good(&[&"ls", &"-r", &"--format", &"zip", &dir.path()]);
    assert!(listed.contains("plain.zip:\n") && listed.contains("\nstored.txt\n"), "{listed}");
    let outcome = rab(&[&"verify", &"-r", &"--format", &"zip", &dir.path()]);
    assert!(outcome.out.contains("plain.zip: 5 of 6 datasets ok; 1 not checked"), "{outcome:?}");
    assert_eq!(rab(&[&"ls", &"-r", &dir.path()]).code, 1);
}

#[test]
fn what_was_decompressed_to_its_end_is_counted() {
    let dir = scratch();
    let file = dir.path().join("x.npz");
    python(&[
        &"-c",
        &"import sys, numpy as np; np.savez_compressed(sys.argv[1], a=np.arange(9), b=np.arange(3))",
        &file,
    ]);
    let outcome = good(&[&"verify", &file]);
    assert!(
        outcome.ends_with("x.npz: ok: 2 datasets, 0 with a checksum, 2 decompressed to the end\n"),
        "{outcome}"
    );
}
