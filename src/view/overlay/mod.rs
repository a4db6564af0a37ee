//! A tree with `.views` in its root and in the root of each container, found by name and not listed. Below are a
//! directory for each kind of view, and in it the tree's directories again, with the datasets in the view's form. What
//! the tree itself has below a `.views` is passed through, and wins over a kind of the same name.
//!
//! With a view to show, the tree's own directories list datasets in its form.
//!
//! Nodes of the tree keep their numbers. Those of views have a range of their own (`nodes`), created by look-ups and
//! dropped when the kernel forgets them. Representations are kept while they are open, and for a while after. Listings
//! and look-ups here need descriptions from the tree, so no directory of a view is ready without blocking.

mod derived;
mod listing;
mod names;
mod nodes;
mod paths;
mod stores;
#[cfg(test)]
mod tests;
mod tree;
mod vanished;

use std::num::NonZeroUsize;
use std::ops::Range;
use std::sync::Arc;

use lru::LruCache;
use parking_lot::Mutex;

use self::names::{DirNames, Match, find_other};
use self::nodes::{Node, Nodes, Parent, ViewNodeKind, is_view};
use self::paths::Paths;
use self::stores::Stores;
use super::{Dataset, Directory, Folder, Representation as Made, VIEWS, View};
use crate::content::Content;
use crate::source::Source;
use crate::tree::{
    Changed, Description, Entry, FileKind, Held, Lifetime, NodeId, NodeKind, ROOT, Size, Stat, Tree,
    removable,
};
use crate::{Error, Result};

const NAME: &[u8] = b".views";
/// Number of representations kept, each of which may keep a container open; also the number of messages remembered.
const KEPT: NonZeroUsize = NonZeroUsize::new(64).unwrap();
/// Cursors below this are those of entries that the view adds.
const OWN: u64 = 64;
/// Cursors from here on are those of files that containers derive (the tree's are below, see `mirror::Union`).
const LAST: u64 = 1 << 62;
const DIRECTORY: NodeKind = NodeKind::Directory { subdirectories: None };

pub struct Overlay {
    tree: Arc<dyn Tree>,
    views: &'static [&'static dyn View],
    /// The view whose form is listed in place of datasets.
    shown: Option<&'static dyn View>,
    nodes: Arc<Nodes>,
    /// Recent representations.
    made: Mutex<LruCache<NodeId, Made>>,
    /// Recent messages about names.
    logged: Mutex<LruCache<String, ()>>,
    /// The tree's contents may change.
    can_change: bool,
    paths: Paths,
    stores: Stores,
}

impl Overlay {
    pub fn new(tree: Arc<dyn Tree>, shown: Option<&'static dyn View>) -> Overlay {
        Overlay::with(VIEWS, tree, shown)
    }

    fn with(
        views: &'static [&'static dyn View],
        tree: Arc<dyn Tree>,
        shown: Option<&'static dyn View>,
    ) -> Overlay {
        let (made, logged) = (Mutex::new(LruCache::new(KEPT)), Mutex::new(LruCache::new(KEPT)));
        let can_change = tree.lifetime(ROOT) != Lifetime::Forever;
        Overlay {
            views,
            shown,
            nodes: Arc::default(),
            made,
            logged,
            can_change,
            paths: Paths::default(),
            stores: Stores::default(),
            tree,
        }
    }

    /// The node of a view; None for a node of the tree.
    fn node(&self, id: NodeId) -> Result<Option<Arc<Node>>> {
        if is_view(id) { self.nodes.get(id).map(Some).ok_or(Error::NotFound) } else { Ok(None) }
    }

    /// Whether this is a single container that has nothing to show in the view.
    pub fn shows_nothing(&self) -> Result<bool> {
        match self.shown.filter(|view| view.is_derived() && self.tree.is_container(ROOT)) {
            Some(view) => Ok(self.derived(ROOT, view.kind())?.is_none()),
            None => Ok(false),
        }
    }

    fn has_views(&self, dir: NodeId) -> bool {
        dir == ROOT || self.tree.is_container(dir)
    }

    /// The datasets of a directory as the view to show lists them.
    fn shown_in(&self, dir: NodeId) -> Option<DirNames<'_>> {
        self.shown.map(|view| DirNames { tree: &self.tree, dir, view, taken: &[], has_others: true })
    }

    fn borrowed(&self, dir: NodeId) -> Arc<Held> {
        Arc::new(Held::borrowed(&self.tree, dir))
    }

    fn remember(
        &self,
        parent: &Parent,
        name: &[u8],
        of: Arc<Held>,
        what: ViewNodeKind,
    ) -> (NodeId, FileKind) {
        (self.nodes.remember(parent.clone(), name, of, what).id, FileKind::Data)
    }

    /// In a directory of the tree.
    fn look_up_in_tree(&self, dir: NodeId, name: &[u8]) -> Result<Option<(NodeId, FileKind)>> {
        let parent = Parent::Tree(dir);
        if name == NAME && self.has_views(dir) && !self.tree.has_views_of_its_own(dir) {
            let own = Held::find(&self.tree, dir, name)?;
            if let Some((own, file)) = own {
                if !own.is_directory()? {
                    return Ok(Some((own.into_node(), file)));
                }
                let what = ViewNodeKind::Views { own: Some(own) };
                return Ok(Some(self.remember(&parent, name, self.borrowed(dir), what)));
            }
            let of = self.borrowed(dir);
            return Ok(Some(self.remember(&parent, name, of, ViewNodeKind::Views { own: None })));
        }
        let Some(names) = self.shown_in(dir) else {
            let found = self.tree.lookup(dir, name)?;
            return if found.is_some() { Ok(found) } else { self.look_up_made(dir, name) };
        };
        if let Some(found) = names.find(name)? {
            return Ok(Some(self.remember(
                &parent,
                name,
                found,
                ViewNodeKind::Dataset { view: names.view, part: None },
            )));
        }
        let of = self.borrowed(dir);
        if names.beside(&of)?.iter().any(|own| own.as_bytes() == name) {
            return Ok(Some(self.remember(&parent, name, of, ViewNodeKind::Inside { view: names.view })));
        }
        if let Some((found, file)) = find_other(&self.tree, dir, names.view, name)? {
            return Ok(Some((found.into_node(), file)));
        }
        if let Some(found) = self.look_up_derived(dir, &names, name)? {
            return Ok(Some(found));
        }
        let found = self.look_up_part(&names, &parent, name)?;
        if found.is_some() { Ok(found) } else { self.look_up_made(dir, name) }
    }

    /// Parts and other views of what the container derives, and rows of its tables, beside those.
    fn look_up_made(&self, dir: NodeId, name: &[u8]) -> Result<Option<(NodeId, FileKind)>> {
        let parent = Parent::Tree(dir);
        match names::find_made(&self.tree, dir, self.views, name)? {
            Some((view, found)) => {
                Ok(self.found(&parent, name, found, |part| ViewNodeKind::Dataset { view, part }))
            }
            None => self.look_up_rows(dir, &parent, name),
        }
    }

    /// Rows of a table that the container has as a file in its own directory `own`: `records[2:5].csv`.
    fn look_up_rows(&self, own: NodeId, parent: &Parent, name: &[u8]) -> Result<Option<(NodeId, FileKind)>> {
        let found = names::find_rows(&self.tree, own, name)?;
        let what = |index: Option<_>| ViewNodeKind::Rows { index: index.unwrap_or_default() };
        Ok(found.and_then(|found| self.found(parent, name, found, what)))
    }

    fn look_up_part(
        &self,
        names: &DirNames<'_>,
        parent: &Parent,
        name: &[u8],
    ) -> Result<Option<(NodeId, FileKind)>> {
        let what = |part| ViewNodeKind::Dataset { view: names.view, part };
        Ok(names.find_part(name)?.and_then(|found| self.found(parent, name, found, what)))
    }

    /// The node of a name with an index; None, and a line in the log, if the index is wrong.
    fn found(
        &self,
        parent: &Parent,
        name: &[u8],
        found: Match,
        what: impl Fn(Option<Box<str>>) -> ViewNodeKind,
    ) -> Option<(NodeId, FileKind)> {
        match found {
            Match::There(found, index) => Some(self.remember(parent, name, found, what(index))),
            Match::Wrong(error) => {
                self.tell(&error);
                None
            }
        }
    }

    /// Logs once why a name is not a file: a program looks it up several times.
    fn tell(&self, error: &Error) {
        let message = error.to_string();
        let mut logged = self.logged.lock();
        if logged.put(message.clone(), ()).is_none() {
            drop(logged);
            log::warn!("{message}");
        }
    }

    /// In a directory of a view.
    fn look_up_in_view(&self, dir: &Arc<Node>, name: &[u8]) -> Result<Option<(NodeId, FileKind)>> {
        let parent = Parent::View(dir.clone());
        let of = &dir.of;
        match &dir.what {
            ViewNodeKind::Views { own } => {
                let view = self.views.iter().find(|view| view.kind().as_bytes() == name);
                if let Some(own) = own
                    && let Some((found, file)) = Held::find(&self.tree, own.node(), name)?
                    && !(view.is_some() && found.is_directory()?)
                {
                    return Ok(Some((found.into_node(), file)));
                }
                let Some(view) = view else { return Ok(self.look_up_derived_kind(dir, name)) };
                Ok(Some(self.remember(&parent, name, of.clone(), ViewNodeKind::Directory { view: *view })))
            }
            ViewNodeKind::Derived { kind } => self.look_up_in_derived(dir, kind, name),
            ViewNodeKind::Directory { view } => {
                let derived = self.derived(of.node(), view.kind())?;
                if let Some(found) = self.find_beside(derived.as_ref(), of.node(), *view, name)? {
                    return Ok(Some((found.into_node(), FileKind::Data)));
                }
                let beside = view.beside(&Directory::new(of.clone()));
                if beside.iter().any(|own| own.as_bytes() == name) {
                    return Ok(Some(self.remember(
                        &parent,
                        name,
                        of.clone(),
                        ViewNodeKind::Inside { view: *view },
                    )));
                }
                if let Some((found, _)) = find_other(&self.tree, of.node(), *view, name)?
                    && found.is_directory()?
                {
                    let what = ViewNodeKind::Directory { view: *view };
                    return Ok(Some(self.remember(&parent, name, Arc::new(found), what)));
                }
                let names = names_in(&self.tree, of.node(), *view, beside);
                let what = ViewNodeKind::Dataset { view: *view, part: None };
                if let Some(found) = names.find(name)? {
                    return Ok(Some(self.remember(&parent, name, found, what)));
                }
                match (self.look_up_part(&names, &parent, name)?, derived) {
                    (None, Some(derived)) => self.look_up_rows(derived.node(), &parent, name),
                    (found, _) => Ok(found),
                }
            }
            ViewNodeKind::Dataset { view, .. } => {
                let found = self.folder(dir)?.find(name)?;
                let what = ViewNodeKind::Inside { view: *view };
                Ok(found.map(|_| self.remember(&parent, name, of.clone(), what)))
            }
            ViewNodeKind::Inside { .. } | ViewNodeKind::Rows { .. } => Err(Error::NotADirectory),
        }
    }

    /// A node's representation, created unless it is kept.
    fn made(&self, node: &Node) -> Result<Made> {
        if let Some(made) = self.kept(node) {
            return Ok(made);
        }
        let made = match (&node.what, &node.parent) {
            (
                ViewNodeKind::Views { .. } | ViewNodeKind::Directory { .. } | ViewNodeKind::Derived { .. },
                _,
            ) => {
                return Err(Error::IsADirectory);
            }
            (ViewNodeKind::Dataset { view, .. }, _) => {
                let dataset = self.dataset(node).and_then(|dataset| dataset.ok_or(Error::NotFound));
                dataset.and_then(|dataset| view.represent(&dataset)).or_else(broken)?
            }
            (ViewNodeKind::Rows { index }, _) => {
                let rows = self.tree.rows(node.of.node(), index)?;
                Made::File(rows.ok_or(Error::NotFound)?)
            }
            (ViewNodeKind::Inside { .. }, Parent::View(dataset))
                if matches!(dataset.what, ViewNodeKind::Dataset { .. }) =>
            {
                match self.made(dataset)? {
                    Made::Directory(folder) => Made::File(folder.find(&node.name)?.ok_or(Error::NotFound)?),
                    Made::File(_) => return Err(Error::NotFound),
                }
            }
            (ViewNodeKind::Inside { view }, _) => {
                self.knows_all(node, *view);
                let directory = Directory::new(node.of.clone());
                let store = view.store().ok_or(Error::NotFound)?;
                Made::File(store.file_beside(&directory, &String::from_utf8_lossy(&node.name))?)
            }
        };
        Ok(self.keep(node, made))
    }

    /// The files of a dataset shown as a directory. If they cannot be listed this is an error, never an empty
    /// directory: to a program that has a store open, missing files are zeros.
    fn folder(&self, node: &Node) -> Result<Arc<dyn Folder>> {
        match self.made(node) {
            Ok(Made::Directory(folder)) => Ok(folder),
            Ok(Made::File(Content::Broken { error, .. })) if node.what.is_directory() => Err(error),
            Ok(Made::File(_)) => Err(Error::NotADirectory),
            Err(Error::NotFound) => {
                let name = String::from_utf8_lossy(&node.name);
                Err(Error::Other(format!("the source of {name:?} is gone")))
            }
            Err(error) => Err(error),
        }
    }

    /// Keeps a representation in its node while that is open, otherwise for a while. Of two created at once one is
    /// kept.
    fn keep(&self, node: &Node, made: Made) -> Made {
        let mut open = node.open();
        if open.times > 0 {
            return open.made.get_or_insert(made).clone();
        }
        drop(open);
        let mut all = self.made.lock();
        if let Some(made) = all.get(&node.id) {
            return made.clone();
        }
        let dropped = all.push(node.id, made.clone());
        drop(all);
        // It may close a container: not under the lock.
        drop(dropped);
        made
    }

    fn kept(&self, node: &Node) -> Option<Made> {
        let open = node.open().made.clone();
        open.or_else(|| self.made.lock().get(&node.id).cloned())
    }

    fn content_of(&self, node: &Node) -> Result<Content> {
        match self.made(node)? {
            Made::File(content) => Ok(content),
            Made::Directory(_) => Err(Error::IsADirectory),
        }
    }

    /// The attributes of a view's node, taken from what it shows.
    fn stat_of(&self, node: &Node) -> Result<Stat> {
        let of = self.tree.stat(node.of.node(), FileKind::Data)?;
        let size = match node.what.is_directory() {
            true => Size::NOTHING,
            false => {
                let len = self.content_of(node)?.known_len();
                Size { len, stored: of.size.stored.min(len.unwrap_or(u64::MAX)) }
            }
        };
        let kind = if node.what.is_directory() { DIRECTORY } else { NodeKind::File };
        let stat = Stat::of(kind, size);
        // Files of a directory are as readable as that, directories of a file as open as that is readable.
        let permissions = of.permissions | (of.permissions & 0o444) >> 2;
        let permissions = stat.permissions & removable(permissions);
        Ok(Stat { modified: of.modified, permissions, ..stat })
    }
}

/// Damaged data is a file that cannot be read, rather than a missing one.
fn broken(error: Error) -> Result<Made> {
    match error {
        Error::Damaged { .. } | Error::Other(_) => Ok(Made::File(Content::Broken { claimed: 1, error })),
        error => Err(error),
    }
}

/// The names in a directory of a view.
fn names_in<'a>(
    tree: &'a Arc<dyn Tree>,
    dir: NodeId,
    view: &'static dyn View,
    beside: &'a [&'a str],
) -> DirNames<'a> {
    DirNames { tree, dir, view, taken: beside, has_others: false }
}
