//! An array of one or two axes: a line for each position on the first axis, below the numbers of the columns. The
//! first one is `#0`: `numpy.loadtxt` takes the line for a comment, others for names.
//!
//! ```text
//! #0,1
//! 0.500000,-1.25000
//! ```

use std::ops::Range;

use super::filled::{self, Group, Rows, Style};
use crate::array::{self, AnyArray, Array, Endian, Order, Slab};
use crate::content::{Content, joined};
use crate::view::slots::{self, Slots};
use crate::{Error, Result};

/// None if it is longer than files can be, or the elements are no numbers.
pub fn csv(array: &Array, elements: Content) -> Option<Content> {
    let style = Style::of(array.dtype.element)?;
    let columns = array.shape.get(1).copied().unwrap_or(1);
    let count = array.shape.iter().try_fold(1u64, |product, size| product.checked_mul(*size));
    let cells = Cells { array: array.clone(), elements, style, columns };
    let cells = filled::content(style.texts.width as u64 + 1, if columns == 0 { 0 } else { count? }, cells)?;
    let mut parts = header(columns)?;
    parts.extend(cells);
    let len = parts.iter().try_fold(0u64, |len, part| len.checked_add(part.known_len()?))?;
    i64::try_from(len).ok()?;
    Some(joined(parts))
}

/// The columns' numbers: a part for all that have as many digits.
fn header(columns: u64) -> Option<Vec<Content>> {
    let mut parts = Vec::new();
    if columns > 0 {
        let first = if columns == 1 { &b"#0\n"[..] } else { b"#0," };
        parts.push(Content::Inline(first.into()));
    }
    let mut first = 1;
    for digits in 1.. {
        let end = 10u64.checked_pow(digits).unwrap_or(u64::MAX).min(columns);
        if first >= end {
            break;
        }
        parts.push(slots::content(u64::from(digits) + 1, end - first, Names { first, columns })?);
        first = end;
    }
    Some(parts)
}

struct Names {
    first: u64,
    columns: u64,
}

impl Slots for Names {
    fn make(&self, slots: &mut [u8], first: u64) -> Result<()> {
        let mut digits = itoa::Buffer::new();
        let size = self.first.ilog10() as usize + 2;
        for (column, slot) in (self.first + first..).zip(slots.chunks_exact_mut(size)) {
            let end = if column + 1 == self.columns { b'\n' } else { b',' };
            let name = digits.format(column).bytes().chain([end]);
            slot.iter_mut().zip(name).for_each(|(to, from)| *to = from);
        }
        Ok(())
    }
}

struct Cells {
    array: Array,
    elements: Content,
    style: Style,
    columns: u64,
}

/// Each cell is a row, as rows can be of any length.
impl Rows for Cells {
    fn write(&self, cells: Range<u64>, group: usize, out: &mut Vec<u8>) -> Result<()> {
        let mut column = cells.start % self.columns.max(1);
        let items = self.items(cells)?;
        let mut texts = Group::default();
        for items in items.chunks(self.style.texts.size.max(1) * group.max(1)) {
            self.style.texts.each(items, &mut |text| texts.push(text, &self.style));
            let ends = || {
                column = if column + 1 == self.columns { 0 } else { column + 1 };
                if column == 0 { b'\n' } else { b',' }
            };
            texts.write(1, ends, out);
        }
        Ok(())
    }
}

impl Cells {
    /// Elements in C order, in the machine's byte order.
    fn items(&self, cells: Range<u64>) -> Result<Vec<u8>> {
        if self.array.order == Order::F && self.array.shape.len() == 2 {
            return self.turned(cells);
        }
        let size = self.style.texts.size as u64;
        let mut items = vec![0; ((cells.end - cells.start) * size) as usize];
        self.elements.fill(&mut items, cells.start * size)?;
        array::to_native(self.array.dtype, &mut items);
        Ok(items)
    }

    /// Elements of an array that has column after column: part of a row, or of all rows that `cells` are in.
    fn turned(&self, cells: Range<u64>) -> Result<Vec<u8>> {
        let (columns, count) = (self.columns, cells.end - cells.start);
        let (row, column) = (cells.start / columns, cells.start % columns);
        let next_row = cells.start - column + columns;
        // Of long rows no more is read than is asked for.
        if count <= columns && next_row < cells.end {
            return Ok([self.turned(cells.start..next_row)?, self.turned(next_row..cells.end)?].concat());
        }
        let in_one_row = column + count <= columns;
        let slab = match in_one_row {
            true => Slab::block(&[row, column], &[1, count]),
            false => Slab::block(&[row, 0], &[(column + count).div_ceil(columns), columns]),
        };
        let part = AnyArray::read(&self.array, &slab, &mut |buf, at| self.elements.fill(buf, at))?;
        let mut items = Vec::with_capacity(part.len() * self.style.texts.size);
        part.write(Endian::NATIVE, &mut items).map_err(|error| Error::Other(error.to_string()))?;
        if !in_one_row {
            items.drain(..column as usize * self.style.texts.size);
        }
        items.truncate(count as usize * self.style.texts.size);
        Ok(items)
    }
}
