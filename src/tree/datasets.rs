//! What a container has, by number: the half of a tree that its format knows.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use super::{Description, Items, Names, Sampling, Size};
use crate::content::Content;
use crate::error::Row;
use crate::source::Source;
use crate::{Error, Result};

/// The datasets of a container by number, as its format knows them. `file_name` is the name that the
/// dataset's file got in its directory.
pub trait Datasets: Send + Sync {
    fn count(&self) -> u64;
    fn size(&self, dataset: u32) -> Size;
    fn content(&self, dataset: u32) -> Result<Content>;
    /// As `content` and `sidecar` if nothing has to be read or built for them, or None.
    fn content_at_once(&self, dataset: u32) -> Result<Option<Content>>;
    /// A mount shows a sidecar for it.
    fn has_sidecar(&self, dataset: u32) -> bool {
        let _ = dataset;
        false
    }
    fn sidecar_at_once(&self, dataset: u32) -> Result<Option<Content>> {
        let _ = dataset;
        Err(Error::NotFound)
    }
    fn sidecar_size(&self, dataset: u32, file_name: &[u8]) -> Size {
        let _ = (dataset, file_name);
        Size::NOTHING
    }
    fn sidecar(&self, dataset: u32, file_name: &[u8]) -> Result<Content> {
        let _ = (dataset, file_name);
        Err(Error::NotFound)
    }
    /// The file names that lead to it, where the format knows better than [`naming`] does.
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
    /// Everything that the container says of it.
    fn describe(&self, dataset: u32) -> Result<Description>;
    /// As `describe`, quickly: metadata, codec and checksum may be left out.
    fn brief(&self, dataset: u32) -> Result<Description> {
        self.describe(dataset)
    }
    /// Is it right, as far as other datasets tell? Its own bytes are looked at elsewhere.
    fn check(&self, dataset: u32) -> Result<()> {
        let _ = dataset;
        Ok(())
    }
    /// Those of which this is the same are decoded from the same stored bytes: who goes through one, goes through all.
    fn identity(&self, dataset: u32) -> Option<Identity> {
        let _ = dataset;
        None
    }
    /// Is all of it made out of what `check` looks at?
    fn follows(&self, dataset: u32) -> bool {
        let _ = dataset;
        false
    }
    /// The array that it is, or stands for, item by item.
    fn items(&self, dataset: u32) -> Option<Box<dyn Items>> {
        let _ = dataset;
        None
    }
    /// Some rows of it, see [`super::Tree::rows`].
    fn rows(&self, dataset: u32, expression: &str) -> Result<Option<Content>> {
        let _ = (dataset, expression);
        Ok(None)
    }
    /// Has it bytes that can be asked for? A mount shows no file for one that has none.
    fn is_there(&self, dataset: u32) -> bool {
        let _ = dataset;
        true
    }
    /// Bytes of memory that they take by now, roughly, see [`super::Tree::memory`].
    fn memory(&self) -> u64 {
        64 * self.count()
    }
    /// The file with its stored bytes, if that is not the one that the container was opened by.
    fn file(&self, dataset: u32) -> Option<Arc<dyn Source>> {
        let _ = dataset;
        None
    }
    /// What describes it, where that is a row of a table.
    fn row(&self, dataset: u32) -> Option<Row> {
        let _ = dataset;
        None
    }
    /// What its axes mean, if it is samples.
    fn sampling(&self, dataset: u32) -> Option<Sampling> {
        let _ = dataset;
        None
    }
    /// Its values in their unit, if they are stored otherwise or can be. `stored` is what is said of it.
    fn decoded(&self, dataset: u32, stored: &Description) -> Result<Option<(Description, Content)>> {
        let _ = (dataset, stored);
        Ok(None)
    }
    /// What is against the format's rules in what is said of it, though it can be read. An error: that is not looked at.
    fn violations(&self, dataset: u32) -> Result<Vec<String>> {
        let _ = dataset;
        Ok(Vec::new())
    }
    /// What is not quite as it is said to be, and may be right all the same.
    fn doubt(&self, dataset: u32) -> Option<String> {
        let _ = dataset;
        None
    }
    /// The same as other formats can hold it, where that is something else than its datasets.
    fn plain(&self) -> Result<Option<Plain>> {
        Ok(None)
    }
    /// Writes the whole container anew, where that is something else than its datasets one after the other.
    fn rewriter(&self) -> Option<&dyn Rewrite> {
        None
    }
    /// What there is of a dataset whose description makes no sense, or that is not read here.
    fn remains(&self, dataset: u32) -> Result<Content> {
        self.content(dataset)
    }
}

/// What tells bytes of a container from others.
pub type Identity = [u64; 3];

/// Names, and what has them by their numbers.
pub type Plain = (Arc<dyn Names>, Arc<dyn Datasets>);

/// Writes a container as its format is written today.
pub trait Rewrite {
    /// Does what is compressed stay so, and what is not too? If not nothing is compressed.
    fn keeps_compression(&self) -> bool {
        false
    }
    /// What is written with these datasets as it is, wrong or refused too. Else the new one is made of what is read, and
    /// what is not read (samples beside a table) is no part of it.
    fn kept(&self, _numbers: &[usize]) -> Vec<usize> {
        Vec::new()
    }
    /// Writes to `file`, which will be at `path` when it is finished. Returns what users should know, as sentences.
    /// Of only some datasets, by their numbers, if there are such. `step` is told of bytes that have been dealt with, and
    /// may end it.
    fn rewrite(
        &self,
        path: &Path,
        file: &File,
        only: Option<&[usize]>,
        step: &mut dyn FnMut(u64) -> Result<()>,
    ) -> Result<Vec<String>>;
}

/// A symbolic link: the file names that lead to it, and what it says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    pub place: Vec<Vec<u8>>,
    /// What it is called by its name, where file names are escaped.
    pub name: Box<str>,
    pub target: Vec<u8>,
}
