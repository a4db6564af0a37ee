//! Lists anywhere in their content, rewritten contiguously for formats that only have offsets: the arrays here locate
//! lists by starts and stops. Nested lists are followed down, so that items in no list are left out on every level.
//!
//! Invariant: at most [`MAX_ITEMS`] items are picked, or a fixed multiple of the container's size, as all lists may be
//! the same.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;

use super::super::views::computed;
use super::array::{Array, BLOCK};
use super::graph::{ArrayKind, Ix, Lists};
use crate::content::{Computed, Content};
use crate::{Error, Result};

const MAX_ITEMS: u64 = 64 << 20;
const MAX_RATIO: u64 = 64;

/// Which lists: those of a part, or only those that are items of picked outer lists.
pub struct Pick {
    ix: Ix,
    outer: Option<Arc<Pick>>,
    made: OnceLock<Arc<Picked>>,
}

impl Pick {
    pub fn new(ix: Ix, outer: Option<Arc<Pick>>) -> Arc<Pick> {
        Arc::new(Pick { ix, outer, made: OnceLock::new() })
    }

    /// Computes the lengths of all lists, once.
    pub fn picked(&self, array: &Arc<Array>) -> Result<Arc<Picked>> {
        if let Some(made) = self.made.get() {
            return Ok(made.clone());
        }
        let outer = self.outer.as_ref().map(|outer| outer.picked(array)).transpose()?;
        let made = Arc::new(Picked::new(array, self.ix, outer)?);
        Ok(self.made.get_or_init(|| made).clone())
    }
}

/// The items of all lists of a part, in the order of the lists.
pub struct Picked {
    array: Arc<Array>,
    ix: Ix,
    /// For lists nested in others: the picked outer lists.
    outer: Option<Arc<Picked>>,
    lists: Lists,
    /// The number of lists.
    count: u64,
    /// The number of items before each block of lists, and the total.
    starts: Vec<u64>,
    /// The last block asked for. Two blocks of inner lists can meet in it, and computing it twice on each level would
    /// be exponential.
    last: Mutex<Option<(u64, Bounds)>>,
}

/// Where the lists of a block begin and end.
type Bounds = Arc<[(u64, u64)]>;

impl Picked {
    /// Reads the lengths of all lists once.
    fn new(array: &Arc<Array>, ix: Ix, outer: Option<Arc<Picked>>) -> Result<Picked> {
        let (ArrayKind::Jagged { lists, content } | ArrayKind::Strings { lists, content, .. }) =
            &array.valid_node(ix)?.kind
        else {
            return Err(Error::NotFound);
        };
        lists.edges().iter().try_for_each(|edge| array.verify(edge.to))?;
        let (own, _) = array.lists(lists)?;
        let count = outer.as_ref().map_or(own, |outer| outer.items());
        let (array, lists, starts) = (array.clone(), *lists, vec![0]);
        let last = Mutex::default();
        let mut picked = Picked { array, ix, outer, lists, count, starts, last };
        picked.measure(content.to)?;
        Ok(picked)
    }

    fn measure(&mut self, content: Ix) -> Result<()> {
        let have = self.array.valid_node(content)?.len;
        let most = self.array.store().len().saturating_mul(MAX_RATIO).max(MAX_ITEMS);
        let mut at = 0u64;
        for block in 0..self.count.div_ceil(BLOCK) {
            for (number, (start, stop)) in (block * BLOCK..).zip(self.bounds(block)?.iter().copied()) {
                if stop > have && stop > start {
                    let problem = format!("list {number} ends at {stop}, but its content has {have} items");
                    return Err(self.array.damaged(self.ix, problem));
                }
                at = at.saturating_add(stop - start);
                if at > most {
                    let problem =
                        format!("its lists have more than {most} items together, which is the limit");
                    return Err(Error::Unsupported { place: self.array.place(self.ix), problem });
                }
            }
            self.array.keep(self.ix, 1)?;
            self.starts.push(at);
        }
        Ok(())
    }

    /// How many items are picked.
    pub fn items(&self) -> u64 {
        self.starts.last().copied().unwrap_or(0)
    }

    /// One more than the number of lists.
    pub fn offsets(&self) -> u64 {
        self.count.saturating_add(1)
    }

    /// Where the lists of a block begin and end in the whole content.
    fn bounds(&self, block: u64) -> Result<Bounds> {
        let last = || self.last.lock();
        if let Some((_, bounds)) = last().as_ref().filter(|(last, _)| *last == block) {
            return Ok(bounds.clone());
        }
        let found: Bounds = self.found(block)?.into();
        *last() = Some((block, found.clone()));
        Ok(found)
    }

    fn found(&self, block: u64) -> Result<Vec<(u64, u64)>> {
        let Some(outer) = &self.outer else { return self.array.bounds(self.ix, &self.lists, block) };
        let lists = block * BLOCK..self.count.min((block + 1) * BLOCK);
        let (mut bounds, mut known) = (Vec::with_capacity(BLOCK as usize), HashMap::new());
        for own in outer.ranges(lists.start, lists.end - lists.start)?.into_iter().flatten() {
            let block = match known.entry(own / BLOCK) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(place) => place.insert(self.array.bounds(self.ix, &self.lists, own / BLOCK)?),
            };
            bounds.push(block.get((own % BLOCK) as usize).copied().ok_or(Error::NotFound)?);
        }
        Ok(bounds)
    }

    /// The ranges of the whole content that hold `count` items from `first` on.
    fn ranges(&self, first: u64, count: u64) -> Result<Vec<Range<u64>>> {
        let mut block = self.starts.partition_point(|start| *start <= first).saturating_sub(1);
        let mut at = self.starts.get(block).copied().unwrap_or(0);
        let end = first.saturating_add(count).min(self.items());
        let mut ranges: Vec<Range<u64>> = Vec::new();
        while at < end {
            let bounds = self.bounds(block as u64)?;
            if bounds.is_empty() {
                return Err(Error::Other("read past the end".into()));
            }
            for (start, stop) in bounds.iter() {
                let len = stop - start;
                let from = start + first.saturating_sub(at).min(len);
                let to = start + end.saturating_sub(at).min(len);
                at += len;
                match ranges.last_mut() {
                    _ if from >= to => {}
                    Some(last) if last.end == from => last.end = to,
                    _ => ranges.push(from..to),
                }
            }
            block += 1;
        }
        Ok(ranges)
    }
}

/// Where each picked list begins among the picked items, and the end of the last: little-endian int64.
pub struct Offsets(pub Arc<Picked>);

impl Offsets {
    fn block(&self, block: u64) -> Result<Vec<i64>> {
        let past = || Error::Other("read past the end".into());
        let mut sum = *self.0.starts.get(block as usize).ok_or_else(past)?;
        let mut offsets = vec![sum as i64];
        for (start, stop) in self.0.bounds(block)?.iter() {
            sum += stop - start;
            offsets.push(sum as i64);
        }
        // The last offset belongs to the next block.
        offsets.truncate(BLOCK as usize);
        Ok(offsets)
    }
}

impl Computed for Offsets {
    fn known_len(&self) -> Option<u64> {
        self.0.offsets().checked_mul(8)
    }

    fn fill(&self, buf: &mut [u8], offset: u64) -> Result<()> {
        computed::fill(buf, offset, &|block| self.block(block))
    }
}

/// The picked elements of a flat part.
pub struct Elements {
    picked: Arc<Picked>,
    content: Content,
    /// Bytes per element.
    size: u64,
}

impl Elements {
    pub fn new(picked: Arc<Picked>, flat: Ix) -> Result<Elements> {
        let content = picked.array.content(flat)?;
        let size = picked.array.node(flat)?.flat().map_or(0, |flat| flat.of.size());
        Ok(Elements { picked, content, size })
    }
}

impl Computed for Elements {
    fn known_len(&self) -> Option<u64> {
        self.picked.items().checked_mul(self.size)
    }

    fn fill(&self, buf: &mut [u8], offset: u64) -> Result<()> {
        let size = self.size.max(1);
        let (first, end) = (offset / size, (offset + buf.len() as u64).div_ceil(size));
        let (mut rest, mut skip, mut parts) = (buf, offset % size, Vec::new());
        for range in self.picked.ranges(first, end - first)? {
            let start = range.start * size + skip;
            let len = (range.end * size - start).min(rest.len() as u64) as usize;
            let (part, after) = rest.split_at_mut(len);
            parts.push((start, part));
            (rest, skip) = (after, 0);
        }
        if !rest.is_empty() {
            return Err(Error::Other("read past the end".into()));
        }
        // In storage order, as compressed data is decoded front to back.
        parts.sort_unstable_by_key(|(start, _)| *start);
        parts.into_iter().try_for_each(|(start, part)| self.content.fill(part, start))
    }
}
