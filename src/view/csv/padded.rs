//! Rows of numbers whose length follows from their types: what a cell leaves of its width is padded so that readers
//! take it for the same number. Floats get zeros after their last digit, other numbers spaces in front. NaN and truth
//! values read as text next to a space, so other cells of their group take their padding. Whole numbers of the first
//! rows have none either: polars chooses the type of a column by them, and a space would make it text.
//!
//! A group of three rows of a float and an integer, 11 and 4 bytes wide, takes 3 * (11 + 1 + 4 + 1) bytes:
//!
//! ```text
//! 1.500000000000,  17
//! NaN,     255
//! 0.2500000000000,   3
//! ```

use std::iter::repeat_n;
use std::ops::Range;
use std::sync::Arc;

use crate::array::Element;
use crate::content::{Content, joined};
use crate::view::slots::{self, Slots};
use crate::{Error, Result};

/// Rows at the start without spaces in front of numbers: more than the 100 by which polars chooses types.
pub const PLAIN_ROWS: u64 = 128;
/// Bytes of a group. A cell can take the padding of all others, and Python's csv module reads cells of at most 128 KiB.
const GROUP: u64 = 64 << 10;
/// Bytes of the first rows and of those that take their padding, at most: they are written at once.
const MAX_FIRST: u64 = 8 << 20;

/// Rows that are written cell by cell.
pub trait Rows: Send + Sync {
    /// Hands out the cells of some rows, row by row, each with the byte that follows it.
    fn each(&self, rows: Range<u64>, cell: &mut impl FnMut(&[u8], Style, u8)) -> Result<()>;
}

/// `count` rows after a header, each `size` bytes long on average, of which the first `plain` have no spaces; None if
/// that is longer than files can be.
pub fn content(
    mut parts: Vec<Content>,
    size: u64,
    count: u64,
    plain: u64,
    rows: impl Rows + 'static,
) -> Option<Content> {
    // As many rows again take the padding of the plain ones.
    let first = plain
        .checked_mul(2)
        .filter(|first| *first <= count && first.checked_mul(size).is_some_and(|bytes| bytes <= MAX_FIRST));
    let first = first.unwrap_or(0);
    let group = (GROUP / size.max(1)).max(1);
    let (groups, rest) = ((count - first) / group, (count - first) % group);
    let rows = Arc::new(rows);
    let mut push = |start, group, groups, is_plain| {
        let slot = size.checked_mul(group)?;
        let plain = if is_plain { slot / 2 } else { 0 };
        parts.push(slots::content(slot, groups, Groups { rows: rows.clone(), start, group, size, plain })?);
        Some(())
    };
    push(0, first, 1, true)?;
    push(first, group, groups, false)?;
    push(count - rest, rest, 1, false)?;
    let len = parts.iter().try_fold(0u64, |len, part| len.checked_add(part.known_len()?))?;
    i64::try_from(len).ok()?;
    Some(joined(parts))
}

/// Groups of as many rows, from row `start` on.
struct Groups<R> {
    rows: Arc<R>,
    start: u64,
    group: u64,
    /// Bytes of a row on average.
    size: u64,
    /// Bytes at the start of a group without spaces.
    plain: u64,
}

impl<R: Rows> Slots for Groups<R> {
    fn make(&self, slots: &mut [u8], first: u64) -> Result<()> {
        let start = self.start + first * self.group;
        let rows = start..start + slots.len() as u64 / self.size.max(1);
        let slot = (self.group * self.size) as usize;
        let (mut text, mut group) = (Vec::with_capacity(slots.len()), Group::default());
        self.rows.each(rows, &mut |cell, style, after| {
            group.push(cell, style, after, group.len < self.plain as usize);
            if group.len == slot {
                group.write(&mut text);
            }
        })?;
        if text.len() != slots.len() {
            let problem =
                format!("rows from {start} on take {} bytes as CSV, not {}", text.len(), slots.len());
            return Err(Error::Other(format!("{problem}: this is a bug, please report it")));
        }
        slots.copy_from_slice(&text);
        Ok(())
    }
}

/// How the cells of a column are written.
#[derive(Clone, Copy)]
pub struct Style {
    /// Bytes of the widest.
    pub width: usize,
    pub padding: Padding,
}

#[derive(Clone, Copy, PartialEq)]
pub enum Padding {
    /// After the last digit.
    Zeros,
    /// In front.
    Spaces,
    /// Left to other cells of the group.
    Elsewhere,
}

impl Padding {
    pub fn of(element: Element) -> Padding {
        match element.kind {
            kind if kind.is_float() => Padding::Zeros,
            _ => Padding::Spaces,
        }
    }
}

/// Cells that make up for each other's lengths.
#[derive(Default)]
struct Group {
    text: Vec<u8>,
    cells: Vec<PaddedCell>,
    /// Bytes that all cells take, padded.
    len: usize,
}

struct PaddedCell {
    /// Where its text ends.
    end: usize,
    padding: Padding,
    /// Bytes to pad.
    pad: usize,
    /// The byte that follows it.
    after: u8,
}

impl Group {
    fn push(&mut self, text: &[u8], style: Style, after: u8, is_plain: bool) {
        let padding = match style.padding {
            Padding::Zeros if text == b"NaN" => Padding::Elsewhere,
            Padding::Spaces if is_plain => Padding::Elsewhere,
            padding => padding,
        };
        self.text.extend_from_slice(text);
        self.len += style.width + 1;
        let pad = style.width.saturating_sub(text.len());
        self.cells.push(PaddedCell { end: self.text.len(), padding, pad, after });
    }

    /// Appends its cells, padded, and leaves the group empty.
    fn write(&mut self, out: &mut Vec<u8>) {
        self.share();
        let mut start = 0;
        for cell in &self.cells {
            put(self.text.get(start..cell.end).unwrap_or_default(), cell, out);
            out.push(cell.after);
            start = cell.end;
        }
        *self = Group::default();
    }

    /// Spreads the padding of cells that have none over those that can take it. Where there are none, all keep their
    /// own.
    fn share(&mut self) {
        let takes = |cell: &PaddedCell| cell.padding != Padding::Elsewhere;
        let takers = self.cells.iter().filter(|cell| takes(cell)).count();
        if takers == 0 {
            return;
        }
        let others = self.cells.iter_mut().filter(|cell| !takes(cell));
        let spare: usize = others.map(|cell| std::mem::take(&mut cell.pad)).sum();
        for (number, cell) in self.cells.iter_mut().filter(|cell| takes(cell)).enumerate() {
            cell.pad += spare / takers + usize::from(number < spare % takers);
        }
    }
}

/// A cell, padded.
fn put(text: &[u8], cell: &PaddedCell, out: &mut Vec<u8>) {
    if cell.padding != Padding::Zeros || cell.pad == 0 {
        out.extend(repeat_n(b' ', cell.pad));
        return out.extend_from_slice(text);
    }
    let digits = text.iter().position(|byte| *byte == b'e').unwrap_or(text.len());
    let (digits, exponent) = text.split_at(digits);
    out.extend_from_slice(digits);
    // A number without a point is so short that there is space for one.
    let point = usize::from(!digits.contains(&b'.'));
    out.extend(repeat_n(b'.', point));
    out.extend(repeat_n(b'0', cell.pad - point));
    out.extend_from_slice(exponent);
}
