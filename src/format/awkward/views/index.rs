//! Datasets by name. An array, or a part of one, is also found by its directory: this means its elements if it is
//! flat, otherwise its `meta.yaml`. Where file names are escaped, both are found by the file path too. An array with a
//! name that clashes with another is named by the paths of its files throughout, so that everything beginning with its
//! name belongs to one array, and all paths are unique.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use super::super::read::array::Array;
use super::layout::{File, Layout};
use crate::tree::{NameList, Names};

pub struct Index {
    names: NameList,
    numbers: HashMap<Box<str>, u32>,
}

impl Names for Index {
    fn len(&self) -> usize {
        self.names.len()
    }

    fn get(&self, number: usize) -> Option<Cow<'_, [u8]>> {
        self.names.get(number).map(Cow::Borrowed)
    }

    fn find(&self, name: &[u8]) -> Option<Option<usize>> {
        let found = std::str::from_utf8(name).ok().and_then(|name| self.numbers.get(name));
        Some(found.map(|number| *number as usize))
    }
}

impl Index {
    pub fn new(arrays: &[Arc<Array>], layout: &Layout) -> Index {
        let Called { mut numbers, by_path, .. } = Called::new(arrays.len(), &layout.files);
        let is_by_path = |array: usize| by_path.get(array).is_some_and(|is| *is);
        let (mut names, mut paths) = (NameList::default(), HashMap::new());
        for (number, file) in (0..).zip(&layout.files) {
            let (name, path) = (name(file, is_by_path(file.array)), file.way.escaped());
            names.push(name.as_bytes());
            if name != path {
                paths.insert(path, number);
            }
        }
        let (mut others, mut escaped, mut whole) = (Vec::new(), Vec::new(), Vec::new());
        for (way, of, ix) in &layout.directories {
            let Some(array) = arrays.get(*of) else { continue };
            let file = way.below(array.file_of(*ix).as_bytes()).escaped();
            let Some(number) = paths.get(&file).or_else(|| numbers.get(&file)).copied() else { continue };
            if *ix == array.graph.root.to {
                let names = if is_by_path(*of) { &mut whole } else { &mut others };
                names.push((array.name.clone(), number));
            }
            if !is_by_path(*of) {
                others.push((way.joined(), number));
            }
            escaped.push((way.escaped(), number));
        }
        // Names take precedence over file paths.
        for (name, number) in others.into_iter().chain(escaped).chain(paths).chain(whole) {
            numbers.entry(name).or_insert(number);
        }
        Index { names, numbers }
    }
}

fn name(file: &File, is_by_path: bool) -> Box<str> {
    if is_by_path { file.way.escaped() } else { file.way.joined() }
}

/// For each array: is it named by the paths of its files?
pub fn by_path(arrays: usize, layout: &Layout) -> Vec<bool> {
    Called::new(arrays, &layout.files).by_path
}

/// The names of files, array by array.
struct Called<'f> {
    all: &'f [File],
    /// The files of each array, with the number of the first.
    files: Vec<(u32, &'f [File])>,
    numbers: HashMap<Box<str>, u32>,
    /// Is an array named by the paths of its files?
    by_path: Vec<bool>,
    /// Arrays whose names are not claimed yet.
    pending: Vec<usize>,
}

impl Called<'_> {
    /// Terminates after at most two visits per array: naming by path is final, and paths are unique.
    fn new(arrays: usize, files: &[File]) -> Called<'_> {
        let mut of_arrays: Vec<(u32, &[File])> = vec![(0, &[]); arrays];
        let mut first = 0;
        for own in files.chunk_by(|a, b| a.array == b.array) {
            let of = own.first().and_then(|file| of_arrays.get_mut(file.array));
            of.into_iter().for_each(|of| *of = (first, own));
            first += own.len() as u32;
        }
        let (by_path, pending) = (vec![false; arrays], (0..arrays).rev().collect());
        let mut called = Called { all: files, files: of_arrays, numbers: HashMap::new(), by_path, pending };
        while let Some(array) = called.pending.pop() {
            called.take(array);
        }
        called
    }

    /// Claims the names of an array if they are free; otherwise it, or the owner of a clashing name, is named by its
    /// paths.
    fn take(&mut self, array: usize) {
        let Some((first, files)) = self.files.get(array).copied() else { return };
        let is_by_path = self.is_by_path(array);
        for (number, file) in (first..).zip(files) {
            let name = name(file, is_by_path);
            let taken = self.numbers.get(&name).and_then(|other| self.array_of(*other));
            match taken {
                Some(_) if !is_by_path => return self.leave(array),
                Some(other) if !self.is_by_path(other) => self.leave(other),
                _ => {}
            }
            self.numbers.entry(name).or_insert(number);
        }
    }

    /// Releases the names of an array, which is then named by its paths.
    fn leave(&mut self, array: usize) {
        let Some((first, files)) = self.files.get(array).copied() else { return };
        for (number, file) in (first..).zip(files) {
            let name = name(file, false);
            if self.numbers.get(&name) == Some(&number) {
                self.numbers.remove(&name);
            }
        }
        self.by_path.get_mut(array).into_iter().for_each(|is| *is = true);
        self.pending.push(array);
    }

    fn is_by_path(&self, array: usize) -> bool {
        self.by_path.get(array).is_some_and(|is| *is)
    }

    fn array_of(&self, number: u32) -> Option<usize> {
        self.all.get(number as usize).map(|file| file.array)
    }
}
