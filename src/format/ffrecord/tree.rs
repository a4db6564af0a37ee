//! What a mount shows, by arithmetic: no record costs memory.
//! ```text
//! records/000000 ...       of plain files; a packed folder has its own names in the root instead
//! records.meta.yaml
//! .views/table/data ...    not listed in the root, see `faces`
//! .views/arrow/records.arrow, .views/jsonl/records.jsonl, .views/csv/records.csv
//! ```
//! Nodes are the fixed ones below, then the records, or the folder's nodes but its root.

use std::sync::Arc;

use super::archive::Archive;
use super::faces;
use super::folder::{Folder, What};
use super::records::{FOLDER, Records};
use crate::content::Content;
use crate::tree::{Datasets, Description, Entry, Face, Kind, NodeId, ROOT, Size, Tree};
use crate::{Error, Result};

const RECORDS: NodeId = 1;
const META: NodeId = 2;
const VIEWS: NodeId = 3;
const TABLE: NodeId = 4;
/// The directories of [`faces::KINDS`].
const KINDS: NodeId = 5;
const FACES: NodeId = KINDS + faces::KINDS.len() as NodeId;
/// The files of [`faces::KINDS`].
const KIND_FILES: NodeId = FACES + faces::NAMES.len() as NodeId;
/// The first node of a record, or of a folder.
const FIRST: NodeId = KIND_FILES + faces::KINDS.len() as NodeId;

const VIEWS_NAME: &[u8] = b".views";
const TABLE_NAME: &[u8] = b"table";

/// A directory with more entries is vast.
const VAST: u32 = 1_000_000;

pub struct RecordTree {
    records: Arc<Records>,
    folder: Option<Arc<Folder>>,
    meta: Arc<[u8]>,
    /// In the order of [`faces::NAMES`] and [`faces::KINDS`]; None where there is none.
    faces: Vec<Option<Content>>,
}

/// What a node number means.
enum Place {
    Fixed(NodeId),
    Face(usize),
    Record(u32),
    /// A node of the folder, not its root.
    Folder(u32),
}

impl RecordTree {
    pub fn new(records: Arc<Records>, folder: Option<Arc<Folder>>) -> RecordTree {
        let meta = faces::meta(&records).into_bytes().into();
        let tables = faces::KINDS.map(|(kind, _)| faces::table(&records, kind).ok().flatten());
        let faces = faces::all(&records).into_iter().map(Some).chain(tables).collect();
        RecordTree { records, folder, meta, faces }
    }

    fn place(&self, node: NodeId) -> Option<Place> {
        let Some(at) = node.checked_sub(FIRST) else {
            return Some(match node.checked_sub(FACES) {
                Some(face) => Place::Face(face as usize),
                None => Place::Fixed(node),
            });
        };
        let at = u32::try_from(at).ok()?;
        match &self.folder {
            Some(folder) => (at + 1 < folder.len()).then(|| Place::Folder(at + 1)),
            None => (at < self.records.count()).then_some(Place::Record(at)),
        }
    }

    /// The node of a folder's node, and the other way round.
    fn of_folder(node: u32) -> NodeId {
        if node == 0 { ROOT } else { FIRST + NodeId::from(node) - 1 }
    }

    fn in_folder(&self, dir: NodeId) -> Option<(&Folder, u32)> {
        let folder = self.folder.as_deref()?;
        match self.place(dir)? {
            Place::Fixed(ROOT) => Some((folder, 0)),
            Place::Folder(node) => Some((folder, node)),
            _ => None,
        }
    }

    /// What fixed directories hold, without the records.
    fn fixed(&self, dir: NodeId) -> Vec<(&'static [u8], NodeId)> {
        match dir {
            ROOT => vec![(FOLDER.as_bytes(), RECORDS), (faces::META.as_bytes(), META)],
            VIEWS => {
                let kinds = (KINDS..).zip(faces::KINDS).map(|(node, (kind, _))| (kind.as_bytes(), node));
                std::iter::once((TABLE_NAME, TABLE)).chain(kinds).collect()
            }
            KINDS..FACES => {
                let at = (dir - KINDS) as usize;
                let name = faces::KINDS.get(at).map_or("", |(_, name)| name);
                let is_there = self.faces.get(faces::NAMES.len() + at).is_some_and(Option::is_some);
                is_there.then(|| (name.as_bytes(), KIND_FILES + at as NodeId)).into_iter().collect()
            }
            TABLE => (FACES..).zip(faces::NAMES).map(|(node, name)| (name.as_bytes(), node)).collect(),
            _ => Vec::new(),
        }
    }

    fn find(&self, dir: NodeId, name: &[u8]) -> Option<NodeId> {
        let found = match self.in_folder(dir) {
            Some((folder, node)) => folder.find(node, name).map(RecordTree::of_folder),
            None if dir == RECORDS => self.records.number_of(name).map(|number| FIRST + NodeId::from(number)),
            None => self.fixed(dir).into_iter().find(|(own, _)| *own == name).map(|(_, node)| node),
        };
        // A folder may have a name like this itself, which wins.
        found.or((dir == ROOT && name == VIEWS_NAME).then_some(VIEWS))
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
            Place::Fixed(ROOT) => match self.in_folder(ROOT).and_then(|(folder, root)| folder.what(root)) {
                Some(What::Directory { subdirectories, .. }) => u64::from(*subdirectories),
                _ => 1,
            },
            Place::Fixed(RECORDS) if self.folder.is_none() => 0,
            Place::Fixed(VIEWS) => 1 + faces::KINDS.len() as u64,
            Place::Fixed(TABLE | KINDS..FACES) => 0,
            Place::Fixed(META) if self.folder.is_none() => return Some(Kind::File),
            Place::Face(_) | Place::Record(_) => return Some(Kind::File),
            Place::Folder(node) => match self.folder.as_deref()?.what(node)? {
                What::Directory { subdirectories, .. } => (*subdirectories).into(),
                What::File { .. } => return Some(Kind::File),
            },
            Place::Fixed(_) => return None,
        };
        Some(Kind::Directory { subdirectories: Some(subdirectories) })
    }

    /// The bytes of a file that is no record.
    fn other(&self, node: NodeId, face: Face) -> Result<Content> {
        match self.place(node) {
            _ if face == Face::Sidecar => Err(Error::NotFound),
            Some(Place::Fixed(META)) if self.folder.is_none() => Ok(Content::Inline(self.meta.clone())),
            Some(Place::Face(at)) => self.faces.get(at).cloned().flatten().ok_or(Error::NotFound),
            Some(_) => Err(Error::IsADirectory),
            None => Err(Error::NotFound),
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
            (Some(Place::Face(_)), _) if node >= KIND_FILES => KINDS + (node - KIND_FILES),
            (Some(Place::Face(_)), _) => TABLE,
            (Some(Place::Fixed(TABLE | KINDS..FACES)), _) => VIEWS,
            (Some(Place::Record(_)), _) => RECORDS,
            (Some(Place::Folder(node)), Some(folder)) => RecordTree::of_folder(folder.parent(node)),
            _ => ROOT,
        }
    }

    fn lookup(&self, dir: NodeId, name: &[u8]) -> Result<Option<(NodeId, Face)>> {
        Ok(self.find(dir, name).map(|node| (node, Face::Data)))
    }

    fn list(&self, dir: NodeId, cursor: u64, each: &mut dyn FnMut(&[u8], Entry) -> bool) -> Result<()> {
        if dir == RECORDS && self.folder.is_none() {
            let from = u32::try_from(cursor).unwrap_or(u32::MAX);
            let _ = (from..self.records.count()).all(|number| {
                let (node, cursor) = (FIRST + NodeId::from(number), u64::from(number) + 1);
                let entry = Entry { node, face: Face::Data, kind: Kind::File, cursor };
                each(&self.records.file_name(number), entry)
            });
            return Ok(());
        }
        let mut show = |at: u64, name: &[u8], node: NodeId| {
            let entry =
                self.found_kind(node).map(|kind| Entry { node, face: Face::Data, kind, cursor: at + 1 });
            entry.is_some_and(|entry| each(name, entry))
        };
        let done = usize::try_from(cursor).unwrap_or(usize::MAX);
        match self.in_folder(dir).map(|(folder, node)| (folder, folder.what(node))) {
            Some((folder, Some(What::Directory { nodes, .. }))) => {
                let mut left = (0..).zip(nodes.clone()).skip(done);
                let _ = left.all(|(at, node)| show(at, folder.name(node), RecordTree::of_folder(node)));
            }
            _ => {
                let mut left = (0..).zip(self.fixed(dir)).skip(done);
                let _ = left.all(|(at, (name, node))| show(at, name, node));
            }
        }
        Ok(())
    }

    fn size(&self, node: NodeId, face: Face) -> Result<Size> {
        match self.record(node) {
            Some(number) if face == Face::Data => self.records.size(number),
            _ => {
                let len = self.other(node, face)?.known_len();
                Ok(Size { len, stored: len.unwrap_or(0) })
            }
        }
    }

    fn content(&self, node: NodeId, face: Face) -> Result<Content> {
        match self.record(node) {
            Some(number) if face == Face::Data => self.records.content(number),
            _ => self.other(node, face),
        }
    }

    fn content_at_once(&self, node: NodeId, face: Face) -> Result<Option<Content>> {
        match self.record(node) {
            Some(number) if face == Face::Data => self.records.content_at_once(number),
            _ => self.other(node, face).map(Some),
        }
    }

    fn nodes(&self) -> u64 {
        let own = self.folder.as_ref().map_or(self.records.count(), |folder| folder.len() - 1);
        FIRST + u64::from(own)
    }

    fn datasets(&self) -> u64 {
        self.folder.as_ref().map_or(self.records.count(), |folder| folder.files()).into()
    }

    fn has_views_of_its_own(&self, dir: NodeId) -> bool {
        let folder = self.folder.as_ref().filter(|_| dir == ROOT);
        folder.is_some_and(|folder| folder.find(0, VIEWS_NAME).is_some())
    }

    fn format(&self, _: NodeId) -> Option<&'static str> {
        Some(super::super::Format::name(&super::FFRecord))
    }

    fn describe(&self, node: NodeId) -> Result<Option<Description>> {
        let archive = || Archive::new(self.records.clone(), self.folder.clone());
        self.dataset(node).map(|dataset| archive().describe(dataset)).transpose()
    }

    fn describe_made(&self, node: NodeId) -> Result<Option<Description>> {
        Ok(match self.place(node) {
            Some(Place::Face(at)) => faces::describe(&self.records, at),
            _ => None,
        })
    }

    fn rows_of_made(&self, node: NodeId, expression: &str) -> Result<Option<Content>> {
        let kind = node.checked_sub(KIND_FILES).and_then(|at| faces::KINDS.get(at as usize));
        kind.map_or(Ok(None), |(kind, _)| faces::rows(&self.records, kind, expression))
    }

    fn memory(&self) -> u64 {
        self.records.memory() + self.folder.as_ref().map_or(0, |folder| folder.memory())
    }

    fn is_vast(&self) -> bool {
        self.folder.as_ref().map_or(self.records.count(), |folder| folder.len()) > VAST
    }
}
