//! What containers have below `.views` themselves: of kinds of views, and of their own. Below the root of a directory all of it
//! is found by the paths of the containers.

use super::listing::Each;
use super::names::{self, Faces, find_other};
use super::nodes::{Node, Parent, What, id_of};
use super::{DIRECTORY, NAME, OWN, Overlay};
use crate::Result;
use crate::tree::{Entry, Face, Held, Kind, NodeId};
use crate::view::View;

impl Overlay {
    /// What the container has of the shown view itself. Its name is another one where something else is called so.
    pub(super) fn look_up_own(
        &self,
        dir: NodeId,
        faces: &Faces<'_>,
        name: &[u8],
    ) -> Result<Option<(NodeId, Face)>> {
        let Some(own) = self.own(dir, faces.view)? else { return Ok(None) };
        for plain in [Some(name), names::unnumbered(name)].into_iter().flatten() {
            if let Some((found, face)) = Held::find(&self.tree, own.node(), plain)?
                && faces.name_of_own(plain)? == name
            {
                return Ok(Some((found.into_node(), face)));
            }
        }
        self.look_up_rows(own.node(), &Parent::Tree(dir), name)
    }

    /// The directory that a container itself has for a view, or the one in that which stands for `dir`.
    pub(super) fn own(&self, dir: NodeId, view: &dyn View) -> Result<Option<Held>> {
        self.own_called(dir, view.kind())
    }

    fn own_called(&self, dir: NodeId, kind: &str) -> Result<Option<Held>> {
        let (mut root, mut way) = (dir, Vec::new());
        while !self.has_views(root) {
            let Some(name) = self.tree.name(root) else { return Ok(None) };
            way.push(name);
            root = self.tree.parent(root);
        }
        if self.tree.has_views_of_its_own(root) {
            return Ok(None);
        }
        let mut own = Held::borrowed(&self.tree, root);
        let names = way.iter().rev().map(|name| name.as_slice());
        for name in [NAME, kind.as_bytes()].into_iter().chain(names) {
            match Held::find(&self.tree, own.node(), name)? {
                Some((next, _)) if next.is_directory()? => own = next,
                _ => return Ok(None),
            }
        }
        Ok(Some(own))
    }

    /// What a format has of a view beside the faces of datasets, in the directory that stands for `dir`.
    pub(super) fn own_beside(&self, dir: NodeId, view: &dyn View) -> Result<Option<Held>> {
        if view.is_of_containers() { Ok(None) } else { self.own(dir, view) }
    }

    /// What is called so in `own`, which stands for `dir`. Directories that datasets are in too are shown with what is in
    /// both.
    pub(super) fn find_beside(
        &self,
        own: Option<&Held>,
        dir: NodeId,
        view: &dyn View,
        name: &[u8],
    ) -> Result<Option<Held>> {
        let Some(own) = own else { return Ok(None) };
        let Some((found, _)) = Held::find(&self.tree, own.node(), name)? else { return Ok(None) };
        let is_in_both = found.is_directory()?
            && match find_other(&self.tree, dir, view, name)? {
                Some((other, _)) => other.is_directory()?,
                None => false,
            };
        Ok(Some(found).filter(|_| !is_in_both))
    }

    /// What containers have below `.views` that is no kind of view, in the `.views` of a directory.
    fn own_views(&self, dir: NodeId) -> Vec<&'static str> {
        if self.tree.is_container(dir) { Vec::new() } else { self.tree.own_views(dir) }
    }

    /// In the `.views` of a directory.
    pub(super) fn look_up_own_views(&self, parent: &Parent, name: &[u8]) -> Option<(NodeId, Face)> {
        let Parent::View(views) = parent else { return None };
        let own = self.own_views(views.of.node()).into_iter().find(|own| own.as_bytes() == name)?;
        Some(self.remember(parent, name, views.of.clone(), What::Own { name: own }))
    }

    /// In a directory of what containers have as `own`: the directory in a container, or one that leads to containers.
    pub(super) fn look_up_in_own(
        &self,
        parent: &Parent,
        own: &'static str,
        name: &[u8],
    ) -> Result<Option<(NodeId, Face)>> {
        let Parent::View(dir) = parent else { return Ok(None) };
        let Some((found, _)) = Held::find(&self.tree, dir.of.node(), name)? else { return Ok(None) };
        if self.tree.is_container(found.node()) {
            let own = self.own_called(found.node(), own)?;
            return Ok(own.map(|own| (own.into_node(), Face::Data)));
        }
        let is_way = found.is_directory()?;
        Ok(is_way.then(|| self.remember(parent, name, found.into(), What::Own { name: own })))
    }

    pub(super) fn list_own_views(&self, dir: &Node, cursor: u64, each: Each<'_>) {
        let own = (OWN + 1..).zip(self.own_views(dir.of.node()));
        let _ = own.filter(|(at, _)| *at > cursor).all(|(cursor, name)| {
            let node = id_of(dir.id, name.as_bytes(), dir.of.node());
            each(name.as_bytes(), Entry { node, face: Face::Data, kind: DIRECTORY, cursor })
        });
    }

    /// The directories that lead to containers, and the containers whose format has this.
    pub(super) fn list_in_own(&self, dir: &Node, own: &str, cursor: u64, each: Each<'_>) -> Result<()> {
        self.tree.list(dir.of.node(), cursor, &mut |name, entry| {
            if !matches!(entry.kind, Kind::Directory { .. }) {
                return true;
            }
            let found = Held::find(&self.tree, dir.of.node(), name);
            let has_it = |(found, _): &(Held, Face)| self.tree.own_views(found.node()).contains(&own);
            let node = id_of(dir.id, name, entry.node);
            !found.is_ok_and(|found| found.as_ref().is_some_and(has_it))
                || each(name, Entry { node, ..entry })
        })
    }
}
