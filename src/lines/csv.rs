//! Writes rows as RFC 4180 CSV with `\n` line ends. Text is written as its raw bytes, whatever the encoding; an empty
//! string is `""` and a missing value an empty cell. Lists and maps are JSON in one cell.

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

/// Writes a value as one cell. Leaves bytes and UTF-32 text, which callers write themselves, empty.
pub fn value(value: &Cell<'_>, line: &mut Vec<u8>) {
    match value {
        Cell::Null => {}
        Cell::Truth(value) => line.extend_from_slice(if *value { b"True" } else { b"False" }),
        Cell::Number(text) => line.extend_from_slice(number(text)),
        Cell::Text(of) | Cell::Nested(of) => cell(of, line),
        Cell::Unicode(..) | Cell::Bytes(..) => cell(b"", line),
    }
}

/// A number in a spelling that every reader parses as one: polars knows NaN only as `NaN`, and infinity is a number
/// larger than any float because duckdb and sqlite have no word for it.
pub fn number(text: &[u8]) -> &[u8] {
    match text {
        b"nan" => b"NaN",
        b"inf" => b"1e999",
        b"-inf" => b"-1e999",
        other => other,
    }
}

/// Writes a text and a comma.
pub fn field(text: &[u8], line: &mut Vec<u8>) {
    cell(text, line);
    line.push(b',');
}

/// Replaces the last comma with a line end.
pub fn end(line: &mut [u8]) {
    if let Some(end) = line.last_mut() {
        *end = b'\n';
    }
}

/// Writes a text as one cell: quoted if it is empty, contains a comma, quote or line end, or begins or ends with a
/// space, which readers might strip.
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
