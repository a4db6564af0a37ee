//! The tables themselves below `.views`: as Arrow files, and each row as a line of JSON.
//! ```text
//! arrow/tables/<table>.arrow
//! jsonl/tables/<table>.jsonl
//! ```
//! UUIDs, times and what nests are in the lines as sidecars have them; NaN and infinities are null.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use serde_json::Value;

use super::arrow;
use super::set::Set;
use super::table::OndaTable;
use crate::content::{Content, Lines, Rows};
use crate::error::Place;
use crate::tree::{Datasets, Description, NameList, Size};
use crate::yaml::{Node, to_json};
use crate::{Error, Result};

/// Bytes of text of a table, ...
const LONGEST: u64 = 1 << 30;
/// ... and of the rows that are written at once.
const MOST_AT_ONCE: usize = 64 << 20;

pub struct Tables {
    set: Arc<Set>,
    /// Arrow files, then lines of JSON.
    made: Vec<OnceLock<Content>>,
}

impl Tables {
    /// With the names of the files.
    pub fn new(set: &Arc<Set>) -> (NameList, Tables) {
        let mut names = NameList::default();
        for kind in ["arrow", "jsonl"] {
            let tables = set.tables.iter();
            tables.for_each(|table| names.push(format!("{kind}/tables/{}.{kind}", table.name()).as_bytes()));
        }
        let made = (0..names.len()).map(|_| OnceLock::new()).collect();
        (names, Tables { set: set.clone(), made })
    }

    /// The table of a file, and is it to be lines?
    fn table(&self, number: u32) -> Option<(u32, bool)> {
        let (count, number) = (self.set.tables.len() as u32, number as usize);
        let number = u32::try_from(number).ok().filter(|_| number < self.made.len())?;
        Some((number % count.max(1), number >= count))
    }

    fn make(&self, number: u32) -> Result<Content> {
        let (at, is_lines) = self.table(number).ok_or(Error::NotFound)?;
        let table = self.set.tables.get(at as usize).ok_or(Error::NotFound)?;
        if !is_lines {
            return arrow::file(&table.source).or_else(|error| match error {
                Error::Damaged { .. } | Error::Unsupported { .. } => {
                    log::error!("{error}; reads of it as an Arrow file give that error");
                    Ok(Content::Broken { claimed: 1, error })
                }
                error => Err(error),
            });
        }
        let rows = JsonRows { set: self.set.clone(), table: at };
        Ok(Content::Computed(Arc::new(Lines::new(Vec::new(), rows))))
    }
}

impl Datasets for Tables {
    fn count(&self) -> u64 {
        self.made.len() as u64
    }

    /// That of a stream as a file, and of lines, is known when they are made.
    fn size(&self, number: u32) -> Size {
        if let Some((table, false)) = self.table(number)
            && let Some(table) = self.set.tables.get(table as usize).filter(|table| !table.arrow.is_stream)
        {
            return Size { len: Some(table.source.len()), stored: table.source.len() };
        }
        let made = self.made.get(number as usize).and_then(OnceLock::get);
        Size { len: made.and_then(Content::known_len), stored: 0 }
    }

    fn content(&self, number: u32) -> Result<Content> {
        let made = self.made.get(number as usize).ok_or(Error::NotFound)?;
        if let Some(made) = made.get() {
            return Ok(made.clone());
        }
        let content = self.make(number)?;
        Ok(made.get_or_init(|| content).clone())
    }

    fn content_at_once(&self, number: u32) -> Result<Option<Content>> {
        Ok(self.made.get(number as usize).and_then(OnceLock::get).cloned())
    }

    fn describe(&self, _: u32) -> Result<Description> {
        Err(Error::NotFound)
    }

    fn remains(&self, number: u32) -> Result<Content> {
        self.content(number)
    }
}

struct JsonRows {
    set: Arc<Set>,
    table: u32,
}

impl JsonRows {
    fn table(&self) -> Result<&OndaTable> {
        self.set.tables.get(self.table as usize).ok_or(Error::NotFound)
    }
}

impl Rows for JsonRows {
    fn count(&self) -> u64 {
        self.table().map_or(0, |table| table.arrow.rows() as u64)
    }

    fn place(&self) -> Place {
        self.table().map_or_else(|_| Place::default(), |table| table.source.place())
    }

    fn stored(&self) -> u64 {
        self.table().map_or(0, |table| table.source.len() / self.count().max(1)).max(1)
    }

    fn around(&self) -> u64 {
        let fields = self.table().map(|table| table.arrow.schema.fields.iter());
        fields.map_or(0, |fields| fields.map(|field| field.name.len() as u64 + 4).sum())
    }

    fn most(&self) -> u64 {
        LONGEST
    }

    fn write(&self, rows: Range<u64>, text: &mut Vec<u8>) -> Result<()> {
        let table = self.table()?;
        for row in rows {
            let row_of = table.whole_row(row as usize);
            let node = row_of.map_err(|problem| problem.at(table.source.place()))?;
            text.extend(json(&node).to_string().into_bytes());
            text.push(b'\n');
            if text.len() > MOST_AT_ONCE {
                let problem =
                    format!("row {row} and those before it have more than {MOST_AT_ONCE} bytes as JSON");
                return Err(Error::Unsupported { place: table.source.place(), problem });
            }
        }
        Ok(())
    }
}

fn json(node: &Node) -> Value {
    match node {
        Node::Float(number) if !number.is_finite() => Value::Null,
        Node::Seq(items) => items.iter().map(|item| json(item)).collect(),
        Node::Map(pairs) => {
            let key = |node: &Node| match to_json(node) {
                Value::String(text) => text,
                other => other.to_string(),
            };
            Value::Object(pairs.iter().map(|(name, value)| (key(name), json(value))).collect())
        }
        other => to_json(other),
    }
}
