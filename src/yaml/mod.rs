//! YAML 1.1 as PyYAML writes and reads it. [`each_item`] reads RAB headers ([`json_items`] those of the oldest files),
//! and [`write`] writes sidecars.
//!
//! Invariants: no input, which is untrusted, can cause a panic, a stack overflow or memory use out of proportion to its
//! length; no tag is ever executed; the output of [`write`], and the original text of a `portable` item, load to the
//! same values with PyYAML and with a YAML 1.2 loader.

mod compose;
mod emit;
mod events;
mod json;
mod portable;
mod reread;
mod resolve;
mod surrogates;
mod text;
mod to_json;
mod value;

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

pub use compose::{Anchors, each_item, typed_value, value, value_to_write};
pub use emit::{Measure, base64_of, write, written_len};
pub use events::is_guarded;
pub use json::json_items;
pub use portable::{dedent, dedented_len, is_word};
pub use reread::{json, reread};
pub use resolve::is_plain_number;
pub use text::Text;
pub use to_json::{special, to_json};
pub use value::Value;

/// A value. Nodes are shared: an alias refers to the same `Arc` as its anchor.
#[derive(Clone, Debug, PartialEq)]
pub enum Node {
    Null,
    Bool(bool),
    /// Canonical decimal of any size. Numbers in base 2, 8 or 16 with more than 600 digits become `0x..` instead.
    Int(Box<str>),
    Float(f64),
    Str(Text),
    /// Canonical: `2020-01-02`, or `2020-01-02 03:04:05.678900+01:00` (fraction and zone are optional).
    Timestamp(Box<str>),
    Binary(Box<[u8]>),
    Set(Vec<Arc<Node>>),
    /// Lists and tuples; `!!omap` and `!!pairs` become lists of pairs.
    Seq(Vec<Arc<Node>>),
    /// In the original order, without duplicate keys (except keys that are collections, which are not compared).
    Map(Vec<(Arc<Node>, Arc<Node>)>),
}

impl Node {
    pub fn text(text: &str) -> Node {
        Node::Str(Text::from(text))
    }

    /// The value of a text key of a mapping.
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.get_shared(key).map(Arc::as_ref)
    }

    /// As [`Node::get`], for keeping the value without copying it.
    pub fn get_shared(&self, key: &str) -> Option<&Arc<Node>> {
        let has_key =
            |(k, _): &&(Arc<Node>, _)| matches!(&**k, Node::Str(text) if text.as_bytes() == key.as_bytes());
        self.as_map()?.iter().find(has_key).map(|(_, value)| value)
    }

    pub fn as_map(&self) -> Option<&[(Arc<Node>, Arc<Node>)]> {
        if let Node::Map(pairs) = self { Some(pairs) } else { None }
    }

    pub fn as_text(&self) -> Option<&Text> {
        if let Node::Str(text) = self { Some(text) } else { None }
    }

    /// A string without lone surrogates.
    pub fn as_str(&self) -> Option<&str> {
        self.as_text()?.as_str()
    }

    pub fn as_i128(&self) -> Option<i128> {
        if let Node::Int(digits) = self { digits.parse().ok() } else { None }
    }

    pub fn as_u64(&self) -> Option<u64> {
        self.as_i128()?.try_into().ok()
    }

    pub fn is_null(&self) -> bool {
        matches!(self, Node::Null)
    }
}

/// Constructors.
impl Node {
    pub fn int(value: impl Into<i128>) -> Node {
        Node::Int(value.into().to_string().into())
    }

    /// A mapping with text keys, for writing.
    pub fn map<'k>(pairs: impl IntoIterator<Item = (&'k str, Node)>) -> Node {
        Node::Map(
            pairs.into_iter().map(|(key, value)| (Arc::new(Node::text(key)), Arc::new(value))).collect(),
        )
    }

    pub fn seq(items: impl IntoIterator<Item = Node>) -> Node {
        Node::Seq(items.into_iter().map(Arc::new).collect())
    }

    #[cfg(test)]
    pub fn as_seq(&self) -> Option<&[Arc<Node>]> {
        if let Node::Seq(items) = self { Some(items) } else { None }
    }
}

/// One item of the top-level list.
#[derive(Clone, Debug)]
pub struct Item {
    pub node: Arc<Node>,
    /// Byte range in the text. A block mapping extends from its first key to the end of its last non-blank line,
    /// including the line break.
    pub span: Range<usize>,
    pub form: Form,
    /// True if the span's text, [`dedent`]ed by its column, is a YAML document that loads to `node` with both PyYAML
    /// and YAML 1.2. If false, [`write`] the node instead.
    pub portable: bool,
    /// The line where the item begins, counted from 1.
    pub line: u64,
}

/// The syntax of an item in its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A block mapping whose first key is in this column.
    Block {
        column: usize,
    },
    Flow,
    Json,
}

/// An error in the text, and its position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Byte offset in the text.
    pub offset: u64,
    pub what: String,
}

impl Problem {
    fn new(offset: usize, what: impl Into<String>) -> Problem {
        Problem { offset: offset as u64, what: what.into() }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (at byte {} of the text)", self.what, self.offset)
    }
}

/// Why reading ended before the end of the text.
#[derive(Clone, Debug)]
pub enum Stop {
    /// An error in the text.
    Problem(Problem),
    /// Requested by the caller's closure.
    Caller(crate::Error),
}

impl From<Problem> for Stop {
    fn from(problem: Problem) -> Stop {
        Stop::Problem(problem)
    }
}

impl From<crate::Error> for Stop {
    fn from(error: crate::Error) -> Stop {
        Stop::Caller(error)
    }
}

#[cfg(test)]
mod tests;
