//! Identifies the items of a zstd stream by their headers alone (RFC 8878); decodes nothing.
//!
//! ```text
//! frame       28 b5 2f fd | descriptor, 1 | [window, 1] | [dictionary, 0-4] | [content size, 0-8] | blocks | [checksum, 4]
//! block       last: 1 bit, type: 2 bits (raw, rle, compressed, reserved), size: 21 bits | content
//! skippable   5x 2a 4d 18 | size, 4 | content
//! ```

use std::sync::Arc;

use crate::error::Place;
use crate::source::Source;
use crate::{Error, Result};

const FRAME: u32 = 0xfd2f_b528;
const SKIPPABLE: std::ops::RangeInclusive<u32> = 0x184d_2a50..=0x184d_2a5f;
/// Magic numbers of the formats before 0.8.
const LEGACY: std::ops::RangeInclusive<u32> = 0xfd2f_b522..=0xfd2f_b527;
const LEGACY_OLDEST: u32 = 0x1eb5_2ffd;
/// Maximum decoded length of a block.
const MAX_BLOCK_LEN: u64 = 128 << 10;
/// Maximum window size in bytes, the same as that of the `zstd` command.
pub const WINDOW_LOG: u32 = 27;

pub enum Item {
    Frame { header: Header, end: u64, most: u64 },
    Skippable { end: u64 },
}

pub struct Header {
    pub content: Option<u64>,
    /// Bytes of memory needed for decoding.
    pub window: u64,
    dictionary: u64,
    has_checksum: bool,
    /// Offset of the first block.
    end: u64,
}

/// The item at `at` and its end; a frame's blocks decode to at most `most` bytes.
pub fn item(stored: &mut Stored, at: u64) -> Result<Item> {
    let magic = stored.number(at, 4)? as u32;
    if SKIPPABLE.contains(&magic) {
        let end = at + 8 + stored.number(at + 4, 4)?;
        return stored.within(at, end).map(|()| Item::Skippable { end });
    }
    let header = header(stored, at)?;
    let (mut end, mut most) = (header.end, 0u64);
    loop {
        let block = stored.number(end, 3)?;
        let size = block >> 3;
        let (takes, gives) = match block >> 1 & 3 {
            0 => (size, size),
            1 => (1, size),
            2 => (size, header.window.min(MAX_BLOCK_LEN)),
            _ => return Err(stored.damaged(end, "the zstd frame has a block of a reserved type")),
        };
        end += 3 + takes;
        most = most.saturating_add(gives);
        if block & 1 == 1 {
            break;
        }
    }
    end += if header.has_checksum { 4 } else { 0 };
    stored.within(at, end)?;
    if let Some(content) = header.content.filter(|content| *content > most) {
        let problem = format!("the zstd frame's header says {content} bytes, its blocks hold at most {most}");
        return Err(stored.damaged(at, &problem));
    }
    Ok(Item::Frame { header, end, most })
}

/// The header of the frame at `at` (RFC 8878, 3.1.1.1).
pub fn header(stored: &mut Stored, at: u64) -> Result<Header> {
    match stored.number(at, 4)? as u32 {
        FRAME => {}
        old if LEGACY.contains(&old) || old == LEGACY_OLDEST => {
            return Err(
                stored.damaged(at, "a zstd frame of a legacy format (before 0.8), which is not supported")
            );
        }
        other => {
            let bytes = other.to_le_bytes();
            return Err(stored.damaged(at, &format!("not a zstd frame: it begins with {bytes:02x?}")));
        }
    }
    let descriptor = stored.number(at + 4, 1)?;
    if descriptor & 8 != 0 {
        return Err(stored.damaged(at, "the zstd frame's header has a reserved bit set"));
    }
    let is_single = descriptor & 0x20 != 0;
    let mut at = at + 5;
    let mut window = 0;
    if !is_single {
        let byte = stored.number(at, 1)?;
        let base = 1u64 << (10 + (byte >> 3));
        window = base + base / 8 * (byte & 7);
        at += 1;
    }
    let dictionary_size = [0, 1, 2, 4][(descriptor & 3) as usize];
    let dictionary = stored.number(at, dictionary_size)?;
    at += u64::from(dictionary_size);
    let (content_size, plus) = match descriptor >> 6 {
        0 => (u32::from(is_single), 0),
        1 => (2, 256),
        2 => (4, 0),
        _ => (8, 0),
    };
    let content = stored.number(at, content_size)?.saturating_add(plus);
    at += u64::from(content_size);
    Ok(Header {
        content: (content_size > 0).then_some(content),
        window: if is_single { content } else { window },
        dictionary,
        has_checksum: descriptor & 4 != 0,
        end: at,
    })
}

impl Header {
    /// Why this frame, though it may be valid, cannot be decoded here.
    pub fn unsupported(&self) -> Option<String> {
        let most = 1 << WINDOW_LOG;
        match (self.dictionary, self.window) {
            (0, window) if window <= most => None,
            (0, window) => Some(format!(
                "the zstd frame needs {window} bytes of memory (its window), and the limit is {most}"
            )),
            (id, _) => {
                Some(format!("the zstd frame needs dictionary {id}, which the container does not give"))
            }
        }
    }
}

/// Reads the stored range, a few bytes at a time.
pub struct Stored<'a> {
    source: &'a Arc<dyn Source>,
    place: &'a Place,
    end: u64,
    /// The bytes buffered, from `start` on.
    buffer: Vec<u8>,
    start: u64,
}

/// Bytes read at a time: one page, since the next block header is far away unless blocks are small.
const AHEAD: u64 = 4 << 10;

impl<'a> Stored<'a> {
    pub fn new(source: &'a Arc<dyn Source>, end: u64, place: &'a Place) -> Stored<'a> {
        Stored { source, place, end, buffer: Vec::new(), start: 0 }
    }

    /// The little-endian number of `count` bytes (at most 8) at `at`.
    pub fn number(&mut self, at: u64, count: u32) -> Result<u64> {
        let count = count as usize;
        self.within(at, at.saturating_add(count as u64))?;
        if self.buffered(at, count).is_none() {
            self.buffer.resize(AHEAD.min(self.end - at) as usize, 0);
            self.start = u64::MAX;
            self.source.read_exact_at(&mut self.buffer, at)?;
            self.start = at;
        }
        let bytes = self.buffered(at, count).unwrap_or_default();
        Ok(bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    fn buffered(&self, at: u64, count: usize) -> Option<&[u8]> {
        let from = usize::try_from(at.checked_sub(self.start)?).ok()?;
        self.buffer.get(from..from.checked_add(count)?)
    }

    fn within(&self, at: u64, end: u64) -> Result<()> {
        match end <= self.end {
            true => Ok(()),
            false => Err(self.damaged(at, "the zstd stream ends early")),
        }
    }

    pub fn damaged(&self, at: u64, problem: &str) -> Error {
        Error::damaged(self.place.at(at), problem)
    }
}
