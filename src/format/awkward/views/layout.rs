//! Which files the arrays of a container become, and where they are.
//! ```text
//! <array name>/                     slashes of the name make directories; the only array, without a name, is the root
//!   meta.yaml                       of this array, and of each part that is a directory
//!   data                            flat: the elements
//!   counts, starts, stops, offsets  jagged, and strings: those that are stored, and those that follow from them
//!   content/...                     jagged, masked, indexed, sparse, objects
//!   columns/<name>/...              table
//!   mask   index   tags             the numbers that the class has
//!   contents/<k>/...   chunks/<k>/...
//!   text, bytes                     strings
//! ```
//! A part is placed where the schema defines it; references to it are symbolic links, left out where they would close
//! a cycle (`meta.yaml` says so).

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::super::read::array::Array;
use super::super::read::budget::{Budget, Of};
use super::super::read::contiguous::Pick;
use super::super::read::graph::{ArrayKind, Column, Edge, Ix, Lists, Rows};
use super::computed::IndexKind;
use super::index;
use super::path::ViewPath;
use crate::codec::zip::Fault;
use crate::tree::{Link, naming};

pub struct File {
    pub way: ViewPath,
    pub array: usize,
    pub ix: Ix,
    pub what: FileContent,
}

pub enum FileContent {
    Meta,
    Data,
    Index(IndexKind),
    Text,
    /// Of picked lists: where each begins among the picked items.
    Offsets(Arc<Pick>),
    /// The picked elements of a flat part.
    Elements(Arc<Pick>),
}

#[derive(Default)]
pub struct Layout {
    pub files: Vec<File>,
    pub links: Vec<Link>,
    /// The directory of each part that has one.
    pub directories: Vec<(ViewPath, usize, Ix)>,
}

/// Lays out all arrays of a container, and sets the paths of their parts. An array whose paths exceed the budget is
/// refused as a whole.
pub fn layout(arrays: Vec<Array>) -> (Vec<Array>, Layout) {
    let names: Names = arrays.iter().map(|array| array.name.clone()).collect();
    let lengths: HashSet<usize> = names.iter().map(|name| name.len()).collect();
    let is_root = matches!(&*arrays, [one] if one.name.is_empty());
    let mut layout = Layout::default();
    let place = |(number, array): (usize, Array)| {
        let root = if is_root { ViewPath::default() } else { named(&array.name, &names, &lengths) };
        let placing = Placing::new(&array, number, array.store().budget());
        match placing.placed(&root) {
            Ok(placed) => layout.add(array, placed),
            Err(fault) => {
                let array = array.refused(fault);
                // One more file per array, as long as its name.
                let placing = Placing::new(&array, number, array.store().budget());
                let placed = placing.placed(&root).unwrap_or_default();
                layout.add(array, placed)
            }
        }
    };
    let mut arrays: Vec<Array> = arrays.into_iter().enumerate().map(place).collect();
    let by_path = index::by_path(arrays.len(), &layout);
    arrays.iter_mut().zip(by_path).for_each(|(array, is_by_path)| array.is_by_path = is_by_path);
    (arrays, layout)
}

/// Like [`layout`], but lists given by starts and stops get offsets into a contiguous content, as other formats
/// support nothing else.
pub fn plain(arrays: &[Arc<Array>]) -> Result<Layout, Fault> {
    let mut layout = Layout::default();
    let Some(first) = arrays.first() else { return Ok(layout) };
    let budget = Budget::new(first.store().len());
    for (number, array) in arrays.iter().enumerate() {
        let root = array.places.get(array.graph.root.to).cloned().flatten().unwrap_or_default();
        let mut placing = Placing::new(array, number, &budget);
        placing.is_plain = true;
        let placed = placing.placed(&root)?;
        layout.files.extend(placed.files);
        layout.directories.extend(placed.directories);
        layout.links.extend(placed.links);
    }
    Ok(layout)
}

type Names = HashSet<Box<str>>;

/// A slash separates directories, unless its left side is an array itself.
fn named(name: &str, names: &Names, lengths: &HashSet<usize>) -> ViewPath {
    let slashes = name.match_indices('/').map(|(at, _)| at).filter(|at| lengths.contains(at));
    let after: Vec<usize> =
        slashes.filter(|at| names.contains(name.get(..*at).unwrap_or_default())).collect();
    let components = naming::components(name.as_bytes(), &after);
    // Without a name, it is named by its file.
    if name.is_empty() { ViewPath::of(components) } else { ViewPath::called(components, name) }
}

/// The whole text as a single file name, slashes included.
fn component(name: &str) -> Vec<u8> {
    let slashes: Vec<usize> = name.match_indices('/').map(|(at, _)| at).collect();
    naming::components(name.as_bytes(), &slashes).pop().unwrap_or_default()
}

/// Places the parts of one array.
#[derive(Default)]
struct Placed {
    files: Vec<File>,
    links: Vec<Link>,
    directories: Vec<(ViewPath, usize, Ix)>,
    /// For each part defined here: its directory, or its file.
    places: HashMap<Ix, (ViewPath, bool)>,
    /// References to parts: the edge, its origin, its path, and whether a file is expected there.
    refs: Vec<(Edge, Ix, ViewPath, bool)>,
}

impl Layout {
    fn add(&mut self, mut array: Array, placed: Placed) -> Array {
        self.files.extend(placed.files);
        self.links.extend(placed.links);
        self.directories.extend(placed.directories);
        for (ix, (way, _)) in placed.places {
            if let Some(place) = array.places.get_mut(ix) {
                *place = Some(way);
            }
        }
        array
    }
}

/// The paths of columns. The second of two equal names gets a number.
fn ways<'c>(columns: &'c [Column], dir: &ViewPath) -> impl Iterator<Item = ViewPath> + use<'c> {
    let dir = dir.below(*b"columns");
    let (mut taken, mut next) = (HashSet::new(), HashMap::new());
    columns.iter().map(move |column| {
        let plain = component(&column.name);
        let mut own = plain.clone();
        let number = next.entry(plain.clone()).or_insert(2);
        while !taken.insert(own.clone()) {
            own = naming::numbered(&plain, *number);
            *number += 1;
        }
        // Numbered and unnamed columns are named by their files.
        if own == plain && !column.name.is_empty() {
            dir.below_called(own, &column.name)
        } else {
            dir.below(own)
        }
    })
}

struct Placing<'a> {
    array: &'a Array,
    number: usize,
    budget: &'a Budget,
    is_plain: bool,
    placed: Placed,
    /// Bytes of names charged to the budget.
    taken: u64,
    /// The budget is exhausted: nothing more is placed.
    fault: Option<Fault>,
}

impl<'a> Placing<'a> {
    fn new(array: &'a Array, number: usize, budget: &'a Budget) -> Placing<'a> {
        Placing { array, number, budget, is_plain: false, placed: Placed::default(), taken: 0, fault: None }
    }

    fn placed(mut self, root: &ViewPath) -> Result<Placed, Fault> {
        self.directory(self.array.graph.root, root);
        self.link();
        let Some(fault) = self.fault else { return Ok(self.placed) };
        self.budget.give_back(Of::Names, self.taken);
        Err(fault)
    }
}

impl Placing<'_> {
    /// Charges the budget for a path; false if it is exhausted.
    fn has_room(&mut self, way: &ViewPath) -> bool {
        if self.fault.is_none() {
            match self.budget.take(Of::Names, way.len() as u64) {
                Ok(()) => self.taken += way.len() as u64,
                Err(fault) => self.fault = Some(fault),
            }
        }
        self.fault.is_none()
    }

    fn file(&mut self, ix: Ix, way: ViewPath, what: FileContent) {
        if self.has_room(&way) {
            self.placed.files.push(File { way, array: self.number, ix, what });
        }
    }

    /// Places a part of `from` as a directory.
    fn part(&mut self, from: Ix, edge: Edge, way: ViewPath) {
        match edge.is_ref {
            true => self.placed.refs.push((edge, from, way, false)),
            false => self.directory(edge, &way),
        }
    }

    /// Places a part of `from` as a file if it is flat.
    fn numbers(&mut self, from: Ix, edge: Edge, dir: &ViewPath, name: &str) {
        let way = dir.below(name.as_bytes());
        let is_flat = self.array.graph.node(edge).is_some_and(|node| node.flat().is_some());
        match (edge.is_ref, is_flat) {
            (true, _) => self.placed.refs.push((edge, from, way, is_flat)),
            (false, true) => {
                self.placed.places.insert(edge.to, (way.clone(), true));
                self.file(edge.to, way, FileContent::Data);
            }
            (false, false) => self.directory(edge, &way),
        }
    }

    /// Recursion is bounded by the nesting of the schema.
    fn directory(&mut self, edge: Edge, dir: &ViewPath) {
        let ix = edge.to;
        let Some(node) = self.array.graph.nodes.get(ix).filter(|_| self.has_room(dir)) else { return };
        self.placed.places.insert(ix, (dir.clone(), false));
        self.placed.directories.push((dir.clone(), self.number, ix));
        self.file(ix, dir.below(*b"meta.yaml"), FileContent::Meta);
        match &node.kind {
            ArrayKind::Flat(_) => self.file(ix, dir.below(*b"data"), FileContent::Data),
            ArrayKind::Jagged { lists: Lists::Bounds { .. }, .. }
            | ArrayKind::Strings { lists: Lists::Bounds { .. }, .. }
                if self.is_plain && self.array.can_be_picked(edge) =>
            {
                self.picked(ix, None, dir);
            }
            ArrayKind::Jagged { lists, content } => {
                self.lists(ix, lists, dir);
                self.part(ix, *content, dir.below(*b"content"));
            }
            ArrayKind::Strings { lists, content, encoding } => {
                self.lists(ix, lists, dir);
                self.numbers(ix, *content, dir, "bytes");
                if encoding.is_utf8() && node.fault.is_none() {
                    self.file(ix, dir.below(*b"text"), FileContent::Text);
                }
            }
            ArrayKind::Table { columns } | ArrayKind::Record { columns, .. } => {
                self.columns(ix, columns, dir)
            }
            ArrayKind::View { rows, table } => {
                match rows {
                    Rows::Numbers(rows) => self.numbers(ix, *rows, dir, "index"),
                    Rows::Steps { .. } if node.fault.is_none() => {
                        self.file(ix, dir.below(*b"index"), FileContent::Index(IndexKind::Index))
                    }
                    Rows::Steps { .. } => {}
                }
                match self.array.graph.node(*table).map(|node| &node.kind) {
                    Some(ArrayKind::Table { columns }) if !table.is_ref => {
                        self.placed.places.insert(table.to, (dir.clone(), false));
                        self.columns(table.to, columns, dir);
                    }
                    _ => self.part(ix, *table, dir.below(*b"table")),
                }
            }
            ArrayKind::Masked { mask, content, .. }
            | ArrayKind::BitMasked { mask, content, .. }
            | ArrayKind::IndexedMasked { mask, content, .. } => {
                self.numbers(ix, *mask, dir, "mask");
                self.part(ix, *content, dir.below(*b"content"));
            }
            ArrayKind::Union { tags, index, contents } => {
                self.numbers(ix, *tags, dir, "tags");
                match index {
                    Some(index) => self.numbers(ix, *index, dir, "index"),
                    None if node.fault.is_none() => {
                        self.file(ix, dir.below(*b"index"), FileContent::Index(IndexKind::Index))
                    }
                    None => {}
                }
                self.numbered(ix, contents.iter().copied(), &dir.below(*b"contents"));
            }
            ArrayKind::Chunked { chunks, .. } => {
                self.numbered(ix, chunks.iter().map(|(edge, _)| *edge), &dir.below(*b"chunks"));
            }
            ArrayKind::Indexed { index, content } | ArrayKind::Sparse { index, content, .. } => {
                self.numbers(ix, *index, dir, "index");
                self.part(ix, *content, dir.below(*b"content"));
            }
            ArrayKind::Object { content, .. } => self.part(ix, *content, dir.below(*b"content")),
            ArrayKind::Refused { .. } => {}
        }
    }

    /// Places the contents of a part whose list items are picked.
    fn picked(&mut self, ix: Ix, of: Option<Arc<Pick>>, dir: &ViewPath) {
        let Some(node) = self.array.graph.nodes.get(ix) else { return };
        match (&node.kind, of) {
            (ArrayKind::Flat(_), Some(of)) => self.file(ix, dir.below(*b"data"), FileContent::Elements(of)),
            (ArrayKind::Jagged { content, .. }, of) => {
                let own = Pick::new(ix, of);
                self.file(ix, dir.below(*b"offsets"), FileContent::Offsets(own.clone()));
                self.part_picked(*content, own, dir.below(*b"content"));
            }
            (ArrayKind::Strings { content, encoding, .. }, of) => {
                if of.is_none() && encoding.is_utf8() {
                    self.file(ix, dir.below(*b"text"), FileContent::Text);
                }
                let own = Pick::new(ix, of);
                self.file(ix, dir.below(*b"offsets"), FileContent::Offsets(own.clone()));
                self.file(content.to, dir.below(*b"bytes"), FileContent::Elements(own));
            }
            (ArrayKind::Table { columns } | ArrayKind::Record { columns, .. }, Some(of)) => {
                for (column, way) in columns.iter().zip(ways(columns, dir)) {
                    self.part_picked(column.edge, of.clone(), way);
                }
            }
            _ => {}
        }
    }

    fn part_picked(&mut self, edge: Edge, of: Arc<Pick>, dir: ViewPath) {
        if self.has_room(&dir) {
            self.placed.directories.push((dir.clone(), self.number, edge.to));
            self.file(edge.to, dir.below(*b"meta.yaml"), FileContent::Meta);
            self.picked(edge.to, Some(of), &dir);
        }
    }

    fn numbered(&mut self, ix: Ix, parts: impl Iterator<Item = Edge>, dir: &ViewPath) {
        for (number, edge) in parts.enumerate() {
            self.part(ix, edge, dir.below(number.to_string().into_bytes()));
        }
    }

    /// Places the stored numbers of the lists, and those derived from them.
    fn lists(&mut self, ix: Ix, lists: &Lists, dir: &ViewPath) {
        let follow: &[IndexKind] = match lists {
            Lists::Counts(counts) => {
                self.numbers(ix, *counts, dir, "counts");
                &[IndexKind::Offsets, IndexKind::Starts, IndexKind::Stops]
            }
            Lists::Bounds { starts, stops } => {
                self.numbers(ix, *starts, dir, "starts");
                self.numbers(ix, *stops, dir, "stops");
                &[IndexKind::Counts]
            }
            Lists::Offsets(offsets) => {
                self.numbers(ix, *offsets, dir, "offsets");
                &[IndexKind::Counts, IndexKind::Starts, IndexKind::Stops]
            }
        };
        let is_valid = self.array.graph.nodes.get(ix).is_some_and(|node| node.fault.is_none());
        for kind in follow.iter().filter(|_| is_valid) {
            self.file(ix, dir.below(kind.name().as_bytes()), FileContent::Index(*kind));
        }
    }

    fn columns(&mut self, ix: Ix, columns: &[Column], dir: &ViewPath) {
        for (column, way) in columns.iter().zip(ways(columns, dir)) {
            self.part(ix, column.edge, way);
        }
    }

    /// Turns references to parts into links.
    fn link(&mut self) {
        let circles: HashSet<(Ix, Ix)> = self.array.graph.circles.iter().copied().collect();
        for (edge, from, place, wants_file) in std::mem::take(&mut self.placed.refs) {
            let target = self.placed.places.get(&edge.to);
            let Some((target, is_file)) = target.filter(|_| !circles.contains(&(from, edge.to))) else {
                continue;
            };
            let (place, target) = match (wants_file, *is_file) {
                (true, false) => (place, target.below(*b"data")),
                // A directory is expected, but the part is a file elsewhere.
                (false, true) => (place.below(*b"data"), target.clone()),
                _ => (place, target.clone()),
            };
            if self.has_room(&place) && self.has_room(&target) {
                self.placed.links.push(Link {
                    target: place.to(&target),
                    name: place.joined(),
                    place: place.parts(),
                });
            }
        }
    }
}
