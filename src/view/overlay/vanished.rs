//! Answers for what is missing. To the kernel "no such file" and "not a directory" are the same news, and a program
//! that has a store open takes both for zeros. So what is missing where a store was, or stands in its place, is an
//! error; what a container that was never replaced does not have was never there, and is not.
//!
//! Stores are found in views that make them, and in containers that hold one as files: a zipped Zarr store.

use super::Overlay;
use super::nodes::{Node, ViewNodeKind, is_view};
use super::paths::{Path, above};
use crate::tree::{FileKind, NodeId, NodeKind, ROOT, Tree as _};
use crate::view::directory::Child;
use crate::view::{Directory, Store, View, zarr};
use crate::{Error, Result};

/// How deep directories are followed: no view describes anything deeper.
const MAX_DEPTH: usize = 128;

const GONE: &str = "it is gone: open what is in it again";
const REPLACED: &str = "its container was replaced, and the new one does not have it: open the store again (mount again if it is meant to be missing)";
const ROOT_GONE: &str = "the source of this mount is gone: put it back, or mount again";
const NO_PIECE: &str = "it has all of its pieces, and none of that name: open it again";

impl Overlay {
    /// Checks what a look-up in a directory found.
    pub(super) fn still_there(
        &self,
        dir: NodeId,
        node: Option<&Node>,
        name: &[u8],
        found: Result<Option<(NodeId, FileKind)>>,
    ) -> Result<Option<(NodeId, FileKind)>> {
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

    /// Notes an entry that was found. It is an error if it hides a store: a file where a directory led to one, or
    /// anything in the place of a part of one that was replaced.
    pub(super) fn there(
        &self,
        dir: NodeId,
        node: Option<&Node>,
        name: &[u8],
        id: NodeId,
        kind: NodeKind,
    ) -> Result<()> {
        if node.is_some_and(|node| matches!(node.what, ViewNodeKind::Dataset { .. })) {
            return Ok(());
        }
        let is_directory = matches!(kind, NodeKind::Directory { .. });
        let Some(path) = self.paths.of(dir, name) else { return Ok(()) };
        let had = self.stores.had(&path);
        if is_directory {
            self.paths.entered(id, &path);
            if let Some(of) = self.can_be_store(id).or_else(|| had.then_some(id)) {
                self.stores.seen(&path, Some(of).filter(|of| self.tree.is_container(*of)))?;
            }
        } else if had {
            return Err(self.gone(&path, GONE));
        }
        let Some(store) = self.store_in(node) else { return Ok(()) };
        if self.is_plain(node) && store.is_own(name) {
            self.holds_store(dir, &path)?;
        }
        if self.stores.is_empty() {
            return Ok(());
        }
        if self.stores.covers(&path, is_directory, store.is_piece(name)) {
            return Err(self.gone(&path, REPLACED));
        }
        if is_directory {
            let is_array =
                self.nodes.get(id).is_some_and(|node| matches!(node.what, ViewNodeKind::Dataset { .. }));
            self.stores.know(&path, is_array);
        }
        Ok(())
    }

    /// A directory of the tree has a file by which programs recognise a store: so the container that it is in is one.
    fn holds_store(&self, dir: NodeId, path: &[u8]) -> Result<()> {
        let (mut at, mut above) = (dir, above(path).collect::<Vec<_>>());
        while let Some(path) = above.pop() {
            if self.tree.is_container(at) {
                return self.stores.seen(path, Some(at));
            }
            at = self.tree.parent(at);
        }
        Ok(())
    }

    /// A program that reads a file which lists everything in a store knows all of it.
    pub(super) fn knows_all(&self, node: &Node, view: &dyn View) {
        if !self.can_change || !view.announces(&node.name) {
            return;
        }
        let Some(mut path) = self.paths.of(node.parent.id(), b"") else { return };
        self.knows_below(view, &Directory::new(node.of.clone()), &mut path, MAX_DEPTH);
    }

    /// Notes every array and group below a directory, whose path ends with a slash. What cannot be read is not listed
    /// in the store's files either.
    fn knows_below(&self, view: &dyn View, directory: &Directory, path: &mut Path, deep: usize) {
        let len = path.len();
        let _: Result<()> = directory.each(&mut |name, child| {
            path.extend_from_slice(&view.shown(name));
            match child {
                Ok(Child::Dataset(dataset)) if view.shows(dataset.about()) => self.stores.know(path, true),
                Ok(Child::Directory(directory)) if deep > 0 => {
                    self.stores.know(path, false);
                    path.push(b'/');
                    self.knows_below(view, &directory, path, deep - 1);
                }
                _ => {}
            }
            path.truncate(len);
            Ok(())
        });
    }

    /// The tree's own directories, with no view shown in them.
    fn is_plain(&self, node: Option<&Node>) -> bool {
        node.is_none() && self.shown.is_none()
    }

    /// How stores are laid out in a directory: as its view makes them, or as Zarr's where the tree holds them as files.
    fn store_in(&self, node: Option<&Node>) -> Option<&'static dyn Store> {
        let view = match node.map(|node| &node.what) {
            None => self.shown.unwrap_or(&zarr::Zarr),
            Some(ViewNodeKind::Views { .. } | ViewNodeKind::Derived { .. } | ViewNodeKind::Rows { .. }) => {
                return None;
            }
            Some(
                ViewNodeKind::Directory { view }
                | ViewNodeKind::Dataset { view, .. }
                | ViewNodeKind::Inside { view },
            ) => *view,
        };
        view.store()
    }

    /// The answer of a node that was found before. Were it "no such file" now, everything below it would be missing and
    /// not lost.
    pub(super) fn of_node<T>(&self, id: NodeId, answer: Result<T>) -> Result<T> {
        match answer {
            Err(Error::NotFound) => Err(self.why_gone(id).unwrap_or(Error::NotFound)),
            answer => answer,
        }
    }

    fn why_gone(&self, id: NodeId) -> Option<Error> {
        if matches!(self.tree.stat(ROOT, FileKind::Data), Err(Error::NotFound)) {
            return Some(self.gone(b"/", ROOT_GONE));
        }
        if !self.can_change || self.stores.is_empty() {
            return None;
        }
        let path = match self.nodes.get(id) {
            Some(node) => self.paths.of(node.parent.id(), &node.name)?,
            None => self.paths.of_directory(id)?,
        };
        let was_there = self.stores.had(&path) || self.stores.lost(&path, true);
        was_there.then(|| self.gone(&path, GONE))
    }

    /// Nothing has that name; `is_gone` if the directory itself is not there any more.
    fn missing(&self, dir: NodeId, node: Option<&Node>, name: &[u8], is_gone: bool) -> Result<()> {
        let store = self.store_in(node);
        if let Some(node) = node.filter(|node| matches!(node.what, ViewNodeKind::Dataset { .. })) {
            return match store.is_some_and(|store| store.is_piece(name)) {
                true => Err(self.gone(&node.name, NO_PIECE)),
                false => Ok(()),
            };
        }
        if !self.can_change || self.stores.is_empty() {
            return Ok(());
        }
        let Some(path) = self.paths.of(dir, name) else { return Ok(()) };
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
            ViewNodeKind::Directory { view } if view.makes_directories() => Some(node.of.node()),
            _ => None,
        }
    }

    /// The answer of a node in a store: if its container is gone, that does not mean that the store has no such file.
    pub(super) fn of_store<T>(&self, node: &Node, answer: Result<T>) -> Result<T> {
        match (answer, &node.what) {
            (
                Err(Error::NotFound),
                ViewNodeKind::Dataset { view, .. }
                | ViewNodeKind::Inside { view }
                | ViewNodeKind::Directory { view },
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
