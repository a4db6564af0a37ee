//! The files of a mount, by arithmetic: no record costs memory.
//! ```text
//! records/000000 ...       of plain files; a packed folder has its own names in the root instead
//! ```
//! Nodes are the root, `records` and the records, or the folder's nodes.

use std::sync::Arc;

use super::archive::Archive;
use super::folder::{Folder, What};
use super::records::{FOLDER, Records};
use crate::content::Content;
use crate::tree::{Datasets, Description, Entry, Face, Kind, NodeId, ROOT, Size, Tree, VIEWS};
use crate::{Error, Result};

/// The directory of records, if there is no folder.
const RECORDS: NodeId = 1;
/// The first record.
const FIRST: NodeId = 2;

/// A directory with more entries is vast.
const VAST: u32 = 1_000_000;

pub struct RecordTree {
    records: Arc<Records>,
    folder: Option<Arc<Folder>>,
}

/// What a node number means.
enum Place {
    Root,
    Records,
    Record(u32),
    /// A node of the folder.
    Folder(u32),
}

impl RecordTree {
    pub fn new(records: Arc<Records>, folder: Option<Arc<Folder>>) -> RecordTree {
        RecordTree { records, folder }
    }

    fn place(&self, node: NodeId) -> Option<Place> {
        match (&self.folder, node) {
            (Some(folder), _) => {
                u32::try_from(node).ok().filter(|node| *node < folder.len()).map(Place::Folder)
            }
            (None, ROOT) => Some(Place::Root),
            (None, RECORDS) => Some(Place::Records),
            (None, _) => {
                let number = u32::try_from(node - FIRST).ok();
                number.filter(|number| *number < self.records.count()).map(Place::Record)
            }
        }
    }

    /// The record that is the file `node`.
    fn record(&self, node: NodeId) -> Option<u32> {
        match (self.place(node)?, &self.folder) {
            (Place::Record(number), _) => Some(number),
            (Place::Folder(node), Some(folder)) => match folder.what(node)? {
                What::File { record, .. } => Some(*record),
                What::Directory { .. } => None,
            },
            _ => None,
        }
    }

    /// The number of the dataset that is the file `node`.
    fn dataset(&self, node: NodeId) -> Option<u32> {
        match (self.place(node)?, &self.folder) {
            (Place::Record(number), _) => Some(number),
            (Place::Folder(node), Some(folder)) => match folder.what(node)? {
                What::File { file, .. } => Some(*file),
                What::Directory { .. } => None,
            },
            _ => None,
        }
    }

    fn found_kind(&self, node: NodeId) -> Option<Kind> {
        let subdirectories = match self.place(node)? {
            Place::Root => 1,
            Place::Records => 0,
            Place::Record(_) => return Some(Kind::File),
            Place::Folder(node) => match self.folder.as_deref()?.what(node)? {
                What::Directory { subdirectories, .. } => (*subdirectories).into(),
                What::File { .. } => return Some(Kind::File),
            },
        };
        Some(Kind::Directory { subdirectories: Some(subdirectories) })
    }

    /// The number of the record that is this file.
    fn file(&self, node: NodeId, face: Face) -> Result<u32> {
        match (self.record(node), self.place(node)) {
            (Some(number), _) if face == Face::Data => Ok(number),
            (None, Some(_)) => Err(Error::IsADirectory),
            _ => Err(Error::NotFound),
        }
    }
}

/// A cursor is the entry's place in its directory, from 1 on.
impl Tree for RecordTree {
    fn kind(&self, node: NodeId) -> Result<Kind> {
        self.found_kind(node).ok_or(Error::NotFound)
    }

    fn parent(&self, node: NodeId) -> NodeId {
        match (self.place(node), &self.folder) {
            (Some(Place::Record(_)), _) => RECORDS,
            (Some(Place::Folder(node)), Some(folder)) => folder.parent(node).into(),
            _ => ROOT,
        }
    }

    fn lookup(&self, dir: NodeId, name: &[u8]) -> Result<Option<(NodeId, Face)>> {
        let node = match (self.place(dir), &self.folder) {
            (Some(Place::Folder(dir)), Some(folder)) => folder.find(dir, name).map(NodeId::from),
            (Some(Place::Root), _) => (name == FOLDER.as_bytes()).then_some(RECORDS),
            (Some(Place::Records), _) => {
                self.records.number_of(name).map(|number| FIRST + NodeId::from(number))
            }
            _ => None,
        };
        Ok(node.map(|node| (node, Face::Data)))
    }

    fn list(&self, dir: NodeId, cursor: u64, each: &mut dyn FnMut(&[u8], Entry) -> bool) -> Result<()> {
        let from = u32::try_from(cursor).unwrap_or(u32::MAX);
        let mut show = |at: u32, name: &[u8], node: NodeId| {
            let cursor = u64::from(at) + 1;
            let entry = self.found_kind(node).map(|kind| Entry { node, face: Face::Data, kind, cursor });
            entry.is_some_and(|entry| each(name, entry))
        };
        match (self.place(dir), &self.folder) {
            (Some(Place::Root), _) => {
                let _ = from > 0 || show(0, FOLDER.as_bytes(), RECORDS);
            }
            (Some(Place::Records), _) => {
                let _ = (from..self.records.count()).all(|number| {
                    show(number, &self.records.file_name(number), FIRST + NodeId::from(number))
                });
            }
            (Some(Place::Folder(dir)), Some(folder)) => {
                let Some(What::Directory { nodes, .. }) = folder.what(dir) else { return Ok(()) };
                let mut left = (0u32..).zip(nodes.clone()).skip(from as usize);
                let _ = left.all(|(at, node)| show(at, folder.name(node), node.into()));
            }
            _ => {}
        }
        Ok(())
    }

    fn size(&self, node: NodeId, face: Face) -> Result<Size> {
        self.records.size(self.file(node, face)?)
    }

    fn content(&self, node: NodeId, face: Face) -> Result<Content> {
        self.records.content(self.file(node, face)?)
    }

    fn content_at_once(&self, node: NodeId, face: Face) -> Result<Option<Content>> {
        self.records.content_at_once(self.file(node, face)?)
    }

    fn nodes(&self) -> u64 {
        let plain = || FIRST + NodeId::from(self.records.count());
        self.folder.as_ref().map_or_else(plain, |folder| folder.len().into())
    }

    fn datasets(&self) -> u64 {
        self.folder.as_ref().map_or(self.records.count(), |folder| folder.files()).into()
    }

    fn has_views_of_its_own(&self, dir: NodeId) -> bool {
        let folder = self.folder.as_ref().filter(|_| dir == ROOT);
        folder.is_some_and(|folder| folder.find(0, VIEWS).is_some())
    }

    fn format(&self, _: NodeId) -> Option<&'static str> {
        Some(super::super::Format::name(&super::FFRecord))
    }

    fn describe(&self, node: NodeId) -> Result<Option<Description>> {
        let archive = || Archive::new(self.records.clone(), self.folder.clone());
        self.dataset(node).map(|dataset| archive().describe(dataset)).transpose()
    }

    fn memory(&self) -> u64 {
        self.records.memory() + self.folder.as_ref().map_or(0, |folder| folder.memory())
    }

    fn is_vast(&self) -> bool {
        self.folder.as_ref().map_or(self.records.count(), |folder| folder.len()) > VAST
    }
}
