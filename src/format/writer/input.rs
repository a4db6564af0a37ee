//! Readers that datasets are stored from. Everything that is added is turned into one, so that no dataset is ever
//! loaded into memory whole.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;

use tempfile::SpooledTempFile;

/// Bytes set aside in memory before a temporary file is used.
const IN_MEMORY: usize = 1 << 20;

/// Bytes generated a piece at a time: `fill` appends the next ones to an empty buffer, or nothing at the end.
pub struct Pieces<F> {
    fill: F,
    piece: Vec<u8>,
    used: usize,
}

impl<F: FnMut(&mut Vec<u8>)> Pieces<F> {
    pub fn new(fill: F) -> Pieces<F> {
        Pieces { fill, piece: Vec::new(), used: 0 }
    }
}

impl<F: FnMut(&mut Vec<u8>)> Read for Pieces<F> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.used == self.piece.len() {
            self.used = 0;
            self.piece.clear();
            (self.fill)(&mut self.piece);
        }
        let count = self.piece.get(self.used..).unwrap_or_default().read(into)?;
        self.used += count;
        Ok(count)
    }
}

/// Readers in sequence.
pub struct Chain<'a>(pub VecDeque<Box<dyn Read + 'a>>);

impl Read for Chain<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while let Some(first) = self.0.front_mut() {
            match first.read(into)? {
                0 if !into.is_empty() => drop(self.0.pop_front()),
                count => return Ok(count),
            }
        }
        Ok(0)
    }
}

/// The bytes `at..end` of a file.
pub struct Stretch<'f> {
    pub file: &'f File,
    pub at: u64,
    pub end: u64,
}

impl Read for Stretch<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let most = (into.len() as u64).min(self.end - self.at) as usize;
        let count = self.file.read_at(into.get_mut(..most).unwrap_or_default(), self.at)?;
        self.at += count as u64;
        Ok(count)
    }
}

/// Buffers data decoded from a stretch that is about to be overwritten with it: writing directly could overtake
/// reading.
pub fn set_aside(mut decoded: impl Read, directory: &Path) -> io::Result<SpooledTempFile> {
    let mut aside = SpooledTempFile::new_in(IN_MEMORY, directory);
    io::copy(&mut decoded, &mut aside)?;
    aside.rewind()?;
    Ok(aside)
}

/// Counts the bytes read.
pub struct Counted<R> {
    pub input: R,
    pub count: u64,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.input.read(into)?;
        self.count += count as u64;
        Ok(count)
    }
}

/// Copies elements of `size` bytes in reversed byte order; size 0 or 1 copies unchanged.
pub fn swapped(size: usize, data: &mut dyn Read, to: &mut dyn Write) -> io::Result<()> {
    const PIECE: usize = 256 << 10;
    if size < 2 {
        return io::copy(data, to).map(drop);
    }
    let mut piece = Vec::new();
    loop {
        piece.clear();
        data.take((PIECE - PIECE % size).max(size) as u64).read_to_end(&mut piece)?;
        if piece.is_empty() {
            return Ok(());
        }
        piece.chunks_exact_mut(size).for_each(<[u8]>::reverse);
        to.write_all(&piece)?;
    }
}

/// Fails unless the input has exactly `need` bytes.
pub struct Exactly<R> {
    input: R,
    need: u64,
    had: u64,
}

impl<R: Read> Exactly<R> {
    pub fn new(input: R, need: u64) -> Exactly<R> {
        Exactly { input, need, had: 0 }
    }
}

impl<R: Read> Read for Exactly<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.input.read(into)?;
        self.had += count as u64;
        let is_end = count == 0 && !into.is_empty();
        if self.had > self.need {
            return Err(io::Error::other(format!(
                "it has more than the {} bytes of its description",
                self.need
            )));
        }
        if is_end && self.had < self.need {
            let Exactly { need, had, .. } = self;
            return Err(io::Error::other(format!("it has {had} bytes, but its description needs {need}")));
        }
        Ok(count)
    }
}

/// Fails at the first byte that is not UTF-8.
pub struct Utf8<R> {
    input: R,
    /// Bytes not checked yet: at most the first bytes of a character, between two reads.
    open: Vec<u8>,
    /// Number of valid bytes so far.
    good: u64,
    is_bad: bool,
}

impl<R: Read> Utf8<R> {
    pub fn new(input: R) -> Utf8<R> {
        Utf8 { input, open: Vec::new(), good: 0, is_bad: false }
    }

    /// The offset of the first invalid byte, if one was found.
    pub fn bad_at(&self) -> Option<u64> {
        self.is_bad.then_some(self.good)
    }
}

impl<R: Read> Read for Utf8<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.input.read(into)?;
        self.open.extend(into.iter().take(count));
        let (good, is_bad) = match std::str::from_utf8(&self.open) {
            Ok(text) => (text.len(), false),
            Err(error) => (error.valid_up_to(), error.error_len().is_some()),
        };
        self.open.drain(..good);
        self.good += good as u64;
        let is_cut = count == 0 && !into.is_empty() && !self.open.is_empty();
        self.is_bad = is_bad || is_cut;
        if self.is_bad {
            return Err(io::Error::other(format!("its text is not UTF-8 at byte {}", self.good)));
        }
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a few bytes per read.
    struct Slow<'b>(&'b [u8], usize);

    impl Read for Slow<'_> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let most = into.len().min(self.1);
            self.0.read(into.get_mut(..most).unwrap_or_default())
        }
    }

    #[test]
    fn utf8_is_judged_across_reads() {
        let read = |bytes: &[u8], step| {
            let mut out = Vec::new();
            Utf8::new(Slow(bytes, step)).read_to_end(&mut out).map(|_| out).map_err(|error| error.to_string())
        };
        for step in 1..9 {
            let good = "aé漢🦏".as_bytes();
            assert_eq!(read(good, step), Ok(good.to_vec()));
            assert_eq!(read(b"a\xC3\xA9\xFFb", step), Err("its text is not UTF-8 at byte 3".into()));
            assert_eq!(read(b"a\xF0\x9F", step), Err("its text is not UTF-8 at byte 1".into()));
            assert!(read(b"\xED\xA0\x80", step).is_err());
        }
    }

    #[test]
    fn lengths_are_compared() {
        let read = |need| io::copy(&mut Exactly::new(Slow(b"abcdef", 4), need), &mut io::sink());
        assert_eq!(read(6).unwrap(), 6);
        assert_eq!(read(5).unwrap_err().to_string(), "it has more than the 5 bytes of its description");
        assert_eq!(read(7).unwrap_err().to_string(), "it has 6 bytes, but its description needs 7");
    }
}
