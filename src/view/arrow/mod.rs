//! `NAME.arrow`: a table as an Arrow IPC file (also called Feather) of one record batch. Numbers are the bytes that the
//! container has, with padding between the columns, so that polars and pyarrow map them; only what Arrow has
//! otherwise is made for each range: bits of booleans, little-endian numbers of big-endian ones, and where texts
//! begin. Texts are views (`Utf8View`) of the NUL-padded cells as they are. So every length is known at once.

mod buffers;
#[cfg(test)]
mod tests;

use super::frame::Frame;
use super::{Dataset, Representation, View};
use crate::content::Content;
use crate::tree::Description;
use crate::{Result, arrow};

pub struct Arrow;

impl View for Arrow {
    fn kind(&self) -> &'static str {
        "arrow"
    }

    fn extension(&self) -> &'static str {
        ".arrow"
    }

    fn shows(&self, about: &Description) -> bool {
        Frame::shows(about)
    }

    fn represent(&self, dataset: &Dataset) -> Result<Representation> {
        let too_long = || dataset.wrong("its columns do not fit into an Arrow file");
        Ok(Representation::File(match Frame::of(dataset)? {
            Ok(frame) => file(frame).ok_or_else(too_long)?,
            Err(broken) => broken,
        }))
    }
}

/// None if some length does not fit where Arrow has it.
fn file(frame: Frame) -> Option<Content> {
    let rows = frame.rows;
    arrow::file(rows, buffers::columns(frame)?)
}
