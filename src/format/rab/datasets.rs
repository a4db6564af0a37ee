//! The datasets of an opened RAB container, by number. Streams of compressed datasets are made on first use.

use std::sync::Arc;

use super::super::Context;
use super::describe;
use super::entry::{self, Data};
use super::layout::Layout;
use super::records::{EntryText, Records};
use super::sidecar;
use crate::array::numpy;
use crate::codec::{Described, Engine, Stream, Streams};
use crate::content::Content;
use crate::source::Source;
use crate::tree::{Abilities, Datasets, Description, Sidecars, Size};
use crate::{Error, Result};

/// Approximate memory per dataset, in bytes.
const RECORD: u64 = 64;

pub struct RabDatasets {
    source: Arc<dyn Source>,
    engine: Arc<Engine>,
    layout: Layout,
    records: Records,
    streams: Streams,
    /// The stream number under which sidecars are cached like decoded blocks.
    sidecars: u64,
}

impl RabDatasets {
    pub fn new(context: Context, layout: Layout, records: Records) -> RabDatasets {
        let Context { source, engine, .. } = context;
        let sidecars = engine.cache.new_stream();
        let streams = Streams::new(engine.clone(), source.clone(), 0..layout.data);
        RabDatasets { source, engine, layout, records, streams, sidecars }
    }

    /// The header's text, verbatim.
    pub fn header(&self) -> Content {
        Content::Stored { source: self.source.clone(), range: self.layout.header..self.layout.data }
    }

    fn entry(&self, number: u32) -> Result<EntryText> {
        self.records.text(number, &*self.source, self.layout)
    }

    /// The stream of a dataset. Its name, for messages, is in the header.
    fn stream(&self, number: u32, data: Data) -> Result<Arc<Stream>> {
        self.streams.get_or_make(number, || {
            let place = self.entry(number)?.place(&*self.source);
            let expected = data.decoded.or(self.streams.known_len(number));
            Ok(Described { stored: data.stored, wrapper: None, expected, place })
        })
    }

    fn build_sidecar(&self, number: u32, file_name: &[u8]) -> Result<Vec<u8>> {
        let text = self.entry(number)?;
        let array = entry::entry(&text.node, self.layout).ok().and_then(|entry| entry.array);
        let place = sidecar::place(
            number,
            self.records.data(number).as_ref().map_err(|fault| *fault),
            Some(&text.node),
        );
        let built = sidecar::build(&text, &place, array.as_ref(), file_name);
        let expected = self.sidecar_size(number, file_name).len;
        if expected != Some(built.len() as u64) {
            let problem = format!("its sidecar has {} bytes, not {expected:?}: this is a bug", built.len());
            return Err(Error::damaged(text.place(&*self.source), problem));
        }
        Ok(built)
    }
}

impl Datasets for RabDatasets {
    fn count(&self) -> u64 {
        self.records.len() as u64
    }

    fn memory(&self) -> u64 {
        RECORD * self.count() + self.streams.memory()
    }

    fn size(&self, number: u32) -> Size {
        match self.records.data(number) {
            Err(fault) => Size { len: Some(fault.claimed.max(1)), stored: 0 },
            Ok(data) => {
                // A compressed stream's recorded length of 0 is not trusted until it has been decoded.
                let recorded = data.decoded.filter(|len| *len > 0 || !data.compressed);
                let len = recorded.or_else(|| self.streams.known_len(number));
                Size { len, stored: data.stored.end - data.stored.start }
            }
        }
    }

    fn content(&self, number: u32) -> Result<Content> {
        match self.records.data(number) {
            Ok(data) if data.compressed => Ok(Content::Decoded(self.stream(number, data)?)),
            Ok(data) => Ok(Content::Stored { source: self.source.clone(), range: data.stored }),
            Err(fault) => {
                let place = self.entry(number)?.place(&*self.source);
                let error = Error::damaged(place, fault.problem.as_str());
                Ok(Content::Broken { claimed: fault.claimed, error })
            }
        }
    }

    fn ready_content(&self, number: u32) -> Result<Option<Content>> {
        match self.records.data(number) {
            Ok(data) if data.compressed => Ok(self.streams.get(number).map(Content::Decoded)),
            Ok(data) => Ok(Some(Content::Stored { source: self.source.clone(), range: data.stored })),
            Err(_) => Ok(None),
        }
    }

    fn describe(&self, number: u32) -> Result<Description> {
        let text = self.entry(number)?;
        describe::describe(&text.node, self.layout)
            .map_err(|problem| Error::damaged(text.place(&*self.source), problem))
    }

    fn brief(&self, number: u32) -> Result<Description> {
        let text = self.records.usual_text(number, &*self.source, self.layout)?;
        let usual = text.as_deref().and_then(|text| describe::briefly(text, self.layout));
        usual.map_or_else(|| self.describe(number), Ok)
    }

    fn remains(&self, number: u32) -> Result<Content> {
        let place = self.entry(number)?.place(&*self.source);
        let Description { stored, compression, .. } = self.describe(number)?;
        let (source, range) = (self.source.clone(), stored.unwrap_or(0..0));
        if compression.is_none() {
            return Ok(Content::Stored { source, range });
        }
        let described = Described { stored: range, wrapper: None, expected: None, place };
        Ok(Content::Decoded(Stream::kept_in(None, self.engine.clone(), source, described)))
    }

    fn abilities(&self) -> Abilities<'_> {
        Abilities { sidecars: Some(self), ..Abilities::default() }
    }
}

impl Sidecars for RabDatasets {
    fn sidecar_size(&self, number: u32, file_name: &[u8]) -> Size {
        let parts = self.records.sidecar_len(number);
        let name = if parts.description > 0 { numpy::literal_len(file_name) } else { 0 };
        let len = (parts.entry + parts.description + name) as u64;
        Size { len: Some(len), stored: len }
    }

    fn sidecar(&self, number: u32, file_name: &[u8]) -> Result<Content> {
        if let Some(built) = self.ready_sidecar(number)? {
            return Ok(built);
        }
        let built = self.build_sidecar(number, file_name)?;
        Ok(Content::Inline(self.engine.cache.insert(self.sidecars, number.into(), &built)))
    }

    fn ready_sidecar(&self, number: u32) -> Result<Option<Content>> {
        self.source.check()?;
        Ok(self.engine.cache.get(self.sidecars, number.into()).map(Content::Inline))
    }
}
