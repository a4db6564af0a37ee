//! Optional abilities of formats beyond reading, and the marks by which files copied out of containers are recognized.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::writer::{NewContainer, WriteOptions};
use super::{Container, Context};
use crate::Result;
use crate::array::Order;
use crate::source::Source;

/// Format-specific marks of a format's containers and of the files in them.
#[derive(Clone, Copy, Default)]
pub struct Marks {
    /// The key under which sidecars keep the format-specific fields.
    pub facts: Option<&'static str>,
    /// The name of the file that describes the container as a whole, and the keys that identify it.
    pub summary: Option<(&'static str, &'static [&'static str])>,
    /// The directories of derived files below `.views`, not counting views of datasets.
    pub views: &'static [&'static str],
    /// Other programs use its extension too, so a file that is not one of its containers need not be damaged.
    pub shares_extension: bool,
    /// Extensions that are read but no longer written.
    pub old_extensions: &'static [&'static str],
    /// Extensions of files whose directory is at their end.
    pub directory_last: &'static [&'static str],
    /// The names of its datasets begin with the stem of the file, as the file has no names for them.
    pub named_after_file: bool,
}

/// Formats whose containers may consist of several files, in order.
pub trait MultiFile: Sync {
    /// Is this file of a directory part of a container?
    fn is_part(&self, path: &Path) -> bool;

    /// The one part that counts although its name begins with a dot.
    fn hidden_part(&self) -> Option<&'static str> {
        None
    }

    /// May this entry be in the directory beside the parts, without being shown on its own? `named`: the user named the
    /// format.
    fn stands_beside(&self, path: &Path, named: bool) -> bool {
        let _ = (path, named);
        false
    }

    /// Why this directory cannot be read, if it is of this format in an unsupported variant.
    fn refuses(&self, directory: &Path) -> Option<String> {
        let _ = directory;
        None
    }

    /// Can these parts of a directory be one container, judging by their names?
    fn can_be_one(&self, files: &[PathBuf]) -> bool {
        let _ = files;
        true
    }

    /// Do these files of this format, more than one, make one container?
    fn are_one(&self, files: &[Arc<dyn Source>]) -> bool {
        let _ = files;
        true
    }
}

/// Formats whose damaged containers can be read in part.
pub trait Salvage: Sync {
    /// What can be recovered from a container that cannot be opened; None if nothing can.
    fn salvage(&self, context: Context) -> Option<Container>;
}

/// Formats that can be written.
pub trait WriteFormat: Sync {
    /// The extensions of this format's files, in lower case.
    fn extensions(&self) -> &'static [&'static str];

    /// The element order that its arrays must have, if only one is possible.
    fn order(&self) -> Option<Order> {
        None
    }

    /// Does a container always hold exactly one array? When converting to it, the source's only array is then meant.
    fn holds_only_one_array(&self) -> bool {
        false
    }

    /// Begins a new container at `path`.
    fn create(&self, path: &Path, options: &WriteOptions) -> Result<Box<dyn NewContainer>>;
}
