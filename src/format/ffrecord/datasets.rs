//! Records as datasets: named `records/000000 ...` in a plain file, by path in a packed folder.

use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::Arc;

use super::folder::{Folder, FolderEntry};
use super::records::{FOLDER, Records};
use crate::content::Content;
use crate::source::Source;
use crate::tree::{Abilities, Checksum, Datasets, Description, Names, Placement, Provenance, Size};
use crate::yaml::{Node, Text};
use crate::{Error, Result};

#[derive(Clone)]
pub struct FFRecordDatasets {
    records: Arc<Records>,
    folder: Option<Arc<Folder>>,
}

impl FFRecordDatasets {
    pub fn new(records: Arc<Records>, folder: Option<Arc<Folder>>) -> FFRecordDatasets {
        FFRecordDatasets { records, folder }
    }

    fn datasets(&self) -> u32 {
        self.folder.as_ref().map_or(self.records.count(), |folder| folder.files())
    }

    /// The record of a dataset.
    fn record(&self, dataset: u32) -> Result<u32> {
        match &self.folder {
            Some(folder) => folder.file(dataset).map(|(record, _)| record).ok_or(Error::NotFound),
            None => Ok(dataset),
        }
    }
}

impl Names for FFRecordDatasets {
    fn len(&self) -> usize {
        self.datasets() as usize
    }

    fn get(&self, number: usize) -> Option<Cow<'_, [u8]>> {
        let number = u32::try_from(number).ok().filter(|number| *number < self.datasets())?;
        Some(Cow::Owned(match &self.folder {
            Some(folder) => folder.file(number)?.1,
            None => self.records.name(number),
        }))
    }

    fn find(&self, name: &[u8]) -> Option<Option<usize>> {
        let found = match &self.folder {
            Some(folder) => folder.at_path(name).and_then(|node| match folder.what(node)? {
                FolderEntry::File { file, .. } => Some(*file),
                FolderEntry::Directory { .. } => None,
            }),
            None => {
                let file_name = name.strip_prefix(FOLDER.as_bytes()).and_then(|rest| rest.strip_prefix(b"/"));
                file_name.and_then(|file_name| self.records.number_of(file_name))
            }
        };
        Some(found.map(|number| number as usize))
    }
}

impl Datasets for FFRecordDatasets {
    fn count(&self) -> u64 {
        self.datasets().into()
    }

    fn size(&self, dataset: u32) -> Size {
        let size = self.record(dataset).and_then(|record| self.records.size(record));
        size.unwrap_or(Size { len: None, stored: 0 })
    }

    fn content(&self, dataset: u32) -> Result<Content> {
        self.records.content(self.record(dataset)?)
    }

    fn ready_content(&self, dataset: u32) -> Result<Option<Content>> {
        self.records.ready_content(self.record(dataset)?)
    }

    fn describe(&self, dataset: u32) -> Result<Description> {
        let number = self.record(dataset)?;
        let found = self.records.find(number)?;
        let verifies = self.records.verifies();
        let checksum = Checksum {
            range: found.record.range.clone(),
            algorithm: "crc32".into(),
            value: format!("{:08x}", found.record.crc),
        };
        let codec = [
            ("record", Node::Int(number.to_string().into())),
            ("crc32", Node::text(&checksum.value)),
            ("file", Node::text(&found.shard.source.path().to_string_lossy())),
        ];
        let codec = codec.into_iter().map(|(key, value)| (Node::text(key).into(), value.into())).collect();
        Ok(Description {
            checksum: verifies.then_some(checksum),
            metadata: Arc::new(Node::Map(Vec::new())),
            codec: Arc::new(Node::Map(codec)),
            ..self.brief(dataset)?
        })
    }

    fn brief(&self, dataset: u32) -> Result<Description> {
        let found = self.records.find(self.record(dataset)?)?;
        let name = Names::get(self, dataset as usize).unwrap_or_default();
        Ok(Description {
            decoded_len: Some(found.len()),
            stored: Some(found.record.range),
            raw_name: std::str::from_utf8(&name).is_err().then(|| name.clone().into_owned().into()),
            ..Description::of(text(&name), "bytes")
        })
    }

    fn remains(&self, dataset: u32) -> Result<Content> {
        self.records.stored(self.record(dataset)?)
    }

    fn abilities(&self) -> Abilities<'_> {
        Abilities { placement: Some(self), provenance: Some(self), ..Abilities::default() }
    }
}

impl Placement for FFRecordDatasets {
    /// A packed folder's names are already file names.
    fn place(&self, dataset: u32) -> Option<Vec<Vec<u8>>> {
        let (_, path) = self.folder.as_ref()?.file(dataset)?;
        Some(split(&path))
    }

    fn empty_directories(&self) -> Vec<Vec<Vec<u8>>> {
        match &self.folder {
            Some(folder) => folder.empty_directories().map(|path| split(&path)).collect(),
            None if self.records.count() == 0 => vec![vec![FOLDER.into()]],
            None => Vec::new(),
        }
    }
}

impl Provenance for FFRecordDatasets {
    fn file(&self, dataset: u32) -> Option<Arc<dyn Source>> {
        let (shard, _) = self.records.shard(self.record(dataset).ok()?)?;
        Some(shard.source.clone())
    }

    /// Each shard is a file of its own.
    fn files(&self) -> Vec<PathBuf> {
        Vec::new()
    }
}

/// The components of a path.
fn split(path: &[u8]) -> Vec<Vec<u8>> {
    path.split(|byte| *byte == b'/').map(<[u8]>::to_vec).collect()
}

/// A path as text: bytes that are not UTF-8 become surrogates, as in Python.
fn text(name: &[u8]) -> Text {
    if let Ok(text) = std::str::from_utf8(name) {
        return text.into();
    }
    let wtf8 = super::write::surrogates(name);
    Text::from_wtf8(&wtf8).unwrap_or_else(|| Text::from(&*String::from_utf8_lossy(name)))
}
