//! A packed, immutable tree of everything that a container lists. A node costs 16 bytes plus its name; the datasets'
//! bytes stay with the format, behind [`Datasets`].

use std::collections::HashMap;
use std::hash::BuildHasher;
use std::sync::{Arc, OnceLock};

use hashbrown::{DefaultHashBuilder, HashTable};

use super::{
    Datasets, Description, Entry, FileKind, NodeId, NodeKind, ROOT, Sidecars, Size, Stat, Tree, VIEWS, naming,
};
use crate::content::Content;
use crate::{Error, Result};

pub struct Arena {
    pub(super) names: Names,
    /// For each directory the range of its children in `children`, by the directory's number.
    pub(super) directories: Vec<Directory>,
    /// Node numbers, those of one directory together, in the container's order.
    pub(super) children: Vec<u32>,
    /// Sidecars that could not have their plain name: the number after `~`.
    pub(super) renamed: HashMap<u32, u32>,
    pub(super) datasets: Arc<dyn Datasets>,
    pub(super) of_datasets: OnceLock<Vec<u32>>,
    pub(super) format: Option<&'static str>,
    /// Datasets without bytes have no file.
    pub(super) hides_absent: bool,
}

#[derive(Clone, Copy, Default)]
pub(super) struct Directory {
    pub first: u32,
    pub count: u32,
    pub subdirectories: u32,
}

/// Nodes with their names, and the index that finds them.
pub(super) struct Names {
    pub nodes: Vec<Node>,
    bytes: Vec<u8>,
    index: HashTable<u32>,
    hasher: DefaultHashBuilder,
}

#[derive(Clone, Copy)]
pub(super) struct Node {
    name: u32,
    name_len: u8,
    pub directory: bool,
    pub parent: u32,
    /// The number of the directory or of the dataset; links are counted on after the datasets.
    pub what: u32,
}

impl Names {
    /// Holds the unnamed root, with room for this many nodes.
    pub fn new(expected: usize) -> Names {
        let mut nodes = Vec::with_capacity(expected + 1);
        nodes.push(Node { name: 0, name_len: 0, directory: true, parent: 0, what: 0 });
        let index = HashTable::with_capacity(expected);
        Names { nodes, bytes: Vec::new(), index, hasher: DefaultHashBuilder::default() }
    }

    /// Adds a node; the name must not be taken in `parent`. Names of all nodes together stay below 4 GiB.
    pub fn add(&mut self, parent: u32, name: &[u8], directory: bool, what: u32) -> Result<u32> {
        let too_much = |_| Error::Other("the names of all datasets take more than 4 GiB".into());
        let node = Node {
            name: u32::try_from(self.bytes.len()).map_err(too_much)?,
            name_len: u8::try_from(name.len()).map_err(too_much)?,
            directory,
            parent,
            what,
        };
        let id = u32::try_from(self.nodes.len()).map_err(too_much)?;
        self.bytes.extend_from_slice(name);
        self.nodes.push(node);
        let hash = self.hash(parent, name);
        let Names { nodes, bytes, index, hasher } = self;
        index.insert_unique(hash, id, |id| {
            let node = &nodes[*id as usize];
            hasher.hash_one((node.parent, name_of(bytes, node)))
        });
        Ok(id)
    }

    pub fn find(&self, parent: u32, name: &[u8]) -> Option<u32> {
        let same = |id: &u32| {
            let node = &self.nodes[*id as usize];
            node.parent == parent && name_of(&self.bytes, node) == name
        };
        self.index.find(self.hash(parent, name), same).copied()
    }

    pub fn get(&self, id: NodeId) -> Option<&Node> {
        self.nodes.get(usize::try_from(id).ok()?)
    }

    pub fn name(&self, node: &Node) -> &[u8] {
        name_of(&self.bytes, node)
    }

    fn hash(&self, parent: u32, name: &[u8]) -> u64 {
        self.hasher.hash_one((parent, name))
    }
}

fn name_of<'a>(bytes: &'a [u8], node: &Node) -> &'a [u8] {
    &bytes[node.name as usize..][..usize::from(node.name_len)]
}

impl Arena {
    /// As a mount shows a container of this format: datasets that have no bytes have no files, only sidecars.
    pub fn shown_as(self, format: &'static str) -> Arena {
        Arena { format: Some(format), hides_absent: true, ..self }
    }

    /// As [`Tree::lookup`], also of what is hidden.
    pub fn find(&self, dir: NodeId, name: &[u8]) -> Option<(NodeId, FileKind)> {
        let dir = u32::try_from(dir).ok()?;
        if let Some(node) = self.names.find(dir, name) {
            return Some((node.into(), FileKind::Data));
        }
        self.find_sidecar(dir, name).map(|node| (node.into(), FileKind::Sidecar))
    }

    /// As [`Tree::list`], also of what is hidden.
    pub fn each(&self, dir: NodeId, cursor: u64, each: &mut dyn FnMut(&[u8], Entry) -> bool) {
        let Some(Directory { first, count, .. }) = self.directory(dir) else { return };
        for at in cursor / 2..u64::from(count) {
            let Some(&id) = self.children.get(first as usize + at as usize) else { return };
            let Some(node) = self.names.get(id.into()) else { return };
            let entry = |file, cursor| Entry { node: id.into(), file, kind: self.kind_of(node), cursor };
            if cursor <= 2 * at && !each(self.names.name(node), entry(FileKind::Data, 2 * at + 1)) {
                return;
            }
            if self.has_sidecar(node) && !each(&self.sidecar_name(id), entry(FileKind::Sidecar, 2 * at + 2)) {
                return;
            }
        }
    }

    fn is_shown(&self, node: NodeId) -> bool {
        !self.hides_absent || self.dataset_of(node).is_none_or(|dataset| self.is_there(dataset))
    }

    /// The number of the dataset whose file this is.
    pub fn dataset_of(&self, node: NodeId) -> Option<u32> {
        self.names.get(node).filter(|node| !node.directory && !self.is_link(node)).map(|node| node.what)
    }

    fn is_link(&self, node: &Node) -> bool {
        !node.directory && u64::from(node.what) >= self.datasets.count()
    }

    /// The node of a dataset's file: looked for once, and then known for all.
    pub fn node_of(&self, dataset: u32) -> Option<NodeId> {
        let nodes = self.of_datasets.get_or_init(|| {
            let mut nodes = vec![0; self.datasets.count() as usize];
            for (id, node) in (0u32..).zip(&self.names.nodes).filter(|(_, node)| !node.directory) {
                if let Some(place) = nodes.get_mut(node.what as usize) {
                    *place = id;
                }
            }
            nodes
        });
        nodes.get(dataset as usize).filter(|node| **node > 0).map(|node| (*node).into())
    }

    fn directory(&self, dir: NodeId) -> Option<Directory> {
        let node = self.names.get(dir).filter(|node| node.directory)?;
        self.directories.get(node.what as usize).copied()
    }

    fn dataset(&self, node: NodeId) -> Result<(u32, &[u8])> {
        match self.names.get(node) {
            Some(found) if self.is_link(found) => Err(Error::NotFound),
            Some(found) if !found.directory => Ok((found.what, self.names.name(found))),
            Some(_) => Err(Error::IsADirectory),
            None => Err(Error::NotFound),
        }
    }

    /// The sidecar that is called `name`: `x.meta.yaml`, or `x.meta.yaml~2` if the plain name is taken.
    fn find_sidecar(&self, dir: u32, name: &[u8]) -> Option<u32> {
        let (plain, number) = match name.strip_suffix(naming::SIDECAR) {
            Some(base) => (base, None),
            None => {
                let tilde = name.iter().rposition(|b| *b == b'~')?;
                let number = std::str::from_utf8(&name[tilde + 1..]).ok()?.parse().ok()?;
                (name[..tilde].strip_suffix(naming::SIDECAR)?, Some(number))
            }
        };
        let node = self.names.find(dir, plain)?;
        let has_sidecar = self.has_sidecar(self.names.nodes.get(node as usize)?);
        (has_sidecar && self.renamed.get(&node).copied() == number && self.sidecar_name(node) == name)
            .then_some(node)
    }

    /// The dataset whose file this is.
    fn with_file(&self, node: NodeId) -> Option<u32> {
        self.dataset_of(node).filter(|dataset| self.is_there(*dataset))
    }

    fn is_there(&self, dataset: u32) -> bool {
        self.datasets.abilities().placement.is_none_or(|placement| placement.is_there(dataset))
    }

    fn sidecars(&self) -> Result<&dyn Sidecars> {
        self.datasets.abilities().sidecars.ok_or(Error::NotFound)
    }

    fn has_sidecar(&self, node: &Node) -> bool {
        let is_file = !node.directory && !self.is_link(node);
        is_file && self.sidecars().is_ok_and(|sidecars| sidecars.has_sidecar(node.what))
    }

    fn sidecar_name(&self, node: u32) -> Vec<u8> {
        let name = self.names.get(node.into()).map_or(&[][..], |node| self.names.name(node));
        let mut full = [name, naming::SIDECAR].concat();
        if let Some(number) = self.renamed.get(&node) {
            full.extend_from_slice(format!("~{number}").as_bytes());
        }
        full
    }

    fn kind_of(&self, node: &Node) -> NodeKind {
        match self.directories.get(node.what as usize) {
            Some(dir) if node.directory => {
                NodeKind::Directory { subdirectories: Some(dir.subdirectories.into()) }
            }
            _ if self.is_link(node) => NodeKind::Link,
            _ => NodeKind::File,
        }
    }
}

/// A cursor is 1 + 2 x the child's place in its directory, + 1 for the sidecar.
impl Tree for Arena {
    fn kind(&self, node: NodeId) -> Result<NodeKind> {
        self.names.get(node).map(|node| self.kind_of(node)).ok_or(Error::NotFound)
    }

    fn parent(&self, node: NodeId) -> NodeId {
        self.names.get(node).map_or(ROOT, |node| node.parent.into())
    }

    fn name(&self, dir: NodeId) -> Option<Vec<u8>> {
        let node = self.names.get(dir).filter(|node| node.directory && dir != ROOT)?;
        Some(self.names.name(node).to_vec())
    }

    fn lookup(&self, dir: NodeId, name: &[u8]) -> Result<Option<(NodeId, FileKind)>> {
        Ok(self.find(dir, name).filter(|(node, file)| *file == FileKind::Sidecar || self.is_shown(*node)))
    }

    fn list(&self, dir: NodeId, cursor: u64, each: &mut dyn FnMut(&[u8], Entry) -> bool) -> Result<()> {
        self.each(dir, cursor, &mut |name, entry| {
            let is_shown = entry.file == FileKind::Sidecar || self.is_shown(entry.node);
            !is_shown || each(name, entry)
        });
        Ok(())
    }

    fn size(&self, node: NodeId, file: FileKind) -> Result<Size> {
        let (dataset, name) = self.dataset(node)?;
        Ok(match file {
            FileKind::Data => self.datasets.size(dataset),
            FileKind::Sidecar => self.sidecars()?.sidecar_size(dataset, name),
        })
    }

    fn content(&self, node: NodeId, file: FileKind) -> Result<Content> {
        let (dataset, name) = self.dataset(node)?;
        match file {
            FileKind::Data => self.datasets.content(dataset),
            FileKind::Sidecar => self.sidecars()?.sidecar(dataset, name),
        }
    }

    fn ready_content(&self, node: NodeId, file: FileKind) -> Result<Option<Content>> {
        let (dataset, _) = self.dataset(node)?;
        match file {
            FileKind::Data => self.datasets.ready_content(dataset),
            FileKind::Sidecar => self.sidecars()?.ready_sidecar(dataset),
        }
    }

    fn nodes(&self) -> u64 {
        self.names.nodes.len() as u64
    }

    fn stat(&self, node: NodeId, file: FileKind) -> Result<Stat> {
        let kind = self.kind(node)?;
        let size = match kind {
            NodeKind::File => self.size(node, file)?,
            NodeKind::Link => Size { len: Some(self.link(node)?.len() as u64), stored: 0 },
            NodeKind::Directory { .. } => Size::NOTHING,
        };
        Ok(Stat::of(kind, size))
    }

    fn link(&self, node: NodeId) -> Result<Vec<u8>> {
        let node = self.names.get(node).filter(|node| self.is_link(node)).ok_or(Error::NotFound)?;
        let number = u64::from(node.what) - self.datasets.count();
        let placement = self.datasets.abilities().placement.ok_or(Error::NotFound)?;
        let link = placement.links().get(number as usize).ok_or(Error::NotFound)?;
        Ok(link.target.clone())
    }

    fn datasets(&self) -> u64 {
        self.datasets.count()
    }

    /// What formats have below `.views` is not in an arena.
    fn has_views_of_its_own(&self, dir: NodeId) -> bool {
        dir == ROOT && self.names.find(0, VIEWS).is_some()
    }

    fn format(&self, _: NodeId) -> Option<&'static str> {
        self.format
    }

    fn describe(&self, node: NodeId) -> Result<Option<Description>> {
        self.with_file(node).map(|dataset| self.datasets.describe(dataset)).transpose()
    }

    fn rows(&self, node: NodeId, expression: &str) -> Result<Option<Content>> {
        self.with_file(node).map_or(Ok(None), |dataset| self.datasets.rows(dataset, expression))
    }

    fn brief(&self, node: NodeId) -> Result<Option<Description>> {
        self.with_file(node).map(|dataset| self.datasets.brief(dataset)).transpose()
    }

    fn memory(&self) -> u64 {
        let names = self.names.bytes.len() + 32 * self.names.nodes.len();
        names as u64 + self.datasets.memory()
    }
}
