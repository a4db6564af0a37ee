//! The tables below `.views`, as Arrow files, JSON lines and CSV.
//! ```text
//! arrow/tables/<table>.arrow
//! jsonl/tables/<table>.jsonl
//! csv/tables/<table>.csv
//! ```
//! In text, UUIDs, times and nested values are written as in sidecars.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_ipc::writer::FileWriter;
use arrow_schema::{ArrowError, Schema};
use serde_json::Value;

use super::super::read::arrow::{self, Budget};
use super::super::read::set::Set;
use super::super::read::table::OndaTable;
use crate::array::Slab;
use crate::content::{Content, late};
use crate::error::Place;
use crate::lines::{self, Cell, Cells, Part};
use crate::tree::{File, Size};
use crate::yaml::{Node, to_json};
use crate::{Error, Result};

/// Maximum text of a table in bytes.
const MAX_LEN: u64 = 1 << 30;

/// The files of all tables, ordered by kind.
pub fn of(set: &Arc<Set>) -> Vec<(String, File)> {
    let mut files = Vec::new();
    for kind in ["arrow", "jsonl", "csv"] {
        for (at, table) in (0..).zip(&set.tables) {
            let (whole, part) = (set.clone(), set.clone());
            let file = File::once(move || make(&whole, at, kind));
            // The size of a converted stream and of text is known only once it has been generated.
            let len = table.source.len();
            let is_unchanged = kind == "arrow" && !table.arrow.is_stream;
            let file = if is_unchanged { file.sized(Size { len: Some(len), stored: len }) } else { file };
            let file = file.with_rows(move |expression| rows(&part, at, kind, expression).map(Some));
            files.push((format!("{kind}/tables/{}.{kind}", table.name()), file));
        }
    }
    files
}

fn make(set: &Arc<Set>, at: u32, kind: &str) -> Result<Content> {
    let table = set.tables.get(at as usize).ok_or(Error::NotFound)?;
    let rows = TableRows { set: set.clone(), table: at };
    match kind {
        "arrow" => arrow::file(&table.source).or_else(|error| match error {
            Error::Damaged { .. } | Error::Unsupported { .. } => {
                log::error!("{error}; reads of it as an Arrow file give that error");
                Ok(Content::Broken { claimed: 1, error })
            }
            error => Err(error),
        }),
        "csv" => Ok(lines::csv(rows)),
        _ => lines::jsonl(rows),
    }
}

fn rows(set: &Arc<Set>, at: u32, kind: &str, expression: &str) -> Result<Content> {
    let table = set.tables.get(at as usize).ok_or(Error::NotFound)?;
    let usage_error = |problem| Error::Usage(format!("{}: [{expression}]: {problem}", table.source.place()));
    let set = set.clone();
    let part = Part::new(TableRows { set: set.clone(), table: at }, expression).map_err(usage_error)?;
    match kind {
        "arrow" => Ok(late(move || {
            let table = set.tables.get(at as usize).ok_or(Error::NotFound)?;
            arrow_of(table, part.columns(), part.rows())
        })),
        "csv" => Ok(lines::csv(part)),
        _ => lines::jsonl(part),
    }
}

/// Rows and columns of a table as an Arrow file of one batch, without dictionaries, views and runs.
fn arrow_of(table: &OndaTable, columns: &[usize], rows: &Slab) -> Result<Content> {
    let failed = |error: ArrowError| Error::damaged(table.source.place(), error.to_string());
    let numbers: Vec<_> = (0..rows.len()).map(|number| rows.position(number) as u32).collect();
    let mut budget = Budget::of_file("the chosen rows take", table.source.len());
    let (mut fields, mut arrays) = (Vec::new(), Vec::new());
    for column in columns.iter().filter_map(|number| table.arrow.column(*number)) {
        let gathered = arrow::new_field(column.field)
            .and_then(|field| Ok((field, arrow::gathered(column, &numbers, &mut budget)?)));
        let (field, array) = gathered.map_err(|problem| {
            problem.within(format_args!("column {}", column.field.name)).at(table.source.place())
        })?;
        fields.push(field);
        arrays.push(array);
    }
    let metadata: HashMap<_, _> = table.arrow.schema.metadata.iter().cloned().collect();
    let schema = Arc::new(Schema::new(fields).with_metadata(metadata));
    let options = RecordBatchOptions::new().with_row_count(Some(numbers.len()));
    let batch = RecordBatch::try_new_with_options(schema.clone(), arrays, &options).map_err(failed)?;
    let mut writer = FileWriter::try_new(Vec::new(), &schema).map_err(failed)?;
    writer.write(&batch).and_then(|()| writer.finish()).map_err(failed)?;
    Ok(Content::Inline(writer.into_inner().map_err(failed)?.into()))
}

struct TableRows {
    set: Arc<Set>,
    table: u32,
}

impl TableRows {
    fn table(&self) -> Result<&OndaTable> {
        self.set.tables.get(self.table as usize).ok_or(Error::NotFound)
    }
}

impl Cells for TableRows {
    fn count(&self) -> u64 {
        self.table().map_or(0, |table| table.arrow.rows() as u64)
    }

    fn place(&self) -> Place {
        self.table().map_or_else(|_| Place::default(), |table| table.source.place())
    }

    fn stored(&self) -> u64 {
        self.table().map_or(0, |table| table.source.len() / self.count().max(1)).max(1)
    }

    fn most(&self) -> u64 {
        MAX_LEN
    }

    fn names(&self) -> Vec<&str> {
        let fields = self.table().map(|table| table.arrow.schema.fields.iter());
        fields.map_or(Vec::new(), |fields| fields.map(|field| field.name.as_str()).collect())
    }

    fn each(&self, rows: Range<u64>, cell: &mut dyn FnMut(usize, Cell<'_>) -> Result<()>) -> Result<()> {
        let table = self.table()?;
        for row in rows {
            let values = table.whole_row(row as usize).map_err(|problem| problem.at(table.source.place()))?;
            for (column, value) in values.iter().enumerate() {
                with_cell(value, &mut |value| cell(column, value))?;
            }
        }
        Ok(())
    }
}

/// Passes on a value as it is written in text.
pub fn with_cell(value: &Node, each: &mut dyn FnMut(Cell<'_>) -> Result<()>) -> Result<()> {
    match value {
        Node::Bool(value) => each(Cell::Truth(*value)),
        Node::Float(value) if !value.is_finite() => each(Cell::Number(match value {
            value if value.is_nan() => b"nan",
            value if *value > 0.0 => b"inf",
            _ => b"-inf",
        })),
        value => match json(value) {
            Value::Null => each(Cell::Null),
            Value::String(text) => each(Cell::Text(text.as_bytes())),
            number @ Value::Number(_) => each(Cell::Number(number.to_string().as_bytes())),
            nested => each(Cell::Nested(nested.to_string().as_bytes())),
        },
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
