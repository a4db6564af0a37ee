//! The position and CRC of each record of a file. Small tables are in memory; entries of others are read when needed,
//! which takes about a microsecond from the page cache.

use std::ops::Range;
use std::sync::Arc;

use super::head::{FIXED, Head, tables_end};
use crate::source::Source;
use crate::{Error, Result};

/// One record of a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Record {
    /// Its range in the file.
    pub range: Range<u64>,
    pub crc: u32,
}

pub struct Table {
    source: Arc<dyn Source>,
    count: u32,
    kept: Option<Vec<u8>>,
}

impl Table {
    pub fn new(source: Arc<dyn Source>, head: &mut Head) -> Table {
        Table { source, count: head.count, kept: head.kept.take() }
    }

    /// The range of the CRCs in the file.
    pub fn checksums(&self) -> Range<u64> {
        FIXED..FIXED + 4 * u64::from(self.count)
    }

    fn offsets(&self) -> Range<u64> {
        self.checksums().end..tables_end(self.count.into())
    }

    pub fn record(&self, number: u32) -> Result<Record> {
        if number >= self.count {
            return Err(Error::NotFound);
        }
        let at = u64::from(number);
        let mut crc = [0; 4];
        self.fill(&mut crc, self.checksums().start + 4 * at)?;
        let mut offsets = [0; 16];
        let both = &mut offsets[..if number + 1 < self.count { 16 } else { 8 }];
        self.fill(both, self.offsets().start + 8 * at)?;
        let [a, b, c, d, e, f, g, h, next @ ..] = offsets;
        let start = u64::from_le_bytes([a, b, c, d, e, f, g, h]);
        let end = if number + 1 < self.count { u64::from_le_bytes(next) } else { self.source.len() };
        if start > end || end > self.source.len() {
            // Offsets were in order when the file was opened.
            return Err(Error::Changed { file: self.source.path().to_owned() });
        }
        Ok(Record { range: start..end, crc: u32::from_le_bytes(crc) })
    }

    /// Fills `buf` with the offsets of records from `first` on, as stored.
    pub fn fill_offsets(&self, buf: &mut [u8], first: u32) -> Result<()> {
        self.fill(buf, self.offsets().start + 8 * u64::from(first))
    }

    /// Is the table in memory?
    pub fn is_kept(&self) -> bool {
        self.kept.is_some()
    }

    /// Memory used, in bytes.
    pub fn memory(&self) -> u64 {
        self.kept.as_ref().map_or(0, |kept| kept.len() as u64)
    }

    fn fill(&self, buf: &mut [u8], offset: u64) -> Result<()> {
        let Some(kept) = &self.kept else {
            self.source.read_exact_at(buf, offset)?;
            return self.source.check();
        };
        let from = (offset - FIXED) as usize;
        let bytes = kept.get(from..from + buf.len()).ok_or(Error::NotFound)?;
        buf.copy_from_slice(bytes);
        Ok(())
    }
}
