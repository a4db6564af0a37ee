//! Each row as an object of JSON on a line of its own. JSON has no NaN and no infinities: they are null, as pandas and
//! polars write them. Texts that are none are bytes, as [`json`] writes them.

use std::ops::Range;
use std::sync::Arc;

use super::{Cell, Cells, Text};
use crate::array::json;
use crate::array::names::distinct;
use crate::content::{Content, Lines, Rows, Window};
use crate::error::Place;
use crate::{Error, Result};

/// A small table with long names would become a text without end.
const MOST_KEYS: usize = 256 << 10;

pub fn jsonl(cells: impl Cells + 'static) -> Result<Content> {
    let names = distinct(cells.names());
    let key = |(place, name): (usize, &String)| {
        let mut key = vec![if place == 0 { b'{' } else { b',' }];
        json::string(name, &mut key);
        key.push(b':');
        key
    };
    let keys = names.iter().enumerate().map(key).collect::<Vec<_>>();
    if keys.iter().map(Vec::len).sum::<usize>() > MOST_KEYS {
        let problem =
            format!("names of columns of more than {MOST_KEYS} bytes are too many to be written in each row");
        return Err(Error::Other(format!("{}: {problem}", cells.place())));
    }
    Ok(Content::Computed(Arc::new(Lines::new(Vec::new(), Objects { cells, keys }))))
}

struct Objects<C> {
    cells: C,
    /// Of each column what stands before its value.
    keys: Vec<Vec<u8>>,
}

impl<C: Cells> Rows for Objects<C> {
    fn count(&self) -> u64 {
        if self.keys.is_empty() { 0 } else { self.cells.count() }
    }

    fn place(&self) -> Place {
        self.cells.place()
    }

    fn stored(&self) -> u64 {
        self.cells.stored()
    }

    fn around(&self) -> u64 {
        self.keys.iter().map(|key| key.len() as u64).sum()
    }

    fn most(&self) -> u64 {
        self.cells.most()
    }

    fn at_once(&self) -> Option<u64> {
        self.cells.at_once()
    }

    fn write(&self, rows: Range<u64>, window: &mut Window<'_>) -> Result<()> {
        let mut text = Text::new(window);
        self.cells.each(rows, &mut |column, value| {
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
        })?;
        text.hand_on();
        Ok(())
    }
}
