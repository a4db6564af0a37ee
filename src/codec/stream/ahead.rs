//! Decodes ahead of sequential readers, so that the next blocks are cached in time and other processors are used. Where
//! seek points are known, each span is a separate run; elsewhere one run continues for as long as the reader does.
//!
//! A reader's departure cannot be detected, so at most [`AHEAD`] bytes after the last request are decoded.

use std::sync::Arc;

use super::super::{BLOCK, SPAN};
use super::run::Announced;
use super::{State, Stream};

const AHEAD: u64 = 4 * SPAN;
/// The kernel requests neighbouring pieces concurrently, in any order.
const NEAR: u64 = SPAN;
/// Maximum number of sequential readers tracked per stream.
const READERS: usize = 4;

/// The positions of sequential readers, most recent first.
#[derive(Default)]
pub struct Readers {
    places: Vec<Reader>,
}

struct Reader {
    /// End of the farthest request.
    end: u64,
    /// Decoding has been requested up to here.
    ahead: u64,
}

impl Readers {
    /// Records a request; returns the reader that it continues, if any.
    fn note(&mut self, offset: u64, end: u64) -> Option<&mut Reader> {
        let continues =
            |reader: &Reader| offset <= reader.end.saturating_add(NEAR) && offset + NEAR >= reader.end;
        match self.places.iter().position(continues) {
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
    /// Records a read of `len` bytes from `offset`; if it continues an earlier one, starts decoding the next blocks.
    pub(super) fn decode_ahead(self: &Arc<Stream>, offset: u64, len: usize) {
        let Some(total) = self.known_len() else { return };
        let max_ahead = AHEAD.min(self.engine.limits.cache / 4);
        let mut state = self.state.lock();
        let Some(reader) = state.note(offset, offset.saturating_add(len as u64)) else { return };
        let until = reader.end.saturating_add(max_ahead).min(total).next_multiple_of(SPAN).min(total);
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
            self.engine.in_background(move || {
                // Errors are logged, or returned to the next reader of these blocks.
                let _ = stream.go(first, announced);
            });
        }
    }

    /// Announces runs for the blocks from `first` through `last` that are neither cached nor being decoded.
    fn plan(self: &Arc<Stream>, state: &mut State, first: u64, last: u64) -> Vec<(u64, Announced)> {
        let mut runs = Vec::new();
        let mut at = first;
        while at <= last {
            let end = (at + 1).next_multiple_of(SPAN / BLOCK).min(last + 1) - 1;
            if let Some(missing) = (at..=end).find(|block| !self.is_cached_or_coming(state, *block)) {
                runs.extend(self.plan_run(state, missing, end).map(|announced| (missing, announced)));
            }
            at = end + 1;
        }
        runs
    }

    fn is_cached_or_coming(&self, state: &State, block: u64) -> bool {
        state.is_coming(block) || self.engine.cache.contains(self.id(), block)
    }

    /// Announces a run for these blocks, or extends one that leads up to them.
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
