//! Views: datasets in forms that other tools read, generated on demand. Views know no format and formats know no view:
//! a [`Description`] is all that passes between them.
//!
//! A new view is a file here, its `mod` line and its line in [`VIEWS`]. It gives its kind's name, says which datasets
//! it shows, and represents one of them ([`View::represent`]) as
//! - a file ([`Representation::File`]): any [`Content`]. Existing pieces are joined (`content::joined`), the rest is
//!   `content::Computed` for each requested range. A length that is only found by the first stat has no `known_len`
//!   before;
//! - or a directory ([`Representation::Directory`]), such as a store whose chunks are files. [`View::store`] then maps names,
//!   and lists the files that complete a directory of datasets.
//!
//! Every look-up creates a representation, so creating one must read no data. Parts of arrays (`NAME[2:10].npy`) are
//! datasets themselves, and need no code in views. [`overlay`] places the views in a tree.

mod arrow;
mod csv;
mod dataset;
mod directory;
mod frame;
mod header;
mod info;
mod jsonl;
#[cfg(test)]
mod kit;
pub mod limits;
mod npy;
mod overlay;
mod png;
mod rows;
mod slots;
pub mod zarr;

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

pub use dataset::{Dataset, Origin};
pub use directory::Directory;
pub use overlay::Overlay;

use crate::content::Content;
use crate::tree::Description;
use crate::{Error, Result};

/// The views of datasets.
pub static VIEWS: &[&dyn View] =
    &[&npy::Npy, &zarr::Zarr, &csv::Csv, &arrow::Arrow, &jsonl::Jsonl, &png::Png, &info::Info];

/// Views that only consist of files derived by containers, shown like the others.
static DERIVED: &[&dyn View] = &[&header::Header];

pub trait View: Sync {
    /// Its name for users; also the name of its directory in `.views`.
    fn kind(&self) -> &'static str;

    /// Appended to a dataset's name: `.npy`; may be empty.
    fn extension(&self) -> &'static str;

    /// Whether it shows this dataset. `about` may lack metadata, codec and checksum.
    fn shows(&self, about: &Description) -> bool;

    /// Why it does not show this dataset, if it shows others like it.
    fn refuses(&self, about: &Description) -> Option<String> {
        let _ = about;
        None
    }

    /// The form of a dataset that it shows.
    fn represent(&self, dataset: &Dataset) -> Result<Representation>;

    /// As [`View::represent`], for printing from front to back, where the length need not be known.
    fn printed(&self, dataset: &Dataset) -> Result<Representation> {
        self.represent(dataset)
    }

    /// For a view that shows datasets as directories: how these are laid out.
    fn store(&self) -> Option<&dyn Store> {
        None
    }
}

impl<'v> dyn View + 'v {
    /// It shows no dataset, and exists only where a container derives files for it.
    pub fn is_derived(&self) -> bool {
        DERIVED.iter().any(|view| view.kind() == self.kind())
    }

    /// It shows datasets as directories.
    pub fn makes_directories(&self) -> bool {
        self.store().is_some()
    }

    /// The name in this view of a file name of the tree.
    pub fn shown<'n>(&self, file_name: &'n [u8]) -> Cow<'n, [u8]> {
        self.store().map_or(file_name.into(), |store| store.shown(file_name))
    }

    /// The inverse of [`Self::shown`].
    pub fn meant<'n>(&self, name: &'n [u8]) -> Cow<'n, [u8]> {
        self.store().map_or(name.into(), |store| store.meant(name))
    }

    /// The names of the files that complete a directory of datasets.
    pub fn beside(&self, directory: &Directory) -> &'static [&'static str] {
        self.store().map_or(&[], |store| store.beside(directory))
    }

    /// As [`Store::announces`]; false where there are no stores.
    pub fn announces(&self, name: &[u8]) -> bool {
        self.store().is_some_and(|store| store.announces(name))
    }
}

/// A view that shows datasets as directories of files, with further files that complete the directories above.
pub trait Store {
    /// The name in the store of a file name of the tree.
    fn shown<'n>(&self, file_name: &'n [u8]) -> Cow<'n, [u8]> {
        file_name.into()
    }

    /// The inverse of [`Self::shown`].
    fn meant<'n>(&self, name: &'n [u8]) -> Cow<'n, [u8]> {
        name.into()
    }

    /// The names of the files that complete a directory of datasets: `.zgroup`.
    fn beside(&self, directory: &Directory) -> &'static [&'static str];

    /// One of these files.
    fn file_beside(&self, directory: &Directory, name: &str) -> Result<Content>;

    /// Whether a file of this name lists others. A program takes one that is listed and missing for data (zeros).
    fn announces(&self, name: &[u8]) -> bool {
        let _ = name;
        false
    }

    /// Whether this is the name of a file without data, which programs can do without.
    fn is_own(&self, name: &[u8]) -> bool {
        let _ = name;
        false
    }

    /// Whether a piece of a dataset's data can have this name. All of a dataset's pieces exist.
    fn is_piece(&self, name: &[u8]) -> bool {
        let _ = name;
        false
    }
}

/// A dataset in a view.
#[derive(Clone)]
pub enum Representation {
    File(Content),
    Directory(Arc<dyn Folder>),
}

/// A dataset shown as a directory of files.
pub trait Folder: Send + Sync {
    fn find(&self, name: &[u8]) -> Result<Option<Content>>;

    /// Calls `each` with the name of every file after `cursor` (0: from the start) and a cursor that continues after
    /// it, until it returns false.
    fn list(&self, cursor: u64, each: &mut dyn FnMut(&[u8], u64) -> bool) -> Result<()>;
}

/// The names of all views.
pub fn kinds() -> Vec<&'static str> {
    all().map(|view| view.kind()).collect()
}

fn all() -> impl Iterator<Item = &'static dyn View> {
    VIEWS.iter().chain(DERIVED).copied()
}

/// The view of this kind.
pub fn named(kind: &str) -> Result<&'static dyn View> {
    let found = all().find(|view| view.kind() == kind);
    let unknown =
        || Error::Usage(format!("{kind:?} is not a known view: choose one of {}", kinds().join(", ")));
    found.ok_or_else(unknown)
}

/// The error for a container that derives nothing for a view of derived files.
pub fn missing(view: &dyn View, file: &Path, format: &str) -> Error {
    Error::Usage(format!("{}: {format} has no {} to show", file.display(), view.kind()))
}
