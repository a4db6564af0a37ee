//! A directory of datasets as views see it: for what a store has to say about all that is in it.

#![cfg_attr(not(test), expect(dead_code, reason = "no view makes directories yet"))]

use std::sync::Arc;

use super::Dataset;
use crate::Result;
use crate::tree::{Face, Held};
pub struct Directory {
    held: Arc<Held>,
    is_top: bool,
}

impl Directory {
    pub fn new(held: Arc<Held>, is_top: bool) -> Directory {
        Directory { held, is_top }
    }
    /// Is it the first of its view, directly in `.views`?
    pub fn is_top(&self) -> bool {
        self.is_top
    }

    /// Calls `each` with everything in it that a view shows: the tree's directories and all datasets, by their file
    /// names, in the order of the listing.
    pub fn each(&self, each: &mut dyn FnMut(&[u8], Child) -> Result<()>) -> Result<()> {
        let (tree, mut outcome) = (self.held.tree(), Ok(()));
        tree.list(self.held.node(), 0, &mut |name, entry| {
            if entry.face == Face::Data {
                outcome = self.child(name).and_then(|child| child.map_or(Ok(()), |child| each(name, child)));
            }
            outcome.is_ok()
        })?;
        outcome
    }

    fn child(&self, name: &[u8]) -> Result<Option<Child>> {
        let Some((held, _)) = Held::find(self.held.tree(), self.held.node(), name)? else { return Ok(None) };
        if held.is_directory()? {
            return Ok(Some(Child::Directory(Directory::new(Arc::new(held), false))));
        }
        Ok(Dataset::of(&Arc::new(held))?.map(Child::Dataset))
    }
}

/// What is in a directory.
pub enum Child {
    Directory(Directory),
    Dataset(Dataset),
}
