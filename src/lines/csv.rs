//! Rows as RFC 4180 CSV with `\n` line ends. Text is written as its raw bytes, whatever the encoding; an empty string
//! is `""` and a missing value an empty cell. Lists and maps are JSON in one cell.

use std::ops::Range;
use std::sync::Arc;

use super::{Cell, Cells, Form, Text, Written};
use crate::array::{to_utf8, trimmed};
use crate::content::{Content, Lines};
use crate::{Error, Result};

pub fn csv(cells: impl Cells + 'static) -> Content {
    let mut header = Vec::new();
    let names = cells.names();
    for name in &names {
        field(name.as_bytes(), &mut header);
    }
    end(&mut header);
    let form = Records { columns: names.len() };
    Content::Computed(Arc::new(Lines::new(header, Written { cells, form })))
}

struct Records {
    columns: usize,
}

impl Form for Records {
    fn columns(&self) -> usize {
        self.columns
    }

    /// Commas and quotes.
    fn around(&self) -> u64 {
        3 * self.columns as u64
    }

    fn write(&self, cells: &dyn Cells, rows: Range<u64>, text: &mut Text<'_, '_>) -> Result<()> {
        let (mut row, mut utf8) = (rows.start, Vec::new());
        cells.each(rows, &mut |column, value| {
            match value {
                Cell::Null if self.columns == 1 => text.made.extend_from_slice(b"\"\""),
                Cell::Unicode(of, endian) => {
                    utf8.clear();
                    utf8.extend_from_slice(of);
                    to_utf8(&mut utf8, endian).ok_or_else(|| no_text(cells, column, row))?;
                    cell(trimmed(&utf8), &mut text.made);
                }
                Cell::Bytes(len, content) if len > 0 => text.bytes(len, content)?,
                other => self::value(&other, &mut text.made),
            }
            if column + 1 == self.columns {
                text.made.push(b'\n');
                text.end_row();
                row += 1;
            } else {
                text.made.push(b',');
            }
            Ok(())
        })
    }
}

fn no_text(cells: &dyn Cells, column: usize, row: u64) -> Error {
    let name = cells.names().get(column).map_or_else(String::new, |name| (*name).to_owned());
    let problem = format!("row {row} of column {name:?} is not Unicode");
    Error::Unsupported { place: cells.place(), problem }
}

/// A value as one cell. Bytes, and texts in other encodings, are written by their readers.
pub fn value(value: &Cell<'_>, line: &mut Vec<u8>) {
    match value {
        Cell::Null => {}
        Cell::Truth(value) => line.extend_from_slice(if *value { b"True" } else { b"False" }),
        Cell::Number(text) => line.extend_from_slice(number(text)),
        Cell::Text(of) | Cell::Nested(of) => cell(of, line),
        Cell::Unicode(..) | Cell::Bytes(..) => cell(b"", line),
    }
}

/// A number as every reader takes it for one: of the spellings of NaN polars knows no other, and infinity is larger
/// than any float, as duckdb and sqlite know no word for it.
pub fn number(text: &[u8]) -> &[u8] {
    match text {
        b"nan" => b"NaN",
        b"inf" => b"1e999",
        b"-inf" => b"-1e999",
        other => other,
    }
}

/// A text with a comma after it.
pub fn field(text: &[u8], line: &mut Vec<u8>) {
    cell(text, line);
    line.push(b',');
}

/// The last comma ends the line.
pub fn end(line: &mut [u8]) {
    if let Some(end) = line.last_mut() {
        *end = b'\n';
    }
}

/// A text as one cell: in quotes if it is empty, if it has a comma, a quote or the end of a line in it, or if spaces
/// that belong to it could be left out.
fn cell(text: &[u8], line: &mut Vec<u8>) {
    let is_special = |byte: &u8| matches!(byte, b',' | b'"' | b'\n' | b'\r');
    let at_edge = |byte: Option<&u8>| byte.is_none_or(|byte| *byte == b' ');
    if !text.iter().any(is_special) && !at_edge(text.first()) && !at_edge(text.last()) {
        return line.extend_from_slice(text);
    }
    line.push(b'"');
    for run in text.split_inclusive(|byte| *byte == b'"') {
        line.extend_from_slice(run);
        if run.ends_with(b"\"") {
            line.push(b'"');
        }
    }
    line.push(b'"');
}
