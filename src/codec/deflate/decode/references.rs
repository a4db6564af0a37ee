//! Which bytes of a window the bytes after it refer to: all that has to be kept of it to decode on from there.

use super::output::WINDOW;

pub struct References {
    /// Index in the output of the first byte after the window; it moves with the output.
    origin: usize,
    /// Of each match that begins in the window its first byte, the last one of the window being [`WINDOW`] - 1, and its
    /// length. To mark its bytes here and now would take as long as to decode it.
    matches: Vec<(u16, u16)>,
}

impl References {
    pub fn new() -> References {
        // Seldom more: matches have three bytes at least, most of them more.
        References { origin: 0, matches: Vec::with_capacity(WINDOW / 8) }
    }

    /// Looks for references to what precedes `origin`.
    pub fn start(&mut self, origin: usize) {
        self.origin = origin;
        self.matches.clear();
    }

    /// Notes a match of `length` bytes that begins at index `from` of the output.
    #[inline(always)]
    pub fn note(&mut self, from: usize, length: usize) {
        if from < self.origin {
            // No match reaches more than a window back from where it is, which is at or after the origin.
            let start = (WINDOW + from).saturating_sub(self.origin);
            self.matches.push((start as u16, length as u16));
        }
    }

    /// The output moves back by `count` bytes. Its origin may be lost, but only when nothing can refer to the window.
    pub fn shift(&mut self, count: usize) {
        self.origin = self.origin.saturating_sub(count);
    }

    /// Index of the output up to which bytes can refer to the window.
    pub fn end(&self) -> usize {
        self.origin + WINDOW
    }

    /// For each byte of the window whether a match has it.
    pub fn used(&self) -> Vec<bool> {
        let mut used = vec![false; WINDOW];
        for (start, length) in &self.matches {
            let end = (usize::from(*start) + usize::from(*length)).min(WINDOW);
            used.get_mut((*start).into()..end).unwrap_or_default().fill(true);
        }
        used
    }
}
