//! `NAME.csv`: RFC 4180, with lines that end in `\n`. The first stat finds its length by writing it once, but for
//! numbers of more than [`MAX_COUNTED`] cells: those are padded, so that their length follows from their types and any
//! byte range is written alone (`padded`).

mod array;
mod padded;
mod table;
#[cfg(test)]
mod tests;
mod texts;

use std::sync::Arc;

use super::frame::Frame;
use super::{Dataset, Representation, View, limits};
use crate::array::Array;
use crate::array::text::Texts;
use crate::content::Content;
use crate::lines;
use crate::tree::Description;
use crate::{Error, Result};

/// Cells of numbers that are written to find their length, which takes some tenths of a second at most.
const MAX_COUNTED: u64 = 1 << 22;

pub struct Csv;

impl View for Csv {
    fn kind(&self) -> &'static str {
        "csv"
    }

    fn extension(&self) -> &'static str {
        ".csv"
    }

    fn shows(&self, about: &Description) -> bool {
        (Frame::shows(about) || grid(about).is_some()) && self.refuses(about).is_none()
    }

    fn refuses(&self, about: &Description) -> Option<String> {
        match Frame::shows(about) {
            false => too_much(grid(about)?),
            // The length of numbers is known, and each place in them.
            true if Frame::is_of_numbers(about) => None,
            true => limits::too_much(about, |_| 1),
        }
    }

    fn represent(&self, dataset: &Dataset) -> Result<Representation> {
        written(dataset, cells(dataset.about()).is_some_and(|count| count <= MAX_COUNTED))
    }

    fn printed(&self, dataset: &Dataset) -> Result<Representation> {
        written(dataset, true)
    }
}

/// Numbers as short as they are, or padded.
fn written(dataset: &Dataset, is_plain: bool) -> Result<Representation> {
    let about = dataset.about();
    let too_long = || dataset.wrong("as text it would be longer than a file can be");
    if let (Some(array), false) = (&about.array, Frame::shows(about)) {
        let elements = dataset.elements(array)?;
        let place = elements.file().unwrap_or_default().dataset(&about.printed_name());
        return Ok(Representation::File(match elements {
            broken @ Content::Broken { .. } => broken,
            elements if texts::shows(array) => texts::csv(array, elements, place).ok_or(Error::NotFound)?,
            elements if is_plain && array::columns(array) <= array::MAX_NAMES => {
                array::plain(array, elements, place).ok_or_else(too_long)?
            }
            elements => array::padded(array, elements).ok_or_else(too_long)?,
        }));
    }
    Ok(Representation::File(match Frame::of(dataset)? {
        Err(broken) => broken,
        Ok(frame) if !is_plain && Frame::is_of_numbers(about) => table::padded(frame).ok_or_else(too_long)?,
        Ok(frame) => lines::csv(frame),
    }))
}

/// How many there are.
fn cells(about: &Description) -> Option<u64> {
    match (&about.array, Frame::layout(about)) {
        (_, Some((rows, columns))) => rows.checked_mul(columns.len() as u64),
        (array, None) => array::count(array.as_ref()?),
    }
}

/// An array that is written without being taken apart into fields.
fn grid(about: &Description) -> Option<&Array> {
    let is_grid = |array: &&Array| {
        let is_known = Texts::of(array.dtype.element).is_some() || texts::is_of_texts(array);
        matches!(array.shape.len(), 1 | 2) && is_known
    };
    about.array.as_ref().filter(is_grid)
}

/// Why it is not written all the same.
fn too_much(array: &Array) -> Option<String> {
    if texts::is_of_texts(array) {
        let most = texts::MAX_BYTES;
        let problem = format!(
            "a row can be more than {most} bytes of text, which is the limit (parts of it have fewer columns)"
        );
        return texts::is_too_wide(array).then_some(problem);
    }
    array::padded(array, Content::Inline(Arc::default()))
        .is_none()
        .then(|| "as text it would be longer than a file can be".into())
}
