//! Onda (`.onda.signal.arrow`, ...): Arrow tables in which each row describes a file of samples or a span of time.
//! Samples are stored in separate files: little-endian, with the channels interleaved.
//!
//! | | |
//! |---|---|
//! | `read` | reading tables and the sample files listed in them |
//! | `views` | sidecars and derived files of a mount |
//! | `write` | writing new tables; rewriting tables in the current schema |
//! | `datasets` | dataset access by number |

mod datasets;
mod read;
#[cfg(test)]
mod tests;
mod views;
mod write;

use std::path::Path;
use std::sync::Arc;

use super::writer::{NewContainer, WriteOptions};
use super::{Candidate, Container, Context, Format, HEAD, Marks, MultiFile, WriteFormat};
use crate::array::Order;
use crate::source::{FileSource, Source};
use crate::tree::{Arena, Derived, Tree};
use crate::{Error, Result};
use datasets::OndaDatasets;
use read::set::Set;
use views::tree::OndaTree;
use write::Writer;

/// The format, for [`super::FORMATS`].
pub(super) struct Onda;

/// Metadata file of Onda before 0.12.
const OLD: &str = "recordings.msgpack.zst";
const OLD_UNSUPPORTED: &str = "a data set of Onda before 0.12 (format 0.4 or older: recordings.msgpack.zst, \
    MessagePack), which is not supported: Onda.jl 0.13 makes tables of it with \
    Onda.upgrade_onda_dataset_to_v0_5!(directory)";
const EXTENSION: &str = "arrow";

impl Format for Onda {
    fn name(&self) -> &'static str {
        "Onda"
    }

    /// Arrow files have their schema near the beginning; Onda's has its schema identifiers or column names.
    fn detect(&self, candidate: &Candidate<'_>) -> bool {
        if candidate.asked_for && candidate.path.file_name().is_some_and(|name| name == OLD) {
            return true;
        }
        let is_stream =
            candidate.head.starts_with(&read::arrow::CONTINUATION) && candidate.has_extension(EXTENSION);
        if !candidate.head.starts_with(read::arrow::MAGIC) && !is_stream {
            return false;
        }
        candidate.asked_for || read::schema::mentions_onda(candidate.head)
    }

    /// Other tables have the same extension.
    fn is_known_by(&self, path: &Path) -> bool {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.ends_with(".arrow") && name.contains(".onda.")
    }

    fn open(&self, context: Context) -> Result<Container> {
        let set = read(context)?;
        let tables = views::tables::of(&set);
        // At most 3 nodes (file and its directories) per derived file.
        let other_nodes = 1 + 3 * tables.len() as u64;
        let (derived, of_views) = (Derived::of_files(tables), set.clone());
        let views = move |arena: &Arc<Arena>| -> Arc<dyn Tree> {
            Arc::new(OndaTree::new(arena.clone(), other_nodes, of_views))
        };
        let (archive, views) = (Arc::new(OndaDatasets { set }), Some(Box::new(views) as _));
        Ok(Container { derived, views, ..Container::new(self.name(), archive.clone(), archive) })
    }

    fn marks(&self) -> Marks {
        let views = &["channels", "decoded", "spans"];
        let directory_last = &[EXTENSION];
        Marks { facts: Some("onda"), views, shares_extension: true, directory_last, ..Marks::default() }
    }

    fn multi_file(&self) -> Option<&'static dyn MultiFile> {
        Some(&Onda)
    }

    fn write(&self) -> Option<&'static dyn WriteFormat> {
        Some(&Onda)
    }
}

impl MultiFile for Onda {
    /// Tables, recognized by their content.
    fn is_part(&self, path: &Path) -> bool {
        if !path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case(EXTENSION)) {
            return false;
        }
        let Ok(source) = FileSource::open(path) else { return false };
        let head = source.read_range(0..source.len().min(HEAD as u64));
        head.is_ok_and(|head| {
            self.detect(&Candidate { path, head: &head, len: source.len(), asked_for: false })
        })
    }

    /// Sample files and their directories.
    fn stands_beside(&self, path: &Path, named: bool) -> bool {
        let name = path.as_os_str().as_encoded_bytes();
        named
            || path.is_dir()
            || [&b".lpcm"[..], b".lpcm.zst"].iter().any(|extension| name.ends_with(extension))
    }

    fn refuses(&self, directory: &Path) -> Option<String> {
        directory.join(OLD).is_file().then(|| OLD_UNSUPPORTED.into())
    }
}

impl WriteFormat for Onda {
    fn extensions(&self) -> &'static [&'static str] {
        &[EXTENSION]
    }

    fn order(&self) -> Option<Order> {
        Some(Order::C)
    }

    fn create(&self, path: &Path, options: &WriteOptions) -> Result<Box<dyn NewContainer>> {
        Ok(Box::new(Writer::create(path, options.force)?))
    }
}

fn read(context: Context) -> Result<Arc<Set>> {
    let path = context.source.path();
    if path.file_name().is_some_and(|name| name == OLD) {
        return Err(Error::Unsupported { place: context.source.place(), problem: OLD_UNSUPPORTED.into() });
    }
    Ok(Arc::new(Set::open(context)?))
}
