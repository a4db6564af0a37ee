//! Damage: whatever was read before it, in whatever order, no read of a whole dataset that succeeds gives
//! other bytes than were compressed; and what is verified first gives no other bytes at all.

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

/// A generator good enough to scatter damage and reads, the same in every run.
struct Scatter(u64);

impl Scatter {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.0 >> 33) as usize) % end.max(1)
    }
}

/// Mostly a pattern that compresses well, with bytes of its own every here and there.
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

/// Zeros after the last member, which may be missing.
const PADDING: usize = 7;

fn members(bytes: &[u8]) -> Vec<u8> {
    let (a, b) = bytes.split_at(bytes.len() / 3);
    [gzip(a), gzip(b""), gzip(b), vec![0; PADDING]].concat()
}

/// What was compressed, a stream of it, and whether its length is told.
struct Case {
    plain: Vec<u8>,
    stored: Vec<u8>,
    told: bool,
}

impl Case {
    /// Decodes to more than is verified before it is served.
    fn is_long(&self) -> bool {
        self.plain.len() > 1 << 20
    }

    fn served_late(&self) -> bool {
        !self.told || !self.is_long()
    }

    fn open(&self, source: Arc<dyn Source>) -> Arc<Stream> {
        // A small cache, so that reading again means decoding again.
        let engine = Arc::new(Engine::new(768 << 10));
        let (range, place) = (0..source.len(), source.place().dataset("x"));
        Stream::new(engine, source, range, self.told.then_some(self.plain.len() as u64), place)
    }

    /// Reads the damaged stream at random, then whole, twice; tells whether it ever succeeded whole.
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

/// As a request is answered: out of the cache if all is there.
fn read(stream: &Arc<Stream>, from: usize, len: usize) -> Result<Vec<u8>> {
    if let Some(bytes) = stream.read_cached(len, from as u64)? {
        return Ok(bytes);
    }
    let mut bytes = vec![0; len];
    stream.read_exact_at(&mut bytes, from as u64)?;
    Ok(bytes)
}

/// As `cat` reads it.
fn whole(stream: &Arc<Stream>) -> Result<Vec<u8>> {
    let len = stream.len()? as usize;
    let mut bytes = Vec::with_capacity(len);
    while bytes.len() < len {
        bytes.extend(read(stream, bytes.len(), (128 << 10).min(len - bytes.len()))?);
    }
    Ok(bytes)
}

/// The kinds of streams, each with its length told and not.
fn cases(plain: &[u8]) -> Vec<Case> {
    let streams = [zlib(plain), gzip(plain), members(plain)];
    let both = streams.into_iter().flat_map(|stored| [(stored.clone(), true), (stored, false)]);
    both.map(|(stored, told)| Case { plain: plain.to_vec(), stored, told }).collect()
}

/// Runs `work` for every number below `count`, on two threads; tells how often it said yes.
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

/// Flips a bit of the cases in turn; most flips must be seen, since few are in what a header need not tell.
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

/// Cuts the stream short at every length; tells how often it read whole nevertheless.
fn cuts(case: &Case, name: &str) -> usize {
    count(case.stored.len(), |len| {
        case.survives(case.stored[..len].to_vec(), &mut Scatter(len as u64), &format!("{name}, cut to {len}"))
    })
}

#[test]
fn no_flipped_bit_of_a_short_stream_makes_other_bytes() {
    flips(&cases(&sample(20_000, 5)), 9_000);
}

#[test]
fn no_flipped_bit_of_a_long_stream_makes_other_bytes() {
    flips(&cases(&sample(1_300_003, 500)), 1_000);
}

#[test]
fn no_stream_that_ends_early_reads_whole() {
    for plain in [sample(5_000, 3), sample(1_100_001, 1_500)] {
        // Members of unknown length are left out: cut after the first they are a whole stream.
        let [zlib_told, zlib, gzip_told, gzip, members_told, _] = cases(&plain).try_into().ok().unwrap();
        for (case, name) in
            [(zlib_told, "zlib, told"), (zlib, "zlib"), (gzip_told, "gzip, told"), (gzip, "gzip")]
        {
            assert_eq!(cuts(&case, name), 0, "{name}");
        }
        assert_eq!(
            cuts(&members_told, "members"),
            PADDING,
            "only zeros after the last member may be missing"
        );
    }
}

/// A medium that loses bits without being changed: same length, same time of modification.
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
fn what_rots_after_it_was_verified_is_an_error_and_never_other_bytes() {
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
