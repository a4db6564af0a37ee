//! What `benches/` measures, by name; not an interface of the library.

use std::path::Path;
use std::sync::Arc;

use crate::codec::Engine;
use crate::content::Content;
use crate::format::{self, Context};
use crate::source::FileSource;
use crate::tree::{Abilities, Builder, Datasets, Description, NameList, Sidecars, Size, Tree, naming};
use crate::{Error, Result};

/// Opens a container and counts its datasets: header, records and tree.
pub fn open(path: &Path) -> Result<u64> {
    let context = Context::new(Arc::new(FileSource::open(path)?), Arc::new(Engine::new(1 << 20)));
    Ok(format::open(context)?.into_tree()?.datasets())
}

/// Names, ready to be made a tree of.
pub struct Names(NameList);

impl Names {
    pub fn new<'a>(names: impl IntoIterator<Item = &'a str>) -> Names {
        let mut list = NameList::default();
        names.into_iter().for_each(|name| list.push(name.as_bytes()));
        Names(list)
    }

    /// Places them, and counts the nodes.
    pub fn tree(&self) -> Result<u64> {
        Ok(Builder::build(&self.0, Arc::new(Nothing))?.nodes())
    }
}

/// The number of file names that a dataset's name becomes.
pub fn components(name: &str) -> usize {
    naming::components(name.as_bytes(), &[]).len()
}

/// Datasets of which only the names matter.
struct Nothing;

impl Datasets for Nothing {
    fn count(&self) -> u64 {
        0
    }

    fn size(&self, _: u32) -> Size {
        Size { len: Some(0), stored: 0 }
    }

    fn content(&self, _: u32) -> Result<Content> {
        Err(Error::NotFound)
    }

    fn ready_content(&self, _: u32) -> Result<Option<Content>> {
        Err(Error::NotFound)
    }

    fn describe(&self, _: u32) -> Result<Description> {
        Err(Error::NotFound)
    }

    fn abilities(&self) -> Abilities<'_> {
        Abilities { sidecars: Some(self), ..Abilities::default() }
    }
}

impl Sidecars for Nothing {
    fn sidecar_size(&self, _: u32, _: &[u8]) -> Size {
        Size { len: Some(0), stored: 0 }
    }

    fn sidecar(&self, _: u32, _: &[u8]) -> Result<Content> {
        Err(Error::NotFound)
    }
}
