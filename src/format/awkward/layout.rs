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
//! A part is where the schema defines it; what refers to it is a symbolic link there, but where that would close a
//! circle there is nothing (`meta.yaml` says so).

use std::collections::{HashMap, HashSet};

use super::array::Array;
use super::faces::Face;
use super::graph::{Edge, Encoding, Ix, Kind, Lists, Rows};
use crate::tree::{Link, naming};

/// File names, outermost directory first.
type Place = Vec<Vec<u8>>;

pub struct File {
    pub place: Place,
    pub array: usize,
    pub ix: Ix,
    pub what: What,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    Meta,
    Data,
    Face(Face),
    Text,
}

#[derive(Default)]
pub struct Layout {
    pub files: Vec<File>,
    pub links: Vec<Link>,
    /// The directory of each part that has one.
    pub directories: Vec<(Place, usize, Ix)>,
}

/// Of all arrays of a container. Tells them the paths of their parts.
pub fn layout(arrays: &mut [Array]) -> Layout {
    let names: HashSet<Box<str>> = arrays.iter().map(|array| array.name.clone()).collect();
    let mut layout = Layout::default();
    let is_root = matches!(&*arrays, [one] if one.name.is_empty());
    for (number, array) in arrays.iter_mut().enumerate() {
        let root = if is_root { Vec::new() } else { named(&array.name, &names) };
        let mut placing =
            Placing { layout: &mut layout, number, array, places: HashMap::new(), refs: Vec::new() };
        placing.directory(array.graph.root, root);
        let Placing { places, refs, .. } = placing;
        let path = |ix: Ix| match places.get(&ix) {
            Some((place, _)) if place.is_empty() => file_of(array, ix).into(),
            Some((place, _)) => joined(place),
            None => array.name.clone(),
        };
        let paths = (0..array.graph.nodes.len()).map(path).collect();
        link(&mut layout, array, &places, refs);
        array.paths = paths;
    }
    layout
}

/// What stands for an array in its directory.
pub fn file_of(array: &Array, ix: Ix) -> &'static str {
    let is_flat = array.node(ix).is_ok_and(|node| node.flat().is_some());
    if is_flat { "data" } else { "meta.yaml" }
}

/// What messages call a place, and users a dataset.
pub fn joined(place: &[Vec<u8>]) -> Box<str> {
    String::from_utf8_lossy(&place.join(&b'/')).into_owned().into()
}

/// A slash separates directories, but not where its left side is an array itself.
fn named(name: &str, names: &HashSet<Box<str>>) -> Place {
    let slashes = name.match_indices('/').map(|(at, _)| at);
    let after: Vec<usize> =
        slashes.filter(|at| names.contains(name.get(..*at).unwrap_or_default())).collect();
    naming::components(name.as_bytes(), &after)
}

/// One file name, slashes and all.
fn component(name: &str) -> Vec<u8> {
    let slashes: Vec<usize> = name.match_indices('/').map(|(at, _)| at).collect();
    naming::components(name.as_bytes(), &slashes).pop().unwrap_or_default()
}

struct Placing<'a> {
    layout: &'a mut Layout,
    number: usize,
    array: &'a Array,
    /// Of each part that is defined: its directory, or the file that it is.
    places: HashMap<Ix, (Place, bool)>,
    /// What refers to a part: from which, where, and whether a file is wanted there.
    refs: Vec<(Edge, Ix, Place, bool)>,
}

fn below(place: &Place, name: &str) -> Place {
    let mut place = place.clone();
    place.push(name.as_bytes().to_vec());
    place
}

impl Placing<'_> {
    fn file(&mut self, ix: Ix, place: Place, what: What) {
        self.layout.files.push(File { place, array: self.number, ix, what });
    }

    /// A part of `from` that is a directory.
    fn part(&mut self, from: Ix, edge: Edge, place: Place) {
        match edge.is_ref {
            true => self.refs.push((edge, from, place, false)),
            false => self.directory(edge, place),
        }
    }

    /// A part of `from` that is a file, as far as it is flat.
    fn numbers(&mut self, from: Ix, edge: Edge, dir: &Place, name: &str) {
        let place = below(dir, name);
        let is_flat = self.array.graph.node(edge).is_some_and(|node| node.flat().is_some());
        match (edge.is_ref, is_flat) {
            (true, _) => self.refs.push((edge, from, place, is_flat)),
            (false, true) => {
                self.places.insert(edge.to, (place.clone(), true));
                self.file(edge.to, place, What::Data);
            }
            (false, false) => self.directory(edge, place),
        }
    }

    /// No deeper than the schema is nested, which is bounded.
    fn directory(&mut self, edge: Edge, dir: Place) {
        let ix = edge.to;
        let Some(node) = self.array.graph.nodes.get(ix) else { return };
        self.places.insert(ix, (dir.clone(), false));
        self.layout.directories.push((dir.clone(), self.number, ix));
        self.file(ix, below(&dir, "meta.yaml"), What::Meta);
        match &node.kind {
            Kind::Flat(_) => self.file(ix, below(&dir, "data"), What::Data),
            Kind::Jagged { lists, content } => {
                self.lists(ix, lists, &dir);
                self.part(ix, *content, below(&dir, "content"));
            }
            Kind::Strings { lists, content, encoding } => {
                self.lists(ix, lists, &dir);
                self.numbers(ix, *content, &dir, "bytes");
                if matches!(encoding, Encoding::Utf8 | Encoding::Ascii) && node.fault.is_none() {
                    self.file(ix, below(&dir, "text"), What::Text);
                }
            }
            Kind::Table { columns } | Kind::Record { columns, .. } => self.columns(ix, columns, &dir),
            Kind::View { rows, table } => {
                match rows {
                    Rows::Numbers(rows) => self.numbers(ix, *rows, &dir, "index"),
                    Rows::Steps { .. } if node.fault.is_none() => {
                        self.file(ix, below(&dir, "index"), What::Face(Face::Index))
                    }
                    Rows::Steps { .. } => {}
                }
                match self.array.graph.node(*table).map(|node| &node.kind) {
                    Some(Kind::Table { columns }) if !table.is_ref => {
                        self.places.insert(table.to, (dir.clone(), false));
                        self.columns(table.to, columns, &dir);
                    }
                    _ => self.part(ix, *table, below(&dir, "table")),
                }
            }
            Kind::Masked { mask, content, .. }
            | Kind::BitMasked { mask, content, .. }
            | Kind::IndexedMasked { mask, content, .. } => {
                self.numbers(ix, *mask, &dir, "mask");
                self.part(ix, *content, below(&dir, "content"));
            }
            Kind::Union { tags, index, contents } => {
                self.numbers(ix, *tags, &dir, "tags");
                match index {
                    Some(index) => self.numbers(ix, *index, &dir, "index"),
                    None if node.fault.is_none() => {
                        self.file(ix, below(&dir, "index"), What::Face(Face::Index))
                    }
                    None => {}
                }
                self.numbered(ix, contents.iter().copied(), &below(&dir, "contents"));
            }
            Kind::Chunked { chunks, .. } => {
                self.numbered(ix, chunks.iter().map(|(edge, _)| *edge), &below(&dir, "chunks"));
            }
            Kind::Indexed { index, content } | Kind::Sparse { index, content, .. } => {
                self.numbers(ix, *index, &dir, "index");
                self.part(ix, *content, below(&dir, "content"));
            }
            Kind::Object { content, .. } => self.part(ix, *content, below(&dir, "content")),
            Kind::Refused { .. } => {}
        }
    }

    fn numbered(&mut self, ix: Ix, parts: impl Iterator<Item = Edge>, dir: &Place) {
        for (number, edge) in parts.enumerate() {
            self.part(ix, edge, below(dir, &number.to_string()));
        }
    }

    /// What is stored of the lists, and what follows from it.
    fn lists(&mut self, ix: Ix, lists: &Lists, dir: &Place) {
        let follow: &[Face] = match lists {
            Lists::Counts(counts) => {
                self.numbers(ix, *counts, dir, "counts");
                &[Face::Offsets, Face::Starts, Face::Stops]
            }
            Lists::Bounds { starts, stops } => {
                self.numbers(ix, *starts, dir, "starts");
                self.numbers(ix, *stops, dir, "stops");
                &[Face::Counts]
            }
            Lists::Offsets(offsets) => {
                self.numbers(ix, *offsets, dir, "offsets");
                &[Face::Counts, Face::Starts, Face::Stops]
            }
        };
        let is_sound = self.array.graph.nodes.get(ix).is_some_and(|node| node.fault.is_none());
        for face in follow.iter().filter(|_| is_sound) {
            self.file(ix, below(dir, face.name()), What::Face(*face));
        }
    }

    /// Of two columns of one name the second gets a number.
    fn columns(&mut self, ix: Ix, columns: &[(Box<str>, Edge)], dir: &Place) {
        let dir = below(dir, "columns");
        let mut taken = HashSet::new();
        for (name, edge) in columns {
            let plain = component(name);
            let (mut own, mut number) = (plain.clone(), 2);
            while !taken.insert(own.clone()) {
                own = naming::numbered(&plain, number);
                number += 1;
            }
            let mut place = dir.clone();
            place.push(own);
            self.part(ix, *edge, place);
        }
    }
}

/// What refers to a part becomes a link to it.
fn link(
    layout: &mut Layout,
    array: &Array,
    places: &HashMap<Ix, (Place, bool)>,
    refs: Vec<(Edge, Ix, Place, bool)>,
) {
    let circles: HashSet<(Ix, Ix)> = array.graph.circles.iter().copied().collect();
    for (edge, from, place, wants_file) in refs {
        let Some((target, is_file)) = places.get(&edge.to).filter(|_| !circles.contains(&(from, edge.to)))
        else {
            continue;
        };
        let (place, target) = match (wants_file, *is_file) {
            (true, false) => (place, below(target, "data")),
            // A directory is wanted, and the part is a file elsewhere.
            (false, true) => (below(&place, "data"), target.clone()),
            _ => (place, target.clone()),
        };
        layout.links.push(Link { target: relative(&place, &target), place });
    }
}

/// The way from the directory that holds `place`.
fn relative(place: &Place, target: &Place) -> Vec<u8> {
    let common =
        place.iter().zip(target).take_while(|(a, b)| a == b).count().min(place.len().saturating_sub(1));
    let up = place.len().saturating_sub(1 + common);
    let mut way = vec![b"..".to_vec(); up];
    way.extend(target.iter().skip(common).cloned());
    if way.is_empty() { b".".to_vec() } else { way.join(&b'/') }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ways_from_place_to_place() {
        let place = |text: &str| -> Place { text.split('/').map(|part| part.as_bytes().to_vec()).collect() };
        for (from, to, want) in [
            ("columns/b", "columns/a", "a"),
            ("x/columns/b", "x/columns/a/content", "a/content"),
            ("x/y/z/counts", "x/tags", "../../tags"),
            ("a", "b/c", "b/c"),
        ] {
            assert_eq!(relative(&place(from), &place(to)), want.as_bytes(), "{from} {to}");
        }
    }
}
