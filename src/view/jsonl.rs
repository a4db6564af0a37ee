//! `NAME.jsonl`: each row of a table as an object of JSON on a line of its own. JSON has no NaN and no infinities: they
//! are null, as pandas and polars write them. Complex numbers are strings, `"0.5-2.0j"`. The length is found by the
//! first stat.

use std::ops::Range;
use std::sync::Arc;

use super::frame::{Cells, Column, Frame, distinct};
use super::{Dataset, Face, View};
use crate::array::Kind;
use crate::content::{Content, Lines, Rows};
use crate::error::Place;
use crate::tree::Description;
use crate::{Error, Result};

/// A small table with long names would become a text without end.
const MOST_KEYS: usize = 256 << 10;

pub struct Jsonl;

impl View for Jsonl {
    fn kind(&self) -> &'static str {
        "jsonl"
    }

    fn extension(&self) -> &'static str {
        ".jsonl"
    }

    fn shows(&self, about: &Description) -> bool {
        Frame::shows(about)
    }

    fn face(&self, dataset: &Dataset) -> Result<Face> {
        Ok(Face::File(match Frame::of(dataset)? {
            Ok(frame) => Content::Computed(Arc::new(Lines::new(Vec::new(), Objects::new(frame, dataset)?))),
            Err(broken) => broken,
        }))
    }
}

struct Objects {
    frame: Frame,
    /// Of each column what stands before its value.
    keys: Vec<Vec<u8>>,
}

impl Objects {
    fn new(frame: Frame, dataset: &Dataset) -> Result<Objects> {
        let names = distinct(frame.columns.iter().map(|column| column.name.as_str()));
        let key = |(place, name): (usize, &String)| {
            let mut key = vec![if place == 0 { b'{' } else { b',' }];
            string(name, &mut key)?;
            key.push(b':');
            Ok(key)
        };
        let keys = names.iter().enumerate().map(key).collect::<Result<Vec<_>>>()?;
        if keys.iter().map(Vec::len).sum::<usize>() > MOST_KEYS {
            return Err(dataset.wrong(&format!(
                "names of columns of more than {MOST_KEYS} bytes are too many to be written in each row"
            )));
        }
        Ok(Objects { frame, keys })
    }
}

impl Rows for Objects {
    fn count(&self) -> u64 {
        self.frame.rows
    }

    fn place(&self) -> Place {
        self.frame.place()
    }

    fn stored(&self) -> u64 {
        self.frame.columns.iter().map(|column| column.width).sum()
    }

    fn around(&self) -> u64 {
        self.keys.iter().map(|key| key.len() as u64).sum()
    }

    fn write(&self, rows: Range<u64>, text: &mut Vec<u8>) -> Result<()> {
        let (mut row, last) = (rows.start, self.keys.len().saturating_sub(1));
        self.frame.each_cell(&rows, &mut |number, cell| {
            text.extend_from_slice(self.keys.get(number).map_or(b"", |key| key));
            if let Some(column) = self.frame.columns.get(number) {
                self.value(column, row, cell, text)?;
            }
            if number == last {
                text.extend_from_slice(b"}\n");
                row += 1;
            }
            Ok(())
        })
    }
}

impl Objects {
    fn value(&self, column: &Column, row: u64, cell: &[u8], text: &mut Vec<u8>) -> Result<()> {
        match column.cells {
            Cells::Text | Cells::Unicode(_) => return string(self.frame.text(column, row, cell)?, text),
            Cells::Truth => text.extend_from_slice(if cell == b"True" { b"true" } else { b"false" }),
            Cells::Number(dtype) if dtype.element.kind == Kind::Complex => {
                text.push(b'"');
                text.extend_from_slice(cell);
                text.push(b'"');
            }
            Cells::Number(_) => text.extend_from_slice(match cell {
                b"nan" | b"inf" | b"-inf" => b"null",
                number => number,
            }),
        }
        Ok(())
    }
}

fn string(value: &str, text: &mut Vec<u8>) -> Result<()> {
    serde_json::to_writer(text, value).map_err(|error| Error::Other(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::kit::{about, dataset, face, read, table};

    #[test]
    fn rows_are_objects() {
        let columns = [("a\"b", "uint8"), ("yes", "bool"), ("x", "float32"), ("x", "5"), ("", "complex64")];
        let floats = |values: &[f32]| values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<_>>();
        let bytes = [
            &[7, 255, 1, 0][..],
            &floats(&[0.5, f32::NEG_INFINITY]),
            "é\n\0\0tab\0\0".as_bytes(),
            &floats(&[1.0, -2.0, f32::NAN, 0.0]),
        ];
        let found = face(&Jsonl, about(None, Some(table(2, &columns))), &bytes.concat()[..]).unwrap();
        assert_eq!(found.known_len(), None);
        assert!(found.len().is_ok());
        let want = "{\"a\\\"b\":7,\"yes\":true,\"x\":0.5,\"x~2\":\"é\\n\",\"~2\":\"1.0-2.0j\"}\n\
                    {\"a\\\"b\":255,\"yes\":false,\"x\":null,\"x~2\":\"tab\",\"~2\":\"nan+0.0j\"}\n";
        assert_eq!(String::from_utf8(read(&found)).unwrap(), want);
    }

    #[test]
    fn names_are_not_written_without_end() {
        let name = "x".repeat(MOST_KEYS);
        let of = dataset(about(None, Some(table(1, &[(&name, "uint8")]))), Content::Inline((*b"a").into()));
        let error = Jsonl.face(&of).err().unwrap();
        assert!(error.to_string().contains("262144"), "{error}");
    }

    #[test]
    fn text_that_is_none_is_named() {
        let found = face(&Jsonl, about(None, Some(table(2, &[("t", "1")]))), b"a\xff").unwrap();
        let said = found.len().unwrap_err().to_string();
        assert!(said.contains("row 1") && said.contains("\"t\""), "{said}");
    }

    #[test]
    fn nothing_has_no_rows() {
        let found = face(&Jsonl, about(None, Some(table(0, &[("t", "1")]))), b"").unwrap();
        assert_eq!(found.known_len(), Some(0));
    }
}
