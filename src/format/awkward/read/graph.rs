//! What a schema describes: arrays made of arrays. Arrays that are used more than once are one node, so that this is
//! a graph, with circles where an array contains itself.
//!
//! What always holds after [`Graph::settle`]: every edge leads to a node; a node's length is known from the schema
//! alone, and what contradicts it there already is the node's fault.

mod circles;
mod edges;
mod settle;

use super::super::json::Json;
use super::dtype::Type;
use super::encoding::Encoding;
use crate::codec::zip::Fault;

/// A node's number.
pub type Ix = usize;

/// From a node to one of its parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    pub to: Ix,
    /// It is not where the node is defined: it refers to it.
    pub is_ref: bool,
}

#[derive(Debug)]
pub struct Node {
    /// What the schema calls it.
    pub id: Option<i64>,
    pub kind: ArrayKind,
    pub len: u64,
    pub fault: Option<Fault>,
}

#[derive(Debug)]
pub enum ArrayKind {
    Flat(Flat),
    Jagged {
        lists: Lists,
        content: Edge,
    },
    Strings {
        lists: Lists,
        content: Edge,
        encoding: Encoding,
    },
    /// Columns with their names; rows are those of the shortest.
    Table {
        columns: Vec<Column>,
    },
    View {
        rows: Rows,
        table: Edge,
    },
    Masked {
        mask: Edge,
        content: Edge,
        masked_when: bool,
    },
    BitMasked {
        mask: Edge,
        content: Edge,
        masked_when: bool,
        is_lsb: bool,
    },
    IndexedMasked {
        mask: Edge,
        content: Edge,
        masked_when: i64,
    },
    /// Without an index, each item is the next of its content.
    Union {
        tags: Edge,
        index: Option<Edge>,
        contents: Vec<Edge>,
    },
    /// The first items of each chunk, as many as the number beside it says.
    Chunked {
        chunks: Vec<(Edge, Option<u64>)>,
        is_appendable: bool,
    },
    Indexed {
        index: Edge,
        content: Edge,
    },
    Sparse {
        length: u64,
        index: Edge,
        content: Edge,
        default: Scalar,
    },
    /// What a function would make of the items; it is never called.
    Object {
        content: Edge,
        generator: Box<str>,
    },
    /// A class whose methods are not known here, but its arguments are.
    Record {
        class: Box<str>,
        columns: Vec<Column>,
    },
    /// Why is the node's fault.
    Refused {
        what: Box<str>,
    },
}

#[derive(Debug)]
pub struct Column {
    pub name: Box<str>,
    pub edge: Edge,
    /// A later one has its name: values have that.
    pub is_hidden: bool,
}

/// Bytes of a member, and what they are.
#[derive(Debug)]
pub struct Flat {
    pub blob: Blob,
    pub of: Type,
    /// None: as many as there are.
    pub count: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blob {
    pub member: Box<str>,
    pub codec: Option<Codec>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Codec {
    Zlib,
    /// .xz or .lzma.
    Lzma,
    Lz4Block,
}

impl Codec {
    pub fn name(self) -> &'static str {
        match self {
            Codec::Zlib => "zlib",
            Codec::Lzma => "lzma",
            Codec::Lz4Block => "lz4.block",
        }
    }
}

/// Where the items of each list are in the content.
#[derive(Clone, Copy, Debug)]
pub enum Lists {
    /// One after the other, so many each.
    Counts(Edge),
    Bounds {
        starts: Edge,
        stops: Edge,
    },
    /// One after the other; one number more than there are lists.
    Offsets(Edge),
}

impl Lists {
    pub fn edges(&self) -> Vec<Edge> {
        match self {
            Lists::Counts(edge) | Lists::Offsets(edge) => vec![*edge],
            Lists::Bounds { starts, stops } => vec![*starts, *stops],
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub enum Rows {
    /// `start + step * k` for k below `length`.
    Steps {
        start: i64,
        step: i64,
        length: u64,
    },
    Numbers(Edge),
}

/// A value that is no array.
#[derive(Clone, Debug, PartialEq)]
pub enum Scalar {
    Json(Json),
    /// What JSON has no number for, from the one pickle that is read.
    Float(f64),
}

pub struct Graph {
    pub nodes: Vec<Node>,
    pub root: Edge,
    /// What is odd, and all the same read as the reference does.
    pub warnings: Vec<String>,
    /// Edges that close a circle, as (from, to).
    pub circles: Vec<(Ix, Ix)>,
}

impl Node {
    pub fn new(id: Option<i64>, kind: ArrayKind) -> Node {
        Node { id, kind, len: 0, fault: None }
    }

    pub fn class(&self) -> &str {
        match &self.kind {
            ArrayKind::Flat(_) => "numpy.ndarray",
            ArrayKind::Jagged { .. } => "JaggedArray",
            ArrayKind::Strings { .. } => "StringArray",
            ArrayKind::Table { .. } | ArrayKind::View { .. } => "Table",
            ArrayKind::Masked { .. } => "MaskedArray",
            ArrayKind::BitMasked { .. } => "BitMaskedArray",
            ArrayKind::IndexedMasked { .. } => "IndexedMaskedArray",
            ArrayKind::Union { .. } => "UnionArray",
            ArrayKind::Chunked { is_appendable: false, .. } => "ChunkedArray",
            ArrayKind::Chunked { .. } => "AppendableArray",
            ArrayKind::Indexed { .. } => "IndexedArray",
            ArrayKind::Sparse { .. } => "SparseArray",
            ArrayKind::Object { .. } => "ObjectArray",
            ArrayKind::Record { class, .. } => class,
            ArrayKind::Refused { what } => what,
        }
    }

    /// Why its items are not shown, though all that they are made from is read.
    pub fn unshown(&self) -> Option<String> {
        match &self.kind {
            ArrayKind::Object { .. } => Some(
                "its items are made by code, which is not run; what they are made from is readable".into(),
            ),
            ArrayKind::Strings { encoding: Encoding::Unknown(name), .. } => Some(format!(
                "its strings are in the encoding {name:?}, which is not known; their bytes are readable"
            )),
            _ => None,
        }
    }

    pub fn flat(&self) -> Option<&Flat> {
        if let ArrayKind::Flat(flat) = &self.kind { Some(flat) } else { None }
    }
}

impl Graph {
    /// Of what is not read.
    pub fn refused(what: &str, fault: Fault) -> Graph {
        let node = Node { fault: Some(fault), ..Node::new(None, ArrayKind::Refused { what: what.into() }) };
        let root = Edge { to: 0, is_ref: false };
        Graph { nodes: vec![node], root, warnings: Vec::new(), circles: Vec::new() }
    }

    pub fn node(&self, edge: Edge) -> Option<&Node> {
        self.nodes.get(edge.to)
    }
}
