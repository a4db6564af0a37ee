//! An array of one or two axes: a line for each position on the first axis. All cells are of one width, the header's
//! too, whose first cell begins the line with `#`: `numpy.loadtxt` takes it for a comment, pandas for names.
//!
//! ```text
//! #0,              1
//!        0.5,     -1.25
//! ```

use std::ops::Range;

use super::right;
use crate::array::text::Texts;
use crate::array::{self, AnyArray, Array, Endian, Order, Slab};
use crate::content::{Content, joined};
use crate::view::slots::{self, Slots};
use crate::{Error, Result};

/// None if it is longer than files can be, or the elements are no numbers.
pub fn csv(array: &Array, elements: Content) -> Option<Content> {
    let texts = Texts::of(array.dtype.element)?;
    let columns = array.shape.get(1).copied().unwrap_or(1);
    let count = array.shape.iter().try_fold(1u64, |product, size| product.checked_mul(*size));
    let digits = columns.saturating_sub(1).max(1).ilog10() as usize + 1;
    let slot = texts.width.max(digits).max(2) as u64 + 1;
    let line = Line { columns, slot: slot as usize };
    let header = match columns {
        // numpy.loadtxt refuses spaces in front of it, and pandas takes those behind it into the name.
        1 => Content::Inline(b"#0\n"[..].into()),
        columns => slots::content(slot, columns, Names { line })?,
    };
    let cells = Cells { array: array.clone(), elements, texts, line };
    let cells = slots::content(slot, if columns == 0 { 0 } else { count? }, cells)?;
    header.known_len()?.checked_add(cells.known_len()?).filter(|len| i64::try_from(*len).is_ok())?;
    Some(joined(vec![header, cells]))
}

/// How a line is divided into cells.
#[derive(Clone, Copy)]
struct Line {
    columns: u64,
    /// Bytes of a cell with what follows it.
    slot: usize,
}

impl Line {
    fn end(&self, cell: &mut [u8], column: u64) {
        if let Some(end) = cell.last_mut() {
            *end = if column + 1 == self.columns { b'\n' } else { b',' };
        }
    }
}

/// The names of columns, which are numbers. The first is `#0,` and has its padding behind it.
struct Names {
    line: Line,
}

impl Slots for Names {
    fn make(&self, slots: &mut [u8], first: u64) -> Result<()> {
        slots.fill(b' ');
        let mut digits = itoa::Buffer::new();
        for (column, cell) in (first..).zip(slots.chunks_exact_mut(self.line.slot)) {
            if column == 0 {
                cell.iter_mut().zip(b"#0,").for_each(|(to, from)| *to = *from);
            } else {
                right(cell, digits.format(column).as_bytes());
                self.line.end(cell, column);
            }
        }
        Ok(())
    }
}

struct Cells {
    array: Array,
    elements: Content,
    texts: Texts,
    line: Line,
}

impl Slots for Cells {
    fn make(&self, slots: &mut [u8], first: u64) -> Result<()> {
        let Line { columns, slot } = self.line;
        let items = self.items(first..first + (slots.len() / slot) as u64)?;
        slots.fill(b' ');
        let mut cells = slots.chunks_exact_mut(slot);
        let mut column = first % columns;
        self.texts.each(&items, &mut |text| {
            let Some(cell) = cells.next() else { return };
            right(cell, text);
            self.line.end(cell, column);
            column = if column + 1 == columns { 0 } else { column + 1 };
        });
        Ok(())
    }
}

impl Cells {
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
        let (columns, count) = (self.line.columns, cells.end - cells.start);
        let (row, column) = (cells.start / columns, cells.start % columns);
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
