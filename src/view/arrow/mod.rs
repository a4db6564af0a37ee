//! `NAME.arrow`: a table as an Arrow IPC file (also called Feather) of one record batch. Numbers are the bytes that the
//! container has, with padding between the columns, so that polars and pyarrow map them; only what Arrow has
//! otherwise is made for each range: bits of booleans, little-endian numbers of big-endian ones, and where texts
//! begin. Texts are views (`Utf8View`) of the NUL-padded cells as they are. So every length is known at once.
//!
//! ```text
//! "ARROW1" 0 0 | schema | record batch: metadata, then the buffers | ff ff ff ff 0 0 0 0 | footer | length | "ARROW1"
//! ```
//! Every buffer begins at a multiple of 64 bytes.

mod buffers;
mod metadata;
#[cfg(test)]
mod tests;

use self::buffers::Buffers;
use super::frame::Frame;
use super::{Dataset, Face, View};
use crate::Result;
use crate::content::{Content, joined};
use crate::tree::Description;

/// Where buffers begin.
const ALIGNMENT: u64 = 64;
const MAGIC: &[u8] = b"ARROW1";
const CONTINUATION: [u8; 4] = [0xff; 4];

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

    fn face(&self, dataset: &Dataset) -> Result<Face> {
        let too_long = || dataset.wrong("its columns do not fit into an Arrow file");
        Ok(Face::File(match Frame::of(dataset)? {
            Ok(frame) => file(frame).ok_or_else(too_long)?,
            Err(broken) => broken,
        }))
    }
}

/// None if some length does not fit where Arrow has it.
fn file(frame: Frame) -> Option<Content> {
    let buffers = Buffers::of(frame)?;
    let schema = message(&metadata::schema(&buffers.columns), 0)?;
    let mut before = [MAGIC, &[0, 0], &schema].concat();
    let at = before.len() as u64;
    let batch = message(&metadata::batch(&buffers)?, at)?;
    let footer = metadata::footer(&buffers.columns, at, batch.len(), buffers.len)?;
    before.extend(&batch);
    let len = i32::try_from(footer.len()).ok()?.to_le_bytes();
    let after = [&CONTINUATION[..], &[0; 4], &footer, &len, MAGIC].concat();
    i64::try_from(buffers.len).ok()?.checked_add((before.len() + after.len()) as i64)?;
    let mut parts = vec![Content::Inline(before.into())];
    parts.extend(buffers.padded());
    parts.push(Content::Inline(after.into()));
    Some(joined(parts))
}

/// Metadata at a place of the file, with padding up to where its body begins.
fn message(metadata: &[u8], at: u64) -> Option<Vec<u8>> {
    let end = (at + 8 + metadata.len() as u64).next_multiple_of(ALIGNMENT);
    let len = i32::try_from(end - at - 8).ok()?;
    let mut message = [&CONTINUATION[..], &len.to_le_bytes(), metadata].concat();
    message.resize(8 + len as usize, 0);
    Some(message)
}
