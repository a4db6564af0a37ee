//! Bytes that consist of slots of one size, each of them made by itself: any range is made of the slots it meets.

use std::ops::Range;
use std::sync::Arc;

use crate::content::{Bytes, Computed, Content};
use crate::{Error, Result};

/// About so many bytes are made at once.
const PIECE: u64 = 256 << 10;

/// What is in slots.
pub trait Slots: Send + Sync {
    /// Fills whole slots from number `first` on. They are zeros before, or of no meaning.
    fn make(&self, slots: &mut [u8], first: u64) -> Result<()>;
}

/// `count` slots of `size` bytes; None if that is longer than files can be.
pub fn content(size: u64, count: u64, slots: impl Slots + 'static) -> Option<Content> {
    let len = size.checked_mul(count).filter(|len| i64::try_from(*len).is_ok())?;
    match len {
        0 => Some(Content::Inline(Arc::new([]))),
        len => Some(Content::Computed(Arc::new(Whole { size, len, slots }))),
    }
}

struct Whole<S> {
    size: u64,
    len: u64,
    slots: S,
}

impl<S: Slots> Computed for Whole<S> {
    fn known_len(&self) -> Option<u64> {
        Some(self.len)
    }

    fn fill(&self, buf: &mut [u8], offset: u64) -> Result<()> {
        if offset.checked_add(buf.len() as u64).is_none_or(|end| end > self.len) {
            return Err(Error::Other("read past the end".into()));
        }
        let (mut rest, mut at) = (buf, offset);
        while !rest.is_empty() {
            let (first, skip) = (at / self.size, at % self.size);
            let whole = (rest.len() as u64).min(PIECE.max(self.size)) / self.size * self.size;
            let is_whole = skip == 0 && whole > 0;
            let count = if is_whole { whole } else { (self.size - skip).min(rest.len() as u64) };
            let (now, after) = rest.split_at_mut(count as usize);
            if is_whole {
                self.slots.make(now, first)?;
            } else {
                let mut slot = vec![0; self.size as usize];
                self.slots.make(&mut slot, first)?;
                let part = slot.get(skip as usize..).and_then(|part| part.get(..now.len()));
                now.copy_from_slice(part.unwrap_or_default());
            }
            (rest, at) = (after, at + count);
        }
        Ok(())
    }

    /// What is made takes its time.
    fn read_at_once(&self, _: Range<u64>) -> Result<Option<Bytes>> {
        Ok(None)
    }
}
