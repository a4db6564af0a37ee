//! Writes rows of named cells as text: CSV and JSON lines. One implementation serves the tables of all formats, each of
//! which provides its cells ([`Cells`]). The length of the text is computed at the first stat; a read generates only
//! the rows that overlap it.

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

/// Text is flushed once it has this many bytes.
const HANDED_ON: usize = 1 << 20;

/// One value of a row.
pub enum Cell<'a> {
    Null,
    Truth(bool),
    /// In Python's spelling: `-1`, `0.5`, `nan`, `-inf`.
    Number(&'a [u8]),
    /// Should be UTF-8, but may be any bytes.
    Text(&'a [u8]),
    /// NUL-padded UTF-32.
    Unicode(&'a [u8], Endian),
    /// Lists and maps, as JSON.
    Nested(&'a [u8]),
    /// This many bytes, to be written in base64.
    Bytes(u64, &'a dyn Fn() -> Result<Content>),
}

/// A table, row by row.
pub trait Cells: Send + Sync {
    fn count(&self) -> u64;

    /// The table's place, for messages.
    fn place(&self) -> Place;

    /// Average stored size of a row, in bytes.
    fn stored(&self) -> u64;

    /// Maximum length of the whole text, in bytes.
    fn most(&self) -> u64 {
        u64::MAX
    }

    /// Rows per block, if rows can be skipped in constant time.
    fn rows_per_block(&self) -> Option<u64> {
        None
    }

    /// The names of all columns, which may be empty or repeated.
    fn names(&self) -> Vec<&str>;

    /// Calls `cell` for all cells of some rows, row by row, with the number of the column.
    fn each(&self, rows: Range<u64>, cell: &mut dyn FnMut(usize, Cell<'_>) -> Result<()>) -> Result<()>;
}

/// The text format of rows.
trait Form: Send + Sync {
    fn columns(&self) -> usize;

    /// As [`Rows::around`].
    fn around(&self) -> u64;

    /// As [`Rows::write`], for rows of `cells`.
    fn write(&self, cells: &dyn Cells, rows: Range<u64>, text: &mut Text<'_, '_>) -> Result<()>;
}

/// A table written in a format.
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

/// Buffers small pieces of text on their way to a window.
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

    /// Marks the end of a row.
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
