//! RAB (RandomAccessBuffer), all numbers little-endian:
//! ```text
//! offset  bytes
//! 0       3      "rab"
//! 3       4      N, length of the header, u32
//! 7       N      header: a YAML 1.1 sequence as PyYAML dumps it (JSON in the oldest files), UTF-8
//! 7 + N          data; each dataset's byteOffset counts from here
//! ```
//! `layout` reads the fixed part; `header` reads the text through a `window`, most entries with `fast`, the
//! others with `entry`, into packed `records`; `sidecar` makes the sidecar file; `datasets` has the datasets of an
//! opened container. `write` makes such files, `edit` changes them.

mod datasets;
mod describe;
mod edit;
mod entry;
mod fast;
mod header;
mod layout;
mod records;
mod sidecar;
mod window;
mod write;

use std::path::Path;
use std::sync::Arc;

use super::writer::{NewContainer, WriteOptions};
use super::{Candidate, Container, Context, Format, Marks, Salvage, WriteFormat};
use crate::Result;
use crate::tree::Derived;
use datasets::RabDatasets;
pub use edit::Editor;
pub use entry::described;
use header::Header;
use layout::Layout;
pub use write::{Add, Column, ColumnValue, Compression, Item, Writer};

const NAME: &str = "RAB";

pub struct Rab;

const MAGIC: &[u8] = b"rab";

impl Format for Rab {
    fn name(&self) -> &'static str {
        NAME
    }

    fn detect(&self, candidate: &Candidate<'_>) -> bool {
        let Some(rest) = candidate.head.strip_prefix(MAGIC) else { return false };
        candidate.asked_for || candidate.has_extension("rab") || layout::is_plausible(rest, candidate.len)
    }

    fn open(&self, context: Context) -> Result<Container> {
        let layout = Layout::read(&*context.source)?;
        let Header { names, records } = header::read(&*context.source, layout)?;
        let archive = RabDatasets::new(context, layout, records);
        // Both at the top of `.views` and as a view of its own.
        let header = ["header.yaml", "header/header.yaml"].map(|path| (path, archive.header()));
        let derived = Derived::of_files(header.into());
        Ok(Container { derived, ..Container::new(self.name(), Arc::new(names), Arc::new(archive)) })
    }

    fn marks(&self) -> Marks {
        Marks { facts: Some("codecMeta"), views: &["header"], ..Marks::default() }
    }

    fn salvage(&self) -> Option<&'static dyn Salvage> {
        Some(&Rab)
    }

    fn write(&self) -> Option<&'static dyn WriteFormat> {
        Some(&Rab)
    }
}

impl Salvage for Rab {
    fn salvage(&self, context: Context) -> Option<Container> {
        let layout = Layout::read(&*context.source).ok()?;
        let Header { names, records } = header::salvage(&*context.source, layout).ok()?;
        let is_empty = names.len() == 0;
        let archive = RabDatasets::new(context, layout, records);
        (!is_empty).then(|| Container::new(Format::name(self), Arc::new(names), Arc::new(archive)))
    }
}

impl WriteFormat for Rab {
    fn extensions(&self) -> &'static [&'static str] {
        &["rab"]
    }

    fn create(&self, path: &Path, options: &WriteOptions) -> Result<Box<dyn NewContainer>> {
        Ok(Box::new(Writer::create_with(path, options.force)?.jobs(options.jobs)))
    }
}
