//! An array of one or two axes: a line for each position on the first axis, below the numbers of the columns. The
//! first one is `#0`: `numpy.loadtxt` takes the line for a comment, others for names.
//!
//! ```text
//! #0,1
//! 0.5,-1.25
//! ```

use std::ops::Range;
use std::sync::Arc;

use super::padded::{self, PLAIN_ROWS, Padding, Rows, Style};
use crate::array::text::Texts;
use crate::array::{self, AnyArray, Array, Endian, Order, Slab};
use crate::content::{self, Content, Lines, Window};
use crate::error::Place;
use crate::lines;
use crate::view::slots::{self, Slots};
use crate::{Error, Result};

/// Columns whose names are written at once.
pub const MAX_NAMES: u64 = 1 << 16;

pub fn columns(array: &Array) -> u64 {
    array.shape.get(1).copied().unwrap_or(1)
}

/// How many elements it has; None if 64 bits cannot tell.
pub fn count(array: &Array) -> Option<u64> {
    array.shape.iter().try_fold(1u64, |product, size| product.checked_mul(*size))
}

/// The line with the columns' numbers.
pub fn names(columns: u64) -> Vec<u8> {
    let mut line = Vec::new();
    for column in 0..columns {
        let mark = if column == 0 { "#" } else { "" };
        lines::field(format!("{mark}{column}").as_bytes(), &mut line);
    }
    lines::end(&mut line);
    line
}

/// Numbers as short as they are, of at most [`MAX_NAMES`] columns. Their length is found by writing them.
pub fn plain(array: &Array, elements: Content, place: Place) -> Option<Content> {
    let cells = Cells::of(array, elements, place)?;
    Some(Content::Computed(Arc::new(Lines::new(names(cells.columns), cells))))
}

/// Numbers whose length follows from their type; None if it is longer than files can be.
pub fn padded(array: &Array, elements: Content) -> Option<Content> {
    let cells = Cells::of(array, elements, Place::default())?;
    let (size, count, columns) = (cells.style.width as u64 + 1, cells.count, cells.columns);
    let plain = if cells.style.padding == Padding::Spaces { columns.saturating_mul(PLAIN_ROWS) } else { 0 };
    padded::content(header(columns)?, size, count, plain, cells)
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
    place: Place,
    texts: Texts,
    style: Style,
    columns: u64,
    count: u64,
}

/// Each cell is a row, as rows can be of any length.
impl Rows for Cells {
    fn each(&self, cells: Range<u64>, cell: &mut impl FnMut(&[u8], Style, u8)) -> Result<()> {
        let mut column = cells.start % self.columns.max(1);
        let items = self.items(cells)?;
        self.texts.each(&items, &mut |text| {
            column = if column + 1 == self.columns { 0 } else { column + 1 };
            cell(lines::number(text), self.style, if column == 0 { b'\n' } else { b',' });
        });
        Ok(())
    }
}

impl content::Rows for Cells {
    fn count(&self) -> u64 {
        self.count
    }

    fn place(&self) -> Place {
        self.place.clone()
    }

    fn stored(&self) -> u64 {
        self.texts.size as u64
    }

    fn around(&self) -> u64 {
        1
    }

    fn write(&self, cells: Range<u64>, window: &mut Window<'_>) -> Result<()> {
        let mut line = Vec::new();
        self.each(cells, &mut |text, _, after| {
            line.extend_from_slice(text);
            line.push(after);
        })?;
        window.put(&line);
        Ok(())
    }
}

impl Cells {
    /// None if the elements are not numbers, or more than 64 bits can count.
    fn of(array: &Array, elements: Content, place: Place) -> Option<Cells> {
        let element = array.dtype.element;
        let texts = Texts::of(element)?;
        let style = Style { width: texts.width, padding: Padding::of(element) };
        let columns = columns(array);
        let count = count(array)?;
        Some(Cells { array: array.clone(), elements, place, texts, style, columns, count })
    }

    /// Elements in C order, in the machine's byte order.
    fn items(&self, cells: Range<u64>) -> Result<Vec<u8>> {
        if self.array.order == Order::F && self.array.shape.len() == 2 {
            return self.turned(cells);
        }
        let size = self.texts.size as u64;
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
        let mut items = Vec::with_capacity(part.len() * self.texts.size);
        part.write(Endian::NATIVE, &mut items).map_err(|error| Error::Other(error.to_string()))?;
        if !in_one_row {
            items.drain(..column as usize * self.texts.size);
        }
        items.truncate(count as usize * self.texts.size);
        Ok(items)
    }
}
