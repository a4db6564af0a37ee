//! Decoding ahead of who reads from front to back, so that the next blocks are there when they are asked for
//! and the other processor has work: where seek points are known every span is a run of its own, elsewhere
//! one run goes on for as long as the reader does.
//!
//! A reader that went away cannot be seen, so no more than [`AHEAD`] bytes after the last request are
//! decoded.

use std::sync::Arc;

use super::super::{BLOCK, SPAN};
use super::run::Announced;
use super::{State, Stream};

const AHEAD: u64 = 4 * SPAN;
/// The kernel asks for neighbouring pieces at once, in any order.
const NEAR: u64 = SPAN;
/// Readers at several places of one stream, each going on from where it was.
const READERS: usize = 4;

/// Where readers have come to; the one that moved last comes first.
#[derive(Default)]
pub struct Readers {
    places: Vec<Reader>,
}

struct Reader {
    /// End of the farthest request.
    end: u64,
    /// Decoding up to here is asked for.
    ahead: u64,
}

impl Readers {
    /// Notes a request; for one that goes on from another, the reader.
    fn note(&mut self, offset: u64, end: u64) -> Option<&mut Reader> {
        let goes_on =
            |reader: &Reader| offset <= reader.end.saturating_add(NEAR) && offset + NEAR >= reader.end;
        match self.places.iter().position(goes_on) {
            Some(at) => {
                let mut reader = self.places.remove(at);
                reader.end = reader.end.max(end);
                self.places.insert(0, reader);
                self.places.first_mut()
            }
            None => {
                self.places.truncate(READERS - 1);
                self.places.insert(0, Reader { end, ahead: end });
                None
            }
        }
    }
}

impl Stream {
    /// Notes that `len` bytes from `offset` are read; if that goes on from what was read before, sees to it
    /// that the next blocks get decoded.
    pub(super) fn decode_ahead(self: &Arc<Stream>, offset: u64, len: usize) {
        let Some(total) = self.known_len() else { return };
        let most = AHEAD.min(self.engine.limits.cache / 4);
        let mut state = self.state.lock();
        let Some(reader) = state.note(offset, offset.saturating_add(len as u64)) else { return };
        let until = reader.end.saturating_add(most).min(total).next_multiple_of(SPAN).min(total);
        let from = reader.ahead.max(reader.end);
        if until <= from || (until < from + SPAN && until < total) {
            return;
        }
        reader.ahead = until;
        if state.damage.is_found() {
            return;
        }
        let runs = self.plan(&mut state, from / BLOCK, (until - 1) / BLOCK);
        drop(state);
        for (first, announced) in runs {
            let stream = self.clone();
            self.engine.beside(move || {
                // What fails is said in the log, or again to who reads there.
                let _ = stream.go(first, announced);
            });
        }
    }

    /// Announces runs for the blocks from `first` through `last` that are not there and not coming.
    fn plan(self: &Arc<Stream>, state: &mut State, first: u64, last: u64) -> Vec<(u64, Announced)> {
        let mut runs = Vec::new();
        let mut at = first;
        while at <= last {
            let end = (at + 1).next_multiple_of(SPAN / BLOCK).min(last + 1) - 1;
            if let Some(missing) = (at..=end).find(|block| !self.is_there(state, *block)) {
                runs.extend(self.plan_run(state, missing, end).map(|announced| (missing, announced)));
            }
            at = end + 1;
        }
        runs
    }

    fn is_there(&self, state: &State, block: u64) -> bool {
        state.comes(block) || self.engine.cache.contains(self.id(), block)
    }

    /// A run for these blocks, or the one that goes on to them.
    fn plan_run(self: &Arc<Stream>, state: &mut State, first: u64, last: u64) -> Option<Announced> {
        let start = self.start_for(first);
        match state.flights.iter_mut().find(|run| run.next <= first && run.next >= start) {
            Some(run) => {
                run.last = if run.open { run.last.max(last) } else { run.last };
                None
            }
            None => Some(self.announce(state, first, last, true)),
        }
    }
}
