//! Files that containers derive, below their own `.views`: beside the datasets of the view of the same kind, or as
//! kinds of their own. Below the root of a directory they are found by the paths of the containers.

use std::sync::Arc;

use super::listing::Each;
use super::names::{self, DirNames, find_other};
use super::nodes::{Node, Parent, ViewNodeKind, id_of};
use super::{DIRECTORY, NAME, OWN, Overlay};
use crate::Result;
use crate::tree::{Entry, FileKind, Held, NodeId, NodeKind};
use crate::view::View;

impl Overlay {
    /// The directory in which a container has derived files of a kind, or the one in that which stands for `dir`.
    pub(super) fn derived(&self, dir: NodeId, kind: &str) -> Result<Option<Held>> {
        let (mut root, mut way) = (dir, Vec::new());
        while !self.has_views(root) {
            let Some(name) = self.tree.name(root) else { return Ok(None) };
            way.push(name);
            root = self.tree.parent(root);
        }
        if self.tree.has_views_of_its_own(root) {
            return Ok(None);
        }
        let mut derived = Held::borrowed(&self.tree, root);
        let names = way.iter().rev().map(|name| name.as_slice());
        for name in [NAME, kind.as_bytes()].into_iter().chain(names) {
            match Held::find(&self.tree, derived.node(), name)? {
                Some((next, _)) if next.is_directory()? => derived = next,
                _ => return Ok(None),
            }
        }
        Ok(Some(derived))
    }

    /// Of the view that is shown. The file's name is another one where something else is called so.
    pub(super) fn look_up_derived(
        &self,
        dir: NodeId,
        names: &DirNames<'_>,
        name: &[u8],
    ) -> Result<Option<(NodeId, FileKind)>> {
        let Some(derived) = self.derived(dir, names.view.kind())? else { return Ok(None) };
        for plain in [Some(name), names::unnumbered(name)].into_iter().flatten() {
            if let Some((found, file)) = Held::find(&self.tree, derived.node(), plain)?
                && names.name_of_derived(plain)? == name
            {
                return Ok(Some((found.into_node(), file)));
            }
        }
        self.look_up_rows(derived.node(), &Parent::Tree(dir), name)
    }

    /// What is called so in `derived`, which stands for `dir`. Directories that datasets are in too are shown with what
    /// is in both.
    pub(super) fn find_beside(
        &self,
        derived: Option<&Held>,
        dir: NodeId,
        view: &dyn View,
        name: &[u8],
    ) -> Result<Option<Held>> {
        let Some(derived) = derived else { return Ok(None) };
        let Some((found, _)) = Held::find(&self.tree, derived.node(), name)? else { return Ok(None) };
        let is_in_both = found.is_directory()?
            && match find_other(&self.tree, dir, view, name)? {
                Some((other, _)) => other.is_directory()?,
                None => false,
            };
        Ok(Some(found).filter(|_| !is_in_both))
    }

    /// The kinds of derived files that are no views of datasets, in the `.views` of a directory.
    fn derived_kinds(&self, dir: NodeId) -> Vec<&'static str> {
        if self.tree.is_container(dir) { Vec::new() } else { self.tree.derived_kinds(dir) }
    }

    pub(super) fn list_derived_kinds(&self, dir: &Node, cursor: u64, each: Each<'_>) {
        let kinds = (OWN + 1..).zip(self.derived_kinds(dir.of.node()));
        let _ = kinds.filter(|(at, _)| *at > cursor).all(|(cursor, name)| {
            let node = id_of(dir.id, name.as_bytes(), dir.of.node());
            each(name.as_bytes(), Entry { node, file: FileKind::Data, kind: DIRECTORY, cursor })
        });
    }

    /// In the `.views` of a directory.
    pub(super) fn look_up_derived_kind(&self, views: &Arc<Node>, name: &[u8]) -> Option<(NodeId, FileKind)> {
        let kinds = self.derived_kinds(views.of.node());
        let kind = kinds.into_iter().find(|kind| kind.as_bytes() == name)?;
        Some(self.remember(
            &Parent::View(views.clone()),
            name,
            views.of.clone(),
            ViewNodeKind::Derived { kind },
        ))
    }

    /// In a directory of derived files: that of a container, or one that leads to containers.
    pub(super) fn look_up_in_derived(
        &self,
        dir: &Arc<Node>,
        kind: &'static str,
        name: &[u8],
    ) -> Result<Option<(NodeId, FileKind)>> {
        let Some((found, _)) = Held::find(&self.tree, dir.of.node(), name)? else { return Ok(None) };
        if self.tree.is_container(found.node()) {
            let derived = self.derived(found.node(), kind)?;
            return Ok(derived.map(|derived| (derived.into_node(), FileKind::Data)));
        }
        let is_way = found.is_directory()?;
        let what = ViewNodeKind::Derived { kind };
        Ok(is_way.then(|| self.remember(&Parent::View(dir.clone()), name, found.into(), what)))
    }

    /// The directories that lead to containers, and the containers whose format has this.
    pub(super) fn list_in_derived(&self, dir: &Node, kind: &str, cursor: u64, each: Each<'_>) -> Result<()> {
        self.tree.list(dir.of.node(), cursor, &mut |name, entry| {
            if !matches!(entry.kind, NodeKind::Directory { .. }) {
                return true;
            }
            let found = Held::find(&self.tree, dir.of.node(), name);
            let has_it =
                |(found, _): &(Held, FileKind)| self.tree.derived_kinds(found.node()).contains(&kind);
            let node = id_of(dir.id, name, entry.node);
            !found.is_ok_and(|found| found.as_ref().is_some_and(has_it))
                || each(name, Entry { node, ..entry })
        })
    }
}
