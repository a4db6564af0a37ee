//! What a schema describes: arrays made of arrays. Arrays that are used more than once are one node, so that this is
//! a graph, with circles where an array contains itself.
//!
//! What always holds after [`Graph::settle`]: every edge leads to a node; a node's length is known from the schema
//! alone, and what contradicts it there already is the node's fault.

use std::sync::Arc;

use super::dtype::Type;
use super::json::Json;
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
    pub kind: Kind,
    pub len: u64,
    pub fault: Option<Fault>,
}

#[derive(Debug)]
pub enum Kind {
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
        columns: Vec<(Box<str>, Edge)>,
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
        generator: Arc<Json>,
    },
    /// A class whose methods are not known here, but its arguments are.
    Record {
        class: Box<str>,
        columns: Vec<(Box<str>, Edge)>,
    },
    /// Why is the node's fault.
    Refused {
        what: Box<str>,
    },
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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    Utf8,
    Ascii,
    Latin1,
    /// Not text: the values are bytes.
    Bytes,
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
    pub fn new(id: Option<i64>, kind: Kind) -> Node {
        Node { id, kind, len: 0, fault: None }
    }

    /// The parts, and what they are called in the tree.
    pub fn edges(&self) -> Vec<Edge> {
        let both = |lists: &Lists, content: &Edge| [lists.edges(), vec![*content]].concat();
        match &self.kind {
            Kind::Flat(_) | Kind::Refused { .. } => Vec::new(),
            Kind::Jagged { lists, content } | Kind::Strings { lists, content, .. } => both(lists, content),
            Kind::Table { columns } | Kind::Record { columns, .. } => {
                columns.iter().map(|(_, edge)| *edge).collect()
            }
            Kind::View { rows: Rows::Numbers(rows), table } => vec![*rows, *table],
            Kind::View { table, .. } => vec![*table],
            Kind::Masked { mask, content, .. }
            | Kind::BitMasked { mask, content, .. }
            | Kind::IndexedMasked { mask, content, .. } => vec![*mask, *content],
            Kind::Union { tags, index, contents } => {
                [vec![*tags], index.iter().copied().collect(), contents.clone()].concat()
            }
            Kind::Chunked { chunks, .. } => chunks.iter().map(|(edge, _)| *edge).collect(),
            Kind::Indexed { index, content } | Kind::Sparse { index, content, .. } => vec![*index, *content],
            Kind::Object { content, .. } => vec![*content],
        }
    }

    pub fn class(&self) -> &str {
        match &self.kind {
            Kind::Flat(_) => "numpy.ndarray",
            Kind::Jagged { .. } => "JaggedArray",
            Kind::Strings { .. } => "StringArray",
            Kind::Table { .. } | Kind::View { .. } => "Table",
            Kind::Masked { .. } => "MaskedArray",
            Kind::BitMasked { .. } => "BitMaskedArray",
            Kind::IndexedMasked { .. } => "IndexedMaskedArray",
            Kind::Union { .. } => "UnionArray",
            Kind::Chunked { is_appendable: false, .. } => "ChunkedArray",
            Kind::Chunked { .. } => "AppendableArray",
            Kind::Indexed { .. } => "IndexedArray",
            Kind::Sparse { .. } => "SparseArray",
            Kind::Object { .. } => "ObjectArray",
            Kind::Record { class, .. } => class,
            Kind::Refused { what } => what,
        }
    }

    pub fn flat(&self) -> Option<&Flat> {
        if let Kind::Flat(flat) = &self.kind { Some(flat) } else { None }
    }
}

impl Graph {
    pub fn node(&self, edge: Edge) -> Option<&Node> {
        self.nodes.get(edge.to)
    }

    fn len_of(&self, edge: Edge) -> u64 {
        self.node(edge).map_or(0, |node| node.len)
    }

    /// The shape of an array of whole numbers; the error is what it is instead.
    fn ints(&self, edge: Edge, what: &str) -> Result<&[u64], Fault> {
        let node = self.node(edge);
        if let Some(fault) = node.and_then(|node| node.fault.clone()) {
            return Err(Fault { problem: format!("its {what}: {}", fault.problem), ..fault });
        }
        match node.and_then(Node::flat) {
            Some(flat) if flat.of.is_int() => Ok(&flat.of.shape),
            Some(flat) => Err(format!("its {what} are {}, not whole numbers", flat.of.name()).into()),
            None => Err(Fault::unsupported(format!("its {what} are no flat array"))),
        }
    }

    /// Finds lengths and faults, parts before what they are part of, and circles. `blob_len` tells how many bytes a
    /// blob has in its member, or why there are none.
    pub fn settle(&mut self, blob_len: &dyn Fn(&Blob) -> Result<u64, Fault>) {
        self.circles = circles(&self.nodes);
        let order = self.order();
        for ix in order {
            let settled = self.measure(ix, blob_len);
            if let Some(node) = self.nodes.get_mut(ix) {
                let (len, fault) = settled;
                node.len = len;
                if node.fault.is_none() {
                    node.fault = fault;
                }
            }
        }
    }

    /// Every node after its parts, where that is possible.
    fn order(&self) -> Vec<Ix> {
        let mut order = Vec::with_capacity(self.nodes.len());
        let mut seen = vec![false; self.nodes.len()];
        for start in 0..self.nodes.len() {
            let mut stack = vec![(start, false)];
            while let Some((ix, is_done)) = stack.pop() {
                if is_done {
                    order.push(ix);
                    continue;
                }
                let Some(node) = self.nodes.get(ix).filter(|_| !seen.get(ix).copied().unwrap_or(true)) else {
                    continue;
                };
                if let Some(seen) = seen.get_mut(ix) {
                    *seen = true;
                }
                stack.push((ix, true));
                stack.extend(node.edges().into_iter().map(|edge| (edge.to, false)));
            }
        }
        order
    }

    fn measure(&self, ix: Ix, blob_len: &dyn Fn(&Blob) -> Result<u64, Fault>) -> (u64, Option<Fault>) {
        let Some(node) = self.nodes.get(ix) else { return (0, None) };
        let found = match &node.kind {
            Kind::Flat(flat) => return measure_flat(flat, blob_len),
            Kind::Jagged { lists, .. } => self.measure_lists(lists),
            Kind::Strings { lists, content, .. } => self.measure_lists(lists).and_then(|len| {
                let content = self.node(*content).and_then(Node::flat);
                let is_bytes = content.is_some_and(|flat| flat.of.size() == 1 && flat.of.number().is_some());
                if is_bytes { Ok(len) } else { Err("its content is no flat array of bytes".into()) }
            }),
            Kind::Table { columns } | Kind::Record { columns, .. } => {
                Ok(columns.iter().map(|(_, edge)| self.len_of(*edge)).min().unwrap_or(0))
            }
            Kind::View { rows, table } => self.measure_view(rows, *table),
            Kind::Masked { mask, content, .. } => self.mask(*mask).and_then(|()| self.fits(*mask, *content)),
            Kind::BitMasked { mask, content, .. } => self.measure_bits(*mask, *content),
            Kind::IndexedMasked { mask, .. } => self.numbers(*mask, "mask"),
            Kind::Union { tags, index, contents } => self.measure_union(*tags, *index, contents),
            Kind::Chunked { chunks, .. } => self.measure_chunks(chunks),
            Kind::Indexed { index, .. } => self.numbers(*index, "index"),
            Kind::Sparse { length, index, content, .. } => {
                self.numbers(*index, "index").and_then(|_| self.fits(*index, *content)).map(|_| *length)
            }
            Kind::Object { content, .. } => Ok(self.len_of(*content)),
            Kind::Refused { .. } => Ok(0),
        };
        match found {
            Ok(len) => (len, None),
            Err(fault) => (0, Some(fault)),
        }
    }

    /// The length of an array of whole numbers of one dimension.
    fn numbers(&self, edge: Edge, what: &str) -> Result<u64, Fault> {
        match self.ints(edge, what)? {
            [] => Ok(self.len_of(edge)),
            _ => Err(format!("its {what} has more than one dimension").into()),
        }
    }

    fn mask(&self, mask: Edge) -> Result<(), Fault> {
        let node = self.node(mask);
        if let Some(fault) = node.and_then(|node| node.fault.clone()) {
            return Err(Fault { problem: format!("its mask: {}", fault.problem), ..fault });
        }
        let flat = node.and_then(Node::flat);
        match flat.and_then(|flat| flat.of.number()) {
            Some(dtype) if dtype.element.size == 1 => Ok(()),
            _ => Err("its mask is no flat array of bool".into()),
        }
    }

    /// As long as `first`, of which `content` has to have as many.
    fn fits(&self, first: Edge, content: Edge) -> Result<u64, Fault> {
        let (need, have) = (self.len_of(first), self.len_of(content));
        let is_refused = self.node(content).is_some_and(|node| node.fault.is_some());
        if need <= have || is_refused {
            return Ok(need);
        }
        Err(format!("its content has {have} items, {need} are needed").into())
    }

    fn measure_lists(&self, lists: &Lists) -> Result<u64, Fault> {
        match *lists {
            Lists::Counts(counts) => self.ints(counts, "counts").map(|_| self.len_of(counts)),
            Lists::Offsets(offsets) => {
                let len = self.numbers(offsets, "offsets")?;
                len.checked_sub(1).ok_or_else(|| "its offsets are empty".into())
            }
            Lists::Bounds { starts, stops } => {
                let (first, second) = (self.ints(starts, "starts")?, self.ints(stops, "stops")?);
                if first != second {
                    return Err(
                        format!("its starts have the inner shape {first:?}, its stops {second:?}").into()
                    );
                }
                let (starts, stops) = (self.len_of(starts), self.len_of(stops));
                if starts > stops {
                    return Err(format!("it has {starts} starts and only {stops} stops").into());
                }
                Ok(starts)
            }
        }
    }

    fn measure_view(&self, rows: &Rows, table: Edge) -> Result<u64, Fault> {
        let have = self.len_of(table);
        match *rows {
            Rows::Numbers(rows) => self.numbers(rows, "view"),
            Rows::Steps { length: 0, .. } => Ok(0),
            Rows::Steps { start, step, length } => {
                let last = i128::from(start) + i128::from(step) * i128::from(length - 1);
                let inside = |row: i128| (0..i128::from(have)).contains(&row);
                if inside(start.into()) && inside(last) {
                    return Ok(length);
                }
                Err(format!("its view goes from row {start} to row {last}, its columns have {have} rows")
                    .into())
            }
        }
    }

    fn measure_bits(&self, mask: Edge, content: Edge) -> Result<u64, Fault> {
        self.mask(mask)?;
        let (bits, len) = (self.len_of(mask).saturating_mul(8), self.len_of(content));
        if bits < len {
            return Err(format!("its mask has {bits} bits, its content {len} items").into());
        }
        Ok(len)
    }

    fn measure_union(&self, tags: Edge, index: Option<Edge>, contents: &[Edge]) -> Result<u64, Fault> {
        let len = self.numbers(tags, "tags")?;
        if let Some(index) = index {
            let have = self.numbers(index, "index")?;
            if have < len {
                return Err(format!("it has {len} tags and only {have} numbers in its index").into());
            }
        }
        if contents.is_empty() && len > 0 { Err("it has tags and no contents".into()) } else { Ok(len) }
    }

    fn measure_chunks(&self, chunks: &[(Edge, Option<u64>)]) -> Result<u64, Fault> {
        let mut whole = 0u64;
        for (number, (edge, size)) in chunks.iter().enumerate() {
            let have = self.len_of(*edge);
            let size = size.unwrap_or(have);
            let is_refused = self.node(*edge).is_some_and(|node| node.fault.is_some());
            if size > have && !is_refused {
                return Err(format!("chunk {number} has {have} items, its size is said to be {size}").into());
            }
            whole = whole.checked_add(size).ok_or("its sizes do not fit into 64 bits")?;
        }
        Ok(whole)
    }
}

fn measure_flat(flat: &Flat, blob_len: &dyn Fn(&Blob) -> Result<u64, Fault>) -> (u64, Option<Fault>) {
    let size = flat.of.size();
    let claimed = flat.count.unwrap_or(0);
    let have = match blob_len(&flat.blob) {
        Ok(have) => have,
        Err(fault) => return (claimed, Some(fault)),
    };
    let Some(count) = flat.count else {
        return match (flat.blob.codec, have.checked_rem(size)) {
            (Some(_), _) => (
                0,
                Some(Fault::unsupported(
                    "its length is -1 (all there are), which is not read of compressed bytes",
                )),
            ),
            (None, Some(0)) => (have / size, None),
            _ => (0, Some(format!("it has {have} bytes, which is no multiple of its {size}").into())),
        };
    };
    let member = &flat.blob.member;
    match count.checked_mul(size) {
        None => (count, Some(format!("{count} elements of {size} bytes do not fit into 64 bits").into())),
        Some(_) if flat.blob.codec.is_some() => (count, None),
        Some(need) if need > have => (
            count,
            Some(format!("{count} elements of {size} bytes need {need}, {member:?} has {have}").into()),
        ),
        // What the reference writes of a type with padding, and reads back as something else.
        Some(need) if need != have && matches!(flat.of.cell, super::dtype::Cell::Fields(_)) => {
            let problem = format!(
                "{count} structures of {size} bytes need {need}, {member:?} has {have}: the padding of their type was lost when they were saved"
            );
            (count, Some(problem.into()))
        }
        Some(_) => (count, None),
    }
}

/// The edges that refer to a node from within it: both ends in one strongly connected component (Tarjan's search,
/// without recursion).
fn circles(nodes: &[Node]) -> Vec<(Ix, Ix)> {
    const NEVER: usize = usize::MAX;
    let edges: Vec<Vec<Edge>> = nodes.iter().map(Node::edges).collect();
    let (mut number, mut low) = (vec![NEVER; nodes.len()], vec![NEVER; nodes.len()]);
    let (mut component, mut next) = (vec![NEVER; nodes.len()], 0);
    let (mut open, mut found) = (Vec::new(), 0);
    for start in 0..nodes.len() {
        let mut calls = if number[start] == NEVER { vec![(start, 0)] } else { Vec::new() };
        while let Some((ix, at)) = calls.pop() {
            if at == 0 {
                (number[ix], low[ix]) = (next, next);
                next += 1;
                open.push(ix);
            }
            if let Some(edge) = edges[ix].get(at) {
                calls.push((ix, at + 1));
                if number[edge.to] == NEVER {
                    calls.push((edge.to, 0));
                } else if component[edge.to] == NEVER {
                    low[ix] = low[ix].min(number[edge.to]);
                }
                continue;
            }
            if let Some((caller, _)) = calls.last() {
                low[*caller] = low[*caller].min(low[ix]);
            }
            if low[ix] == number[ix] {
                while let Some(member) = open.pop() {
                    component[member] = found;
                    if member == ix {
                        break;
                    }
                }
                found += 1;
            }
        }
    }
    let closes = |from: Ix, edge: &&Edge| edge.is_ref && component[from] == component[edge.to];
    (0..nodes.len())
        .flat_map(|from| {
            edges[from].iter().filter(move |edge| closes(from, edge)).map(move |edge| (from, edge.to))
        })
        .collect()
}
