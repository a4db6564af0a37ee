//! Adds one dataset of any kind: first its description, then its data.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use ndarray::{ArrayView, Dimension};

use super::Writer;
use super::array::{self, Item};
use super::data::{self, Failure, Stored};
use super::dataframe::{self, Column};
use super::header::{self, Codec, int, list, map};
use crate::array::{Array, Endian, Order, byte_len, check_axes};
use crate::codec::deflate;
use crate::error::Place;
use crate::format::writer::input::{Counted, Exactly, Stretch, Utf8, set_aside};
use crate::tree::{Table, naming};
use crate::yaml::{self, Node, Text, Value};
use crate::{Error, Result};

/// How a dataset is stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Compression {
    #[default]
    None,
    /// A zlib stream, which the format calls `gzip`; levels from 0 to 9.
    Zlib(u32),
    /// Like [`Compression::Zlib`] if that takes fewer bytes, else not compressed. Such data is written several times.
    ZlibIfSmaller(u32),
}

/// A dataset without data yet, see [`Writer::add`]. By default it has no metadata, is not compressed,
/// and an array is stored in C order, little-endian.
#[must_use = "it has no data yet"]
pub struct Add<'w> {
    writer: &'w mut Writer,
    name: Text,
    /// The error says why the metadata cannot be written.
    metadata: Result<Node, String>,
    compression: Compression,
    order: Order,
    endian: Endian,
    /// The name may be taken; this dataset then gets it.
    replaces: bool,
    /// The codecMeta from which unknown fields are carried over.
    origin: Option<Node>,
}

impl<'w> Add<'w> {
    pub(super) fn new(writer: &'w mut Writer, name: Text) -> Add<'w> {
        let (metadata, compression) = (Ok(Node::Null), Compression::None);
        let (order, endian) = (Order::C, Endian::Little);
        Add { writer, name, metadata, compression, order, endian, replaces: false, origin: None }
    }

    /// Replaces the dataset that has the name, and keeps its metadata unless others are given.
    pub(in super::super) fn replacing(self, metadata: Node) -> Add<'w> {
        Add { replaces: true, metadata: Ok(metadata), ..self }
    }

    /// Sets the metadata: a mapping, or null.
    pub fn metadata(self, metadata: Value) -> Add<'w> {
        Add { metadata: super::metadata(&metadata), ..self }
    }

    pub fn compression(self, compression: Compression) -> Add<'w> {
        Add { compression, ..self }
    }

    /// Sets the element order in which an [`Add::array`] is stored.
    pub fn order(self, order: Order) -> Add<'w> {
        Add { order, ..self }
    }

    /// Sets the byte order in which an [`Add::array`] is stored.
    pub fn endian(self, endian: Endian) -> Add<'w> {
        Add { endian, ..self }
    }

    /// Carries over unknown fields from the `codecMeta` of the original dataset in another file.
    pub(super) fn like(self, origin: Option<Node>) -> Add<'w> {
        Add { origin, ..self }
    }

    /// Stores all bytes of `input`.
    ///
    /// # Errors
    /// If the name is in use, the metadata is not a mapping, or reading or writing fails. Nothing is added then.
    pub fn bytes(self, input: impl Read) -> Result<()> {
        self.store(kind("bytes"), input)
    }

    /// Stores text.
    ///
    /// # Errors
    /// As [`Add::bytes`].
    pub fn text(self, text: &str) -> Result<()> {
        self.store(kind("text"), text.as_bytes())
    }

    /// Stores all of `input` as text.
    ///
    /// # Errors
    /// As [`Add::bytes`], and if it is not UTF-8.
    pub fn text_from(self, input: impl Read) -> Result<()> {
        self.store(kind("text"), Utf8::new(input))
    }

    /// Stores the bytes of a file.
    ///
    /// # Errors
    /// As [`Add::bytes`].
    pub fn file(self, path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        let input = File::open(path).map_err(|cause| Error::open(path, cause))?;
        let mut codec = kind("bytes");
        if self.compression == Compression::None {
            // The reference writers leave it out for files.
            codec.remove("compression");
        }
        self.store_from(codec, input, Some(path))
    }

    /// Stores an array of any layout. One already in the stored layout is not copied.
    ///
    /// # Errors
    /// As [`Add::bytes`], and if it has more than 64 axes.
    pub fn array<T: Item, D: Dimension>(self, view: ArrayView<'_, T, D>) -> Result<()> {
        let array = array::describe(&view, self.order, self.endian);
        let input = array::reader(view, self.order, self.endian);
        self.array_from(&array, input)
    }

    /// Stores the bytes of an array, which are already as `array` describes ([`Add::order`] and [`Add::endian`] are
    /// ignored).
    ///
    /// # Errors
    /// As [`Add::array`], and if `input` has another number of bytes than the array.
    pub fn array_from(self, array: &Array, input: impl Read) -> Result<()> {
        check_axes(array.shape.len()).map_err(|problem| self.refused(problem))?;
        let element = array.dtype.element;
        let described = element.name().zip(byte_len(element, &array.shape));
        let Some((name, need)) = described.filter(|(_, len)| *len <= i64::MAX as u64) else {
            return Err(
                self.refused(format!("an array of {} and shape {:?} is too large", array.dtype, array.shape))
            );
        };
        let endian = match array.dtype.endian {
            _ if element.size == 1 => "na",
            Endian::Little => "little",
            Endian::Big => "big",
        };
        let mut codec = kind(name);
        codec.insert("shape", list(array.shape.iter().map(int)));
        codec.insert("byteOrder", Node::text(if array.order == Order::F { "F" } else { "C" }));
        codec.insert("endianness", Node::text(endian));
        self.store(codec, Exactly::new(input, need))
    }

    /// Stores a value as YAML.
    ///
    /// # Errors
    /// As [`Add::bytes`], and if the value has no form in YAML.
    pub fn object(self, value: &Value) -> Result<()> {
        let node = value.node().map_err(|problem| self.refused(problem))?;
        let mut text = String::new();
        yaml::write(&node, 0, &mut text);
        self.store(kind("object"), text.as_bytes())
    }

    /// Stores a value that is already YAML or JSON.
    pub(super) fn object_from(self, input: impl Read) -> Result<()> {
        self.store(kind("object"), Utf8::new(input))
    }

    /// Stores a table whose columns are already as `table` describes.
    pub(super) fn dataframe_from(self, table: &Table, input: impl Read) -> Result<()> {
        let need = table.byte_len().ok_or_else(|| self.refused("it is too large for a table".into()))?;
        let mut codec = dataframe::codec(table);
        codec.extend(kind("dataframe"));
        self.store(codec, Exactly::new(input, need))
    }

    /// Stores a table.
    ///
    /// # Errors
    /// As [`Add::bytes`], and if columns have the same name or different numbers of rows.
    pub fn dataframe(self, columns: &[Column<'_>]) -> Result<()> {
        let mut codec = dataframe::describe(columns).map_err(|problem| self.refused(problem))?;
        codec.extend(kind("dataframe"));
        self.store(codec, dataframe::reader(columns))
    }

    fn place(&self) -> Place {
        Place::file(&self.writer.path).dataset(&naming::printed(self.name.as_bytes()))
    }

    fn refused(&self, problem: String) -> Error {
        Error::write(self.place(), io::Error::other(problem))
    }

    fn store(self, codec: Codec, input: impl Read) -> Result<()> {
        self.store_from(codec, input, None)
    }

    /// `origin` is the file that `input` reads, if it reads one.
    fn store_from(self, mut codec: Codec, input: impl Read, origin: Option<&Path>) -> Result<()> {
        let failed = |cause| Error::write(self.place(), cause);
        if !self.replaces {
            self.writer.header.check_name(&self.name).map_err(failed)?;
        }
        let metadata = self.metadata.clone().map_err(|problem| self.refused(problem))?;
        let start = self.writer.output.len;
        let mut input = Counted { input, count: 0 };
        let (stored, compressed) =
            self.data(start, &mut input).map_err(|failure| match (failure, origin) {
                (Failure::Input(cause), Some(path)) => Error::read(Place::file(path), cause),
                (Failure::Input(cause) | Failure::Output(cause), _) => failed(cause),
            })?;

        let end = start.checked_add(stored.len).ok_or_else(|| self.refused("it is too long".into()))?;
        if compressed {
            codec.insert("compression", Node::text("gzip"));
            codec.insert("decodedLength", int(input.count));
        }
        codec.insert("byteOffset", int(start));
        codec.insert("byteLength", int(stored.len));
        let checksum = [("algorithm", Node::text("sha256")), ("value", Node::text(&stored.sha256))];
        codec.insert("checksum", map(checksum));
        let codec = header::adopt(codec, self.origin.as_ref());
        let place = self.place();
        let added = self.writer.header.add(&self.name, metadata, codec);
        added.map_err(|cause| Error::write(place, cause))?;
        self.writer.output.len = end;
        Ok(())
    }

    /// Stores all of `input`; the flag says whether it was compressed.
    fn data<R: Read>(&self, start: u64, input: &mut Counted<R>) -> Result<(Stored, bool), Failure> {
        let Writer { output, compressor, .. } = &*self.writer;
        let (level, only_if_smaller) = match self.compression {
            Compression::None => return Ok((data::store(output.file(), start, input)?, false)),
            Compression::Zlib(level) => (level, false),
            Compression::ZlibIfSmaller(level) => (level, true),
        };
        let stored = data::store(output.file(), start, &mut compressor.zlib(&mut *input, level))?;
        if !only_if_smaller || stored.len < input.count {
            return Ok((stored, true));
        }
        let stream = Stretch { file: output.file(), at: start, end: start + stored.len };
        let decoded = set_aside(deflate::decoded(stream), output.directory());
        Ok((data::store(output.file(), start, &mut decoded.map_err(Failure::Output)?)?, false))
    }
}

/// The settings shared by all datasets of a type.
fn kind(name: &str) -> Codec {
    Codec::from([("type", Node::text(name)), ("compression", Node::Null)])
}
