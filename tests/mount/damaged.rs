//! Files that are not what they claim: refused with a message and an exit code, or, where only one dataset
//! is at fault, mounted with everything else readable. Never a panic, a hang or a large allocation.

use std::time::{Duration, Instant};

use crate::kit::*;

/// Tries to mount `file`; nothing may be left of the attempt.
fn refused(file: &std::path::Path) -> Outcome {
    let scratch = scratch();
    let mountpoint = scratch.path().join("mnt");
    let start = Instant::now();
    let outcome = run(program().arg(file).arg(&mountpoint));
    assert!(start.elapsed() < Duration::from_secs(10), "{} took {:?}", file.display(), start.elapsed());
    assert!(!mountpoint.exists(), "the mountpoint was left behind: {outcome:?}");
    assert!(!outcome.err.contains("panic"), "{outcome:?}");
    outcome
}

fn refused_with(code: i32, fragments: &[&str], write: impl FnOnce(&std::path::Path)) {
    let dir = scratch();
    let file = dir.path().join("bad.rab");
    write(&file);
    let outcome = refused(&file);
    assert_eq!(outcome.code, code, "{fragments:?}: {outcome:?}");
    for fragment in fragments.iter().chain(&["bad.rab"]) {
        assert!(outcome.err.contains(fragment), "{fragment:?} is not in {:?}", outcome.err);
    }
    assert_eq!(outcome.err.lines().count(), 1, "{outcome:?}");
}

fn refused_header(fragments: &[&str], header: &str) {
    refused_with(12, fragments, |file| write_rab(file, header, b"data"));
}

#[test]
fn files_that_are_not_containers() {
    refused_with(11, &["it is empty"], |file| std::fs::write(file, b"").unwrap());
    refused_with(11, &["is an HDF5 file"], |file| std::fs::write(file, b"\x89HDF\r\n\x1a\n0000").unwrap());
    refused_with(11, &["like a text file"], |file| std::fs::write(file, b"ra").unwrap());
    refused_with(11, &["ff 00 12"], |file| std::fs::write(file, b"\xff\x00\x12").unwrap());
}

#[test]
fn files_that_cannot_be_opened() {
    let missing = refused(std::path::Path::new("/nonexistent/bad.rab"));
    assert_eq!((missing.code, missing.err.contains("No such file")), (10, true), "{missing:?}");
    let dir = scratch();
    let pipe = dir.path().join("pipe");
    sh(r#"mkfifo "$1""#, &[&pipe]);
    let outcome = refused(&pipe);
    assert_eq!((outcome.code, outcome.err.contains("a pipe, not a regular file")), (10, true), "{outcome:?}");
}

#[test]
fn lengths_that_do_not_fit_the_file() {
    refused_with(12, &["the header's length ends at byte 7, but the file has 3"], |f| {
        std::fs::write(f, b"rab").unwrap()
    });
    refused_with(12, &["ends at byte 7, but the file has 6"], |f| std::fs::write(f, b"rab\x01\0\0").unwrap());
    refused_with(12, &["the header ends at byte 4294967302, but the file has 9"], |file| {
        write_raw(file, &[0xff; 4], b"[]", b"");
    });
    // A sparse file that claims a header of 4 GiB: nothing of that size is read or allocated.
    refused_with(12, &["at byte 7", "control character U+0000"], |file| {
        write_raw(file, &[0xff, 0xff, 0xff, 0x3f], b"", b"");
        std::fs::OpenOptions::new().write(true).open(file).unwrap().set_len(5 << 30).unwrap();
    });
    refused_with(12, &["not of the usual layout", "the limit is 1 GiB"], |file| {
        write_raw(file, &[0xff; 4], b"", b"");
        std::fs::OpenOptions::new().write(true).open(file).unwrap().set_len(5 << 30).unwrap();
    });
    refused_with(12, &["the header ends at byte 12, but the file has 9"], |file| {
        write_raw(file, &[5, 0, 0, 0], b"[]", b"");
    });
}

#[test]
fn headers_that_are_no_list_of_entries() {
    refused_with(12, &["at byte 9", "not UTF-8"], |file| write_raw(file, &[4, 0, 0, 0], b"- \xff\xfe", b""));
    refused_header(&["cannot be read", "at byte"], "- name: [1\n");
    refused_header(&["cannot be read"], "\t- x: {\n");
    refused_header(&["not a list"], "name: x\n");
    refused_header(&["not a list"], "just text\n");
    let two = [bytes_entry("a", 0, 1), bytes_entry("b", 0, 1)].join("---\n");
    refused_header(&["cannot be read", "second document"], &two);
    refused_header(&["entry 1", "is not a mapping"], "- text\n");
    refused_header(&["control character U+0001"], "- name: \"\x01\"\n");
    refused_header(&["cannot be read"], "- name: *nowhere\n");
}

#[test]
fn entries_without_what_makes_a_dataset() {
    let good = bytes_entry("good", 0, 4);
    let lacks = |what: &str, entry: &str| {
        refused_header(&["entry 2 of the header", what], &format!("{good}{entry}"));
    };
    lacks("has no name", "- codecMeta: {byteLength: 1, byteOffset: 0, type: bytes}\n");
    lacks("has no name", "- name: null\n  codecMeta: {byteLength: 1, byteOffset: 0, type: bytes}\n");
    lacks("(dataset \"x\") has no codecMeta", "- name: x\n");
    lacks("has no codecMeta", "- name: x\n  codecMeta: 5\n");
    lacks("has no type", "- name: x\n  codecMeta: {byteLength: 1, byteOffset: 0}\n");
    lacks("has no byteOffset", "- name: x\n  codecMeta: {byteLength: 1, type: bytes}\n");
    lacks("has no byteLength", "- name: x\n  codecMeta: {byteLength: 1.5, byteOffset: 0, type: bytes}\n");
    lacks("has no byteLength", "- name: x\n  codecMeta: {byteLength: yes, byteOffset: 0, type: bytes}\n");
}

#[test]
fn bombs_and_deep_nesting() {
    let mut bomb = String::from("- &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for level in 1..30 {
        let alias = format!("*a{}", level - 1);
        bomb += &format!("- &a{level} [{}]\n", vec![alias; 10].join(", "));
    }
    refused_header(&["entry 1"], &bomb);
    let inside = bomb.replace("- &", "    - &");
    refused_header(
        &["once its aliases are written out"],
        &format!(
            "- name: x\n  metadata:\n{inside}  codecMeta: {{byteLength: 0, byteOffset: 0, type: bytes}}\n"
        ),
    );
    for depth in [10_000, 1_000_000] {
        refused_header(&["500"], &format!("- name: {}", "[".repeat(depth)));
    }
    let mut block = String::new();
    for depth in 0..10_000 {
        block += &format!("{}- \n", " ".repeat(depth.min(3000)));
    }
    refused_with(12, &["cannot be read"], |file| write_rab(file, &block, b""));
    refused_header(&["500"], &"- ".repeat(10_000));
    refused_header(&["own anchor"], "- name: x\n  metadata: &a [*a]\n  codecMeta: {}\n");
}

/// Mounts a header of one faulty entry between two good ones: the faulty one is listed, has its sidecar,
/// reads as an input/output error, and is named when mounting.
fn faulty(fragments: &[&str], codec: &[&str]) {
    let header = [bytes_entry("first", 0, 4), entry("bad", codec), bytes_entry("last", 4, 4)].concat();
    let (_dir, file) = rab(&header, b"abcdefgh");
    let mount = Mount::new(&file);
    assert_eq!(mount.names(), ["bad", "bad.meta.yaml", "first", "first.meta.yaml", "last", "last.meta.yaml"]);
    assert_eq!(mount.read("bad").unwrap_err().raw_os_error(), Some(libc::EIO), "{codec:?}");
    assert!(std::fs::metadata(mount.join("bad")).is_ok());
    assert!(String::from_utf8(mount.read("bad.meta.yaml").unwrap()).unwrap().contains("name: bad"));
    assert_eq!(mount.read("first").unwrap(), b"abcd");
    assert_eq!(mount.read("last").unwrap(), b"efgh");
    let log = mount.log();
    for fragment in fragments.iter().chain(&["test.rab", "dataset \"bad\""]) {
        assert!(log.contains(fragment), "{fragment:?} is not in {log:?}");
        assert!(mount.err.contains(fragment), "{fragment:?} is not in {:?}", mount.err);
    }
    assert_eq!(log.lines().count(), 1, "{log}");
}

#[test]
fn one_entry_whose_bytes_lie_outside_the_file() {
    let at = |offset: &str, length: &str, fragments: &[&str]| {
        faulty(
            fragments,
            &[&format!("byteLength: {length}"), &format!("byteOffset: {offset}"), "type: bytes"],
        );
    };
    at("5", "4", &["it ends at byte", "the file has"]);
    at("-1", "4", &["byteOffset -1", "negative"]);
    at("0", "-4", &["byteLength -4", "negative"]);
    at("18446744073709551615", "1", &["larger than any file"]);
    at("9223372036854775807", "9223372036854775807", &["larger than any file"]);
    at("0", "1180591620717411303424", &["larger than any file"]);
    at("4294967295", "0", &["it ends at byte"]);
}

#[test]
fn one_entry_that_makes_no_sense() {
    let with = |lines: &[&str], fragments: &[&str]| {
        faulty(fragments, &[&["byteLength: 4", "byteOffset: 0"], lines].concat());
    };
    with(&["type: float80"], &["type \"float80\" is not known"]);
    with(&["type: text", "compression: lzma"], &["compression is \"lzma\""]);
    with(&["type: text", "compression: [gzip]"], &["compression is a list"]);
    with(&["type: int16", "shape: [3]"], &["byteLength is 4", "needs 6 bytes"]);
    with(&["type: int8", "compression: gzip", "shape: [4129]"], &["needs 4129 bytes", "cannot decode"]);
    with(&["type: int16"], &["it has no shape"]);
    with(&["type: int16", "shape: 2"], &["its shape is 2"]);
    with(&["type: int16", "shape: [-2]"], &["its shape has a size"]);
    with(&["type: int16", "shape: [2, x]"], &["its shape has a size"]);
    with(&["type: int8", "shape: [4294967296, 4294967296, 2]"], &["does not fit into 64 bits"]);
    with(&["type: dataframe"], &["it has no rows"]);
    with(&["type: dataframe", "rows: 2"], &["it has no columnInfo"]);
    with(&["type: dataframe", "rows: 2", "columnInfo: [{key: a}]"], &["column 1 has no encodingType"]);
    with(&["type: dataframe", "rows: 3", "columnInfo: [{key: a, encodingType: int16}]"], &["needs 6 bytes"]);
    with(
        &["type: dataframe", "rows: 2", "columnInfo: [{key: a, encodingType: text}]"],
        &["has no maxByteSize"],
    );
}

#[test]
fn what_only_looks_odd_is_read() {
    let odd = [
        entry(
            "strides that lie",
            &[
                "byteLength: 4",
                "byteOffset: 0",
                "type: int16",
                "shape: [2]",
                "strides: [99]",
                "endianness: little",
            ],
        ),
        entry(
            "no endianness",
            &["byteLength: 4", "byteOffset: 0", "type: int16", "shape: [2]", "byteOrder: C"],
        ),
        entry(
            "layout of another kind",
            &["byteLength: 4", "byteOffset: 0", "type: int16", "shape: [2]", "byteOrder: Z"],
        ),
        entry(
            "overlapping",
            &["byteLength: 3", "byteOffset: 1", "type: bytes", "compression: null", "more: [1]"],
        ),
    ];
    let (_dir, file) = rab(&odd.concat(), b"abcd");
    let mount = Mount::new(&file);
    assert_eq!(mount.err, "");
    assert_eq!(mount.read("strides that lie").unwrap(), b"abcd");
    assert_eq!(mount.read("no endianness").unwrap(), b"abcd");
    assert_eq!(mount.read("overlapping").unwrap(), b"bcd");
    let side = |name: &str| String::from_utf8(mount.read(format!("{name}.meta.yaml")).unwrap()).unwrap();
    assert!(side("strides that lie").contains("dtype: '<i2'"));
    assert!(!side("no endianness").contains("dtype:") && !side("layout of another kind").contains("dtype:"));
}

/// Every sample, cut short everywhere and with bytes changed everywhere in its header: it mounts or is
/// refused, and nothing else.
#[test]
fn mutated_headers_never_crash() {
    let dir = scratch();
    for sample in ["readme.rab", "metadata.rab", "readme_json.rab"] {
        let whole = std::fs::read(data(sample)).unwrap();
        for round in 0..40usize {
            let mut bytes = whole.clone();
            let at = (round * 2_654_435_761 + 12_345) % (bytes.len().min(4000));
            match round % 4 {
                0 => bytes.truncate(at),
                1 => bytes[at] ^= 1 << (round % 8),
                2 => bytes[at] = b"-:[]{}&*!|>'\"%@`\t\n"[round % 18],
                _ => drop(bytes.splice(at..at, std::iter::repeat_n(b"[- "[round % 3], 700))),
            }
            let file = dir.path().join(format!("{sample}-{round}.rab"));
            std::fs::write(&file, bytes).unwrap();
            let outcome = run(program()
                .arg("--log-file")
                .arg(dir.path().join("log"))
                .arg(&file)
                .args(["--", "ls", "-R", "{}"]));
            assert!(matches!(outcome.code, 0 | 11 | 12), "{}: {outcome:?}", file.display());
            assert!(!outcome.err.contains("panic"), "{outcome:?}");
        }
    }
}
