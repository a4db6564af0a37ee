//! Arrow IPC files (also called Feather) around existing bytes: columns become one record batch, and a stream becomes a
//! file. Only the metadata is generated, so programs map the container's own bytes.
//!
//! ```text
//! "ARROW1" 0 0 | schema | record batch: metadata, then the buffers | ff ff ff ff 0 0 0 0 | footer | length | "ARROW1"
//! ```
//! Every buffer is aligned to 64 bytes.

mod metadata;
mod stream;
#[cfg(test)]
mod tests;

use crate::content::{Content, joined};

pub use stream::{Block, file_of_stream};

/// Alignment of buffers, in bytes.
pub const ALIGNMENT: u64 = 64;
const MAGIC: &[u8] = b"ARROW1";
const CONTINUATION: [u8; 4] = [0xff; 4];

/// The type of a column's cells.
#[derive(Clone, Copy, PartialEq)]
pub enum Of {
    Int {
        size: i32,
        is_signed: bool,
    },
    /// A float of this many bytes.
    Float(i32),
    /// A complex number: two floats of this many bytes.
    Pair(i32),
    Bool,
    Text,
    /// This many bytes; little-endian if they are a number.
    Bytes(i32),
    /// Any number of bytes: int64 offsets of each start and the last end, then the bytes.
    Binary,
}

pub struct Column {
    pub name: String,
    pub of: Of,
    /// As in Arrow, with known lengths; the first, the validity bitmap, is empty because no cell is null.
    pub buffers: Vec<Content>,
}

/// A file with one record batch; None if a length exceeds what Arrow can store.
pub fn file(rows: u64, columns: Vec<Column>) -> Option<Content> {
    let (places, len) = places(&columns)?;
    let schema = message(&metadata::schema(&columns), 0)?;
    let mut before = [MAGIC, &[0, 0], &schema].concat();
    let at = before.len() as u64;
    let batch = message(&metadata::batch(rows, &columns, &places, len)?, at)?;
    before.extend(&batch);
    let block = Block { at, metadata: batch.len() as u64, body: len, is_dictionary: false };
    let after = end(&metadata::footer(&columns, &block)?)?;
    i64::try_from(len).ok()?.checked_add((before.len() + after.len()) as i64)?;
    let mut parts = vec![Content::Inline(before.into())];
    for (content, (_, len)) in columns.into_iter().flat_map(|column| column.buffers).zip(places) {
        let padding = vec![0; (len.next_multiple_of(ALIGNMENT) - len) as usize];
        parts.extend([content, Content::Inline(padding.into())]);
    }
    parts.push(Content::Inline(after.into()));
    Some(joined(parts))
}

/// The start and length of each buffer, and the total length with padding.
fn places(columns: &[Column]) -> Option<(Vec<(u64, u64)>, u64)> {
    let (mut places, mut end) = (Vec::new(), 0u64);
    for content in columns.iter().flat_map(|column| &column.buffers) {
        let len = content.known_len()?;
        places.push((end, len));
        end = end.checked_add(len)?.checked_next_multiple_of(ALIGNMENT)?;
    }
    Some((places, end))
}

/// A message with this metadata at offset `at` of the file, padded to the alignment of its body.
fn message(metadata: &[u8], at: u64) -> Option<Vec<u8>> {
    let end = (at + 8 + metadata.len() as u64).next_multiple_of(ALIGNMENT);
    let len = i32::try_from(end - at - 8).ok()?;
    let mut message = [&CONTINUATION[..], &len.to_le_bytes(), metadata].concat();
    message.resize(8 + len as usize, 0);
    Some(message)
}

/// The end of the file, after the last batch.
fn end(footer: &[u8]) -> Option<Vec<u8>> {
    let len = i32::try_from(footer.len()).ok()?.to_le_bytes();
    Some([&CONTINUATION[..], &[0; 4], footer, &len, MAGIC].concat())
}
