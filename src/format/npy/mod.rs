//! numpy's `.npy` files: a header, and the elements of one array, named after the file without its extension. In a
//! directory they remain files, which numpy opens directly.

mod datasets;
mod write;

use std::path::Path;
use std::sync::Arc;

use super::writer::{NewContainer, WriteOptions};
use super::{Candidate, Container, Context, Format, Marks, WriteFormat};
use crate::Result;
use crate::array::npy::MAGIC;
use datasets::NpyDatasets;
use write::Writer;

/// The format, for [`super::FORMATS`].
pub(super) struct Npy;

/// The sidecar key that holds the header's fields.
const FACTS: &str = "npy";

impl Format for Npy {
    fn name(&self) -> &'static str {
        "NPY"
    }

    fn detect(&self, candidate: &Candidate<'_>) -> bool {
        candidate.asked_for && candidate.head.starts_with(MAGIC)
    }

    /// Beside other files an array is a file like them.
    fn is_known_by(&self, _: &Path) -> bool {
        false
    }

    fn open(&self, context: Context) -> Result<Container> {
        let archive = NpyDatasets::open(context.source)?;
        Ok(Container::new(self.name(), Arc::new(archive.names()), Arc::new(archive)))
    }

    fn marks(&self) -> Marks {
        Marks { facts: Some(FACTS), named_after_file: true, ..Marks::default() }
    }

    fn write(&self) -> Option<&'static dyn WriteFormat> {
        Some(&Npy)
    }
}

impl WriteFormat for Npy {
    fn extensions(&self) -> &'static [&'static str] {
        &["npy"]
    }

    fn holds_only_one_array(&self) -> bool {
        true
    }

    fn create(&self, path: &Path, options: &WriteOptions) -> Result<Box<dyn NewContainer>> {
        Ok(Box::new(Writer::create(path, options.force)?))
    }
}

#[cfg(test)]
mod tests;
