//! One array as a Zarr store has it: a directory of its description, its attributes and its chunks.
//!
//! An array whose bytes the container has as they are is cut into chunks that are ranges of them, and so is what has to
//! be decoded or computed: each chunk then costs what reading that range costs. A compressed stream is a chunk by
//! itself where the array is but one chunk, or where nobody is there to decode it ([`Store::as_stored`]).

use std::ops::{ControlFlow, Range};
use std::sync::{Arc, OnceLock};

use serde_json::Value;

use super::layout::Layout;
use super::{ARRAY, ATTRIBUTES, attributes, description};
use crate::array::Array;
use crate::content::{Bytes, Coding, Computed, Content, joined};
use crate::view::{Dataset, Folder};
use crate::{Error, Result};

/// What a program has to undo before it has the elements.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Compressor {
    Zlib,
    Gzip,
}

impl Compressor {
    /// What numcodecs calls it.
    pub fn id(self) -> &'static str {
        match self {
            Compressor::Zlib => "zlib",
            Compressor::Gzip => "gzip",
        }
    }

    fn of(coding: Coding) -> Option<Compressor> {
        match coding {
            Coding::Plain => None,
            Coding::Zlib => Some(Compressor::Zlib),
            Coding::Gzip => Some(Compressor::Gzip),
        }
    }
}

pub struct Store {
    dataset: Dataset,
    array: Array,
    layout: Layout,
    /// The elements, or the stream that is the only chunk.
    bytes: Content,
    compressor: Option<Compressor>,
}

impl Store {
    /// For readers that can be served any range of the decoded bytes.
    pub fn with_random_access(dataset: &Dataset) -> Result<Store> {
        let store = Store::plain(dataset)?;
        if store.layout.count() != 1 {
            return Ok(store);
        }
        let (decoded, store) = (store.bytes.clone(), store.or_stream()?);
        Ok(match store.compressor {
            Some(_) => Store { bytes: Checked::content(store.bytes, decoded), ..store },
            None => store,
        })
    }

    /// For readers that have nothing but the container's files.
    pub fn as_stored(dataset: &Dataset) -> Result<Store> {
        Store::plain(dataset)?.or_stream()
    }

    fn plain(dataset: &Dataset) -> Result<Store> {
        let array = dataset.about().array.clone().ok_or(Error::NotFound)?;
        let cannot = || dataset.wrong("Zarr has no such element type or sizes");
        let layout = Layout::of(&array).ok_or_else(cannot)?;
        let bytes = dataset.elements(&array)?;
        Ok(Store { dataset: dataset.clone(), array, layout, bytes, compressor: None })
    }

    /// The same with the compressed stream as its chunk, if there is one that Zarr's programs can decode.
    fn or_stream(self) -> Result<Store> {
        if !matches!(self.bytes, Content::Decoded(_)) || self.layout.count() == 0 {
            return Ok(self);
        }
        let (extent, layout) = (self.bytes.extent()?, Layout::whole(&self.array));
        Ok(match (extent, layout) {
            (Some(extent), Some(layout)) => {
                let compressor = Compressor::of(extent.coding);
                let bytes = Content::Stored { source: extent.source, range: extent.range };
                Store { bytes, compressor, layout, ..self }
            }
            _ => self,
        })
    }

    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// What the chunks are cut from.
    pub fn bytes(&self) -> &Content {
        &self.bytes
    }

    /// Its `.zarray`.
    pub fn description(&self) -> Value {
        description::array(&self.array, &self.layout, self.compressor)
    }

    /// Its `.zattrs`.
    pub fn attributes(&self) -> Result<Value> {
        let metadata = self.dataset.describe()?.metadata;
        Ok(attributes::of(&self.array, &metadata))
    }

    /// The bytes of [`Store::bytes`] that a chunk has; the rest of it means nothing.
    pub fn range(&self, number: u64) -> Range<u64> {
        match self.compressor {
            Some(_) => 0..self.bytes.known_len().unwrap_or(0),
            None => self.layout.range(number),
        }
    }

    /// Bytes of a chunk.
    pub fn chunk_len(&self, number: u64) -> u64 {
        match self.compressor {
            Some(_) => self.range(number).end,
            None => self.layout.chunk_len(),
        }
    }

    pub fn chunk(&self, number: u64) -> Content {
        let (range, len) = (self.range(number), self.chunk_len(number));
        let padding = len - (range.end - range.start);
        match self.bytes.part(range) {
            Content::Broken { error, .. } => Content::Broken { claimed: len, error },
            part if padding == 0 => part,
            part => joined(vec![part, Content::Computed(Arc::new(Padding(padding)))]),
        }
    }
}

impl Folder for Store {
    fn find(&self, name: &[u8]) -> Result<Option<Content>> {
        let inline = |value: Value| Ok(Some(Content::Inline(value.to_string().into_bytes().into())));
        match std::str::from_utf8(name) {
            Ok(ARRAY) => inline(self.description()),
            Ok(ATTRIBUTES) => inline(self.attributes()?),
            Ok(name) => Ok(self.layout.find(name).map(|number| self.chunk(number))),
            Err(_) => Ok(None),
        }
    }

    fn list(&self, cursor: u64, each: &mut dyn FnMut(&[u8], u64) -> bool) -> Result<()> {
        const OWN: [&str; 2] = [ARRAY, ATTRIBUTES];
        let first = OWN.len() as u64;
        let own = (1..).zip(OWN.map(str::to_owned));
        let chunks = (cursor.saturating_sub(first)..self.layout.count())
            .map(|number| (first + number + 1, self.layout.name(number)));
        let _ = own.filter(|(at, _)| *at > cursor).chain(chunks).all(|(at, name)| each(name.as_bytes(), at));
        Ok(())
    }
}

/// A compressed stream whose last byte is served when all of it was decoded once: nobody has all of one that is
/// damaged.
struct Checked {
    stream: Content,
    decoded: Content,
    len: u64,
    is_valid: OnceLock<()>,
}

impl Checked {
    fn content(stream: Content, decoded: Content) -> Content {
        match stream.known_len() {
            Some(len) => {
                Content::Computed(Arc::new(Checked { stream, decoded, len, is_valid: OnceLock::new() }))
            }
            None => stream,
        }
    }
}

impl Computed for Checked {
    fn known_len(&self) -> Option<u64> {
        Some(self.len)
    }

    fn fill(&self, buf: &mut [u8], offset: u64) -> Result<()> {
        if offset.checked_add(buf.len() as u64) == Some(self.len) && self.is_valid.get().is_none() {
            self.decoded.pass(&mut |_| ControlFlow::Continue(()))?;
            let _ = self.is_valid.set(());
        }
        self.stream.fill(buf, offset)
    }
}

/// What a last chunk has behind its elements: zeros.
struct Padding(u64);

impl Computed for Padding {
    fn known_len(&self) -> Option<u64> {
        Some(self.0)
    }

    fn fill(&self, buf: &mut [u8], _: u64) -> Result<()> {
        buf.fill(0);
        Ok(())
    }

    fn read_if_ready(&self, range: Range<u64>) -> Result<Option<Bytes>> {
        self.read(range).map(Some)
    }
}
