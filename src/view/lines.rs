//! Text of rows whose lengths are found by writing them: the first one who asks for the length has all of it written
//! once. Of that the places of blocks of rows are kept, and reads write only the blocks they need.

use std::ops::Range;
use std::sync::{Mutex, OnceLock, PoisonError};

use crate::content::{Bytes, Computed};
use crate::{Error, Result};

/// A block is about so many bytes of text.
const BLOCK: u64 = 32 << 10;
/// So many bytes may be written of rows for which no byte is there.
const MOST_EMPTY: u64 = 1 << 24;

/// What is written row by row.
pub trait Rows: Send + Sync {
    fn count(&self) -> u64;

    /// Bytes that a row has where it comes from.
    fn stored(&self) -> u64;

    /// Bytes of a row's text that are not of its cells.
    fn around(&self) -> u64;

    /// Appends the text of some rows.
    fn write(&self, rows: Range<u64>, text: &mut Vec<u8>) -> Result<()>;
}

pub struct Lines<R> {
    /// What comes before the rows.
    head: Vec<u8>,
    rows: R,
    /// Rows of a block.
    block: u64,
    /// Where each block ends.
    ends: OnceLock<Vec<u64>>,
    /// Whoever holds it is finding the ends; others would only do the same.
    finding: Mutex<()>,
}

impl<R: Rows> Lines<R> {
    pub fn new(head: Vec<u8>, rows: R) -> Lines<R> {
        let row = rows.stored().saturating_add(rows.around());
        let block = (BLOCK / row.max(8)).max(1);
        Lines { head, rows, block, ends: OnceLock::new(), finding: Mutex::default() }
    }

    fn ends(&self) -> Result<&[u64]> {
        if let Some(ends) = self.ends.get() {
            return Ok(ends);
        }
        let _finding = self.finding.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(ends) = self.ends.get() {
            return Ok(ends);
        }
        let found = self.find()?;
        Ok(self.ends.get_or_init(|| found))
    }

    fn find(&self) -> Result<Vec<u64>> {
        let count = self.rows.count();
        if self.rows.stored() == 0 && count.saturating_mul(self.rows.around()) > MOST_EMPTY {
            return Err(Error::Other(format!("it has {count} rows without a byte")));
        }
        let (mut ends, mut text) = (Vec::new(), Vec::new());
        let mut end = self.head.len() as u64;
        let blocks = count.div_ceil(self.block);
        for block in 0..blocks {
            text.clear();
            self.rows.write(self.rows_of(block), &mut text)?;
            end += text.len() as u64;
            ends.push(end);
        }
        Ok(ends)
    }

    fn rows_of(&self, block: u64) -> Range<u64> {
        let start = block * self.block;
        start..(start + self.block).min(self.rows.count())
    }

    fn end(&self, ends: &[u64]) -> u64 {
        ends.last().copied().unwrap_or(self.head.len() as u64)
    }
}

impl<R: Rows> Computed for Lines<R> {
    fn known_len(&self) -> Option<u64> {
        match self.rows.count() {
            0 => Some(self.head.len() as u64),
            _ => self.ends.get().map(|ends| self.end(ends)),
        }
    }

    fn len(&self) -> Result<u64> {
        self.ends().map(|ends| self.end(ends))
    }

    fn fill(&self, buf: &mut [u8], offset: u64) -> Result<()> {
        let ends = self.ends()?;
        let (mut rest, mut at, mut text) = (buf, offset, Vec::new());
        while !rest.is_empty() {
            let block = ends.partition_point(|end| *end <= at);
            let start = match block.checked_sub(1).and_then(|before| ends.get(before)) {
                Some(end) => *end,
                None => self.head.len() as u64,
            };
            let (from, skip) = if at < start {
                (&self.head, at)
            } else {
                if block == ends.len() {
                    return Err(Error::Other("read past the end".into()));
                }
                text.clear();
                self.rows.write(self.rows_of(block as u64), &mut text)?;
                (&text, at - start)
            };
            let changed = || Error::Other("a row is not as long as it was".into());
            let from = from.get(skip as usize..).filter(|from| !from.is_empty()).ok_or_else(changed)?;
            let (now, after) = rest.split_at_mut(from.len().min(rest.len()));
            now.copy_from_slice(from.get(..now.len()).unwrap_or_default());
            at += now.len() as u64;
            rest = after;
        }
        Ok(())
    }

    fn read_at_once(&self, _: Range<u64>) -> Result<Option<Bytes>> {
        Ok(None)
    }
}
