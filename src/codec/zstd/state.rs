//! What is known about a stream so far: its frames, where each begins in the decoded bytes (for as many from
//! the front as have known lengths), what is damaged, and who is at work on what.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::SMALL;
use super::table::Table;
use crate::codec::spill::PIECE;
use crate::{Error, Result};

/// Damaged frames beyond this many are found out again each time.
const MOST_DAMAGED: usize = 4096;

#[derive(Default)]
pub struct State {
    table: Option<Arc<Table>>,
    /// Where frame 0, 1, ... ends, decoded.
    ends: Vec<u64>,
    working: HashSet<usize>,
    damaged: HashMap<usize, Error>,
    /// From this frame on nothing can be trusted.
    cut: Option<(usize, Error)>,
}

/// A place in the decoded bytes.
pub struct Here {
    pub frame: usize,
    /// Bytes from the start of the frame.
    pub within: u64,
    /// The frame is one block in the cache.
    is_small: bool,
}

impl Here {
    /// The number in the cache of the block that holds this place.
    pub fn block(&self) -> u64 {
        let piece = if self.is_small { 0 } else { 1 + self.within / PIECE as u64 };
        block_number(self.frame, piece)
    }

    /// What that block has from this place on.
    pub fn within<'a>(&self, block: &'a [u8]) -> &'a [u8] {
        let skip = if self.is_small { self.within } else { self.within % PIECE as u64 };
        block.get(skip as usize..).unwrap_or_default()
    }
}

/// Block 0 is a whole small frame, the others are pieces of one in the spill. There are fewer than 2^23 frames
/// (see `table`), and 2^40 pieces are more than a disk has.
pub fn block_number(frame: usize, block: u64) -> u64 {
    (frame as u64) << 40 | block
}

impl State {
    pub fn table(&self) -> Option<Arc<Table>> {
        self.table.clone()
    }

    pub fn set_table(&mut self, table: Arc<Table>) {
        self.table = Some(table);
        self.extend();
    }

    /// Frame `index`, the first of unknown length, turned out to have `len` bytes.
    pub fn learned(&mut self, index: usize, len: u64) {
        if self.ends.len() == index {
            self.push(len);
            self.extend();
        }
    }

    /// Goes on while lengths are recorded.
    fn extend(&mut self) {
        let Some(table) = self.table.clone() else { return };
        while let Some(len) = table.frames.get(self.ends.len()).and_then(|frame| frame.len) {
            self.push(len);
        }
    }

    fn push(&mut self, len: u64) {
        // Saturated it is longer than any file, and its bytes are nowhere.
        let end = self.ends.last().copied().unwrap_or(0).saturating_add(len);
        self.ends.push(end);
    }

    pub fn knows_length(&self, index: usize) -> bool {
        index < self.ends.len()
    }

    /// The length of all frames together, once it is known that there are no others.
    pub fn total(&self) -> Option<u64> {
        let table = self.table.as_ref()?;
        let is_complete = self.ends.len() == table.frames.len() && self.cut.is_none();
        is_complete.then(|| self.ends.last().copied().unwrap_or(0))
    }

    /// The first frame whose length has to be found; an error if there is none to go on with.
    pub fn frame_of_unknown_length(&self) -> Result<usize> {
        let index = self.ends.len();
        match self.damage(index) {
            Some(error) => Err(error),
            None => Ok(index),
        }
    }

    /// Where decoded byte `at` is; None if that is not known yet, or nowhere.
    pub fn locate(&self, at: u64) -> Result<Option<Here>> {
        let frame = self.ends.partition_point(|end| *end <= at);
        if let Some(error) = self.damage(frame) {
            return Err(error);
        }
        let Some(end) = self.ends.get(frame) else { return Ok(None) };
        let start = frame.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or(0);
        Ok(Some(Here { frame, within: at - start, is_small: end - start <= SMALL as u64 }))
    }

    pub fn is_damaged(&self) -> bool {
        self.cut.is_some() || !self.damaged.is_empty()
    }

    pub fn damage(&self, index: usize) -> Option<Error> {
        let cut = self.cut.as_ref().filter(|(from, _)| *from <= index).map(|(_, error)| error);
        cut.or_else(|| self.damaged.get(&index)).cloned()
    }

    /// Is this the first damage?
    pub fn condemn(&mut self, index: usize, error: &Error) -> bool {
        let is_first = !self.is_damaged();
        if self.damaged.len() < MOST_DAMAGED {
            self.damaged.insert(index, error.clone());
        }
        is_first
    }

    /// As [`State::condemn`] for all frames from `index` on.
    pub fn condemn_from(&mut self, index: usize, error: &Error) -> bool {
        let is_first = !self.is_damaged();
        if self.cut.as_ref().is_none_or(|(from, _)| index < *from) {
            self.cut = Some((index, error.clone()));
        }
        is_first
    }

    /// Announces work; false if somebody is at it.
    pub fn announce(&mut self, work: usize) -> bool {
        self.working.insert(work)
    }

    pub fn withdraw(&mut self, work: usize) {
        self.working.remove(&work);
    }
}
