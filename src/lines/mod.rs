//! Rows of named cells as text: CSV and lines of JSON. One implementation for the tables of all formats; each gives
//! what its cells are ([`Cells`]). Lengths are found by the first stat, and of what is read only the rows are written
//! that have bytes of it.

mod base64;
mod csv;
mod json;
mod part;
#[cfg(test)]
mod tests;

use std::ops::Range;

use crate::Result;
use crate::array::Endian;
use crate::content::{Content, Rows, Window};
use crate::error::Place;

pub use csv::{csv, end, field, number, value};
pub use json::jsonl;
pub use part::Part;

/// So much text is made before it is handed on.
const HANDED_ON: usize = 1 << 20;

/// One value of a row.
pub enum Cell<'a> {
    Null,
    Truth(bool),
    /// As Python writes it: `-1`, `0.5`, `nan`, `-inf`.
    Number(&'a [u8]),
    /// Should be UTF-8, and may be any bytes.
    Text(&'a [u8]),
    /// Characters of four bytes, filled up with NULs.
    Unicode(&'a [u8], Endian),
    /// Lists and maps, as JSON.
    Nested(&'a [u8]),
    /// This many bytes, as text in base64.
    Bytes(u64, &'a dyn Fn() -> Result<Content>),
}

/// A table, row by row.
pub trait Cells: Send + Sync {
    fn count(&self) -> u64;

    /// Where it is, for messages.
    fn place(&self) -> Place;

    /// Bytes that a row has where it comes from, on average.
    fn stored(&self) -> u64;

    /// Bytes that all of it may be as text.
    fn most(&self) -> u64 {
        u64::MAX
    }

    /// The number of rows in a block, where rows can be skipped in constant time.
    fn rows_per_block(&self) -> Option<u64> {
        None
    }

    /// Of all columns; they need not be distinct, nor be there.
    fn names(&self) -> Vec<&str>;

    /// Hands out all cells of some rows, row by row, each with the number of its column.
    fn each(&self, rows: Range<u64>, cell: &mut dyn FnMut(usize, Cell<'_>) -> Result<()>) -> Result<()>;
}

/// How the rows of a table are written.
trait Form: Send + Sync {
    fn columns(&self) -> usize;

    /// As [`Rows::around`].
    fn around(&self) -> u64;

    /// As [`Rows::write`], of the rows of `cells`.
    fn write(&self, cells: &dyn Cells, rows: Range<u64>, text: &mut Text<'_, '_>) -> Result<()>;
}

/// A table in a form.
struct Written<C, F> {
    cells: C,
    form: F,
}

impl<C: Cells, F: Form> Rows for Written<C, F> {
    fn count(&self) -> u64 {
        if self.form.columns() == 0 { 0 } else { self.cells.count() }
    }

    fn place(&self) -> Place {
        self.cells.place()
    }

    fn stored(&self) -> u64 {
        self.cells.stored()
    }

    fn around(&self) -> u64 {
        self.form.around()
    }

    fn most(&self) -> u64 {
        self.cells.most()
    }

    fn rows_per_block(&self) -> Option<u64> {
        self.cells.rows_per_block()
    }

    fn write(&self, rows: Range<u64>, window: &mut Window<'_>) -> Result<()> {
        let mut text = Text::new(window);
        self.form.write(&self.cells, rows, &mut text)?;
        text.hand_on();
        Ok(())
    }
}

/// Text on its way into a window: small pieces are gathered.
struct Text<'t, 'w> {
    made: Vec<u8>,
    window: &'t mut Window<'w>,
}

impl<'t, 'w> Text<'t, 'w> {
    fn new(window: &'t mut Window<'w>) -> Text<'t, 'w> {
        Text { made: Vec::new(), window }
    }

    fn hand_on(&mut self) {
        self.window.put(&self.made);
        self.made.clear();
    }

    /// A row is at its end.
    fn end_row(&mut self) {
        if self.made.len() >= HANDED_ON {
            self.hand_on();
        }
    }

    fn bytes(&mut self, len: u64, content: &dyn Fn() -> Result<Content>) -> Result<()> {
        self.hand_on();
        self.window.put_with(base64::len(len), |room, from| base64::fill(room, from, len, &content()?))
    }
}
