//! Who reads an object in order, and how far ahead of each reader to fetch: nothing for the first 256 KiB, then 1 MiB, then
//! twice as much each time.

use std::ops::Range;

/// Bytes that are fetched ahead of a reader.
const FIRST_WINDOW: u64 = 1 << 20;
const MAX_WINDOW: u64 = 128 << 20;
/// Bytes in a row after which someone reads in order: who opens a container looks at its header in several reads.
const FIRST_RUN: u64 = 256 << 10;
/// Who goes on within so many bytes may be reading in order.
const FIRST_SKIP: u64 = 128 << 10;
/// Who reads in order does so within so many bytes, as the kernel's requests overtake each other.
const MAX_SKIP: u64 = 1 << 20;
/// Readers of one object that are told apart.
const MAX_READERS: usize = 8;

/// The latest first.
#[derive(Default)]
pub struct Readers(Vec<Reader>);

/// A reader that goes through the object.
#[derive(Clone, Copy)]
struct Reader {
    /// Where it began.
    begun: u64,
    /// Where it goes on.
    next: u64,
    window: u64,
    /// Up to here everything is on its way.
    fetched: u64,
}

impl Reader {
    fn goes_on(&self, range: &Range<u64>) -> bool {
        let skip = if self.window > 0 { MAX_SKIP } else { FIRST_SKIP };
        let from = self.next.saturating_sub(skip)..=self.next.saturating_add(skip);
        from.contains(&range.start) && range.end > self.next
    }
}

impl Readers {
    /// What to fetch ahead of whoever reads this range of an object of `len` bytes: at most `limit` bytes for all readers
    /// together.
    pub fn ahead(&mut self, range: &Range<u64>, len: u64, limit: u64) -> Range<u64> {
        let Some(at) = self.0.iter().position(|reader| reader.goes_on(range)) else {
            self.0.truncate(MAX_READERS - 1);
            self.0.insert(0, Reader { begun: range.start, next: range.end, window: 0, fetched: range.end });
            return 0..0;
        };
        let mut reader = self.0.remove(at);
        reader.next = range.end;
        let mut ahead = 0..0;
        let is_long = reader.next.saturating_sub(reader.begun) >= FIRST_RUN;
        // The next window is requested when half of this one is left.
        if is_long && reader.fetched < range.end + reader.window / 2 && reader.fetched < len {
            let others = self.0.iter().filter(|other| other.window > 0).count() as u64;
            reader.window = (2 * reader.window).clamp(FIRST_WINDOW, MAX_WINDOW).min(limit / (1 + others));
            let end = len.min(range.end + reader.window);
            ahead = reader.fetched.max(range.end).min(end)..end;
            reader.fetched = ahead.end;
        }
        self.0.insert(0, reader);
        ahead
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    #[test]
    fn windows_grow() {
        let mut readers = Readers::default();
        let mut end = 0;
        for at in 0..200 {
            let ahead = readers.ahead(&(at * MIB..(at + 1) * MIB), 1000 * MIB, u64::MAX);
            assert!(ahead.is_empty() || ahead.start == end.max((at + 1) * MIB), "{ahead:?} after {end}");
            end = end.max(ahead.end);
            assert!(at < 1 || end > (at + 1) * MIB && end <= (at + 1) * MIB + MAX_WINDOW);
        }
        assert!(end > 260 * MIB);
    }

    #[test]
    fn jumps_are_no_readers_in_order() {
        let mut readers = Readers::default();
        for at in [0, 500, 20, 300, 700, 100] {
            assert_eq!(readers.ahead(&(at * MIB..at * MIB + 4096), 1000 * MIB, u64::MAX), 0..0);
        }
        let mut go_on = |at: u64, len, limit| readers.ahead(&(at + 4096..at + FIRST_RUN), len, limit);
        assert!(!go_on(300 * MIB, 1000 * MIB, u64::MAX).is_empty());
        assert!(go_on(20 * MIB, 20 * MIB + FIRST_RUN, u64::MAX).is_empty());
        assert!(go_on(500 * MIB, 1000 * MIB, 0).is_empty());
    }

    #[test]
    fn who_looks_at_a_header_does_not_read_in_order() {
        let mut readers = Readers::default();
        for range in [0..14, 14..30_000, 30_000..31_000] {
            assert_eq!(readers.ahead(&range, 1000 * MIB, u64::MAX), 0..0);
        }
    }
}
