//! The frames of a zstd stream: where each is stored, and its decoded length where that is recorded, in its header or
//! in the seek table at the end of the seekable format:
//!
//! ```text
//! 5e 2a 4d 18 | size, 4 | stored size, 4, decoded size, 4, [checksum, 4] for each frame | frames, 4 | flags, 1 | b1 ea 92 8f
//! ```
//!
//! The seek table is only a hint, ignored if it does not match the frames (two concatenated seekable files are a valid
//! stream). Its sizes are checked again when a frame is decoded. It also shows where to continue after a frame with
//! damaged headers.

use std::ops::Range;
use std::sync::Arc;

use super::frame::{self, Item, Stored};
use crate::error::Place;
use crate::source::Source;
use crate::{Error, Result};

/// A table of this many frames takes 128 MiB.
const MAX_FRAMES: usize = 4 << 20;

const TABLE: u64 = 0x184d_2a5e;
const TABLE_END: u64 = 0x8f92_eab1;

pub struct Table {
    pub frames: Vec<Frame>,
    /// Damage after the last of these frames.
    pub cut: Option<Error>,
}

pub struct Frame {
    pub stored: Range<u64>,
    /// The decoded length, if recorded. Never 0: a frame declared empty has to be decoded, since no read would ever
    /// check it otherwise.
    pub len: Option<u64>,
}

impl Frame {
    fn new(stored: Range<u64>, len: Option<u64>) -> Frame {
        Frame { stored, len: len.filter(|len| *len > 0) }
    }
}

/// An entry of the seek table.
struct Hint {
    stored: u64,
    len: u64,
}

/// Reads the headers of everything in `stored`. Fails only if the source does.
pub fn scan(source: &Arc<dyn Source>, stored: Range<u64>, place: &Place) -> Result<Table> {
    let mut bytes = Stored::new(source, stored.end, place);
    if let Some(hints) = seek_table(&mut bytes, &stored)? {
        if let Some(table) = fitting(&mut bytes, stored.start, &hints)? {
            return Ok(table);
        }
        log::info!("{place}: the zstd seek table does not fit the frames and is not used");
    }
    plain(&mut bytes, stored)
}

fn plain(bytes: &mut Stored, stored: Range<u64>) -> Result<Table> {
    let mut table = Table { frames: Vec::new(), cut: None };
    let mut at = stored.start;
    if stored.is_empty() {
        table.cut = Some(bytes.damaged(at, "a zstd stream was needed, but there are no bytes"));
    }
    while at < stored.end && table.cut.is_none() {
        match frame::item(bytes, at) {
            Ok(_) if table.frames.len() == MAX_FRAMES => {
                table.cut =
                    Some(bytes.damaged(at, &format!("the zstd stream has more than {MAX_FRAMES} frames")));
            }
            Ok(Item::Skippable { end }) => at = end,
            Ok(Item::Frame { header, end, .. }) => {
                table.frames.push(Frame::new(at..end, header.content));
                at = end;
            }
            Err(error @ Error::Damaged { .. }) => table.cut = Some(error),
            Err(error) => return Err(error),
        }
    }
    Ok(table)
}

/// The frames with the sizes from the seek table, or None if the two contradict each other.
fn fitting(bytes: &mut Stored, start: u64, hints: &[Hint]) -> Result<Option<Table>> {
    let mut frames = Vec::with_capacity(hints.len());
    let mut at = start;
    for hint in hints {
        let end = at + hint.stored;
        let fits = match frame::item(bytes, at) {
            Ok(Item::Skippable { end: found }) => found == end && hint.len == 0,
            Ok(Item::Frame { header, end: found, most }) => {
                let len_fits = header.content.map_or(hint.len <= most, |len| len == hint.len);
                frames.push(Frame::new(at..end, Some(hint.len)));
                found == end && len_fits
            }
            Err(Error::Damaged { .. }) => {
                // Decoding it will report what is wrong.
                frames.push(Frame::new(at..end, Some(hint.len)));
                true
            }
            Err(error) => return Err(error),
        };
        if !fits {
            return Ok(None);
        }
        at = end;
    }
    Ok(Some(Table { frames, cut: None }))
}

/// The seek table at the end, if there is one that covers everything before it.
fn seek_table(bytes: &mut Stored, stored: &Range<u64>) -> Result<Option<Vec<Hint>>> {
    let Some(foot) = stored.end.checked_sub(9).filter(|foot| *foot >= stored.start) else { return Ok(None) };
    if bytes.number(foot + 5, 4)? != TABLE_END {
        return Ok(None);
    }
    let (count, flags) = (bytes.number(foot, 4)?, bytes.number(foot + 4, 1)?);
    let entry = if flags & 0x80 == 0 { 8 } else { 12 };
    let size = count * entry + 9;
    let Some(start) = stored.end.checked_sub(size + 8).filter(|start| *start >= stored.start) else {
        return Ok(None);
    };
    let is_table =
        flags & 0x7c == 0 && bytes.number(start, 4)? == TABLE && bytes.number(start + 4, 4)? == size;
    if !is_table || count > MAX_FRAMES as u64 {
        return Ok(None);
    }
    let mut hints = Vec::with_capacity(count as usize);
    for at in (0..count).map(|index| start + 8 + index * entry) {
        hints.push(Hint { stored: bytes.number(at, 4)?, len: bytes.number(at + 4, 4)? });
    }
    let covered: u64 = hints.iter().map(|hint| hint.stored).sum();
    Ok((covered == start - stored.start).then_some(hints))
}
