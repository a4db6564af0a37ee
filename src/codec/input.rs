//! Reads the stored bytes of a stream in pieces, from front to back.

use std::ops::Range;
use std::sync::Arc;

use crate::Result;
use crate::source::Source;

/// Stored bytes are fetched in pieces: this much at first, as a random read needs no more, and then twice as much each
/// time. For each piece zlib-rs copies its window, and finds the next matches by a slower path.
pub const FIRST_PIECE: usize = 32 << 10;
const MAX_PIECE: usize = 256 << 10;

pub struct Input {
    source: Arc<dyn Source>,
    /// Offset in the source of the first byte not yet used.
    at: u64,
    end: u64,
    /// Length of the next piece.
    piece: usize,
    buffer: Vec<u8>,
    used: usize,
}

impl Input {
    /// Reuses `buffer`, whose contents are discarded.
    pub fn new(source: Arc<dyn Source>, range: Range<u64>, mut buffer: Vec<u8>) -> Input {
        buffer.clear();
        Input { source, at: range.start, end: range.end, piece: FIRST_PIECE, buffer, used: 0 }
    }

    /// Offset in the source of the next byte.
    pub fn offset(&self) -> u64 {
        self.at
    }

    pub fn into_buffer(self) -> Vec<u8> {
        self.buffer
    }

    /// The buffered bytes, fetching more if there are none; empty only at the end of the range.
    pub fn peek(&mut self) -> Result<&[u8]> {
        if self.used == self.buffer.len() && self.at < self.end {
            let size = (self.end - self.at).min(self.piece as u64);
            self.piece = MAX_PIECE.min(2 * self.piece);
            self.buffer.resize(size as usize, 0);
            // If the read fails, none of the buffer may be used.
            self.used = self.buffer.len();
            self.source.read_exact_at(&mut self.buffer, self.at)?;
            self.used = 0;
        }
        Ok(self.buffer.get(self.used..).unwrap_or(&[]))
    }

    /// Discards `count` of the bytes returned by [`Input::peek`].
    pub fn consume(&mut self, count: usize) {
        self.used += count;
        self.at += count as u64;
    }

    /// The next byte; None at the end of the range.
    pub fn next(&mut self) -> Result<Option<u8>> {
        let byte = self.peek()?.first().copied();
        if byte.is_some() {
            self.consume(1);
        }
        Ok(byte)
    }
}
