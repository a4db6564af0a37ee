//! The overlay as a tree.

use super::nodes::Parent;
use super::*;
use crate::tree::{FoundNode as Listed, Inner};

impl Overlay {
    /// The dataset, or the part of one, that a node shows.
    pub(super) fn dataset(&self, node: &Node) -> Result<Option<Dataset>> {
        let ViewNodeKind::Dataset { part, .. } = &node.what else { return Ok(None) };
        let dataset = match Dataset::of(&node.of)? {
            None => Dataset::made(&node.of)?.ok_or(Error::NotFound)?,
            Some(dataset) => dataset,
        };
        match part.as_deref().map(|part| dataset.part(part)) {
            None => Ok(Some(dataset)),
            Some(part) => part.map(Some).map_err(|problem| dataset.wrong(&problem)),
        }
    }

    fn is_directory(&self, id: NodeId) -> bool {
        matches!(self.tree.kind(id), Ok(NodeKind::Directory { .. }))
    }

    /// The dataset whose container has to stay open while this is read.
    fn held_for(&self, node: &Node) -> Option<NodeId> {
        match (&node.what, &node.parent) {
            (ViewNodeKind::Dataset { .. } | ViewNodeKind::Rows { .. }, _) => Some(node.of.node()),
            (ViewNodeKind::Inside { .. }, Parent::View(parent)) => self.held_for(parent),
            _ => None,
        }
    }
}

impl Tree for Overlay {
    fn inner(&self, id: NodeId) -> Result<Option<Inner>> {
        Ok(self.node(id)?.is_none().then(|| (self.tree.clone(), id)))
    }

    fn kind(&self, id: NodeId) -> Result<NodeKind> {
        match self.node(id)? {
            Some(node) if node.what.is_directory() => Ok(DIRECTORY),
            Some(_) => Ok(NodeKind::File),
            None => self.of_node(id, self.tree.kind(id)),
        }
    }

    fn parent(&self, id: NodeId) -> NodeId {
        match self.node(id) {
            Ok(Some(node)) => node.parent.id(),
            Ok(None) => self.tree.parent(id),
            Err(_) => ROOT,
        }
    }

    fn lookup(&self, dir: NodeId, name: &[u8]) -> Result<Option<(NodeId, FileKind)>> {
        let node = self.node(dir)?;
        let found = match &node {
            Some(node) => self.look_up_in_view(node, name),
            None => self.look_up_in_tree(dir, name),
        };
        self.still_there(dir, node.as_deref(), name, found)
    }

    fn list(&self, dir: NodeId, cursor: u64, each: &mut dyn FnMut(&[u8], Entry) -> bool) -> Result<()> {
        let listed = match self.node(dir)? {
            Some(node) => self.list_view(&node, cursor, each),
            None => match self.shown_in(dir) {
                Some(names) => self.list_shown(dir, &names, cursor, each),
                None => self.tree.list(dir, cursor, each),
            },
        };
        self.of_node(dir, listed)
    }

    fn listed(&self, dir: NodeId, name: &[u8], entry: &Entry) -> Result<Option<Listed>> {
        // `.views` may be listed by the tree itself.
        if !is_view(dir) && !is_view(entry.node) && name != NAME {
            let meant = self.shown.map_or(name.into(), |view| view.meant(name));
            let found = self.tree.listed(dir, &meant, entry)?;
            if let Some((id, _, stat)) = found.filter(|_| self.can_change) {
                self.there(dir, None, name, id, stat.kind).inspect_err(|_| self.forget(id, 1))?;
            }
            if found.is_some() || self.shown.is_none() {
                return Ok(found);
            }
        }
        let Some((node, file)) = self.lookup(dir, name)? else { return Ok(None) };
        let stat = self.stat(node, file).inspect_err(|_| self.forget(node, 1))?;
        Ok(Some((node, file, stat)))
    }

    fn stat(&self, id: NodeId, file: FileKind) -> Result<Stat> {
        let stat = match self.node(id)? {
            Some(node) => self.of_store(&node, self.stat_of(&node)),
            None => self.tree.stat(id, file),
        };
        self.of_node(id, stat)
    }

    fn content(&self, id: NodeId, file: FileKind) -> Result<Content> {
        match self.node(id)? {
            Some(node) => self.of_store(&node, self.content_of(&node)),
            None => self.tree.content(id, file),
        }
    }

    fn ready_content(&self, id: NodeId, file: FileKind) -> Result<Option<Content>> {
        let Some(node) = self.node(id)? else { return self.tree.ready_content(id, file) };
        match self.kept(&node) {
            Some(Made::File(content)) => Ok(Some(content)),
            _ => Ok(None),
        }
    }

    fn nodes(&self) -> u64 {
        self.tree.nodes()
    }

    fn entries(&self) -> u64 {
        self.tree.entries()
    }

    fn datasets(&self) -> u64 {
        self.tree.datasets()
    }

    fn is_ready(&self, id: NodeId) -> bool {
        match self.node(id) {
            Ok(Some(node)) => !node.what.is_directory() && self.kept(&node).is_some(),
            Ok(None) => self.tree.is_ready(id) && (self.shown.is_none() || !self.is_directory(id)),
            Err(_) => true,
        }
    }

    fn lifetime(&self, id: NodeId) -> Lifetime {
        match self.node(id) {
            Ok(Some(node)) => self.tree.lifetime(node.of.node()),
            Ok(None) => self.tree.lifetime(id),
            Err(_) => Lifetime::Refresh,
        }
    }

    fn listing_lifetime(&self, dir: NodeId) -> Lifetime {
        match self.node(dir) {
            Ok(Some(node)) => self.tree.listing_lifetime(node.of.node()),
            Ok(None) => self.tree.listing_lifetime(dir),
            Err(_) => Lifetime::Refresh,
        }
    }

    fn forget(&self, id: NodeId, lookups: u64) {
        self.paths.left(id, lookups);
        if !is_view(id) {
            return self.tree.forget(id, lookups);
        }
        if self.nodes.forget(id, lookups) {
            let made = self.made.lock().pop(&id);
            // Dropping it may close a container: not under the lock.
            drop(made);
        }
    }

    fn hold(&self, id: NodeId) -> Result<Option<Arc<dyn Source>>> {
        let Some(node) = self.node(id)? else { return self.tree.hold(id) };
        // The source is another file than this.
        self.of_store(&node, self.held_for(&node).map_or(Ok(None), |of| self.tree.hold(of)))?;
        let lately = self.kept(&node);
        let mut open = node.open();
        open.times += 1;
        open.made = open.made.take().or(lately);
        Ok(None)
    }

    fn release(&self, id: NodeId) {
        match self.node(id) {
            Ok(Some(node)) => {
                let mut open = node.open();
                open.times = open.times.saturating_sub(1);
                let made = if open.times == 0 { open.made.take() } else { None };
                drop(open);
                if let Some(made) = made {
                    self.keep(&node, made);
                }
                if let Some(of) = self.held_for(&node) {
                    self.tree.release(of);
                }
            }
            Ok(None) => self.tree.release(id),
            Err(_) => {}
        }
    }

    fn siblings(&self, id: NodeId) -> Vec<Range<NodeId>> {
        let of = self.node(id).ok().flatten().map_or(id, |node| node.of.node());
        let mut all = self.tree.siblings(of);
        let views = self.nodes.filter(|node| all.iter().any(|range| range.contains(&node.of.node())));
        all.extend(views.iter().map(|node| node.id..node.id + 1));
        all
    }

    fn is_container(&self, dir: NodeId) -> bool {
        !is_view(dir) && self.tree.is_container(dir)
    }

    fn format(&self, id: NodeId) -> Option<&'static str> {
        let of = self.node(id).ok()?.map_or(id, |node| node.of.node());
        self.tree.format(of)
    }

    /// A dataset in a view is described as the dataset itself.
    fn describe(&self, id: NodeId) -> Result<Option<Description>> {
        match self.node(id)? {
            Some(node) => {
                let about = self.dataset(&node)?.map(|dataset| dataset.describe()).transpose()?;
                // Its checksum is that of other bytes than the view's.
                Ok(about.map(|about| Description { checksum: None, ..about }))
            }
            None => self.tree.describe(id),
        }
    }

    fn brief(&self, id: NodeId) -> Result<Option<Description>> {
        match self.node(id)? {
            Some(_) => self.describe(id),
            None => self.tree.brief(id),
        }
    }

    /// What changes in a directory changes in the directories of views that show it.
    fn watch(&self, changed: Changed) {
        let nodes = self.nodes.clone();
        self.tree.watch(Arc::new(move |dir, name| {
            let of_it = |node: &Node| {
                matches!(node.what, ViewNodeKind::Directory { .. } | ViewNodeKind::Derived { .. })
                    && node.of.node() == dir
            };
            for node in nodes.filter(of_it) {
                changed(node.id, name.clone());
            }
            changed(dir, name);
        }));
    }

    fn is_vast(&self) -> bool {
        self.tree.is_vast()
    }
}
