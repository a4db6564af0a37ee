//! A few files that are no datasets: what a format has to show beside them.

use super::{Datasets, Description, NameList, Size};
use crate::content::Content;
use crate::{Error, Result};

/// For [`super::Builder`]: a slash in a name makes directories.
pub struct Files(Vec<Content>);

impl Files {
    /// With their names.
    pub fn new(files: Vec<(&str, Content)>) -> (NameList, Files) {
        let mut names = NameList::default();
        files.iter().for_each(|(name, _)| names.push(name.as_bytes()));
        (names, Files(files.into_iter().map(|(_, content)| content).collect()))
    }
}

impl Datasets for Files {
    fn count(&self) -> u64 {
        self.0.len() as u64
    }

    fn size(&self, number: u32) -> Size {
        let len = self.content(number).ok().and_then(|content| content.known_len());
        Size { len, stored: len.unwrap_or(0) }
    }

    fn content(&self, number: u32) -> Result<Content> {
        self.0.get(number as usize).cloned().ok_or(Error::NotFound)
    }

    fn content_at_once(&self, number: u32) -> Result<Option<Content>> {
        self.content(number).map(Some)
    }

    fn describe(&self, _: u32) -> Result<Description> {
        Err(Error::NotFound)
    }
}
