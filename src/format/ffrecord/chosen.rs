//! Records chosen by an index, as an Arrow file: their concatenated bytes and offsets. The offset of every 1024th
//! record is kept, and the others follow from the lengths before them. Nothing is compared with checksums.

use std::sync::Arc;

use super::records::Records;
use super::rows::Rows;
use super::tables::{arrays, arrow_of};
use crate::array::Slab;
use crate::content::{Computed, Content, Units, hyperslab, in_pieces, joined, late};
use crate::lines::Part;
use crate::{Error, Result};

/// Number of records per kept offset.
const BLOCK: u64 = 1024;

/// The lengths of all chosen records are looked up when the content's length is first needed.
pub fn arrow(records: &Arc<Records>, part: &Part<Rows>) -> Content {
    let (records, columns, rows) = (records.clone(), part.columns().to_vec(), part.rows().clone());
    late(move || {
        let [_, _, array] = arrays(&records);
        let checksums = hyperslab(joined(records.checksums()), &array, &rows)?;
        let chosen = Arc::new(Chosen::new(records.clone(), rows.clone())?);
        let offsets = Content::Computed(Arc::new(Offsets(chosen.clone())));
        let data = Content::Computed(Arc::new(Data(chosen)));
        let file = arrow_of(rows.len(), &columns, offsets, data, checksums);
        file.ok_or_else(|| Error::Other("the chosen records do not fit into an Arrow file".into()))
    })
}

struct Chosen {
    records: Arc<Records>,
    rows: Slab,
    /// The data offset of each block, and the end of the last.
    starts: Vec<u64>,
}

impl Chosen {
    fn new(records: Arc<Records>, rows: Slab) -> Result<Chosen> {
        let mut chosen = Chosen { records, rows, starts: vec![0] };
        let (mut end, count) = (0u64, chosen.count());
        for at in 0..count {
            end = end.saturating_add(chosen.len(at)?);
            if (at + 1) % BLOCK == 0 || at + 1 == count {
                chosen.starts.push(end);
            }
        }
        Ok(chosen)
    }

    fn count(&self) -> u64 {
        self.rows.len()
    }

    /// The record number of the chosen record at this position.
    fn number(&self, at: u64) -> u32 {
        self.rows.position(at) as u32
    }

    fn len(&self, at: u64) -> Result<u64> {
        Ok(self.records.find(self.number(at))?.len())
    }

    fn end(&self) -> u64 {
        self.starts.last().copied().unwrap_or(0)
    }

    /// Fills `buf` with offsets, from the `first` on.
    fn offsets(&self, buf: &mut [u8], first: u64) -> Result<()> {
        let block = first / BLOCK;
        let mut start = self.starts.get(block as usize).copied().unwrap_or(self.end());
        for at in block * BLOCK..first {
            start += self.len(at)?;
        }
        for (at, to) in (first..).zip(buf.chunks_exact_mut(8)) {
            to.copy_from_slice(&start.to_le_bytes());
            start += if at < self.count() { self.len(at)? } else { 0 };
        }
        Ok(())
    }

    /// Reads data from `offset` on, within one block at most.
    fn some(&self, buf: &mut [u8], offset: u64) -> Result<usize> {
        let block = self.starts.partition_point(|start| *start <= offset).saturating_sub(1);
        let mut start = self.starts.get(block).copied().unwrap_or(0);
        let (first, mut filled) = (block as u64 * BLOCK, 0);
        for at in first..(first + BLOCK).min(self.count()) {
            let len = self.len(at)?;
            let skip = (offset + filled as u64).saturating_sub(start);
            let rest = buf.get_mut(filled..).unwrap_or_default();
            if rest.is_empty() {
                break;
            }
            if skip < len {
                let count = (len - skip).min(rest.len() as u64) as usize;
                let now = rest.get_mut(..count).unwrap_or_default();
                self.records.stored(self.number(at))?.fill(now, skip)?;
                filled += count;
            }
            start += len;
        }
        Ok(filled)
    }
}

struct Data(Arc<Chosen>);

impl Computed for Data {
    fn known_len(&self) -> Option<u64> {
        Some(self.0.end())
    }

    fn fill(&self, buf: &mut [u8], offset: u64) -> Result<()> {
        in_pieces(buf, offset, &mut |rest, at| self.0.some(rest, at))
    }
}

struct Offsets(Arc<Chosen>);

impl Computed for Offsets {
    fn known_len(&self) -> Option<u64> {
        Some(8 * (self.0.count() + 1))
    }

    fn fill(&self, buf: &mut [u8], offset: u64) -> Result<()> {
        let units = Units { size: 8, len: 8 * (self.0.count() + 1), max_chunk: 8 * BLOCK };
        units.fill(buf, offset, &|buf, first| self.0.offsets(buf, first), &|buf, number, skip| {
            let mut one = [0; 8];
            self.0.offsets(&mut one, number)?;
            buf.iter_mut().zip(one.iter().skip(skip as usize)).for_each(|(to, from)| *to = *from);
            Ok(())
        })
    }
}
