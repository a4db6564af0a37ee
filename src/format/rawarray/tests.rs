//! Corrupted headers never cause a panic or use more memory than the file's size and the documented limits allow;
//! files that open can be read, or report why not.

use std::sync::Arc;

use proptest::prelude::*;

use super::super::Context;
use super::datasets::RawArrayDatasets;
use crate::codec::Engine;
use crate::source::memory::MemorySource;
use crate::tree::{Datasets, Sidecars};

fn header(words: &[u64], data: &[u8]) -> Vec<u8> {
    let words = words.iter().flat_map(|word| word.to_le_bytes());
    super::MAGIC.iter().copied().chain(words).chain(data.iter().copied()).collect()
}

/// One file per storage method.
fn files() -> Vec<Vec<u8>> {
    let raw: Vec<u8> = (0..96).collect();
    let block = lz4_flex::block::compress(&raw);
    vec![
        header(&[0, 3, 4, 96, 3, 2, 3, 4], &raw),
        header(&[1, 1, 2, 96, 1, 48], &[&raw[..], b"trailer"].concat()),
        header(&[2, 2, 1, block.len() as u64, 1, 96], &block),
        header(&[2, 1, 8, 96, 1, 12], &raw[..12]),
        header(&[6, 5, 8, 16, 2, 7, 10], &raw[..16]),
        header(&[2, 3, 8, 96, 1, 12], &raw),
        header(&[0, 0, 12, 96, 1, 8], &raw),
        header(&[0, 5, 2, 2, 0], &raw[..2]),
    ]
}

/// Reads every dataset; returns the number of bytes or the error message.
fn read(bytes: Vec<u8>) -> Result<u64, String> {
    let source = Arc::new(MemorySource { bytes, ..MemorySource::default() });
    let context = Context::new(source, Arc::new(Engine::new(1 << 20)));
    let archive = RawArrayDatasets::open(context).map_err(|error| error.to_string())?;
    let mut count = 0;
    for number in 0..archive.count() as u32 {
        archive.describe(number).map_err(|error| error.to_string())?;
        let sidecar = archive.sidecar(number, b"x").map_err(|error| error.to_string())?;
        assert_eq!(sidecar.known_len(), archive.sidecar_size(number, b"x").len);
        let content = archive.content(number).map_err(|error| error.to_string())?;
        assert_eq!(content.known_len(), archive.size(number).len);
        let passed = content.pass(&mut |piece| {
            count += piece.len() as u64;
            std::ops::ControlFlow::Continue(())
        });
        passed.map_err(|error| error.to_string())?;
    }
    Ok(count)
}

#[test]
fn intact_files_decode_completely() {
    let counts: Vec<_> = files().into_iter().map(|file| read(file).unwrap()).collect();
    assert_eq!(counts, [96, 103, 96, 96, 70, 96, 96, 2]);
}

#[test]
fn truncated_files_are_rejected() {
    for file in files() {
        for len in 0..file.len() {
            // LEB128 data may be cut within its last bytes and stay valid.
            let cut = read(file[..len].to_vec());
            assert!(cut.is_err() || len >= 48, "{len}: {cut:?}");
        }
    }
}

proptest! {
    #[test]
    fn changed_bytes(
        which in 0usize..8,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let mut file = files().swap_remove(which);
        for (at, byte) in changes {
            let at = at.index(file.len());
            file[at] = byte;
        }
        let len = file.len() as u64;
        if let Ok(count) = read(file) {
            prop_assert!(count <= 255 * len + 16, "{count} bytes out of {len}");
        }
    }

    #[test]
    fn changed_words(
        which in 0usize..8,
        at in 1usize..9,
        word in prop_oneof![
            0u64..300,
            any::<u64>(),
            prop::sample::select(vec![1 << 31, 1 << 32, 1 << 61, 1 << 62, 1 << 63, u64::MAX, u64::MAX / 8]),
        ],
    ) {
        let mut file = files().swap_remove(which);
        if let Some(place) = file.get_mut(8 * at..8 * at + 8) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        let len = file.len() as u64;
        if let Ok(count) = read(file) {
            prop_assert!(count <= 255 * len + 16, "{count} bytes out of {len}");
        }
    }

    #[test]
    fn any_words(flags in 0u64..10, eltype in 0u64..8, elbyte in 0u64..40, size in 0u64..200, dims in prop::collection::vec(0u64..20, 0..4), data in prop::collection::vec(any::<u8>(), 0..200)) {
        let words = [&[flags, eltype, elbyte, size, dims.len() as u64][..], &dims].concat();
        let _ = read(header(&words, &data));
    }
}
