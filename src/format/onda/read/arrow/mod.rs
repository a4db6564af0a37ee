//! Arrow IPC files and streams, read without trust: messages as verified flatbuffers (crate arrow-ipc's, whose own
//! reader is not used: it makes room for what buffers claim, and panics at some contradictions), values by ourselves.
//! Any batches, dictionaries with additions, LZ4 and zstd buffers, all types of Arrow; views and run ends among them.
//!
//! | from the bytes up | |
//! |---|---|
//! | `field` | columns and their types |
//! | `message` | the messages of a file or stream |
//! | `buffer` | bytes of a batch, decompressed |
//! | `array` | the values of a column in one batch |
//! | `dictionary` | values that batches name by number |
//! | `column` | values of a column by row |
//! | `node` | values as YAML |
//! | `file` | a table as an Arrow file, whatever it is |
//! | `types`, `gather` | columns and their values for writing |

mod array;
mod buffer;
mod column;
mod dictionary;
mod field;
mod file;
mod gather;
mod message;
mod node;
mod realigned;
#[cfg(test)]
mod tests;
mod types;

use std::fmt::Display;
use std::sync::Arc;

use array::{Array, Loader};
use dictionary::{Dictionaries, add_dictionary};
use message::{Message, Messages};

use crate::error::Place;
use crate::source::Source;
use crate::{Error, Result};

pub use buffer::Budget;
pub use column::{Column, Items, Value};
pub use field::{ArrowType, Field, Schema, Unit};
pub use file::file;
pub use gather::gathered;
pub use message::{CONTINUATION, MAGIC};
pub use node::{hex, uuid};
pub use types::new_field;

/// A row takes about so much memory, whatever it takes in the file: rows are counted so.
const ROW: u64 = 256;

/// What is wrong, or not read here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    Damaged(String),
    Unsupported(String),
}

impl Problem {
    pub fn damaged(problem: impl Into<String>) -> Problem {
        Problem::Damaged(problem.into())
    }

    pub fn unsupported(problem: impl Into<String>) -> Problem {
        Problem::Unsupported(problem.into())
    }

    pub fn at(self, place: Place) -> Error {
        match self {
            Problem::Damaged(problem) => Error::Damaged { place, problem },
            Problem::Unsupported(problem) => Error::Unsupported { place, problem },
        }
    }

    /// With what has it before.
    pub fn within(self, what: impl Display) -> Problem {
        match self {
            Problem::Damaged(problem) => Problem::Damaged(format!("{what}: {problem}")),
            Problem::Unsupported(problem) => Problem::Unsupported(format!("{what}: {problem}")),
        }
    }

    pub fn text(&self) -> &str {
        let (Problem::Damaged(text) | Problem::Unsupported(text)) = self;
        text
    }
}

/// What a file or stream says of its columns, and where its batches are.
pub fn messages(source: &dyn Source) -> Result<Messages> {
    message::read(source)?.map_err(|(offset, problem)| problem.at(source.place().at(offset)))
}

/// A table in memory.
pub struct Table {
    pub schema: Schema,
    batches: Vec<Batch>,
    rows: usize,
    /// More are not read.
    most_rows: usize,
    pub is_stream: bool,
    /// Bytes of memory, roughly.
    pub memory: u64,
}

struct Batch {
    /// The table's row that is its first.
    first: usize,
    rows: usize,
    columns: Vec<Array>,
}

impl Table {
    /// Reads all of what [`messages`] found. Its columns may hold anything; nothing is made room for that the file does not
    /// have.
    pub fn read(source: &dyn Source, messages: Messages) -> Result<Table> {
        let mut table = Table {
            schema: messages.schema,
            batches: Vec::new(),
            rows: 0,
            most_rows: (Budget::most(source.len()) / ROW) as usize,
            is_stream: messages.stream.is_some(),
            memory: source.len(),
        };
        let mut dictionaries = Dictionaries::new();
        let mut budget = Budget::of_file("its buffers claim to decompress to", source.len());
        for message in messages.batches {
            let range = message.body.clone();
            let (start, body) = (range.start, Arc::new(source.read_range(range)?));
            table
                .take(&message, body, &mut dictionaries, &mut budget)
                .map_err(|problem| problem.at(source.place().at(start)))?;
        }
        Ok(table)
    }

    fn take(
        &mut self,
        message: &Message,
        body: Arc<Vec<u8>>,
        dictionaries: &mut Dictionaries,
        budget: &mut Budget,
    ) -> Result<(), Problem> {
        let read = message.metadata.message()?;
        let version = read.version();
        if let Some(dictionary) = read.header_as_dictionary_batch() {
            let data = dictionary.data().ok_or_else(|| Problem::damaged("a dictionary without values"))?;
            let Some(field) = encoded(&self.schema.fields, dictionary.id()) else { return Ok(()) };
            let plain = Field { dictionary: None, ..field.clone() };
            let values = Loader::new(data, version, body, dictionaries, budget)?.array(&plain)?;
            return add_dictionary(dictionaries, dictionary.id(), dictionary.isDelta(), (&plain, values));
        }
        let batch =
            read.header_as_record_batch().ok_or_else(|| Problem::damaged("expected a record batch"))?;
        let most = self.most_rows;
        let rows = usize::try_from(batch.length())
            .map_err(|_| Problem::damaged(format!("a batch of {} rows", batch.length())))?;
        if self.rows.saturating_add(rows) > most {
            let before = self.rows;
            return Err(Problem::unsupported(format!(
                "a batch of {rows} rows behind {before}; the limit for a file of this size is {most}"
            )));
        }
        let mut loader = Loader::new(batch, version, body, dictionaries, budget)?;
        let mut columns = Vec::with_capacity(self.schema.fields.len());
        for field in &self.schema.fields {
            let column = loader.array(field).map_err(|problem| named(field, problem))?;
            if column.len != rows {
                let problem = format!("it has {} values, but its batch has {rows} rows", column.len);
                return Err(named(field, Problem::Damaged(problem)));
            }
            columns.push(column);
        }
        self.batches.push(Batch { first: self.rows, rows, columns });
        self.rows += rows;
        Ok(())
    }

    pub fn rows(&self) -> usize {
        self.rows
    }

    pub fn batches(&self) -> usize {
        self.batches.len()
    }

    /// A column by its place in the schema.
    pub fn column(&self, number: usize) -> Option<Column<'_>> {
        Some(Column { table: self, field: self.schema.fields.get(number)?, number })
    }

    pub fn columns(&self) -> impl Iterator<Item = Column<'_>> {
        (0..self.schema.fields.len()).filter_map(|number| self.column(number))
    }

    /// The array that has this row of a column, and the row's place in it.
    fn array(&self, column: usize, row: usize) -> Option<(&Array, usize)> {
        let at = self.batches.partition_point(|batch| batch.first + batch.rows <= row);
        let batch = self.batches.get(at)?;
        Some((batch.columns.get(column)?, row.checked_sub(batch.first)?))
    }
}

fn named(field: &Field, problem: Problem) -> Problem {
    problem.within(format_args!("column {:?}", field.name))
}

/// The field that is encoded by a dictionary.
fn encoded(fields: &[Field], id: i64) -> Option<&Field> {
    fields.iter().find_map(|field| match field.dictionary {
        Some(dictionary) if dictionary.id == id => Some(field),
        _ => encoded(&field.children, id),
    })
}
