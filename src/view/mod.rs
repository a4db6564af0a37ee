//! Other faces of a dataset: the same data in the form that some tool already understands, made when it is asked
//! for. Views know no format, and formats know no view: between them is what a [`Description`] says.
//!
//! One more is a file here, its `mod` line and its line in [`VIEWS`]. It answers three questions: what its kind is
//! called, which datasets have this face, and what the face of one is ([`View::represent`]), which is
//! - a file ([`Representation::File`]): any [`Content`]. Pieces that are there already are joined (`content::joined`), the rest
//!   is `content::Computed` for each range that is asked for. Who knows the length says so at once; one whose length
//!   is found at the first stat has no `known_len` before;
//! - or a directory ([`Representation::Directory`]), as for a store whose chunks are files. [`View::store`] then tells what is
//!   called how in it, and which files beside the faces complete it.
//!
//! A face is made for every look-up, so making one reads no data. Parts of arrays (`NAME[2:10].npy`) are datasets
//! themselves, and no view need know of them. Where the faces are found is the [`overlay`]'s matter.

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

/// Those that datasets have.
pub static VIEWS: &[&dyn View] =
    &[&npy::Npy, &zarr::Zarr, &csv::Csv, &arrow::Arrow, &jsonl::Jsonl, &png::Png, &info::Info];

/// Those of which there are only the files that containers derive, but which are shown as the others are.
static DERIVED: &[&dyn View] = &[&header::Header];

pub trait View: Sync {
    /// What users call it; also the name of its directory in `.views`.
    fn kind(&self) -> &'static str;

    /// What the name of a face has after the dataset's: `.npy`; empty if nothing.
    fn extension(&self) -> &'static str;

    /// Has the dataset this face? `about` may lack metadata, codec and checksum.
    fn shows(&self, about: &Description) -> bool;

    /// Why such a dataset has not this face, where others of its kind have it.
    fn refuses(&self, about: &Description) -> Option<String> {
        let _ = about;
        None
    }

    /// The face of a dataset that has it.
    fn represent(&self, dataset: &Dataset) -> Result<Representation>;

    /// As [`View::represent`], to be printed from front to back: its length need not be known.
    fn printed(&self, dataset: &Dataset) -> Result<Representation> {
        self.represent(dataset)
    }

    /// Its faces are directories, and this tells of them.
    fn store(&self) -> Option<&dyn Store> {
        None
    }
}

impl<'v> dyn View + 'v {
    /// Has no dataset a face in it? Then it is there only where a container derives files of it.
    pub fn is_derived(&self) -> bool {
        DERIVED.iter().any(|view| view.kind() == self.kind())
    }

    /// Its faces are directories.
    pub fn makes_directories(&self) -> bool {
        self.store().is_some()
    }

    /// What a file name of the tree is called.
    pub fn shown<'n>(&self, file_name: &'n [u8]) -> Cow<'n, [u8]> {
        self.store().map_or(file_name.into(), |store| store.shown(file_name))
    }

    /// The file name of the tree that is called so: the other way round.
    pub fn meant<'n>(&self, name: &'n [u8]) -> Cow<'n, [u8]> {
        self.store().map_or(name.into(), |store| store.meant(name))
    }

    /// The names of the files that a directory has beside faces and directories.
    pub fn beside(&self, directory: &Directory) -> &'static [&'static str] {
        self.store().map_or(&[], |store| store.beside(directory))
    }

    /// As [`Store::announces`]; false where there are no stores.
    pub fn announces(&self, name: &[u8]) -> bool {
        self.store().is_some_and(|store| store.announces(name))
    }
}

/// A view whose faces are directories of files, together with files beside them.
pub trait Store {
    /// What a file name of the tree is called in it.
    fn shown<'n>(&self, file_name: &'n [u8]) -> Cow<'n, [u8]> {
        file_name.into()
    }

    /// The file name of the tree that is called so: the other way round.
    fn meant<'n>(&self, name: &'n [u8]) -> Cow<'n, [u8]> {
        name.into()
    }

    /// The names of the files that a directory has beside faces and directories: `.zgroup`.
    fn beside(&self, directory: &Directory) -> &'static [&'static str];

    /// One of these files.
    fn file_beside(&self, directory: &Directory, name: &str) -> Result<Content>;

    /// Does a file of this name, in a face or beside faces, say that others are there? To programs what it says and is
    /// not there is data of a sort.
    fn announces(&self, name: &[u8]) -> bool {
        let _ = name;
        false
    }

    /// Is it the name of one of its own files, which hold no data? Programs do without those that are not there.
    fn is_own(&self, name: &[u8]) -> bool {
        let _ = name;
        false
    }

    /// Is it what a piece of the data is called in a face? Such a face has all of its pieces.
    fn is_piece(&self, name: &[u8]) -> bool {
        let _ = name;
        false
    }
}

/// What a dataset is in a view.
#[derive(Clone)]
pub enum Representation {
    File(Content),
    Directory(Arc<dyn Folder>),
}

/// A face that is a directory of files.
pub trait Folder: Send + Sync {
    fn find(&self, name: &[u8]) -> Result<Option<Content>>;

    /// Calls `each` with the names of all files after `cursor` (0: from the start), and a cursor to go on after
    /// them, until it returns false.
    fn list(&self, cursor: u64, each: &mut dyn FnMut(&[u8], u64) -> bool) -> Result<()>;
}

/// What all views are called.
pub fn kinds() -> Vec<&'static str> {
    all().map(|view| view.kind()).collect()
}

fn all() -> impl Iterator<Item = &'static dyn View> {
    VIEWS.iter().chain(DERIVED).copied()
}

/// A view by its kind.
pub fn named(kind: &str) -> Result<&'static dyn View> {
    let found = all().find(|view| view.kind() == kind);
    let unknown =
        || Error::Usage(format!("{kind:?} is not a known view: choose one of {}", kinds().join(", ")));
    found.ok_or_else(unknown)
}

/// The error that a container derives nothing of a view that only containers have.
pub fn missing(view: &dyn View, file: &Path, format: &str) -> Error {
    Error::Usage(format!("{}: {format} has no {} to show", file.display(), view.kind()))
}
