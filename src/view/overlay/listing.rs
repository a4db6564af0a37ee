//! Listings of view directories: kinds, and derived files in place of the tree's datasets.

use super::super::{Directory, View};
use super::names::{DirNames, shows};
use super::nodes::{Node, ViewNodeKind, id_of};
use super::{DIRECTORY, LAST, OWN, Overlay, names_in};
use crate::tree::{Entry, FileKind, Held, NodeId, NodeKind};
use crate::{Error, Result};

pub type Each<'a> = &'a mut dyn FnMut(&[u8], Entry) -> bool;

/// What a directory of the tree has.
pub enum Listed {
    /// A dataset that the view shows, with its own entry.
    Dataset(Entry),
    Other(Entry),
}

impl Overlay {
    /// In a directory of a view.
    pub(super) fn list_view(&self, node: &Node, cursor: u64, each: Each<'_>) -> Result<()> {
        match &node.what {
            ViewNodeKind::Views { own } => self.list_kinds(node, own.as_ref(), cursor, each),
            ViewNodeKind::Directory { view } => self.list_files(node, *view, cursor, each),
            ViewNodeKind::Derived { kind } => self.list_in_derived(node, kind, cursor, each),
            ViewNodeKind::Dataset { .. } => self.folder(node)?.list(cursor, &mut |name, cursor| {
                let node = id_of(node.id, name, node.of.node());
                each(name, Entry { node, file: FileKind::Data, kind: NodeKind::File, cursor })
            }),
            ViewNodeKind::Inside { .. } | ViewNodeKind::Rows { .. } => Err(Error::NotADirectory),
        }
    }

    fn list_kinds(&self, dir: &Node, own: Option<&Held>, cursor: u64, each: Each<'_>) -> Result<()> {
        for (at, view) in (1..).zip(self.views).filter(|(at, _)| *at > cursor) {
            let name = view.kind().as_bytes();
            let node = id_of(dir.id, name, dir.of.node());
            let entry = Entry { node, file: FileKind::Data, kind: DIRECTORY, cursor: at };
            if !each(name, entry) {
                return Ok(());
            }
        }
        let Some(own) = own else {
            self.list_derived_kinds(dir, cursor, each);
            return Ok(());
        };
        let is_listed = |name: &[u8]| self.views.iter().any(|view| view.kind().as_bytes() == name);
        self.tree.list(own.node(), cursor.saturating_sub(OWN), &mut |name, entry| {
            is_listed(name) || each(name, Entry { cursor: entry.cursor + OWN, ..entry })
        })
    }

    fn list_files(&self, dir: &Node, view: &'static dyn View, cursor: u64, each: Each<'_>) -> Result<()> {
        let of = dir.of.node();
        let derived = self.derived(of, view.kind())?;
        let is_derived = |name: &[u8]| {
            self.find_beside(derived.as_ref(), of, view, name).is_ok_and(|found| found.is_some())
        };
        let mut goes_on = true;
        if cursor < LAST {
            self.list_files_of_datasets(dir, view, cursor, &mut |name, entry| {
                // What is called so is the container's.
                goes_on = is_derived(name) || each(name, entry);
                goes_on
            })?;
        }
        let Some(derived) = derived.as_ref().filter(|_| goes_on) else { return Ok(()) };
        self.tree.list(derived.node(), cursor.saturating_sub(LAST), &mut |name, entry| {
            !is_derived(name) || each(name, Entry { cursor: entry.cursor + LAST, ..entry })
        })
    }

    fn list_files_of_datasets(
        &self,
        dir: &Node,
        view: &'static dyn View,
        cursor: u64,
        each: Each<'_>,
    ) -> Result<()> {
        let of = dir.of.node();
        let beside = view.beside(&Directory::new(dir.of.clone()));
        if !list_beside(dir.id, of, beside, cursor, each) {
            return Ok(());
        }
        let names = names_in(&self.tree, of, view, beside);
        self.list_tree(&names, cursor.saturating_sub(OWN), &mut |name, listed| match listed {
            Listed::Dataset(entry) => {
                let kind = if view.makes_directories() { DIRECTORY } else { NodeKind::File };
                let node = id_of(dir.id, name, entry.node);
                each(name, Entry { node, file: FileKind::Data, kind, cursor: entry.cursor + OWN })
            }
            Listed::Other(entry) if matches!(entry.kind, NodeKind::Directory { .. }) => {
                let name = view.shown(name);
                let node = id_of(dir.id, &name, entry.node);
                each(&name, Entry { node, kind: DIRECTORY, cursor: entry.cursor + OWN, ..entry })
            }
            Listed::Other(_) => true,
        })
    }

    /// A directory of the tree whose datasets are listed as a view shows them, followed by what its container derives
    /// of this view.
    pub(super) fn list_shown(
        &self,
        dir: NodeId,
        names: &DirNames<'_>,
        cursor: u64,
        each: Each<'_>,
    ) -> Result<()> {
        let mut goes_on = true;
        if cursor < LAST {
            self.list_shown_datasets(dir, names, cursor, &mut |name, entry| {
                goes_on = each(name, entry);
                goes_on
            })?;
        }
        let derived = self.derived(dir, names.view.kind())?;
        let Some(derived) = derived.filter(|_| goes_on) else { return Ok(()) };
        let mut failure = None;
        self.tree.list(derived.node(), cursor.saturating_sub(LAST), &mut |name, entry| {
            match names.name_of_derived(name) {
                // Two directories of one name are one.
                Ok(other) if other != name && matches!(entry.kind, NodeKind::Directory { .. }) => true,
                Ok(name) => each(&name, Entry { cursor: entry.cursor + LAST, ..entry }),
                Err(error) => {
                    failure = Some(error);
                    false
                }
            }
        })?;
        failure.map_or(Ok(()), Err)
    }

    fn list_shown_datasets(
        &self,
        dir: NodeId,
        names: &DirNames<'_>,
        cursor: u64,
        each: Each<'_>,
    ) -> Result<()> {
        if !list_beside(dir, dir, &names.beside(&self.borrowed(dir))?, cursor, each) {
            return Ok(());
        }
        let kind = if names.view.makes_directories() { DIRECTORY } else { NodeKind::File };
        self.list_tree(names, cursor.saturating_sub(OWN), &mut |name, listed| match listed {
            Listed::Other(entry) => {
                each(&names.view.shown(name), Entry { cursor: entry.cursor + OWN, ..entry })
            }
            Listed::Dataset(entry) => {
                let node = id_of(dir, name, entry.node);
                each(name, Entry { node, kind, cursor: entry.cursor + OWN, ..entry })
            }
        })
    }

    /// A directory of the tree, with the names that the view gives.
    pub(super) fn list_tree(
        &self,
        names: &DirNames<'_>,
        cursor: u64,
        each: &mut dyn FnMut(&[u8], Listed) -> bool,
    ) -> Result<()> {
        let mut failure = None;
        self.tree.list(names.dir, cursor, &mut |name, entry| {
            let is_dataset = entry.kind == NodeKind::File && entry.file == FileKind::Data;
            // Damaged datasets are left out here; opening one by its name gives the reason.
            let is_shown = if is_dataset { shows(names.view, &*self.tree, entry.node) } else { Ok(false) };
            match is_shown.and_then(|is_shown| is_shown.then(|| names.name(name)).transpose()) {
                Ok(Some(name)) => each(&name, Listed::Dataset(entry)),
                Ok(None) => each(name, Listed::Other(entry)),
                Err(error) => {
                    failure = Some(error);
                    false
                }
            }
        })?;
        failure.map_or(Ok(()), Err)
    }
}

/// The files that complete the directory, which come first; false if `each` wants no more.
fn list_beside(dir: NodeId, of: NodeId, beside: &[&str], cursor: u64, each: Each<'_>) -> bool {
    (1..).zip(beside).filter(|(at, _)| *at > cursor).all(|(at, name)| {
        let node = id_of(dir, name.as_bytes(), of);
        each(name.as_bytes(), Entry { node, file: FileKind::Data, kind: NodeKind::File, cursor: at })
    })
}
