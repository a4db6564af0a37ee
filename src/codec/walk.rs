//! Streams without checksums that can only be decoded from front to back (LZ4 blocks, LEB128 numbers), read at any
//! offset. Decoded spans go into the block cache; copies of the decoder are kept at some span boundaries as seek
//! points, and the last few decoders stay parked for reads that continue.
//!
//! Invariants:
//! - A span is decoded by one reader, and concurrent readers wait for it (see `single_flight`).
//! - Memory is bounded: the spans being decoded, one parked decoder, and others as far as the engine's memory for seek
//!   points has room, at most [`Decoder::POINTS`] + [`PARKED`].
//! - The last span is served only if the stream ends right after it. After damage at decoded position p, reads that end
//!   before p are served and all others fail; a wrong end marks all of it corrupt (p = 0). Logged once.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use super::index::Room;
use super::single_flight::{Shared, SingleFlight};
use super::{BLOCK, Block, Engine, SPAN};
use crate::error::Place;
use crate::source::Source;
use crate::{Error, Result};

/// Maximum number of decoders parked where a reader stopped.
const PARKED: usize = 4;

/// Decodes from front to back. A clone continues independently from the same place.
pub trait Decoder: Clone + Send + Sync + 'static {
    /// Maximum number of seek points per stream.
    const POINTS: u64;
    /// Bytes of memory per seek point.
    const MEMORY: u64;

    /// Appends the next `count` decoded bytes to `out`, or only those before damage. The stream must declare that many.
    fn decode(&mut self, source: &dyn Source, out: &mut Vec<u8>, count: usize) -> Result<(), Fault>;

    /// Called after the last byte: fails unless the stored bytes end here.
    fn finish(&mut self, source: &dyn Source) -> Result<(), Fault>;

    /// Frees buffers that can be fetched again.
    fn rest(&mut self);
}

/// Why decoding stops.
#[derive(Debug)]
pub enum Fault {
    Source(Error),
    /// What is wrong with the data, and the offset in the file.
    Data(String, u64),
}

impl From<Error> for Fault {
    fn from(error: Error) -> Fault {
        Fault::Source(error)
    }
}

/// Does the stream decode to exactly `len` bytes?
pub fn decodes<D: Decoder>(start: &D, source: &dyn Source, len: u64) -> Result<bool> {
    let (mut decoder, mut out, mut left) = (start.clone(), Vec::new(), len);
    let mut run = || {
        while left > 0 {
            out.clear();
            let count = left.min(SPAN);
            decoder.decode(source, &mut out, count as usize)?;
            left -= count;
        }
        decoder.finish(source)
    };
    match run() {
        Ok(()) => source.check().map(|()| true),
        Err(Fault::Data(..)) => source.check().map(|()| false),
        Err(Fault::Source(error)) => Err(error),
    }
}

pub struct Walk<D> {
    engine: Arc<Engine>,
    source: Arc<dyn Source>,
    /// Identifies its blocks in the cache.
    id: u64,
    len: u64,
    place: Place,
    start: D,
    /// Spans between two seek points.
    stride: u64,
    state: Arc<SingleFlight<State<D>>>,
}

struct State<D> {
    /// Keyed by the span that they decode next.
    points: BTreeMap<u64, (D, Room)>,
    /// Each with its reserved memory, which the first does without.
    parked: VecDeque<(u64, D, Option<Room>)>,
}

impl<D: Decoder> Walk<D> {
    /// The stream that `start` decodes to `len` bytes.
    pub fn new(engine: Arc<Engine>, source: Arc<dyn Source>, start: D, len: u64, place: Place) -> Walk<D> {
        let stride = len.div_ceil(SPAN).div_ceil(D::POINTS).max(1);
        let id = engine.cache.new_stream();
        let state = SingleFlight::new(State { points: BTreeMap::new(), parked: VecDeque::new() });
        Walk { engine, source, id, len, place, start, stride, state }
    }

    /// The decoded length in bytes.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// The length up to known damage.
    pub fn valid_len(&self) -> u64 {
        self.state.lock().damage.valid_len(self.len)
    }

    /// Fills `buf` with decoded bytes from `offset`; the caller has clamped the range at the length.
    pub fn read_exact_at(&self, buf: &mut [u8], offset: u64) -> Result<()> {
        let (mut rest, mut at) = (buf, offset);
        while !rest.is_empty() {
            let (bytes, start) = self.bytes(at, rest.len())?;
            let from = bytes.get((at - start) as usize..).unwrap_or_default();
            let count = from.len().min(rest.len());
            if count == 0 {
                return Err(self.error(self.start_of_data(), "it ends early"));
            }
            let (filled, after) = rest.split_at_mut(count);
            filled.copy_from_slice(from.get(..count).unwrap_or_default());
            (rest, at) = (after, at + count as u64);
        }
        self.source.check()
    }

    /// As [`Walk::read_exact_at`], or None if anything would have to be decoded.
    pub fn read_cached(&self, len: usize, offset: u64) -> Result<Option<Vec<u8>>> {
        self.check(offset, len)?;
        let Some(bytes) = self.engine.cache.bytes(self.id, BLOCK, len, offset) else { return Ok(None) };
        self.source.check().map(|()| Some(bytes))
    }

    /// Calls `listener` when damage is found, or now if it was and nobody was notified. Only the first listener is
    /// kept.
    pub fn on_damage(&self, listener: Box<dyn FnOnce() + Send>) {
        self.state.on_damage(listener);
    }

    /// Fails if there is damage before the end of these bytes.
    fn check(&self, offset: u64, len: usize) -> Result<()> {
        self.state.lock().damage.within(offset, len).map_or(Ok(()), Err)
    }

    /// The block or span that holds byte `at`, from the cache or decoded now, and its start; an error if any of the
    /// `len` bytes is damaged.
    fn bytes(&self, at: u64, len: usize) -> Result<(Block, u64)> {
        let span = at / SPAN;
        let cached = |state: &mut Shared<State<D>>| match state.damage.within(at, len) {
            Some(error) => Some(Err(error)),
            None => self.engine.cache.get(self.id, at / BLOCK).map(|block| Ok((block, at - at % BLOCK))),
        };
        let bytes = self.state.once(span, cached, || Ok((self.span(span)?, at - at % SPAN)))?;
        // Decoding may have found damage after `at`.
        self.check(at, len).map(|()| bytes)
    }

    /// Decodes a span.
    fn span(&self, number: u64) -> Result<Block> {
        let nearest = self.state.lock().nearest(number);
        let (from, decoder) = nearest.unwrap_or_else(|| (0, self.start.clone()));
        self.decode(from, decoder, number)
    }

    /// Decodes spans `from` through `to` and returns the last one; of a damaged span only the bytes before the damage.
    fn decode(&self, from: u64, mut decoder: D, to: u64) -> Result<Block> {
        let mut out = Vec::new();
        for span in from..=to {
            if span > from && span.is_multiple_of(self.stride) {
                self.keep(span, &decoder);
            }
            out.clear();
            let count = SPAN.min(self.len - span * SPAN);
            let is_last = (span + 1) * SPAN >= self.len;
            let decoded = decoder.decode(&*self.source, &mut out, count as usize);
            self.engine.count_decoded(out.len() as u64);
            let ended = decoded.map_err(|fault| (fault, span * SPAN + out.len() as u64)).and_then(|()| {
                if is_last { decoder.finish(&*self.source).map_err(|fault| (fault, 0)) } else { Ok(()) }
            });
            // Data read from a changed file proves no damage.
            self.source.check()?;
            match ended {
                Ok(()) => {}
                Err((Fault::Source(error), _)) => return Err(error),
                Err((Fault::Data(problem, at), position)) => {
                    let error = self.state.mark_corrupt(position, self.error(at, &problem));
                    // Bytes before the damage may still be read.
                    return if span == to { Ok(out.into()) } else { Err(error) };
                }
            }
        }
        for (block, bytes) in (to * SPAN / BLOCK..).zip(out.chunks(BLOCK as usize)) {
            self.engine.cache.insert(self.id, block, bytes);
        }
        self.park(to + 1, decoder);
        Ok(out.into())
    }

    fn keep(&self, span: u64, decoder: &D) {
        let is_known = self.state.lock().points.contains_key(&span);
        if is_known {
            return;
        }
        let Some(room) = self.engine.account.room(D::MEMORY) else { return };
        let mut kept = decoder.clone();
        kept.rest();
        self.state.lock().points.insert(span, (kept, room));
    }

    fn park(&self, span: u64, mut decoder: D) {
        if span * SPAN >= self.len {
            return;
        }
        if span.is_multiple_of(self.stride) {
            self.keep(span, &decoder);
        }
        decoder.rest();
        let room = self.engine.account.room(D::MEMORY);
        let mut state = self.state.lock();
        // One decoder always stays parked, or sequential reads would restart from the front.
        let most = if room.is_some() { PARKED } else { 1 };
        state.parked.push_back((span, decoder, room));
        let too_many = state.parked.len().saturating_sub(most);
        let oldest: Vec<_> = state.parked.drain(..too_many).collect();
        drop(state);
        drop(oldest);
    }

    fn error(&self, at: u64, problem: &str) -> Error {
        Error::damaged(self.place.at(at), problem)
    }

    fn start_of_data(&self) -> u64 {
        self.place.offset.unwrap_or(0)
    }
}

impl<D: Decoder> State<D> {
    /// The nearest decoder before span `number`: a parked one is taken, others are copied.
    fn nearest(&mut self, number: u64) -> Option<(u64, D)> {
        let point = self.points.range(..=number).next_back();
        let parked = self.parked.iter().enumerate().filter(|(_, (span, ..))| *span <= number);
        let parked = parked.max_by_key(|(_, (span, ..))| *span).map(|(at, (span, ..))| (at, *span));
        match (point, parked) {
            (Some((span, (decoder, _))), None) => Some((*span, decoder.clone())),
            (Some((span, (decoder, _))), Some((_, other))) if *span > other => Some((*span, decoder.clone())),
            (_, Some((at, _))) => self.parked.remove(at).map(|(span, decoder, _)| (span, decoder)),
            (None, None) => None,
        }
    }
}

/// Reads stored bytes from front to back.
#[derive(Clone)]
pub struct Fetched {
    /// Offset in the file of the next byte.
    at: u64,
    end: u64,
    buffer: Vec<u8>,
    used: usize,
}

/// Stored bytes are fetched in pieces of this size.
const PIECE: u64 = 64 << 10;

impl Fetched {
    /// The bytes of a range of the file.
    pub fn new(range: std::ops::Range<u64>) -> Fetched {
        Fetched { at: range.start, end: range.end, buffer: Vec::new(), used: 0 }
    }

    pub fn offset(&self) -> u64 {
        self.at
    }

    /// The buffered bytes, fetching more if there are none; empty only at the end.
    pub fn peek(&mut self, source: &dyn Source) -> Result<&[u8]> {
        if self.used == self.buffer.len() && self.at < self.end {
            let size = (self.end - self.at).min(PIECE);
            self.buffer.resize(size as usize, 0);
            // If the read fails, none of the buffer may be used.
            self.used = self.buffer.len();
            source.read_exact_at(&mut self.buffer, self.at)?;
            self.used = 0;
        }
        Ok(self.buffer.get(self.used..).unwrap_or_default())
    }

    /// Discards `count` of the bytes returned by [`Fetched::peek`].
    pub fn consume(&mut self, count: usize) {
        self.used += count;
        self.at += count as u64;
    }

    /// The next byte; None at the end.
    pub fn next(&mut self, source: &dyn Source) -> Result<Option<u8>> {
        let byte = self.peek(source)?.first().copied();
        if byte.is_some() {
            self.consume(1);
        }
        Ok(byte)
    }

    pub fn rest(&mut self) {
        (self.buffer, self.used) = (Vec::new(), 0);
    }
}

#[cfg(test)]
mod tests;
