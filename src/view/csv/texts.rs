//! An array of texts or dates, of one or two axes: RFC 4180 as of tables with texts, under the header that arrays of
//! numbers have.

use std::ops::Range;
use std::sync::Arc;

use super::array::{columns, names};
use crate::array::{AnyArray, Array, Cell, Endian, Slab, Times, to_utf8, trimmed};
use crate::content::{Content, Lines, Rows, Window};
use crate::error::Place;
use crate::lines;
use crate::{Error, Result};

/// Bytes of a row with its commas and quotes, and of the header, at most: both are made whole, and the header is kept.
pub const MAX_BYTES: u64 = 1 << 20;
/// The comma and the quotes of a cell.
const AROUND: u64 = 3;

/// How an element is written.
#[derive(Clone, Copy)]
enum Of {
    /// As the bytes that it is.
    Text,
    Unicode(Endian),
    Times(Times),
}

impl Of {
    fn array(array: &Array) -> Option<Of> {
        let record = array.record.as_deref().filter(|record| record.is_plain())?;
        if record.foreign_type().is_some() {
            return Times::of(record).filter(|_| array.dtype.element.size == 8).map(Of::Times);
        }
        match record.cell()? {
            Cell::Text(_) => Some(Of::Text),
            Cell::Unicode(_, endian) => Some(Of::Unicode(endian)),
            Cell::Number(_) | Cell::Void(_) => None,
        }
    }
}

/// Are these texts or dates, in rows that are not too long?
pub fn shows(array: &Array) -> bool {
    is_of_texts(array) && !is_too_wide(array)
}

pub fn is_of_texts(array: &Array) -> bool {
    Of::array(array).is_some()
}

/// Asked of texts and dates.
pub fn is_too_wide(array: &Array) -> bool {
    let columns = columns(array);
    let cell = u64::from(array.dtype.element.size) + AROUND + u64::from(columns.max(1).ilog10() + 1);
    columns.saturating_mul(cell) > MAX_BYTES
}

/// Of what [`shows`] is asked about.
pub fn csv(array: &Array, elements: Content, place: Place) -> Option<Content> {
    let of = Of::array(array)?;
    let columns = columns(array);
    let texts = Texts { array: array.clone(), elements, of, columns, place };
    Some(Content::Computed(Arc::new(Lines::new(names(columns), texts))))
}

struct Texts {
    array: Array,
    elements: Content,
    of: Of,
    columns: u64,
    place: Place,
}

impl Rows for Texts {
    /// What has no columns has no lines.
    fn count(&self) -> u64 {
        if self.columns == 0 { 0 } else { self.array.shape.first().copied().unwrap_or(0) }
    }

    fn place(&self) -> Place {
        self.place.clone()
    }

    fn stored(&self) -> u64 {
        self.columns * u64::from(self.array.dtype.element.size)
    }

    fn around(&self) -> u64 {
        AROUND * self.columns
    }

    fn write(&self, rows: Range<u64>, window: &mut Window<'_>) -> Result<()> {
        let (mut text, count) = (Vec::new(), rows.end - rows.start);
        let slab = match self.array.shape.len() {
            1 => Slab::block(&[rows.start], &[count]),
            _ => Slab::block(&[rows.start, 0], &[count, self.columns]),
        };
        let part = AnyArray::read(&self.array, &slab, &mut |buf, at| self.elements.fill(buf, at))?;
        let AnyArray::Opaque(items) = part else { return Err(Error::NotFound) };
        for (number, item) in (0..).zip(items.items()) {
            self.field(item, rows.start + number / self.columns, &mut text)?;
            if (number + 1) % self.columns == 0 {
                lines::end(&mut text);
            }
        }
        window.put(&text);
        Ok(())
    }
}

impl Texts {
    fn field(&self, item: &[u8], row: u64, text: &mut Vec<u8>) -> Result<()> {
        match self.of {
            Of::Text => lines::field(trimmed(item), text),
            Of::Unicode(endian) => {
                let mut item = item.to_vec();
                let problem = || format!("row {row} is not Unicode");
                let none = || Error::Unsupported { place: self.place(), problem: problem() };
                to_utf8(&mut item, endian).ok_or_else(none)?;
                lines::field(trimmed(&item), text);
            }
            Of::Times(times) => {
                let date = times.text(item).ok_or(Error::NotFound)?;
                lines::field(date.as_bytes(), text);
            }
        }
        Ok(())
    }
}
