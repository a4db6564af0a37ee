//! What a container has below `.views` by itself, and of what is none of its datasets, as a tree: for who knows the
//! datasets already.

use std::collections::HashSet;
use std::sync::Arc;

use crate::Result;
use crate::archive::Archive;
use crate::content::Content;
use crate::tree::{Entry, Face, Kind, NodeId, ROOT, Size, Tree};
use crate::view::View;

const VIEWS: &[u8] = b".views";

pub struct Own {
    tree: Arc<dyn Tree>,
    /// The node that is the root here.
    views: NodeId,
    /// What is listed, if not all.
    wanted: Option<HashSet<NodeId>>,
}

impl Own {
    /// None if the container has no such directory.
    pub fn of(archive: &Archive) -> Result<Option<Own>> {
        let tree = archive.mounted()?;
        let Some((views, _)) = tree.lookup(ROOT, VIEWS)? else { return Ok(None) };
        let is_directory = matches!(tree.kind(views)?, Kind::Directory { .. });
        Ok(is_directory.then_some(Own { tree, views, wanted: None }))
    }

    /// What a view's faces are called.
    pub fn names(&self, view: &dyn View) -> Result<Vec<Vec<u8>>> {
        let mut found = Vec::new();
        let mut left: Vec<_> =
            self.way(view.kind().as_bytes())?.pop().map(|dir| (Vec::new(), dir)).into_iter().collect();
        while let Some((before, dir)) = left.pop() {
            self.tree.list(dir, 0, &mut |name, entry| {
                let path = [&*before, name].concat();
                match entry.kind {
                    Kind::Directory { .. } => left.push(([&*path, b"/"].concat(), entry.node)),
                    Kind::File | Kind::Link => {
                        found.extend(path.strip_suffix(view.extension().as_bytes()).map(<[u8]>::to_vec))
                    }
                }
                true
            })?;
        }
        found.sort_unstable();
        Ok(found)
    }

    /// Only these of a view's faces are listed.
    pub fn choose(&mut self, view: &dyn View, names: &[Vec<u8>]) -> Result<()> {
        let mut wanted = HashSet::new();
        for name in names {
            let path = [view.kind().as_bytes(), b"/", name, view.extension().as_bytes()].concat();
            wanted.extend(self.way(&path)?);
        }
        self.wanted = Some(wanted);
        Ok(())
    }

    /// All nodes that lead to a path, and its own; none if there is no such path.
    fn way(&self, path: &[u8]) -> Result<Vec<NodeId>> {
        let (mut at, mut way) = (self.views, Vec::new());
        for name in path.split(|byte| *byte == b'/') {
            let Some((node, _)) = self.tree.lookup(at, name)? else { return Ok(Vec::new()) };
            way.push(node);
            at = node;
        }
        Ok(way)
    }

    fn inner(&self, node: NodeId) -> NodeId {
        if node == ROOT { self.views } else { node }
    }
}

/// Nodes have the numbers of the container's tree, but for the root.
impl Tree for Own {
    fn kind(&self, node: NodeId) -> Result<Kind> {
        self.tree.kind(self.inner(node))
    }

    fn parent(&self, node: NodeId) -> NodeId {
        let parent = self.tree.parent(self.inner(node));
        if node == ROOT || parent == self.views { ROOT } else { parent }
    }

    fn lookup(&self, dir: NodeId, name: &[u8]) -> Result<Option<(NodeId, Face)>> {
        self.tree.lookup(self.inner(dir), name)
    }

    fn list(&self, dir: NodeId, cursor: u64, each: &mut dyn FnMut(&[u8], Entry) -> bool) -> Result<()> {
        self.tree.list(self.inner(dir), cursor, &mut |name, entry| {
            let is_wanted = self.wanted.as_ref().is_none_or(|wanted| wanted.contains(&entry.node));
            !is_wanted || each(name, entry)
        })
    }

    fn size(&self, node: NodeId, face: Face) -> Result<Size> {
        self.tree.size(self.inner(node), face)
    }

    fn content(&self, node: NodeId, face: Face) -> Result<Content> {
        self.tree.content(self.inner(node), face)
    }

    fn content_at_once(&self, node: NodeId, face: Face) -> Result<Option<Content>> {
        self.tree.content_at_once(self.inner(node), face)
    }

    fn link(&self, node: NodeId) -> Result<Vec<u8>> {
        self.tree.link(self.inner(node))
    }

    fn nodes(&self) -> u64 {
        self.tree.nodes()
    }

    fn datasets(&self) -> u64 {
        0
    }
}
