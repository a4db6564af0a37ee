//! Onda (`.onda.signal.arrow`, ...): Arrow tables of which each row describes a file of samples, or a span of time. The
//! samples are interleaved values of all channels, little-endian, in files beside the table.
//!
//! | | |
//! |---|---|
//! | `read` | tables and the samples that their rows name |
//! | `views` | what a mount shows beside the samples |
//! | `write` | new tables, and tables rewritten in today's form |
//! | `datasets` | datasets by number |

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

/// Of Onda before 0.12.
const OLD: &str = "recordings.msgpack.zst";
const IS_OLD: &str = "a data set of Onda before 0.12 (format 0.4 or older: recordings.msgpack.zst, \
    MessagePack), which is not supported: Onda.jl 0.13 makes tables of it with \
    Onda.upgrade_onda_dataset_to_v0_5!(directory)";
const EXTENSION: &str = "arrow";

impl Format for Onda {
    fn name(&self) -> &'static str {
        "Onda"
    }

    /// Of an Arrow file the schema is near the beginning: it has the identifiers of Onda's schemas, or their columns.
    fn detect(&self, candidate: &Candidate<'_>) -> bool {
        if candidate.asked_for && candidate.path.file_name().is_some_and(|name| name == OLD) {
            return true;
        }
        let is_stream =
            candidate.head.starts_with(&read::arrow::CONTINUATION) && candidate.has_extension(EXTENSION);
        if !candidate.head.starts_with(read::arrow::MAGIC) && !is_stream {
            return false;
        }
        candidate.asked_for || read::schema::tells_of_onda(candidate.head)
    }

    fn open(&self, context: Context) -> Result<Container> {
        let set = read(context)?;
        let tables = views::tables::of(&set);
        // The directories of a kind and of tables are those of each file at most.
        let others = 1 + 3 * tables.len() as u64;
        let (derived, of_views) = (Derived::of_files(tables), set.clone());
        let views = move |arena: &Arc<Arena>| -> Arc<dyn Tree> {
            Arc::new(OndaTree::new(arena.clone(), others, of_views))
        };
        let (archive, views) = (Arc::new(OndaDatasets { set }), Some(Box::new(views) as _));
        Ok(Container { derived, views, ..Container::new(self.name(), archive.clone(), archive) })
    }

    fn marks(&self) -> Marks {
        let views = &["channels", "decoded", "spans"];
        Marks { facts: Some("onda"), views, shares_extension: true, ..Marks::default() }
    }

    fn multi_file(&self) -> Option<&'static dyn MultiFile> {
        Some(&Onda)
    }

    fn write(&self) -> Option<&'static dyn WriteFormat> {
        Some(&Onda)
    }
}

impl MultiFile for Onda {
    /// Tables, told by their first bytes.
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

    /// Files of samples, and directories of them.
    fn stands_beside(&self, path: &Path, named: bool) -> bool {
        let name = path.as_os_str().as_encoded_bytes();
        named
            || path.is_dir()
            || [&b".lpcm"[..], b".lpcm.zst"].iter().any(|extension| name.ends_with(extension))
    }

    fn refuses(&self, directory: &Path) -> Option<String> {
        directory.join(OLD).is_file().then(|| IS_OLD.into())
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
        return Err(Error::Unsupported { place: context.source.place(), problem: IS_OLD.into() });
    }
    Ok(Arc::new(Set::open(context)?))
}
