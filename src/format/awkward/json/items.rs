//! Items of an array as JSON, matching the reference's `tolist()`: lists, objects for rows, null for missing values.
//! What JSON cannot express is an object with one key that names its type: `__bytes_hex__`, `__complex__` (real and
//! imaginary part), `__tuple__` (a structure), `__float__` (nan, inf, -inf).
//!
//! Invariants: an item is at most [`MAX_LEN`] long, [`MAX_DEPTH`] deep, and takes at most [`HARDEST`] work, or it is
//! an error, so cycles and shared parts cannot exhaust time or memory. Parts are read through a bounded number of
//! cached blocks.

mod out;

use std::collections::HashMap;
use std::sync::Arc;

use super::super::read::array::{Array, BLOCK};
use super::super::read::check;
use super::super::read::graph::{ArrayKind, Column, Edge, Ix, Lists, Scalar};
use super::Json;
use crate::array::json::float;
use crate::{Error, Result};
use out::{Out, sequence, shaped, string, typed, written};

/// Bytes of JSON.
pub const MAX_LEN: usize = 16 << 20;
pub const MAX_DEPTH: usize = 128;
/// Maximum bytes read for one item.
pub const HARDEST: u64 = 1 << 30;
/// Cost of following an edge, even where nothing is written.
const STEP: u64 = 32;
/// Number of cached blocks: 8 KiB each for numbers and bytes, 16 KiB for bounds.
const KEPT: usize = 1024;
/// Maximum bytes of an element per byte of text: stored characters take up to four.
const MAX_EXPANSION: u64 = 4;
/// Bytes of a flat part read at a time.
const WINDOW: u64 = 8 << 10;

/// Keyed by part, and the number or offset of the block.
type Blocks<T> = HashMap<(Ix, u64), Arc<T>>;
/// Writes a list, given its number.
type Each<'e, 'a> = &'e mut dyn FnMut(&mut Values<'a>, u64, &mut Out<'_>) -> Result<()>;

pub struct Values<'a> {
    array: &'a Array,
    ints: Blocks<[i64]>,
    bounds: Blocks<[(u64, u64)]>,
    members: Blocks<[(usize, i64)]>,
    windows: Blocks<[u8]>,
    /// Bytes read so far, and the limit for this item.
    pub work: u64,
    most_work: u64,
}

/// A block from the cache, or computed and cached.
fn kept<T: ?Sized>(
    map: &mut Blocks<T>,
    work: &mut u64,
    key: (Ix, u64),
    make: impl FnOnce() -> Result<Arc<T>>,
) -> Result<Arc<T>> {
    if let Some(known) = map.get(&key) {
        return Ok(known.clone());
    }
    if map.len() >= KEPT {
        map.clear();
    }
    let made = make()?;
    *work += size_of_val(&*made) as u64;
    map.insert(key, made.clone());
    Ok(made)
}

impl<'a> Values<'a> {
    pub fn new(array: &'a Array) -> Values<'a> {
        Values {
            array,
            ints: HashMap::new(),
            bounds: HashMap::new(),
            members: HashMap::new(),
            windows: HashMap::new(),
            work: 0,
            most_work: 0,
        }
    }

    /// Appends item `k` of a part.
    pub fn item(&mut self, ix: Ix, k: u64, out: &mut Vec<u8>) -> Result<()> {
        self.most_work = self.work.saturating_add(HARDEST);
        self.write(ix, k, &mut Out::new(out, self.array, ix), 0)
    }

    fn write(&mut self, ix: Ix, k: u64, out: &mut Out<'_>, depth: usize) -> Result<()> {
        if depth == MAX_DEPTH {
            return Err(self.refused(
                ix,
                format!("an item is nested deeper than {MAX_DEPTH} levels, which is the limit"),
            ));
        }
        out.room(1)?;
        if self.work > self.most_work {
            let problem = format!("for an item more than {HARDEST} bytes must be read, which is the limit");
            return Err(self.refused(ix, problem));
        }
        let array = self.array;
        let node = array.valid_node(ix)?;
        use ArrayKind::{Flat, Jagged, Record, Strings, Table};
        if !matches!(node.kind, Flat(_) | Jagged { .. } | Strings { .. } | Table { .. } | Record { .. }) {
            self.work += STEP;
        }
        if k >= node.len {
            return Err(array.damaged(ix, format!("item {k} is needed, it has {}", node.len)));
        }
        if let Some(problem) = node.unshown() {
            return Err(self.refused(ix, problem));
        }
        match &node.kind {
            ArrayKind::Flat(flat) => {
                let size = flat.of.size();
                out.room(size / MAX_EXPANSION)?;
                let bytes = self.bytes(ix, k * size, size)?;
                typed(&flat.of, &bytes, out)
            }
            ArrayKind::Jagged { lists, content } => self.nested(k, lists, out, &mut |values, list, out| {
                let (start, stop) = values.list(ix, lists, list)?;
                values.check_end(ix, list, start, stop, content.to)?;
                sequence(start..stop, out, &mut |at, out| values.write(content.to, at, out, depth + 1))
            }),
            ArrayKind::Strings { lists, content, encoding } => {
                self.nested(k, lists, out, &mut |values, list, out| {
                    let (start, stop) = values.list(ix, lists, list)?;
                    values.check_end(ix, list, start, stop, content.to)?;
                    out.room(stop - start)?;
                    let bytes = values.bytes(content.to, start, stop - start)?;
                    string(&bytes, encoding, out)
                })
            }
            ArrayKind::Table { columns } | ArrayKind::Record { columns, .. } => {
                self.row(columns, k, out, depth)
            }
            ArrayKind::View { rows, table } => {
                let block = kept(&mut self.ints, &mut self.work, (ix, k / BLOCK), || {
                    Ok(array.rows(ix, rows, k / BLOCK)?.into())
                })?;
                let row = block.get((k % BLOCK) as usize).copied().unwrap_or(-1);
                let have = array.node(table.to)?.len;
                let row = self.place(ix, "row", k, row, have, true)?;
                self.write(table.to, row, out, depth + 1)
            }
            ArrayKind::Masked { mask, content, masked_when } => {
                let is_masked = (self.bytes(mask.to, k, 1)?.first() != Some(&0)) == *masked_when;
                self.unless(is_masked, content, k, out, depth)
            }
            ArrayKind::BitMasked { mask, content, masked_when, is_lsb } => {
                let byte = self.bytes(mask.to, k / 8, 1)?.first().copied().unwrap_or(0);
                let bit = if *is_lsb { byte >> (k % 8) } else { byte >> (7 - k % 8) };
                self.unless((bit & 1 == 1) == *masked_when, content, k, out, depth)
            }
            ArrayKind::IndexedMasked { mask, content, masked_when } => {
                let at = self.number(mask.to, k)?;
                if at == *masked_when {
                    out.null();
                    return Ok(());
                }
                let have = array.node(content.to)?.len;
                let at = self.place(ix, "index", k, at, have, false)?;
                self.write(content.to, at, out, depth + 1)
            }
            ArrayKind::Union { tags, index, contents } => {
                let make = || Ok(array.members(ix, *tags, *index, contents.len(), k / BLOCK)?.into());
                let block = kept(&mut self.members, &mut self.work, (ix, k / BLOCK), make)?;
                let (content, at) = block.get((k % BLOCK) as usize).copied().unwrap_or((0, -1));
                let content = contents.get(content).ok_or(Error::NotFound)?;
                let have = array.node(content.to)?.len;
                let at = self.place(ix, "index", k, at, have, false)?;
                self.write(content.to, at, out, depth + 1)
            }
            ArrayKind::Chunked { chunks, .. } => {
                let ends = array.chunk_ends(ix, chunks)?;
                let number = ends.partition_point(|end| *end <= k);
                let start = number.checked_sub(1).and_then(|before| ends.get(before)).copied().unwrap_or(0);
                let (edge, _) = chunks.get(number).ok_or(Error::NotFound)?;
                self.write(edge.to, k - start, out, depth + 1)
            }
            ArrayKind::Indexed { index, content } => {
                let at = self.number(index.to, k)?;
                let have = array.node(content.to)?.len;
                let at = self.place(ix, "index", k, at, have, false)?;
                self.write(content.to, at, out, depth + 1)
            }
            ArrayKind::Sparse { length, index, content, default } => {
                check::in_order(array, ix, *index, *length)?;
                match self.search(index.to, k)? {
                    Some(at) => self.write(content.to, at, out, depth + 1),
                    None => self.default(*content, default, out),
                }
            }
            ArrayKind::Object { .. } | ArrayKind::Refused { .. } => {
                Err(self.refused(ix, "it is not read".into()))
            }
        }
    }

    fn refused(&self, ix: Ix, problem: String) -> Error {
        Error::Unsupported { place: self.array.place(ix), problem }
    }

    /// The lists of item `k`, nested where the lists have inner dimensions.
    fn nested(&mut self, k: u64, lists: &Lists, out: &mut Out<'_>, each: Each<'_, 'a>) -> Result<()> {
        let (_, inner) = self.array.lists(lists)?;
        // Overflow was checked when the element type was read.
        let count = inner.iter().product::<u64>();
        shaped(inner, k * count, out, &mut |list, out| each(self, list, out))
    }

    fn list(&mut self, ix: Ix, lists: &Lists, list: u64) -> Result<(u64, u64)> {
        let make = || Ok(self.array.bounds(ix, lists, list / BLOCK)?.into());
        let block = kept(&mut self.bounds, &mut self.work, (ix, list / BLOCK), make)?;
        block.get((list % BLOCK) as usize).copied().ok_or(Error::NotFound)
    }

    fn check_end(&self, ix: Ix, list: u64, start: u64, stop: u64, content: Ix) -> Result<()> {
        let have = self.array.valid_node(content)?.len;
        if stop > have && stop > start {
            return Err(self
                .array
                .damaged(ix, format!("list {list} ends at {stop}, but its content has {have} items")));
        }
        Ok(())
    }

    /// Of columns with equal names the last one wins.
    fn row(&mut self, columns: &[Column], k: u64, out: &mut Out<'_>, depth: usize) -> Result<()> {
        out.push(b'{');
        let shown = columns.iter().filter(|column| !column.is_hidden);
        for (at, Column { name, edge, .. }) in shown.enumerate() {
            if at > 0 {
                out.push(b',');
            }
            out.text(name)?;
            out.push(b':');
            self.write(edge.to, k, out, depth + 1)?;
        }
        out.push(b'}');
        Ok(())
    }

    fn unless(
        &mut self,
        is_masked: bool,
        content: &Edge,
        k: u64,
        out: &mut Out<'_>,
        depth: usize,
    ) -> Result<()> {
        if is_masked {
            out.null();
            return Ok(());
        }
        self.write(content.to, k, out, depth + 1)
    }

    /// Checks a position in a content of `have` items; negative rows of views count from the end.
    fn place(&self, ix: Ix, what: &str, k: u64, at: i64, have: u64, from_end: bool) -> Result<u64> {
        let at_end = if from_end && at < 0 { at.checked_add_unsigned(have) } else { Some(at) };
        let place = at_end.and_then(|at| u64::try_from(at).ok()).filter(|at| *at < have);
        place.ok_or_else(|| {
            self.array.damaged(ix, format!("item {k} has the {what} {at}, but there are {have}"))
        })
    }

    fn number(&mut self, ix: Ix, k: u64) -> Result<i64> {
        let make = || Ok(self.array.ints(ix, k / BLOCK * BLOCK, BLOCK)?.into());
        let block = kept(&mut self.ints, &mut self.work, (ix, k / BLOCK), make)?;
        block.get((k % BLOCK) as usize).copied().ok_or(Error::NotFound)
    }

    /// The first position of `k` in a sorted index.
    fn search(&mut self, index: Ix, k: u64) -> Result<Option<u64>> {
        let count = self.array.node(index)?.len;
        let (mut low, mut high) = (0, count);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.number(index, middle)? < k as i64 {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        Ok((low < count && self.number(index, low)? == k as i64).then_some(low))
    }

    /// The default of a sparse array: as specified, or zero.
    fn default(&self, content: Edge, default: &Scalar, out: &mut Out<'_>) -> Result<()> {
        match default {
            Scalar::Float(value) => float(*value, out.bytes),
            Scalar::Json(Json::Null) => match self.array.valid_node(content.to)?.flat() {
                Some(flat) => {
                    out.room(flat.of.size() / MAX_EXPANSION)?;
                    typed(&flat.of, &vec![0; flat.of.size() as usize], out)?;
                }
                None => out.null(),
            },
            Scalar::Json(json) => written(json, out)?,
        }
        Ok(())
    }

    /// Bytes of a flat part.
    fn bytes(&mut self, ix: Ix, offset: u64, len: u64) -> Result<Vec<u8>> {
        let mut bytes = vec![0; len as usize];
        if len > WINDOW {
            self.work += len;
            self.array.content(ix)?.fill(&mut bytes, offset)?;
            return Ok(bytes);
        }
        let (mut filled, mut at) = (0, offset);
        while filled < bytes.len() {
            let start = at / WINDOW * WINDOW;
            let make = || {
                let content = self.array.content(ix)?;
                let end = content.known_len().unwrap_or(0).min(start + WINDOW);
                let mut window = vec![0; end.saturating_sub(start) as usize];
                content.fill(&mut window, start)?;
                Ok(window.into())
            };
            let window = kept(&mut self.windows, &mut self.work, (ix, start), make)?;
            let from = window.get((at - start) as usize..).unwrap_or_default();
            let count = from.len().min(bytes.len() - filled);
            let into = bytes.get_mut(filled..filled + count).filter(|into| !into.is_empty());
            into.ok_or(Error::NotFound)?.copy_from_slice(from.get(..count).unwrap_or_default());
            (filled, at) = (filled + count, at + count as u64);
        }
        Ok(bytes)
    }
}
