//! What programs know to be in stores, as hashes of paths: who has read what a store says of itself looks for pieces of
//! arrays by their names alone, whatever stands in their place later.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use super::super::directory::Child;
use super::super::{Directory, View};
use crate::Result;

/// Members that are known; about 16 MiB. Of more, everything is taken for one of them.
const MOST: usize = 1 << 20;
/// Directories in each other that are looked into: no view says more of what is deeper.
const DEEPEST: usize = 128;

#[derive(Default)]
pub struct Members {
    hashes: HashSet<u64>,
    is_full: bool,
}

impl Members {
    pub fn add(&mut self, path: &[u8], is_array: bool) {
        self.is_full |= self.hashes.len() >= MOST;
        if !self.is_full {
            self.hashes.insert(hash(path, is_array));
        }
    }

    /// Was an array, or else a group, at this path?
    pub fn has(&self, path: &[u8], is_array: bool) -> bool {
        self.is_full || self.hashes.contains(&hash(path, is_array))
    }
}

fn hash(path: &[u8], is_array: bool) -> u64 {
    let mut hasher = DefaultHasher::new();
    (path, is_array).hash(&mut hasher);
    hasher.finish()
}

/// Calls `each` with the path of every array and every group below `directory`, whose own path ends with a slash, and
/// whether it is an array. What cannot be read is not said of a store either.
pub fn each_member(
    view: &dyn View,
    directory: &Directory,
    path: &mut Vec<u8>,
    each: &mut dyn FnMut(&[u8], bool),
) {
    walk(view, directory, path, DEEPEST, each);
}

fn walk(
    view: &dyn View,
    directory: &Directory,
    path: &mut Vec<u8>,
    deep: usize,
    each: &mut dyn FnMut(&[u8], bool),
) {
    let len = path.len();
    let _: Result<()> = directory.each(&mut |name, child| {
        path.extend_from_slice(&view.shown(name));
        match child {
            Ok(Child::Dataset(dataset)) if view.shows(dataset.about()) => each(path, true),
            Ok(Child::Directory(directory)) if deep > 0 => {
                each(path, false);
                path.push(b'/');
                walk(view, &directory, path, deep - 1, each);
            }
            _ => {}
        }
        path.truncate(len);
        Ok(())
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_and_groups_are_known_and_of_too_many_everything_is() {
        let mut members = Members::default();
        members.add(b"x.npz/a", true);
        members.add(b"x.npz/g", false);
        assert!(members.has(b"x.npz/a", true) && members.has(b"x.npz/g", false));
        assert!(!members.has(b"x.npz/a", false) && !members.has(b"x.npz/g", true));
        (0..=MOST).for_each(|at| members.add(&at.to_le_bytes(), true));
        assert!(members.has(b"y", true) && members.hashes.len() == MOST);
    }
}
