//! Flips every bit and tries every truncation: whatever `verify` accepts must be intact.

use std::io::Write;

use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use crate::Archive;

fn sample() -> Vec<u8> {
    let mut zip = ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, method) in [("a", CompressionMethod::Stored), ("d/b", CompressionMethod::Deflated)] {
        zip.start_file(name, SimpleFileOptions::default().compression_method(method)).unwrap();
        zip.write_all(&[b"some text ", name.as_bytes()].concat().repeat(5)).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

#[test]
fn damage_anywhere_never_gives_other_bytes() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.zip");
    let right = |bytes: &[u8]| {
        std::fs::write(&path, bytes).unwrap();
        let archive = Archive::open(&path).ok()?;
        let readable = |number| {
            let dataset = archive.dataset_at(number).ok()?;
            dataset.verify(&|_| ()).ok()?;
            dataset.bytes().ok()
        };
        Some((0..archive.len()).filter_map(readable).collect::<Vec<_>>())
    };
    let whole = sample();
    let want = right(&whole).unwrap();
    assert_eq!(want.len(), 2);
    for at in 0..whole.len() {
        for bit in 0..8 {
            let mut bytes = whole.clone();
            bytes[at] ^= 1 << bit;
            for found in right(&bytes).unwrap_or_default() {
                assert!(want.contains(&found) || found.is_empty(), "bit {bit} of byte {at}: {found:?}");
            }
        }
        assert!(right(&whole[..at]).is_none(), "cut at {at}");
    }
}

/// A member that is not empty, of which the directory says that it is.
#[test]
fn a_length_of_zero_is_not_believed_alone() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.zip");
    let mut zip = ZipWriter::new(std::io::Cursor::new(Vec::new()));
    zip.start_file("a", SimpleFileOptions::default().compression_method(CompressionMethod::Deflated))
        .unwrap();
    zip.write_all(b"not empty").unwrap();
    let mut bytes = zip.finish().unwrap().into_inner();
    let entry = bytes.windows(4).rposition(|window| window == b"PK\x01\x02").unwrap();
    for (start, len) in [(22, 9u32), (entry + 24, 9)] {
        assert_eq!(bytes[start..start + 4], len.to_le_bytes());
        bytes[start] = 0;
    }
    std::fs::write(&path, bytes).unwrap();
    let archive = Archive::open(&path).unwrap();
    let error = archive.dataset_at(0).unwrap().bytes().unwrap_err();
    assert!(error.exit_code() == 12 && error.to_string().contains("claims to be empty"), "{error}");
}
