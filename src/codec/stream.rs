//! One compressed dataset, read as decoded bytes at any offset.
//!
//! Invariants:
//! - A block is decoded once for all concurrent readers (see `run` and `single_flight`).
//! - The last block is served only after the stream's end, checksum and length have been verified. Streams of up to
//!   [`VERIFY_FIRST`] bytes and those of unknown length are verified whole before a byte is served, and with
//!   `--verify-first` all are.
//! - A block that is decoded again has the same checksum as before, or the whole dataset is marked corrupt.
//! - After damage at decoded position p (bad data, early end), reads that end before p are served and all others fail.
//!   A wrong checksum or length marks the whole dataset corrupt (p = 0). Logged once.

mod ahead;
mod corrupt;
mod pass;
mod run;

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use self::ahead::Readers;
pub use self::pass::Pass;
use super::index::{Index, Kept};
use super::index_store::IndexFile;
use super::single_flight::{self, SingleFlight};
use super::wrapper::Wrapper;
use super::{BLOCK, Block, Described, Engine};
use crate::error::Place;
use crate::source::Source;
use crate::{Error, Result};

/// Streams up to this many decoded bytes are verified before a byte is served.
const VERIFY_FIRST: u64 = 1 << 20;

pub struct Stream {
    engine: Arc<Engine>,
    /// Identifies its blocks in the cache.
    id: AtomicU64,
    /// The saved index contradicted the data. Either may be wrong, so nothing is served before the whole is verified.
    is_suspect: AtomicBool,
    source: Arc<dyn Source>,
    stored: Range<u64>,
    wrapper: Option<Wrapper>,
    expected: Option<u64>,
    place: Place,
    index: Arc<Index>,
    /// Its parts are blocks; damage begins at a decoded position.
    state: Arc<SingleFlight<Readers>>,
}

type State = single_flight::Shared<Readers>;

impl Stream {
    /// As [`Stream::kept_in`], without an index file.
    #[cfg(test)]
    pub fn new(
        engine: Arc<Engine>,
        source: Arc<dyn Source>,
        stored: Range<u64>,
        expected: Option<u64>,
        place: Place,
    ) -> Arc<Stream> {
        let described = Described { stored, wrapper: None, expected, place };
        Stream::kept_in(None, engine, source, described)
    }

    /// The `described` stream of `source`. Its index is loaded from `file` and saved there.
    pub fn kept_in(
        file: Option<Arc<IndexFile>>,
        engine: Arc<Engine>,
        source: Arc<dyn Source>,
        described: Described,
    ) -> Arc<Stream> {
        let Described { stored, wrapper, expected, place } = described;
        let expected = expected.filter(|len| *len > 0);
        let (len_is_declared, stored_range) = (expected.is_some(), stored.clone());
        let kept =
            file.map(|file| Kept { file, source: source.clone(), stored: stored_range, len_is_declared });
        Arc::new(Stream {
            id: AtomicU64::new(engine.cache.new_stream()),
            is_suspect: AtomicBool::new(false),
            index: engine.account.open(kept, expected),
            engine,
            source,
            stored,
            wrapper,
            expected,
            place,
            state: SingleFlight::new(Readers::default()),
        })
    }

    /// The decoded length if it is known without decoding.
    pub fn known_len(&self) -> Option<u64> {
        self.expected.or_else(|| self.index.len())
    }

    /// The decoded length; decodes the whole stream once if it is not known otherwise.
    pub fn len(self: &Arc<Stream>) -> Result<u64> {
        match self.known_len() {
            Some(len) => Ok(len),
            None => self.verify(),
        }
    }

    /// The location of the compressed bytes.
    pub fn stored(&self) -> (&Arc<dyn Source>, &Range<u64>) {
        (&self.source, &self.stored)
    }

    /// The wrapper of its deflate data; None unless it is a single zlib stream, gzip member or bare stream. Looks only
    /// at the first and the last bytes.
    pub fn single(&self) -> Result<Option<Wrapper>> {
        let Range { start, end } = self.stored;
        if end - start < 4 {
            return Ok(None);
        }
        let wrapper = match self.wrapper {
            Some(wrapper) => Some(wrapper),
            None => match self.source.read_range(start..start + 2)?[..] {
                [first, second] => Wrapper::shown(first, second).ok(),
                _ => None,
            },
        };
        // With several members, the length at the end is that of the last one.
        let last =
            if wrapper == Some(Wrapper::Gzip) { self.source.read_range(end - 4..end)? } else { Vec::new() };
        let is_single =
            last.is_empty() || self.known_len().is_some_and(|len| last == (len as u32).to_le_bytes());
        Ok(wrapper.filter(|_| is_single))
    }

    /// As [`Stream::read_exact_at`], or None if anything would have to be decoded.
    pub fn read_cached(self: &Arc<Stream>, len: usize, offset: u64) -> Result<Option<Vec<u8>>> {
        if let Some(error) = self.damage_in(offset, len) {
            return Err(error);
        }
        if self.must_be_verified() {
            return Ok(None);
        }
        let mut bytes = Vec::with_capacity(len);
        while bytes.len() < len {
            let at = offset + bytes.len() as u64;
            let Some(block) = self.engine.cache.get(self.id(), at / BLOCK) else { return Ok(None) };
            let from = self.part(&block, at)?;
            bytes.extend_from_slice(&from[..from.len().min(len - bytes.len())]);
        }
        self.source.check()?;
        self.decode_ahead(offset, len);
        Ok(Some(bytes))
    }

    /// Fills `buf` with decoded bytes from `offset`; the caller has clamped the range at the length.
    pub fn read_exact_at(self: &Arc<Stream>, buf: &mut [u8], offset: u64) -> Result<()> {
        let read = match self.try_to_read(buf, offset) {
            // The saved index contradicted the data and was discarded: retry, verified first.
            Err(Error::Damaged { .. }) if !self.is_damaged() => self.try_to_read(buf, offset),
            read => read,
        };
        // Cached blocks are right, but a changed container must fail everywhere, not only where the cache misses.
        read.and_then(|()| self.source.check())
    }

    fn try_to_read(self: &Arc<Stream>, buf: &mut [u8], offset: u64) -> Result<()> {
        if self.must_be_verified() {
            self.verify()?;
        }
        if let Some(error) = self.damage_in(offset, buf.len()) {
            return Err(error);
        }
        self.decode_ahead(offset, buf.len());
        let last = (offset + buf.len() as u64).saturating_sub(1) / BLOCK;
        let mut rest = buf;
        let mut at = offset;
        while !rest.is_empty() {
            let block = self.block(at / BLOCK, last)?;
            let from = self.part(&block, at)?;
            let count = from.len().min(rest.len());
            rest[..count].copy_from_slice(&from[..count]);
            rest = &mut rest[count..];
            at += count as u64;
        }
        Ok(())
    }

    /// The bytes of `block` from decoded position `at` on: at least one.
    fn part<'a>(&self, block: &'a Block, at: u64) -> Result<&'a [u8]> {
        match block.get((at % BLOCK) as usize..) {
            Some(bytes) if !bytes.is_empty() => Ok(bytes),
            _ => Err(self.error_at(at)),
        }
    }

    fn must_be_verified(&self) -> bool {
        self.is_verified_first() && self.index.len().is_none()
    }

    fn is_verified_first(&self) -> bool {
        self.engine.limits.verify_first
            || self.expected.is_none_or(|len| len <= VERIFY_FIRST)
            || self.is_suspect.load(Ordering::Relaxed)
    }

    /// Decodes to the end, once for all callers, and returns the length.
    fn verify(self: &Arc<Stream>) -> Result<u64> {
        loop {
            if let Some(len) = self.index.len() {
                return Ok(len);
            }
            let mut state = self.state.lock();
            if let Some(error) = state.damage.at(u64::MAX) {
                return Err(error);
            }
            if !state.flights.is_empty() {
                self.state.wait(&mut state, u64::MAX);
                continue;
            }
            match self.run(self.index.frontier(), u64::MAX, state) {
                Err(Error::Damaged { .. }) if !self.is_damaged() => {}
                run => drop(run?),
            }
        }
    }

    /// Block `number`, from the cache or decoded now. If a run is already decoding it, waits until that run has passed
    /// `last`, the last block that this read needs.
    fn block(self: &Arc<Stream>, number: u64, last: u64) -> Result<Block> {
        loop {
            let mut state = self.state.lock();
            if let Some(error) = state.damage.at(number * BLOCK) {
                return Err(error);
            }
            if let Some(block) = self.engine.cache.get(self.id(), number) {
                return Ok(block);
            }
            if self.should_wait_for(&state, number) {
                self.state.wait(&mut state, last);
                continue;
            }
            let (reached, block) = self.run(number, number, state)?;
            return if reached == number { Ok(block) } else { Err(self.error_at(number * BLOCK)) };
        }
    }

    fn id(&self) -> u64 {
        self.id.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests;
