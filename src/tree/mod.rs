//! A container as a tree: directories, and datasets as files with a sidecar each. Everything above this
//! room knows containers only as a [`Tree`]; node numbers are the tree's own and never change while it is
//! open. Names here are file names (bytes), already escaped by [`naming`].

mod abilities;
mod arena;
mod builder;
mod datasets;
mod derived;
mod description;
mod files;
mod held;
mod items;
mod names;
pub mod naming;
mod near;
mod prefixes;
mod with_views;

use std::ffi::OsString;
use std::ops::Range;
use std::sync::Arc;
use std::time::SystemTime;

use crate::content::Content;
use crate::source::Source;
use crate::{Error, Result};

pub use abilities::{
    Abilities, Identity, Link, Nested, Placement, Plain, Provenance, Rewrite, Sampled, Sidecars, Validate,
};
pub use arena::Arena;
pub use builder::Builder;
pub use datasets::Datasets;
pub use derived::Derived;
pub use description::{Checksum, ColumnInfo, Description, Sampling, Table};
pub use files::{File, Files};
pub use held::Held;
pub use items::Items;
pub use names::{NameList, Names};
pub use near::nearest;
pub use with_views::WithViews;

/// A node's number in its tree. The root is [`ROOT`].
pub type NodeId = u64;
pub const ROOT: NodeId = 0;

/// The name under which views are found.
pub const VIEWS: &[u8] = b".views";

/// Which of a node's files: the dataset's bytes (also used for directories) or its sidecar.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FileKind {
    Data,
    Sidecar,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NodeKind {
    /// With the number of directories in it, where that is known.
    Directory {
        subdirectories: Option<u64>,
    },
    File,
    /// A symbolic link.
    Link,
}

/// A file or directory as a listing shows it.
#[derive(Clone, Debug)]
pub struct Entry {
    pub node: NodeId,
    pub file: FileKind,
    pub kind: NodeKind,
    /// Opaque to the reader: continue a listing after this entry.
    pub cursor: u64,
}

/// What is known of a file without decoding: its length if known, and the bytes it takes on disk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Size {
    pub len: Option<u64>,
    pub stored: u64,
}

impl Size {
    pub const NOTHING: Size = Size { len: Some(0), stored: 0 };
}

/// What a stat shows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stat {
    pub kind: NodeKind,
    pub size: Size,
    /// When it was modified, if not when the container was.
    pub modified: Option<SystemTime>,
    /// The permission bits that its files may have at most.
    pub permissions: u16,
}

/// The permissions of a directory: its owner, if allowed to read it, may write to it too. The mount refuses that all
/// the same, but the user who copies the directory with its mode can then remove the copy.
pub fn removable(permissions: u16) -> u16 {
    permissions | (permissions & 0o400) >> 1
}

impl Stat {
    /// Of what is in a container.
    pub fn of(kind: NodeKind, size: Size) -> Stat {
        let permissions = match kind {
            NodeKind::Directory { .. } => removable(0o555),
            NodeKind::File => 0o444,
            NodeKind::Link => 0o777,
        };
        Stat { kind, size, modified: None, permissions }
    }
}

/// A node, one of its files, and that file's attributes.
pub type FoundNode = (NodeId, FileKind, Stat);

/// How long an answer holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Lifetime {
    Forever,
    /// It may change, and is to be asked for again after a while.
    Refresh,
}

/// Called with a directory and a name in it (None: the directory itself) that has changed.
pub type Changed = Arc<dyn Fn(NodeId, Option<OsString>) + Send + Sync>;

/// A node of another tree.
pub type Inner = (Arc<dyn Tree>, NodeId);

/// A tree that is made of others says by [`Tree::inner`] what it leaves to them, and has methods for the rest. Some are
/// for trees in which nodes come and go or containers are opened when they are needed; static trees keep the defaults.
pub trait Tree: Send + Sync {
    /// The node of another tree that `node` is.
    fn inner(&self, node: NodeId) -> Result<Option<Inner>> {
        let _ = node;
        Ok(None)
    }

    fn kind(&self, node: NodeId) -> Result<NodeKind>;

    /// The directory that holds `node`; the root holds itself.
    fn parent(&self, node: NodeId) -> NodeId;

    /// The node counts as remembered until it is forgotten.
    fn lookup(&self, dir: NodeId, name: &[u8]) -> Result<Option<(NodeId, FileKind)>>;

    /// Calls `each` with the name and entry of everything in `dir` after `cursor` (0: from the start), in
    /// an order that never changes, until it returns false.
    fn list(&self, dir: NodeId, cursor: u64, each: &mut dyn FnMut(&[u8], Entry) -> bool) -> Result<()>;

    /// What a stat can know at once. A tree of its own has this, one of others may have [`Tree::stat`] instead.
    fn size(&self, node: NodeId, file: FileKind) -> Result<Size> {
        self.stat(node, file).map(|stat| stat.size)
    }

    /// The bytes of a file.
    fn content(&self, node: NodeId, file: FileKind) -> Result<Content> {
        let (tree, node) = self.inner(node)?.ok_or(Error::NotFound)?;
        tree.content(node, file)
    }

    /// As [`Tree::content`] if nothing has to be read or built for it, or None.
    fn ready_content(&self, node: NodeId, file: FileKind) -> Result<Option<Content>> {
        self.inner(node)?.map_or(Ok(None), |(tree, node)| tree.ready_content(node, file))
    }

    /// One more than the highest node number.
    fn nodes(&self) -> u64;

    /// How many datasets it holds.
    fn datasets(&self) -> u64;

    /// How many nodes are listed.
    fn entries(&self) -> u64 {
        self.nodes()
    }

    fn stat(&self, node: NodeId, file: FileKind) -> Result<Stat> {
        if let Some((tree, node)) = self.inner(node)? {
            return tree.stat(node, file);
        }
        let kind = self.kind(node)?;
        let size = if kind == NodeKind::File { self.size(node, file)? } else { Size::NOTHING };
        Ok(Stat::of(kind, size))
    }

    /// What a listing of `dir` gave, as [`Tree::lookup`] and [`Tree::stat`] would give it; None if it is not
    /// there any more. It counts as remembered.
    fn listed(&self, dir: NodeId, name: &[u8], entry: &Entry) -> Result<Option<FoundNode>> {
        let _ = (dir, name);
        if entry.kind == NodeKind::Link {
            return self.stat(entry.node, entry.file).map(|stat| Some((entry.node, entry.file, stat)));
        }
        let size =
            if entry.kind == NodeKind::File { self.size(entry.node, entry.file)? } else { Size::NOTHING };
        Ok(Some((entry.node, entry.file, Stat::of(entry.kind, size))))
    }

    /// Can it be answered for this node without opening a container?
    fn is_ready(&self, node: NodeId) -> bool {
        let _ = node;
        true
    }

    /// What a directory in a container is called; None of other nodes, and where nobody has to know.
    fn name(&self, dir: NodeId) -> Option<Vec<u8>> {
        self.inner(dir).ok()?.and_then(|(tree, dir)| tree.name(dir))
    }

    /// What a symbolic link points at.
    fn link(&self, node: NodeId) -> Result<Vec<u8>> {
        self.inner(node)?.map_or(Err(Error::NotFound), |(tree, node)| tree.link(node))
    }

    fn lifetime(&self, node: NodeId) -> Lifetime {
        let _ = node;
        Lifetime::Forever
    }

    /// How long what is in a directory stays the same; a container's content does, and it may be replaced all the same.
    fn listing_lifetime(&self, dir: NodeId) -> Lifetime {
        self.lifetime(dir)
    }

    /// The kernel forgot this many look-ups of the node.
    fn forget(&self, node: NodeId, lookups: u64) {
        let _ = (node, lookups);
    }

    /// Somebody opens the file: its bytes are to stay what they are until it is released. Returned is the source that
    /// is this file, if it is one as it is.
    fn hold(&self, node: NodeId) -> Result<Option<Arc<dyn Source>>> {
        self.inner(node)?.map_or(Ok(None), |(tree, node)| tree.hold(node))
    }

    fn release(&self, node: NodeId) {
        if let Ok(Some((tree, node))) = self.inner(node) {
            tree.release(node);
        }
    }

    /// The nodes that are of the same container, the first of them in the first range.
    fn siblings(&self, node: NodeId) -> Vec<Range<NodeId>> {
        let _ = node;
        std::iter::once(0..self.nodes()).collect()
    }

    /// Is this directory the root of a container?
    fn is_container(&self, dir: NodeId) -> bool {
        dir == ROOT
    }

    /// Everything that a container says of the file; None if it says nothing of it. Files below its own `.views` are
    /// described too where they are arrays.
    fn describe(&self, node: NodeId) -> Result<Option<Description>> {
        self.inner(node)?.map_or(Ok(None), |(tree, node)| tree.describe(node))
    }

    /// Some rows of a table, or items of an array, that is a file by itself, in the same form: `2:10`. None of what is
    /// neither; [`Error::Usage`] says what is wrong with the expression. They are made when they are read.
    fn rows(&self, node: NodeId, expression: &str) -> Result<Option<Content>> {
        self.inner(node)?.map_or(Ok(None), |(tree, node)| tree.rows(node, expression))
    }

    /// The kinds of derived files, but for views of datasets, that the container at `dir` may have, or any container
    /// below.
    fn derived_kinds(&self, dir: NodeId) -> Vec<&'static str> {
        let _ = dir;
        Vec::new()
    }

    /// Is a directory `.views` in this one, the root of a container, what somebody put into the container? It is then
    /// listed as any other, and has no views in it.
    fn has_views_of_its_own(&self, dir: NodeId) -> bool {
        self.inner(dir).is_ok_and(|inner| inner.is_some_and(|(tree, dir)| tree.has_views_of_its_own(dir)))
    }

    /// What users call the format of the container that a node is in.
    fn format(&self, node: NodeId) -> Option<&'static str> {
        self.inner(node).ok()?.and_then(|(tree, node)| tree.format(node))
    }

    /// As [`Tree::describe`], quickly, and of datasets only: metadata, codec and checksum may be left out. Whatever it
    /// describes is shown in views.
    fn brief(&self, node: NodeId) -> Result<Option<Description>> {
        self.inner(node)?.map_or_else(|| self.describe(node), |(tree, node)| tree.brief(node))
    }

    /// From now on `changed` is called when a change is noticed; not all are.
    fn watch(&self, changed: Changed) {
        drop(changed);
    }

    /// Bytes of memory that it takes by now, roughly. Asked for often: nothing may be counted one by one.
    fn memory(&self) -> u64 {
        self.inner(ROOT).ok().flatten().map_or(0, |(tree, _)| tree.memory())
    }

    /// Has it a directory so large that the kernel should not keep what a listing shows (a kilobyte each)?
    fn is_vast(&self) -> bool {
        false
    }
}
