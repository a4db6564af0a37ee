//! The fixed part of a RAB file, and the offsets of its other parts.

use std::ops::Range;

use crate::source::Source;
use crate::{Error, Result};

/// Magic and length.
const FIXED: u64 = 7;

#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// File offset of the header text.
    pub header: u64,
    /// File offset that byteOffset is relative to.
    pub data: u64,
    /// Length of the file.
    pub end: u64,
}

/// Do the bytes after the magic look like a header's length and beginning, in a file of `len` bytes? The three letters
/// alone could also begin a text about rabbits.
pub fn is_plausible(rest: &[u8], len: u64) -> bool {
    let Some((length, text)) = rest.split_first_chunk::<4>() else { return false };
    let fits = FIXED + u64::from(u32::from_le_bytes(*length)) <= len;
    fits && text
        .iter()
        .find(|b| !b.is_ascii_whitespace())
        .is_none_or(|b| matches!(b, b'-' | b'[' | b'#' | b'%'))
}

impl Layout {
    /// Reads the header's length and checks it against the file's.
    pub fn read(source: &dyn Source) -> Result<Layout> {
        let end = source.len();
        let needed = |need: u64, what: &str| {
            Error::damaged(source.place(), format!("{what} ends at byte {need}, but the file has {end}"))
        };
        if end < FIXED {
            return Err(needed(FIXED, "the header's length"));
        }
        let mut fixed = [0; FIXED as usize];
        source.read_exact_at(&mut fixed, 0)?;
        let [_, _, _, a, b, c, d] = fixed;
        let data = FIXED + u64::from(u32::from_le_bytes([a, b, c, d]));
        if data > end {
            return Err(needed(data, "the header"));
        }
        Ok(Layout { header: FIXED, data, end })
    }

    /// The file range of a dataset with this byteOffset and byteLength.
    pub fn stored(self, offset: i128, length: i128) -> Result<Range<u64>, String> {
        if offset < 0 || length < 0 {
            return Err(format!("its byteOffset {offset} or byteLength {length} is negative"));
        }
        let start = offset.checked_add(self.data.into());
        let end = start.and_then(|start| start.checked_add(length));
        match (start.map(u64::try_from), end.map(u64::try_from)) {
            (Some(Ok(start)), Some(Ok(end))) if end <= self.end => Ok(start..end),
            (Some(Ok(_)), Some(Ok(end))) => {
                Err(format!("it ends at byte {end}, but the file has {}", self.end))
            }
            _ => Err(format!(
                "its byteOffset {offset} and byteLength {length} are larger than any file, this one has {} bytes",
                self.end
            )),
        }
    }
}
