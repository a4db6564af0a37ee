//! Derived files of an array: numbers computed from stored ones (little-endian int64), and the strings of a string
//! array, one per line. Computed for each range read.

use std::sync::{Arc, Once};

use super::super::read::array::{Array, BLOCK};
use super::super::read::graph::{ArrayKind, Ix, Lists};
use crate::codec::{from_blocks, in_pieces};
use crate::content::{Computed, Content};
use crate::{Error, Result};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexKind {
    /// One more than the number of lists.
    Offsets,
    Starts,
    Stops,
    Counts,
    /// Of a view: row numbers of the table; of a union: positions in the content.
    Index,
}

impl IndexKind {
    pub fn name(self) -> &'static str {
        match self {
            IndexKind::Offsets => "offsets",
            IndexKind::Starts => "starts",
            IndexKind::Stops => "stops",
            IndexKind::Counts => "counts",
            IndexKind::Index => "index",
        }
    }

    /// How it is derived from what is stored.
    pub fn meaning(self) -> &'static str {
        match self {
            IndexKind::Offsets => "where each list begins in the content, and the end of the last",
            IndexKind::Starts => "where each list begins in the content",
            IndexKind::Stops => "where each list ends in the content",
            IndexKind::Counts => "how many items each list has",
            IndexKind::Index => "where each item is",
        }
    }
}

/// The shape of a derived file.
pub fn shape(array: &Array, ix: Ix, kind: IndexKind) -> Result<Vec<u64>> {
    let node = array.node(ix)?;
    Ok(match &node.kind {
        ArrayKind::Jagged { lists, .. } | ArrayKind::Strings { lists, .. } => {
            let (count, inner) = array.lists(lists)?;
            match kind {
                IndexKind::Offsets => vec![count.saturating_add(1)],
                _ => [&[node.len], inner].concat(),
            }
        }
        _ => vec![node.len],
    })
}

pub struct Numbers {
    array: Arc<Array>,
    ix: Ix,
    kind: IndexKind,
    count: u64,
    /// Whether a failure was already logged.
    logged: Once,
}

impl Numbers {
    pub fn new(array: &Arc<Array>, ix: Ix, kind: IndexKind) -> Result<Numbers> {
        let count = shape(array, ix, kind)?.iter().product();
        Ok(Numbers { array: array.clone(), ix, kind, count, logged: Once::new() })
    }

    /// The numbers of a block; offsets end where the next block begins.
    fn block(&self, block: u64) -> Result<Vec<i64>> {
        let (array, ix) = (&*self.array, self.ix);
        match &array.valid_node(ix)?.kind {
            ArrayKind::Jagged { lists, .. } | ArrayKind::Strings { lists, .. } => self.of_lists(lists, block),
            ArrayKind::View { rows, .. } => array.rows(ix, rows, block),
            ArrayKind::Union { tags, index, contents } => {
                let members = array.members(ix, *tags, *index, contents.len(), block)?;
                Ok(members.into_iter().map(|(_, at)| at).collect())
            }
            _ => Err(Error::NotFound),
        }
    }

    fn of_lists(&self, lists: &Lists, block: u64) -> Result<Vec<i64>> {
        let number = |kind, (start, stop): (u64, u64)| match kind {
            IndexKind::Stops => stop as i64,
            IndexKind::Counts => (stop - start) as i64,
            _ => start as i64,
        };
        let mut bounds = self.array.bounds(self.ix, lists, block)?;
        if self.kind == IndexKind::Offsets && (bounds.len() as u64) < BLOCK {
            let end = match (bounds.last(), block.checked_sub(1)) {
                (Some((_, end)), _) => *end,
                (None, Some(before)) => {
                    self.array.bounds(self.ix, lists, before)?.last().map_or(0, |(_, end)| *end)
                }
                (None, None) => 0,
            };
            bounds.push((end, end));
        }
        Ok(bounds.into_iter().map(|bound| number(self.kind, bound)).collect())
    }
}

impl Computed for Numbers {
    fn known_len(&self) -> Option<u64> {
        Some(self.count.saturating_mul(8))
    }

    fn fill(&self, buf: &mut [u8], offset: u64) -> Result<()> {
        fill(buf, offset, &|block| self.block(block)).inspect_err(|error| {
            self.logged.call_once(|| log::error!("{error}; its {} give that error", self.kind.name()));
        })
    }
}

/// Fills `buf` from byte `offset` on with little-endian int64, which `block` yields [`BLOCK`] at a time.
pub fn fill(buf: &mut [u8], offset: u64, block: &dyn Fn(u64) -> Result<Vec<i64>>) -> Result<()> {
    let bytes = |numbers: Vec<i64>| numbers.into_iter().flat_map(i64::to_le_bytes).collect::<Vec<u8>>();
    from_blocks(buf, offset, 8 * BLOCK, &mut |number| block(number).map(bytes))
}

/// Each string followed by a line feed.
pub struct Lines {
    array: Arc<Array>,
    ix: Ix,
    content: Content,
    /// Byte offset of each block of strings, and the end.
    starts: Vec<u64>,
}

impl Lines {
    /// Reads the lengths of all strings once.
    pub fn new(array: &Arc<Array>, ix: Ix) -> Result<Lines> {
        let ArrayKind::Strings { lists, content, .. } = &array.valid_node(ix)?.kind else {
            return Err(Error::NotFound);
        };
        let have = array.node(content.to)?.len;
        let (count, _) = array.lists(lists)?;
        let (mut starts, mut at) = (vec![0], 0u64);
        for block in 0..count.div_ceil(BLOCK) {
            for (number, (start, stop)) in (block * BLOCK..).zip(array.bounds(ix, lists, block)?) {
                if stop > have && stop > start {
                    let problem = format!("string {number} ends at byte {stop}, but there are {have}");
                    return Err(array.damaged(ix, problem));
                }
                let longer = at.checked_add(stop - start + 1).filter(|at| *at <= i64::MAX as u64);
                at = longer
                    .ok_or_else(|| array.damaged(ix, "its strings do not fit into 63 bits together"))?;
            }
            array.keep(ix, 1)?;
            starts.push(at);
        }
        Ok(Lines { content: array.content(content.to)?, array: array.clone(), ix, starts })
    }

    /// Copies the bytes of a block from `skip` on, as far as they fit.
    fn some(&self, block: usize, skip: u64, buf: &mut [u8]) -> Result<usize> {
        let ArrayKind::Strings { lists, .. } = &self.array.node(self.ix)?.kind else {
            return Err(Error::NotFound);
        };
        let (mut before, mut filled) = (0, 0);
        for (start, stop) in self.array.bounds(self.ix, lists, block as u64)? {
            let len = stop - start;
            let from = skip.saturating_sub(before).min(len + 1);
            before += len + 1;
            let Some(room) = buf.get_mut(filled..).filter(|room| !room.is_empty()) else { break };
            let count = (len - from.min(len)).min(room.len() as u64) as usize;
            let (text, after) = room.split_at_mut(count);
            if count > 0 {
                self.content.fill(text, start + from)?;
            }
            filled += count;
            if let (true, Some(end)) = (from <= len, after.first_mut()) {
                *end = b'\n';
                filled += 1;
            }
        }
        Ok(filled)
    }
}

impl Computed for Lines {
    fn known_len(&self) -> Option<u64> {
        Some(self.starts.last().copied().unwrap_or(0))
    }

    fn fill(&self, buf: &mut [u8], offset: u64) -> Result<()> {
        in_pieces(buf, offset, &mut |rest, at| {
            let block = self.starts.partition_point(|start| *start <= at).saturating_sub(1);
            let start = self.starts.get(block).copied().unwrap_or(0);
            self.some(block, at - start, rest)
        })
    }
}
