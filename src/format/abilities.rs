//! What some formats can do beside being read, and how what was copied out of their containers is known.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::writer::{NewContainer, WriteOptions};
use super::{Container, Context};
use crate::Result;
use crate::array::Order;
use crate::source::Source;

/// What the files of its containers have that those of others have not.
#[derive(Clone, Copy, Default)]
pub struct Marks {
    /// The key under which the sidecars of its datasets say what only it knows.
    pub facts: Option<&'static str>,
    /// The name of a file that tells of a container as a whole and of none of its datasets, and keys that are in it.
    pub summary: Option<(&'static str, &'static [&'static str])>,
    /// The directories of derived files that its containers have below `.views`; views of datasets are not among them.
    pub views: &'static [&'static str],
    /// Other programs use its extension too, so a file that is not one of its containers need not be damaged.
    pub shares_extension: bool,
    /// Further extensions of its containers, beside those that are written.
    pub old_extensions: &'static [&'static str],
    /// The names of its datasets begin with the stem of the file, as the file has no names for them.
    pub named_after_file: bool,
}

/// Several files can make one container, in their order.
pub trait MultiFile: Sync {
    /// Is this file of a directory one of those that make a container?
    fn is_part(&self, path: &Path) -> bool;

    /// The one part that has a dot in front of its name, and is no less shown for that.
    fn hidden_part(&self) -> Option<&'static str> {
        None
    }

    /// May this be in the directory too, and is not shown by itself? `named`: the user says what the directory is.
    fn stands_beside(&self, path: &Path, named: bool) -> bool {
        let _ = (path, named);
        false
    }

    /// What this directory is, if it is of this format in a way that is not read.
    fn refuses(&self, directory: &Path) -> Option<String> {
        let _ = directory;
        None
    }

    /// Can these parts of a directory be one container, as far as their names tell?
    fn can_be_one(&self, files: &[PathBuf]) -> bool {
        let _ = files;
        true
    }

    /// Do these files of this format make one container? Asked of more than one.
    fn are_one(&self, files: &[Arc<dyn Source>]) -> bool {
        let _ = files;
        true
    }
}

/// Damaged containers can be read in part.
pub trait Salvage: Sync {
    /// What can be read of a container that cannot be opened, if there is anything.
    fn salvage(&self, context: Context) -> Option<Container>;
}

/// Containers can be written.
pub trait WriteFormat: Sync {
    /// The extensions of files of this format, in small letters.
    fn extensions(&self) -> &'static [&'static str];

    /// The order of elements that its arrays have to have.
    fn order(&self) -> Option<Order> {
        None
    }

    /// Is a container always one array, and nothing else? Of others the only array is then meant.
    fn holds_only_one_array(&self) -> bool {
        false
    }

    /// A new container at `path`.
    fn create(&self, path: &Path, options: &WriteOptions) -> Result<Box<dyn NewContainer>>;
}
