//! From the paths of sources to a file system that can be mounted: source, format, tree, FUSE. One container is its
//! own tree, as are the files of a format that takes several as one; a directory, or several sources, are mirrored.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::codec::{Engine, IndexStore, Limits};
use crate::format::{self, Context};
use crate::fs::{FileSystem, Owner};
use crate::fuse::{Behaviour, Fuse};
use crate::mirror::{self, Filter, Mirror, Union};
use crate::mount::{Config, Opened};
use crate::source::{self, FileSource};
use crate::tree::{ROOT, Tree};
use crate::view::{self, Overlay};
use crate::{Error, Result};

/// Descriptors for all but the containers and files of a directory: those that are being opened or listed among them.
const OTHER_DESCRIPTORS: u64 = 200;

/// A tree with its summary.
struct Root {
    tree: Arc<dyn Tree>,
    modified: SystemTime,
    /// Bytes on disk.
    stored: u64,
    mode: u32,
    summary: String,
    is_changing: bool,
}

/// Opens what `config` names. Reads a container's index only, nothing of a directory, and starts no thread.
pub fn open(config: &Config) -> Result<Opened<Fuse>> {
    let engine = Arc::new(engine(config));
    let root = match config.sources.as_slice() {
        [path] => one(path, config, &engine)?,
        _ if config.showing.union => union(config, &engine)?,
        files if make_one(files, config)? => container(files, config, &engine)?,
        _ => several(config, &engine)?,
    };
    let behaviour = Behaviour {
        ask_opendirs: config.auto_unmount,
        xattrs: config.showing.xattr,
        changing: root.is_changing.then_some(config.showing.refresh),
        direct_from: config.direct_io.unwrap_or(u64::MAX),
        push: config.push,
        follow: config.follow,
        receivers: config.threads as u32,
    };
    let shown = config.showing.kind.as_deref().map(view::named).transpose()?;
    let format = root.tree.format(ROOT).unwrap_or_default();
    let tree = Arc::new(Overlay::new(root.tree, shown));
    if let Some(view) = shown.filter(|_| !root.is_changing)
        && tree.shows_nothing()?
    {
        return Err(view::missing(view, config.source(), format));
    }
    let fs = FileSystem::new(tree, owner(config), root.modified, root.stored);
    let at_end = move || {
        engine.close();
        source::finish();
    };
    let filesystem = Fuse::new(fs, behaviour, at_end);
    let on_mounted = Box::new(filesystem.on_mounted());
    Ok(Opened { filesystem, summary: root.summary, mode: root.mode, on_mounted })
}

fn one(path: &Path, config: &Config, engine: &Arc<Engine>) -> Result<Root> {
    if let Some(url) = source::url(path) {
        return at_url(url, config, engine);
    }
    if !path.is_dir() {
        return container(&[path.to_owned()], config, engine);
    }
    // Options for directories ask for a directory.
    let files = match config.showing.is_of_directory() {
        true => Vec::new(),
        false => format::only_parts(path, &config.showing.formats)?,
    };
    match make_one(&files, config) {
        Ok(true) => container(&files, config, engine),
        // What is wrong with one of them is shown where it stands.
        Ok(false) | Err(_) => directory(path, config, engine),
    }
}

/// An object, or what is below a prefix.
fn at_url(url: &str, config: &Config, engine: &Arc<Engine>) -> Result<Root> {
    let path = Path::new(url);
    if source::is_directory(path) {
        return directory(path, config, engine);
    }
    match container(&[path.to_owned()], config, engine) {
        Err(error) if error.is_missing() && !url.starts_with("http") => {
            directory(path, config, engine).map_err(|_| error)
        }
        other => other,
    }
}

/// Do these files make one container?
fn make_one(files: &[PathBuf], config: &Config) -> Result<bool> {
    if files.iter().any(|file| source::is_directory(file)) {
        return Ok(false);
    }
    format::are_one(
        &files.iter().map(|file| format::source(file)).collect::<Result<Vec<_>>>()?,
        &config.showing.formats,
    )
}

/// Of one file, or of several that make one container.
fn container(files: &[PathBuf], config: &Config, engine: &Arc<Engine>) -> Result<Root> {
    let sources = files.iter().map(|file| format::source(file)).collect::<Result<Vec<_>>>()?;
    let Some((first, others)) = sources.split_first() else { return Err(Error::NotFound) };
    let modified = sources.iter().map(|source| source.modified()).max().unwrap_or(SystemTime::UNIX_EPOCH);
    let stored = sources.iter().map(|source| source.len()).sum();
    let mode = sources.iter().fold(first.mode(), |mode, source| mode & source.mode());
    let others = others.to_vec();
    let options = formats(config);
    let context = Context { others, options, ..Context::new(first.clone(), engine.clone()) };
    let tree = format::open(context)?.into_tree()?;
    let summary = match tree.datasets() {
        1 => "1 dataset".into(),
        count => format!("{count} datasets"),
    };
    Ok(Root { tree, modified, stored, mode, summary, is_changing: false })
}

fn directory(path: &Path, config: &Config, engine: &Arc<Engine>) -> Result<Root> {
    let options = showing(config)?;
    let tree = Arc::new(Mirror::of_directory(path.to_owned(), options, engine.clone())?);
    let (modified, mode) = looked_at(path)?;
    let summary = format!("the containers in {}", source::without_secrets(path).display());
    Ok(Root { tree, modified, stored: capacity(path), mode, summary, is_changing: true })
}

/// The trees of all sources as one.
fn union(config: &Config, engine: &Arc<Engine>) -> Result<Root> {
    let mut trees = Vec::new();
    for path in &config.sources {
        let root = one(path, config, engine)?;
        trees.push((path.clone(), root.tree));
    }
    let (modified, mode) = looked_at(config.source())?;
    let summary = format!("{} sources as one", trees.len());
    let tree = Arc::new(Union::new(trees)?);
    Ok(Root { tree, modified, stored: capacity(config.source()), mode, summary, is_changing: true })
}

fn several(config: &Config, engine: &Arc<Engine>) -> Result<Root> {
    let options = showing(config)?;
    for file in config.sources.iter().filter(|path| source::url(path).is_none() && !path.is_dir()) {
        format::chosen(&FileSource::open(file)?, &options.formats)?;
    }
    let tree = Arc::new(Mirror::of_sources(&config.sources, options, engine.clone())?);
    let (modified, mode) = looked_at(config.source())?;
    let summary = format!("{} sources", config.sources.len());
    Ok(Root { tree, modified, stored: capacity(config.source()), mode, summary, is_changing: true })
}

fn looked_at(path: &Path) -> Result<(SystemTime, u32)> {
    use std::os::unix::fs::PermissionsExt;
    if source::url(path).is_some() {
        return Ok((SystemTime::now(), 0o555));
    }
    let meta = path.metadata().map_err(|cause| Error::open(path, cause))?;
    let modified = meta.modified().map_err(|cause| Error::open(path, cause))?;
    Ok((modified, meta.permissions().mode()))
}

/// That of the file system that a directory is on.
fn capacity(path: &Path) -> u64 {
    rustix::fs::statvfs(path).map_or(0, |about| about.f_blocks.saturating_mul(about.f_frsize))
}

fn showing(config: &Config) -> Result<mirror::Options> {
    let showing = &config.showing;
    Ok(mirror::Options {
        max_open: affordable(showing.max_open),
        max_memory: mirror::MEMORY,
        formats: formats(config),
        refresh: showing.refresh,
        strip_ext: showing.strip_ext,
        only_containers: showing.only_containers,
        follow_outside: showing.follow_outside,
        max_depth: showing.max_depth,
        filter: Filter::new(&showing.include, &showing.exclude)?,
        mountpoint: config.mountpoint.clone(),
    })
}

/// What the user says about containers, and where they will be mounted.
fn formats(config: &Config) -> format::Options {
    let mut options = config.showing.formats.clone();
    options.policy.mountpoint = config.mountpoint.clone();
    options
}

/// How many files may be open: the limit of descriptors is raised for them if it can be.
fn affordable(most: usize) -> usize {
    let limit = getrlimit(Resource::Nofile);
    let wanted = most as u64 + OTHER_DESCRIPTORS;
    if limit.current.is_none_or(|current| current >= wanted) {
        return most;
    }
    let current = limit.maximum.map_or(wanted, |maximum| maximum.min(wanted));
    let raised = setrlimit(Resource::Nofile, Rlimit { current: Some(current), ..limit });
    let current = if raised.is_ok() { current } else { limit.current.unwrap_or(current) };
    let affordable = current.saturating_sub(OTHER_DESCRIPTORS).max(current / 4).max(1);
    if affordable < most as u64 {
        log::warn!(
            "at most {affordable} files are kept open, not {most}: the limit on file descriptors is \
             {current}"
        );
    }
    most.min(affordable as usize)
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
