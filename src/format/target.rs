//! Writing a container of any format that can be written: datasets come one after the other, each described
//! and with its bytes to be read once. What a format cannot hold is named, not lost in silence.

pub mod file;

use std::io::Read;
use std::path::Path;

use super::{Compression, FORMATS};
use crate::array::Array;
use crate::tree::Table;
use crate::yaml::{Node, Text};
use crate::{Error, Result};

/// How a container is written.
#[derive(Clone, Debug)]
pub struct WriteOptions {
    /// Threads that compress. What is written does not depend on it.
    pub jobs: usize,
}

/// What is said of a dataset that is to be written.
#[derive(Clone, Copy)]
pub struct NewDataset<'a> {
    pub name: &'a Text,
    /// A mapping, or null.
    pub metadata: &'a Node,
    pub what: What<'a>,
    pub compression: Compression,
    /// Its description in a container of the same format that it comes from: what there is no other place for in
    /// here is taken over from it.
    pub origin: Option<&'a Node>,
}

/// What its bytes are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum What<'a> {
    Bytes,
    /// UTF-8.
    Text,
    /// A value as YAML or JSON.
    Object,
    Array(&'a Array),
    Table(&'a Table),
}

/// A container that is being written. Nothing is at its path before it is finished.
pub trait NewContainer {
    /// Adds a dataset with all bytes of `data`, decoded. Says what the format cannot hold of it, as ends of the
    /// sentence "PLACE: ...": `its metadata is left out`.
    fn add(&mut self, dataset: &NewDataset<'_>, data: &mut dyn Read) -> Result<Vec<String>>;

    fn finish(self: Box<Self>) -> Result<()>;
}

/// A new container at `path`, of the format that its extension names.
pub fn create(path: &Path, options: &WriteOptions) -> Result<Box<dyn NewContainer>> {
    let extension = path.extension().map(|extension| extension.to_string_lossy().to_lowercase());
    let format = FORMATS.iter().find(|format| {
        extension.as_ref().is_some_and(|extension| format.extensions().contains(&extension.as_str()))
    });
    match format {
        Some(format) => format.create(path, options),
        None => {
            let known = FORMATS.iter().flat_map(|format| format.extensions());
            let known = known.map(|extension| format!(".{extension}")).collect::<Vec<_>>().join(", ");
            let shown = path.display();
            Err(Error::Usage(format!("{shown}: its extension tells no format that can be written: {known}")))
        }
    }
}
