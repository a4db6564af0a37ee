//! The decoded bytes, the window in front of them.

use super::references::References;

/// How far back deflate can refer (RFC 1951, 2).
pub const WINDOW: usize = 32 << 10;
/// Room behind the limit of the loop: it may pass that by some literals and a match, and copies in larger pieces than
/// it needs.
pub const SLACK: usize = 512;
/// Decoded bytes between two moves of the window.
const ROOM: usize = 64 << 10;
const SIZE: usize = WINDOW + ROOM + SLACK;

/// Invariant: `taken <= end <= SIZE`. What precedes `end` are the last decoded bytes, at least [`WINDOW`] of them
/// or all.
pub struct Output {
    pub bytes: Box<[u8; SIZE]>,
    pub end: usize,
    taken: usize,
    /// Kept for reuse when `is_tracked` is false.
    pub references: Option<References>,
    pub is_tracked: bool,
}

impl Output {
    pub fn new() -> Output {
        let bytes = vec![0; SIZE].into_boxed_slice().try_into();
        Output {
            bytes: bytes.unwrap_or_else(|_| unreachable!("the length is that of the array")),
            end: 0,
            taken: 0,
            references: None,
            is_tracked: false,
        }
    }

    /// Forgets everything; what comes next may refer to the last bytes of `window`.
    pub fn reset(&mut self, window: &[u8]) {
        let window = window.get(window.len().saturating_sub(WINDOW)..).unwrap_or_default();
        if let Some(place) = self.bytes.get_mut(..window.len()) {
            place.copy_from_slice(window);
        }
        self.end = window.len();
        self.taken = self.end;
        self.is_tracked = false;
    }

    /// Looks for references from here on to what precedes.
    pub fn track(&mut self) {
        self.references.get_or_insert_with(References::new).start(self.end);
        self.is_tracked = true;
    }

    /// Moves decoded bytes into `out`, which may be too short for them; returns how many.
    pub fn take(&mut self, out: &mut [u8]) -> usize {
        let fresh = self.bytes.get(self.taken..self.end).unwrap_or_default();
        let count = fresh.len().min(out.len());
        if let (Some(to), Some(from)) = (out.get_mut(..count), fresh.get(..count)) {
            to.copy_from_slice(from);
        }
        self.taken += count;
        count
    }

    pub fn is_taken(&self) -> bool {
        self.taken == self.end
    }

    /// How far to decode for `count` more bytes; fewer if there is no room for them. All bytes have been taken.
    pub fn limit(&mut self, count: usize) -> usize {
        if self.end >= SIZE - SLACK {
            let count = self.end - WINDOW;
            self.bytes.copy_within(count..self.end, 0);
            self.references.iter_mut().for_each(|references| references.shift(count));
            self.end = WINDOW;
            self.taken = WINDOW;
        }
        self.end + count.min(SIZE - SLACK - self.end)
    }

    pub fn window(&self) -> &[u8] {
        self.bytes.get(self.end.saturating_sub(WINDOW)..self.end).unwrap_or_default()
    }

    /// Appends bytes, as many as there is room for below `limit`; returns how many.
    pub fn append(&mut self, bytes: &[u8], limit: usize) -> usize {
        let count = bytes.len().min(limit.saturating_sub(self.end));
        if let (Some(to), Some(from)) = (self.bytes.get_mut(self.end..self.end + count), bytes.get(..count)) {
            to.copy_from_slice(from);
        }
        self.end += count;
        count
    }

    /// Appends a literal.
    pub fn push(&mut self, literal: u8) {
        if let Some(place) = self.bytes.get_mut(self.end) {
            *place = literal;
            self.end += 1;
        }
    }

    /// Repeats `length` bytes from `distance` bytes ago; false if there are no such bytes.
    pub fn repeat(&mut self, distance: usize, length: usize) -> bool {
        let Some(from) = self.end.checked_sub(distance) else { return false };
        self.references.iter_mut().for_each(|references| references.note(from, length));
        for at in from..from + length {
            self.push(self.bytes.get(at).copied().unwrap_or(0));
        }
        true
    }
}
