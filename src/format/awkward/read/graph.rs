//! The arrays a schema describes, each made of others. An array used more than once is one node, so this is a graph,
//! with cycles where an array contains itself.
//!
//! Invariants after [`Graph::settle`]: every edge leads to a node; a node's length is known from the schema alone, and
//! any contradiction already visible there is the node's fault.

mod circles;
mod edges;
mod settle;

use super::super::json::Json;
use super::dtype::Type;
use super::encoding::Encoding;
use crate::codec::zip::Fault;

/// Index of a node.
pub type Ix = usize;

/// Leads from a node to one of its parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    pub to: Ix,
    /// The node is defined elsewhere, and referred to here.
    pub is_ref: bool,
}

#[derive(Debug)]
pub struct Node {
    /// Its id in the schema.
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
    /// Named columns; the number of rows is that of the shortest.
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
    /// Without an index, each item is the next one of its content.
    Union {
        tags: Edge,
        index: Option<Edge>,
        contents: Vec<Edge>,
    },
    /// The first items of each chunk, as many as the number beside it.
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
    /// Items that a function would turn into objects; it is never called.
    Object {
        content: Edge,
        generator: Box<str>,
    },
    /// A class whose methods are unknown here, but whose arguments are known.
    Record {
        class: Box<str>,
        columns: Vec<Column>,
    },
    /// The node's fault says why.
    Refused {
        what: Box<str>,
    },
}

#[derive(Debug)]
pub struct Column {
    pub name: Box<str>,
    pub edge: Edge,
    /// A later column has the same name; its values win.
    pub is_hidden: bool,
}

/// A range of elements in a member, with their type.
#[derive(Debug)]
pub struct Flat {
    pub blob: Blob,
    pub of: Type,
    /// None: as many as the member holds.
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

/// How the content is divided into lists.
#[derive(Clone, Copy, Debug)]
pub enum Lists {
    /// Consecutive lists, given by their lengths.
    Counts(Edge),
    Bounds {
        starts: Edge,
        stops: Edge,
    },
    /// Consecutive lists, given by one offset more than there are lists.
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

/// A value that is not an array.
#[derive(Clone, Debug, PartialEq)]
pub enum Scalar {
    Json(Json),
    /// A number that JSON cannot express, from the one supported pickle.
    Float(f64),
}

pub struct Graph {
    pub nodes: Vec<Node>,
    pub root: Edge,
    /// Oddities that are nevertheless read as the reference does.
    pub warnings: Vec<String>,
    /// Edges that close a cycle, as (from, to).
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

    /// Why its items cannot be shown, although everything they are made of is readable.
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
    /// A graph for a schema that cannot be read.
    pub fn refused(what: &str, fault: Fault) -> Graph {
        let node = Node { fault: Some(fault), ..Node::new(None, ArrayKind::Refused { what: what.into() }) };
        let root = Edge { to: 0, is_ref: false };
        Graph { nodes: vec![node], root, warnings: Vec::new(), circles: Vec::new() }
    }

    pub fn node(&self, edge: Edge) -> Option<&Node> {
        self.nodes.get(edge.to)
    }
}
