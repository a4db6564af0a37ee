//! The datasets of a RawArray file: its array, named after the file, and its trailer, if there is one.

use std::ops::Range;
use std::sync::Arc;

use super::super::Context;
use super::element::Type;
use super::header::{FLAGS, Header};
use super::payload::{self, Codec, Payload};
use super::{FACTS, describe};
use crate::array::{Array, Dtype, Element, Endian, Kind, Order, Record, numpy};
use crate::codec::{Bits, Lz4, Walk};
use crate::content::{Computed, Content};
use crate::error::Place;
use crate::source::Source;
use crate::tree::{Abilities, Datasets, Description, NameList, Sidecars, Size};
use crate::yaml::{self, Node, Text};
use crate::{Error, Result};

/// Dataset number of the array; the trailer's is 1.
const ARRAY: u32 = 0;

pub struct RawArrayDatasets {
    source: Arc<dyn Source>,
    header: Header,
    /// File name without extension.
    stem: String,
    data: Result<Data, String>,
}

/// The file's content, if the header is valid.
struct Data {
    of: Type,
    payload: Payload,
    array: Option<Array>,
    content: Content,
    trailer: Range<u64>,
}

impl RawArrayDatasets {
    pub fn open(context: Context) -> Result<RawArrayDatasets> {
        let header = Header::read(&*context.source)?;
        let stem = context.source.path().file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let unknown = header.unknown_flags();
        let data = match unknown {
            0 => Ok(Data::of(&header, &stem, &context)?),
            _ => Err(format!(
                "flags have bits that are not known ({unknown:#x}): the data may mean something else"
            )),
        };
        Ok(RawArrayDatasets { source: context.source, header, stem, data })
    }

    pub fn names(&self) -> NameList {
        let mut names = NameList::default();
        names.push(self.stem.as_bytes());
        if self.trailer().is_some() {
            names.push(self.trailer_name().as_bytes());
        }
        names
    }

    /// Logs what had to be assumed.
    pub fn warn(&self) {
        let notes = self.data.as_ref().map_or(&[][..], |data| &data.payload.notes);
        let assumed = self
            .data
            .as_ref()
            .ok()
            .filter(|_| self.header.elbyte == 0)
            .and_then(|data| data.of.note.as_ref());
        for note in notes.iter().chain(assumed) {
            log::warn!("{}: {note}", self.source.place());
        }
    }

    fn trailer(&self) -> Option<Range<u64>> {
        self.data.as_ref().ok().map(|data| data.trailer.clone()).filter(|range| range.start < range.end)
    }

    fn trailer_name(&self) -> String {
        format!("{}.trailer", self.stem)
    }

    fn place(&self) -> Place {
        self.source.place().dataset(&self.stem)
    }

    fn stored(&self, range: Range<u64>) -> Content {
        Content::Stored { source: self.source.clone(), range }
    }

    /// Stored data, cut off at the end of the file.
    fn remaining(&self) -> Range<u64> {
        let Header { data, size, end, .. } = self.header;
        data..data.saturating_add(size).min(end)
    }

    fn sidecar_text(&self, dataset: u32, file_name: &[u8]) -> String {
        let mut text = String::new();
        if dataset != ARRAY {
            let about = format!("what follows the data of {}", self.stem);
            // The format's own key makes it a sidecar to `rab pack`.
            let of_format = Node::map([("about", Node::text(&about))]);
            let all = [("name", Node::text(&self.trailer_name())), (FACTS, of_format)];
            yaml::write(&Node::map(all), 0, &mut text);
            return text;
        }
        let name = ("name", Node::text(&self.stem));
        let problem = self.data.as_ref().err().map(|problem| ("problem", Node::text(problem)));
        yaml::write(&Node::map([name, (FACTS, self.words())].into_iter().chain(problem)), 0, &mut text);
        if let Some(array) = self.data.as_ref().ok().and_then(|data| data.array.as_ref()) {
            text += &numpy::Parts::of(array, false).text(file_name);
        }
        text
    }

    fn words(&self) -> Node {
        describe::words(&self.header, self.data.as_ref().ok().map(|data| (&data.of, &data.payload)))
    }
}

impl Data {
    fn of(header: &Header, stem: &str, context: &Context) -> Result<Data> {
        let Context { source, engine, options, .. } = context;
        let of = Type::of(header)?;
        let payload = Payload::of(header, &of, &**source)?;
        let array = array(header, &of, &payload, options.dtype.as_deref(), source)?;
        let Payload { codec, ref stored, len, .. } = payload;
        let place = source.place().dataset(stem).at(stored.start);
        let computed = |computed: Arc<dyn Computed>| Content::Computed(computed);
        let (engine, from) = (engine.clone(), source.clone());
        let content = match codec {
            Codec::Raw => Content::Stored { source: from, range: stored.clone() },
            Codec::Bits => computed(Arc::new(Bits::new(from, stored.start, len, header.is_big()))),
            Codec::Lz4 => computed(Arc::new(Walk::new(engine, from, Lz4::new(stored.clone()), len, place))),
            Codec::Leb128 => {
                let start = payload::leb128(header, &of, stored.clone()).allowing_trailing_bytes();
                computed(Arc::new(Walk::new(engine, from, start, len, place)))
            }
        };
        let trailer = stored.end..header.end;
        Ok(Data { of, payload, array, content, trailer })
    }
}

/// The array as numpy sees it: dims reversed, so that the last varies fastest.
fn array(
    header: &Header,
    of: &Type,
    payload: &Payload,
    dtype: Option<&str>,
    source: &Arc<dyn Source>,
) -> Result<Option<Array>> {
    let Some(element) = of.element else { return Ok(None) };
    let is_empty_without_dims = header.dims.is_empty() && payload.len == 0;
    let shape: Vec<u64> =
        if is_empty_without_dims { vec![0] } else { header.dims.iter().rev().copied().collect() };
    let is_big = header.is_big() && payload.codec != Codec::Leb128;
    let endian = if is_big { Endian::Big } else { Endian::Little };
    let array = Array::new(Dtype { element, endian }, shape, Order::C);
    match dtype.filter(|_| header.eltype == 0) {
        Some(dtype) => with_dtype(array, dtype, header.elbyte, source).map(Some),
        None => Ok(Some(array)),
    }
}

/// Applies the user's --dtype to an array of structs.
fn with_dtype(array: Array, dtype: &str, elbyte: u64, source: &Arc<dyn Source>) -> Result<Array> {
    let usage_error =
        |problem: String| Error::Usage(format!("{}: --dtype {dtype}: {problem}", source.place()));
    let endian = array.dtype.endian;
    let record = Record::parse(dtype, endian).map_err(usage_error)?;
    if record.size() != elbyte && elbyte != 0 {
        let problem = format!("that takes {} bytes, but an element has {elbyte} (elbyte)", record.size());
        return Err(usage_error(problem));
    }
    if let Some(dtype) = record.number() {
        return Ok(Array { dtype, ..array });
    }
    let size = record.size() as u32;
    let dtype = Dtype { element: Element { kind: Kind::Opaque, size }, endian };
    Ok(Array { dtype, record: Some(Arc::new(record)), ..array })
}

impl Datasets for RawArrayDatasets {
    fn count(&self) -> u64 {
        if self.trailer().is_some() { 2 } else { 1 }
    }

    fn size(&self, dataset: u32) -> Size {
        match (&self.data, dataset) {
            (Ok(data), ARRAY) => {
                let Range { start, end } = data.payload.stored;
                Size { len: Some(data.payload.len), stored: end - start }
            }
            (Ok(data), _) => {
                let len = data.trailer.end - data.trailer.start;
                Size { len: Some(len), stored: len }
            }
            (Err(_), _) => Size { len: Some(self.header.size.max(1)), stored: 0 },
        }
    }

    fn content(&self, dataset: u32) -> Result<Content> {
        match (&self.data, dataset) {
            (Ok(data), ARRAY) => Ok(data.content.clone()),
            (Ok(data), _) => Ok(self.stored(data.trailer.clone())),
            (Err(problem), _) => {
                let error = Error::damaged(self.place().at(FLAGS), problem.as_str());
                Ok(Content::Broken { claimed: self.header.size, error })
            }
        }
    }

    fn ready_content(&self, dataset: u32) -> Result<Option<Content>> {
        self.content(dataset).map(Some)
    }

    fn describe(&self, dataset: u32) -> Result<Description> {
        let bytes = Description::of(self.stem.as_str(), "bytes");
        Ok(match (&self.data, dataset) {
            (Ok(data), ARRAY) => Description {
                kind: data.of.name.clone(),
                array: data.array.clone(),
                compression: data.payload.codec.name().map(str::to_owned),
                stored: Some(data.payload.stored.clone()),
                decoded_len: Some(data.payload.len),
                codec: Arc::new(self.words()),
                ..bytes
            },
            (Ok(data), _) => Description {
                name: Text::from(self.trailer_name().as_str()),
                stored: Some(data.trailer.clone()),
                decoded_len: Some(data.trailer.end - data.trailer.start),
                ..bytes
            },
            (Err(problem), _) => Description {
                fault: Some(problem.clone()),
                stored: Some(self.remaining()),
                codec: Arc::new(self.words()),
                ..bytes
            },
        })
    }

    fn remains(&self, _: u32) -> Result<Content> {
        Ok(self.stored(self.remaining()))
    }

    fn abilities(&self) -> Abilities<'_> {
        Abilities { sidecars: Some(self), ..Abilities::default() }
    }
}

impl Sidecars for RawArrayDatasets {
    fn sidecar_size(&self, dataset: u32, file_name: &[u8]) -> Size {
        let len = self.sidecar_text(dataset, file_name).len() as u64;
        Size { len: Some(len), stored: len }
    }

    fn sidecar(&self, dataset: u32, file_name: &[u8]) -> Result<Content> {
        Ok(Content::Inline(self.sidecar_text(dataset, file_name).into_bytes().into()))
    }
}
