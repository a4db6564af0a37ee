//! Contents made of fixed-size slots that are generated independently: a range needs only the slots it overlaps.

use std::sync::Arc;

use parking_lot::Mutex;

use crate::Result;
use crate::content::{Computed, Content, Units};

/// Approximate number of bytes generated at once.
const PIECE: u64 = 256 << 10;
/// A slot of at least this size is kept for the reader of the rest of it.
const LARGE: u64 = 32 << 10;

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
        len => Some(Content::Computed(Arc::new(Whole { size, len, slots, last: Mutex::default() }))),
    }
}

struct Whole<S> {
    size: u64,
    len: u64,
    slots: S,
    /// The last large slot of which a part was read, and its number.
    last: Mutex<Option<(u64, Arc<[u8]>)>>,
}

impl<S: Slots> Whole<S> {
    /// One slot, of which a part is wanted.
    fn slot(&self, number: u64) -> Result<Arc<[u8]>> {
        if let Some((_, slot)) = self.last.lock().as_ref().filter(|(last, _)| *last == number) {
            return Ok(slot.clone());
        }
        let mut slot = vec![0; self.size as usize];
        self.slots.make(&mut slot, number)?;
        let slot: Arc<[u8]> = slot.into();
        if self.size >= LARGE {
            *self.last.lock() = Some((number, slot.clone()));
        }
        Ok(slot)
    }
}

impl<S: Slots> Computed for Whole<S> {
    fn known_len(&self) -> Option<u64> {
        Some(self.len)
    }

    fn fill(&self, buf: &mut [u8], offset: u64) -> Result<()> {
        let slots = Units { size: self.size, len: self.len, max_chunk: PIECE.max(self.size) };
        slots.fill(buf, offset, &|buf, first| self.slots.make(buf, first), &|buf, number, skip| {
            let slot = self.slot(number)?;
            let part = slot.get(skip as usize..).and_then(|part| part.get(..buf.len()));
            buf.copy_from_slice(part.unwrap_or_default());
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;
    use crate::view::kit::read;

    /// Each slot has its number and the place in it, in pieces of 64 KiB, in all bytes.
    struct Counting(Arc<AtomicU64>);

    impl Slots for Counting {
        fn make(&self, slots: &mut [u8], first: u64) -> Result<()> {
            self.0.fetch_add(1, Ordering::Relaxed);
            for (number, slot) in (first..).zip(slots.chunks_mut(SIZE)) {
                for (place, piece) in (0..).zip(slot.chunks_mut(64 << 10)) {
                    piece.fill(number as u8 * 16 + place);
                }
            }
            Ok(())
        }
    }

    const SIZE: usize = 1 << 20;

    #[test]
    fn a_large_slot_is_made_once_for_a_reader_of_pieces() {
        let count = Arc::new(AtomicU64::new(0));
        let content = content(SIZE as u64, 3, Counting(count.clone())).unwrap();
        let (mut at, mut piece) = (0u64, vec![0; 128 << 10]);
        while at < 3 * SIZE as u64 {
            content.fill(&mut piece, at).unwrap();
            let want =
                |place: usize| (at / SIZE as u64 * 16 + (at % SIZE as u64 + place as u64) / (64 << 10)) as u8;
            assert!(piece.iter().enumerate().all(|(place, byte)| *byte == want(place)));
            at += piece.len() as u64;
        }
        assert_eq!(count.load(Ordering::Relaxed), 3);
        read(&content);
    }
}
