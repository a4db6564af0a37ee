//! The tables of all records below `.views`:
//! ```text
//! table/data, table/data.npy ...
//! arrow/records.arrow, jsonl/records.jsonl, csv/records.csv
//! ```

use std::sync::Arc;

use super::faces;
use super::records::Records;
use crate::content::Content;
use crate::tree::{Datasets, Derived, Description, NameList, Size};
use crate::{Error, Result};

/// The directory of [`faces::NAMES`].
const TABLE: &str = "table";

pub fn of(records: &Arc<Records>) -> Derived {
    let (mut names, mut contents) = (NameList::default(), faces::all(records));
    faces::NAMES.iter().for_each(|name| names.push(format!("{TABLE}/{name}").as_bytes()));
    let mut kinds = Vec::new();
    for (kind, name) in faces::KINDS {
        if let Ok(Some(table)) = faces::table(records, kind) {
            names.push(format!("{kind}/{name}").as_bytes());
            contents.push(table);
            kinds.push(kind);
        }
    }
    Derived::new(names, Tables { records: records.clone(), contents, kinds })
}

struct Tables {
    records: Arc<Records>,
    /// Those of [`faces::NAMES`], then those of `kinds`.
    contents: Vec<Content>,
    kinds: Vec<&'static str>,
}

impl Datasets for Tables {
    fn count(&self) -> u64 {
        self.contents.len() as u64
    }

    fn size(&self, number: u32) -> Size {
        let len = self.contents.get(number as usize).and_then(Content::known_len);
        Size { len, stored: len.unwrap_or(0) }
    }

    fn content(&self, number: u32) -> Result<Content> {
        self.contents.get(number as usize).cloned().ok_or(Error::NotFound)
    }

    fn content_at_once(&self, number: u32) -> Result<Option<Content>> {
        self.content(number).map(Some)
    }

    fn describe(&self, number: u32) -> Result<Description> {
        faces::describe(&self.records, number as usize).ok_or(Error::NotFound)
    }

    fn rows(&self, number: u32, expression: &str) -> Result<Option<Content>> {
        let kind = (number as usize).checked_sub(faces::NAMES.len()).and_then(|at| self.kinds.get(at));
        kind.map_or(Ok(None), |kind| faces::rows(&self.records, kind, expression))
    }
}
