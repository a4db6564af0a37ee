//! Reads the stored bytes of a stream in pieces, from front to back.

use std::ops::Range;
use std::sync::Arc;

use crate::Result;
use crate::source::Source;

/// Stored bytes are fetched in pieces: this much at first, as a random read needs no more, and then twice as much each
/// time.
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
        self.ahead(1).map(|(bytes, _)| bytes)
    }

    /// The buffered bytes, fetching more if there are fewer than `least`, and whether they are all that is left.
    pub fn ahead(&mut self, least: usize) -> Result<(&[u8], bool)> {
        while self.buffered() < least && !self.is_all() {
            self.fetch()?;
        }
        Ok((self.buffer.get(self.used..).unwrap_or_default(), self.is_all()))
    }

    fn buffered(&self) -> usize {
        self.buffer.len() - self.used
    }

    fn is_all(&self) -> bool {
        self.at + self.buffered() as u64 >= self.end
    }

    /// Appends the next piece to what is buffered.
    fn fetch(&mut self) -> Result<()> {
        self.buffer.drain(..self.used);
        self.used = 0;
        let kept = self.buffer.len();
        let from = self.at + kept as u64;
        let size = self.end.saturating_sub(from).min(self.piece as u64);
        self.piece = MAX_PIECE.min(2 * self.piece);
        self.buffer.resize(kept + size as usize, 0);
        let read = self.source.read_exact_at(self.buffer.get_mut(kept..).unwrap_or_default(), from);
        if read.is_err() {
            // Nothing of what was read may be used.
            self.buffer.truncate(kept);
        }
        read
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
