//! All items of an array as JSON, bounded whatever length the array claims. JSON lines are generated once to learn
//! their length, and again when read; the first pass keeps only the position of an item every so often.

use std::sync::Arc;

use super::super::read::array::Array;
use super::super::read::graph::Ix;
use super::items::Values;
use crate::array::Slab;
use crate::content::Computed;
use crate::{Error, Result};

/// Bytes between two recorded positions.
const BETWEEN: u64 = 64 << 10;
/// Maximum length in bytes, ...
const MAX_LEN: u64 = 64 << 20;
/// ... or this many times the size of the container.
const MAX_RATIO: u64 = 64;
/// Minimum bytes of an item, with its separator.
const MIN_LINE_LEN: u64 = 2;
/// Maximum bytes read per byte of output allowed.
const MAX_WORK: u64 = 64;

/// The output format, and the alternative offered when there are too many items.
pub const LIST: (&str, &str) = ("JSON", ": take a part of it, as NAME[:1000]");
const LINES: (&str, &str) = ("JSON lines", "");

/// Limits the combined length of items, and the bytes read for them.
pub struct Room<'a> {
    array: &'a Array,
    ix: Ix,
    form: (&'static str, &'static str),
    most: u64,
    len: u64,
}

impl<'a> Room<'a> {
    /// For `count` items; fails if they are certain to exceed the limit.
    pub fn new(array: &'a Array, ix: Ix, form: (&'static str, &'static str), count: u64) -> Result<Room<'a>> {
        let most = array.store().len().saturating_mul(MAX_RATIO).max(MAX_LEN);
        let room = Room { array, ix, form, most, len: 0 };
        if count.saturating_mul(MIN_LINE_LEN) > most { Err(room.too_long()) } else { Ok(room) }
    }

    /// Charges an item of `len` bytes; `work` is the total so far.
    pub fn take(&mut self, len: usize, work: u64) -> Result<()> {
        self.len += len as u64;
        if self.len > self.most {
            return Err(self.too_long());
        }
        let most_work = self.most.saturating_mul(MAX_WORK);
        if work > most_work {
            return Err(self.limit(format!("takes reading more than {most_work} bytes")));
        }
        Ok(())
    }

    fn too_long(&self) -> Error {
        self.limit(format!("takes more than {} bytes", self.most))
    }

    fn limit(&self, problem: String) -> Error {
        let (form, instead) = self.form;
        let problem = format!("as {form} it {problem}, which is the limit{instead}");
        Error::Unsupported { place: self.array.place(self.ix), problem }
    }
}

pub struct JsonLines {
    array: Arc<Array>,
    /// The selected items, along one axis.
    items: Slab,
    /// Line number and byte offset.
    places: Vec<(u64, u64)>,
    /// Bytes of the items before the first damaged one.
    len: u64,
    /// The error of reading that item; it counts as one byte.
    pub fault: Option<Error>,
}

impl JsonLines {
    /// For all items, or some.
    pub fn new(array: &Arc<Array>, items: Option<Slab>) -> Result<JsonLines> {
        let root = array.graph.root.to;
        // A damaged array has no reliable number of items.
        let count = array.valid_node(root)?.len;
        let items = items.unwrap_or_else(|| Slab::whole(&[count]));
        let count = items.len();
        let mut room = Room::new(array, root, LINES, count)?;
        let mut lines = JsonLines { array: array.clone(), items, places: vec![(0, 0)], len: 0, fault: None };
        let mut values = Values::new(array);
        let mut line = Vec::new();
        for number in 0..count {
            if lines.places.last().is_none_or(|(_, at)| lines.len - at >= BETWEEN) {
                array.keep(root, 2)?;
                lines.places.push((number, lines.len));
            }
            match lines.line(&mut values, number, &mut line) {
                Err(fault @ Error::Damaged { .. }) if lines.len > 0 => {
                    lines.fault = Some(fault);
                    break;
                }
                made => made?,
            }
            lines.len += line.len() as u64;
            room.take(line.len(), values.work)?;
        }
        Ok(lines)
    }

    fn line(&self, values: &mut Values<'_>, number: u64, line: &mut Vec<u8>) -> Result<()> {
        line.clear();
        values.item(self.array.graph.root.to, self.items.position(number), line)?;
        line.push(b'\n');
        Ok(())
    }
}

impl Computed for JsonLines {
    fn known_len(&self) -> Option<u64> {
        Some(self.len + u64::from(self.fault.is_some()))
    }

    fn valid_len(&self) -> Result<u64> {
        Ok(self.len)
    }

    fn fill(&self, buf: &mut [u8], offset: u64) -> Result<()> {
        let place = self.places.partition_point(|(_, at)| *at <= offset).saturating_sub(1);
        let (first, mut at) = self.places.get(place).copied().unwrap_or((0, 0));
        let mut values = Values::new(&self.array);
        let (mut rest, mut line) = (buf, Vec::new());
        for number in first..self.items.len() {
            if rest.is_empty() {
                return Ok(());
            }
            self.line(&mut values, number, &mut line)?;
            let skip = offset.saturating_sub(at).min(line.len() as u64) as usize;
            at += line.len() as u64;
            let from = line.get(skip..).unwrap_or_default();
            let count = from.len().min(rest.len());
            let (filled, after) = rest.split_at_mut(count);
            filled.copy_from_slice(from.get(..count).unwrap_or_default());
            rest = after;
        }
        if rest.is_empty() { Ok(()) } else { Err(Error::Other("read past the end".into())) }
    }
}
