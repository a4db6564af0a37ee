//! A node that is kept as long as this value lives.

use std::sync::Arc;

use super::{FileKind, NodeId, NodeKind, Tree};
use crate::Result;

pub struct Held {
    tree: Arc<dyn Tree>,
    node: NodeId,
    /// Somebody else keeps it remembered.
    is_borrowed: bool,
}

impl Held {
    /// What a look-up finds.
    pub fn find(tree: &Arc<dyn Tree>, dir: NodeId, name: &[u8]) -> Result<Option<(Held, FileKind)>> {
        let found = tree.lookup(dir, name)?;
        Ok(found.map(|(node, file)| (Held { tree: tree.clone(), node, is_borrowed: false }, file)))
    }

    /// A node that lives longer than this.
    pub fn borrowed(tree: &Arc<dyn Tree>, node: NodeId) -> Held {
        Held { tree: tree.clone(), node, is_borrowed: true }
    }

    pub fn tree(&self) -> &Arc<dyn Tree> {
        &self.tree
    }

    pub fn node(&self) -> NodeId {
        self.node
    }

    /// The node, which the caller has to forget.
    pub fn into_node(mut self) -> NodeId {
        self.is_borrowed = true;
        self.node
    }

    pub fn is_directory(&self) -> Result<bool> {
        Ok(matches!(self.tree.kind(self.node)?, NodeKind::Directory { .. }))
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if !self.is_borrowed {
            self.tree.forget(self.node, 1);
        }
    }
}
