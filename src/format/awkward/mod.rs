//! Awkward Array 0.x (`.awkd`): a ZIP file, or a directory, of members. An array named N consists of:
//! ```text
//! N.json        {"awkward0": version, "schema": expression, "prefix": "N-"}
//! N-<id>.raw    bytes that the expression reads
//! ```
//! The expression names the functions of the Python library that rebuild the array. They are recognised through a
//! fixed table, and never called. Not supported: the HDF5 variant, and functions that only a user's own whitelist
//! would allow.
//!
//! | | |
//! |---|---|
//! | `read` | members, schemas and arrays |
//! | `json` | the JSON of schemas, and items as JSON |
//! | `views` | the files of a mount |
//! | `write` | flat and jagged arrays, and containers rewritten as they are |
//! | `datasets` | datasets by name |

mod datasets;
mod json;
mod read;
mod views;
mod write;

use std::path::Path;
use std::sync::Arc;

use super::writer::{NewContainer, WriteOptions};
use super::{Candidate, Container, Context, Format, HEAD, Marks, MultiFile, WriteFormat};
use crate::array::Order;
use crate::codec::zip::{LOCAL, LOCAL_LEN};
use crate::content::Content;
use crate::source::{FileSource, Source};
use crate::{Error, Result};
use datasets::AwkwardDatasets;
use read::array::Array;
use read::budget::Budget;
use read::store::Store;

pub struct Awkward;

/// The extension of schema members.
const SCHEMA: &str = ".json";
/// Maximum number of arrays in a container.
const MAX_ARRAYS: usize = 1 << 18;

impl Format for Awkward {
    fn name(&self) -> &'static str {
        "Awkward"
    }

    /// A ZIP file named .awkd (or .akd, from the first versions), or whose first member is named
    /// like a blob or begins like a schema.
    fn detect(&self, candidate: &Candidate<'_>) -> bool {
        let head = candidate.head;
        if candidate.has_extension("awkd") || candidate.has_extension("akd") {
            return candidate.len > 0;
        }
        let u16_at = |at: usize| {
            usize::from(head.get(at).copied().unwrap_or(0))
                | usize::from(head.get(at + 1).copied().unwrap_or(0)) << 8
        };
        let name = head.get(LOCAL_LEN..LOCAL_LEN + u16_at(26)).unwrap_or_default();
        let is_blob = || {
            let stem = name.strip_suffix(b".raw").unwrap_or_default();
            let digits = stem.rsplit(|b| *b == b'-').next().unwrap_or_default();
            !digits.is_empty() && digits.iter().all(u8::is_ascii_digit)
        };
        let data = head.get(LOCAL_LEN + u16_at(26) + u16_at(28)..).unwrap_or_default();
        let is_schema = || name.ends_with(SCHEMA.as_bytes()) && data.starts_with(b"{\"awkward");
        let is_zip = head.starts_with(&LOCAL) && (is_blob() || is_schema());
        // In a directory, a schema is opened by itself only when asked for.
        is_zip || (candidate.asked_for && is_document(head))
    }

    fn open(&self, context: Context) -> Result<Container> {
        let Read { store, arrays, archive } = read(&context)?;
        let derived = views::derived::of(&store, &arrays);
        Ok(Container { derived, ..Container::new(self.name(), archive.names(), Arc::new(archive)) })
    }

    fn marks(&self) -> Marks {
        let (views, old_extensions) = (&["blobs"], &["akd"]);
        Marks { facts: Some("awkward"), views, old_extensions, directory_last: &["awkd"], ..Marks::default() }
    }

    fn multi_file(&self) -> Option<&'static dyn MultiFile> {
        Some(&Awkward)
    }

    fn write(&self) -> Option<&'static dyn WriteFormat> {
        Some(&Awkward)
    }
}

impl MultiFile for Awkward {
    fn is_part(&self, path: &Path) -> bool {
        let is_called = path.as_os_str().as_encoded_bytes().ends_with(SCHEMA.as_bytes());
        let head = || {
            let source = FileSource::open(path)?;
            source.read_range(0..source.len().min(HEAD as u64))
        };
        is_called && head().is_ok_and(|head| is_document(&head))
    }

    /// The schema of the array without a name: a hidden file.
    fn hidden_part(&self) -> Option<&'static str> {
        Some(SCHEMA)
    }

    fn stands_beside(&self, path: &Path, named: bool) -> bool {
        named || path.extension().is_some_and(|extension| extension == "raw")
    }

    fn are_one(&self, files: &[Arc<dyn Source>]) -> bool {
        let is_schema = |file: &Arc<dyn Source>| {
            file.read_range(0..file.len().min(HEAD as u64)).is_ok_and(|head| is_document(&head))
        };
        files.iter().all(is_schema)
    }
}

impl WriteFormat for Awkward {
    fn extensions(&self) -> &'static [&'static str] {
        &["awkd"]
    }

    /// The order of blobs.
    fn order(&self) -> Option<Order> {
        Some(Order::C)
    }

    fn create(&self, path: &Path, options: &WriteOptions) -> Result<Box<dyn NewContainer>> {
        Ok(Box::new(write::Writer::create(path, options)?))
    }
}

struct Read {
    store: Arc<Store>,
    arrays: Vec<Arc<Array>>,
    archive: AwkwardDatasets,
}

/// Does a file begin like a schema?
fn is_document(head: &[u8]) -> bool {
    let rest = head.trim_ascii_start().strip_prefix(b"{").map(<[u8]>::trim_ascii_start);
    rest.is_some_and(|rest| rest.starts_with(b"\"awkward0\"") || rest.starts_with(b"\"awkward\""))
}

/// Reads the directory and all schemas.
fn read(context: &Context) -> Result<Read> {
    let head = context.source.read_range(0..context.source.len().min(HEAD as u64))?;
    let store = match is_document(&head) {
        true => files(context)?,
        false => Store::zip(context)?,
    };
    let store = Arc::new(store);
    let mut schemas = Vec::new();
    for (number, name) in store.names().enumerate() {
        // Of members with equal names the last one wins.
        if let Some(array) = name.strip_suffix(SCHEMA).filter(|_| store.find(name) == Some(number)) {
            schemas.push((array.to_owned(), number));
        }
    }
    let damaged = |problem: String| Err(Error::damaged(store.source().place(), problem));
    if schemas.is_empty() {
        return damaged("it has no arrays: no member is called .json at its end".into());
    }
    if schemas.len() > MAX_ARRAYS {
        let problem = format!("it has {} arrays, and the limit is {MAX_ARRAYS}", schemas.len());
        return Err(Error::Unsupported { place: store.source().place(), problem });
    }
    let arrays = schemas.iter().map(|(name, number)| Array::read(&store, name, *number));
    let (arrays, layout) = views::layout::layout(arrays.collect::<Result<Vec<_>>>()?);
    let arrays: Vec<_> = arrays.into_iter().map(Arc::new).collect();
    let archive = AwkwardDatasets::new(store.clone(), arrays.clone(), layout);
    Ok(Read { store, arrays, archive })
}

/// Schemas that are files, and the files that they read.
fn files(context: &Context) -> Result<Store> {
    let sources = [std::slice::from_ref(&context.source), &context.others].concat();
    let (mut schemas, mut reads) = (Vec::new(), Vec::new());
    let budget = Budget::new(0);
    for source in sources {
        let name = source.path().file_name().unwrap_or_default().to_string_lossy().into_owned();
        let content = Content::Stored { source: source.clone(), range: 0..source.len() };
        if let Ok(document) = read::document::read(content, None, &budget)? {
            reads.extend(read::document::reads(&document));
        }
        // The file is a schema whatever its extension.
        let name = if name.ends_with(SCHEMA) { name } else { format!("{name}{SCHEMA}") };
        schemas.push((name, source));
    }
    Ok(Store::files(context, &schemas, &reads))
}
