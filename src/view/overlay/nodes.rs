//! View nodes that the kernel remembers. A node's number is computed from what the node is, so a node that was
//! forgotten and looked up again gets the same number.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard, RwLock};

use super::super::{Representation as Made, View};
use crate::tree::{Held, NodeId};

/// What all numbers of views begin with, and no others (see `mirror::Union`).
const FIRST: NodeId = 254 << BITS;
const BITS: u32 = 55;
/// Bytes of a path that the kernel takes.
pub const MAX_LEN: usize = 4096;

pub fn is_view(id: NodeId) -> bool {
    id >> BITS == FIRST >> BITS
}

/// What a node of a view is.
pub enum ViewNodeKind {
    /// `.views`, and the directory of that name that the tree itself has.
    Views { own: Option<Held> },
    /// A directory of datasets.
    Directory { view: &'static dyn View },
    /// A directory of the files of this kind that containers derive, by the paths of the containers.
    Derived { kind: &'static str },
    /// A dataset in a view, or the part of it that an index says.
    Dataset { view: &'static dyn View, part: Option<Box<str>> },
    /// Rows of a table that the container has as a file, as an index says.
    Rows { index: Box<str> },
    /// A file in a dataset's directory (the parent), or one that completes a directory of datasets.
    Inside { view: &'static dyn View },
}

impl ViewNodeKind {
    pub fn is_directory(&self) -> bool {
        match self {
            ViewNodeKind::Views { .. } | ViewNodeKind::Directory { .. } | ViewNodeKind::Derived { .. } => {
                true
            }
            ViewNodeKind::Dataset { view, .. } => view.makes_directories(),
            ViewNodeKind::Inside { .. } | ViewNodeKind::Rows { .. } => false,
        }
    }
}

/// Where a node is.
#[derive(Clone)]
pub enum Parent {
    View(Arc<Node>),
    /// A directory of the tree below.
    Tree(NodeId),
}

impl Parent {
    pub fn id(&self) -> NodeId {
        match self {
            Parent::View(node) => node.id,
            Parent::Tree(id) => *id,
        }
    }
}

pub struct Node {
    pub id: NodeId,
    pub parent: Parent,
    pub name: Box<[u8]>,
    pub what: ViewNodeKind,
    /// The dataset or directory that it shows.
    pub of: Arc<Held>,
    open: Mutex<Open>,
}

/// How often a file is open, and its representation, created once for all readers.
#[derive(Default)]
pub struct Open {
    pub times: u64,
    pub made: Option<Made>,
}

impl Node {
    pub fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock()
    }

    fn is(&self, parent: NodeId, name: &[u8], of: NodeId) -> bool {
        self.parent.id() == parent && *self.name == *name && self.of.node() == of
    }
}

/// The number of a node that is not known yet.
pub fn id_of(parent: NodeId, name: &[u8], of: NodeId) -> NodeId {
    let mut hasher = DefaultHasher::new();
    (parent, name, of).hash(&mut hasher);
    FIRST | (hasher.finish() & ((1 << BITS) - 1))
}

#[derive(Default)]
pub struct Nodes {
    /// Each with its look-ups.
    by_id: RwLock<HashMap<NodeId, (Arc<Node>, u64)>>,
}

impl Nodes {
    pub fn get(&self, id: NodeId) -> Option<Arc<Node>> {
        self.by_id.read().get(&id).map(|(node, _)| node.clone())
    }

    /// The node of what was found, once more remembered.
    pub fn remember(&self, parent: Parent, name: &[u8], of: Arc<Held>, what: ViewNodeKind) -> Arc<Node> {
        let mut id = id_of(parent.id(), name, of.node());
        let mut nodes = self.by_id.write();
        // Two nodes of one number are as good as impossible, and then the second takes the next one.
        while let Some((node, lookups)) = nodes.get_mut(&id) {
            if node.is(parent.id(), name, of.node()) {
                *lookups += 1;
                let node = node.clone();
                // What is dropped with them may be forgotten by the tree below: not under the lock.
                drop(nodes);
                return node;
            }
            id = FIRST | (id.wrapping_add(1) & ((1 << BITS) - 1));
        }
        let node = Arc::new(Node { id, parent, name: name.into(), what, of, open: Mutex::default() });
        nodes.insert(id, (node.clone(), 1));
        node
    }

    /// Takes back look-ups; true if the node is dropped.
    pub fn forget(&self, id: NodeId, lookups: u64) -> bool {
        let mut nodes = self.by_id.write();
        let Some((_, known)) = nodes.get_mut(&id) else { return false };
        *known = known.saturating_sub(lookups);
        let dropped = if *known == 0 { nodes.remove(&id) } else { None };
        drop(nodes);
        dropped.is_some()
    }

    /// Those that `is_wanted`.
    pub fn filter(&self, is_wanted: impl Fn(&Node) -> bool) -> Vec<Arc<Node>> {
        let nodes = self.by_id.read();
        nodes.values().map(|(node, _)| node).filter(|node| is_wanted(node)).cloned().collect()
    }
}
