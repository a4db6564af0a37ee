//! Computes the lengths of nodes, and the faults visible from the schema and the lengths of members. A refused part
//! has no length: whatever would derive its length from it is refused too, and names that part.

use super::circles::{circles, order};
use super::{ArrayKind, Blob, Column, Edge, Flat, Graph, Ix, Lists, Node, Rows};
use crate::codec::zip::Fault;

/// Maximum number of eight-byte numbers in a file.
const MAX_ITEMS: u64 = i64::MAX as u64 / 8 - 1;
/// Characters of a part's problem quoted by what contains it.
const MAX_QUOTED: usize = 400;

impl Graph {
    fn len_of(&self, edge: Edge) -> u64 {
        self.node(edge).map_or(0, |node| node.len)
    }

    /// A part without a fault.
    fn valid_node(&self, edge: Edge, what: &str) -> Result<&Node, Fault> {
        let node = self.node(edge).ok_or_else(|| format!("its {what} is missing"))?;
        let Some(Fault { problem, is_unsupported }) = &node.fault else { return Ok(node) };
        let problem: String = problem.chars().take(MAX_QUOTED).collect();
        Err(Fault { problem: format!("its {what}: {problem}"), is_unsupported: *is_unsupported })
    }

    fn valid_len(&self, edge: Edge, what: &str) -> Result<u64, Fault> {
        self.valid_node(edge, what).map(|node| node.len)
    }

    /// The shape of an integer array; the error says what it is instead.
    fn ints(&self, edge: Edge, what: &str) -> Result<&[u64], Fault> {
        match self.valid_node(edge, what)?.flat() {
            Some(flat) if flat.of.is_int() => Ok(&flat.of.shape),
            Some(flat) => Err(format!("its {what} are {}, not whole numbers", flat.of.name()).into()),
            None => Err(Fault::unsupported(format!("its {what} are not a flat array"))),
        }
    }

    /// Computes lengths, faults and cycles, parts before what contains them. `blob_len` returns the bytes of a blob in
    /// its member, or why there are none.
    pub fn settle(&mut self, blob_len: &dyn Fn(&Blob) -> Result<u64, Fault>) {
        self.circles = circles(&self.nodes);
        for ix in order(&self.nodes) {
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

    fn measure(&self, ix: Ix, blob_len: &dyn Fn(&Blob) -> Result<u64, Fault>) -> (u64, Option<Fault>) {
        let Some(node) = self.nodes.get(ix) else { return (0, None) };
        let found = match &node.kind {
            ArrayKind::Flat(flat) => return measure_flat(flat, blob_len),
            ArrayKind::Jagged { lists, .. } => self.measure_lists(lists),
            ArrayKind::Strings { lists, content, .. } => self.measure_lists(lists).and_then(|len| {
                let is_empty = self.len_of(*content) == 0;
                let content = self.node(*content).and_then(Node::flat);
                // Empty bytes may have any type: awkward0 writes an empty list as float64.
                let is_bytes = |flat: &Flat| flat.of.size() == 1 && flat.of.number().is_some();
                if content.is_some_and(|flat| is_empty || is_bytes(flat)) {
                    Ok(len)
                } else {
                    Err("its content is not a flat array of bytes".into())
                }
            }),
            ArrayKind::Table { columns } | ArrayKind::Record { columns, .. } => self.measure_columns(columns),
            ArrayKind::View { rows, table } => self.measure_view(rows, *table),
            ArrayKind::Masked { mask, content, .. } => {
                self.mask(*mask).and_then(|()| self.fits(*mask, *content))
            }
            ArrayKind::BitMasked { mask, content, .. } => self.measure_bits(*mask, *content),
            ArrayKind::IndexedMasked { mask, .. } => self.numbers(*mask, "mask"),
            ArrayKind::Union { tags, index, contents } => self.measure_union(*tags, *index, contents),
            ArrayKind::Chunked { chunks, .. } => self.measure_chunks(chunks),
            ArrayKind::Indexed { index, .. } => self.numbers(*index, "index"),
            ArrayKind::Sparse { length, index, content, .. } => {
                self.numbers(*index, "index").and_then(|_| self.fits(*index, *content)).map(|_| *length)
            }
            ArrayKind::Object { content, .. } => self.valid_len(*content, "content"),
            ArrayKind::Refused { .. } => Ok(0),
        };
        match found.and_then(|len| self.has_files(node, len)) {
            Ok(len) => (len, None),
            Err(fault) => (0, Some(fault)),
        }
    }

    /// Fails if a derived file with a number per item would be longer than files can be.
    fn has_files(&self, node: &Node, len: u64) -> Result<u64, Fault> {
        let inner = match &node.kind {
            ArrayKind::View { .. } | ArrayKind::Union { .. } => 1,
            ArrayKind::Jagged { lists, .. } | ArrayKind::Strings { lists, .. } => {
                lists.edges().first().map_or(1, |edge| {
                    self.node(*edge).and_then(Node::flat).map_or(1, |flat| flat.of.shape.iter().product())
                })
            }
            _ => return Ok(len),
        };
        match len.checked_mul(inner) {
            Some(items) if items <= MAX_ITEMS => Ok(len),
            _ => Err(Fault::unsupported(format!(
                "it has {len} items of {inner} numbers, and the limit is {MAX_ITEMS} numbers"
            ))),
        }
    }

    /// The number of rows is that of the shortest column.
    fn measure_columns(&self, columns: &[Column]) -> Result<u64, Fault> {
        let mut shortest = None;
        for column in columns {
            let len = self.valid_node(column.edge, "column").map(|node| node.len).map_err(|fault| {
                let name: String = column.name.chars().take(MAX_QUOTED).collect();
                Fault { problem: fault.problem.replacen("column", &format!("column {name:?}"), 1), ..fault }
            })?;
            shortest = Some(shortest.map_or(len, |shortest: u64| shortest.min(len)));
        }
        Ok(shortest.unwrap_or(0))
    }

    /// The length of a one-dimensional integer array.
    fn numbers(&self, edge: Edge, what: &str) -> Result<u64, Fault> {
        match self.ints(edge, what)? {
            [] => Ok(self.len_of(edge)),
            _ => Err(format!("its {what} has more than one dimension").into()),
        }
    }

    fn mask(&self, mask: Edge) -> Result<(), Fault> {
        let flat = self.valid_node(mask, "mask")?.flat();
        match flat.and_then(|flat| flat.of.number()) {
            Some(dtype) if dtype.element.size == 1 || self.len_of(mask) == 0 => Ok(()),
            _ => Err("its mask is not a flat array of bool".into()),
        }
    }

    /// The length of `first`, which `content` must at least match.
    fn fits(&self, first: Edge, content: Edge) -> Result<u64, Fault> {
        let (need, have) = (self.len_of(first), self.len_of(content));
        let is_refused = self.node(content).is_some_and(|node| node.fault.is_some());
        if need <= have || is_refused {
            return Ok(need);
        }
        Err(format!("its content has {have} items, but {need} are needed").into())
    }

    fn measure_lists(&self, lists: &Lists) -> Result<u64, Fault> {
        match *lists {
            Lists::Counts(counts) => self.ints(counts, "counts").map(|_| self.len_of(counts)),
            Lists::Offsets(offsets) => {
                // Empty offsets mean no lists, as in the reference.
                self.numbers(offsets, "offsets").map(|len| len.saturating_sub(1))
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
        match *rows {
            Rows::Numbers(rows) => self.numbers(rows, "view"),
            Rows::Steps { step: 0, .. } => Err("its view has the step 0".into()),
            Rows::Steps { length: 0, .. } => self.valid_len(table, "table").map(|_| 0),
            Rows::Steps { start, step, length } => {
                let have = self.valid_len(table, "table")?;
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
        let (bits, len) = (self.len_of(mask).saturating_mul(8), self.valid_len(content, "content")?);
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
            let size = match size {
                Some(size) => *size,
                None => self.valid_len(*edge, &format!("chunk {number}"))?,
            };
            let is_refused = self.node(*edge).is_some_and(|node| node.fault.is_some());
            if size > have && !is_refused {
                return Err(format!("chunk {number} has {have} items, but its size says {size}").into());
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
                    "its length is -1 (all there are), which is not supported for compressed bytes",
                )),
            ),
            (None, Some(0)) => (have / size, None),
            _ => (0, Some(format!("it has {have} bytes, which is not a multiple of its {size}").into())),
        };
    };
    let member = &flat.blob.member;
    match count.checked_mul(size).filter(|need| *need <= i64::MAX as u64) {
        None => (count, Some(format!("{count} elements of {size} bytes do not fit into 63 bits").into())),
        Some(_) if flat.blob.codec.is_some() => (count, None),
        Some(need) if need > have => (
            count,
            Some(format!("{count} elements of {size} bytes need {need}, {member:?} has {have}").into()),
        ),
        // A padded struct, which the reference writes but does not read back correctly.
        Some(need) if need != have && matches!(flat.of.cell, super::super::dtype::ElementKind::Fields(_)) => {
            let problem = format!(
                "{count} structures of {size} bytes need {need}, {member:?} has {have}: the padding of their type was lost when they were saved"
            );
            (count, Some(problem.into()))
        }
        Some(_) => (count, None),
    }
}
