//! Awkward Array 0.x (`.awkd`): a ZIP file, or a directory, of members. For an array called N:
//! ```text
//! N.json        {"awkward0": version, "schema": expression, "prefix": "N-"}
//! N-<id>.raw    bytes that the expression reads
//! ```
//! The expression says which functions of Python's library of that name make the array again; they are known here by
//! an exact table, and none is called. The HDF5 variant is not read, nor is what only a user's own list of functions
//! would allow.
//!
//! | from the bytes up | |
//! |---|---|
//! | `store` | the members, and what they decompress to |
//! | `json`, `dtype`, `pickle` | what schemas are written in; element types; the one pickle that is read |
//! | `graph`, `schema` | what a schema describes, and how it is told from the expressions |
//! | `array` | an array with its bytes: whole numbers, and where lists begin and end |
//! | `faces`, `values`, `lines` | what follows from that: offsets and the like; items as JSON; all of them |
//! | `typed`, `meta`, `check` | the type as the reference shows it; what is said; what does not fit |
//! | `layout`, `archive`, `views` | the files of a mount, the datasets, and what is below `.views` |

mod archive;
mod array;
mod check;
mod dtype;
mod faces;
mod graph;
mod json;
mod layout;
mod lines;
mod meta;
mod pickle;
mod schema;
mod store;
mod typed;
mod values;
mod views;

use std::path::Path;
use std::sync::Arc;

use super::target::{NewContainer, WriteOptions};
use super::{Candidate, Context, Format, Listing};
use crate::codec::zip::{END, LOCAL, LOCAL_LEN};
use crate::tree::{Builder, NameList, Tree, WithViews};
use crate::{Error, Result};
use archive::Archive;
use array::Array;
use store::Store;
use views::Views;

pub struct Awkward;

/// What the names of schema members end in.
const SCHEMA: &str = ".json";
/// A container has no more arrays.
const MOST_ARRAYS: usize = 1 << 18;

impl Format for Awkward {
    fn name(&self) -> &'static str {
        "Awkward"
    }

    /// A ZIP file that is called .awkd (or, of the first versions, .akd), or whose first member begins like a schema.
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
        head.starts_with(&LOCAL) && !head.starts_with(&END) && (is_blob() || is_schema())
    }

    fn extensions(&self) -> &'static [&'static str] {
        &[]
    }

    fn open(&self, context: Context) -> Result<Arc<dyn Tree>> {
        let Read { store, arrays, archive } = read(&context)?;
        let (names, views) = Views::new(&store, &arrays);
        let views = Builder::build(&names, views)?;
        let main = Builder::build(&named(&archive), archive)?;
        Ok(Arc::new(WithViews::new(main, views)))
    }

    fn list(&self, context: Context) -> Result<Listing> {
        let Read { archive, .. } = read(&context)?;
        Ok(Listing { format: self.name(), names: Box::new(archive.names()), datasets: Box::new(archive) })
    }

    fn create(&self, path: &Path, _: &WriteOptions) -> Result<Box<dyn NewContainer>> {
        Err(Error::Usage(format!("{}: Awkward containers are not written", path.display())))
    }
}

fn named(archive: &Archive) -> NameList {
    use crate::tree::Names;
    let mut names = NameList::default();
    let index = archive.names();
    (0..Names::len(&index))
        .filter_map(|number| Names::get(&index, number))
        .for_each(|name| names.push(&name));
    names
}

struct Read {
    store: Arc<Store>,
    arrays: Vec<Arc<Array>>,
    archive: Archive,
}

/// Reads the directory and all schemas.
fn read(context: &Context) -> Result<Read> {
    let store = Arc::new(Store::zip(context)?);
    let mut schemas = Vec::new();
    for (number, name) in store.names().enumerate() {
        // Of two of one name the last is read.
        if let Some(array) = name.strip_suffix(SCHEMA).filter(|_| store.find(name) == Some(number)) {
            schemas.push((array.to_owned(), number));
        }
    }
    let damaged = |problem: String| Err(Error::damaged(store.source().place(), problem));
    if schemas.is_empty() {
        return damaged("it has no arrays: no member is called .json at its end".into());
    }
    if schemas.len() > MOST_ARRAYS {
        return damaged(format!("it has {} arrays, {MOST_ARRAYS} are the limit", schemas.len()));
    }
    let arrays = schemas.iter().map(|(name, number)| Array::read(&store, name, *number));
    let mut arrays = arrays.collect::<Result<Vec<_>>>()?;
    let layout = layout::layout(&mut arrays);
    let arrays: Vec<_> = arrays.into_iter().map(Arc::new).collect();
    let archive = Archive::new(store.clone(), arrays.clone(), layout);
    Ok(Read { store, arrays, archive })
}

#[cfg(test)]
mod tests;
