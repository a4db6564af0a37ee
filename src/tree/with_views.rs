//! A tree that has another one in its root: as `.views`, found by name and not listed, or with its files
//! behind the tree's own.

use std::sync::Arc;

use super::{Description, Entry, FileKind, Inner, NodeId, NodeKind, ROOT, Tree, VIEWS};
use crate::{Error, Result};

/// Cursors of the other tree's files in the root of this one. Above them `mirror::Union` keeps bits for itself.
const BESIDE: u64 = 1 << 48;

/// The nodes of `views` come after those of `main`.
pub struct WithViews {
    main: Arc<dyn Tree>,
    views: Arc<dyn Tree>,
    /// What is in the root of the views is in that of the tree.
    is_beside: bool,
}

enum At {
    Main(NodeId),
    View(NodeId),
}

impl WithViews {
    pub fn new(main: Arc<dyn Tree>, views: Arc<dyn Tree>) -> WithViews {
        WithViews { main, views, is_beside: false }
    }

    pub fn beside(main: Arc<dyn Tree>, files: Arc<dyn Tree>) -> WithViews {
        WithViews { main, views: files, is_beside: true }
    }

    fn at(&self, node: NodeId) -> At {
        if node < self.main.nodes() { At::Main(node) } else { At::View(node - self.first()) }
    }

    /// The number here of the views' root. What is in it beside the tree's own files has no root of its own.
    fn first(&self) -> NodeId {
        self.main.nodes() - NodeId::from(self.is_beside)
    }

    fn look_up_view(&self, dir: NodeId, name: &[u8]) -> Result<Option<(NodeId, FileKind)>> {
        let found = self.views.lookup(dir, name)?;
        Ok(found.map(|(node, file)| (self.of_view(node), file)))
    }

    /// The number here of a node of the views.
    fn of_view(&self, node: NodeId) -> NodeId {
        self.first() + node
    }
}

impl Tree for WithViews {
    fn inner(&self, node: NodeId) -> Result<Option<Inner>> {
        Ok(Some(match self.at(node) {
            At::Main(node) => (self.main.clone(), node),
            At::View(node) => (self.views.clone(), node),
        }))
    }

    fn kind(&self, node: NodeId) -> Result<NodeKind> {
        match self.at(node) {
            At::Main(node) => self.main.kind(node),
            At::View(node) => self.views.kind(node),
        }
    }

    fn parent(&self, node: NodeId) -> NodeId {
        match self.at(node) {
            At::Main(node) => self.main.parent(node),
            At::View(node) if node == ROOT || self.is_beside && self.views.parent(node) == ROOT => ROOT,
            At::View(node) => self.of_view(self.views.parent(node)),
        }
    }

    fn lookup(&self, dir: NodeId, name: &[u8]) -> Result<Option<(NodeId, FileKind)>> {
        match self.at(dir) {
            At::Main(dir) => {
                let found = self.main.lookup(dir, name)?;
                if self.is_beside && dir == ROOT && found.is_none() {
                    return self.look_up_view(ROOT, name);
                }
                let views = || {
                    (!self.is_beside && dir == ROOT && name == VIEWS)
                        .then(|| (self.of_view(ROOT), FileKind::Data))
                };
                Ok(found.or_else(views))
            }
            At::View(dir) => self.look_up_view(dir, name),
        }
    }

    fn list(&self, dir: NodeId, cursor: u64, each: &mut dyn FnMut(&[u8], Entry) -> bool) -> Result<()> {
        match self.at(dir) {
            At::Main(ROOT) if self.is_beside => {
                let mut goes_on = true;
                if cursor < BESIDE {
                    self.main.list(ROOT, cursor, &mut |name, entry| {
                        goes_on = each(name, entry);
                        goes_on
                    })?;
                }
                let mut behind = |name: &[u8], entry: Entry| {
                    let is_free = self.main.lookup(ROOT, name).is_ok_and(|found| found.is_none());
                    let (node, cursor) = (self.of_view(entry.node), entry.cursor + BESIDE);
                    !is_free || each(name, Entry { node, cursor, ..entry })
                };
                match goes_on {
                    true => self.views.list(ROOT, cursor.saturating_sub(BESIDE), &mut behind),
                    false => Ok(()),
                }
            }
            At::Main(dir) => self.main.list(dir, cursor, each),
            At::View(dir) => self.views.list(dir, cursor, &mut |name, entry| {
                each(name, Entry { node: self.of_view(entry.node), ..entry })
            }),
        }
    }

    fn nodes(&self) -> u64 {
        self.first() + self.views.nodes()
    }

    fn entries(&self) -> u64 {
        self.main.entries()
    }

    fn datasets(&self) -> u64 {
        self.main.datasets()
    }

    fn format(&self, node: NodeId) -> Option<&'static str> {
        let _ = node;
        self.main.format(ROOT)
    }

    fn describe(&self, node: NodeId) -> Result<Option<Description>> {
        match self.at(node) {
            At::Main(node) => self.main.describe(node),
            // Most derived files have no description.
            At::View(node) => match self.views.describe(node) {
                Err(Error::NotFound) => Ok(None),
                described => described,
            },
        }
    }

    fn brief(&self, node: NodeId) -> Result<Option<Description>> {
        match self.at(node) {
            At::Main(node) => self.main.brief(node),
            At::View(_) => Ok(None),
        }
    }

    fn name(&self, dir: NodeId) -> Option<Vec<u8>> {
        match self.at(dir) {
            At::Main(dir) => self.main.name(dir),
            At::View(_) => None,
        }
    }

    fn memory(&self) -> u64 {
        self.main.memory() + self.views.memory()
    }

    fn is_vast(&self) -> bool {
        self.main.is_vast() || self.views.is_vast()
    }
}
