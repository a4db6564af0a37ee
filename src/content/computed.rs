//! Contents that are nowhere as they are read: made for each range that is asked for.

use std::ops::Range;

use super::Bytes;
use crate::Result;
use crate::codec::{Bits, Decoder, Walk};

/// Bytes made range by range. Nobody asks beyond the length.
#[allow(clippy::len_without_is_empty)] // nobody asks
pub trait Computed: Send + Sync {
    fn len(&self) -> u64;

    /// The length before the first damage that was found so far.
    fn sound_len(&self) -> u64 {
        self.len()
    }

    /// Fills `buf` from `offset`.
    fn fill(&self, buf: &mut [u8], offset: u64) -> Result<()>;

    /// As [`Computed::read`] if that does not wait, or None.
    fn read_at_once(&self, range: Range<u64>) -> Result<Option<Bytes>>;

    fn read(&self, range: Range<u64>) -> Result<Bytes> {
        let mut bytes = vec![0; (range.end - range.start) as usize];
        self.fill(&mut bytes, range.start)?;
        Ok(Bytes::Owned(bytes))
    }
}

impl<D: Decoder> Computed for Walk<D> {
    fn len(&self) -> u64 {
        self.len()
    }

    fn sound_len(&self) -> u64 {
        self.sound_len()
    }

    fn fill(&self, buf: &mut [u8], offset: u64) -> Result<()> {
        self.read_exact_at(buf, offset)
    }

    fn read_at_once(&self, range: Range<u64>) -> Result<Option<Bytes>> {
        let cached = self.read_cached((range.end - range.start) as usize, range.start)?;
        Ok(cached.map(Bytes::Owned))
    }
}

impl Computed for Bits {
    fn len(&self) -> u64 {
        self.len()
    }

    fn fill(&self, buf: &mut [u8], offset: u64) -> Result<()> {
        self.read_exact_at(buf, offset)
    }

    fn read_at_once(&self, range: Range<u64>) -> Result<Option<Bytes>> {
        if self.is_cached(range.start, range.end - range.start) {
            self.read(range).map(Some)
        } else {
            Ok(None)
        }
    }
}
