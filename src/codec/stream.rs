//! One compressed dataset, read as decoded bytes at any offset.
//!
//! What always holds:
//! - A block is decoded once for all readers who want it meanwhile: each run of a decoder is announced
//!   in `State::running`, and who wants a block that a run will pass waits for it.
//! - No lock is held while reading or decoding.
//! - The last block is handed out only when the end of the stream was seen and its checksum and length
//!   were right. Streams of up to [`VERIFY_FIRST`] bytes and those of unknown length are verified whole
//!   before a byte is served.
//! - After damage at decoded position p (bad data, early end), reads that end before p are served, all
//!   others fail. A wrong checksum or length condemns the whole dataset (p = 0). Said once in the log.

use std::ops::Range;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::inflate::Inflater;
use super::{BLOCK, Block, Engine};
use crate::error::Place;
use crate::source::Source;
use crate::{Error, Result};

/// Streams up to this many decoded bytes are verified before a byte is served.
const VERIFY_FIRST: u64 = 1 << 20;

pub struct Stream {
    engine: Arc<Engine>,
    id: u64,
    source: Arc<dyn Source>,
    stored: Range<u64>,
    expected: Option<u64>,
    place: Place,
    state: Mutex<State>,
    progress: Condvar,
}

#[derive(Default)]
struct State {
    running: Vec<Run>,
    runs: u64,
    /// The decoded length, once the end was seen and was right.
    verified: Option<u64>,
    damage: Option<Damage>,
}

/// A decoder at work: it is at block `next` and goes on through block `last`.
struct Run {
    number: u64,
    next: u64,
    last: u64,
}

#[derive(Clone)]
struct Damage {
    from: u64,
    error: Error,
}

/// A decoded block, and whether the verified end of the stream follows it.
struct Step {
    block: Block,
    end: bool,
}

impl Stream {
    /// The stream stored in `stored` of `source`; `expected` is its decoded length where the header
    /// tells (0 counts as not told: an empty stream has to be looked at to be believed).
    pub fn new(
        engine: Arc<Engine>,
        source: Arc<dyn Source>,
        stored: Range<u64>,
        expected: Option<u64>,
        place: Place,
    ) -> Stream {
        let id = engine.cache.new_stream();
        let expected = expected.filter(|len| *len > 0);
        Stream {
            engine,
            id,
            source,
            stored,
            expected,
            place,
            state: Mutex::default(),
            progress: Condvar::new(),
        }
    }

    /// The decoded length if it is known without decoding.
    pub fn known_len(&self) -> Option<u64> {
        self.expected.or_else(|| self.lock().verified)
    }

    pub fn is_damaged(&self) -> bool {
        self.lock().damage.is_some()
    }

    /// The decoded length; decodes the whole stream once if nothing else tells.
    pub fn len(&self) -> Result<u64> {
        match self.known_len() {
            Some(len) => Ok(len),
            None => self.verify(),
        }
    }

    /// As [`Stream::read_exact_at`] if nothing has to be decoded for it, or None.
    pub fn read_cached(&self, len: usize, offset: u64) -> Result<Option<Vec<u8>>> {
        let state = self.lock();
        if let Some(error) = damage_in(&state, offset, len) {
            return Err(error);
        }
        if self.verified_first() && state.verified.is_none() {
            return Ok(None);
        }
        drop(state);
        let mut bytes = Vec::with_capacity(len);
        while bytes.len() < len {
            let at = offset + bytes.len() as u64;
            let Some(block) = self.engine.cache.get(self.id, at / BLOCK) else { return Ok(None) };
            let from = block.get((at % BLOCK) as usize..).unwrap_or(&[]);
            if from.is_empty() {
                return Err(self.error_at(at));
            }
            bytes.extend_from_slice(&from[..from.len().min(len - bytes.len())]);
        }
        self.source.check()?;
        Ok(Some(bytes))
    }

    /// Fills `buf` with decoded bytes from `offset`; the caller has clamped the range at the length.
    pub fn read_exact_at(&self, buf: &mut [u8], offset: u64) -> Result<()> {
        if self.verified_first() {
            self.verify()?;
        }
        if let Some(error) = damage_in(&self.lock(), offset, buf.len()) {
            return Err(error);
        }
        let mut rest = buf;
        let mut at = offset;
        while !rest.is_empty() {
            let block = self.block(at / BLOCK)?;
            let from = block.get((at % BLOCK) as usize..).unwrap_or(&[]);
            if from.is_empty() {
                return Err(self.error_at(at));
            }
            let count = from.len().min(rest.len());
            rest[..count].copy_from_slice(&from[..count]);
            rest = &mut rest[count..];
            at += count as u64;
        }
        // Cached blocks are right, but a changed container is an error everywhere, not by chance.
        self.source.check()
    }

    fn verified_first(&self) -> bool {
        self.expected.is_none_or(|len| len <= VERIFY_FIRST)
    }

    /// Decodes to the end, once for all who ask, and returns the length.
    fn verify(&self) -> Result<u64> {
        loop {
            let state = self.lock();
            if let Some(len) = state.verified {
                return Ok(len);
            }
            if let Some(damage) = &state.damage {
                return Err(damage.error.clone());
            }
            if !state.running.is_empty() {
                drop(self.wait(state));
                continue;
            }
            self.run_from(0, u64::MAX, state)?;
        }
    }

    /// The block `number`, out of the cache or decoded now.
    fn block(&self, number: u64) -> Result<Block> {
        loop {
            let state = self.lock();
            if let Some(damage) = state.damage.as_ref().filter(|d| d.from <= number * BLOCK) {
                return Err(damage.error.clone());
            }
            if let Some(block) = self.engine.cache.get(self.id, number) {
                return Ok(block);
            }
            if self.comes_nearest(&state, number) {
                drop(self.wait(state));
                continue;
            }
            return self.run_from(number, number, state);
        }
    }

    /// Is a decoder at work that will pass block `number`, or will stop before it but nearer than any that
    /// is parked?
    fn comes_nearest(&self, state: &State, number: u64) -> bool {
        let parked =
            self.engine.parked_before(self.id, number * BLOCK).map_or(0, |position| position / BLOCK);
        let before = |run: &&Run| run.next <= number;
        state.running.iter().filter(before).any(|run| run.last >= number || run.next >= parked)
    }

    /// Announces a run that ends with block `last`, and makes it; returns the last block that it decoded.
    fn run_from(&self, first: u64, last: u64, mut state: MutexGuard<'_, State>) -> Result<Block> {
        let parked = self.engine.resume(self.id, first.saturating_mul(BLOCK));
        let next = parked.as_ref().map_or(0, |decoder| decoder.position() / BLOCK);
        state.runs += 1;
        let number = state.runs;
        state.running.push(Run { number, next, last });
        drop(state);
        let announced = Announced { stream: self, number };
        let mut decoder = match parked {
            Some(decoder) => decoder,
            None => {
                let (source, stored) = (self.source.clone(), self.stored.clone());
                Inflater::new(source, stored, &self.place, self.engine.parts())
                    .map_err(|error| self.condemn(0, error))?
            }
        };
        loop {
            let at = decoder.position() / BLOCK;
            let step = self.step(&mut decoder, at)?;
            self.engine.cache.insert(self.id, at, step.block.clone());
            announced.passed(at);
            if step.end {
                self.engine.retire(decoder);
                return Ok(step.block);
            }
            if at == last {
                self.engine.park(self.id, decoder);
                return Ok(step.block);
            }
        }
    }

    /// Decodes block `at`. Damage is recorded here; a block cut short by it is still returned if it holds
    /// good bytes, since reads that end before the damage are served.
    fn step(&self, decoder: &mut Inflater, at: u64) -> Result<Step> {
        let mut scratch = self.engine.scratch();
        let step = self.step_into(&mut scratch, decoder, at);
        self.engine.return_scratch(scratch);
        step
    }

    fn step_into(&self, scratch: &mut [u8], decoder: &mut Inflater, at: u64) -> Result<Step> {
        let start = at * BLOCK;
        let wanted = self.expected.map_or(BLOCK, |len| BLOCK.min(len.saturating_sub(start)));
        let out = scratch.get_mut(..wanted as usize).unwrap_or_default();
        let got = match decoder.read(out, &self.place) {
            Ok(got) => got,
            Err(error) => return self.cut_short(out, start, decoder.position(), error),
        };
        self.source.check()?;
        let block: Block = out.get(..got).unwrap_or_default().into();
        if (got as u64) < wanted {
            self.finish(start + got as u64)?;
            return Ok(Step { block, end: true });
        }
        let end = self.expected == Some(start + wanted);
        if end {
            self.expect_end(decoder)?;
            self.finish(start + wanted)?;
        }
        Ok(Step { block, end })
    }

    /// A data error after `position` decoded bytes: the bytes before it are kept, unless the stream has to
    /// be verified before it is served, or all bytes are there and it is their checksum that is wrong.
    fn cut_short(&self, block: &[u8], start: u64, position: u64, error: Error) -> Result<Step> {
        if !matches!(error, Error::Damaged { .. }) {
            return Err(error);
        }
        self.source.check()?;
        let complete = self.expected.is_some_and(|len| position >= len);
        let from = if self.verified_first() || complete { 0 } else { position };
        let error = self.condemn(from, error);
        match block.get(..position.saturating_sub(start) as usize) {
            Some(good) if !good.is_empty() && from > 0 => Ok(Step { block: good.into(), end: true }),
            _ => Err(error),
        }
    }

    /// All expected bytes are there: nothing may follow, and the checksum must be right.
    fn expect_end(&self, decoder: &mut Inflater) -> Result<()> {
        match decoder.read(&mut [0], &self.place) {
            Ok(0) => Ok(()),
            Ok(_) => Err(self.condemn(0, self.wrong_length("more".into()))),
            Err(error) => Err(self.condemn(0, error)),
        }
    }

    /// The end was reached after `len` bytes with a right checksum.
    fn finish(&self, len: u64) -> Result<()> {
        if self.expected.is_some_and(|expected| expected != len) {
            return Err(self.condemn(0, self.wrong_length(len.to_string())));
        }
        self.lock().verified = Some(len);
        Ok(())
    }

    fn wrong_length(&self, found: String) -> Error {
        let needed = self.expected.unwrap_or(0);
        let problem = format!("decodes to {found} bytes, its description needs {needed}");
        Error::damaged(self.place.at(self.stored.start), problem)
    }

    /// Records damage from decoded position `from` on, and says so in the log the first time. An error of
    /// the source (changed, unreadable) is passed on and not kept: it may be of another cause next time.
    fn condemn(&self, from: u64, error: Error) -> Error {
        if !matches!(error, Error::Damaged { .. }) {
            return error;
        }
        let mut state = self.lock();
        let known = state.damage.as_ref().map(|damage| damage.from);
        if known.is_none_or(|known| from < known) {
            state.damage = Some(Damage { from, error: error.clone() });
        }
        drop(state);
        if known.is_none() {
            log::error!("{error}; reads of it give an input/output error");
        }
        error
    }

    fn error_at(&self, position: u64) -> Error {
        damage_in(&self.lock(), position, 1).unwrap_or_else(|| {
            Error::damaged(self.place.clone(), format!("nothing decodes to byte {position}"))
        })
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        self.progress.wait(state).unwrap_or_else(PoisonError::into_inner)
    }

    /// A poisoned lock is used on: no critical section leaves the state half changed.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The announcement of a run; withdrawn when the run ends, however it ends.
struct Announced<'a> {
    stream: &'a Stream,
    number: u64,
}

impl Announced<'_> {
    fn passed(&self, block: u64) {
        let mut state = self.stream.lock();
        if let Some(run) = state.running.iter_mut().find(|run| run.number == self.number) {
            run.next = block + 1;
        }
        drop(state);
        self.stream.progress.notify_all();
    }
}

impl Drop for Announced<'_> {
    fn drop(&mut self) {
        self.stream.lock().running.retain(|run| run.number != self.number);
        self.stream.progress.notify_all();
    }
}

fn damage_in(state: &State, offset: u64, len: usize) -> Option<Error> {
    let damage = state.damage.as_ref()?;
    (offset.saturating_add(len as u64) > damage.from).then(|| damage.error.clone())
}

#[cfg(test)]
mod tests;
