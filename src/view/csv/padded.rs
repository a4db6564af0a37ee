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
        let (size, len) = ((self.group * self.size) as usize, slots.len());
        let (mut groups, mut written) = (slots.chunks_exact_mut(size.max(1)), 0);
        let mut group = Group::default();
        self.rows.each(rows, &mut |cell, style, after| {
            if group.is_full() {
                group.begin(groups.next().unwrap_or_default());
            }
            written += group.push(cell, style, after, group.at < self.plain as usize);
            if group.is_full() {
                group.share();
            }
        })?;
        if written != len || !group.is_full() {
            let problem = format!("rows from {start} on take {written} bytes as CSV, not {len}");
            return Err(Error::Other(format!("{problem}: this is a bug, please report it")));
        }
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
struct Group<'a> {
    slot: &'a mut [u8],
    /// Where the next cell begins.
    at: usize,
    cells: Vec<PaddedCell>,
    /// Does one of them leave its padding to others?
    has_spare: bool,
}

struct PaddedCell {
    /// Bytes that it takes before the padding of others is spread.
    width: usize,
    /// Bytes of its text, with the padding that it has by itself.
    len: usize,
    padding: Padding,
}

impl<'a> Group<'a> {
    fn begin(&mut self, slot: &'a mut [u8]) {
        self.cells.clear();
        (self.slot, self.at, self.has_spare) = (slot, 0, false);
    }

    fn is_full(&self) -> bool {
        self.at >= self.slot.len()
    }

    /// Writes a cell, padded, and the byte `after` it. Returns the number of bytes.
    fn push(&mut self, text: &[u8], style: Style, after: u8, is_plain: bool) -> usize {
        let padding = match style.padding {
            Padding::Zeros if text == b"NaN" => Padding::Elsewhere,
            Padding::Spaces if is_plain => Padding::Elsewhere,
            padding => padding,
        };
        let width = style.width.max(text.len());
        let end = self.at + width;
        let Some((last, cell)) = self.slot.get_mut(self.at..=end).and_then(<[u8]>::split_last_mut) else {
            // The caller sees by the number of bytes that it does not fit.
            self.at = self.slot.len();
            return width + 1;
        };
        *last = after;
        put(text, padding, cell);
        let is_spare = padding == Padding::Elsewhere;
        self.has_spare |= is_spare;
        self.cells.push(PaddedCell { width, len: if is_spare { text.len() } else { width }, padding });
        self.at = end + 1;
        width + 1
    }

    /// Spreads the padding of cells that have none over those that can take it. Where there are none, all have spaces
    /// in front.
    fn share(&mut self) {
        if !self.has_spare {
            return;
        }
        let takes = |cell: &&PaddedCell| cell.padding != Padding::Elsewhere;
        let takers = self.cells.iter().filter(takes).count();
        let spare: usize = self.cells.iter().map(|cell| cell.width - cell.len).sum();
        let cells = self.slot.to_vec();
        let (mut cells, mut out, mut number) = (&*cells, &mut *self.slot, 0);
        for cell in &self.cells {
            let (from, rest) = cells.split_at(cell.width + 1);
            let len = match cell.padding {
                Padding::Elsewhere if takers == 0 => cell.width,
                Padding::Elsewhere => cell.len,
                _ => {
                    number += 1;
                    cell.width + spare / takers + usize::from(number <= spare % takers)
                }
            };
            let (to, space) = std::mem::take(&mut out).split_at_mut(len + 1);
            let padding = if takers == 0 { Padding::Spaces } else { cell.padding };
            put(from.get(..cell.len).unwrap_or_default(), padding, to.get_mut(..len).unwrap_or_default());
            if let (Some(to), Some(after)) = (to.last_mut(), from.last()) {
                *to = *after;
            }
            (cells, out) = (rest, space);
        }
    }
}

/// Bytes of the longest exponent, `e-308`.
const MAX_EXPONENT: usize = 5;

/// Fills `cell`, which is as long as `text` or longer.
fn put(text: &[u8], padding: Padding, cell: &mut [u8]) {
    let Some(pad) = cell.len().checked_sub(text.len()) else { return };
    if padding == Padding::Spaces {
        let (spaces, to) = cell.split_at_mut(pad);
        spaces.fill(b' ');
        return to.copy_from_slice(text);
    }
    if padding == Padding::Elsewhere || pad == 0 {
        return cell.split_at_mut(text.len()).0.copy_from_slice(text);
    }
    let last = text.len().saturating_sub(MAX_EXPONENT);
    let digits = text.iter().skip(last).position(|byte| *byte == b'e').map_or(text.len(), |at| last + at);
    let (digits, exponent) = text.split_at(digits);
    let (to, rest) = cell.split_at_mut(digits.len());
    let (zeros, end) = rest.split_at_mut(pad);
    to.copy_from_slice(digits);
    zeros.fill(b'0');
    // Floats have a point or an exponent, and one without a point is so short that there is space for one.
    if let (Some(first), false) = (zeros.first_mut(), exponent.is_empty() || digits.contains(&b'.')) {
        *first = b'.';
    }
    end.copy_from_slice(exponent);
}
