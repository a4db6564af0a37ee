//! The tree of a mount, computed from node numbers so that records take no memory.
//! ```text
//! records/000000 ...       for plain files; a packed folder has its own names in the root instead
//! ```
//! Nodes are the root, `records` and the records, or else the folder's nodes.

use std::sync::Arc;

use super::datasets::FFRecordDatasets;
use super::folder::{Folder, FolderEntry};
use super::records::{FOLDER, Records};
use crate::content::Content;
use crate::tree::{Datasets, Description, Entry, FileKind, NodeId, NodeKind, ROOT, Size, Tree, VIEWS};
use crate::{Error, Result};

/// The directory of records, if this is not a packed folder.
const RECORDS: NodeId = 1;
/// The first record.
const FIRST: NodeId = 2;

/// Directories with more entries count as vast.
const VAST: u32 = 1_000_000;

pub struct RecordTree {
    records: Arc<Records>,
    folder: Option<Arc<Folder>>,
}

/// What a node number stands for.
enum RecordNode {
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

    fn place(&self, node: NodeId) -> Option<RecordNode> {
        match (&self.folder, node) {
            (Some(folder), _) => {
                u32::try_from(node).ok().filter(|node| *node < folder.len()).map(RecordNode::Folder)
            }
            (None, ROOT) => Some(RecordNode::Root),
            (None, RECORDS) => Some(RecordNode::Records),
            (None, _) => {
                let number = u32::try_from(node - FIRST).ok();
                number.filter(|number| *number < self.records.count()).map(RecordNode::Record)
            }
        }
    }

    /// The record behind the file `node`.
    fn record(&self, node: NodeId) -> Option<u32> {
        match (self.place(node)?, &self.folder) {
            (RecordNode::Record(number), _) => Some(number),
            (RecordNode::Folder(node), Some(folder)) => match folder.what(node)? {
                FolderEntry::File { record, .. } => Some(*record),
                FolderEntry::Directory { .. } => None,
            },
            _ => None,
        }
    }

    /// The dataset behind the file `node`.
    fn dataset(&self, node: NodeId) -> Option<u32> {
        match (self.place(node)?, &self.folder) {
            (RecordNode::Record(number), _) => Some(number),
            (RecordNode::Folder(node), Some(folder)) => match folder.what(node)? {
                FolderEntry::File { file, .. } => Some(*file),
                FolderEntry::Directory { .. } => None,
            },
            _ => None,
        }
    }

    fn found_kind(&self, node: NodeId) -> Option<NodeKind> {
        let subdirectories = match self.place(node)? {
            RecordNode::Root => 1,
            RecordNode::Records => 0,
            RecordNode::Record(_) => return Some(NodeKind::File),
            RecordNode::Folder(node) => match self.folder.as_deref()?.what(node)? {
                FolderEntry::Directory { subdirectories, .. } => (*subdirectories).into(),
                FolderEntry::File { .. } => return Some(NodeKind::File),
            },
        };
        Some(NodeKind::Directory { subdirectories: Some(subdirectories) })
    }

    /// The record number of this file.
    fn file(&self, node: NodeId, file: FileKind) -> Result<u32> {
        match (self.record(node), self.place(node)) {
            (Some(number), _) if file == FileKind::Data => Ok(number),
            (None, Some(_)) => Err(Error::IsADirectory),
            _ => Err(Error::NotFound),
        }
    }
}

/// Cursors are the entries' positions in their directory, from 1.
impl Tree for RecordTree {
    fn kind(&self, node: NodeId) -> Result<NodeKind> {
        self.found_kind(node).ok_or(Error::NotFound)
    }

    fn parent(&self, node: NodeId) -> NodeId {
        match (self.place(node), &self.folder) {
            (Some(RecordNode::Record(_)), _) => RECORDS,
            (Some(RecordNode::Folder(node)), Some(folder)) => folder.parent(node).into(),
            _ => ROOT,
        }
    }

    fn lookup(&self, dir: NodeId, name: &[u8]) -> Result<Option<(NodeId, FileKind)>> {
        let node = match (self.place(dir), &self.folder) {
            (Some(RecordNode::Folder(dir)), Some(folder)) => folder.find(dir, name).map(NodeId::from),
            (Some(RecordNode::Root), _) => (name == FOLDER.as_bytes()).then_some(RECORDS),
            (Some(RecordNode::Records), _) => {
                self.records.number_of(name).map(|number| FIRST + NodeId::from(number))
            }
            _ => None,
        };
        Ok(node.map(|node| (node, FileKind::Data)))
    }

    fn list(&self, dir: NodeId, cursor: u64, each: &mut dyn FnMut(&[u8], Entry) -> bool) -> Result<()> {
        let from = u32::try_from(cursor).unwrap_or(u32::MAX);
        let mut show = |at: u32, name: &[u8], node: NodeId| {
            let cursor = u64::from(at) + 1;
            let entry = self.found_kind(node).map(|kind| Entry { node, file: FileKind::Data, kind, cursor });
            entry.is_some_and(|entry| each(name, entry))
        };
        match (self.place(dir), &self.folder) {
            (Some(RecordNode::Root), _) => {
                let _ = from > 0 || show(0, FOLDER.as_bytes(), RECORDS);
            }
            (Some(RecordNode::Records), _) => {
                let _ = (from..self.records.count()).all(|number| {
                    show(number, &self.records.file_name(number), FIRST + NodeId::from(number))
                });
            }
            (Some(RecordNode::Folder(dir)), Some(folder)) => {
                let Some(FolderEntry::Directory { nodes, .. }) = folder.what(dir) else { return Ok(()) };
                let mut left = (0u32..).zip(nodes.clone()).skip(from as usize);
                let _ = left.all(|(at, node)| show(at, folder.name(node), node.into()));
            }
            _ => {}
        }
        Ok(())
    }

    fn size(&self, node: NodeId, file: FileKind) -> Result<Size> {
        self.records.size(self.file(node, file)?)
    }

    fn content(&self, node: NodeId, file: FileKind) -> Result<Content> {
        self.records.content(self.file(node, file)?)
    }

    fn ready_content(&self, node: NodeId, file: FileKind) -> Result<Option<Content>> {
        self.records.ready_content(self.file(node, file)?)
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
        let archive = || FFRecordDatasets::new(self.records.clone(), self.folder.clone());
        self.dataset(node).map(|dataset| archive().describe(dataset)).transpose()
    }

    fn memory(&self) -> u64 {
        self.records.memory() + self.folder.as_ref().map_or(0, |folder| folder.memory())
    }

    fn is_vast(&self) -> bool {
        self.folder.as_ref().map_or(self.records.count(), |folder| folder.len()) > VAST
    }
}
