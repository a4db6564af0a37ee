//! Runs: a decoder starts where it can, decodes some blocks into the cache, and records seek points on the way.
//!
//! Invariants: each run is announced as a flight while it lasts; a reader waits for a run that will soon reach its
//! block, or that is nearer to it than any other starting point.

use std::ops::Range;
use std::sync::Arc;

use parking_lot::MutexGuard;

use super::super::index::{Seen, first_whole_block};
use super::super::inflate::Inflater;
use super::super::single_flight;
use super::super::{BLOCK, Block, SPAN};
use super::ahead::Readers;
use super::{State, Stream};
use crate::{Error, Result};

/// Readers wait for a run that is at most this many blocks away, even if decoding could start nearer.
const SOON: u64 = 2 * SPAN / BLOCK;
/// Spacing of seek points while a stream is decoded only for its length: they cost time, and later reads add those
/// between.
const SPARSE: u64 = 4 * SPAN;

/// The announcement of a run.
pub type Announced = single_flight::Announced<Readers>;

/// The state when a decoder started: its results count only if this still holds.
#[derive(Clone, Copy)]
struct Start {
    /// Version of the index.
    version: u64,
    /// Id of the stream's blocks in the cache.
    id: u64,
}

/// The decoded bytes: whole blocks, except for a shorter one before the end or damage.
struct Decoded {
    len: usize,
    end: bool,
}

impl Stream {
    /// The block from which decoding for block `number` would start.
    pub(super) fn start_for(&self, number: u64) -> u64 {
        let position = number.saturating_mul(BLOCK);
        let parked = self.engine.parked_before(self.id(), position);
        first_whole_block(parked.max(self.index.position_before(position)))
    }

    /// Should a reader of block `number` wait for a run in progress?
    pub(super) fn should_wait_for(&self, state: &State, number: u64) -> bool {
        let mut before = state.flights.iter().filter(|run| run.next <= number).peekable();
        if before.peek().is_none() {
            return false;
        }
        let start = self.start_for(number);
        before.any(|run| run.next >= start || (run.last >= number && number - run.next <= SOON))
    }

    /// Announces a run for block `first` through block `last`, to be carried out by [`Stream::go`].
    pub(super) fn announce(
        self: &Arc<Stream>,
        state: &mut State,
        first: u64,
        last: u64,
        open: bool,
    ) -> Announced {
        self.state.announce(state, self.start_for(first), last, open)
    }

    /// Announces and carries out a run; returns the last block decoded, which differs from `last` if the stream is
    /// damaged.
    pub(super) fn run(
        self: &Arc<Stream>,
        first: u64,
        last: u64,
        mut state: MutexGuard<'_, State>,
    ) -> Result<(u64, Block)> {
        let announced = self.announce(&mut state, first, last, false);
        drop(state);
        self.go(first, announced)
    }

    /// Carries out an announced run. If it fails with [`Error::Damaged`] and no damage is recorded, a saved index
    /// contradicted the data and has been discarded.
    pub(super) fn go(&self, first: u64, announced: Announced) -> Result<(u64, Block)> {
        let mut scratch = self.engine.scratch();
        let done = self.go_with(&mut scratch, first, &announced);
        self.engine.return_scratch(scratch);
        done
    }

    fn go_with(&self, scratch: &mut [u8], first: u64, announced: &Announced) -> Result<(u64, Block)> {
        let start = Start { version: self.index.version(), id: self.id() };
        let mut decoder = self.decoder(start, first)?;
        let mut at = first_whole_block(decoder.position());
        loop {
            self.want_point(&mut decoder, at);
            let next = (at + 1).next_multiple_of(SPAN / BLOCK).min(announced.last().saturating_add(1));
            let skipped = (at * BLOCK - decoder.position()) as usize;
            let decoded = self.decode(scratch, &mut decoder, start, at..next)?;
            let bytes = scratch.get(skipped..skipped + decoded.len).unwrap_or_default();
            let last_block = self.keep_blocks(start.id, at, bytes);
            let last = announced.passed(at, next);
            self.keep_points(&mut decoder, start.version, next);
            if decoded.end {
                self.engine.retire(decoder);
                return Ok(last_block);
            }
            if next > last {
                self.engine.park(start.id, decoder);
                return Ok(last_block);
            }
            at = next;
        }
    }

    /// Caches the blocks from `at` on; returns the last.
    fn keep_blocks(&self, id: u64, at: u64, bytes: &[u8]) -> (u64, Block) {
        let mut last = (at, Block::default());
        for (number, bytes) in (at..).zip(bytes.chunks(BLOCK as usize)) {
            last = (number, self.engine.cache.insert(id, number, bytes));
        }
        last
    }

    /// The nearest available decoder before block `first`.
    fn decoder(&self, start: Start, first: u64) -> Result<Inflater> {
        let position = first.saturating_mul(BLOCK);
        let point = self.index.point_before(position);
        let from = point.as_ref().map_or(0, |point| point.position);
        if let Some(parked) = self.engine.resume(start.id, from, position) {
            return Ok(parked);
        }
        let (source, parts) = (self.source.clone(), self.engine.parts());
        match point {
            Some(point) => Inflater::resume(source, self.stored.end, &point, parts),
            None => Inflater::new(source, self.stored.clone(), self.wrapper, &self.place, parts)
                .map_err(|error| self.mark_corrupt(start.version, 0, error)),
        }
    }

    fn spacing(&self) -> u64 {
        let sparse = if self.known_len().is_none() { SPARSE } else { SPAN };
        sparse.max(self.engine.account.spacing())
    }

    /// At the start of each span: captures its seek point unless it is known.
    fn want_point(&self, decoder: &mut Inflater, at: u64) {
        if at.is_multiple_of(SPAN / BLOCK) || decoder.position() == 0 {
            let spacing = self.spacing();
            let lacks = self.index.lacks_point(at * BLOCK + 1, spacing);
            decoder.capture(lacks.then_some(spacing));
        }
    }

    /// At the end of each span: stores the seek points captured by then.
    fn keep_points(&self, decoder: &mut Inflater, version: u64, next: u64) {
        let spacing = self.spacing();
        if (next * BLOCK).is_multiple_of(spacing) {
            decoder.adapt();
        }
        for point in decoder.captured() {
            let (position, is_large) = (point.position, point.window.is_large());
            if self.index.add(version, point, spacing) && is_large {
                self.engine.pack(&self.index, position);
            }
        }
    }

    /// Decodes these blocks, after the rest of the block before them. Damage is recorded here; the data before it is
    /// still returned, since reads that end before it are served.
    fn decode(
        &self,
        scratch: &mut [u8],
        decoder: &mut Inflater,
        Start { version, .. }: Start,
        blocks: Range<u64>,
    ) -> Result<Decoded> {
        let (start, position) = (blocks.start * BLOCK, decoder.position());
        let end = self.known_len().map_or(blocks.end * BLOCK, |len| len.min(blocks.end * BLOCK));
        let target = scratch.get_mut(..end.saturating_sub(position) as usize).unwrap_or_default();
        let mut checks = Vec::with_capacity(1 + (blocks.end - blocks.start) as usize);
        let read = decoder.read(target, &mut checks, &self.place);
        let reached = decoder.position();
        self.engine.count_decoded(reached - position);
        let is_short = read.as_ref().is_ok_and(|got| *got < target.len());
        let is_end = is_short || self.known_len().is_some_and(|len| reached >= len);
        if read.is_ok() && is_end {
            self.expect_end(decoder, version, &mut checks)?;
        }
        self.source.check()?;
        let whole = checks.iter().skip(usize::from(position < start));
        for (number, check) in blocks.zip(whole) {
            if matches!(self.index.see(version, number, *check), Seen::Different | Seen::Stale) {
                return Err(self.mark_corrupt(version, 0, self.decoded_differently(number * BLOCK)));
            }
        }
        if let Err(error) = read {
            let good = self.cut_short(decoder, version, start, error)?;
            return Ok(Decoded { len: good, end: true });
        }
        if is_end {
            self.finish(decoder, version, reached)?;
        }
        Ok(Decoded { len: reached.saturating_sub(start) as usize, end: is_end })
    }

    /// After a data error in the blocks from decoded position `start` on, returns how many bytes from there are kept.
    /// None are if the stream must be verified before it is served, if all bytes had been decoded, if the block was
    /// whole when it was decoded before, or if a checksum or length is wrong.
    fn cut_short(&self, decoder: &Inflater, version: u64, start: u64, error: Error) -> Result<usize> {
        if !matches!(error, Error::Damaged { .. }) {
            return Err(error);
        }
        let position = decoder.position();
        let complete = self.expected.is_some_and(|len| position >= len);
        let was_whole = position / BLOCK < self.index.frontier();
        let lost = self.is_verified_first() || complete || was_whole || decoder.mismatch;
        let from = if lost { 0 } else { position };
        let error = self.mark_corrupt(version, from, error);
        let is_recorded = self.index.version() == version;
        if is_recorded && from > start { Ok((from - start) as usize) } else { Err(error) }
    }

    /// All bytes are decoded: nothing may follow, and the wrapper's checksum must be right.
    fn expect_end(&self, decoder: &mut Inflater, version: u64, checks: &mut Vec<u32>) -> Result<()> {
        match decoder.read(&mut [0], checks, &self.place) {
            Ok(0) => Ok(()),
            Ok(_) => Err(self.mark_corrupt(version, 0, self.wrong_length("more".into()))),
            Err(error) => Err(self.mark_corrupt(version, 0, error)),
        }
    }

    /// Records the verified end of the stream after `len` bytes.
    fn finish(&self, decoder: &Inflater, version: u64, len: u64) -> Result<()> {
        if self.expected.is_some_and(|expected| expected != len) {
            return Err(self.mark_corrupt(version, 0, self.wrong_length(len.to_string())));
        }
        if self.index.finish(version, len, decoder.trailer()) {
            self.engine.save(&self.index);
        }
        Ok(())
    }

    fn decoded_differently(&self, position: u64) -> Error {
        let problem = format!("byte {position} and those after it decode differently than before");
        Error::damaged(self.place.at(self.stored.start), problem)
    }
}
