//! Reads untrusted Arrow IPC files and streams. Messages are verified flatbuffers of the crate arrow-ipc. Its reader is
//! not used, because it allocates whatever sizes buffers claim, and panics on some inconsistent files. Supports
//! multiple batches, delta dictionaries, LZ4 and zstd compression, and all of Arrow's types, including views and run
//! ends.
//!
//! | module, lowest layer first | |
//! |---|---|
//! | `field` | columns and their types |
//! | `message` | the messages of a file or stream |
//! | `buffer` | decompressed buffers of a batch |
//! | `array` | the values of a column in one batch |
//! | `dictionary` | dictionaries and their deltas |
//! | `column` | values of a column by row |
//! | `node` | values as YAML |
//! | `file` | serving a file or stream as an Arrow file |
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

/// Approximate memory per row, used to limit the number of rows: a row may take no bytes in the file.
const ROW_MEMORY: u64 = 256;

/// Damage, or something unsupported.
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

    /// Prefixes the message with its context.
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

/// Reads the schema, and the locations of batches.
pub fn messages(source: &dyn Source) -> Result<Messages> {
    message::read(source)?.map_err(|(offset, problem)| problem.at(source.place().at(offset)))
}

/// A table in memory.
pub struct Table {
    pub schema: Schema,
    batches: Vec<Batch>,
    rows: usize,
    /// Maximum number of rows.
    max_rows: usize,
    pub is_stream: bool,
    /// Approximate memory in bytes.
    pub memory: u64,
}

struct Batch {
    /// The table's row number of its first row.
    first: usize,
    rows: usize,
    columns: Vec<Array>,
}

impl Table {
    /// Reads the table described by [`messages`]. Values are not validated yet; allocations are limited by the file's
    /// size.
    pub fn read(source: &dyn Source, messages: Messages) -> Result<Table> {
        let mut table = Table {
            schema: messages.schema,
            batches: Vec::new(),
            rows: 0,
            max_rows: (Budget::max_for(source.len()) / ROW_MEMORY) as usize,
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
        let max = self.max_rows;
        let rows = usize::try_from(batch.length())
            .map_err(|_| Problem::damaged(format!("a batch of {} rows", batch.length())))?;
        if self.rows.saturating_add(rows) > max {
            let before = self.rows;
            return Err(Problem::unsupported(format!(
                "a batch of {rows} rows behind {before}; the limit for a file of this size is {max}"
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

    /// A column by its index in the schema.
    pub fn column(&self, number: usize) -> Option<Column<'_>> {
        Some(Column { table: self, field: self.schema.fields.get(number)?, number })
    }

    pub fn columns(&self) -> impl Iterator<Item = Column<'_>> {
        (0..self.schema.fields.len()).filter_map(|number| self.column(number))
    }

    /// The array with this row of a column, and the row's index in it.
    fn array(&self, column: usize, row: usize) -> Option<(&Array, usize)> {
        let at = self.batches.partition_point(|batch| batch.first + batch.rows <= row);
        let batch = self.batches.get(at)?;
        Some((batch.columns.get(column)?, row.checked_sub(batch.first)?))
    }
}

fn named(field: &Field, problem: Problem) -> Problem {
    problem.within(format_args!("column {:?}", field.name))
}

/// The field encoded by dictionary `id`.
fn encoded(fields: &[Field], id: i64) -> Option<&Field> {
    fields.iter().find_map(|field| match field.dictionary {
        Some(dictionary) if dictionary.id == id => Some(field),
        _ => encoded(&field.children, id),
    })
}
