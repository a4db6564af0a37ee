//! The files below `.views`: `jsonl/<array name>.jsonl` for arrays whose items can be shown, and `blobs/<member>` for
//! every member, decoded by the ZIP file only.

use std::sync::Arc;

use super::super::json::lines::JsonLines;
use super::super::read::array::Array;
use super::super::read::store::Store;
use super::meta;
use crate::array::Slab;
use crate::content::{Content, late};
use crate::tree::{Derived, File};
use crate::{Error, Result};

/// The view of arrays, and the extension it adds to their names.
const LINES: &str = "jsonl";

pub fn of(store: &Arc<Store>, arrays: &[Arc<Array>]) -> Derived {
    let shown = arrays.iter().filter(|array| meta::is_whole(array)).cloned();
    let shown = shown.map(|array| (format!("{LINES}/{}.{LINES}", array.name), lines_file(array)));
    let members = store.names().enumerate().map(|(member, name)| {
        let own = store.clone();
        (format!("blobs/{name}"), File::anew(store.size(member), move || own.content(member)))
    });
    Derived::of_files(shown.chain(members).collect())
}

fn lines_file(array: Arc<Array>) -> File {
    let whole = array.clone();
    File::once(move || lines(&whole, None)).with_rows(move |expression| {
        let (array, items) = (array.clone(), items(&array, expression)?);
        Ok(Some(late(move || lines(&array, Some(items.clone())))))
    })
}

/// An array, or some of its items, as JSON lines; faults are logged.
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

/// The items of an array selected by an index.
fn items(array: &Array, index: &str) -> Result<Slab> {
    let root = array.graph.root.to;
    let wrong = |problem| Error::Usage(format!("{}: [{index}]: {problem}", array.place(root)));
    Slab::parse(index, &[array.valid_node(root)?.len]).map_err(wrong)
}
