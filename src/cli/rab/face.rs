//! `--as KIND`: a dataset in the form of a view.

use clap::builder::PossibleValuesParser;

use crate::content::Content;
use crate::view::{self, Face, View};
use crate::{Dataset, Error, Result};

/// What may stand after `--as`.
pub fn kinds() -> PossibleValuesParser {
    PossibleValuesParser::new(view::kinds())
}

/// A view whose faces are files.
pub fn of_files(kind: &str) -> Result<&'static dyn View> {
    let view = view::named(kind)?;
    match view.makes_directories() {
        true => Err(Error::Usage(format!(
            "{kind} is a directory of many files for each dataset: copy .views/{kind} out of a mount"
        ))),
        false => Ok(view),
    }
}

/// The face of a dataset, or of a part of it that an index says.
pub fn content(dataset: &Dataset<'_>, index: Option<&str>, kind: &str) -> Result<Content> {
    let (view, whole) = (of_files(kind)?, dataset.seen());
    let name = whole.about().name.lossy().into_owned();
    let wrong = |problem: String| Error::Usage(format!("dataset {name:?}: {problem}"));
    let seen = match index {
        Some(index) => whole.part(index).map_err(wrong)?,
        None => whole,
    };
    if !view.shows(seen.about()) {
        return Err(wrong(format!("is {}, which has no face as {kind}", dataset.kind())));
    }
    match view.face(&seen)? {
        Face::File(content) => Ok(content),
        Face::Directory(_) => Err(Error::IsADirectory),
    }
}
