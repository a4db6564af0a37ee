//! Text of rows whose lengths are found by generating them: the first request for the length generates all of it once.
//! The positions of blocks of rows are kept, so that later reads generate only the blocks they need.

use std::ops::{ControlFlow, Range};
use std::sync::OnceLock;

use parking_lot::Mutex;

use super::{Computed, PIECE, Window, in_pieces};
use crate::error::Place;
use crate::{Error, Result};

/// Approximate size of a block of text, in bytes.
const BLOCK: u64 = 32 << 10;
/// After a longer one fewer rows are taken: its text is far longer than what is stored.
const LARGE: u64 = 8 * BLOCK;
/// Maximum number of bytes written for rows without any stored byte.
const MAX_EMPTY: u64 = 1 << 24;

/// What is written row by row.
pub trait Rows: Send + Sync {
    fn count(&self) -> u64;

    /// Where they come from, for messages.
    fn place(&self) -> Place;

    /// Bytes that a row has where it comes from.
    fn stored(&self) -> u64;

    /// Bytes of a row's text that are not of its cells.
    fn around(&self) -> u64;

    /// Bytes that all of it may be, for rows that a small file says many times over.
    fn most(&self) -> u64 {
        u64::MAX
    }

    /// The number of rows in a block, where rows can be skipped in constant time. None: those of a block are not many
    /// bytes.
    fn rows_per_block(&self) -> Option<u64> {
        None
    }

    /// Appends the text of some rows.
    fn write(&self, rows: Range<u64>, text: &mut Window<'_>) -> Result<()>;
}

pub struct Lines<R> {
    /// What comes before the rows.
    head: Vec<u8>,
    rows: R,
    /// Rows of a block at most.
    block: u64,
    /// The end of each block, or why it is unknown.
    ends: OnceLock<Result<Vec<End>>>,
    /// Whoever holds it is finding the ends; others would only do the same.
    finding: Mutex<()>,
}

/// Of a block: how many rows, and bytes of text, there are up to its end.
#[derive(Clone, Copy)]
struct End {
    rows: u64,
    text: u64,
}

impl<R: Rows> Lines<R> {
    pub fn new(head: Vec<u8>, rows: R) -> Lines<R> {
        let row = rows.stored().saturating_add(rows.around());
        let block = rows.rows_per_block().unwrap_or(BLOCK / row.max(8)).max(1);
        Lines { head, rows, block, ends: OnceLock::new(), finding: Mutex::default() }
    }

    fn ends(&self) -> Result<&[End]> {
        if let Some(known) = self.known() {
            return known;
        }
        let _finding = self.finding.lock();
        if let Some(known) = self.known() {
            return known;
        }
        let found = match self.find() {
            Err(error) if !error.lasts() => return Err(error),
            found => found.inspect_err(|error| log::error!("{error}; it has no rows as text")),
        };
        self.ends.get_or_init(|| found).as_deref().map_err(Error::clone)
    }

    fn known(&self) -> Option<Result<&[End]>> {
        self.ends.get().map(|known| known.as_deref().map_err(Error::clone))
    }

    fn find(&self) -> Result<Vec<End>> {
        let (mut ends, mut end) = (Vec::new(), self.head.len() as u64);
        self.each_block(&mut |rows| {
            let mut text = Window::measuring();
            self.rows.write(rows.clone(), &mut text)?;
            end = end.saturating_add(text.len());
            ends.push(End { rows: rows.end, text: end });
            Ok(Some(text.len()))
        })?;
        Ok(ends)
    }

    /// `block` writes the rows of one and says how long they are, or that it is enough.
    fn each_block(&self, block: &mut dyn FnMut(Range<u64>) -> Result<Option<u64>>) -> Result<()> {
        let count = self.rows.count();
        if self.rows.stored() == 0 && count.saturating_mul(self.rows.around()) > MAX_EMPTY {
            return Err(Error::damaged(self.rows.place(), format!("it has {count} rows without a byte")));
        }
        let (mut start, mut end) = (0, self.head.len() as u64);
        // How long a row is as text is known when one was written.
        let mut size = if self.rows.rows_per_block().is_some() { self.block } else { 1 };
        while start < count {
            let rows = start..start.saturating_add(size).min(count);
            start = rows.end;
            let Some(len) = block(rows)? else { return Ok(()) };
            size = match len {
                0..=LARGE => size.saturating_mul(2).min(self.block),
                _ => (size.saturating_mul(BLOCK) / len).max(1),
            };
            end = end.saturating_add(len);
            if end > self.rows.most() {
                let most = self.rows.most();
                let problem = format!("as text it has more than {most} bytes, which is the limit");
                return Err(Error::Unsupported { place: self.rows.place(), problem });
            }
        }
        Ok(())
    }

    fn end(&self, ends: &[End]) -> u64 {
        ends.last().map_or(self.head.len() as u64, |end| end.text)
    }
}

impl<R: Rows> Computed for Lines<R> {
    fn known_len(&self) -> Option<u64> {
        match self.rows.count() {
            0 => Some(self.head.len() as u64),
            _ => self.known()?.ok().map(|ends| self.end(ends)),
        }
    }

    fn len(&self) -> Result<u64> {
        self.ends().map(|ends| self.end(ends))
    }

    fn fill(&self, buf: &mut [u8], offset: u64) -> Result<()> {
        let ends = self.ends()?;
        in_pieces(buf, offset, &mut |rest, at| {
            let block = ends.partition_point(|end| end.text <= at);
            let before = block.checked_sub(1).and_then(|before| ends.get(before)).copied();
            let start = before.unwrap_or(End { rows: 0, text: self.head.len() as u64 });
            let is_head = at < start.text;
            let mut text = Window::new(rest, if is_head { at } else { at - start.text });
            match ends.get(block) {
                _ if is_head => text.put(&self.head),
                None => return Err(Error::Other("read past the end".into())),
                Some(end) => self.rows.write(start.rows..end.rows, &mut text)?,
            }
            match text.filled() {
                0 => Err(Error::Other("a row is not as long as it was".into())),
                count => Ok(count),
            }
        })
    }

    /// Needs no lengths, so the first rows come at once.
    fn pass(&self, each: &mut dyn FnMut(&[u8]) -> ControlFlow<()>) -> Result<()> {
        if each(&self.head).is_break() {
            return Ok(());
        }
        let mut room = vec![0; PIECE];
        self.each_block(&mut |rows| {
            let mut passed = 0;
            loop {
                let mut text = Window::new(&mut room, passed);
                let written = self.rows.write(rows.clone(), &mut text);
                let (len, filled) = (text.len(), text.filled());
                let is_enough = each(room.get(..filled).unwrap_or_default()).is_break();
                written?;
                passed += filled as u64;
                if is_enough || passed >= len {
                    return Ok((!is_enough).then_some(len));
                }
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    /// Fails in its third row so often, with damage or because of the system.
    struct Failing {
        lasts: bool,
        failures: AtomicU64,
        written: AtomicU64,
    }

    impl Rows for Failing {
        fn count(&self) -> u64 {
            3
        }
        fn place(&self) -> Place {
            Place::default()
        }
        fn stored(&self) -> u64 {
            BLOCK
        }
        fn around(&self) -> u64 {
            0
        }
        fn most(&self) -> u64 {
            12
        }
        fn write(&self, rows: Range<u64>, text: &mut Window<'_>) -> Result<()> {
            self.written.fetch_add(1, Ordering::Relaxed);
            let fails = rows.start == 2 && self.failures.load(Ordering::Relaxed) > 0;
            if fails {
                self.failures.fetch_sub(1, Ordering::Relaxed);
                return Err(match self.lasts {
                    true => Error::damaged(Place::default(), "it is damaged"),
                    false => Error::read(Place::default(), std::io::Error::other("not now")),
                });
            }
            text.put(b"row\n");
            Ok(())
        }
    }

    fn lines(lasts: bool, failures: u64) -> Lines<Failing> {
        let failures = AtomicU64::new(failures);
        Lines::new(Vec::new(), Failing { lasts, failures, written: AtomicU64::new(0) })
    }

    #[test]
    fn damage_is_remembered_and_what_the_system_says_is_not() {
        let damaged = lines(true, 1);
        for _ in 0..3 {
            assert!(damaged.len().is_err() && damaged.known_len().is_none());
            assert!(damaged.fill(&mut [0; 4], 0).unwrap_err().to_string().contains("it is damaged"));
        }
        assert_eq!(damaged.rows.written.load(Ordering::Relaxed), 3);
        let later = lines(false, 1);
        assert!(later.len().is_err());
        assert_eq!((later.len().unwrap(), later.known_len()), (12, Some(12)));
    }

    /// Rows of which the second is longer than a piece.
    struct Long;

    impl Rows for Long {
        fn count(&self) -> u64 {
            3
        }
        fn place(&self) -> Place {
            Place::default()
        }
        fn stored(&self) -> u64 {
            BLOCK
        }
        fn around(&self) -> u64 {
            0
        }
        fn write(&self, rows: Range<u64>, text: &mut Window<'_>) -> Result<()> {
            rows.for_each(|row| text.put(&vec![row as u8; if row == 1 { 2 * PIECE + 5 } else { 7 }]));
            Ok(())
        }
    }

    #[test]
    fn passing_is_reading_but_begins_at_once() {
        let long = Lines::new(b"names\n".to_vec(), Long);
        let mut passed = Vec::new();
        let mut keep = |piece: &[u8]| {
            passed.extend_from_slice(piece);
            ControlFlow::Continue(())
        };
        long.pass(&mut keep).unwrap();
        assert!(long.known_len().is_none());
        let mut read = vec![0; long.len().unwrap() as usize];
        long.fill(&mut read, 0).unwrap();
        assert!(passed == read && read.len() == 6 + 7 + 2 * PIECE + 5 + 7);

        let (damaged, mut passed) = (lines(true, 1), 0);
        let mut count = |piece: &[u8]| {
            passed += piece.len();
            ControlFlow::Continue(())
        };
        assert!(damaged.pass(&mut count).is_err());
        assert_eq!((passed, damaged.rows.written.load(Ordering::Relaxed)), (8, 3));
        let valid = lines(true, 0);
        let mut enough =
            |piece: &[u8]| if piece.is_empty() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) };
        assert!(valid.pass(&mut enough).is_ok());
        assert_eq!(valid.rows.written.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn more_than_may_be_is_refused() {
        let mut rows = lines(true, 0);
        rows.head = b"names\n".to_vec();
        assert!(rows.len().unwrap_err().to_string().contains("more than 12 bytes"));
    }

    /// Ten rows of one byte, each of which is a megabyte of text.
    struct Wide(AtomicU64);

    impl Rows for Wide {
        fn count(&self) -> u64 {
            10
        }
        fn place(&self) -> Place {
            Place::default()
        }
        fn stored(&self) -> u64 {
            1
        }
        fn around(&self) -> u64 {
            0
        }
        fn write(&self, rows: Range<u64>, text: &mut Window<'_>) -> Result<()> {
            for row in rows {
                self.0.fetch_add(1, Ordering::Relaxed);
                text.put(&vec![b'0' + row as u8; 1 << 20]);
            }
            Ok(())
        }
    }

    #[test]
    fn a_row_that_is_long_as_text_is_not_written_with_others_that_nobody_reads() {
        let lines = Lines::new(Vec::new(), Wide(AtomicU64::new(0)));
        assert_eq!(lines.len().unwrap(), 10 << 20);
        let written = |lines: &Lines<Wide>| lines.rows.0.swap(0, Ordering::Relaxed);
        assert_eq!(written(&lines), 10);
        let mut part = [0; 3];
        lines.fill(&mut part, (7 << 20) - 1).unwrap();
        assert_eq!((&part, written(&lines)), (b"677", 2));
    }
}
