//! `NAME.csv`. What consists of numbers only has a length that the types tell, which is known without writing it, and any
//! byte range is written alone (`filled`). Tables with texts, and arrays of texts and dates, are as RFC 4180 has it, with
//! lines that end in `\n`; their length is found by the first stat.

mod array;
mod filled;
mod table;
#[cfg(test)]
mod tests;
mod texts;

use std::sync::Arc;

use super::frame::Frame;
use super::{Dataset, Face, View, limits};
use crate::array::Array;
use crate::array::text::Texts;
use crate::content::Content;
use crate::lines;
use crate::tree::Description;
use crate::{Error, Result};

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

    fn face(&self, dataset: &Dataset) -> Result<Face> {
        let about = dataset.about();
        let too_long = || dataset.wrong("as text it is longer than files can be");
        if let (Some(array), false) = (&about.array, Frame::shows(about)) {
            return Ok(Face::File(match dataset.elements(array)? {
                broken @ Content::Broken { .. } => broken,
                elements if texts::shows(array) => {
                    let place = elements.file().unwrap_or_default().dataset(&about.printed_name());
                    texts::csv(array, elements, place).ok_or(Error::NotFound)?
                }
                elements => array::csv(array, elements).ok_or_else(too_long)?,
            }));
        }
        Ok(Face::File(match Frame::of(dataset)? {
            Err(broken) => broken,
            Ok(frame) if Frame::is_of_numbers(about) => table::csv(frame).ok_or_else(too_long)?,
            Ok(frame) => lines::csv(frame),
        }))
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
        let most = texts::MOST_BYTES;
        let problem = format!(
            "a row can be more than {most} bytes of text, which is the limit (parts of it have fewer columns)"
        );
        return texts::is_too_wide(array).then_some(problem);
    }
    array::csv(array, Content::Inline(Arc::default()))
        .is_none()
        .then(|| "as text it is longer than files can be".into())
}
