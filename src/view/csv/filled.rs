//! Rows of numbers, so many bytes long as their types tell, and yet without spaces around them: what cells leave of their
//! widths is filled up with zeros that change no value. A float has them behind its last digit, for itself and for
//! the other cells of its row, or of rows near it that have no float. Where none is near, a whole number has them in
//! front, the last one of its row. Only where there is neither (NaN next to NaN, complex numbers) are there spaces in front.
//!
//! A group of three rows of a float and an integer, 11 and 4 bytes wide: the length is that of three rows, 3 * (11 + 1 + 4 + 1).
//!
//! ```text
//! 1.50000000000,17
//! nan,255
//! 0.25000000000000000000,3
//! ```

use std::ops::Range;
use std::sync::Arc;

use crate::array::text::Texts;
use crate::array::{Element, Kind};
use crate::content::Content;
use crate::view::slots::{self, Slots};
use crate::{Error, Result};

/// Rows of a group, and about how many bytes it has at most.
const MAX_ROWS: u64 = 64;
const MAX_BYTES: u64 = 64 << 10;

/// Rows that can be written group by group.
pub trait Rows: Send + Sync {
    /// Appends groups of `group` rows each.
    fn write(&self, rows: Range<u64>, group: usize, out: &mut Vec<u8>) -> Result<()>;
}

/// `count` rows that are `size` bytes long on average; None if that is longer than files can be.
pub fn content(size: u64, count: u64, rows: impl Rows + 'static) -> Option<[Content; 2]> {
    let group = (MAX_BYTES / size.max(1)).clamp(1, MAX_ROWS);
    let (groups, rest) = (count / group, count % group);
    let rows = Arc::new(rows);
    let part = |group, first| Part { rows: rows.clone(), size, group, first };
    let whole = slots::content(size.checked_mul(group)?, groups, part(group, 0))?;
    let rest = slots::content(size.checked_mul(rest)?, 1, part(rest, groups * group))?;
    Some([whole, rest])
}

/// Groups of as many rows, from row `first` on.
struct Part<R> {
    rows: Arc<R>,
    size: u64,
    group: u64,
    first: u64,
}

impl<R: Rows> Slots for Part<R> {
    fn make(&self, slots: &mut [u8], first: u64) -> Result<()> {
        let start = self.first + first * self.group;
        let rows = start..start + slots.len() as u64 / self.size.max(1);
        let mut text = Vec::with_capacity(slots.len());
        self.rows.write(rows, self.group as usize, &mut text)?;
        if text.len() != slots.len() {
            let problem =
                format!("rows from {start} on take {} bytes as CSV, not {}", text.len(), slots.len());
            return Err(Error::Other(format!("{problem}: this is a bug, please report it")));
        }
        slots.copy_from_slice(&text);
        Ok(())
    }
}

/// How a column is written.
#[derive(Clone, Copy)]
pub struct Style {
    pub texts: Texts,
    pub filling: Filling,
}

#[derive(Clone, Copy, PartialEq)]
pub enum Filling {
    /// Zeros behind the last digit.
    Float,
    /// Zeros in front of the first digit, for itself and others.
    Whole,
    /// `True` and `False`, and complex numbers.
    None,
}

impl Style {
    /// None for what is no number.
    pub fn of(element: Element) -> Option<Style> {
        let filling = match element.kind {
            Kind::Float | Kind::Bfloat => Filling::Float,
            Kind::Int | Kind::Uint | Kind::Bool => Filling::Whole,
            _ => Filling::None,
        };
        Some(Style { texts: Texts::of(element)?, filling })
    }
}

/// A group of rows: cells row by row, as text.
#[derive(Default)]
pub struct Group {
    text: Vec<u8>,
    cells: Vec<Cell>,
}

struct Cell {
    /// Where its text ends.
    end: usize,
    filling: Filling,
    /// Bytes that are to be filled up here.
    fill: usize,
}

impl Group {
    pub fn push(&mut self, text: &[u8], style: &Style) {
        let start = self.text.len();
        let mut filling = style.filling;
        // Larger than any float: every reader makes it infinite, also those that do not know the word.
        match (filling, text) {
            (Filling::Float, b"inf") => self.text.extend_from_slice(b"1.0e+999"),
            (Filling::Float, b"-inf") => self.text.extend_from_slice(b"-1.0e+999"),
            (Filling::Float, b"nan") => {
                filling = Filling::None;
                self.text.extend_from_slice(text);
            }
            _ => self.text.extend_from_slice(text),
        }
        let end = self.text.len();
        let fill = style.texts.width.saturating_sub(end - start);
        self.cells.push(Cell { end, filling, fill });
    }

    /// Appends its rows, of `columns` cells each, and leaves the group empty. `ends` says what byte follows each cell.
    pub fn write(&mut self, columns: usize, mut ends: impl FnMut() -> u8, out: &mut Vec<u8>) {
        self.share(columns.max(1));
        let mut start = 0;
        for cell in &self.cells {
            put(self.text.get(start..cell.end).unwrap_or_default(), cell, out);
            out.push(ends());
            start = cell.end;
        }
        self.text.clear();
        self.cells.clear();
    }

    /// Moves what is to be filled up to where it can be.
    fn share(&mut self, columns: usize) {
        if self.cells.iter().all(|cell| cell.filling != Filling::Float) {
            self.cells.chunks_mut(columns).for_each(into_last_whole);
            return;
        }
        let (mut left, mut last_float) = (0, None);
        for (number, row) in self.cells.chunks_mut(columns).enumerate() {
            let float = row.iter().rposition(|cell| cell.filling == Filling::Float);
            let others = row.iter_mut().filter(|cell| cell.filling != Filling::Float);
            left += others.map(|cell| std::mem::take(&mut cell.fill)).sum::<usize>();
            if let Some(cell) = float.and_then(|at| row.get_mut(at)) {
                cell.fill += std::mem::take(&mut left);
                last_float = float.map(|at| number * columns + at);
            }
        }
        if let Some(cell) = last_float.and_then(|at| self.cells.get_mut(at)) {
            cell.fill += left;
        }
    }
}

fn into_last_whole(row: &mut [Cell]) {
    let Some(last) = row.iter().rposition(|cell| cell.filling == Filling::Whole) else { return };
    let all = row.iter_mut().map(|cell| std::mem::take(&mut cell.fill)).sum();
    if let Some(cell) = row.get_mut(last) {
        cell.fill = all;
    }
}

/// A cell, filled up.
fn put(text: &[u8], cell: &Cell, out: &mut Vec<u8>) {
    let zeros = |count: usize| std::iter::repeat_n(b'0', count);
    let sign = usize::from(text.first() == Some(&b'-'));
    match cell.filling {
        _ if cell.fill == 0 => out.extend_from_slice(text),
        Filling::Float => {
            let digits = text.iter().position(|byte| *byte == b'e').unwrap_or(text.len());
            let (digits, exponent) = text.split_at(digits);
            out.extend_from_slice(digits);
            // Some readers want a digit behind a point; what has none is short enough for both.
            let point = usize::from(!digits.contains(&b'.'));
            out.extend(std::iter::repeat_n(b'.', point));
            out.extend(zeros(cell.fill - point));
            out.extend_from_slice(exponent);
        }
        Filling::Whole => {
            let (sign, digits) = text.split_at(sign);
            out.extend_from_slice(sign);
            out.extend(zeros(cell.fill));
            out.extend_from_slice(digits);
        }
        Filling::None => {
            out.extend(std::iter::repeat_n(b' ', cell.fill));
            out.extend_from_slice(text);
        }
    }
}
