//! A zstd stream of any number of frames, read as decoded bytes at any offset. Decoding cannot begin inside a frame, so
//! whole frames are decoded (see `decoded`).
//!
//! Invariants:
//! - No byte of a frame is served before the whole frame has been decoded and verified.
//! - A frame is decoded once for all concurrent readers; different frames are decoded in parallel (see
//!   `single_flight`).
//! - A damaged frame fails alone: data before it is served, and data after it too if the frame's length is recorded. A
//!   frame of the wrong length marks all that follows corrupt, a wrong total length everything. Logged once.

mod decode;
mod encode;
mod frame;
mod state;
mod table;

use std::ops::Range;
use std::sync::Arc;

use super::decoded::{self, Decoded, Here};
use super::fill::in_pieces;
use super::single_flight::{Shared, SingleFlight};
use super::{Block, Engine};
use crate::error::Place;
use crate::source::Source;
use crate::{Error, Result};
pub use encode::zstd_frame;

use decode::Job;
use state::State;
use table::Table;

/// The pseudo-part for scanning the frames.
const SCAN: u64 = u64::MAX;

pub struct ZstdStream {
    engine: Arc<Engine>,
    id: u64,
    source: Arc<dyn Source>,
    stored: Range<u64>,
    expected: Option<u64>,
    place: Place,
    state: Arc<SingleFlight<State>>,
}

impl ZstdStream {
    /// The stream in `stored` of `source`; `expected` is its decoded length if the container declares it (0 counts as
    /// undeclared: an empty stream still has to be verified).
    pub fn new(
        engine: Arc<Engine>,
        source: Arc<dyn Source>,
        stored: Range<u64>,
        expected: Option<u64>,
        place: Place,
    ) -> ZstdStream {
        let id = engine.cache.new_stream();
        let expected = expected.filter(|len| *len > 0);
        let state = SingleFlight::new(State::default());
        ZstdStream { engine, id, source, stored, expected, place, state }
    }

    /// The decoded length, if known without reading anything.
    pub fn known_len(&self) -> Option<u64> {
        self.expected.or_else(|| self.state.lock().total())
    }

    #[cfg(test)]
    pub fn is_damaged(&self) -> bool {
        self.state.lock().damage.is_found()
    }

    /// The decoded length, from the headers of all frames, or by decoding those that do not record theirs.
    pub fn len(&self) -> Result<u64> {
        match self.known_len() {
            Some(len) => Ok(len),
            None => self.total(),
        }
    }

    /// As [`ZstdStream::read_exact_at`], or None if anything would have to be read or decoded.
    pub fn read_cached(&self, len: usize, offset: u64) -> Result<Option<Vec<u8>>> {
        if self.is_last(offset, len) && self.state.lock().total().is_none() {
            return Ok(None);
        }
        let locate = |at| self.state.lock().locate(at);
        let Some(bytes) = decoded::cached(&self.engine, self.id, len, offset, &locate)? else {
            return Ok(None);
        };
        self.source.check().map(|()| Some(bytes))
    }

    /// Fills `buf` with decoded bytes from `offset`; the caller has clamped the range at the length.
    pub fn read_exact_at(&self, buf: &mut [u8], offset: u64) -> Result<()> {
        if self.is_last(offset, buf.len()) {
            self.total()?;
        }
        in_pieces(buf, offset, &mut |rest, at| {
            let here = self.locate(at)?;
            let block = self.block(&here)?;
            let from = here.within(&block);
            let count = from.len().min(rest.len());
            if count == 0 {
                return Err(self.nothing_at(at));
            }
            rest[..count].copy_from_slice(&from[..count]);
            Ok(count)
        })?;
        // Cached blocks are right, but a changed container must fail everywhere, not only where the cache misses.
        self.source.check()
    }

    /// Does a read reach the expected end? If so, its bytes are right only if nothing follows.
    fn is_last(&self, offset: u64, len: usize) -> bool {
        self.expected.is_some_and(|expected| offset.saturating_add(len as u64) >= expected)
    }

    /// The total length of all frames, decoding those that do not record theirs.
    fn total(&self) -> Result<u64> {
        let table = self.table()?;
        loop {
            let state = self.state.lock();
            if let Some(total) = state.total() {
                return Ok(total);
            }
            let next = state.frame_of_unknown_length()?;
            drop(state);
            self.learn(&table, next)?;
        }
    }

    /// The place of decoded byte `at`, decoding the frames before it that do not record their lengths.
    fn locate(&self, at: u64) -> Result<Here> {
        let table = self.table()?;
        loop {
            let state = self.state.lock();
            if let Some(here) = state.locate(at)? {
                return Ok(here);
            }
            if state.total().is_some() {
                return Err(self.nothing_at(at));
            }
            let next = state.frame_of_unknown_length()?;
            drop(state);
            self.learn(&table, next)?;
        }
    }

    /// Decodes frame `index` to learn its length.
    fn learn(&self, table: &Table, index: usize) -> Result<()> {
        let known = |state: &mut Shared<State>| {
            state.damage.or(index as u64, || state.knows_length(index).then_some(()))
        };
        self.state.once(index as u64, known, || self.decode(table, index).map(drop))
    }

    fn table(&self) -> Result<Arc<Table>> {
        self.state.once(
            SCAN,
            |state| state.table().map(Ok),
            || {
                let table = table::scan(&self.source, self.stored.clone(), &self.place)?;
                self.source.check()?;
                let table = Arc::new(table);
                // The damage is reported to whoever looks up a frame.
                self.state.publish(|state| {
                    state.set_table(table.clone());
                    let cut = table.cut.clone().map(|error| (table.frames.len() as u64, error));
                    cut.or_else(|| self.wrong_total(state))
                });
                Ok(table)
            },
        )
    }

    /// The block that holds `here`.
    fn block(&self, here: &Here) -> Result<Block> {
        if let Some(block) = self.engine.cache.get(self.id, here.block()) {
            return Ok(block);
        }
        self.frame(here.unit as usize)?.block(&self.engine, self.id, here)
    }

    fn frame(&self, index: usize) -> Result<Decoded> {
        let table = self.table()?;
        let key = (self.id, index as u64);
        let existing =
            |state: &mut Shared<State>| state.damage.or(key.1, || Decoded::if_available(&self.engine, key));
        self.state.once(key.1, existing, || self.decode(&table, index))
    }

    fn decode(&self, table: &Table, index: usize) -> Result<Decoded> {
        let frame = table.frames.get(index).ok_or_else(|| self.nothing_at(u64::MAX))?;
        let job = Job {
            source: &self.source,
            stored: frame.stored.clone(),
            len: frame.len,
            place: &self.place,
            spill: &self.engine.spill,
            key: (self.id, index as u64),
        };
        let decoded = job.run();
        // Neither bytes nor damage of a changed container are kept.
        self.source.check().inspect_err(|_| self.engine.spill.forget(job.key))?;
        let decoded = decoded.map_err(|error| self.state.mark_part_corrupt(job.key.1, error))?;
        if let Some(needed) = frame.len.filter(|len| *len != decoded.len()) {
            self.engine.spill.forget(job.key);
            let problem =
                format!("the zstd frame decodes to {} bytes, the seek table needs {needed}", decoded.len());
            let error = Error::damaged(self.place.at(frame.stored.start), problem);
            return Err(self.state.mark_corrupt(job.key.1, error));
        }
        decoded.keep(&self.engine, job.key);
        let wrong = self.state.publish(|state| {
            state.learned(index, decoded.len());
            self.wrong_total(state)
        });
        wrong.map_or(Ok(decoded), Err)
    }

    /// Once all lengths are known, their sum must match the container's.
    fn wrong_total(&self, state: &Shared<State>) -> Option<(u64, Error)> {
        let (needed, total) = (self.expected?, state.total()?);
        let problem = format!("decodes to {total} bytes, but its description needs {needed}");
        (needed != total).then(|| (0, Error::damaged(self.place.at(self.stored.start), problem)))
    }

    fn nothing_at(&self, position: u64) -> Error {
        Error::damaged(self.place.clone(), format!("nothing decodes to byte {position}"))
    }
}

#[cfg(test)]
mod tests;
