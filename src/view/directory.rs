//! A directory of datasets as views see it: for what a store has to say about all that is in it.

use std::sync::Arc;

use super::Dataset;
use crate::Result;
use crate::tree::{FileKind, Held, ROOT, Tree};

/// Gets the name of what is in a directory, and what it is.
pub type Each<'a> = &'a mut dyn FnMut(&[u8], Result<Child>) -> Result<()>;

#[derive(Clone)]
pub struct Directory {
    held: Arc<Held>,
}

impl Directory {
    pub fn new(held: Arc<Held>) -> Directory {
        Directory { held }
    }

    /// All of a tree.
    pub fn root(tree: &Arc<dyn Tree>) -> Directory {
        Directory::new(Arc::new(Held::borrowed(tree, ROOT)))
    }

    /// What users call the format of what it is in; empty if that is not known.
    pub fn format(&self) -> &'static str {
        self.held.tree().format(self.held.node()).unwrap_or_default()
    }

    /// Is it the root of a container?
    pub fn is_container(&self) -> bool {
        self.held.tree().is_container(self.held.node())
    }

    /// Calls `each` with everything in it that a view shows: the tree's directories and all datasets, by their file
    /// names, in the order of the listing; or with the error that a description gives. An error of `each` is the end.
    pub fn each(&self, each: Each<'_>) -> Result<()> {
        let (tree, mut outcome) = (self.held.tree(), Ok(()));
        tree.list(self.held.node(), 0, &mut |name, entry| {
            if entry.file == FileKind::Data {
                outcome = self.child(name).transpose().map_or(Ok(()), |child| each(name, child));
            }
            outcome.is_ok()
        })?;
        outcome
    }

    fn child(&self, name: &[u8]) -> Result<Option<Child>> {
        let Some((held, _)) = Held::find(self.held.tree(), self.held.node(), name)? else { return Ok(None) };
        if held.is_directory()? {
            return Ok(Some(Child::Directory(Directory::new(Arc::new(held)))));
        }
        Ok(Dataset::of(&Arc::new(held))?.map(Child::Dataset))
    }
}

/// What is in a directory.
pub enum Child {
    Directory(Directory),
    Dataset(Dataset),
}
