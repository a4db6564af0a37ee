//! Plain ZIP files: members are files, in the directories given by their names, so a zipped Zarr store (`.zarr.zip`,
//! OME's `.ozx`) is a store. Stored members are served in place, deflated ones through seek points. ZIP files are
//! read, not written.
//!
//! Archives of other formats are ZIP files too, and are detected first.

mod datasets;
#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::Arc;

use memchr::memmem;

use super::{Candidate, Container, Context, Format, Marks};
use crate::Result;
use crate::codec::zip::{END, LOCAL};
use datasets::ZipDatasets;

/// The format, for [`super::FORMATS`].
pub(super) struct Zip;

impl Format for Zip {
    fn name(&self) -> &'static str {
        "ZIP"
    }

    /// By extension only: many applications use ZIP files under other names. In a directory only stores are
    /// containers.
    fn detect(&self, candidate: &Candidate<'_>) -> bool {
        let head = candidate.head;
        let stem = candidate.path.file_stem().unwrap_or_default().as_encoded_bytes().to_ascii_lowercase();
        let (is_zip, is_ozx) = (candidate.has_extension("zip"), candidate.has_extension("ozx"));
        let is_store = is_ozx || is_zip && stem.ends_with(b".zarr");
        match candidate.asked_for {
            true => (is_zip || is_ozx) && (head.starts_with(&END) || memmem::find(head, &LOCAL).is_some()),
            false => is_store && (head.starts_with(&END) || head.starts_with(&LOCAL)),
        }
    }

    fn marks(&self) -> Marks {
        Marks { directory_last: &["zip", "ozx"], ..Marks::default() }
    }

    fn is_known_by(&self, path: &Path) -> bool {
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
        name.ends_with(".zarr.zip") || name.ends_with(".ozx")
    }

    fn open(&self, context: Context) -> Result<Container> {
        let archive = ZipDatasets::open(context)?;
        Ok(Container::new(self.name(), archive.names(), Arc::new(archive)))
    }
}
