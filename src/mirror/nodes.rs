//! Nodes that the kernel remembers, kept exactly until it has forgotten all its look-ups.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::RwLock;

use super::classified::{Classified, EntryKind};
use crate::source::is_url;
use crate::tree::{NodeId, ROOT};

/// The bit that all outer nodes but the root have, and none other.
pub const OUTER: NodeId = 1 << 54;
/// Containers that can be looked into at a time.
const SLOTS: u32 = 1 << 22;

pub fn is_outer(id: NodeId) -> bool {
    id & OUTER != 0
}

/// A file, directory or link on disk, what is like them in a store, or the root.
pub struct Node {
    pub id: NodeId,
    /// None: this is the root.
    pub parent: Option<Arc<Node>>,
    /// Its name on disk; of a source that was given by itself its absolute path.
    pub name: OsString,
    pub what: EntryKind,
    /// It is in a store, not on disk.
    pub is_remote: bool,
    /// As it was when it was remembered.
    pub found: Classified,
    /// Of a container: what the numbers of its inner nodes begin with; else 0.
    pub slot: u32,
    /// Of a container: how many nodes it had when it was opened.
    pub inner: AtomicU64,
    lookups: AtomicU64,
}

impl Node {
    /// The root of a directory, or of several sources if there is none.
    pub fn root(path: PathBuf, found: Option<Classified>) -> Node {
        Node {
            id: ROOT,
            parent: None,
            is_remote: path.to_str().is_some_and(is_url),
            name: path.into(),
            what: EntryKind::Directory,
            found: found.unwrap_or_default(),
            slot: 0,
            inner: AtomicU64::new(0),
            lookups: AtomicU64::new(1),
        }
    }

    pub fn is_container(&self) -> bool {
        matches!(self.what, EntryKind::Container(_))
    }

    /// Is what it has under this name in a store?
    pub fn holds_remote(&self, name: &OsStr) -> bool {
        self.is_remote || self.is_sources() && name.to_str().is_some_and(is_url)
    }

    /// Is it the root of several sources, which is on no disk?
    pub fn is_sources(&self) -> bool {
        self.parent.is_none() && self.name.is_empty()
    }

    /// How many levels it shows if its own files are the last: 1 for a directory that was given.
    pub fn level(&self) -> u32 {
        match &self.parent {
            Some(parent) if parent.is_sources() => 1,
            Some(parent) => parent.level() + 1,
            None => 1,
        }
    }

    /// Where it is on disk, or its URL.
    pub fn path(&self) -> PathBuf {
        match &self.parent {
            // The name of a source is a whole path, which join takes as it is.
            Some(parent) => parent.path().join(&self.name),
            None => PathBuf::from(&self.name),
        }
    }

    /// The path below the source that it is in, for patterns.
    pub fn below_root(&self) -> PathBuf {
        match &self.parent {
            Some(parent) if parent.is_sources() => PathBuf::new(),
            Some(parent) => parent.below_root().join(Path::new(&self.name).file_name().unwrap_or_default()),
            None => PathBuf::new(),
        }
    }

    /// Its ancestors, itself first.
    pub fn ancestors(self: &Arc<Node>) -> impl Iterator<Item = &Arc<Node>> {
        std::iter::successors(Some(self), |node| node.parent.as_ref())
    }

    /// Is this what was found?
    fn is(&self, parent: NodeId, name: &OsStr, found: &Classified) -> bool {
        let is_child = self.parent.as_ref().is_some_and(|own| own.id == parent);
        is_child && self.name == name && self.found.is_same(found)
    }
}

/// The number of a node: another one if a file is replaced, and for a container also if its content or mode changes.
pub fn id_of(parent: NodeId, name: &OsStr, found: &Classified) -> NodeId {
    let mut hasher = DefaultHasher::new();
    (parent, name).hash(&mut hasher);
    found.hash(&mut hasher);
    OUTER | (hasher.finish() & (OUTER - 1))
}

pub struct Nodes {
    table: RwLock<Table>,
}

struct Table {
    by_id: HashMap<NodeId, Arc<Node>>,
    by_slot: HashMap<u32, Arc<Node>>,
    next_slot: u32,
}

impl Nodes {
    pub fn new(root: Node) -> Nodes {
        let by_id = HashMap::from([(ROOT, Arc::new(root))]);
        Nodes { table: RwLock::new(Table { by_id, by_slot: HashMap::new(), next_slot: 1 }) }
    }

    pub fn get(&self, id: NodeId) -> Option<Arc<Node>> {
        self.table.read().by_id.get(&id).cloned()
    }

    pub fn of_slot(&self, slot: u32) -> Option<Arc<Node>> {
        self.table.read().by_slot.get(&slot).cloned()
    }

    pub fn len(&self) -> u64 {
        self.table.read().by_id.len() as u64
    }

    /// The node of what was found, once more remembered.
    pub fn remember(&self, parent: &Arc<Node>, name: OsString, found: Classified) -> Arc<Node> {
        let first = id_of(parent.id, &name, &found);
        let mut table = self.table.write();
        let mut id = first;
        // Two names of one number are as good as impossible, and then the second takes the next one.
        while let Some(node) = table.by_id.get(&id) {
            if node.is(parent.id, &name, &found) {
                node.lookups.fetch_add(1, Ordering::Relaxed);
                return node.clone();
            }
            id = OUTER | (id.wrapping_add(1) & (OUTER - 1));
        }
        table.add(id, parent, name, found)
    }

    /// Once more, for a container: what is looked up inside counts for it.
    pub fn remember_again(&self, node: &Arc<Node>) {
        node.lookups.fetch_add(1, Ordering::Relaxed);
        // Between finding the node and counting, it may have been dropped.
        let is_there = self.table.read().by_id.contains_key(&node.id);
        if !is_there {
            let mut table = self.table.write();
            table.by_id.insert(node.id, node.clone());
            if node.slot != 0 {
                table.by_slot.insert(node.slot, node.clone());
            }
        }
    }

    /// Takes back look-ups; true if the node is dropped.
    pub fn forget(&self, node: &Arc<Node>, lookups: u64) -> bool {
        let mut table = self.table.write();
        let less = |before: u64| Some(before.saturating_sub(lookups));
        let before = node.lookups.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
        if before.is_ok_and(|before| before > lookups) || node.id == ROOT {
            return false;
        }
        table.by_slot.remove(&node.slot);
        table.by_id.remove(&node.id).is_some()
    }
}

impl Table {
    fn add(&mut self, id: NodeId, parent: &Arc<Node>, name: OsString, found: Classified) -> Arc<Node> {
        let slot = if let EntryKind::Container(_) = found.what { self.free_slot() } else { 0 };
        let node = Arc::new(Node {
            id,
            parent: Some(parent.clone()),
            is_remote: parent.holds_remote(&name),
            name,
            what: found.what,
            slot,
            inner: AtomicU64::new(0),
            found,
            lookups: AtomicU64::new(1),
        });
        self.by_id.insert(id, node.clone());
        if slot != 0 {
            self.by_slot.insert(slot, node.clone());
        }
        node
    }

    /// The least recently used number; 0, where nothing is found, if there is no other.
    fn free_slot(&mut self) -> u32 {
        if self.by_slot.len() + 1 >= SLOTS as usize {
            return 0;
        }
        loop {
            let slot = self.next_slot;
            self.next_slot = if slot + 1 == SLOTS { 1 } else { slot + 1 };
            if !self.by_slot.contains_key(&slot) {
                return slot;
            }
        }
    }
}
