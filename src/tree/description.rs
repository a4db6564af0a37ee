//! Everything that a container records about a dataset, whatever its format.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use super::naming;
use crate::array::{Array, Element};
use crate::yaml::{Node, Text};

#[derive(Clone, Debug)]
pub struct Description {
    /// The true name.
    pub name: Text,
    /// The bytes of the name in the container, where those of `name` are others: a file name that is not UTF-8.
    pub raw_name: Option<Box<[u8]>>,
    /// What the format calls its type: `text`, `float32`, `dataframe`, ...
    pub kind: String,
    /// For arrays of known element type, byte order and layout.
    pub array: Option<Array>,
    /// For tables.
    pub table: Option<Table>,
    /// What the format calls its compression.
    pub compression: Option<String>,
    /// Its bytes in the file, as far as the file has them.
    pub stored: Option<Range<u64>>,
    /// Length of the decoded bytes where something tells.
    pub decoded_len: Option<u64>,
    /// A length of the decoded bytes that is recorded by itself.
    pub recorded_len: Option<u64>,
    pub checksum: Option<Checksum>,
    /// Its file has a header before its elements, which are the last `decoded_len` bytes.
    pub has_header: bool,
    /// What makes no sense in the description; the dataset cannot be read then.
    pub fault: Option<String>,
    /// Its bytes can be checked, but what they mean is not interpreted: Python objects, which only running code makes.
    pub is_opaque: bool,
    pub metadata: Arc<Node>,
    /// The description as the container has it.
    pub codec: Arc<Node>,
}

impl Description {
    /// Of a dataset of which the container says no more than this.
    pub fn of(name: impl Into<Text>, kind: impl Into<String>) -> Description {
        Description {
            name: name.into(),
            raw_name: None,
            kind: kind.into(),
            array: None,
            table: None,
            compression: None,
            stored: None,
            decoded_len: None,
            recorded_len: None,
            checksum: None,
            has_header: false,
            fault: None,
            is_opaque: false,
            metadata: Arc::new(Node::Null),
            codec: Arc::new(Node::Null),
        }
    }

    /// The name as text, percent-encoded if it is not UTF-8: `Archive::find` understands it.
    pub fn printed_name(&self) -> Cow<'_, str> {
        naming::printed(self.raw_name.as_deref().unwrap_or(self.name.as_bytes()))
    }

    /// Where its bytes are in the file; None if the description makes no sense.
    pub fn stored_range(&self) -> Option<Range<u64>> {
        self.stored.clone().filter(|_| self.fault.is_none())
    }

    /// The bytes that it takes in the file.
    pub fn stored_len(&self) -> u64 {
        self.stored_range().map_or(0, |range| range.end - range.start)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checksum {
    /// The bytes in the file that it is of: the stored ones, maybe with others around them.
    pub range: Range<u64>,
    pub algorithm: String,
    /// In hexadecimal digits.
    pub value: String,
}

/// What the axes of samples mean: the first is time, the second channels.
#[derive(Clone, Debug, PartialEq)]
pub struct Sampling {
    /// Samples per second.
    pub rate: f64,
    /// The names of channels, if it has channels.
    pub channels: Vec<Option<String>>,
}

/// Columns one after the other, each of them contiguous.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    pub rows: u64,
    pub columns: Vec<ColumnInfo>,
}

impl Table {
    /// The bytes that it takes; None if they do not fit into 64 bits.
    pub fn byte_len(&self) -> Option<u64> {
        let width = self.columns.iter().try_fold(0u64, |sum, column| sum.checked_add(column.width))?;
        width.checked_mul(self.rows)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnInfo {
    pub name: String,
    /// None: text, padded with NUL bytes.
    pub element: Option<Element>,
    pub big_endian: bool,
    /// Bytes of a cell.
    pub width: u64,
    /// The type to hand back, in the format's words.
    pub original: String,
}
