//! The datasets of an opened archive, by number. A member is read only when the directory does not answer the
//! question, and cached for a while; its lengths are kept for good, since a file's size must not change.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

use lru::LruCache;
use parking_lot::Mutex;

use super::super::Context;
use super::member::{self, Body, Member, Record};
use super::sidecar;
use crate::array::npy::Header;
use crate::array::numpy;
use crate::codec::zip::Fault;
use crate::codec::{Engine, Streams};
use crate::content::{Content, zipped};
use crate::error::Place;
use crate::source::Source;
use crate::tree::{Abilities, Checksum, Datasets, Description, NameList, Sidecars, Size};
use crate::{Error, Result};

/// Approximate memory of a member: its directory entry, and what was read of it.
const RECORD: u64 = 128;
const MEMBER: u64 = 512;
/// Members that are announced at a time.
const ANNOUNCED: u32 = 512;
const RECENT: NonZeroUsize = NonZeroUsize::new(4096).unwrap();

pub struct NpzDatasets {
    source: Arc<dyn Source>,
    engine: Arc<Engine>,
    names: Arc<NameList>,
    records: Vec<Record>,
    streams: Streams,
    recent: Mutex<LruCache<u32, Arc<Member>>>,
    lengths: Vec<OnceLock<Lengths>>,
    /// The members up to here were announced to the source.
    announced: AtomicU32,
}

/// The lengths of a member's files.
#[derive(Clone, Copy)]
struct Lengths {
    data: u64,
    /// Without the file name.
    sidecar: u32,
    has_name: bool,
}

impl NpzDatasets {
    /// `start` is the offset of the directory.
    pub fn new(context: Context, names: Arc<NameList>, records: Vec<Record>, start: u64) -> NpzDatasets {
        let Context { source, engine, .. } = context;
        let header = start..source.len();
        let streams = Streams::new(engine.clone(), source.clone(), header);
        let lengths = (0..records.len()).map(|_| OnceLock::new()).collect();
        let recent = Mutex::new(LruCache::sparse(RECENT));
        NpzDatasets { source, engine, names, records, streams, recent, lengths, announced: AtomicU32::new(0) }
    }

    fn record(&self, number: u32) -> Result<&Record> {
        self.records.get(number as usize).ok_or(Error::NotFound)
    }

    fn raw_name(&self, number: u32) -> &[u8] {
        self.names.get(number as usize).unwrap_or_default()
    }

    fn name(&self, number: u32) -> String {
        String::from_utf8_lossy(self.raw_name(number)).into_owned()
    }

    fn place(&self, number: u32) -> Place {
        self.source.place().dataset(&self.name(number))
    }

    /// The member, from the cache or read; reading holds no lock.
    fn member(&self, number: u32) -> Result<Arc<Member>> {
        if let Some(known) = self.recent.lock().get(&number) {
            return Ok(known.clone());
        }
        self.announce(number);
        let (record, place) = (self.record(number)?, self.place(number));
        let found = member::read(record, self.raw_name(number), &self.source, &self.engine, &place)?;
        self.remember(number, record, &found);
        let found = Arc::new(found);
        self.recent.lock().put(number, found.clone());
        Ok(found)
    }

    /// When members are read one after the other, tells the source about those that follow.
    fn announce(&self, number: u32) {
        let is_known = |number: u32| self.lengths(number).is_some();
        let announced = self.announced.load(Ordering::Relaxed);
        let is_in_order = number >= 2 && is_known(number - 1) && is_known(number - 2);
        if !is_in_order || (number..number + ANNOUNCED).contains(&announced.saturating_sub(ANNOUNCED / 2)) {
            return;
        }
        let from = number.max(announced);
        let records = self.records.iter().skip(from as usize).take(ANNOUNCED as usize);
        let ranges: Vec<_> = records.filter(|record| record.is_npy).map(|record| record.head()).collect();
        self.announced.store(from + ANNOUNCED, Ordering::Relaxed);
        self.source.will_need_pieces(&ranges);
    }

    /// Keeps its lengths, and logs once what is wrong with it.
    fn remember(&self, number: u32, record: &Record, member: &Member) {
        let Some(lengths) = self.lengths.get(number as usize) else { return };
        let mut is_new = false;
        lengths.get_or_init(|| {
            is_new = true;
            let (text, parts) = sidecar::build(record, (number, &self.name(number)), member);
            let sidecar = text.len() + parts.as_ref().map_or(0, numpy::Parts::len);
            Lengths {
                data: self.data_len(record, member),
                sidecar: u32::try_from(sidecar).unwrap_or(u32::MAX),
                has_name: parts.is_some(),
            }
        });
        if let (true, Err(fault @ Fault { is_unsupported: false, .. })) = (is_new, &member.body) {
            log::error!("{}; reads of it give an input/output error", fault.error(self.place(number)));
        }
    }

    /// For an unreadable member its declared length, up to the length of the file: a program that allocates before it
    /// reads should get as far as the error.
    fn data_len(&self, record: &Record, member: &Member) -> u64 {
        match &member.body {
            Ok(body) => record.len - body.skip(),
            Err(_) => record.len.clamp(1, self.source.len().max(1)),
        }
    }

    fn lengths(&self, number: u32) -> Option<Lengths> {
        self.lengths.get(number as usize)?.get().copied()
    }

    /// All data of the member.
    fn whole(&self, number: u32, record: &Record, member: &Member) -> Result<Content> {
        zipped(&self.source, &self.streams, (number, record), member.stored.clone(), || self.place(number))
    }

    fn elements(&self, number: u32, record: &Record, member: &Member, body: &Body) -> Result<Content> {
        Ok(self.whole(number, record, member)?.part(body.skip()..record.len))
    }

    fn build_sidecar(&self, number: u32, file_name: &[u8]) -> Result<String> {
        let member = self.member(number)?;
        let (mut text, parts) = sidecar::build(self.record(number)?, (number, &self.name(number)), &member);
        text.extend(parts.map(|parts| parts.text(file_name)));
        Ok(text)
    }
}

impl Datasets for NpzDatasets {
    fn count(&self) -> u64 {
        self.records.len() as u64
    }

    fn size(&self, number: u32) -> Size {
        let stored = self.records.get(number as usize).map_or(0, |record| record.stored_len);
        Size { len: self.lengths(number).map(|lengths| lengths.data), stored: stored.min(self.source.len()) }
    }

    fn content(&self, number: u32) -> Result<Content> {
        let (record, member) = (self.record(number)?, self.member(number)?);
        match &member.body {
            Ok(body) => self.elements(number, record, &member, body),
            Err(fault) => {
                let claimed = self.data_len(record, &member);
                Ok(Content::Broken { claimed, error: fault.error(self.place(number)) })
            }
        }
    }

    fn ready_content(&self, number: u32) -> Result<Option<Content>> {
        let Some(member) = self.recent.lock().get(&number).cloned() else { return Ok(None) };
        match &member.body {
            Ok(body) => self.elements(number, self.record(number)?, &member, body).map(Some),
            Err(_) => Ok(None),
        }
    }

    fn describe(&self, number: u32) -> Result<Description> {
        let (record, member) = (self.record(number)?, self.member(number)?);
        let name = self.name(number);
        let (body, fault) = match &member.body {
            Ok(body) => (Some(body), None),
            Err(fault) => (None, Some(fault)),
        };
        let npy = body.and_then(|body| body.npy.as_ref());
        let is_opaque = fault.is_some_and(|fault| fault.is_unsupported) && record.is_readable();
        let kind = match npy {
            Some(header) => header.kind(),
            None if is_opaque => "pickle",
            None => "bytes",
        };
        let is_plain = record.compression().is_none();
        let skip = body.filter(|_| is_plain).map_or(0, Body::skip);
        let checksum = is_plain.then(|| Checksum {
            range: member.stored.clone(),
            algorithm: "crc32".into(),
            value: format!("{:08x}", record.crc),
        });
        Ok(Description {
            array: npy.and_then(Header::array),
            compression: record.compression(),
            stored: Some(member.stored.start + skip..member.stored.end),
            decoded_len: body.map(|body| record.len - body.skip()),
            checksum,
            fault: fault.filter(|fault| !fault.is_unsupported).map(|fault| fault.problem.clone()),
            is_opaque,
            codec: Arc::new(sidecar::zip(record, &name, body)),
            ..Description::of(&*name, kind)
        })
    }

    fn memory(&self) -> u64 {
        RECORD * self.count() + MEMBER * self.recent.lock().len() as u64 + self.streams.memory()
    }

    /// All data of the member, decoded if its codec is supported.
    fn remains(&self, number: u32) -> Result<Content> {
        let (record, member) = (self.record(number)?, self.member(number)?);
        if !record.is_deflated() || !record.is_readable() || member.stored.is_empty() {
            return Ok(Content::Stored { source: self.source.clone(), range: member.stored.clone() });
        }
        self.whole(number, record, &member)
    }

    fn abilities(&self) -> Abilities<'_> {
        Abilities { sidecars: Some(self), ..Abilities::default() }
    }
}

impl Sidecars for NpzDatasets {
    fn sidecar_size(&self, number: u32, file_name: &[u8]) -> Size {
        let len = self.lengths(number).map(|Lengths { sidecar, has_name, .. }| {
            u64::from(sidecar) + if has_name { numpy::literal_len(file_name) as u64 } else { 0 }
        });
        Size { len, stored: len.unwrap_or(0) }
    }

    fn sidecar(&self, number: u32, file_name: &[u8]) -> Result<Content> {
        self.source.check()?;
        Ok(Content::Inline(self.build_sidecar(number, file_name)?.into_bytes().into()))
    }
}
