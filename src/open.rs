//! From the path of a container to a file system that can be mounted: source, format, tree, FUSE.

use std::sync::Arc;

use crate::Result;
use crate::codec::{Engine, IndexStore, Limits};
use crate::format::{self, Context};
use crate::fs::{FileSystem, Owner};
use crate::fuse::Fuse;
use crate::mount::{Config, Opened};
use crate::source::{FileSource, Source};
use crate::tree::Tree;

/// Opens what `config` names. Reads the container's index only, and starts no thread.
pub fn open(config: &Config) -> Result<Opened<Fuse>> {
    let source = Arc::new(FileSource::open(config.source())?);
    let mode = source.mode();
    let (modified, stored) = (source.modified(), source.len());
    let engine = Arc::new(engine(config));
    let tree =
        format::open(Context { options: config.reading.clone(), ..Context::new(source, engine.clone()) })?;
    let summary = summary(&*tree);
    let fs = FileSystem::new(tree, owner(config), modified, stored);
    let filesystem = Fuse::new(fs, config.auto_unmount, move || engine.close());
    let on_mounted = Box::new(filesystem.on_mounted());
    Ok(Opened { filesystem, summary, mode, on_mounted })
}

fn engine(config: &Config) -> Engine {
    let store = config.index_dir.as_ref().map(|path| IndexStore::new(path.clone(), config.index_size));
    let limits = Limits {
        cache: config.cache_size,
        index: config.index_memory,
        spill: config.spill_size,
        verify_first: config.verify_first,
    };
    Engine::with(limits, store)
}

fn owner(config: &Config) -> Owner {
    Owner {
        uid: config.uid.unwrap_or_else(|| nix::unistd::getuid().as_raw()),
        gid: config.gid.unwrap_or_else(|| nix::unistd::getgid().as_raw()),
        umask: config.umask,
    }
}

fn summary(tree: &dyn Tree) -> String {
    match tree.datasets() {
        1 => "1 dataset".into(),
        count => format!("{count} datasets"),
    }
}
