//! Where programs found stores. To one that has a store open, what is missing of it is data of a sort: so where a store was
//! and is not any more, or is that of another container, what is missing is an error. Containers do not change, so what
//! is missing of the same one was never there.

use std::collections::HashMap;
use std::num::NonZeroUsize;

use lru::LruCache;
use parking_lot::Mutex;

use super::Overlay;
use super::members::{Members, each_member};
use super::nodes::{LONGEST, Node, Parent, What, is_view};
use crate::tree::{Face, Kind, NodeId, ROOT, Tree};
use crate::view::{Directory, View};
use crate::{Error, Result};

/// Paths that are kept.
const FOUND: NonZeroUsize = NonZeroUsize::new(16 << 10).unwrap();

const GONE: &str = "it was there, and is not any more: open again what is in it";
const REPLACED: &str = "its container was replaced, and what is there now has it not: open the store again";
const ROOT_GONE: &str = "what is mounted is not there any more: mount it again, or put it back";
const NO_PIECE: &str = "it has all of its pieces, and none of that name: open it again";

/// Where something is, from the root on, as who looked for it called it.
pub type Path = Vec<u8>;

pub struct Stores {
    /// Where containers are stores, and the directories that lead there.
    found: Mutex<LruCache<Path, Option<Store>>>,
    /// What programs know to be in them.
    members: Mutex<Members>,
    /// Where the directories of the tree are that the kernel remembers.
    ways: Mutex<HashMap<NodeId, Way>>,
}

struct Store {
    container: NodeId,
    /// It was there first, and something else after it: some program may have either open.
    was_replaced: bool,
}

/// In which directory, by which name, and how often it was looked up.
struct Way {
    dir: NodeId,
    name: Box<[u8]>,
    lookups: u64,
}

impl Stores {
    pub fn new() -> Stores {
        let found = Mutex::new(LruCache::sparse(FOUND));
        Stores { found, members: Mutex::default(), ways: Mutex::default() }
    }

    /// A directory of the tree was looked up.
    pub fn entered(&self, dir: NodeId, name: &[u8], id: NodeId) {
        let mut ways = self.ways.lock();
        let lookups = ways.get(&id).map_or(1, |way| way.lookups + 1);
        ways.insert(id, Way { dir, name: name.into(), lookups });
    }

    /// So many look-ups of a node are forgotten.
    pub fn left(&self, id: NodeId, lookups: u64) {
        let mut ways = self.ways.lock();
        let Some(way) = ways.get_mut(&id) else { return };
        way.lookups = way.lookups.saturating_sub(lookups);
        if way.lookups == 0 {
            ways.remove(&id);
        }
    }

    fn way(&self, id: NodeId) -> Option<(NodeId, Box<[u8]>)> {
        self.ways.lock().get(&id).map(|way| (way.dir, way.name.clone()))
    }

    /// There is a directory where a store can be: this container's, if it is one.
    pub fn seen(&self, path: &[u8], container: Option<NodeId>) {
        let mut found = self.found.lock();
        if let Some(Some(store)) = found.get_mut(path) {
            store.was_replaced |= container != Some(store.container);
        } else if let Some(container) = container {
            found.put(path.into(), Some(Store { container, was_replaced: false }));
        } else {
            return;
        }
        // After it, so that it is dropped before them.
        for above in above(path) {
            if found.get(above).is_none() {
                found.put(above.into(), None);
            }
        }
    }

    /// Was a store there, or behind it?
    pub fn had(&self, path: &[u8]) -> bool {
        self.found.lock().get(path).is_some()
    }

    /// Is it in a store, and in one whose container was replaced, or `is_gone`?
    pub fn lost(&self, path: &[u8], is_gone: bool) -> bool {
        let mut found = self.found.lock();
        let is_lost = |path: &[u8]| {
            found.get(path).is_some_and(|store| store.as_ref().is_some_and(|it| is_gone || it.was_replaced))
        };
        above(path).any(is_lost)
    }

    /// A program knows what is at a path: an array, or a group.
    fn know(&self, path: &[u8], is_array: bool) {
        let mut found = self.found.lock();
        let is_in_store = above(path).any(|path| found.get(path).is_some_and(Option::is_some));
        drop(found);
        if is_in_store {
            self.members.lock().add(path, is_array);
        }
    }

    /// Does what is at a path stand where a store had something else that was replaced with its container? What is no
    /// directory where it had one (then nothing is below it, to programs), and what is called as a piece of an array is.
    fn covers(&self, path: &[u8], is_directory: bool, is_piece: bool) -> bool {
        let members = self.members.lock();
        let was_directory = || members.has(path, true) || members.has(path, false);
        let was_piece = || above(path).last().is_some_and(|array| members.has(array, true));
        let covers = !is_directory && was_directory() || is_piece && was_piece();
        drop(members);
        covers && self.lost(path, false)
    }

    /// No store was found yet.
    pub fn is_empty(&self) -> bool {
        self.found.lock().is_empty()
    }
}

/// The directories that a path leads through.
fn above(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    let slashes = path.iter().enumerate().filter(|(_, byte)| **byte == b'/');
    slashes.map(|(at, _)| path.get(..at).unwrap_or_default())
}

impl Overlay {
    /// What was found in a directory, or why what is missing there is an error.
    pub(super) fn still_there(
        &self,
        dir: NodeId,
        node: Option<&Node>,
        name: &[u8],
        found: Result<Option<(NodeId, Face)>>,
    ) -> Result<Option<(NodeId, Face)>> {
        match &found {
            Ok(None) => self.missing(dir, node, name, false)?,
            Err(Error::NotFound | Error::NotADirectory) => self.missing(dir, node, name, true)?,
            Ok(Some((id, _))) if self.can_change => match self.kind(*id) {
                Ok(kind) => self.there(dir, node, name, *id, kind).inspect_err(|_| self.forget(*id, 1))?,
                Err(_) => return found,
            },
            _ => return found,
        }
        self.of_node(dir, found)
    }

    /// There is something of that name. What is no directory and called as what led to a store is an error: so is then,
    /// to the kernel, all that was below it, and a program takes "not a directory" for "no such file". So is what stands
    /// where an array of a store was that was replaced.
    pub(super) fn there(
        &self,
        dir: NodeId,
        node: Option<&Node>,
        name: &[u8],
        id: NodeId,
        kind: Kind,
    ) -> Result<()> {
        if node.is_some_and(|node| matches!(node.what, What::Face { .. })) {
            return Ok(());
        }
        let is_directory = matches!(kind, Kind::Directory { .. });
        if is_directory && !is_view(id) {
            self.stores.entered(dir, name, id);
        }
        let store = self.can_be_store(id).filter(|_| is_directory);
        if store.is_none() && self.stores.is_empty() {
            return Ok(());
        }
        let Some(path) = self.path(dir, node, name) else { return Ok(()) };
        if !is_directory && self.stores.had(&path) {
            return Err(self.gone(&path, GONE));
        }
        if let Some(of) = store {
            self.stores.seen(&path, Some(of).filter(|of| self.tree.is_container(*of)));
        }
        let Some(store) = self.view_in(node).and_then(|view| view.store()) else { return Ok(()) };
        if self.stores.covers(&path, is_directory, store.is_piece(name)) {
            return Err(self.gone(&path, REPLACED));
        }
        if is_directory {
            self.stores.know(&path, self.is_face(id));
        }
        Ok(())
    }

    fn is_face(&self, id: NodeId) -> bool {
        self.nodes.get(id).is_some_and(|node| matches!(node.what, What::Face { .. }))
    }

    /// Who is given a file that says all that is in a store knows it all.
    pub(super) fn told_all(&self, node: &Node, view: &dyn View) {
        if !self.can_change || !view.announces(&node.name) {
            return;
        }
        let Some(mut path) = self.path_of(node) else { return };
        path.truncate(path.len().saturating_sub(node.name.len()));
        each_member(view, &Directory::new(node.of.clone()), &mut path, &mut |path, is_array| {
            self.stores.know(path, is_array);
        });
    }

    /// The view whose faces are in a directory.
    fn view_in(&self, node: Option<&Node>) -> Option<&'static dyn View> {
        match node.map(|node| &node.what) {
            None => self.shown,
            Some(What::Views { .. } | What::Own { .. } | What::Rows { .. }) => None,
            Some(What::Directory { view } | What::Face { view, .. } | What::Inside { view }) => Some(*view),
        }
    }

    /// What was asked of a node that was found before. Were it "no such file" now, all that was below it would be missing
    /// and not lost.
    pub(super) fn of_node<T>(&self, id: NodeId, answer: Result<T>) -> Result<T> {
        match answer {
            Err(Error::NotFound) => Err(self.why_gone(id).unwrap_or(Error::NotFound)),
            answer => answer,
        }
    }

    fn why_gone(&self, id: NodeId) -> Option<Error> {
        if matches!(self.tree.stat(ROOT, Face::Data), Err(Error::NotFound)) {
            return Some(self.gone(b"/", ROOT_GONE));
        }
        if !self.can_change || self.stores.is_empty() {
            return None;
        }
        let path = match self.nodes.get(id) {
            Some(node) => self.path_of(&node)?,
            None => {
                let (dir, name) = self.stores.way(id)?;
                self.path(dir, self.nodes.get(dir).as_deref(), &name)?
            }
        };
        let was_there = self.stores.had(&path) || self.stores.lost(&path, true);
        was_there.then(|| self.gone(&path, GONE))
    }

    /// There is nothing of that name; `is_gone` if the directory itself is not there any more.
    fn missing(&self, dir: NodeId, node: Option<&Node>, name: &[u8], is_gone: bool) -> Result<()> {
        let store = self.view_in(node).and_then(|view| view.store());
        if let Some(node) = node.filter(|node| matches!(node.what, What::Face { .. })) {
            return match store.is_some_and(|store| store.is_piece(name)) {
                true => Err(self.gone(&node.name, NO_PIECE)),
                false => Ok(()),
            };
        }
        if !self.can_change || self.stores.is_empty() {
            return Ok(());
        }
        let Some(path) = self.path(dir, node, name) else { return Ok(()) };
        if self.stores.had(&path) {
            return Err(self.gone(&path, GONE));
        }
        let is_data = store.is_some_and(|store| is_gone || !store.is_own(name));
        if is_data && self.stores.lost(&path, is_gone) {
            return Err(self.gone(&path, REPLACED));
        }
        Ok(())
    }

    /// The directory of the tree that this one shows as a store, if it is a container.
    fn can_be_store(&self, id: NodeId) -> Option<NodeId> {
        let node = match is_view(id) {
            true => self.nodes.get(id)?,
            false => return self.shown.filter(|view| view.makes_directories()).map(|_| id),
        };
        match &node.what {
            What::Directory { view } if view.makes_directories() => Some(node.of.node()),
            _ => None,
        }
    }

    fn path_of(&self, node: &Node) -> Option<Path> {
        match &node.parent {
            Parent::View(above) => self.path(above.id, Some(above), &node.name),
            Parent::Tree(dir) => self.path(*dir, None, &node.name),
        }
    }

    /// What is called so in a directory of the tree, or in one of a view; None where no program could say it.
    fn path(&self, dir: NodeId, node: Option<&Node>, name: &[u8]) -> Option<Path> {
        let (mut names, mut len) = (vec![Box::from(name)], name.len());
        let mut at = match node {
            Some(node) => {
                len += node.name.len() + 1;
                names.push(node.name.clone());
                node.parent.clone()
            }
            None => Parent::Tree(dir),
        };
        while at.id() != ROOT && len <= LONGEST {
            let (above, name) = match &at {
                Parent::View(node) => (node.parent.clone(), node.name.clone()),
                Parent::Tree(id) => {
                    let (above, name) = self.stores.way(*id)?;
                    (self.nodes.get(above).map_or(Parent::Tree(above), Parent::View), name)
                }
            };
            len += name.len() + 1;
            names.push(name);
            at = above;
        }
        names.reverse();
        (len <= LONGEST).then(|| names.join(&b'/'))
    }

    /// Of what is in a store: that its container is not there any more is not that the store has no such file.
    pub(super) fn of_store<T>(&self, node: &Node, answer: Result<T>) -> Result<T> {
        match (answer, &node.what) {
            (
                Err(Error::NotFound),
                What::Face { view, .. } | What::Inside { view } | What::Directory { view },
            ) if view.makes_directories() => Err(self.gone(&node.name, GONE)),
            (answer, _) => answer,
        }
    }

    fn gone(&self, path: &[u8], why: &str) -> Error {
        let error = Error::Other(format!("{}: {why}", String::from_utf8_lossy(path)));
        self.tell(&error);
        error
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_leads_to_a_store_was_there_too() {
        let stores = Stores::new();
        stores.seen(b"sub/x.npz", None);
        assert!(stores.is_empty());
        stores.seen(b"sub/x.npz", Some(7));
        stores.seen(b"sub/x.npz", Some(7));
        for had in ["sub", "sub/x.npz"] {
            assert!(stores.had(had.as_bytes()), "{had}");
        }
        assert!(!stores.had(b"x.npz") && !stores.had(b"sub/x.npz/a") && !stores.had(b"s"));
        // The same container has what it had.
        assert!(!stores.lost(b"sub/x.npz/a/b", false) && stores.lost(b"sub/x.npz/a/b", true));
        assert!(!stores.lost(b"sub/y.npz", true));
    }

    #[test]
    fn a_store_that_was_replaced_once_may_be_missed_ever_after() {
        for other in [None, Some(8)] {
            let stores = Stores::new();
            for container in [Some(7), other, Some(7)] {
                stores.seen(b"x.npz", container);
            }
            assert!(stores.lost(b"x.npz/a", false) && stores.lost(b"x.npz/a/0", false), "{other:?}");
            assert!(!stores.lost(b"y.npz/a", false));
        }
    }

    #[test]
    fn ways_are_known_as_long_as_the_kernel_remembers_them() {
        let stores = Stores::new();
        stores.entered(ROOT, b"x.npz", 7);
        stores.entered(ROOT, b"y.npz", 7);
        stores.left(7, 1);
        assert_eq!(stores.way(7), Some((ROOT, Box::from(&b"y.npz"[..]))));
        stores.left(7, 1);
        assert_eq!(stores.way(7), None);
    }
}
