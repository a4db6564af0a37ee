//! Writes containers of any writable format. Datasets are added one at a time, each with a description and a reader
//! that is read once. Whatever a format cannot hold is reported, never dropped silently.

pub mod input;
pub mod lost;
pub mod output;
mod temporary;
pub mod zip;

use std::io::{self, Read};
use std::path::Path;

use super::{Compression, FORMATS, Format, WriteFormat};
use crate::array::{Array, Order, byte_len};
use crate::error::Place;
use crate::tree::{Table, naming};
use crate::yaml::{Node, Text};
use crate::{Error, Result};

pub use temporary::{Temporary, directory};

/// The default level of compression.
pub const LEVEL: u32 = 6;

/// How a container is written.
#[derive(Clone, Debug)]
pub struct WriteOptions {
    /// Number of compression threads. The output does not depend on it.
    pub jobs: usize,
    /// Whether an existing file may be replaced.
    pub force: bool,
}

/// The description of a dataset to be written.
#[derive(Clone, Copy)]
pub struct NewDataset<'a> {
    pub name: &'a Text,
    /// A mapping, or null.
    pub metadata: &'a Node,
    pub what: NewContent<'a>,
    /// None if not specified.
    pub compression: Option<Compression>,
    /// Its description in the container of the same format that it comes from, whose fields without a place in this
    /// struct are carried over.
    pub origin: Option<&'a Node>,
    /// The format-specific fields of its sidecar.
    pub facts: Option<&'a Node>,
}

/// The kind of data.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum NewContent<'a> {
    Bytes,
    /// UTF-8.
    Text,
    /// A value as YAML or JSON.
    Object,
    Array(&'a Array),
    Table(&'a Table),
}

/// [`NewContent`] that owns its data.
#[derive(Clone, Debug, PartialEq)]
pub enum Described {
    Bytes,
    Text,
    Object,
    Array(Array),
    Table(Table),
}

impl Described {
    pub fn what(&self) -> NewContent<'_> {
        match self {
            Described::Bytes => NewContent::Bytes,
            Described::Text => NewContent::Text,
            Described::Object => NewContent::Object,
            Described::Array(array) => NewContent::Array(array),
            Described::Table(table) => NewContent::Table(table),
        }
    }

    /// Its size in bytes, where known.
    pub fn byte_len(&self) -> Option<u64> {
        match self {
            Described::Array(array) => byte_len(array.dtype.element, &array.shape),
            Described::Table(table) => table.byte_len(),
            _ => None,
        }
    }
}

/// A container being written. Nothing appears at its path until it is finished.
pub trait NewContainer {
    /// Adds a dataset with all of `data`, its decoded bytes; one that fails leaves no trace. Returns what the format
    /// cannot hold of it, each phrased to follow "PLACE: ", for example `its metadata is left out`.
    fn add(&mut self, dataset: &NewDataset<'_>, data: &mut dyn Read) -> Result<Vec<String>>;

    fn finish(self: Box<Self>) -> Result<()>;
}

/// A container that is one file, whose path is in its errors.
pub trait NewFile {
    fn path(&self) -> &Path;
    /// Like [`NewContainer::add`].
    fn put(&mut self, dataset: &NewDataset<'_>, data: &mut dyn Read) -> io::Result<Vec<String>>;
    /// Writes what remains and puts the file at its path.
    fn close(self) -> io::Result<()>;
}

impl<F: NewFile> NewContainer for F {
    fn add(&mut self, dataset: &NewDataset<'_>, data: &mut dyn Read) -> Result<Vec<String>> {
        let place = Place::file(self.path()).dataset(&naming::printed(dataset.name.as_bytes()));
        self.put(dataset, data).map_err(|cause| Error::write(place, cause))
    }

    fn finish(self: Box<Self>) -> Result<()> {
        let place = Place::file(self.path());
        self.close().map_err(|cause| Error::write(place, cause))
    }
}

/// Begins a container at `path`, of the writable format that its extension names.
pub fn create(path: &Path, options: &WriteOptions) -> Result<Box<dyn NewContainer>> {
    match format(path) {
        Some((_, write)) => write.create(path, options),
        None => {
            let known =
                FORMATS.iter().filter_map(|format| format.write()).flat_map(|write| write.extensions());
            let known = known.map(|extension| format!(".{extension}")).collect::<Vec<_>>().join(", ");
            let (shown, extension) = (path.display(), path.extension().unwrap_or_default().display());
            let problem = match path.extension() {
                Some(_) => format!("cannot write .{extension} files"),
                None => "the name needs an extension that tells the format".into(),
            };
            Err(Error::Usage(format!("{shown}: {problem}: choose one of {known}")))
        }
    }
}

/// The name of the writable format that the extension of `path` names.
pub fn format_of(path: &Path) -> Option<&'static str> {
    named_by(path).map(Format::name)
}

/// The writable format that the extension of `path` names.
pub fn named_by(path: &Path) -> Option<&'static dyn Format> {
    format(path).map(|(format, _)| format)
}

/// The element order that the format of `path` requires, if it requires one.
pub fn order_of(path: &Path) -> Option<Order> {
    format(path)?.1.order()
}

/// Does the format of `path` always hold exactly one array?
pub fn holds_only_one_array(path: &Path) -> bool {
    format(path).is_some_and(|(_, write)| write.holds_only_one_array())
}

fn format(path: &Path) -> Option<(&'static dyn Format, &'static dyn WriteFormat)> {
    let extension = path.extension()?.to_string_lossy().to_lowercase();
    let mut written = FORMATS.iter().filter_map(|format| Some((*format, format.write()?)));
    written.find(|(_, write)| write.extensions().contains(&extension.as_str()))
}
