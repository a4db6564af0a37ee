//! The members of a container by name, from a ZIP file or the files of a directory. Names are only keys: a name in a
//! schema is never looked up anywhere else.

use std::collections::{HashMap, HashSet};
use std::io;
use std::ops::{ControlFlow, Range};
use std::path::{Component, Path};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;

use super::budget::{Budget, Of};
use super::graph::{Blob, Codec};
use super::lengths::Lengths;
use crate::codec::zip::{self, Fault, Window};
use crate::codec::{Described, Engine, Lz4, Stream, Streams, Walk, Xz, crc32};
use crate::content::{AsSource, Content, zipped};
use crate::error::Place;
use crate::format::Context;
use crate::source::Source;
use crate::tree::Size;
use crate::{Error, Result};

pub struct Store {
    source: Arc<dyn Source>,
    engine: Arc<Engine>,
    budget: Budget,
    members: Vec<Member>,
    /// Of members with equal names the last wins, as in Python.
    index: HashMap<Box<str>, usize>,
    /// Files that are not read, with the reason.
    refused: HashMap<Box<str>, Box<str>>,
    /// Names shared by several members.
    pub twice: Vec<Box<str>>,
    /// Members whose numbers were checked against the parts they refer to.
    looked: Mutex<HashSet<Box<str>>>,
    /// The lengths that arrays claim for compressed members.
    lengths: Lengths,
    /// By member number: streams decoded by the ZIP file, and by the schema.
    deflated: Streams,
    compressed: Streams,
}

struct Member {
    name: Box<str>,
    data: Data,
}

enum Data {
    /// The data's position in the ZIP file is determined on first use.
    Zip {
        record: zip::Record,
        found: OnceLock<Result<Range<u64>, Fault>>,
    },
    File(Arc<dyn Source>),
}

impl Store {
    pub fn zip(context: &Context) -> Result<Store> {
        let (source, engine) = (context.source.clone(), context.engine.clone());
        let mut names: Vec<Box<str>> = Vec::new();
        let directory = zip::read(&*source, &mut |name| names.push(name.into()))?;
        let header = directory.start..source.len();
        let (mut index, mut twice) = (HashMap::new(), Vec::new());
        for (number, name) in names.iter().enumerate() {
            if index.insert(name.clone(), number).is_some() {
                twice.push(name.clone());
            }
        }
        let data = |record| Data::Zip { record, found: OnceLock::new() };
        let member = |(name, record)| Member { name, data: data(record) };
        let members = names.into_iter().zip(directory.records).map(member).collect();
        let streams = || Streams::new(engine.clone(), source.clone(), header.clone());
        let (deflated, compressed) = (streams(), streams());
        let budget = Budget::new(source.len());
        let (refused, looked, lengths) = (HashMap::new(), Mutex::default(), Lengths::default());
        Ok(Store {
            source,
            engine,
            budget,
            members,
            index,
            refused,
            twice,
            looked,
            lengths,
            deflated,
            compressed,
        })
    }

    /// The files of a directory: the opened schemas, and the files they refer to, as far as those exist. Each is named
    /// by its path relative to the directory; nothing outside is opened.
    pub fn files(context: &Context, schemas: &[(String, Arc<dyn Source>)], reads: &[String]) -> Store {
        let siblings = context.siblings();
        let file =
            |name: &str, source: Arc<dyn Source>| Member { name: name.into(), data: Data::File(source) };
        let mut members: Vec<Member> =
            schemas.iter().map(|(name, source)| file(name, source.clone())).collect();
        let numbered = |(number, member): (usize, &Member)| (member.name.clone(), number);
        let mut index: HashMap<Box<str>, usize> = members.iter().enumerate().map(numbered).collect();
        let mut refused = HashMap::new();
        for name in reads {
            let is_inside = Path::new(name).components().all(|part| matches!(part, Component::Normal(_)));
            if index.contains_key(name.as_str()) || !is_inside {
                continue;
            }
            match siblings.find(Path::new(name)) {
                Ok(found) => {
                    index.insert(name.as_str().into(), members.len());
                    members.push(file(name, Arc::new(found)));
                }
                Err(Error::Read { cause, .. }) if cause.kind() != io::ErrorKind::NotFound => {
                    refused.insert(name.as_str().into(), cause.to_string().into());
                }
                Err(_) => {}
            }
        }
        let (source, engine) = (context.source.clone(), context.engine.clone());
        let streams = || Streams::new(engine.clone(), source.clone(), 0..0);
        let (deflated, compressed) = (streams(), streams());
        let mut store = Store {
            source,
            engine,
            budget: Budget::new(0),
            members,
            index,
            refused,
            twice: Vec::new(),
            looked: Mutex::default(),
            lengths: Lengths::default(),
            deflated,
            compressed,
        };
        store.budget = Budget::new(store.len());
        store
    }

    pub fn source(&self) -> &Arc<dyn Source> {
        &self.source
    }

    pub fn budget(&self) -> &Budget {
        &self.budget
    }

    /// Call before reading `len` bytes of a member's numbers: the first time is free, others are charged to the budget.
    pub fn look(&self, member: &str, len: u64) -> Result<(), Fault> {
        let is_new = self.looked.lock().insert(member.into());
        if is_new { Ok(()) } else { self.budget.take(Of::Again, len) }
    }

    /// Size of the container in bytes.
    pub fn len(&self) -> u64 {
        let file = |member: &Member| match &member.data {
            Data::Zip { .. } => 0,
            Data::File(source) => source.len(),
        };
        self.source.len().max(self.members.iter().map(file).fold(0, u64::saturating_add))
    }

    /// A dataset of the array with this schema member, for messages.
    pub fn place(&self, schema: &str, dataset: &str) -> Place {
        self.file(schema).unwrap_or(&self.source).place().dataset(dataset)
    }

    /// The file of a member, where members are files.
    pub fn file(&self, name: &str) -> Option<&Arc<dyn Source>> {
        match &self.members.get(self.find(name)?)?.data {
            Data::File(source) => Some(source),
            Data::Zip { .. } => None,
        }
    }

    pub fn count(&self) -> usize {
        self.members.len()
    }

    /// Approximate memory of decoders, in bytes.
    pub fn streams_memory(&self) -> u64 {
        self.deflated.memory() + self.compressed.memory()
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.members.iter().map(|member| &*member.name)
    }

    pub fn find(&self, name: &str) -> Option<usize> {
        self.index.get(name).copied()
    }

    /// Bytes of a member, decoded and in the file.
    pub fn size(&self, number: usize) -> Size {
        match self.members.get(number).map(|member| &member.data) {
            Some(Data::Zip { record, .. }) => {
                Size { len: Some(self.believed(record)), stored: record.stored_len.min(self.source.len()) }
            }
            Some(Data::File(source)) => Size { len: Some(source.len()), stored: source.len() },
            None => Size { len: None, stored: 0 },
        }
    }

    /// Is a member compressed by the ZIP file?
    pub fn is_deflated(&self, number: usize) -> bool {
        match self.members.get(number).map(|member| &member.data) {
            Some(Data::Zip { record, .. }) => record.is_deflated(),
            _ => false,
        }
    }

    /// The CRC-32 that the ZIP file records for a member.
    pub fn crc(&self, number: usize) -> Option<u32> {
        match self.members.get(number).map(|member| &member.data) {
            Some(Data::Zip { record, .. }) => Some(record.crc),
            _ => None,
        }
    }

    /// The actual and the recorded CRC-32 of a member, where decoding does not already compare them.
    pub fn sum(&self, number: usize) -> Result<Option<(u32, u32)>> {
        let Some((range, record)) = self.stored(number)?.filter(|(_, record)| !record.is_deflated()) else {
            return Ok(None);
        };
        let (mut found, stored) = (0, Content::Stored { source: self.source.clone(), range });
        stored.pass(&mut |piece| {
            found = crc32(found, piece);
            ControlFlow::Continue(())
        })?;
        Ok(Some((found, record.crc)))
    }

    /// The declared length of a member, as far as the file can hold it.
    fn believed(&self, record: &zip::Record) -> u64 {
        match record.check_readable() {
            Ok(()) => record.len,
            Err(_) => record.len.clamp(1, self.source.len().max(1)),
        }
    }

    /// The bytes of a blob in its member, before decompression.
    pub fn blob_len(&self, blob: &Blob) -> Result<u64, Fault> {
        let member = self.find(&blob.member).and_then(|number| self.members.get(number));
        match member.map(|member| &member.data) {
            Some(Data::Zip { record, .. }) => record.check_readable().map(|()| record.len),
            Some(Data::File(source)) => Ok(source.len()),
            None => Err(self.missing(&blob.member)),
        }
    }

    fn missing(&self, member: &str) -> Fault {
        let why = self.refused.get(member).map_or(String::new(), |why| format!(": {why}"));
        format!("there is no member {member:?}{why}").into()
    }

    /// Where a member's data is in the ZIP file, with its record.
    pub fn stored(&self, number: usize) -> Result<Option<(Range<u64>, &zip::Record)>> {
        match self.members.get(number) {
            Some(Member { name, data: Data::Zip { record, found } }) => {
                Ok(self.locate(name, record, found)?.ok().map(|range| (range, record)))
            }
            _ => Ok(None),
        }
    }

    fn locate(
        &self,
        name: &str,
        record: &zip::Record,
        known: &OnceLock<Result<Range<u64>, Fault>>,
    ) -> Result<Result<Range<u64>, Fault>> {
        if let Some(found) = known.get() {
            return Ok(found.clone());
        }
        let window = Window::new(&*self.source, record.header)?;
        let found = zip::find(record, name, &window)?;
        self.source.check()?;
        let checked = found.and_then(|range| record.check_readable().map(|()| range));
        Ok(known.get_or_init(|| checked).clone())
    }

    /// The bytes of a member.
    pub fn content(&self, number: usize) -> Result<Content> {
        let member = self.members.get(number).ok_or(Error::NotFound)?;
        let (record, found) = match &member.data {
            Data::Zip { record, found } => (record, found),
            Data::File(source) => {
                return Ok(Content::Stored { source: source.clone(), range: 0..source.len() });
            }
        };
        let place = self.source.place().dataset(&member.name);
        let range = match self.locate(&member.name, record, found)? {
            Ok(range) => range,
            Err(fault) => {
                return Ok(Content::Broken { claimed: self.believed(record), error: fault.error(place) });
            }
        };
        zipped(&self.source, &self.deflated, (number as u32, record), range, || place)
    }

    /// The first `need` bytes of a blob, decompressed. Fewer bytes are damage, and so are more if it is compressed.
    /// Nothing is decoded before it is needed.
    pub fn blob(&self, blob: &Blob, need: u64, place: Place) -> Result<Content> {
        let number =
            self.find(&blob.member).ok_or_else(|| self.missing(&blob.member).error(place.clone()))?;
        let whole = self.content(number)?;
        if let Content::Broken { .. } = whole {
            return Ok(whole);
        }
        if need == 0 {
            return Ok(Content::Inline(Arc::default()));
        }
        match blob.codec {
            None => Ok(first(whole, need)),
            Some(codec) => self.decompressed(number, whole, codec, need, place),
        }
    }

    fn decompressed(
        &self,
        number: usize,
        whole: Content,
        codec: Codec,
        need: u64,
        place: Place,
    ) -> Result<Content> {
        let is_zip = matches!(self.members.get(number), Some(Member { data: Data::Zip { .. }, .. }));
        let is_plain = is_zip && matches!(whole, Content::Stored { .. });
        let (source, stored) = match whole {
            Content::Stored { source, range } => (source, range),
            other => {
                let inner: Arc<dyn Source> = Arc::new(AsSource::new(other, &*self.source));
                let stored = 0..inner.len();
                (inner, stored)
            }
        };
        let engine = self.engine.clone();
        let measure = |most| measured(codec, &engine, &source, &stored, &place, most);
        if !matches!(codec, Codec::Lz4Block) {
            self.lengths.check(number, need, &place, &measure)?;
        }
        match codec {
            Codec::Zlib => {
                let described = Described { stored, wrapper: None, expected: Some(need), place };
                if is_plain {
                    let stream = self.compressed.get_or_make(number as u32, || Ok(described.clone()))?;
                    // Two arrays may claim different lengths for one member.
                    if stream.known_len() == Some(need) {
                        return Ok(Content::Decoded(stream));
                    }
                }
                Ok(Content::Decoded(Stream::kept_in(None, engine, source, described)))
            }
            Codec::Lzma => Ok(Content::Computed(Arc::new(Xz::new(engine, source, stored, need, place)))),
            Codec::Lz4Block => {
                let place = place.at(stored.start);
                if stored.end - stored.start < 4 {
                    return Err(Error::damaged(place, "the LZ4 block has no length before it"));
                }
                let prefix = source.read_range(stored.start..stored.start + 4)?;
                let len = prefix.try_into().map_or(0, u32::from_le_bytes);
                if u64::from(len) != need {
                    let problem = format!("the LZ4 block claims to have {len} bytes, but {need} are needed");
                    return Err(Error::damaged(place, problem));
                }
                let start = Lz4::new(stored.start + 4..stored.end);
                Ok(Content::Computed(Arc::new(Walk::new(engine, source, start, need, place))))
            }
        }
    }
}

/// The decoded length of a member; None if it exceeds `most`.
fn measured(
    codec: Codec,
    engine: &Arc<Engine>,
    source: &Arc<dyn Source>,
    stored: &Range<u64>,
    place: &Place,
    most: u64,
) -> Result<Option<u64>> {
    let (engine, source, stored, place) = (engine.clone(), source.clone(), stored.clone(), place.clone());
    if matches!(codec, Codec::Lzma) {
        return Xz::new(engine, source, stored, most, place).measure();
    }
    let described = Described { stored, wrapper: None, expected: None, place };
    let mut len = 0;
    Stream::kept_in(None, engine, source, described).pass(&mut |piece| {
        len += piece.len() as u64;
        if len > most { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    Ok((len <= most).then_some(len))
}

fn first(whole: Content, need: u64) -> Content {
    match whole {
        Content::Stored { source, range } => {
            let end = range.end.min(range.start.saturating_add(need));
            Content::Stored { source, range: range.start..end }
        }
        whole if whole.known_len() == Some(need) => whole,
        whole => Content::Part { whole: Arc::new(whole), range: 0..need },
    }
}
