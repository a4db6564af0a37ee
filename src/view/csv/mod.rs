//! `NAME.csv`. What consists of numbers only has cells filled up on the left to a width that the type tells: its
//! length and the place of every cell are known without writing it, and any byte range is written alone. Who reads
//! it leaves out the spaces after commas: `pandas.read_csv(skipinitialspace=True)`; `numpy.loadtxt` always does.
//! Tables with texts, and arrays of texts and dates, are as RFC 4180 has it, with lines that end in `\n`; their length is found by the first stat.

mod array;
mod padded;
#[cfg(test)]
mod tests;
mod texts;

use super::frame::Frame;
use super::{Dataset, Face, View};
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
        let is_grid = |array: &Array| {
            let is_known = Texts::of(array.dtype.element).is_some() || texts::shows(array);
            matches!(array.shape.len(), 1 | 2) && is_known
        };
        Frame::shows(about) || about.array.as_ref().is_some_and(is_grid)
    }

    fn is_of_numbers(&self) -> bool {
        true
    }

    fn face(&self, dataset: &Dataset) -> Result<Face> {
        let about = dataset.about();
        let too_long = || dataset.wrong("as text it is longer than files can be");
        if let (Some(array), false) = (&about.array, Frame::shows(about)) {
            return Ok(Face::File(match dataset.elements(array)? {
                broken @ Content::Broken { .. } => broken,
                elements if texts::shows(array) => {
                    let place = elements.file().unwrap_or_default().dataset(&about.name.lossy());
                    texts::csv(array, elements, place).ok_or(Error::NotFound)?
                }
                elements => array::csv(array, elements).ok_or_else(too_long)?,
            }));
        }
        Ok(Face::File(match Frame::of(dataset)? {
            Err(broken) => broken,
            Ok(frame) if Frame::is_of_numbers(about) => padded::csv(frame).ok_or_else(too_long)?,
            Ok(frame) => lines::csv(frame),
        }))
    }
}

/// Puts a text at the right side of a cell, before what follows the cell.
fn right(cell: &mut [u8], text: &[u8]) {
    let end = cell.len().saturating_sub(1);
    if let Some(place) = end.checked_sub(text.len()).and_then(|start| cell.get_mut(start..end)) {
        place.copy_from_slice(text);
    }
}
