//! From a path on the command line to a file system: source, format, tree.

use std::path::Path;
use std::sync::Arc;

use crate::Result;
use crate::codec::Engine;
use crate::format::{self, Context};
use crate::fs::{FileSystem, Owner};
use crate::source::{FileSource, Source};

/// A container opened as a file system.
pub struct Opened {
    pub fs: FileSystem,
    /// How many datasets it holds.
    pub datasets: u64,
    /// Permission bits of the container's file.
    pub mode: u32,
}

/// Opens the container at `path`; `cache_size` bounds the decoded bytes that are kept.
pub fn open(path: &Path, cache_size: u64, owner: Owner) -> Result<Opened> {
    let source = Arc::new(FileSource::open(path)?);
    let (modified, stored, mode) = (source.modified(), source.len(), source.mode());
    let engine = Arc::new(Engine::new(cache_size));
    let tree = format::open(Context { source, engine })?;
    let datasets = tree.datasets();
    Ok(Opened { fs: FileSystem::new(tree, owner, modified, stored), datasets, mode })
}
