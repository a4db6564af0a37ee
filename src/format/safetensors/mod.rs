//! safetensors (`.safetensors`): the weights of neural networks. Numbers are little-endian, arrays in C order:
//! ```text
//! offset  bytes
//! 0       8      N, the length of the header, u64
//! 8       N      JSON: {"__metadata__": {key: text, ...},
//!                       name: {"dtype": "F32", "shape": [2, 3], "data_offsets": [begin, end]}, ...}
//! 8 + N          the arrays, one after the other without gaps, to the end of the file
//! ```
//! Sharded models have an index beside them, `NAME.safetensors.index.json`, which maps tensors to files. Without one,
//! shards are recognized by their names, `NAME-00001-of-00003.safetensors`.
//!
//! | module, lowest layer first | |
//! |---|---|
//! | `dtype` | element types |
//! | `json`, `header` | parsing and validating the header |
//! | `shards`, `model` | which files are one model; its tensors |
//! | `datasets` | the datasets |
//! | `write` | writing |
//!
//! `__metadata__` is served as a JSON dataset of that name, which no tensor can have.

mod datasets;
mod dtype;
mod header;
mod json;
mod model;
mod shards;
#[cfg(test)]
mod tests;
mod write;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::writer::{NewContainer, WriteOptions};
use super::{Candidate, Container, Context, Format, Marks, MultiFile, WriteFormat};
use crate::Result;
use crate::array::Order;
use crate::source::Source;
use datasets::SafetensorsDatasets;
use model::Model;

/// The format, for [`super::FORMATS`].
pub(super) struct Safetensors;

const EXTENSION: &str = "safetensors";
/// Sidecar key for the header's entry.
const FACTS: &str = "safetensors";

impl Format for Safetensors {
    fn name(&self) -> &'static str {
        "safetensors"
    }

    /// In a directory, an index stays a text file, because its shards are containers already.
    fn detect(&self, candidate: &Candidate<'_>) -> bool {
        match shards::is_index(candidate.path) {
            true => candidate.asked_for,
            false if candidate.asked_for && candidate.has_extension(EXTENSION) => candidate.len > 0,
            false => header::is_plausible(candidate.head, candidate.len),
        }
    }

    fn open(&self, context: Context) -> Result<Container> {
        let archive = SafetensorsDatasets::new(Model::open(&context)?);
        Ok(Container::new(self.name(), archive.names(), Arc::new(archive)))
    }

    fn marks(&self) -> Marks {
        Marks { facts: Some(FACTS), ..Marks::default() }
    }

    fn multi_file(&self) -> Option<&'static dyn MultiFile> {
        Some(&Safetensors)
    }

    fn write(&self) -> Option<&'static dyn WriteFormat> {
        Some(&Safetensors)
    }
}

impl MultiFile for Safetensors {
    /// The index, or each shard of a complete model without one.
    fn is_part(&self, path: &Path) -> bool {
        shards::is_index(path)
            || shards::Shard::of(path).is_some_and(|shard| !shard.has_index() && shard.missing().is_none())
    }

    fn stands_beside(&self, path: &Path, named: bool) -> bool {
        named || shards::Shard::of(path).is_some_and(|shard| shard.has_index())
    }

    fn refuses(&self, directory: &Path) -> Option<String> {
        shards::incomplete(directory)
    }

    fn are_one(&self, files: &[Arc<dyn Source>]) -> bool {
        shards::are_one(files.iter().map(|file| file.path()))
    }

    fn can_be_one(&self, files: &[PathBuf]) -> bool {
        shards::are_one(files.iter().map(PathBuf::as_path))
    }
}

impl WriteFormat for Safetensors {
    fn extensions(&self) -> &'static [&'static str] {
        &[EXTENSION]
    }

    fn order(&self) -> Option<Order> {
        Some(Order::C)
    }

    fn create(&self, path: &Path, options: &WriteOptions) -> Result<Box<dyn NewContainer>> {
        Ok(Box::new(write::Writer::create(path, options.force)?))
    }
}
