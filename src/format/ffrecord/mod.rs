//! FFRecord (`.ffr`): numbered records of bytes. All numbers are little-endian, nothing is aligned:
//! ```text
//! offset    bytes
//! 0         4      CRC-32 of bytes 4 to 12 + 12 N; 0: there is none (files of 2021)
//! 4         8      N, the number of records, i64
//! 12        4 N    CRC-32 of each record
//! 12 + 4 N  8 N    where each record begins in the file, i64
//! 12 + 12 N        the records, one after the other; each ends where the next begins, the last with the file
//! ```
//! There is no magic. A packed folder is a file whose last record begins with one and holds, as a Python pickle,
//! names and directories for the others.
//!
//! | from the bytes up | |
//! |---|---|
//! | `head`, `table` | the header checked in one pass, and where and how long each record is |
//! | `shard`, `records` | one file, and several as one; records as contents |
//! | `verified` | which records' CRCs have been verified |
//! | `pickle`, `folder` | the index of a packed folder, read strictly, and the directory tree it describes |
//! | `tables`, `rows`, `derived` | the tables of all records, as bytes and as text, and their paths below `.views` |
//! | `datasets`, `tree` | the datasets by name, and what a mount shows |
//! | `reader`, `batch` | the library: records by number, many at once |
//! | `write` | writing |

mod batch;
mod chosen;
mod datasets;
mod derived;
mod folder;
mod head;
mod pickle;
mod reader;
mod records;
mod rows;
mod shard;
mod table;
mod tables;
#[cfg(test)]
mod tests;
mod tree;
mod verified;
mod write;

use std::path::Path;
use std::sync::Arc;

use super::writer::{NewContainer, WriteOptions};
use super::{Candidate, Container, Context, Format, Marks, MultiFile, WriteFormat};
use crate::Result;
use crate::content::Content;
use crate::source::Source;
use datasets::FFRecordDatasets;
use folder::Folder;
use records::Records;
use tree::RecordTree;

pub use batch::Batch;
pub use reader::Reader;
pub use write::{Framing, Packing, Passed, Writer, pack_files, pack_folder};
pub(crate) use write::{above_records, unpacked};

/// The format, for [`super::FORMATS`].
pub(super) struct FFRecord;

const EXTENSION: &str = "ffr";

impl Format for FFRecord {
    fn name(&self) -> &'static str {
        "FFRecord"
    }

    /// The extension, and a header that fits. Of a file that is asked for the extension is enough: what is wrong with
    /// its header is then reported.
    fn detect(&self, candidate: &Candidate<'_>) -> bool {
        let is_called = candidate.has_extension(EXTENSION) && candidate.len > 0;
        is_called && (candidate.asked_for || head::is_plausible(candidate))
    }

    fn open(&self, context: Context) -> Result<Container> {
        let (records, folder) = read(context)?;
        Ok(container(records, folder))
    }

    fn marks(&self) -> Marks {
        let keys = &["records", "bytes", "files", "parts"];
        Marks { summary: Some((tables::META, keys)), views: &["table"], ..Marks::default() }
    }

    fn multi_file(&self) -> Option<&'static dyn MultiFile> {
        Some(&FFRecord)
    }

    fn write(&self) -> Option<&'static dyn WriteFormat> {
        Some(&FFRecord)
    }
}

impl MultiFile for FFRecord {
    fn is_part(&self, path: &Path) -> bool {
        path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case(EXTENSION))
    }

    /// Packed folders each have their own tree.
    fn are_one(&self, files: &[Arc<dyn Source>]) -> bool {
        !files.iter().any(|file| folder::is_packed(&**file).unwrap_or(false))
    }
}

impl WriteFormat for FFRecord {
    fn extensions(&self) -> &'static [&'static str] {
        &[EXTENSION]
    }

    fn create(&self, path: &Path, options: &WriteOptions) -> Result<Box<dyn NewContainer>> {
        Ok(Box::new(write::Container::create(path, options.force)?))
    }
}

fn container(records: Arc<Records>, folder: Option<Arc<Folder>>) -> Container {
    let meta = || (tables::META, Content::Inline(tables::meta(&records).into_bytes().into()));
    let files = folder.is_none().then(meta).into_iter().collect();
    let archive = Arc::new(FFRecordDatasets::new(records.clone(), folder.clone()));
    Container {
        derived: derived::of(&records),
        files,
        tree: Some(Arc::new(RecordTree::new(records, folder))),
        ..Container::new(Format::name(&FFRecord), archive.clone(), archive)
    }
}

fn read(context: Context) -> Result<(Arc<Records>, Option<Arc<Folder>>)> {
    let Context { source, others, options, .. } = context;
    let records = Records::open([vec![source], others].concat(), !options.no_verify)?;
    let folder = folder::of(&records)?;
    Ok((Arc::new(records), folder.map(Arc::new)))
}
