//! A table as rows: what its container has column by column, each row's cells one after the other.

use crate::Result;
use crate::content::{Computed, Content, Units};
use crate::tree::Table;

/// Number of bytes transposed at once.
const BLOCK: u64 = 256 << 10;

pub struct Rows {
    /// All columns, one after the other.
    columns: Content,
    widths: Box<[u64]>,
    row: u64,
    count: u64,
}

impl Rows {
    /// `columns` is as long as the table says.
    pub fn new(table: &Table, columns: Content) -> Rows {
        let widths: Box<[u64]> = table.columns.iter().map(|column| column.width).collect();
        Rows { columns, row: widths.iter().sum(), widths, count: table.rows }
    }

    /// For each column where its cells begin in the columns, its width, and where its cell is in a row.
    fn places(&self) -> impl Iterator<Item = (u64, u64, u64)> {
        self.widths.iter().scan(0, |before, width| {
            let place = (*before * self.count, *width, *before);
            *before += width;
            Some(place)
        })
    }

    /// Fills `buf` with whole rows from `first` on.
    fn turn(&self, buf: &mut [u8], first: u64) -> Result<()> {
        let count = buf.len() as u64 / self.row;
        let mut cells = Vec::new();
        for (start, width, at) in self.places().filter(|(_, width, _)| *width > 0) {
            cells.resize((count * width) as usize, 0);
            self.columns.fill(&mut cells, start + first * width)?;
            let rows = buf.chunks_exact_mut(self.row as usize);
            for (row, cell) in rows.zip(cells.chunks_exact(width as usize)) {
                if let Some(to) = row.get_mut(at as usize..(at + width) as usize) {
                    to.copy_from_slice(cell);
                }
            }
        }
        Ok(())
    }

    /// Fills `buf`, which lies in one row, from `skip` bytes of it on.
    fn within(&self, buf: &mut [u8], row: u64, skip: u64) -> Result<()> {
        let mut rest = buf;
        for (start, width, at) in self.places() {
            let from = skip.max(at);
            if from >= at + width || rest.is_empty() {
                continue;
            }
            let count = (at + width - from).min(rest.len() as u64);
            let (now, after) = rest.split_at_mut(count as usize);
            self.columns.fill(now, start + row * width + (from - at))?;
            rest = after;
        }
        Ok(())
    }
}

impl Computed for Rows {
    fn known_len(&self) -> Option<u64> {
        Some(self.row * self.count)
    }

    fn fill(&self, buf: &mut [u8], offset: u64) -> Result<()> {
        let rows = Units { size: self.row, len: self.row * self.count, max_chunk: BLOCK };
        rows.fill(buf, offset, &|buf, first| self.turn(buf, first), &|buf, row, skip| {
            self.within(buf, row, skip)
        })
    }
}
