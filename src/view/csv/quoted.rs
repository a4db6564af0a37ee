//! Rows with texts among them, without padding. Texts are written as they are, whatever their encoding.

use std::ops::Range;
use std::sync::Arc;

use crate::Result;
use crate::array::trimmed;
use crate::content::{Content, Lines, Rows};
use crate::error::Place;
use crate::view::frame::Frame;

pub fn csv(frame: Frame) -> Content {
    let mut header = Vec::new();
    for column in &frame.columns {
        field(column.name.as_bytes(), frame.columns.len(), &mut header);
    }
    end(&mut header);
    let is_text = frame.columns.iter().map(|column| column.texts().is_none()).collect();
    Content::Computed(Arc::new(Lines::new(header, Quoted { frame, is_text })))
}

struct Quoted {
    frame: Frame,
    /// Of each column.
    is_text: Vec<bool>,
}

impl Rows for Quoted {
    fn count(&self) -> u64 {
        self.frame.rows
    }

    fn place(&self) -> Place {
        self.frame.place()
    }

    fn stored(&self) -> u64 {
        self.frame.columns.iter().map(|column| column.width).sum()
    }

    /// Commas and quotes.
    fn around(&self) -> u64 {
        3 * self.frame.columns.len() as u64
    }

    fn write(&self, rows: Range<u64>, text: &mut Vec<u8>) -> Result<()> {
        let columns = self.frame.columns.len();
        self.frame.each_cell(&rows, &mut |column, cell| {
            if self.is_text.get(column) == Some(&true) {
                field(trimmed(cell), columns, text);
            } else {
                text.extend_from_slice(cell);
                text.push(b',');
            }
            if column + 1 == columns {
                end(text);
            }
            Ok(())
        })
    }
}

/// A text with a comma after it. In the only column an empty one must not leave the line empty.
pub fn field(text: &[u8], columns: usize, line: &mut Vec<u8>) {
    match (text, columns) {
        ([], 1) => line.extend_from_slice(b"\"\""),
        _ => cell(text, line),
    }
    line.push(b',');
}

/// The last comma ends the line.
pub fn end(line: &mut [u8]) {
    if let Some(end) = line.last_mut() {
        *end = b'\n';
    }
}

/// A text as one cell: in quotes if it has a comma, a quote or the end of a line in it, or if spaces that belong to
/// it could be left out.
pub fn cell(text: &[u8], line: &mut Vec<u8>) {
    let is_special = |byte: &u8| matches!(byte, b',' | b'"' | b'\n' | b'\r');
    if !text.iter().any(is_special) && text.first() != Some(&b' ') && text.last() != Some(&b' ') {
        return line.extend_from_slice(text);
    }
    line.push(b'"');
    for byte in text {
        if *byte == b'"' {
            line.push(b'"');
        }
        line.push(*byte);
    }
    line.push(b'"');
}
