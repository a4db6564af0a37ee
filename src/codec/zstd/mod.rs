//! A zstd stream of any number of frames, read as decoded bytes at any offset. Decoding cannot begin inside a
//! frame, so a frame is the unit: up to [`SMALL`] decoded bytes it lives in the block cache, else in the spill,
//! whose pieces go through the block cache.
//!
//! What always holds:
//! - Not a byte of a frame is served before the whole frame was decoded and verified.
//! - A frame is decoded once for all who want it meanwhile, different frames at the same time; no lock is
//!   held while reading or decoding.
//! - A damaged frame fails alone: what is before it is served, and also what is after it where the frame's
//!   length is recorded. A wrong length condemns all that follows, a wrong length of the whole everything.
//!   Said once in the log.

mod decode;
mod encode;
mod frame;
mod state;
mod table;

use std::ops::Range;
use std::sync::Arc;

use parking_lot::{Condvar, Mutex};

use super::spill::{PIECE, Spilled};
use super::{Block, Engine};
use crate::error::Place;
use crate::source::Source;
use crate::{Error, Result};
pub use encode::zstd_frame;

use decode::Job;
use state::{Here, State};
use table::Table;

/// Frames of up to this many decoded bytes stay in memory, as one block.
const SMALL: usize = 1 << 20;

/// The work that is not decoding a frame: looking for the frames.
const SCAN: usize = usize::MAX;

pub struct ZstdStream {
    engine: Arc<Engine>,
    id: u64,
    source: Arc<dyn Source>,
    stored: Range<u64>,
    expected: Option<u64>,
    place: Place,
    state: Mutex<State>,
    progress: Condvar,
}

/// A frame, decoded and verified.
#[derive(Clone)]
enum Decoded {
    Small(Block),
    Spilled(Arc<Spilled>),
}

impl Decoded {
    fn len(&self) -> u64 {
        match self {
            Decoded::Small(block) => block.len() as u64,
            Decoded::Spilled(frame) => frame.len(),
        }
    }
}

impl ZstdStream {
    /// The stream stored in `stored` of `source`; `expected` is its decoded length where the container tells
    /// (0 counts as not told: an empty stream has to be looked at to be believed).
    pub fn new(
        engine: Arc<Engine>,
        source: Arc<dyn Source>,
        stored: Range<u64>,
        expected: Option<u64>,
        place: Place,
    ) -> ZstdStream {
        let id = engine.cache.new_stream();
        let expected = expected.filter(|len| *len > 0);
        let (state, progress) = (Mutex::default(), Condvar::new());
        ZstdStream { engine, id, source, stored, expected, place, state, progress }
    }

    /// The decoded length if it is known without reading anything.
    pub fn known_len(&self) -> Option<u64> {
        self.expected.or_else(|| self.state.lock().total())
    }

    #[cfg(test)]
    pub fn is_damaged(&self) -> bool {
        self.state.lock().is_damaged()
    }

    /// The decoded length: recorded in the headers of all frames, or found by decoding those where it is not.
    pub fn len(&self) -> Result<u64> {
        match self.known_len() {
            Some(len) => Ok(len),
            None => self.total(),
        }
    }

    /// As [`ZstdStream::read_exact_at`] if nothing has to be read or decoded for it, or None.
    pub fn read_cached(&self, len: usize, offset: u64) -> Result<Option<Vec<u8>>> {
        if self.is_last(offset, len) && self.state.lock().total().is_none() {
            return Ok(None);
        }
        let mut bytes = Vec::with_capacity(len);
        while bytes.len() < len {
            let at = offset + bytes.len() as u64;
            let Some(here) = self.state.lock().locate(at)? else { return Ok(None) };
            let Some(block) = self.engine.cache.get(self.id, here.block()) else { return Ok(None) };
            let from = here.within(&block);
            if from.is_empty() {
                return Err(self.nothing_at(at));
            }
            bytes.extend_from_slice(&from[..from.len().min(len - bytes.len())]);
        }
        self.source.check()?;
        Ok(Some(bytes))
    }

    /// Fills `buf` with decoded bytes from `offset`; the caller has clamped the range at the length.
    pub fn read_exact_at(&self, buf: &mut [u8], offset: u64) -> Result<()> {
        if self.is_last(offset, buf.len()) {
            self.total()?;
        }
        let mut rest = buf;
        let mut at = offset;
        while !rest.is_empty() {
            let here = self.locate(at)?;
            let block = self.block(&here)?;
            let from = here.within(&block);
            if from.is_empty() {
                return Err(self.nothing_at(at));
            }
            let count = from.len().min(rest.len());
            rest[..count].copy_from_slice(&from[..count]);
            rest = &mut rest[count..];
            at += count as u64;
        }
        // Cached blocks are right, but a changed container is an error everywhere, not by chance.
        self.source.check()
    }

    /// Does a read reach the expected end? Its bytes are right only if nothing follows.
    fn is_last(&self, offset: u64, len: usize) -> bool {
        self.expected.is_some_and(|expected| offset.saturating_add(len as u64) >= expected)
    }

    /// The length that all frames have together, decoding those that do not tell.
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

    /// The frame that holds decoded byte `at`, decoding those before it that do not tell their lengths.
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

    /// Decodes frame `index` to know its length.
    fn learn(&self, table: &Table, index: usize) -> Result<()> {
        let known = |state: &State| match state.damage(index) {
            Some(error) => Some(Err(error)),
            None => state.knows_length(index).then_some(Ok(())),
        };
        self.once(index, known, || self.decode(table, index).map(drop))
    }

    fn table(&self) -> Result<Arc<Table>> {
        self.once(
            SCAN,
            |state| state.table().map(Ok),
            || {
                let table = table::scan(&self.source, self.stored.clone(), &self.place)?;
                self.source.check()?;
                let table = Arc::new(table);
                let cut = table.cut.clone();
                self.state.lock().set_table(table.clone());
                if let Some(error) = cut {
                    self.condemn_from(table.frames.len(), error);
                }
                self.check_total()?;
                Ok(table)
            },
        )
    }

    /// The block of a frame that holds the place that was asked for.
    fn block(&self, here: &Here) -> Result<Block> {
        if let Some(block) = self.engine.cache.get(self.id, here.block()) {
            return Ok(block);
        }
        let frame = match self.frame(here.frame)? {
            Decoded::Small(block) => return Ok(block),
            Decoded::Spilled(frame) => frame,
        };
        let spill = &self.engine.spill;
        let piece = frame.read((here.within / PIECE as u64) as usize, spill);
        // Its next reader may have more luck with the disk.
        let piece = piece.inspect_err(|_| spill.forget((self.id, here.frame as u64)))?;
        Ok(self.engine.cache.insert(self.id, here.block(), &piece))
    }

    fn frame(&self, index: usize) -> Result<Decoded> {
        let table = self.table()?;
        let at_hand = |state: &State| match state.damage(index) {
            Some(error) => Some(Err(error)),
            None => self.at_hand(index).map(Ok),
        };
        self.once(index, at_hand, || self.decode(&table, index))
    }

    fn at_hand(&self, index: usize) -> Option<Decoded> {
        let small = self.engine.cache.get(self.id, state::block_number(index, 0)).map(Decoded::Small);
        small.or_else(|| self.engine.spill.get((self.id, index as u64)).map(Decoded::Spilled))
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
        // Of a changed container nothing is kept, neither bytes nor damage.
        self.source.check().inspect_err(|_| self.engine.spill.forget(job.key))?;
        let decoded = decoded.map_err(|error| self.condemn(index, error))?;
        if let Some(needed) = frame.len.filter(|len| *len != decoded.len()) {
            self.engine.spill.forget(job.key);
            let problem =
                format!("the zstd frame decodes to {} bytes, the seek table needs {needed}", decoded.len());
            let error = Error::damaged(self.place.at(frame.stored.start), problem);
            return Err(self.condemn_from(index, error));
        }
        if let Decoded::Small(block) = &decoded {
            self.engine.cache.insert(self.id, state::block_number(index, 0), block);
        }
        self.state.lock().learned(index, decoded.len());
        self.check_total()?;
        Ok(decoded)
    }

    /// All lengths may be known now: they have to be what the container says.
    fn check_total(&self) -> Result<()> {
        let total = self.state.lock().total();
        match (self.expected, total) {
            (Some(needed), Some(total)) if needed != total => {
                let problem = format!("decodes to {total} bytes, its description needs {needed}");
                Err(self.condemn_from(0, Error::damaged(self.place.at(self.stored.start), problem)))
            }
            _ => Ok(()),
        }
    }

    /// Records that frame `index` is damaged, or more than a limit allows. An error of the source or the spill is passed on and not kept: it
    /// may be of another cause next time.
    fn condemn(&self, index: usize, error: Error) -> Error {
        if error.lasts() {
            let is_first = self.state.lock().condemn(index, &error);
            say(is_first, &error);
        }
        error
    }

    /// Records that nothing from frame `index` on can be trusted.
    fn condemn_from(&self, index: usize, error: Error) -> Error {
        let is_first = self.state.lock().condemn_from(index, &error);
        say(is_first, &error);
        error
    }

    /// What `found` finds, or what `work` brings; who comes meanwhile waits and looks again.
    fn once<T>(
        &self,
        work: usize,
        found: impl Fn(&State) -> Option<Result<T>>,
        make: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        let mut state = self.state.lock();
        loop {
            if let Some(found) = found(&state) {
                return found;
            }
            if state.announce(work) {
                break;
            }
            self.progress.wait(&mut state);
        }
        drop(state);
        let _announced = Announced { stream: self, work };
        make()
    }

    fn nothing_at(&self, position: u64) -> Error {
        Error::damaged(self.place.clone(), format!("nothing decodes to byte {position}"))
    }
}

fn say(is_first: bool, error: &Error) {
    if is_first {
        let given = match error {
            Error::Unsupported { .. } => "the error \"operation not supported\"",
            _ => "an input/output error",
        };
        log::error!("{error}; reads of it give {given}");
    }
}

/// The announcement of work; withdrawn when it ends, however it ends.
struct Announced<'a> {
    stream: &'a ZstdStream,
    work: usize,
}

impl Drop for Announced<'_> {
    fn drop(&mut self) {
        self.stream.state.lock().withdraw(self.work);
        self.stream.progress.notify_all();
    }
}

#[cfg(test)]
mod tests;
