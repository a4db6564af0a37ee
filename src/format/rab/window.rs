//! Reads the header text piece by piece: at most a window of it is in memory, or one entry if that is larger.

use std::ops::Range;

use crate::Result;
use crate::source::Source;

/// Bytes per read.
const WINDOW: usize = 1 << 20;
/// Minimum bytes buffered before an entry is parsed, so that few entries are parsed twice.
const AHEAD: usize = 64 << 10;

pub struct Window<'s> {
    source: &'s dyn Source,
    header: Range<u64>,
    /// File offset of the first byte that has not been fetched.
    next: u64,
    buffer: Vec<u8>,
    /// Number of bytes of the buffer that have been consumed.
    used: usize,
}

impl<'s> Window<'s> {
    pub fn new(source: &'s dyn Source, header: Range<u64>) -> Window<'s> {
        Window { source, next: header.start, header, buffer: Vec::new(), used: 0 }
    }

    /// Offset in the header of the first byte that has not been consumed.
    pub fn position(&self) -> usize {
        (self.next - self.header.start) as usize - (self.buffer.len() - self.used)
    }

    /// The buffered bytes, and whether they reach the end of the header.
    pub fn rest(&self) -> (&[u8], bool) {
        (self.buffer.get(self.used..).unwrap_or_default(), self.next == self.header.end)
    }

    /// The first `count` buffered bytes.
    pub fn bytes(&self, count: usize) -> &[u8] {
        let (rest, _) = self.rest();
        rest.get(..count).unwrap_or(rest)
    }

    /// Is nothing left but line breaks?
    pub fn is_done(&self) -> bool {
        let (rest, last) = self.rest();
        last && rest.iter().all(|b| *b == b'\n')
    }

    pub fn consume(&mut self, count: usize) {
        self.used = (self.used + count).min(self.buffer.len());
    }

    pub fn skip_line_breaks(&mut self) -> Result<()> {
        self.fill()?;
        let breaks = self.rest().0.iter().take_while(|b| **b == b'\n').count();
        self.consume(breaks);
        Ok(())
    }

    /// Makes sure that enough is buffered.
    pub fn fill(&mut self) -> Result<()> {
        let (rest, last) = self.rest();
        if last || rest.len() >= AHEAD { Ok(()) } else { self.fetch() }
    }

    /// Fetches another window, or doubles the buffer if that is larger.
    fn fetch(&mut self) -> Result<()> {
        self.buffer.drain(..self.used);
        self.used = 0;
        let have = self.buffer.len();
        let more = (self.header.end - self.next).min(have.max(WINDOW) as u64);
        self.buffer.resize(have + more as usize, 0);
        let Some(fresh) = self.buffer.get_mut(have..) else { return Ok(()) };
        self.source.read_exact_at(fresh, self.next)?;
        self.source.check()?;
        self.next += more;
        Ok(())
    }

    /// The length of the text up to the next line that begins with "- ", or to the end; None if the text does not begin
    /// with it.
    pub fn piece(&mut self) -> Result<Option<usize>> {
        let mut searched = 0;
        loop {
            let (rest, last) = self.rest();
            if !rest.starts_with(b"- ") {
                return Ok(None);
            }
            let found = memchr::memmem::find(rest.get(searched..).unwrap_or_default(), b"\n- ");
            match found {
                Some(at) => return Ok(Some(searched + at + 1)),
                None if last => return Ok(Some(rest.len())),
                None => searched = rest.len().saturating_sub(2),
            }
            self.fetch()?;
        }
    }
}
