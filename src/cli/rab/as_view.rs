//! `--as KIND`: prints a dataset through a view.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use clap::builder::PossibleValuesParser;

use crate::array;
use crate::content::Content;
use crate::tree::Description;
use crate::view::{self, Representation, View};
use crate::{Archive, Dataset, Error, Result};

/// The values that `--as` accepts.
pub fn kinds() -> PossibleValuesParser {
    PossibleValuesParser::new(view::kinds())
}

/// A view that represents each dataset as one file.
fn file_view(kind: &str) -> Result<&'static dyn View> {
    let view = view::named(kind)?;
    match view.makes_directories() {
        true => Err(Error::Usage(format!(
            "{kind} is a directory of many files for each dataset: rab unpack FILE DIR --as {kind} writes them"
        ))),
        false => Ok(view),
    }
}

/// A dataset, or the part selected by an index, in a view.
pub fn content(dataset: &Dataset<'_>, index: Option<&str>, kind: &str) -> Result<Content> {
    let (view, whole) = (file_view(kind)?, dataset.seen());
    let place = dataset.place();
    let wrong =
        |problem: String| dataset.no_array().unwrap_or_else(|| Error::Usage(format!("{place}: {problem}")));
    let seen = match index {
        Some(index) => whole.part(index).map_err(wrong)?,
        None => whole,
    };
    if !view.shows(seen.about()) {
        let array = seen.about().array.as_ref();
        let shape = array.map_or_else(String::new, |array| format!(" of shape {:?}", array.shape));
        let lacks = format!("is {}{shape}, which cannot be shown as {kind}", dataset.kind());
        return Err(match view.refuses(seen.about()) {
            Some(problem) => Error::Other(format!("{place}: {lacks}: {problem}")),
            None => wrong(lacks),
        });
    }
    match view.printed(&seen)? {
        Representation::File(content) => Ok(content),
        Representation::Directory(_) => Err(Error::IsADirectory),
    }
}

/// Extends the error for a dataset that cannot be printed as an array with alternatives: table views, or its bytes.
pub fn instead(dataset: &Dataset<'_>, error: Error) -> Error {
    let about = dataset.description();
    match (&about.table, &about.array, &error) {
        (Some(_), None, Error::Other(_)) => {}
        (None, None, Error::Other(problem)) => {
            return Error::Other(format!("{problem}: rab cat prints its bytes"));
        }
        _ => return error,
    }
    let other = Description { table: None, ..about.clone() };
    let shown = view::VIEWS.iter().filter(|view| view.shows(about) && !view.shows(&other));
    let kinds = shown.map(|view| view.kind()).filter(|kind| file_view(kind).is_ok());
    match kinds.collect::<Vec<_>>().as_slice() {
        [] => error,
        [kind] => Error::Other(format!("{}: is a table: use --as {kind}", dataset.place())),
        [kinds @ .., last] => {
            let (place, kinds) = (dataset.place(), kinds.join(", --as "));
            Error::Other(format!("{place}: is a table: use --as {kinds} or --as {last}"))
        }
    }
}

/// As [`derived`], for selected rows of a table or items of an array: `records[2:5]`.
pub fn derived_rows(archive: &Archive, what: &OsStr, kind: &str) -> Result<Option<Content>> {
    let Some((name, index)) = array::indexed(what.as_bytes()) else { return Ok(None) };
    if archive.has(what.as_bytes()) {
        return Ok(None);
    }
    let found = archive.derived().find(kind, file_view(kind)?.extension(), name);
    found.map_or(Ok(None), |number| archive.derived().datasets().rows(number, index))
}

/// The container's derived file of this name. It takes precedence over a dataset's view of the same name, as in a
/// mount.
pub fn derived(archive: &Archive, name: &OsStr, kind: &str) -> Result<Option<Content>> {
    let found = archive.derived().find(kind, file_view(kind)?.extension(), name.as_bytes());
    found.map(|number| archive.derived().datasets().content(number)).transpose()
}
