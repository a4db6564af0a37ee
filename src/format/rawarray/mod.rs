//! RawArray: a file with one array. All header words are u64, little-endian, or big-endian if the magic is reversed:
//! ```text
//! offset             bytes
//! 0                  8      magic "rawarray"
//! 8                  8      flags: 1 big-endian data, 2 compressed, 4 bits
//! 16                 8      eltype: 0 user struct, 1 int, 2 uint, 3 float, 4 complex, 5 bool or bfloat16
//! 24                 8      elbyte, bytes per element
//! 32                 8      size, bytes of the data as stored (decoded size for LEB128)
//! 40                 8      ndims
//! 48                 8 x n  dims, fastest-varying first
//! 48 + 8n            size   data
//! 48 + 8n + size            trailer: arbitrary bytes to the end of the file
//! ```
//! `header` reads the words; `element` and `payload` interpret them, since writers of this format disagree about some;
//! `datasets` serves the array and its trailer; `describe` reports the header; `write` creates files. RawArray files
//! nested inside elements are treated as plain bytes.

mod datasets;
mod describe;
mod element;
mod header;
mod payload;
#[cfg(test)]
mod tests;
mod write;

use std::path::Path;
use std::sync::Arc;

use super::writer::{NewContainer, WriteOptions};
use super::{Candidate, Container, Context, Format, Marks, WriteFormat};
use crate::Result;
use crate::array::Order;
use datasets::RawArrayDatasets;
use write::Writer;

pub struct RawArray;

const MAGIC: &[u8; 8] = b"rawarray";
/// The key of the format's own facts in sidecars.
const FACTS: &str = "rawarray";
const BACKWARDS: &[u8; 8] = b"yarrawar";

impl Format for RawArray {
    fn name(&self) -> &'static str {
        "RawArray"
    }

    fn detect(&self, candidate: &Candidate<'_>) -> bool {
        candidate.head.starts_with(MAGIC) || candidate.head.starts_with(BACKWARDS)
    }

    fn open(&self, context: Context) -> Result<Container> {
        let archive = RawArrayDatasets::open(context)?;
        archive.warn();
        Ok(Container::new(self.name(), Arc::new(archive.names()), Arc::new(archive)))
    }

    fn marks(&self) -> Marks {
        Marks { facts: Some(FACTS), named_after_file: true, ..Marks::default() }
    }

    fn write(&self) -> Option<&'static dyn WriteFormat> {
        Some(&RawArray)
    }
}

impl WriteFormat for RawArray {
    fn extensions(&self) -> &'static [&'static str] {
        &["ra"]
    }

    fn order(&self) -> Option<Order> {
        Some(Order::C)
    }

    fn create(&self, path: &Path, options: &WriteOptions) -> Result<Box<dyn NewContainer>> {
        Ok(Box::new(Writer::create(path, options.force)?))
    }
}
