//! What is known about a stream so far: its frames, and their decoded positions up to the first frame of unknown
//! length. Damage positions count frames.

use std::sync::Arc;

use super::table::Table;
use crate::Result;
use crate::codec::decoded::Here;
use crate::codec::single_flight::Shared;

#[derive(Default)]
pub struct State {
    table: Option<Arc<Table>>,
    /// Decoded end of frame 0, 1, ...
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

    /// Records that frame `index`, the first of unknown length, has `len` bytes.
    pub fn learned(&mut self, index: usize, len: u64) {
        if self.ends.len() == index {
            self.push(len);
            self.extend();
        }
    }

    /// Continues as long as lengths are recorded.
    fn extend(&mut self) {
        let Some(table) = self.table.clone() else { return };
        while let Some(len) = table.frames.get(self.ends.len()).and_then(|frame| frame.len) {
            self.push(len);
        }
    }

    fn push(&mut self, len: u64) {
        // A saturated length exceeds any file, so its bytes are never located.
        let end = self.ends.last().copied().unwrap_or(0).saturating_add(len);
        self.ends.push(end);
    }

    pub fn knows_length(&self, index: usize) -> bool {
        index < self.ends.len()
    }
}

impl Shared<State> {
    /// The total length, once all frames are known.
    pub fn total(&self) -> Option<u64> {
        let table = self.table.as_ref()?;
        let is_complete = self.ends.len() == table.frames.len() && !self.damage.is_cut();
        is_complete.then(|| self.ends.last().copied().unwrap_or(0))
    }

    /// The first frame of unknown length; an error if there are no more frames.
    pub fn frame_of_unknown_length(&self) -> Result<usize> {
        let index = self.ends.len();
        self.damage.at(index as u64).map_or(Ok(index), Err)
    }

    /// The place of decoded byte `at`; None if it is not known yet or does not exist.
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
