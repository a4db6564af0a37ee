//! A container as a tree: directories, and datasets as files with a sidecar each. Everything above this
//! room knows containers only as a [`Tree`]; node numbers are the tree's own and never change while it is
//! open. Names here are file names (bytes), already escaped by [`naming`].

mod arena;
mod builder;
mod description;
mod names;
pub mod naming;
mod prefixes;

use crate::Result;
use crate::content::Content;

pub use arena::Datasets;
pub use builder::Builder;
pub use description::{Checksum, ColumnInfo, Description, Table};
pub use names::{NameList, Names};

/// A node's number in its tree. The root is [`ROOT`].
pub type NodeId = u64;
pub const ROOT: NodeId = 0;

/// Which of a node's files: the dataset's bytes (also the face of a directory) or its sidecar.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Face {
    Data,
    Sidecar,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Directory { subdirectories: u64 },
    File,
}

/// A file or directory as a listing shows it.
#[derive(Clone, Debug)]
pub struct Entry {
    pub node: NodeId,
    pub face: Face,
    pub kind: Kind,
    /// Opaque to the reader: continue a listing after this entry.
    pub cursor: u64,
}

/// What is known of a file without decoding: its length if known, and the bytes it takes on disk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Size {
    pub len: Option<u64>,
    pub stored: u64,
}

pub trait Tree: Send + Sync {
    fn kind(&self, node: NodeId) -> Option<Kind>;

    /// The directory that holds `node`; the root holds itself.
    fn parent(&self, node: NodeId) -> NodeId;

    fn lookup(&self, dir: NodeId, name: &[u8]) -> Option<(NodeId, Face)>;

    /// Calls `each` with the name and entry of everything in `dir` after `cursor` (0: from the start), in
    /// an order that never changes, until it returns false.
    fn list(&self, dir: NodeId, cursor: u64, each: &mut dyn FnMut(&[u8], Entry) -> bool);

    /// What a stat can know at once.
    fn size(&self, node: NodeId, face: Face) -> Result<Size>;

    /// The bytes of a file.
    fn content(&self, node: NodeId, face: Face) -> Result<Content>;

    /// As [`Tree::content`] if nothing has to be read or built for it, or None.
    fn content_at_once(&self, node: NodeId, face: Face) -> Result<Option<Content>>;

    /// One more than the highest node number.
    fn nodes(&self) -> u64;

    /// How many datasets it holds.
    fn datasets(&self) -> u64;

    /// Has it a directory so large that the kernel should not keep what a listing shows (a kilobyte each)?
    fn is_vast(&self) -> bool {
        false
    }
}
