//! A packed tree of everything that one container lists, built once and never changed. A node costs 16
//! bytes plus its name; what a dataset's bytes are stays with the format, behind [`Datasets`].

use std::collections::HashMap;
use std::fs::File;
use std::hash::BuildHasher;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use hashbrown::{DefaultHashBuilder, HashTable};

use super::{Description, Entry, Face, Items, Kind, NodeId, ROOT, Sampling, Size, Stat, Tree, naming};
use crate::array::Array;
use crate::content::Content;
use crate::error::Row;
use crate::source::Source;
use crate::{Error, Result};

/// The datasets of a container by number, as its format knows them. `file_name` is the name that the
/// dataset's file got in its directory.
pub trait Datasets: Send + Sync {
    fn count(&self) -> u64;
    fn size(&self, dataset: u32) -> Size;
    fn content(&self, dataset: u32) -> Result<Content>;
    /// As `content` and `sidecar` if nothing has to be read or built for them, or None.
    fn content_at_once(&self, dataset: u32) -> Result<Option<Content>>;
    /// A mount shows a sidecar for it.
    fn has_sidecar(&self, dataset: u32) -> bool {
        let _ = dataset;
        false
    }
    fn sidecar_at_once(&self, dataset: u32) -> Result<Option<Content>> {
        let _ = dataset;
        Err(Error::NotFound)
    }
    fn sidecar_size(&self, dataset: u32, file_name: &[u8]) -> Size {
        let _ = (dataset, file_name);
        Size::NOTHING
    }
    fn sidecar(&self, dataset: u32, file_name: &[u8]) -> Result<Content> {
        let _ = (dataset, file_name);
        Err(Error::NotFound)
    }
    /// The file names that lead to it, where the format knows better than [`naming`] does.
    fn place(&self, dataset: u32) -> Option<Vec<Vec<u8>>> {
        let _ = dataset;
        None
    }
    /// Symbolic links among the datasets.
    fn links(&self) -> &[Link] {
        &[]
    }
    /// Everything that the container says of it.
    fn describe(&self, dataset: u32) -> Result<Description>;
    /// As `describe`, quickly: metadata, codec and checksum may be left out.
    fn brief(&self, dataset: u32) -> Result<Description> {
        self.describe(dataset)
    }
    /// Is it right, as far as other datasets tell? Its own bytes are looked at elsewhere.
    fn check(&self, dataset: u32) -> Result<()> {
        let _ = dataset;
        Ok(())
    }
    /// Those of which this is the same are decoded from the same stored bytes: who goes through one, goes through all.
    fn identity(&self, dataset: u32) -> Option<Identity> {
        let _ = dataset;
        None
    }
    /// Is all of it made out of what `check` looks at?
    fn follows(&self, dataset: u32) -> bool {
        let _ = dataset;
        false
    }
    /// The array that it is, or stands for, item by item.
    fn items(&self, dataset: u32) -> Option<Box<dyn Items>> {
        let _ = dataset;
        None
    }
    /// The face of this kind that only the format has of what is called so, be it a dataset or not.
    fn own_face(&self, name: &[u8], kind: &str) -> Result<Option<Content>> {
        let _ = (name, kind);
        Ok(None)
    }
    /// What all of these are called.
    fn own_faces(&self, kind: &str) -> Vec<Vec<u8>> {
        let _ = kind;
        Vec::new()
    }
    /// Has it bytes that can be asked for? A mount shows no file for one that has none.
    fn is_there(&self, dataset: u32) -> bool {
        let _ = dataset;
        true
    }
    /// Files that a mount has in its root, which tell of the whole container.
    fn beside(&self) -> Vec<(&'static str, Content)> {
        Vec::new()
    }
    /// Bytes of memory that their descriptions take, roughly.
    fn memory(&self) -> u64 {
        64 * self.count()
    }
    /// What users call the format.
    fn format(&self) -> Option<&'static str> {
        None
    }
    /// The file with its stored bytes, if that is not the one that the container was opened by.
    fn file(&self, dataset: u32) -> Option<Arc<dyn Source>> {
        let _ = dataset;
        None
    }
    /// What describes it, where that is a row of a table.
    fn row(&self, dataset: u32) -> Option<Row> {
        let _ = dataset;
        None
    }
    /// What its axes mean, if it is samples.
    fn sampling(&self, dataset: u32) -> Option<Sampling> {
        let _ = dataset;
        None
    }
    /// Its values in their unit, if they are stored otherwise or can be.
    fn decoded(&self, dataset: u32) -> Result<Option<(Array, Content)>> {
        let _ = dataset;
        Ok(None)
    }
    /// What is against the format's rules in what is said of it, though it can be read. An error: that is not looked at.
    fn violations(&self, dataset: u32) -> Result<Vec<String>> {
        let _ = dataset;
        Ok(Vec::new())
    }
    /// The same as other formats can hold it, where that is something else than its datasets.
    fn plain(&self) -> Result<Option<Plain>> {
        Ok(None)
    }
    /// Writes the whole container anew, where that is something else than its datasets one after the other.
    fn rewriter(&self) -> Option<&dyn Rewrite> {
        None
    }
    /// What there is of a dataset whose description makes no sense, or that is not read here.
    fn remains(&self, dataset: u32) -> Result<Content>;
}

/// What tells bytes of a container from others.
pub type Identity = [u64; 3];

/// Names, and what has them by their numbers.
pub type Plain = (Box<dyn super::Names>, Box<dyn Datasets>);

/// Writes a container as its format is written today.
pub trait Rewrite {
    /// Does what is compressed stay so, and what is not too? If not nothing is compressed.
    fn keeps_compression(&self) -> bool {
        false
    }
    /// Writes to `file`, which will be at `path` when it is finished. Returns what users should know, as sentences.
    /// Of only some datasets, by their numbers, if there are such. `step` is told of bytes that have been dealt with, and
    /// may end it.
    fn rewrite(
        &self,
        path: &Path,
        file: &File,
        only: Option<&[usize]>,
        step: &mut dyn FnMut(u64) -> Result<()>,
    ) -> Result<Vec<String>>;
}

/// A symbolic link: the file names that lead to it, and what it says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    pub place: Vec<Vec<u8>>,
    pub target: Vec<u8>,
}

pub struct Arena<D> {
    pub(super) names: Names,
    /// For each directory the range of its children in `children`, by the directory's number.
    pub(super) directories: Vec<Directory>,
    /// Node numbers, those of one directory together, in the container's order.
    pub(super) children: Vec<u32>,
    /// Sidecars that could not have their plain name: the number after `~`.
    pub(super) renamed: HashMap<u32, u32>,
    pub(super) datasets: D,
    pub(super) of_datasets: OnceLock<Vec<u32>>,
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
    /// Holds the root, which has no name, and has room for so many nodes.
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

/// Datasets that others keep too.
impl Datasets for Arc<dyn Datasets> {
    fn count(&self) -> u64 {
        (**self).count()
    }
    fn size(&self, dataset: u32) -> Size {
        (**self).size(dataset)
    }
    fn content(&self, dataset: u32) -> Result<Content> {
        (**self).content(dataset)
    }
    fn content_at_once(&self, dataset: u32) -> Result<Option<Content>> {
        (**self).content_at_once(dataset)
    }
    fn has_sidecar(&self, dataset: u32) -> bool {
        (**self).has_sidecar(dataset)
    }
    fn place(&self, dataset: u32) -> Option<Vec<Vec<u8>>> {
        (**self).place(dataset)
    }
    fn links(&self) -> &[Link] {
        (**self).links()
    }
    fn check(&self, dataset: u32) -> Result<()> {
        (**self).check(dataset)
    }
    fn items(&self, dataset: u32) -> Option<Box<dyn Items>> {
        (**self).items(dataset)
    }
    fn file(&self, dataset: u32) -> Option<Arc<dyn Source>> {
        (**self).file(dataset)
    }
    fn row(&self, dataset: u32) -> Option<Row> {
        (**self).row(dataset)
    }
    fn sidecar_at_once(&self, dataset: u32) -> Result<Option<Content>> {
        (**self).sidecar_at_once(dataset)
    }
    fn sidecar_size(&self, dataset: u32, file_name: &[u8]) -> Size {
        (**self).sidecar_size(dataset, file_name)
    }
    fn sidecar(&self, dataset: u32, file_name: &[u8]) -> Result<Content> {
        (**self).sidecar(dataset, file_name)
    }
    fn format(&self) -> Option<&'static str> {
        (**self).format()
    }
    fn describe(&self, dataset: u32) -> Result<Description> {
        (**self).describe(dataset)
    }
    fn brief(&self, dataset: u32) -> Result<Description> {
        (**self).brief(dataset)
    }
    fn sampling(&self, dataset: u32) -> Option<Sampling> {
        (**self).sampling(dataset)
    }
    fn own_face(&self, name: &[u8], kind: &str) -> Result<Option<Content>> {
        (**self).own_face(name, kind)
    }
    fn own_faces(&self, kind: &str) -> Vec<Vec<u8>> {
        (**self).own_faces(kind)
    }
    fn is_there(&self, dataset: u32) -> bool {
        (**self).is_there(dataset)
    }
    fn beside(&self) -> Vec<(&'static str, Content)> {
        (**self).beside()
    }
    fn identity(&self, dataset: u32) -> Option<Identity> {
        (**self).identity(dataset)
    }
    fn follows(&self, dataset: u32) -> bool {
        (**self).follows(dataset)
    }
    fn decoded(&self, dataset: u32) -> Result<Option<(Array, Content)>> {
        (**self).decoded(dataset)
    }
    fn violations(&self, dataset: u32) -> Result<Vec<String>> {
        (**self).violations(dataset)
    }
    fn plain(&self) -> Result<Option<Plain>> {
        (**self).plain()
    }
    fn rewriter(&self) -> Option<&dyn Rewrite> {
        (**self).rewriter()
    }

    fn remains(&self, dataset: u32) -> Result<Content> {
        (**self).remains(dataset)
    }
}

impl<D: Datasets> Arena<D> {
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
        self.dataset_of(node).filter(|dataset| self.datasets.is_there(*dataset))
    }

    fn has_sidecar(&self, node: &Node) -> bool {
        !node.directory && !self.is_link(node) && self.datasets.has_sidecar(node.what)
    }

    fn sidecar_name(&self, node: u32) -> Vec<u8> {
        let name = self.names.get(node.into()).map_or(&[][..], |node| self.names.name(node));
        let mut full = [name, naming::SIDECAR].concat();
        if let Some(number) = self.renamed.get(&node) {
            full.extend_from_slice(format!("~{number}").as_bytes());
        }
        full
    }

    fn kind_of(&self, node: &Node) -> Kind {
        match self.directories.get(node.what as usize) {
            Some(dir) if node.directory => {
                Kind::Directory { subdirectories: Some(dir.subdirectories.into()) }
            }
            _ if self.is_link(node) => Kind::Link,
            _ => Kind::File,
        }
    }
}

/// A cursor is 1 + 2 x the child's place in its directory, + 1 for the sidecar.
impl<D: Datasets> Tree for Arena<D> {
    fn kind(&self, node: NodeId) -> Result<Kind> {
        self.names.get(node).map(|node| self.kind_of(node)).ok_or(Error::NotFound)
    }

    fn parent(&self, node: NodeId) -> NodeId {
        self.names.get(node).map_or(ROOT, |node| node.parent.into())
    }

    fn name(&self, dir: NodeId) -> Option<Vec<u8>> {
        let node = self.names.get(dir).filter(|node| node.directory && dir != ROOT)?;
        Some(self.names.name(node).to_vec())
    }

    fn lookup(&self, dir: NodeId, name: &[u8]) -> Result<Option<(NodeId, Face)>> {
        let Ok(dir) = u32::try_from(dir) else { return Ok(None) };
        if let Some(node) = self.names.find(dir, name) {
            return Ok(Some((node.into(), Face::Data)));
        }
        Ok(self.find_sidecar(dir, name).map(|node| (node.into(), Face::Sidecar)))
    }

    fn list(&self, dir: NodeId, cursor: u64, each: &mut dyn FnMut(&[u8], Entry) -> bool) -> Result<()> {
        let Some(Directory { first, count, .. }) = self.directory(dir) else { return Ok(()) };
        for at in cursor / 2..u64::from(count) {
            let Some(&id) = self.children.get(first as usize + at as usize) else { return Ok(()) };
            let Some(node) = self.names.get(id.into()) else { return Ok(()) };
            let entry = |face, cursor| Entry { node: id.into(), face, kind: self.kind_of(node), cursor };
            if cursor <= 2 * at && !each(self.names.name(node), entry(Face::Data, 2 * at + 1)) {
                return Ok(());
            }
            if self.has_sidecar(node) && !each(&self.sidecar_name(id), entry(Face::Sidecar, 2 * at + 2)) {
                return Ok(());
            }
        }
        Ok(())
    }

    fn size(&self, node: NodeId, face: Face) -> Result<Size> {
        let (dataset, name) = self.dataset(node)?;
        Ok(match face {
            Face::Data => self.datasets.size(dataset),
            Face::Sidecar => self.datasets.sidecar_size(dataset, name),
        })
    }

    fn content(&self, node: NodeId, face: Face) -> Result<Content> {
        let (dataset, name) = self.dataset(node)?;
        match face {
            Face::Data => self.datasets.content(dataset),
            Face::Sidecar => self.datasets.sidecar(dataset, name),
        }
    }

    fn content_at_once(&self, node: NodeId, face: Face) -> Result<Option<Content>> {
        let (dataset, _) = self.dataset(node)?;
        match face {
            Face::Data => self.datasets.content_at_once(dataset),
            Face::Sidecar => self.datasets.sidecar_at_once(dataset),
        }
    }

    fn nodes(&self) -> u64 {
        self.names.nodes.len() as u64
    }

    fn stat(&self, node: NodeId, face: Face) -> Result<Stat> {
        let kind = self.kind(node)?;
        let size = match kind {
            Kind::File => self.size(node, face)?,
            Kind::Link => Size { len: Some(self.link(node)?.len() as u64), stored: 0 },
            Kind::Directory { .. } => Size::NOTHING,
        };
        Ok(Stat::of(kind, size))
    }

    fn link(&self, node: NodeId) -> Result<Vec<u8>> {
        let node = self.names.get(node).filter(|node| self.is_link(node)).ok_or(Error::NotFound)?;
        let number = u64::from(node.what) - self.datasets.count();
        self.datasets.links().get(number as usize).map(|link| link.target.clone()).ok_or(Error::NotFound)
    }

    fn datasets(&self) -> u64 {
        self.datasets.count()
    }

    fn format(&self, _: NodeId) -> Option<&'static str> {
        self.datasets.format()
    }

    fn describe(&self, node: NodeId) -> Result<Option<Description>> {
        self.with_file(node).map(|dataset| self.datasets.describe(dataset)).transpose()
    }

    fn brief(&self, node: NodeId) -> Result<Option<Description>> {
        self.with_file(node).map(|dataset| self.datasets.brief(dataset)).transpose()
    }

    fn memory(&self) -> u64 {
        let names = self.names.bytes.len() + 32 * self.names.nodes.len();
        names as u64 + self.datasets.memory()
    }
}
