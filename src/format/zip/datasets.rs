//! The members of an opened file by number. Local headers, which locate the data, are read when the member is.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use crate::codec::Streams;
use crate::codec::zip::{self, Fault, Record, Window};
use crate::content::{Content, zipped};
use crate::error::Place;
use crate::format::Context;
use crate::source::Source;
use crate::tree::{Abilities, Checksum, Datasets, Description, NameList, Placement, Size, naming};
use crate::yaml::Node;
use crate::{Error, Result};

/// Approximate memory of a member, in bytes.
const MEMBER: u64 = 128;

pub struct ZipDatasets {
    source: Arc<dyn Source>,
    names: Arc<NameList>,
    members: Vec<Member>,
    /// Directories with entries of their own, such as empty ones.
    directories: Vec<String>,
    streams: Streams,
}

struct Member {
    record: Record,
    /// Offset of its data, once found.
    start: OnceLock<u64>,
}

impl ZipDatasets {
    pub fn open(context: Context) -> Result<ZipDatasets> {
        let Context { source, engine, .. } = context;
        let mut all = NameList::default();
        let directory = zip::read(&*source, &mut |name| all.push(name.as_bytes()))?;
        let streams = Streams::new(engine, source.clone(), directory.start..source.len());
        let (mut names, mut members) = (NameList::default(), Vec::with_capacity(directory.records.len()));
        for (record, is_current) in directory.records.into_iter().zip(current(&all).into_iter().enumerate()) {
            if let (number, true) = is_current {
                names.push(all.get(number).unwrap_or_default());
                members.push(Member { record, start: OnceLock::new() });
            }
        }
        if members.len() < all.len() {
            let old = all.len() - members.len();
            log::info!("{}: {old} members were replaced by later ones of the same name", source.place());
        }
        Ok(ZipDatasets {
            source,
            names: Arc::new(names),
            members,
            directories: directory.directories,
            streams,
        })
    }

    pub fn names(&self) -> Arc<NameList> {
        self.names.clone()
    }

    fn member(&self, number: u32) -> Result<&Member> {
        self.members.get(number as usize).ok_or(Error::NotFound)
    }

    fn name(&self, number: u32) -> String {
        String::from_utf8_lossy(self.names.get(number as usize).unwrap_or_default()).into_owned()
    }

    fn place(&self, number: u32) -> Place {
        self.source.place().dataset(&self.name(number))
    }

    /// Locates its data. Errors are I/O errors only; an invalid header becomes the member's fault.
    fn find(&self, number: u32) -> Result<Result<Range<u64>, Fault>> {
        let Member { record, start } = self.member(number)?;
        if let Some(start) = start.get() {
            return Ok(Ok(*start..start + record.stored_len));
        }
        let window = Window::new(&*self.source, record.header)?;
        let found = zip::find(record, &self.name(number), &window)?;
        self.source.check()?;
        Ok(found.inspect(|stored| {
            start.get_or_init(|| stored.start);
        }))
    }

    /// Like [`ZipDatasets::find`], but a member that cannot be decoded has that fault.
    fn readable(&self, number: u32) -> Result<Result<Range<u64>, Fault>> {
        let readable = self.member(number)?.record.check_readable();
        Ok(self.find(number)?.and_then(|stored| readable.map(|()| stored)))
    }

    /// The length of an unreadable member is capped at the length of the file.
    fn len(&self, record: &Record) -> u64 {
        match record.check_readable() {
            Ok(()) => record.len,
            Err(_) => record.len.clamp(1, self.source.len().max(1)),
        }
    }
}

/// Whether each member is the last of its name. Writers that change a member (Zarr's `ZipStore`, `zip -g`) add it
/// again, and every reader takes the last one.
fn current(names: &NameList) -> Vec<bool> {
    let mut later = HashSet::with_capacity(names.len());
    let mut current: Vec<bool> =
        (0..names.len()).rev().map(|number| later.insert(names.get(number).unwrap_or_default())).collect();
    current.reverse();
    current
}

impl Datasets for ZipDatasets {
    fn count(&self) -> u64 {
        self.members.len() as u64
    }

    fn size(&self, number: u32) -> Size {
        let Ok(Member { record, .. }) = self.member(number) else { return Size { len: None, stored: 0 } };
        Size { len: Some(self.len(record)), stored: record.stored_len.min(self.source.len()) }
    }

    fn content(&self, number: u32) -> Result<Content> {
        let Member { record, .. } = self.member(number)?;
        match self.readable(number)? {
            Ok(stored) => {
                zipped(&self.source, &self.streams, (number, record), stored, || self.place(number))
            }
            Err(fault) => {
                let error = fault.error(self.place(number));
                Ok(Content::Broken { claimed: self.len(record), error })
            }
        }
    }

    fn ready_content(&self, number: u32) -> Result<Option<Content>> {
        match self.member(number)?.start.get() {
            Some(_) => self.content(number).map(Some),
            None => Ok(None),
        }
    }

    fn describe(&self, number: u32) -> Result<Description> {
        let Member { record, .. } = self.member(number)?;
        let (stored, readable) = (self.find(number)?.ok(), self.readable(number)?);
        let compression = record.compression();
        let crc = format!("{:08x}", record.crc);
        let checksum = stored.clone().filter(|_| compression.is_none());
        let codec = [
            ("compression", compression.as_deref().map_or(Node::Null, Node::text)),
            ("compressedSize", Node::int(record.stored_len)),
            ("size", Node::int(record.len)),
            ("crc32", Node::text(&crc)),
        ];
        Ok(Description {
            compression,
            decoded_len: readable.is_ok().then_some(record.len),
            checksum: checksum.map(|range| Checksum { range, algorithm: "crc32".into(), value: crc }),
            stored: Some(stored.unwrap_or(0..0)),
            fault: readable.err().filter(|fault| !fault.is_unsupported).map(|fault| fault.problem),
            codec: Arc::new(Node::map(codec)),
            ..Description::of(self.name(number), "bytes")
        })
    }

    /// The data of a member, decoded if its codec is supported.
    fn remains(&self, number: u32) -> Result<Content> {
        let Member { record, .. } = self.member(number)?;
        match self.find(number)? {
            Ok(stored) if record.is_readable() && !stored.is_empty() => {
                zipped(&self.source, &self.streams, (number, record), stored, || self.place(number))
            }
            found => Ok(Content::Stored { source: self.source.clone(), range: found.unwrap_or(0..0) }),
        }
    }

    fn memory(&self) -> u64 {
        MEMBER * self.count() + self.streams.memory()
    }

    fn abilities(&self) -> Abilities<'_> {
        Abilities { placement: Some(self), ..Abilities::default() }
    }
}

impl Placement for ZipDatasets {
    fn empty_directories(&self) -> Vec<Vec<Vec<u8>>> {
        let names = self.directories.iter().map(|name| name.trim_end_matches('/').as_bytes());
        names.map(|name| naming::components(name, &[])).collect()
    }
}
