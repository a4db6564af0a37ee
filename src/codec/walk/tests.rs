//! Reads of any range, by any number of readers, match the whole.

use std::sync::atomic::Ordering;

use super::super::leb128::Leb128;
use super::super::lz4::Lz4;
use super::*;
use crate::source::memory::MemorySource;

fn data(len: usize) -> Vec<u8> {
    (0..len as u64).map(|at| (at * at / 1000 % 251) as u8 ^ (at / 100_000) as u8).collect()
}

fn lz4(bytes: &[u8], cache: u64) -> (Arc<MemorySource>, Walk<Lz4>) {
    let stored = lz4_flex::block::compress(bytes);
    of(stored, bytes.len(), cache)
}

fn of(stored: Vec<u8>, len: usize, cache: u64) -> (Arc<MemorySource>, Walk<Lz4>) {
    let start = Lz4::new(0..stored.len() as u64);
    let source = Arc::new(MemorySource { bytes: stored, ..MemorySource::default() });
    let engine = Arc::new(Engine::new(cache));
    (source.clone(), Walk::new(engine, source, start, len as u64, Place::default()))
}

fn read<D: Decoder>(walk: &Walk<D>, offset: usize, len: usize) -> Result<Vec<u8>> {
    let mut buf = vec![0; len];
    walk.read_exact_at(&mut buf, offset as u64).map(|()| buf)
}

#[test]
fn any_range_in_any_order_by_eight_readers() {
    let bytes = data(5 * SPAN as usize + 777);
    for cache in [0, 1 << 20, 64 << 20] {
        let (_, walk) = lz4(&bytes, cache);
        std::thread::scope(|scope| {
            for reader in 0..8u64 {
                let (walk, bytes) = (&walk, &bytes);
                scope.spawn(move || {
                    let mut seed = reader + 1;
                    let mut next = |end: usize| {
                        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                        (seed >> 33) as usize % end
                    };
                    for _ in 0..40 {
                        let from = next(bytes.len());
                        let len = next(bytes.len() - from).min(next(300_000));
                        assert!(read(walk, from, len).unwrap() == bytes[from..from + len], "{from} {len}");
                        if let Some(found) = walk.read_cached(len, from as u64).unwrap() {
                            assert!(found == bytes[from..from + len]);
                        }
                    }
                });
            }
        });
    }
}

#[test]
fn from_front_to_back_all_is_decoded_once() {
    let bytes = data(20 * SPAN as usize + 5);
    let (_, walk) = lz4(&bytes, 1 << 20);
    let mut found = Vec::new();
    while found.len() < bytes.len() {
        let len = (bytes.len() - found.len()).min(100_000);
        found.extend(read(&walk, found.len(), len).unwrap());
    }
    assert!(found == bytes);
    assert_eq!(walk.engine.decoded(), bytes.len() as u64);
    let before = walk.engine.decoded();
    read(&walk, 11 * SPAN as usize, 10).unwrap();
    assert_eq!(walk.engine.decoded(), before + SPAN, "a decoder was kept for each span");
}

#[test]
fn without_memory_for_seek_points_one_decoder_stays_parked() {
    let bytes = data(12 * SPAN as usize + 5);
    let stored = lz4_flex::block::compress(&bytes);
    let start = Lz4::new(0..stored.len() as u64);
    let source = Arc::new(MemorySource { bytes: stored, ..MemorySource::default() });
    let limits =
        crate::codec::Limits { cache: 1 << 20, index: 3 * Lz4::MEMORY, spill: None, verify_first: false };
    let engine = Arc::new(Engine::with(limits, None));
    let walk = Walk::new(engine.clone(), source, start, bytes.len() as u64, Place::default());
    for at in (0..bytes.len()).step_by(100_000) {
        let len = (bytes.len() - at).min(100_000);
        assert!(read(&walk, at, len).unwrap() == bytes[at..at + len]);
    }
    assert_eq!(engine.decoded(), bytes.len() as u64);
    let counted = |walk: &Walk<Lz4>| {
        let state = walk.state.lock();
        state.points.len() + state.parked.iter().filter(|(.., room)| room.is_some()).count()
    };
    assert_eq!(counted(&walk), 3);
    assert!(read(&walk, 7 * SPAN as usize, 10).unwrap() == bytes[7 * SPAN as usize..][..10]);
    assert!(counted(&walk) <= 3);
    drop(walk);
    assert!((0..3).map(|_| engine.account.room(Lz4::MEMORY)).collect::<Vec<_>>().iter().all(Option::is_some));
}

#[test]
fn a_reader_served_earlier_is_notified_of_damage() {
    let bytes = data(2 * SPAN as usize);
    let (_, walk) = of(lz4_flex::block::compress(&bytes), bytes.len() - 1, 1 << 20);
    let notified = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let listen = || {
        let notified = notified.clone();
        walk.on_damage(Box::new(move || {
            notified.fetch_add(1, Ordering::Relaxed);
        }));
    };
    assert!(read(&walk, 0, 10).is_ok());
    listen();
    listen();
    assert_eq!(notified.load(Ordering::Relaxed), 0);
    assert!(read(&walk, bytes.len() - 10, 9).is_err() && read(&walk, 0, 10).is_err());
    assert_eq!(notified.load(Ordering::Relaxed), 1);
    listen();
    assert_eq!(notified.load(Ordering::Relaxed), 1);
}

#[test]
fn seek_points_of_numbers_take_a_few_bytes() {
    let count = 3 * SPAN as usize;
    let stored: Vec<u8> =
        (0..count).flat_map(|at| if at % 3 == 0 { vec![0x80 | at as u8, 1] } else { vec![7] }).collect();
    let start = Leb128::new(0..stored.len() as u64, 2, false);
    let source = Arc::new(MemorySource { bytes: stored, ..MemorySource::default() });
    let walk = Walk::new(Arc::new(Engine::new(1 << 20)), source, start, 2 * count as u64, Place::default());
    let last = read(&walk, 2 * count - 4, 4).unwrap();
    assert_eq!(last, [7, 0, 7, 0]);
    assert_eq!(walk.state.lock().points.len(), 5);
    assert!(walk.state.lock().points.values().all(|kept| std::mem::size_of_val(kept) < 100));
}

#[test]
fn data_before_damage_is_served() {
    let bytes = data(3 * SPAN as usize);
    let mut stored = lz4_flex::block::compress(&bytes);
    stored.truncate(stored.len() * 2 / 3);
    let (_, walk) = of(stored, bytes.len(), 1 << 20);
    assert!(read(&walk, 0, 10).unwrap() == bytes[..10]);
    let error = read(&walk, bytes.len() - 10, 10).unwrap_err();
    assert!(error.to_string().contains("ends early"), "{error}");
    let valid = walk.valid_len() as usize;
    assert!(valid > SPAN as usize && valid < bytes.len());
    assert!(read(&walk, valid - 5000, 5000).unwrap() == bytes[valid - 5000..valid]);
    assert!(read(&walk, valid - 10, 11).is_err());
}

#[test]
fn a_wrong_end_marks_all_of_it_corrupt() {
    let bytes = data(100_000);
    let stored = lz4_flex::block::compress(&bytes);
    for len in [bytes.len() - 1, bytes.len() + 1] {
        let (_, walk) = of(stored.clone(), len, 1 << 20);
        assert!(read(&walk, len - 1, 1).is_err());
        assert!(len > bytes.len() || read(&walk, 0, 1).is_err());
    }
}

#[test]
fn a_changed_source_is_not_damage() {
    let bytes = data(100_000);
    let (source, walk) = lz4(&bytes, 1 << 20);
    source.changed.store(true, Ordering::Relaxed);
    assert!(matches!(read(&walk, 0, 10), Err(Error::Changed { .. })));
    assert_eq!(walk.valid_len(), walk.len());
}
