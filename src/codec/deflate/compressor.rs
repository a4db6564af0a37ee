//! Multithreaded compression. The input is cut into blocks of equal size, each compressed separately with the preceding
//! 32 KiB as dictionary and ended on a byte boundary (a sync flush), so that they concatenate into one ordinary zlib
//! stream. The output depends only on the input and the level, not on the number of threads.
//!
//! [`Deflated`] compresses its input as it is read, with a bounded number of blocks in flight.

use std::collections::VecDeque;
use std::io::{self, Read};
use std::sync::mpsc::{Receiver, sync_channel};

use flate2::read::{DeflateDecoder, ZlibDecoder};

use super::decode::WINDOW;
use super::encoder;
use crate::codec::check::Check;
use crate::pool::Pool;

/// The highest level; 0 only stores.
pub const MAX_LEVEL: u32 = 9;
/// Block size in bytes. Larger blocks compress better; smaller ones spread better over threads.
pub const BLOCK: usize = 128 << 10;

/// More threads would not help, and each holds blocks in memory.
const MAX_JOBS: usize = 256;

/// Decodes a whole zlib stream.
pub fn decoded(stream: impl Read) -> impl Read {
    ZlibDecoder::new(stream)
}

/// As [`decoded`], for a stream without a wrapper.
pub fn decoded_bare(stream: impl Read) -> impl Read {
    DeflateDecoder::new(stream)
}

/// A pool of compressing threads.
pub struct Compressor {
    /// None: the reading thread compresses.
    pool: Option<Pool>,
    in_flight: usize,
}

impl Compressor {
    /// Uses `jobs` threads, at most 256.
    pub fn new(jobs: usize) -> Compressor {
        let jobs = jobs.min(MAX_JOBS);
        let pool = (jobs > 1).then(|| Pool::new("deflate", jobs));
        Compressor { pool, in_flight: if jobs > 1 { 2 * jobs } else { 1 } }
    }

    /// `input` as a zlib stream.
    pub fn zlib<R: Read>(&self, input: R, level: u32) -> Deflated<'_, R> {
        Deflated {
            adler: Some(Check::Adler.of_nothing()),
            out: head(level).to_vec(),
            ..self.bare(input, level)
        }
    }

    /// `input` as a deflate stream without a wrapper.
    pub fn bare<R: Read>(&self, input: R, level: u32) -> Deflated<'_, R> {
        Deflated {
            compressor: self,
            input,
            level: level.min(MAX_LEVEL),
            before: Vec::new(),
            coming: VecDeque::new(),
            ended: false,
            adler: None,
            out: Vec::new(),
            used: 0,
        }
    }

    /// Queues a block for compression.
    fn submit(&self, block: Block) -> Receiver<io::Result<Packed>> {
        let (sender, packed) = sync_channel(1);
        // The receiver is gone if reading has failed.
        let work = move || drop(sender.send(block.pack()));
        match &self.pool {
            Some(pool) => pool.submit(work),
            None => work(),
        }
        packed
    }
}

/// A stream compressed as it is read.
pub struct Deflated<'c, R> {
    compressor: &'c Compressor,
    input: R,
    level: u32,
    /// The last bytes of the previous block.
    before: Vec<u8>,
    coming: VecDeque<Receiver<io::Result<Packed>>>,
    /// The last block has been submitted.
    ended: bool,
    /// Checksum of the input so far; None without a wrapper.
    adler: Option<u32>,
    out: Vec<u8>,
    used: usize,
}

impl<R: Read> Deflated<'_, R> {
    /// Submits blocks until the limit of blocks in flight is reached.
    fn read_ahead(&mut self) -> io::Result<()> {
        while !self.ended && self.coming.len() < self.compressor.in_flight {
            let start = self.before.len();
            let mut bytes = std::mem::take(&mut self.before);
            bytes.reserve_exact(BLOCK);
            let count = self.input.by_ref().take(BLOCK as u64).read_to_end(&mut bytes)?;
            self.ended = count < BLOCK;
            self.before = bytes.get(bytes.len().saturating_sub(WINDOW)..).unwrap_or_default().to_vec();
            let block = Block { bytes, start, level: self.level, is_last: self.ended };
            self.coming.push_back(self.compressor.submit(block));
        }
        Ok(())
    }

    /// The compressed bytes of the next block; false at the end.
    fn next(&mut self) -> io::Result<bool> {
        self.read_ahead()?;
        let Some(packed) = self.coming.pop_front() else { return Ok(false) };
        let packed = packed.recv().map_err(|_| io::Error::other("a thread that compresses is gone"))??;
        self.out = packed.bytes;
        self.used = 0;
        let Some(adler) = &mut self.adler else { return Ok(true) };
        *adler = Check::Adler.combine(*adler, packed.adler, packed.len);
        if self.ended && self.coming.is_empty() {
            self.out.extend(adler.to_be_bytes());
        }
        Ok(true)
    }
}

impl<R: Read> Read for Deflated<'_, R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.used == self.out.len() {
            if !self.next()? {
                return Ok(0);
            }
        }
        let count = self.out.get(self.used..).unwrap_or_default().read(into)?;
        self.used += count;
        Ok(count)
    }
}

struct Block {
    /// The dictionary, then, from `start` on, the block itself.
    bytes: Vec<u8>,
    start: usize,
    level: u32,
    is_last: bool,
}

struct Packed {
    bytes: Vec<u8>,
    /// Checksum of the block before compression; `len` is its length.
    adler: u32,
    len: u64,
}

impl Block {
    fn pack(self) -> io::Result<Packed> {
        let (before, block) = self.bytes.split_at_checked(self.start).unwrap_or_default();
        let bytes = encoder::encode(self.level, before, block, self.is_last)?;
        let adler = Check::Adler.update(Check::Adler.of_nothing(), block);
        Ok(Packed { bytes, adler, len: block.len() as u64 })
    }
}

/// The first two bytes of a stream, as zlib writes them at this level.
fn head(level: u32) -> [u8; 2] {
    match level {
        0 | 1 => [0x78, 0x01],
        2..=5 => [0x78, 0x5e],
        6 => [0x78, 0x9c],
        _ => [0x78, 0xda],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packed(jobs: usize, input: impl Read, level: u32) -> io::Result<Vec<u8>> {
        let mut out = Vec::new();
        Compressor::new(jobs).zlib(input, level).read_to_end(&mut out).map(|_| out)
    }

    /// Lines that are alike, noise, and zeros.
    fn sample(len: usize) -> Vec<u8> {
        let mut state = 1u64;
        let mut noise = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) as u8
        };
        let piece = |n: usize| match n / 70_000 % 3 {
            0 => b"sample 0123456789, channel "[n % 27].wrapping_add((n / 997 % 7) as u8),
            1 => noise(),
            _ => 0,
        };
        (0..len).map(piece).collect()
    }

    #[test]
    fn streams_do_not_depend_on_threads_and_decode() {
        for len in [0, 1, 1000, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK, 7 * BLOCK + 5] {
            let bytes = sample(len);
            for level in 0..=MAX_LEVEL {
                let one = packed(1, bytes.as_slice(), level).unwrap();
                assert_eq!(u16::from_be_bytes([one[0], one[1]]) % 31, 0);
                for jobs in [3, usize::MAX / 2 + 1] {
                    assert_eq!(packed(jobs, bytes.as_slice(), level).unwrap(), one, "{len} {level}");
                }
                let mut back = Vec::new();
                let mut decoder = ZlibDecoder::new(one.as_slice());
                decoder.read_to_end(&mut back).unwrap();
                assert!(back == bytes && decoder.total_in() == one.len() as u64, "{len} {level}");
                assert!(level == 0 || len < 1000 || one.len() < len * 2 / 3 + 100, "{len} {level}");
            }
        }
    }

    #[test]
    fn blocks_use_the_preceding_bytes_as_dictionary() {
        let noise: Vec<u8> = sample(140_000)[70_000..90_000].to_vec();
        let repeated = noise.repeat(20);
        assert!(packed(2, repeated.as_slice(), 6).unwrap().len() < 40_000);
    }

    #[test]
    fn errors_of_the_input_are_passed_on() {
        struct Torn;
        impl Read for Torn {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::Error::other("torn"))
            }
        }
        let bytes = sample(3 * BLOCK + 7);
        for jobs in [1, 2] {
            assert_eq!(packed(jobs, bytes.chain(Torn), 6).unwrap_err().to_string(), "torn");
        }
    }
}
