//! What is below `.views`: `jsonl/<array name>.jsonl` for arrays whose items can be shown, and
//! `blobs/<member>` for every member, decoded by the ZIP file and no further.

use std::sync::{Arc, OnceLock};

use super::array::Array;
use super::lines::JsonLines;
use super::meta;
use super::store::Store;
use crate::array::Slab;
use crate::content::{Content, late};
use crate::tree::{Datasets, Description, NameList, Size};
use crate::{Error, Result};

/// The view that arrays have, and what it adds to their names.
const LINES: &str = "jsonl";

pub struct Views {
    store: Arc<Store>,
    lines: Vec<(Arc<Array>, OnceLock<Content>)>,
}

impl Views {
    /// With the names of the files.
    pub fn new(store: &Arc<Store>, arrays: &[Arc<Array>]) -> (NameList, Views) {
        let mut names = NameList::default();
        let shown = arrays.iter().filter(|array| meta::is_whole(array)).cloned();
        let lines: Vec<_> = shown.map(|array| (array, OnceLock::new())).collect();
        lines.iter().for_each(|(array, _)| names.push(format!("{LINES}/{}.{LINES}", array.name).as_bytes()));
        store.names().for_each(|name| names.push(format!("blobs/{name}").as_bytes()));
        (names, Views { store: store.clone(), lines })
    }

    /// The member of a file that is no JSON.
    fn member(&self, number: u32) -> usize {
        (number as usize).saturating_sub(self.lines.len())
    }
}

/// An array, or some items of it, as JSON lines; what is wrong with it is in the log.
fn lines(array: &Arc<Array>, items: Option<Slab>) -> Result<Content> {
    let tell = |error: &Error| log::error!("{error}; reads of it as JSON lines give that error");
    match JsonLines::new(array, items) {
        Ok(lines) => {
            lines.fault.iter().for_each(tell);
            Ok(Content::Computed(Arc::new(lines)))
        }
        Err(error @ Error::Damaged { .. } | error @ Error::Unsupported { .. }) => {
            tell(&error);
            Ok(Content::Broken { claimed: 1, error })
        }
        Err(error) => Err(error),
    }
}

/// The items of an array that an index means.
fn items(array: &Array, index: &str) -> Result<Slab> {
    let root = array.graph.root.to;
    let wrong = |problem| Error::Usage(format!("{}: [{index}]: {problem}", array.place(root)));
    Slab::parse(index, &[array.sound(root)?.len]).map_err(wrong)
}

impl Datasets for Views {
    fn count(&self) -> u64 {
        (self.lines.len() + self.store.count()) as u64
    }

    fn size(&self, number: u32) -> Size {
        match self.lines.get(number as usize) {
            Some((_, made)) => Size { len: made.get().and_then(Content::known_len), stored: 0 },
            None => self.store.size(self.member(number)),
        }
    }

    fn content(&self, number: u32) -> Result<Content> {
        let Some((array, made)) = self.lines.get(number as usize) else {
            return self.store.content(self.member(number));
        };
        if let Some(made) = made.get() {
            return Ok(made.clone());
        }
        let content = lines(array, None)?;
        Ok(made.get_or_init(|| content).clone())
    }

    fn content_at_once(&self, number: u32) -> Result<Option<Content>> {
        match self.lines.get(number as usize) {
            Some((_, made)) => Ok(made.get().cloned()),
            None => Ok(None),
        }
    }

    fn describe(&self, _: u32) -> Result<Description> {
        Err(Error::NotFound)
    }

    fn rows(&self, number: u32, expression: &str) -> Result<Option<Content>> {
        let Some((array, _)) = self.lines.get(number as usize) else { return Ok(None) };
        let (array, items) = (array.clone(), items(array, expression)?);
        Ok(Some(late(move || lines(&array, Some(items.clone())))))
    }
}
