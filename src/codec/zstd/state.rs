//! What is known about a stream so far: its frames, and where each begins in the decoded bytes (for as many from
//! the front as have known lengths). Frames are the parts that its damage counts.

use std::sync::Arc;

use super::table::Table;
use crate::Result;
use crate::codec::decoded::Here;
use crate::codec::single_flight::Shared;

#[derive(Default)]
pub struct State {
    table: Option<Arc<Table>>,
    /// Where frame 0, 1, ... ends, decoded.
    ends: Vec<u64>,
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
}

impl Shared<State> {
    /// The length of all frames together, once it is known that there are no others.
    pub fn total(&self) -> Option<u64> {
        let table = self.table.as_ref()?;
        let is_complete = self.ends.len() == table.frames.len() && !self.damage.is_cut();
        is_complete.then(|| self.ends.last().copied().unwrap_or(0))
    }

    /// The first frame whose length has to be found; an error if there is none to go on with.
    pub fn frame_of_unknown_length(&self) -> Result<usize> {
        let index = self.ends.len();
        self.damage.at(index as u64).map_or(Ok(index), Err)
    }

    /// Where decoded byte `at` is; None if that is not known yet, or nowhere.
    pub fn locate(&self, at: u64) -> Result<Option<Here>> {
        let frame = self.ends.partition_point(|end| *end <= at);
        if let Some(error) = self.damage.at(frame as u64) {
            return Err(error);
        }
        let Some(end) = self.ends.get(frame) else { return Ok(None) };
        let start = frame.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or(0);
        Ok(Some(Here::new(frame as u64, at - start, end - start)))
    }
}
