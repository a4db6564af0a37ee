//! The selected datasets of a tree, and the directories that lead to them.

use std::sync::Arc;

use crate::Result;
use crate::tree::{Arena, Entry, FileKind, Inner, NodeId, NodeKind, ROOT, Tree};

/// Leaves out the other datasets in listings only; the names of files depend on all datasets.
pub struct Chosen {
    tree: Arc<Arena>,
    /// Indexed by node.
    wanted: Vec<bool>,
}

impl Chosen {
    /// Selects the datasets with these numbers.
    pub fn new(tree: Arena, numbers: &[usize]) -> Chosen {
        let mut chosen = vec![false; tree.datasets() as usize];
        numbers.iter().for_each(|number| chosen[*number] = true);
        let mut wanted = vec![false; tree.nodes() as usize];
        for node in 0..tree.nodes() {
            if tree.dataset_of(node).is_none_or(|number| !chosen[number as usize]) {
                continue;
            }
            let mut at = node;
            while at != ROOT && !std::mem::replace(&mut wanted[at as usize], true) {
                at = tree.parent(at);
            }
        }
        Chosen { tree: Arc::new(tree), wanted }
    }

    /// Also selects the directories on these paths, as far as they exist.
    pub fn with_ways_to(mut self, paths: &[Vec<u8>]) -> Result<Chosen> {
        for path in paths {
            let mut at = ROOT;
            for name in path.split(|byte| *byte == b'/') {
                match self.tree.lookup(at, name)? {
                    Some((node, _)) if matches!(self.tree.kind(node)?, NodeKind::Directory { .. }) => {
                        at = node
                    }
                    _ => break,
                }
                self.wanted[at as usize] = true;
            }
        }
        Ok(self)
    }
}

impl Tree for Chosen {
    fn inner(&self, node: NodeId) -> Result<Option<Inner>> {
        Ok(Some((self.tree.clone(), node)))
    }

    fn list(&self, dir: NodeId, cursor: u64, each: &mut dyn FnMut(&[u8], Entry) -> bool) -> Result<()> {
        self.tree.list(dir, cursor, &mut |name, entry| {
            let is_wanted = self.wanted.get(entry.node as usize).copied().unwrap_or_default();
            !is_wanted || each(name, entry)
        })
    }

    fn kind(&self, node: NodeId) -> Result<NodeKind> {
        self.tree.kind(node)
    }

    fn parent(&self, node: NodeId) -> NodeId {
        self.tree.parent(node)
    }

    fn lookup(&self, dir: NodeId, name: &[u8]) -> Result<Option<(NodeId, FileKind)>> {
        self.tree.lookup(dir, name)
    }

    fn nodes(&self) -> u64 {
        self.tree.nodes()
    }

    fn datasets(&self) -> u64 {
        self.tree.datasets()
    }
}
