//! A directory of files as a tree in which every container is a directory of its datasets; also several files
//! and directories side by side. Nothing is read at the start; directories are read when they are listed,
//! containers opened when they are looked into, and closed again when too many are open.
//!
//! | | |
//! |---|---|
//! | `options` | what is shown |
//! | `classify` | how a file on disk is shown |
//! | `classified` | a file as it was when it was classified |
//! | `listing` | what is in a directory, in an order that stays |
//! | `nodes` | nodes that the kernel remembers, and their numbers |
//! | `objects` | objects in stores as files of directories |
//! | `opened` | the containers and files that are open |
//! | `watch` | changes as the system tells them |
//! | `union` | several trees laid over each other |
//! | `failed` | a container that cannot be opened, as a directory that says why |
//!
//! Numbers: the root is 0. What lies in directories ("outer" nodes, containers' own directories among them) has a
//! number made of its name and identity, with [`nodes::OUTER`] set. What lies inside a container has the
//! container's slot times 2^32 plus its number in the container's own tree. So a container that is replaced has other
//! numbers, and one that was closed and opened again the same.

mod classified;
mod classify;
mod failed;
mod listing;
mod nodes;
mod objects;
mod opened;
mod options;
#[cfg(test)]
mod tests;
mod union;
mod watch;

use std::ffi::{OsStr, OsString};
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

pub use options::{Filter, MEMORY, Options};
pub use union::Union;

use crate::codec::Engine;
use crate::content::Content;
use crate::format::FORMATS;
use crate::source::{Source, url};
use crate::tree::{Changed, Entry, FileKind, FoundNode, Inner, Lifetime, NodeId, NodeKind, ROOT, Stat, Tree};
use crate::{Error, Result};
use classified::EntryKind;
use classify::Classifier;
use listing::Listings;
use nodes::{Node, Nodes, is_outer};
use opened::Opened;
use watch::Watch;

/// What nodes inside of containers are numbered in.
const INNER: u32 = 32;

/// Opening a container of this size takes no longer than looking at a file does.
const SOON_OPENED: u64 = 256 << 10;

pub struct Mirror {
    classifier: Classifier,
    nodes: Nodes,
    listings: Listings,
    opened: Opened,
    watch: Watch,
}

/// Where a node is.
enum At {
    Outer(Arc<Node>),
    /// In a container, with its number there.
    Inner(Arc<Node>, NodeId),
}

impl Mirror {
    /// The tree of one directory.
    pub fn of_directory(path: PathBuf, options: Options, engine: Arc<Engine>) -> Result<Mirror> {
        let root = classify::root(&path)?;
        Ok(Mirror::new(root, Listings::of_disk(), options, engine))
    }

    /// Several files and directories, each under its own name; a name that is taken gets `~2`, `~3`, ...
    pub fn of_sources(paths: &[PathBuf], options: Options, engine: Arc<Engine>) -> Result<Mirror> {
        let listings = Listings::of_sources(paths);
        let mirror = Mirror::new(Node::root(PathBuf::new(), None), listings, options, engine);
        // Like files that are given, objects have to be there at the start.
        paths
            .iter()
            .filter_map(|path| url(path))
            .try_for_each(|url| mirror.classifier.objects.expect(url))?;
        Ok(mirror)
    }

    fn new(root: Node, listings: Listings, options: Options, engine: Arc<Engine>) -> Mirror {
        let classifier = Classifier::new(options.clone());
        Mirror {
            nodes: Nodes::new(root),
            opened: Opened::new(&options, engine, classifier.objects.clone()),
            classifier,
            listings,
            watch: Watch::new(),
        }
    }

    fn at(&self, id: NodeId) -> Result<At> {
        if id == ROOT || is_outer(id) {
            return self.nodes.get(id).map(At::Outer).ok_or(Error::NotFound);
        }
        let container = self.nodes.of_slot((id >> INNER) as u32).ok_or(Error::NotFound)?;
        Ok(At::Inner(container, id & ((1 << INNER) - 1)))
    }

    /// The number of a node inside a container.
    fn inside(container: &Node, node: NodeId) -> NodeId {
        if node == ROOT { container.id } else { (u64::from(container.slot) << INNER) | node }
    }

    /// The container and the number in its tree, for all that is in one; its own directory is its root.
    fn in_container(&self, id: NodeId) -> Result<Option<(Arc<Node>, NodeId)>> {
        Ok(match self.at(id)? {
            At::Outer(node) if node.is_container() => Some((node, ROOT)),
            At::Outer(_) => None,
            At::Inner(container, node) => Some((container, node)),
        })
    }

    fn outer(&self, id: NodeId) -> Result<Arc<Node>> {
        match self.at(id)? {
            At::Outer(node) => Ok(node),
            At::Inner(..) => Err(Error::NotFound),
        }
    }

    /// Looks for a file on disk, and remembers it.
    fn look_up(&self, dir: &Arc<Node>, name: &OsStr) -> Result<Option<(Arc<Node>, Stat)>> {
        if !matches!(dir.what, EntryKind::Directory) {
            return Err(Error::NotADirectory);
        }
        self.watch.add(dir);
        let Some(name) = self.listings.true_name(dir, name, &self.classifier)? else { return Ok(None) };
        let Some(found) = self.classifier.look_at(dir, &name)? else { return Ok(None) };
        let stat = found.stat();
        Ok(Some((self.nodes.remember(dir, name, found), stat)))
    }
}

impl Tree for Mirror {
    fn inner(&self, id: NodeId) -> Result<Option<Inner>> {
        let inner = self.in_container(id)?;
        inner.map(|(container, node)| Ok((self.opened.tree(&container)?, node))).transpose()
    }

    fn kind(&self, id: NodeId) -> Result<NodeKind> {
        match self.at(id)? {
            At::Outer(node) => Ok(node.what.kind()),
            At::Inner(container, node) => self.opened.tree(&container)?.kind(node),
        }
    }

    fn parent(&self, id: NodeId) -> NodeId {
        match self.at(id) {
            Ok(At::Outer(node)) => node.parent.as_ref().map_or(ROOT, |parent| parent.id),
            Ok(At::Inner(container, node)) => {
                let parent = self.opened.tree(&container).map_or(ROOT, |tree| tree.parent(node));
                Mirror::inside(&container, parent)
            }
            Err(_) => ROOT,
        }
    }

    fn lookup(&self, dir: NodeId, name: &[u8]) -> Result<Option<(NodeId, FileKind)>> {
        if let Some((container, node)) = self.in_container(dir)? {
            let found = self.opened.tree(&container)?.lookup(node, name)?;
            let Some((node, file)) = found else { return Ok(None) };
            self.nodes.remember_again(&container);
            return Ok(Some((Mirror::inside(&container, node), file)));
        }
        let found = self.look_up(&self.outer(dir)?, OsStr::from_bytes(name))?;
        Ok(found.map(|(node, _)| (node.id, FileKind::Data)))
    }

    fn list(&self, dir: NodeId, cursor: u64, each: &mut dyn FnMut(&[u8], Entry) -> bool) -> Result<()> {
        if let Some((container, node)) = self.in_container(dir)? {
            return self.opened.tree(&container)?.list(node, cursor, &mut |name, entry| {
                each(name, Entry { node: Mirror::inside(&container, entry.node), ..entry })
            });
        }
        let dir = self.outer(dir)?;
        if !matches!(dir.what, EntryKind::Directory) {
            return Err(Error::NotADirectory);
        }
        self.watch.add(&dir);
        let listing = self.listings.get(&dir, cursor, &self.classifier)?;
        for line in listing.after(cursor) {
            let entry = Entry { node: line.id, file: FileKind::Data, kind: line.kind, cursor: line.cursor };
            if !each(line.shown.as_bytes(), entry) {
                break;
            }
        }
        Ok(())
    }

    fn listed(&self, dir: NodeId, name: &[u8], entry: &Entry) -> Result<Option<FoundNode>> {
        if let Some((container, _)) = self.in_container(dir)? {
            let stat = self.stat(entry.node, entry.file)?;
            self.nodes.remember_again(&container);
            return Ok(Some((entry.node, entry.file, stat)));
        }
        let found = self.look_up(&self.outer(dir)?, OsStr::from_bytes(name))?;
        Ok(found.map(|(node, stat)| (node.id, FileKind::Data, stat)))
    }

    fn stat(&self, id: NodeId, file: FileKind) -> Result<Stat> {
        match self.at(id)? {
            At::Outer(node) if node.is_container() => Ok(node.found.stat()),
            At::Outer(node) => match self.opened.stat_if_open(&node) {
                Some(stat) => Ok(stat),
                None => self.classifier.look_again(&node),
            },
            At::Inner(container, node) => {
                let inner = self.opened.tree(&container)?.stat(node, file)?;
                let own = container.found.stat();
                Ok(Stat { modified: own.modified, permissions: inner.permissions & own.permissions, ..inner })
            }
        }
    }

    fn content(&self, id: NodeId, file: FileKind) -> Result<Content> {
        match self.inner(id)? {
            Some((tree, node)) => tree.content(node, file),
            None => self.opened.file(&*self.outer(id)?),
        }
    }

    fn ready_content(&self, id: NodeId, file: FileKind) -> Result<Option<Content>> {
        match self.in_container(id)? {
            Some((container, node)) => match self.opened.tree_if_open(&container) {
                Some(tree) => tree.ready_content(node, file),
                None => Ok(None),
            },
            None => self.opened.file_if_open(&*self.outer(id)?),
        }
    }

    fn nodes(&self) -> u64 {
        self.nodes.len()
    }

    fn datasets(&self) -> u64 {
        0
    }

    fn is_ready(&self, id: NodeId) -> bool {
        match self.at(id) {
            Ok(At::Outer(node)) if !node.is_container() => {
                !node.is_remote || self.classifier.objects.is_kept(&node) || self.opened.is_open(&node)
            }
            Ok(At::Outer(node) | At::Inner(node, _)) => {
                let is_soon_opened = !node.is_remote && node.found.identity.len <= SOON_OPENED;
                is_soon_opened || self.opened.is_open(&node)
            }
            Err(_) => true,
        }
    }

    fn link(&self, id: NodeId) -> Result<Vec<u8>> {
        match self.at(id)? {
            At::Outer(node) => self.classifier.link(&node),
            At::Inner(container, node) => self.opened.tree(&container)?.link(node),
        }
    }

    fn lifetime(&self, id: NodeId) -> Lifetime {
        if id == ROOT || is_outer(id) { Lifetime::Refresh } else { Lifetime::Forever }
    }

    fn listing_lifetime(&self, id: NodeId) -> Lifetime {
        match self.in_container(id) {
            Ok(Some(_)) => Lifetime::Forever,
            _ => Lifetime::Refresh,
        }
    }

    fn forget(&self, id: NodeId, lookups: u64) {
        let node = match self.at(id) {
            Ok(At::Outer(node) | At::Inner(node, _)) => node,
            Err(_) => return,
        };
        if self.nodes.forget(&node, lookups) {
            self.opened.close(&node);
            self.watch.remove(&node);
        }
    }

    fn hold(&self, id: NodeId) -> Result<Option<Arc<dyn Source>>> {
        let (At::Outer(node) | At::Inner(node, _)) = self.at(id)?;
        self.opened.hold(&node)
    }

    fn release(&self, id: NodeId) {
        if let Ok(At::Outer(node) | At::Inner(node, _)) = self.at(id) {
            self.opened.release(&node);
        }
    }

    fn watch(&self, changed: Changed) {
        if !self.classifier.options.strip_ext {
            return self.watch.start(changed);
        }
        // A name may be shown without its extension.
        self.watch.start(Arc::new(move |dir, name: Option<OsString>| {
            let stem = name.as_ref().and_then(|name| Path::new(name).file_stem()).map(OsStr::to_owned);
            changed(dir, name);
            changed(dir, stem);
        }));
    }

    fn siblings(&self, id: NodeId) -> Vec<Range<NodeId>> {
        let all = match self.at(id) {
            Ok(At::Inner(container, _)) => {
                let first = u64::from(container.slot) << INNER;
                first..first + container.inner.load(Ordering::Relaxed)
            }
            _ => id..id + 1,
        };
        std::iter::once(all).collect()
    }

    fn is_container(&self, dir: NodeId) -> bool {
        is_outer(dir) && self.nodes.get(dir).is_some_and(|node| node.is_container())
    }

    fn format(&self, id: NodeId) -> Option<&'static str> {
        match self.in_container(id) {
            Ok(Some((container, _))) => match container.what {
                EntryKind::Container(format) => Some(format.name()),
                _ => None,
            },
            _ => None,
        }
    }

    fn derived_kinds(&self, dir: NodeId) -> Vec<&'static str> {
        match self.at(dir) {
            Ok(At::Outer(node)) => match node.what {
                EntryKind::Container(format) => format.marks().views.to_vec(),
                _ => FORMATS.iter().flat_map(|format| format.marks().views).copied().collect(),
            },
            _ => Vec::new(),
        }
    }
}
