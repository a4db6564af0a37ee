mod kept;

use std::io::Write;
use std::sync::atomic::Ordering;

use flate2::Compression;
use flate2::write::{GzEncoder, ZlibEncoder};
use proptest::prelude::*;

use super::*;
use crate::Error;
use crate::source::memory::MemorySource;

/// Bytes that compress a little, without repeated blocks.
fn sample(len: usize) -> Vec<u8> {
    let mut state = 1u32;
    let mut next = || {
        state = state.wrapping_mul(1664525).wrapping_add(1013904223);
        (state >> 24) as u8 & 0x3f
    };
    (0..len).map(|_| next()).collect()
}

fn zlib(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

struct Kit {
    stream: Arc<Stream>,
    source: Arc<MemorySource>,
}

fn open_with_cache(stored: Vec<u8>, expected: Option<usize>, cache: u64) -> Kit {
    let source = Arc::new(MemorySource { bytes: stored, ..MemorySource::default() });
    let engine = Arc::new(Engine::new(cache));
    let range = 0..source.len();
    let place = source.place().dataset("x");
    let stream = Stream::new(engine, source.clone(), range, expected.map(|n| n as u64), place);
    Kit { stream, source }
}

fn open(stored: Vec<u8>, expected: Option<usize>) -> Kit {
    open_with_cache(stored, expected, 64 << 20)
}

impl Kit {
    fn read(&self, offset: usize, len: usize) -> Result<Vec<u8>> {
        let mut bytes = vec![0; len];
        self.stream.read_exact_at(&mut bytes, offset as u64)?;
        Ok(bytes)
    }

    fn whole(&self) -> Result<Vec<u8>> {
        let len = self.stream.len()? as usize;
        self.read(0, len)
    }

    /// As `cat` would read it: piece by piece from the front.
    fn sequentially(&self) -> Result<Vec<u8>> {
        let len = self.stream.len()? as usize;
        let mut all = Vec::new();
        while all.len() < len {
            all.extend(self.read(all.len(), (128 << 10).min(len - all.len()))?);
        }
        Ok(all)
    }

    fn decoded(&self) -> usize {
        self.stream.engine.decoded() as usize
    }
}

const BIG: usize = 3_000_001;

#[test]
fn every_kind_of_stream_is_recognised_and_read() {
    let bytes = sample(BIG);
    let members = [gzip(&bytes[..10]), gzip(b""), gzip(&bytes[10..])].concat();
    let padded = [gzip(&bytes), vec![0; 100_000]].concat();
    let followed = [zlib(&bytes), b"other".to_vec()].concat();
    for stored in [zlib(&bytes), gzip(&bytes), members, padded, followed] {
        for expected in [None, Some(BIG)] {
            assert_eq!(open(stored.clone(), expected).whole().unwrap(), bytes);
        }
    }
}

#[test]
fn reading_from_the_front_decodes_once() {
    let bytes = sample(BIG);
    let stored = zlib(&bytes);
    // The cache is smaller than the stream, so blocks decoded ahead too early would be decoded twice.
    let kit = open_with_cache(stored, Some(BIG), 2 << 20);
    assert_eq!(kit.sequentially().unwrap(), bytes);
    assert_eq!(kit.decoded(), BIG);
}

#[test]
fn many_readers_of_one_cold_stream_decode_it_once() {
    let bytes = sample(BIG);
    let stored = zlib(&bytes);
    for expected in [Some(BIG), None] {
        let kit = open(stored.clone(), expected);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| assert!(kit.sequentially().unwrap() == bytes));
            }
        });
        assert_eq!(kit.decoded(), BIG);
    }
}

#[test]
fn a_wrong_length_marks_everything_corrupt() {
    let bytes = sample(BIG);
    for expected in [BIG - 1, BIG + 1, 2 * BIG, BLOCK as usize * 8] {
        let kit = open(zlib(&bytes), Some(expected));
        let message = kit.sequentially().unwrap_err().to_string();
        assert!(message.contains("its description needs"), "{message}");
        assert!(kit.read(0, 1).is_err());
    }
}

#[test]
fn a_wrong_checksum_is_found_before_the_last_block_is_served() {
    let bytes = sample(BIG);
    for mut stored in [zlib(&bytes), gzip(&bytes)] {
        let at = stored.len() - 6;
        let tail = if stored[0] == 0x1f { at } else { stored.len() - 1 };
        stored[tail] ^= 1;
        let kit = open(stored, Some(BIG));
        assert_eq!(kit.read(0, 4096).unwrap(), bytes[..4096]);
        assert!(kit.read(BIG - 1, 1).is_err());
        assert!(kit.read(0, 4096).is_err());
    }
}

#[test]
fn data_before_damage_is_served_and_data_after_it_is_not() {
    let bytes = sample(BIG);
    let mut stored = zlib(&bytes);
    stored.truncate(stored.len() / 2);
    let kit = open(stored, Some(BIG));
    assert!(kit.sequentially().is_err());
    let good = (0..BIG).take_while(|at| at % 4096 != 0 || kit.read(*at, 4096).is_ok()).last().unwrap();
    assert!(good > BIG / 3, "{good}");
    assert_eq!(
        kit.read(good / 4096 * 4096 - 4096, 4096).unwrap(),
        bytes[good / 4096 * 4096 - 4096..][..4096]
    );
    assert!(kit.read(good + 4096, 1).is_err());
}

#[test]
fn small_streams_and_those_of_unknown_length_are_verified_first() {
    let small = sample(1 << 20);
    let mut stored = zlib(&small);
    *stored.last_mut().unwrap() ^= 1;
    assert!(open(stored.clone(), Some(1 << 20)).read(0, 1).is_err());
    let kit = open(stored, None);
    assert!(kit.stream.len().is_err() && kit.read(0, 1).is_err());
}

#[test]
fn an_empty_stream_is_verified() {
    assert_eq!(open(zlib(b""), Some(0)).stream.len().unwrap(), 0);
    assert!(open(b"junk".to_vec(), Some(0)).stream.len().is_err());
    assert!(open(zlib(b"x"), Some(0)).stream.len().is_ok_and(|len| len == 1));
}

#[test]
fn errors_describe_the_problem() {
    let message = |stored: Vec<u8>| open(stored, None).whole().unwrap_err().to_string();
    assert!(message(vec![]).contains("there are no bytes"));
    assert!(message(b"PK34".to_vec()).contains("begins with 50 4b"));
    let mut dictionary = zlib(b"abc");
    // FDICT is bit 5 of the second byte (RFC 1950, 2.2).
    dictionary[..2].copy_from_slice(&[0x78, 0x20]);
    assert!(message(dictionary).contains("preset dictionary"), "a preset dictionary");
    let mut cut = zlib(&sample(5000));
    cut.truncate(4000);
    assert!(message(cut).contains("ends early"));
    assert!(message([gzip(b"x"), b"junk".to_vec()].concat()).contains("come other bytes, first 6a"));
    let text = message(b"PK34".to_vec());
    assert!(text.starts_with(r#"memory: dataset "x": at byte 0: "#), "{text}");
}

#[test]
fn a_changed_source_stops_decoding_but_is_not_damage() {
    let kit = open(zlib(&sample(BIG)), Some(BIG));
    kit.read(0, 10).unwrap();
    kit.source.changed.store(true, Ordering::Relaxed);
    assert!(matches!(kit.read(BIG - 1, 1), Err(Error::Changed { .. })));
    assert!(matches!(kit.read(0, 10), Err(Error::Changed { .. })), "cached blocks are not served either");
    kit.source.changed.store(false, Ordering::Relaxed);
    assert_eq!(kit.whole().unwrap(), sample(BIG));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_range_reads_the_same_as_the_slice(
        len in 1usize..1_500_000,
        known: bool,
        ranges in prop::collection::vec((0f64..1.0, 0f64..1.0), 1..12),
    ) {
        let bytes = sample(len);
        let kit = open_with_cache(zlib(&bytes), known.then_some(len), 3 * BLOCK);
        for (from, size) in ranges {
            let from = (from * len as f64) as usize;
            let size = (size * size * (len - from) as f64) as usize;
            prop_assert!(kit.read(from, size).unwrap() == bytes[from..from + size]);
        }
    }

    #[test]
    fn no_damage_gives_wrong_bytes(at in 0f64..1.0, bit in 0u8..8, known: bool, cut: bool) {
        let bytes = sample(20_000);
        let mut stored = zlib(&bytes);
        let at = (at * stored.len() as f64) as usize;
        if cut { stored.truncate(at) } else { stored[at] ^= 1 << bit }
        let kit = open(stored, known.then_some(bytes.len()));
        if let Ok(got) = kit.whole() {
            prop_assert!(got == bytes, "bit {} of byte {} made other bytes", bit, at);
        }
    }
}
