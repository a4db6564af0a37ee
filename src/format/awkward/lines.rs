//! An array as JSON lines. Its items are made once to know how long they are, and again where they are read; of the
//! first pass only the place of an item every so often is kept.

use std::ops::Range;
use std::sync::Arc;

use super::array::Array;
use super::values::Values;
use crate::content::{Bytes, Computed};
use crate::{Error, Result};

/// Bytes between two places that are kept.
const BETWEEN: u64 = 64 << 10;
/// So many bytes it may have, ...
const MOST: u64 = 64 << 20;
/// ... or so many times as many as the container.
const MOST_TIMES: u64 = 64;
/// A line has so many.
const SHORTEST: u64 = 2;
/// For each of them so many may be read.
const MOST_WORK: u64 = 64;

pub struct JsonLines {
    array: Arc<Array>,
    /// Item, and where its line begins.
    places: Vec<(u64, u64)>,
    len: u64,
}

impl JsonLines {
    pub fn new(array: &Arc<Array>) -> Result<JsonLines> {
        let most = array.store().len().saturating_mul(MOST_TIMES).max(MOST);
        let root = array.graph.root.to;
        let limit = |problem| Err(Error::Unsupported { place: array.place(root), problem });
        // Of what is damaged it is not known how many items there are.
        let count = array.sound(root)?.len;
        let too_long = format!("as JSON lines it takes more than {most} bytes, which is the limit");
        if count.saturating_mul(SHORTEST) > most {
            return limit(too_long);
        }
        let mut lines = JsonLines { array: array.clone(), places: vec![(0, 0)], len: 0 };
        let mut values = Values::new(array);
        let mut line = Vec::new();
        for item in 0..count {
            if lines.places.last().is_none_or(|(_, at)| lines.len - at >= BETWEEN) {
                array.keep(root, 2)?;
                lines.places.push((item, lines.len));
            }
            lines.line(&mut values, item, &mut line)?;
            lines.len += line.len() as u64;
            if lines.len > most {
                return limit(too_long);
            }
            let most_work = most.saturating_mul(MOST_WORK);
            if values.work > most_work {
                let problem = "as JSON lines it takes reading more than";
                return limit(format!("{problem} {most_work} bytes, which is the limit"));
            }
        }
        Ok(lines)
    }

    fn count(&self) -> u64 {
        self.array.node(self.array.graph.root.to).map_or(0, |node| node.len)
    }

    fn line(&self, values: &mut Values<'_>, item: u64, line: &mut Vec<u8>) -> Result<()> {
        line.clear();
        values.item(self.array.graph.root.to, item, line)?;
        line.push(b'\n');
        Ok(())
    }
}

impl Computed for JsonLines {
    fn known_len(&self) -> Option<u64> {
        Some(self.len)
    }

    fn fill(&self, buf: &mut [u8], offset: u64) -> Result<()> {
        let place = self.places.partition_point(|(_, at)| *at <= offset).saturating_sub(1);
        let (first, mut at) = self.places.get(place).copied().unwrap_or((0, 0));
        let mut values = Values::new(&self.array);
        let (mut rest, mut line) = (buf, Vec::new());
        for item in first..self.count() {
            if rest.is_empty() {
                return Ok(());
            }
            self.line(&mut values, item, &mut line)?;
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

    fn read_at_once(&self, _: Range<u64>) -> Result<Option<Bytes>> {
        Ok(None)
    }
}
