//! A Zarr store (version 2 of that format), which xarray, dask, napari and others open: every directory is a group,
//! every array a directory of its description (`.zarray`), attributes (`.zattrs`) and chunks (`0.0`, `0.1`, ...).
//! Nothing is converted: a chunk is a range of the array's bytes (`layout`), or the array's compressed stream as the
//! container has it (`store`). The root of a container also lists everything in one file (`.zmetadata`).
//!
//! [`references`] says the same without the bytes: where in which file each chunk is.

mod attributes;
mod consolidated;
mod description;
mod layout;
mod names;
mod references;
mod store;

use std::borrow::Cow;
use std::sync::Arc;

use super::{Dataset, Directory, Representation, View};
use crate::content::Content;
use crate::tree::Description;
use crate::{Error, Result};

pub use references::{Others, Reference, References};
use store::Store;

/// The last part of a key for what has this file name.
pub use names::key;

pub const ARRAY: &str = ".zarray";
const ATTRIBUTES: &str = ".zattrs";
const GROUP: &str = ".zgroup";
/// All descriptions of a store in one.
pub const CONSOLIDATED: &str = ".zmetadata";

/// Maximum nesting of directories in consolidated metadata, where every entry repeats its whole path.
const MAX_DEPTH: usize = 128;
/// Bytes of such a path that are named.
const NAMED: usize = 80;

fn too_deep(path: &str) -> Error {
    let named: String = path.chars().take(NAMED).collect();
    Error::Other(format!(
        "{named}...: directories are nested deeper than {MAX_DEPTH} levels, which is the limit: what they \
         hold is skipped"
    ))
}

/// The key that says that there is a group at `path`; the empty path is the store itself.
pub fn group_key(path: &str) -> String {
    if path.is_empty() { GROUP.to_owned() } else { format!("{path}/{GROUP}") }
}

pub struct Zarr;

impl View for Zarr {
    fn kind(&self) -> &'static str {
        "zarr"
    }

    fn extension(&self) -> &'static str {
        ""
    }

    fn shows(&self, about: &Description) -> bool {
        about.array.as_ref().is_some_and(description::can_hold)
    }

    fn represent(&self, dataset: &Dataset) -> Result<Representation> {
        Ok(Representation::Directory(Arc::new(Store::with_random_access(dataset)?)))
    }

    fn store(&self) -> Option<&dyn super::Store> {
        Some(self)
    }
}

impl super::Store for Zarr {
    fn shown<'n>(&self, file_name: &'n [u8]) -> Cow<'n, [u8]> {
        names::escaped(file_name)
    }

    fn meant<'n>(&self, name: &'n [u8]) -> Cow<'n, [u8]> {
        names::unescaped(name)
    }

    fn beside(&self, directory: &Directory) -> &'static [&'static str] {
        if directory.is_container() { &[GROUP, CONSOLIDATED] } else { &[GROUP] }
    }

    fn announces(&self, name: &[u8]) -> bool {
        [ARRAY, CONSOLIDATED].iter().any(|own| own.as_bytes() == name)
    }

    fn is_own(&self, name: &[u8]) -> bool {
        names::RESERVED.contains(&name)
    }

    fn is_piece(&self, name: &[u8]) -> bool {
        layout::is_name(name)
    }

    fn file_beside(&self, directory: &Directory, name: &str) -> Result<Content> {
        match name {
            CONSOLIDATED => Ok(consolidated::of(directory.clone())),
            _ => Ok(Content::Inline(description::group().to_string().into_bytes().into())),
        }
    }
}
