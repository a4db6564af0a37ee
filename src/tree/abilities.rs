//! Abilities that only the datasets of some formats have: a small trait each.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{Datasets, Description, Items, Names, Sampling, Size};
use crate::Result;
use crate::content::Content;
use crate::error::Row;
use crate::source::Source;

/// None: nothing of the kind.
#[derive(Clone, Copy, Default)]
pub struct Abilities<'a> {
    pub sidecars: Option<&'a dyn Sidecars>,
    pub placement: Option<&'a dyn Placement>,
    pub provenance: Option<&'a dyn Provenance>,
    pub validate: Option<&'a dyn Validate>,
    pub sampled: Option<&'a dyn Sampled>,
    pub nested: Option<&'a dyn Nested>,
    pub rewrite: Option<&'a dyn Rewrite>,
}

/// Files beside those of datasets that describe them. `file_name` is the name that the dataset's file got in its
/// directory.
pub trait Sidecars {
    fn has_sidecar(&self, dataset: u32) -> bool {
        let _ = dataset;
        true
    }

    fn sidecar_size(&self, dataset: u32, file_name: &[u8]) -> Size;

    fn sidecar(&self, dataset: u32, file_name: &[u8]) -> Result<Content>;

    /// As `sidecar` if nothing has to be read or built for it, or None.
    fn ready_sidecar(&self, dataset: u32) -> Result<Option<Content>> {
        let _ = dataset;
        Ok(None)
    }
}

/// Files of datasets that are elsewhere than [`super::naming`] has them, or nowhere.
pub trait Placement {
    /// The file names that lead to it, where the format knows better.
    fn place(&self, dataset: u32) -> Option<Vec<Vec<u8>>> {
        let _ = dataset;
        None
    }

    /// Directories that no dataset is in, as the file names that lead to them.
    fn empty_directories(&self) -> Vec<Vec<Vec<u8>>> {
        Vec::new()
    }

    /// Symbolic links among the datasets.
    fn links(&self) -> &[Link] {
        &[]
    }

    /// Whether it has bytes. A mount shows no file for a dataset without.
    fn is_there(&self, dataset: u32) -> bool {
        let _ = dataset;
        true
    }
}

/// A symbolic link: the file names that lead to it, and what it says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    pub place: Vec<Vec<u8>>,
    /// What it is called by its name, where file names are escaped.
    pub name: Box<str>,
    pub target: Vec<u8>,
}

/// Datasets that come from other files than the one that the container was opened by, or from rows of a table.
pub trait Provenance {
    /// The file with its stored bytes, if that is another one.
    fn file(&self, dataset: u32) -> Option<Arc<dyn Source>>;

    /// All files that the container consists of beside those that it was opened by, whether or not they are there.
    fn files(&self) -> Vec<PathBuf>;

    /// The row that describes it.
    fn row(&self, dataset: u32) -> Option<Row> {
        let _ = dataset;
        None
    }
}

/// Rules beyond what checksums and lengths tell of a dataset's own bytes.
pub trait Validate {
    /// Is it right, as far as other datasets tell?
    fn check(&self, dataset: u32) -> Result<()> {
        let _ = dataset;
        Ok(())
    }

    /// Is all of it made out of what `check` looks at?
    fn follows(&self, dataset: u32) -> bool {
        let _ = dataset;
        false
    }

    /// Datasets with equal identities share stored bytes: verifying one verifies all.
    fn identity(&self, dataset: u32) -> Option<Identity>;

    /// Violations of the format's rules in its description, though it can be read. An error means that it was not
    /// checked.
    fn violations(&self, dataset: u32) -> Result<Vec<String>>;

    /// A deviation from its description that need not be damage.
    fn doubt(&self, dataset: u32) -> Option<String> {
        let _ = dataset;
        None
    }
}

/// What tells bytes of a container from others.
pub type Identity = [u64; 3];

/// Samples over time.
pub trait Sampled {
    /// What its axes mean, if it is samples.
    fn sampling(&self, dataset: u32) -> Option<Sampling>;

    /// Its values in their unit, if they are or can be stored otherwise. `stored` is its description.
    fn decoded(&self, dataset: u32, stored: &Description) -> Result<Option<(Description, Content)>>;
}

/// Arrays whose items are lists, rows and the like.
pub trait Nested {
    /// The array that it is, or stands for, item by item.
    fn items(&self, dataset: u32) -> Option<Box<dyn Items>>;
}

/// Writes a container as its format is written today, where that is something else than its datasets one after the
/// other.
pub trait Rewrite {
    /// The same as other formats can hold it, where that is something else than its datasets.
    fn plain(&self) -> Result<Option<Plain>> {
        Ok(None)
    }

    /// Does what is compressed stay so, and what is not too? If not nothing is compressed.
    fn keeps_compression(&self) -> bool {
        false
    }

    /// What is written with these datasets as it is, wrong or refused too. Else the new one is made of what is read,
    /// and what is not read (samples beside a table) is no part of it.
    fn kept(&self, _numbers: &[usize]) -> Vec<usize> {
        Vec::new()
    }

    /// Writes to `file`, which will be at `path` when it is finished. Returns what users should know, as sentences.
    /// With only some datasets, given by number, if any are. `step` receives the number of bytes processed, and
    /// may end it.
    fn rewrite(
        &self,
        path: &Path,
        file: &File,
        only: Option<&[usize]>,
        step: &mut dyn FnMut(u64) -> Result<()>,
    ) -> Result<Vec<String>>;
}

/// Names, and what has them by their numbers.
pub type Plain = (Arc<dyn Names>, Arc<dyn Datasets>);
