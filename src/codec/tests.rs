//! Damaged streams: whatever was read before, in any order, a successful read of a whole dataset returns exactly the
//! bytes that were compressed, and streams that are verified first never return any others.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::SystemTime;

use flate2::Compression;
use flate2::write::{GzEncoder, ZlibEncoder};
use parking_lot::RwLock;

use super::*;
use crate::Result;
use crate::source::Source;
use crate::source::memory::MemorySource;

/// A deterministic pseudorandom generator for places of damage and reads.
struct Scatter(u64);

impl Scatter {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.0 >> 33) as usize) % end.max(1)
    }
}

/// Mostly a pattern that compresses well, with a distinct byte now and then.
fn sample(len: usize, every: usize) -> Vec<u8> {
    let mut scatter = Scatter(1);
    (0..len).map(|at| if at % every == 0 { scatter.below(256) as u8 } else { (at % 251) as u8 }).collect()
}

fn zlib(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Number of zeros after the last member, which are optional.
const PADDING: usize = 7;

fn members(bytes: &[u8]) -> Vec<u8> {
    let (a, b) = bytes.split_at(bytes.len() / 3);
    [gzip(a), gzip(b""), gzip(b), vec![0; PADDING]].concat()
}

/// Plain bytes, their stream, and whether its length is declared.
struct Case {
    plain: Vec<u8>,
    stored: Vec<u8>,
    is_len_declared: bool,
}

impl Case {
    /// Is it longer than streams that are verified first?
    fn is_long(&self) -> bool {
        self.plain.len() > 1 << 20
    }

    fn served_late(&self) -> bool {
        !self.is_len_declared || !self.is_long()
    }

    fn open(&self, source: Arc<dyn Source>) -> Arc<Stream> {
        // A small cache, so that reading again means decoding again.
        let engine = Arc::new(Engine::new(768 << 10));
        let (range, place) = (0..source.len(), source.place().dataset("x"));
        Stream::new(engine, source, range, self.is_len_declared.then_some(self.plain.len() as u64), place)
    }

    /// Reads the damaged stream at random, then whole, twice; returns whether a whole read ever succeeded.
    fn survives(&self, stored: Vec<u8>, scatter: &mut Scatter, what: &str) -> bool {
        let stream = self.open(Arc::new(MemorySource { bytes: stored, ..MemorySource::default() }));
        let mut survived = false;
        for _ in 0..2 {
            for _ in 0..scatter.below(4) {
                let (from, read) = self.read_some(&stream, scatter);
                let right = |bytes: &[u8]| self.plain[from..].starts_with(bytes);
                let must_be_right = self.served_late() || survived;
                assert!(!must_be_right || read.is_none_or(|bytes| right(&bytes)), "{what}: a part");
            }
            if let Ok(bytes) = whole(&stream) {
                assert!(bytes == self.plain, "{what}: {} bytes read whole are others", bytes.len());
                survived = true;
            }
        }
        survived
    }

    fn read_some(&self, stream: &Arc<Stream>, scatter: &mut Scatter) -> (usize, Option<Vec<u8>>) {
        let from = scatter.below(self.plain.len());
        let bits = scatter.below(19);
        let len = scatter.below(1 << bits).min(self.plain.len() - from);
        let inside = stream.len().is_ok_and(|end| (from + len) as u64 <= end);
        (from, inside.then(|| read(stream, from, len).ok()).flatten())
    }
}

/// Reads as a request is served: from the cache if possible.
fn read(stream: &Arc<Stream>, from: usize, len: usize) -> Result<Vec<u8>> {
    if let Some(bytes) = stream.read_cached(len, from as u64)? {
        return Ok(bytes);
    }
    let mut bytes = vec![0; len];
    stream.read_exact_at(&mut bytes, from as u64)?;
    Ok(bytes)
}

/// Reads as `cat` does.
fn whole(stream: &Arc<Stream>) -> Result<Vec<u8>> {
    let len = stream.len()? as usize;
    let mut bytes = Vec::with_capacity(len);
    while bytes.len() < len {
        bytes.extend(read(stream, bytes.len(), (128 << 10).min(len - bytes.len()))?);
    }
    Ok(bytes)
}

/// Every kind of stream, with and without a declared length.
fn cases(plain: &[u8]) -> Vec<Case> {
    let streams = [zlib(plain), gzip(plain), members(plain)];
    let both = streams.into_iter().flat_map(|stored| [(stored.clone(), true), (stored, false)]);
    both.map(|(stored, is_len_declared)| Case { plain: plain.to_vec(), stored, is_len_declared }).collect()
}

/// Runs `work` for every number below `count`, on two threads; returns how often it was true.
fn count(count: usize, work: impl Fn(usize) -> bool + Sync) -> usize {
    let yes = AtomicUsize::new(0);
    let half = |first: usize| {
        for number in (first..count).step_by(2) {
            yes.fetch_add(usize::from(work(number)), Ordering::Relaxed);
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(|| half(0));
        half(1);
    });
    yes.into_inner()
}

/// Flips bits of the cases in turn; most flips must be detected, since few hit unchecked header bits.
fn flips(cases: &[Case], number: usize) {
    let survivors = count(number, |n| {
        let mut scatter = Scatter(n as u64);
        let case = &cases[n % cases.len()];
        let (at, bit) = (scatter.below(case.stored.len()), scatter.below(8));
        let mut stored = case.stored.clone();
        stored[at] ^= 1 << bit;
        case.survives(stored, &mut scatter, &format!("case {}, bit {bit} of byte {at}", n % cases.len()))
    });
    assert!(survivors < number / 10, "{survivors} of {number} damaged streams read whole");
}

/// Truncates the stream at every length; returns how often a whole read succeeded nevertheless.
fn cuts(case: &Case, name: &str) -> usize {
    count(case.stored.len(), |len| {
        case.survives(case.stored[..len].to_vec(), &mut Scatter(len as u64), &format!("{name}, cut to {len}"))
    })
}

#[test]
fn a_flipped_bit_in_a_short_stream_never_gives_wrong_bytes() {
    flips(&cases(&sample(20_000, 5)), 9_000);
}

#[test]
fn a_flipped_bit_in_a_long_stream_never_gives_wrong_bytes() {
    flips(&cases(&sample(1_300_003, 500)), 1_000);
}

#[test]
fn a_truncated_stream_never_reads_whole() {
    for plain in [sample(5_000, 3), sample(1_100_001, 1_500)] {
        // Members of unknown length are left out: truncated after the first, they are a valid stream.
        let [zlib_sized, zlib, gzip_sized, gzip, members_told, _] = cases(&plain).try_into().ok().unwrap();
        for (case, name) in [
            (zlib_sized, "zlib, known length"),
            (zlib, "zlib"),
            (gzip_sized, "gzip, known length"),
            (gzip, "gzip"),
        ] {
            assert_eq!(cuts(&case, name), 0, "{name}");
        }
        assert_eq!(
            cuts(&members_told, "members"),
            PADDING,
            "only zeros after the last member may be missing"
        );
    }
}

/// A medium that loses bits, with unchanged length and mtime.
struct Rotting(RwLock<Vec<u8>>);

impl Source for Rotting {
    fn path(&self) -> &Path {
        Path::new("rotting")
    }

    fn len(&self) -> u64 {
        self.0.read().len() as u64
    }

    fn modified(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH
    }

    fn read_exact_at(&self, buf: &mut [u8], offset: u64) -> Result<()> {
        buf.copy_from_slice(&self.0.read()[offset as usize..][..buf.len()]);
        Ok(())
    }

    fn check(&self) -> Result<()> {
        Ok(())
    }
}

#[test]
fn corruption_after_verification_is_an_error() {
    let cases = cases(&sample(1_300_003, 500));
    let rounds = 300;
    let seen = count(rounds, |n| {
        let (case, mut scatter) = (&cases[n % cases.len()], Scatter(n as u64));
        let source = Arc::new(Rotting(RwLock::new(case.stored.clone())));
        let stream = case.open(source.clone());
        assert!(whole(&stream).unwrap() == case.plain);
        source.0.write()[scatter.below(case.stored.len())] ^= 1 << scatter.below(8);
        let mut failed = false;
        for _ in 0..20 {
            let (from, read) = case.read_some(&stream, &mut scatter);
            failed |= read.is_none();
            assert!(
                read.is_none_or(|bytes| case.plain[from..].starts_with(&bytes)),
                "round {n}, from {from}"
            );
        }
        let read = whole(&stream);
        assert!(read.as_ref().is_ok_and(|bytes| *bytes == case.plain) || read.is_err(), "round {n}, whole");
        failed | read.is_err()
    });
    assert!(seen > rounds / 2, "of {rounds} flipped bits only {seen} were seen");
}
