//! One array of a container: its schema and the bytes of its flat parts. Reads integers from them, and computes where
//! lists begin and end.
//!
//! Invariants: numbers are read in blocks of [`BLOCK`]; of running sums over a part only some are kept, and each
//! number is read once to compute them. What is kept is charged to the container's budget.

use std::ops::ControlFlow;
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;

use super::super::SCHEMA;
use super::super::views::path::ViewPath;
use super::budget::Of;
use super::document::{self, Document};
use super::dtype::ElementKind;
use super::graph::{ArrayKind, Edge, Graph, Ix, Lists, Node, Rows};
use super::schema;
use super::store::Store;
use crate::array::{Dtype, Element, Endian, int};
use crate::codec::zip::Fault;
use crate::content::Content;
use crate::error::Place;
use crate::tree::Identity;
use crate::{Error, Result};

/// Numbers that are read and cached together.
pub const BLOCK: u64 = 1024;
/// Overhead of a list of sums, counted in sums.
const BESIDE: u64 = 4;

pub struct Array {
    /// The name of its schema member without `.json`.
    pub name: Box<str>,
    pub document: Result<Document, Fault>,
    pub graph: Graph,
    store: Arc<Store>,
    contents: Vec<OnceLock<Content>>,
    /// For counts: their sum before each block. For unions without an index: the number of items of each content
    /// before each block.
    sums: Vec<Mutex<Vec<Arc<[u64]>>>>,
    /// For sparse arrays: whether the whole index is sorted.
    pub ordered: Vec<OnceLock<Result<()>>>,
    /// The paths of parts that have their own.
    pub places: Vec<Option<ViewPath>>,
    /// Named by the paths of its files, because its name clashes with another?
    pub is_by_path: bool,
}

impl Array {
    /// Reads the array whose schema is the member with this number. Fails only if the schema cannot be read.
    pub fn read(store: &Arc<Store>, name: &str, number: usize) -> Result<Array> {
        let document = document::read(store.content(number)?, store.crc(number), store.budget())?;
        let graph = match &document {
            Ok(document) => schema::graph(document, store.budget()),
            Err(fault) => Graph::refused("schema", fault.clone()),
        };
        Ok(Array::new(store.clone(), name.into(), document, graph))
    }

    fn new(store: Arc<Store>, name: Box<str>, document: Result<Document, Fault>, mut graph: Graph) -> Array {
        graph.settle(&|blob| store.blob_len(blob));
        let count = graph.nodes.len();
        Array {
            name,
            document,
            store,
            contents: (0..count).map(|_| OnceLock::new()).collect(),
            sums: (0..count).map(|_| Mutex::default()).collect(),
            ordered: (0..count).map(|_| OnceLock::new()).collect(),
            places: vec![None; count],
            is_by_path: false,
            graph,
        }
    }

    /// The same array, refused with this fault.
    pub fn refused(self, fault: Fault) -> Array {
        Array::new(self.store, self.name, self.document, Graph::refused("schema", fault))
    }

    pub fn node(&self, ix: Ix) -> Result<&Node> {
        self.graph.nodes.get(ix).ok_or(Error::NotFound)
    }

    pub fn store(&self) -> &Store {
        &self.store
    }

    /// The name of a part in messages.
    pub fn path(&self, ix: Ix) -> Box<str> {
        match self.places.get(ix) {
            Some(Some(way)) if way.is_root() => self.file_of(ix).into(),
            Some(Some(way)) => way.joined(),
            _ => self.name.clone(),
        }
    }

    /// The name of the file that represents a part in its directory.
    pub fn file_of(&self, ix: Ix) -> &'static str {
        let is_flat = self.node(ix).is_ok_and(|node| node.flat().is_some());
        if is_flat { "data" } else { "meta.yaml" }
    }

    /// Can the items of its lists be picked? True if all of it is valid and not shared, and offsets can represent its
    /// lists.
    pub fn can_be_picked(&self, edge: Edge) -> bool {
        let Some(node) = self.graph.node(edge).filter(|node| node.fault.is_none() && !edge.is_ref) else {
            return false;
        };
        match &node.kind {
            ArrayKind::Flat(_) => true,
            ArrayKind::Jagged { lists, content } | ArrayKind::Strings { lists, content, .. } => {
                self.lists(lists).is_ok_and(|(_, inner)| inner.is_empty()) && self.can_be_picked(*content)
            }
            ArrayKind::Table { columns } | ArrayKind::Record { columns, .. } => {
                columns.iter().all(|column| self.can_be_picked(column.edge))
            }
            _ => false,
        }
    }

    /// The name of its schema member.
    pub fn schema(&self) -> String {
        format!("{}{SCHEMA}", self.name)
    }

    pub fn place(&self, ix: Ix) -> Place {
        self.store.place(&self.schema(), &self.path(ix))
    }

    /// Charges the budget for keeping `count` numbers.
    pub fn keep(&self, ix: Ix, count: u64) -> Result<()> {
        self.store.budget().take(Of::Kept, count).map_err(|fault| fault.error(self.place(ix)))
    }

    /// Of a valid flat part: its member, that member's compression, and the number of bytes needed. Members compressed
    /// by the ZIP file are always decoded whole.
    pub fn identity(&self, ix: Ix) -> Option<Identity> {
        let flat = self.valid_node(ix).ok()?.flat()?;
        let (member, len) = (self.store.find(&flat.blob.member)?, self.claimed(ix));
        let codec = flat.blob.codec.map_or(0, |codec| 1 + codec as u64);
        let is_whole = codec == 0 && len > 0 && self.store.is_deflated(member);
        Some([member as u64, codec, if is_whole { u64::MAX } else { len }])
    }

    /// Charges the budget for reading all numbers of a flat part.
    pub fn look(&self, edge: Edge) -> Result<()> {
        let Some(flat) = self.node(edge.to)?.flat() else { return Ok(()) };
        let looked = self.store.look(&flat.blob.member, self.claimed(edge.to));
        looked.map_err(|fault| fault.error(self.place(edge.to)))
    }

    /// Reads all of a flat part and compares the CRC-32 recorded by the ZIP file, for callers that use only some
    /// elements.
    pub fn verify(&self, ix: Ix) -> Result<()> {
        let Some(flat) = self.valid_node(ix)?.flat() else { return Ok(()) };
        self.content(ix)?.pass(&mut |_| ControlFlow::Continue(()))?;
        let Some(member) = self.store.find(&flat.blob.member) else { return Ok(()) };
        match self.store.sum(member)? {
            Some((found, recorded)) if found != recorded => {
                let problem =
                    format!("the crc32 of its stored bytes is {found:08x}, but {recorded:08x} is recorded");
                Err(self.damaged(ix, problem))
            }
            _ => Ok(()),
        }
    }

    pub fn damaged(&self, ix: Ix, problem: impl Into<String>) -> Error {
        Error::damaged(self.place(ix), problem)
    }

    /// Fails if this part itself is known to be invalid.
    pub fn valid_node(&self, ix: Ix) -> Result<&Node> {
        let node = self.node(ix)?;
        match &node.fault {
            Some(fault) => Err(fault.error(self.place(ix))),
            None => Ok(node),
        }
    }

    /// The bytes of a flat part. Every read of a damaged one fails.
    pub fn content(&self, ix: Ix) -> Result<Content> {
        if let Some(content) = self.contents.get(ix).and_then(OnceLock::get) {
            return Ok(content.clone());
        }
        let node = self.node(ix)?;
        let flat = node.flat().ok_or(Error::NotFound)?;
        let need = node.len.saturating_mul(flat.of.size());
        let made = match self.valid_node(ix).and_then(|_| self.store.blob(&flat.blob, need, self.place(ix))) {
            Err(error @ Error::Damaged { .. } | error @ Error::Unsupported { .. }) => {
                log::error!("{error}; reads of it give that error");
                Content::Broken { claimed: self.claimed(ix), error }
            }
            made => made?,
        };
        let known = self.contents.get(ix).ok_or(Error::NotFound)?;
        Ok(known.get_or_init(|| made).clone())
    }

    /// The length of a flat part; for a damaged one its declared length, up to the length of the file.
    pub fn claimed(&self, ix: Ix) -> u64 {
        let Ok(node) = self.node(ix) else { return 0 };
        let need = node.flat().map_or(0, |flat| node.len.saturating_mul(flat.of.size()));
        match node.fault {
            Some(_) => need.clamp(1, self.store.source().len().max(1)),
            None => need,
        }
    }

    /// At most `count` integers of a flat part from `first` on; arrays with several dimensions are flattened.
    pub fn ints(&self, ix: Ix, first: u64, count: u64) -> Result<Vec<i64>> {
        let node = self.valid_node(ix)?;
        let flat = node.flat().ok_or_else(|| self.damaged(ix, "it is not a flat array of whole numbers"))?;
        let ElementKind::Number(dtype) = flat.of.cell else {
            return Err(self.damaged(ix, "it is not an array of whole numbers"));
        };
        let count = count.min(self.numbers(ix)?.saturating_sub(first));
        let width = u64::from(dtype.element.size);
        let mut bytes = vec![0; (count * width) as usize];
        self.content(ix)?.fill(&mut bytes, first * width)?;
        self.decoded(ix, &bytes, dtype)
    }

    fn decoded(&self, ix: Ix, bytes: &[u8], dtype: Dtype) -> Result<Vec<i64>> {
        if let Dtype { element: Element { kind: crate::array::Kind::Int, size: 8 }, endian: Endian::Little } =
            dtype
        {
            let number = |item: &[u8]| item.try_into().map_or(0, i64::from_le_bytes);
            return Ok(bytes.chunks_exact(8).map(number).collect());
        }
        let width = (dtype.element.size as usize).max(1);
        let number = |item: &[u8]| i64::try_from(int(item, dtype));
        let numbers = bytes.chunks_exact(width).map(number).collect::<Result<Vec<_>, _>>();
        numbers.map_err(|_| self.damaged(ix, "a number does not fit into 63 bits"))
    }

    /// The number of elements of a flat part, over all dimensions.
    pub fn numbers(&self, ix: Ix) -> Result<u64> {
        let node = self.node(ix)?;
        let inner = node.flat().map_or(1, |flat| flat.of.shape.iter().product());
        Ok(node.len.saturating_mul(inner))
    }

    /// The number of lists over all dimensions, and the inner dimensions.
    pub fn lists(&self, lists: &Lists) -> Result<(u64, &[u64])> {
        let edge = match lists {
            Lists::Counts(edge) => edge,
            Lists::Bounds { starts, .. } => starts,
            Lists::Offsets(offsets) => return Ok((self.numbers(offsets.to)?.saturating_sub(1), &[])),
        };
        let shape = self.node(edge.to)?.flat().map_or(&[][..], |flat| &flat.of.shape);
        Ok((self.numbers(edge.to)?, shape))
    }

    /// Where the lists of a block begin and end.
    pub fn bounds(&self, ix: Ix, lists: &Lists, block: u64) -> Result<Vec<(u64, u64)>> {
        let first = block * BLOCK;
        match *lists {
            Lists::Counts(counts) => {
                let mut at = self.sum_before(counts.to, block)?;
                let counts = self.ints(counts.to, first, BLOCK)?;
                let mut bounds = Vec::with_capacity(counts.len());
                for (number, count) in (first..).zip(counts) {
                    let end = add(at, count).ok_or_else(|| self.bad_count(ix, number, count))?;
                    bounds.push((at, end));
                    at = end;
                }
                Ok(bounds)
            }
            Lists::Offsets(offsets) => {
                let offsets = self.ints(offsets.to, first, BLOCK + 1)?;
                let pairs = (first..).zip(offsets.windows(2));
                pairs.map(|(number, pair)| self.bound(ix, number, pair[0], pair[1])).collect()
            }
            Lists::Bounds { starts, stops } => {
                let starts = self.ints(starts.to, first, BLOCK)?;
                let stops = self.ints(stops.to, first, starts.len() as u64)?;
                let pairs = (first..).zip(starts.into_iter().zip(stops));
                pairs.map(|(number, (start, stop))| self.bound(ix, number, start, stop)).collect()
            }
        }
    }

    fn bound(&self, ix: Ix, number: u64, start: i64, stop: i64) -> Result<(u64, u64)> {
        match (u64::try_from(start), u64::try_from(stop)) {
            (Ok(start), Ok(stop)) if start <= stop => Ok((start, stop)),
            _ => Err(self.damaged(ix, format!("list {number} goes from {start} to {stop}"))),
        }
    }

    fn bad_count(&self, ix: Ix, number: u64, count: i64) -> Error {
        let problem = match count {
            0.. => format!("the counts up to list {number} do not fit into 63 bits together"),
            _ => format!("list {number} has the count {count}"),
        };
        self.damaged(ix, problem)
    }

    /// The sum of the counts before a block.
    fn sum_before(&self, counts: Ix, block: u64) -> Result<u64> {
        let sums = self.before(
            counts,
            block,
            &mut |sums, at| {
                for (number, count) in (at * BLOCK..).zip(self.ints(counts, at * BLOCK, BLOCK)?) {
                    let sum = sums.first_mut().ok_or(Error::NotFound)?;
                    *sum = add(*sum, count).ok_or_else(|| self.bad_count(counts, number, count))?;
                }
                Ok(())
            },
            1,
        )?;
        Ok(sums.first().copied().unwrap_or(0))
    }

    /// How many items of each content come before a block of a union without an index.
    pub fn used_before(&self, ix: Ix, tags: Ix, contents: usize, block: u64) -> Result<Arc<[u64]>> {
        self.before(
            ix,
            block,
            &mut |used, at| {
                for (number, tag) in (at * BLOCK..).zip(self.ints(tags, at * BLOCK, BLOCK)?) {
                    *usize::try_from(tag)
                        .ok()
                        .and_then(|tag| used.get_mut(tag))
                        .ok_or_else(|| self.bad_tag(ix, number, tag, contents))? += 1;
                }
                Ok(())
            },
            contents,
        )
    }

    pub fn bad_tag(&self, ix: Ix, number: u64, tag: i64, contents: usize) -> Error {
        self.damaged(ix, format!("item {number} has the tag {tag}, but there are {contents} contents"))
    }

    /// Accumulates `add` over all blocks before this one, and keeps the result.
    fn before(
        &self,
        ix: Ix,
        block: u64,
        add: &mut dyn FnMut(&mut [u64], u64) -> Result<()>,
        width: usize,
    ) -> Result<Arc<[u64]>> {
        let kept = self.sums.get(ix).ok_or(Error::NotFound)?;
        let lock = || kept.lock();
        let (mut at, mut sums) = {
            let kept = lock();
            if let Some(known) = kept.get(block as usize) {
                return Ok(known.clone());
            }
            match kept.last() {
                Some(last) => (kept.len() as u64 - 1, last.clone()),
                None => (0, vec![0; width].into()),
            }
        };
        loop {
            let mut kept = lock();
            // If two threads add at the same time, one result is kept.
            if kept.len() as u64 == at {
                self.keep(ix, width as u64 + BESIDE)?;
                kept.push(sums.clone());
            }
            drop(kept);
            if at == block {
                return Ok(sums);
            }
            let mut next = sums.to_vec();
            add(&mut next, at)?;
            (at, sums) = (at + 1, next.into());
        }
    }

    /// The cumulative end of each chunk, in items.
    pub fn chunk_ends(&self, ix: Ix, chunks: &[(Edge, Option<u64>)]) -> Result<Arc<[u64]>> {
        let kept = self.sums.get(ix).ok_or(Error::NotFound)?;
        let mut kept = kept.lock();
        if let Some(known) = kept.first() {
            return Ok(known.clone());
        }
        self.keep(ix, chunks.len() as u64 + BESIDE)?;
        let (mut end, mut ends) = (0u64, Vec::with_capacity(chunks.len()));
        for (edge, size) in chunks {
            end = end.saturating_add(size.map_or_else(|| self.node(edge.to).map(|node| node.len), Ok)?);
            ends.push(end);
        }
        kept.push(ends.into());
        kept.first().cloned().ok_or(Error::NotFound)
    }

    /// The rows of a block of a view.
    pub fn rows(&self, ix: Ix, rows: &Rows, block: u64) -> Result<Vec<i64>> {
        let first = block * BLOCK;
        match *rows {
            Rows::Numbers(rows) => self.ints(rows.to, first, BLOCK),
            Rows::Steps { start, step, length } => {
                self.valid_node(ix)?;
                let row = |k: u64| i128::from(start) + i128::from(step) * i128::from(k);
                Ok((first..length.min(first + BLOCK)).map(|k| row(k) as i64).collect())
            }
        }
    }

    /// The content, and the position in it, of the items of a block of a union.
    pub fn members(
        &self,
        ix: Ix,
        tags: Edge,
        index: Option<Edge>,
        contents: usize,
        block: u64,
    ) -> Result<Vec<(usize, i64)>> {
        let first = block * BLOCK;
        let tags_of = self.ints(tags.to, first, BLOCK)?;
        let mut found = Vec::with_capacity(tags_of.len());
        let mut index = match index {
            Some(index) => Err(self.ints(index.to, first, tags_of.len() as u64)?.into_iter()),
            None => Ok(self.used_before(ix, tags.to, contents, block)?.to_vec()),
        };
        for (number, tag) in (first..).zip(tags_of) {
            let content = usize::try_from(tag).ok().filter(|content| *content < contents);
            let content = content.ok_or_else(|| self.bad_tag(ix, number, tag, contents))?;
            let at = match &mut index {
                Err(index) => index.next().unwrap_or(-1),
                Ok(used) => used.get_mut(content).map_or(-1, |used| {
                    *used += 1;
                    *used as i64 - 1
                }),
            };
            found.push((content, at));
        }
        Ok(found)
    }
}

fn add(sum: u64, count: i64) -> Option<u64> {
    sum.checked_add(u64::try_from(count).ok()?).filter(|sum| *sum <= i64::MAX as u64)
}
