//! Writes each row as a JSON object on a line of its own. NaN and infinities, which JSON lacks, become null, as in
//! pandas and polars. Invalid text is written as bytes, see [`json`].

use std::ops::Range;
use std::sync::Arc;

use super::{Cell, Cells, Form, Text, Written};
use crate::array::json;
use crate::array::names::distinct;
use crate::content::{Content, Lines};
use crate::{Error, Result};

/// Maximum total length in bytes of the column names, which are repeated in every row: with long names, a small table
/// would become an enormous text.
const MAX_KEYS: usize = 256 << 10;

pub fn jsonl(cells: impl Cells + 'static) -> Result<Content> {
    let names = distinct(cells.names());
    let key = |(place, name): (usize, &String)| {
        let mut key = vec![if place == 0 { b'{' } else { b',' }];
        json::string(name, &mut key);
        key.push(b':');
        key
    };
    let keys = names.iter().enumerate().map(key).collect::<Vec<_>>();
    if keys.iter().map(Vec::len).sum::<usize>() > MAX_KEYS {
        let problem =
            format!("names of columns of more than {MAX_KEYS} bytes are too many to be written in each row");
        return Err(Error::Other(format!("{}: {problem}", cells.place())));
    }
    let form = Objects { keys };
    Ok(Content::Computed(Arc::new(Lines::new(Vec::new(), Written { cells, form }))))
}

struct Objects {
    /// The text before each column's value.
    keys: Vec<Vec<u8>>,
}

impl Form for Objects {
    fn columns(&self) -> usize {
        self.keys.len()
    }

    fn around(&self) -> u64 {
        self.keys.iter().map(|key| key.len() as u64).sum()
    }

    fn write(&self, cells: &dyn Cells, rows: Range<u64>, text: &mut Text<'_, '_>) -> Result<()> {
        cells.each(rows, &mut |column, value| {
            text.made.extend_from_slice(self.keys.get(column).map_or(b"", |key| key));
            match value {
                Cell::Null | Cell::Number(b"nan" | b"inf" | b"-inf") => text.made.extend_from_slice(b"null"),
                Cell::Truth(value) => text.made.extend_from_slice(if value { b"true" } else { b"false" }),
                Cell::Number(json) | Cell::Nested(json) => text.made.extend_from_slice(json),
                Cell::Text(of) => json::text(of, &mut text.made),
                Cell::Unicode(of, endian) => json::unicode(of, endian, &mut text.made),
                Cell::Bytes(len, content) => {
                    text.made.push(b'"');
                    text.bytes(len, content)?;
                    text.made.push(b'"');
                }
            }
            if column + 1 == self.keys.len() {
                text.made.extend_from_slice(b"}\n");
                text.end_row();
            }
            Ok(())
        })
    }
}
