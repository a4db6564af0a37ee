//! `rab cat`: bytes, parts of them, and what is left of damaged datasets.

use std::path::Path;
use std::process::{Command, Output};

use sha2::{Digest, Sha256};

use crate::kit::{bytes_entry, data, entry, rab as write, sh};
use crate::{RAB, SAMPLES, expected, rab};

fn cat(file: &Path, name: &str, options: &[&str]) -> Output {
    Command::new(RAB).arg("cat").args(options).arg("--").arg(file).arg(name).output().unwrap()
}

fn bytes(file: &Path, name: &str, options: &[&str]) -> Vec<u8> {
    let outcome = cat(file, name, options);
    assert!(outcome.status.success() && outcome.stderr.is_empty(), "{name}: {outcome:?}");
    outcome.stdout
}

#[test]
fn the_bytes_of_every_sample() {
    for sample in SAMPLES {
        let file = data(&format!("{sample}.rab"));
        for want in expected(sample) {
            let name = want["name"].as_str().unwrap();
            // No argument can hold a NUL, but a pattern matches it.
            let got = bytes(&file, &name.replace('\0', "?"), &[]);
            assert_eq!(got.len() as u64, want["length"].as_u64().unwrap(), "{sample}: {name}");
            let digest: String = Sha256::digest(&got).iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(digest, want["sha256"].as_str().unwrap(), "{sample}: {name}");
        }
    }
}

#[test]
fn parts() {
    let file = data("gzip.rab");
    for name in ["zlib 6", "array gzip members"] {
        let whole = bytes(&file, name, &[]);
        for (offset, length) in [(0, 5), (7, 1000), (100_000, 50_000), (162_889, 1), (90_000, 0)] {
            let part =
                bytes(&file, name, &["--offset", &offset.to_string(), "--length", &length.to_string()]);
            assert_eq!(part, whole[offset..offset + length], "{name}: {offset}, {length}");
        }
        assert_eq!(bytes(&file, name, &["--offset", "10"]), whole[10..]);
        assert_eq!(bytes(&file, name, &["--offset", "1G"]), b"");
        assert_eq!(bytes(&file, name, &["--length", "64K"]).len(), 64 << 10);
    }
}

#[test]
fn stored_bytes_are_the_compressed_ones() {
    let stored = bytes(&data("readme.rab"), "Some text", &["--stored"]);
    assert_eq!(stored.first(), Some(&0x78));
    assert_eq!(
        bytes(&data("readme.rab"), "Some text", &["--stored", "--offset=2", "--length=3"]),
        stored[2..5]
    );
}

#[test]
fn several_that_match_come_one_after_the_other() {
    let (_dir, file) = write(&(bytes_entry("a1", 0, 2) + &bytes_entry("a2", 2, 3)), b"xxabc");
    assert_eq!(bytes(&file, "a*", &[]), b"xxabc");
}

/// A zlib stream of this many numbered lines, and the lines.
fn lines(count: usize) -> (Vec<u8>, Vec<u8>) {
    let text: String = (0..count).map(|line| format!("line {line} {}\n", line * line % 7919)).collect();
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), &text).unwrap();
    let script = "python3 -c 'import sys, zlib; sys.stdout.write(zlib.compress(open(sys.argv[1], \"rb\").read()).hex())' \"$1\"";
    let hex = sh(script, &[&file.path()]);
    let digits: Vec<u8> = hex.bytes().collect();
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    (digits.chunks(2).map(byte).collect(), text.into_bytes())
}

fn compressed(length: usize) -> String {
    let length = format!("byteLength: {length}");
    entry("x", &[&length, "byteOffset: 0", "compression: gzip", "type: bytes"])
}

/// What is printed is a good beginning of `whole`, at least of `least` bytes, and the error names the dataset.
fn damaged(file: &Path, whole: &[u8], least: usize) -> usize {
    let outcome = cat(file, "x", &[]);
    let error = String::from_utf8_lossy(&outcome.stderr).into_owned();
    assert_eq!(outcome.status.code(), Some(12), "{error}");
    assert!(
        error.starts_with("rab: ") && error.contains("dataset \"x\"") && error.lines().count() == 1,
        "{error}"
    );
    assert!(whole.starts_with(&outcome.stdout), "{} bytes that are not the beginning", outcome.stdout.len());
    assert!(outcome.stdout.len() >= least, "only {} bytes", outcome.stdout.len());
    outcome.stdout.len()
}

#[test]
fn of_a_stream_that_ends_early_the_good_beginning() {
    // Short ones are verified before anything of them is mounted; here they are not.
    for count in [2_000, 200_000] {
        let (mut stored, whole) = lines(count);
        stored.truncate(stored.len() / 2);
        let (_dir, file) = write(&compressed(stored.len()), &stored);
        let good = damaged(&file, &whole, whole.len() / 3);
        assert!(good < whole.len());
        let part = bytes(&file, "x", &["--offset", "10", "--length", "90"]);
        assert_eq!(part, whole[10..100]);
    }
}

#[test]
fn of_a_stream_with_a_wrong_checksum_all_bytes() {
    let (mut stored, whole) = lines(1000);
    *stored.last_mut().unwrap() ^= 1;
    let (_dir, file) = write(&compressed(stored.len()), &stored);
    assert_eq!(damaged(&file, &whole, whole.len()), whole.len());
}

#[test]
fn of_a_file_that_ends_early_what_is_there() {
    let (_dir, file) = write(&bytes_entry("x", 0, 10), b"0123456");
    assert_eq!(damaged(&file, b"0123456789", 7), 7);
    let (stored, whole) = lines(2000);
    let (_dir, file) = write(&compressed(stored.len()), &stored[..stored.len() / 2]);
    damaged(&file, &whole, whole.len() / 3);
}

#[test]
fn there_is_no_such_dataset() {
    let outcome = rab(&[&"cat", &data("readme.rab"), &"nothing"]);
    assert_eq!((outcome.code, outcome.out.as_str()), (3, ""), "{outcome:?}");
}
