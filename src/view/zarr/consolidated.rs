//! `.zmetadata`: what all descriptions and attributes of a container say, in one file, so that a program opens it with
//! one read. It is made when it is first read or its size is asked for.

use serde_json::{Map, Value, json};

use super::store::Store;
use super::{ARRAY, ATTRIBUTES, GROUP, MAX_DEPTH, description, key, too_deep};
use crate::content::{Content, late};
use crate::view::directory::Child;
use crate::view::{Dataset, Directory};
use crate::{Error, Result};

/// Of all datasets of `directory` and below.
pub fn of(directory: Directory) -> Content {
    late(move || {
        let mut all = Map::new();
        group(&directory, "", 0, &mut all)?;
        let text = json!({"metadata": all, "zarr_consolidated_format": 1}).to_string();
        Ok(Content::Inline(text.into_bytes().into()))
    })
}

fn group(directory: &Directory, path: &str, depth: usize, all: &mut Map<String, Value>) -> Result<()> {
    all.insert(format!("{path}{GROUP}"), description::group());
    directory.each(&mut |name, child| {
        let path = format!("{path}{}/", key(name));
        match child {
            Ok(Child::Directory(_)) if depth == MAX_DEPTH => left_out(&too_deep(&path)),
            Ok(Child::Directory(directory)) => group(&directory, &path, depth + 1, all),
            Ok(Child::Dataset(dataset)) => array(&dataset, &path, all).or_else(|error| left_out(&error)),
            Err(error) => left_out(&error),
        }
    })
}

fn array(dataset: &Dataset, path: &str, all: &mut Map<String, Value>) -> Result<()> {
    if dataset.about().array.as_ref().is_some_and(description::can_hold) {
        let store = Store::with_random_access(dataset)?;
        all.insert(format!("{path}{ARRAY}"), store.description());
        all.insert(format!("{path}{ATTRIBUTES}"), store.attributes()?);
    }
    Ok(())
}

/// Damaged datasets are not listed, as in a directory; opening one by name gives the reason. A container that was
/// replaced has no entries.
fn left_out(error: &Error) -> Result<()> {
    if let Error::Changed { .. } = error {
        return Err(error.clone());
    }
    log::error!("{error}; it is missing from {}", super::CONSOLIDATED);
    Ok(())
}
