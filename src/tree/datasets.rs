//! A container's datasets by number: the half of a tree that its format provides.

use super::{Abilities, Description, Size};
use crate::Result;
use crate::content::Content;

/// The datasets of a container by number, as its format knows them.
pub trait Datasets: Send + Sync {
    fn count(&self) -> u64;

    fn size(&self, dataset: u32) -> Size;

    fn content(&self, dataset: u32) -> Result<Content>;

    /// As `content` if nothing has to be read or built for it, or None.
    fn ready_content(&self, dataset: u32) -> Result<Option<Content>>;

    /// Everything that the container says of it. [`crate::Error::NotFound`]: it says nothing.
    fn describe(&self, dataset: u32) -> Result<Description>;

    /// As `describe`, quickly: metadata, codec and checksum may be left out.
    fn brief(&self, dataset: u32) -> Result<Description> {
        self.describe(dataset)
    }

    /// Some rows of it, see [`super::Tree::rows`].
    fn rows(&self, dataset: u32, expression: &str) -> Result<Option<Content>> {
        let _ = (dataset, expression);
        Ok(None)
    }

    /// What there is of a dataset whose description makes no sense, or that is not read here.
    fn remains(&self, dataset: u32) -> Result<Content> {
        self.content(dataset)
    }

    /// Bytes of memory that they take by now, roughly, see [`super::Tree::memory`].
    fn memory(&self) -> u64 {
        64 * self.count()
    }

    /// What else this format can do.
    fn abilities(&self) -> Abilities<'_> {
        Abilities::default()
    }
}
