//! Corrupt headers never cause a panic or ranges beyond the file, and truncated files are rejected.

use std::path::Path;

use proptest::prelude::*;

use super::header::Header;
use crate::Archive;
use crate::source::memory::MemorySource;

fn sample() -> Vec<u8> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/safetensors");
    std::fs::read(dir.join("sharded/model-00001-of-00002.safetensors")).unwrap()
}

fn read(bytes: Vec<u8>) -> crate::Result<Header> {
    let len = bytes.len() as u64;
    let header = Header::read(&MemorySource { bytes, ..MemorySource::default() })?;
    let data: u64 = header.tensors.iter().map(|tensor| tensor.stored.end - tensor.stored.start).sum();
    assert!(data <= len && header.tensors.iter().all(|tensor| tensor.stored.end <= len));
    Ok(header)
}

#[test]
fn flipped_header_bits_and_truncation() {
    let whole = sample();
    let data = whole.len() - 96;
    for at in 0..data {
        for bit in 0..8 {
            let mut bytes = whole.clone();
            bytes[at] ^= 1 << bit;
            let _ = read(bytes);
        }
    }
    for len in 0..whole.len() {
        assert!(read(whole[..len].to_vec()).is_err(), "cut at {len}");
    }
    assert_eq!(read(whole).unwrap().tensors.len(), 2);
}

#[test]
fn a_header_may_name_tensors_in_any_order() {
    let header = br#"{"b":{"dtype":"U8","shape":[1],"data_offsets":[2,3]},"a":{"dtype":"I16","shape":[],"data_offsets":[0,2]}}"#;
    let bytes = [&(header.len() as u64).to_le_bytes()[..], header, &[1, 2, 3]].concat();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.safetensors");
    std::fs::write(&path, bytes).unwrap();
    let archive = Archive::open(&path).unwrap();
    assert_eq!((archive.name(0), archive.name(1)), ("b".into(), "a".into()));
    assert_eq!(archive.dataset("b").unwrap().bytes().unwrap(), [3]);
    assert_eq!(archive.dataset("a").unwrap().bytes().unwrap(), [1, 2]);
}

proptest! {
    #[test]
    fn arbitrary_headers_never_panic(
        dtype in prop::sample::select(&["U8", "F4", "BF16", "F64", "X"][..]),
        shape in prop::collection::vec(prop_oneof![0u64..4, any::<u64>()], 0..4),
        offsets in prop::array::uniform2(prop_oneof![0u64..20, any::<u64>()]),
        len in prop_oneof![Just(None), (0u64..200).prop_map(Some), any::<u64>().prop_map(Some)],
        garbage in prop::collection::vec(any::<u8>(), 0..30),
    ) {
        let text = format!(r#"{{"a":{{"dtype":"{dtype}","shape":{shape:?},"data_offsets":{offsets:?}}}}}"#);
        let len = len.unwrap_or(text.len() as u64).to_le_bytes();
        let _ = read([&len[..], text.as_bytes(), &garbage].concat());
        let _ = read([&len[..], &garbage].concat());
    }
}
