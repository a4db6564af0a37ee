//! Divides the bytes of an input, which may be a pipe, into records.

use std::io::{self, BufRead, Read};

use crate::error::{Place, counted};
use crate::{Error, Result};

/// Where a record of an input ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Framing {
    /// At the end of the input: all of it is one record.
    #[default]
    Whole,
    /// Before a line feed (0x0A), which is not part of it and may be missing after the last record.
    Lines,
    /// Before a NUL (0x00), like lines.
    Nul,
    /// After the length in bytes that precedes it as a 32-bit unsigned little-endian integer.
    Length32,
    /// After the length in bytes that precedes it as a 64-bit unsigned little-endian integer.
    Length64,
}

impl Framing {
    /// The byte that ends records.
    pub fn delimiter(self) -> Option<u8> {
        match self {
            Framing::Lines => Some(b'\n'),
            Framing::Nul => Some(0),
            Framing::Whole | Framing::Length32 | Framing::Length64 => None,
        }
    }

    /// Bytes of framing per record.
    pub fn around(self) -> u64 {
        if self.delimiter().is_some() { 1 } else { self.prefix() }
    }

    /// Size in bytes of the length prefix; 0: none.
    fn prefix(self) -> u64 {
        match self {
            Framing::Length32 => 4,
            Framing::Length64 => 8,
            Framing::Whole | Framing::Lines | Framing::Nul => 0,
        }
    }
}

/// The records of an input, in sequence. Reading returns the bytes of the current record; none is loaded whole.
pub struct Frames<R> {
    from: R,
    framing: Framing,
    place: Place,
    /// Bytes of the input read so far.
    at: u64,
    /// Number of records begun.
    count: u64,
    /// Maximum number of bytes left in the current record.
    left: u64,
}

impl<R: BufRead> Frames<R> {
    pub fn new(from: R, framing: Framing, place: Place) -> Frames<R> {
        Frames { from, framing, place, at: 0, count: 0, left: 0 }
    }

    /// Continues with the next record, once the current one was read to its end. False if there is no other.
    ///
    /// # Errors
    ///
    /// The input ends within the current record or a length prefix, or cannot be read.
    pub fn advance(&mut self) -> Result<bool> {
        if self.left > 0 {
            let left = self.left;
            return Err(self.cut(format!(
                "it ends {} before the end of record {}",
                counted(left, "byte"),
                self.count - 1
            )));
        }
        let is_there = match self.framing {
            Framing::Whole => self.count == 0,
            Framing::Lines | Framing::Nul => self.has_more()?,
            Framing::Length32 | Framing::Length64 => return self.length(),
        };
        self.left = if is_there { u64::MAX } else { 0 };
        self.count += u64::from(is_there);
        Ok(is_there)
    }

    fn has_more(&mut self) -> Result<bool> {
        loop {
            match self.from.fill_buf() {
                Ok(bytes) => return Ok(!bytes.is_empty()),
                Err(cause) if cause.kind() == io::ErrorKind::Interrupted => {}
                Err(cause) => return Err(Error::read(self.place.clone(), cause)),
            }
        }
    }

    /// Reads the length of the next record.
    fn length(&mut self) -> Result<bool> {
        let (mut bytes, need) = ([0; 8], self.framing.prefix());
        let mut to = io::Cursor::new(&mut bytes[..]);
        let read = io::copy(&mut (&mut self.from).take(need), &mut to);
        let have = read.map_err(|cause| Error::read(self.place.clone(), cause))?;
        self.at += have;
        if have == 0 {
            return Ok(false);
        }
        if have < need {
            let number = self.count;
            let problem =
                format!("it ends within the length of record {number}, {have} bytes of {need} are there");
            return Err(self.cut(problem));
        }
        self.left = u64::from_le_bytes(bytes);
        self.count += 1;
        Ok(true)
    }

    fn cut(&self, problem: String) -> Error {
        let bits = 8 * self.framing.prefix();
        let expected =
            format!("each record must be preceded by its length, a {bits}-bit little-endian integer");
        Error::damaged(self.place.at(self.at), format!("{problem} ({expected})"))
    }
}

impl<R: BufRead> Read for Frames<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.left == 0 || into.is_empty() {
            return Ok(0);
        }
        let here = self.from.fill_buf()?;
        let end = self.framing.delimiter().and_then(|byte| memchr::memchr(byte, here));
        let most = usize::try_from(self.left).unwrap_or(usize::MAX);
        let count = end.unwrap_or(here.len()).min(into.len()).min(most);
        into.iter_mut().zip(here).take(count).for_each(|(to, from)| *to = *from);
        let (is_delimiter, is_over) = (end == Some(count), here.is_empty());
        let passed = count + usize::from(is_delimiter);
        self.from.consume(passed);
        self.at += passed as u64;
        match self.framing.prefix() {
            0 if is_delimiter || is_over => self.left = 0,
            0 => {}
            // At the end of the input, `left` stays what was cut off.
            _ => self.left -= count as u64,
        }
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    /// Records and their terminators, read through a buffer of `size` bytes.
    fn records(bytes: &[u8], framing: Framing, room: usize) -> (Vec<Vec<u8>>, Option<String>) {
        let from = io::BufReader::with_capacity(room, bytes);
        let mut frames = Frames::new(from, framing, Place::file(Path::new("in")));
        let mut found = Vec::new();
        loop {
            match frames.advance() {
                Ok(true) => {}
                Ok(false) => return (found, None),
                Err(error) => return (found, Some(error.to_string())),
            }
            let mut record = Vec::new();
            frames.read_to_end(&mut record).unwrap();
            found.push(record);
        }
    }

    #[test]
    fn every_framing() {
        let many = [&b"ab"[..], b"", b"\0\n", b"c"];
        let prefixed = |size: usize| -> Vec<u8> {
            let framed =
                many.iter().map(|record| [&(record.len() as u64).to_le_bytes()[..size], *record].concat());
            framed.collect::<Vec<_>>().concat()
        };
        for room in [1, 2, 3, 100] {
            assert_eq!(
                records(&prefixed(4), Framing::Length32, room),
                (many.map(<[u8]>::to_vec).to_vec(), None)
            );
            assert_eq!(
                records(&prefixed(8), Framing::Length64, room),
                (many.map(<[u8]>::to_vec).to_vec(), None)
            );
            let text = |bytes: &str| (bytes.split(',').map(|part| part.as_bytes().to_vec()).collect(), None);
            assert_eq!(records(b"a\n\nb\0c\n", Framing::Lines, room), text("a,,b\0c"));
            assert_eq!(records(b"a\n\nb\0c", Framing::Nul, room), text("a\n\nb,c"));
            assert_eq!(records(b"a\0\0", Framing::Nul, room), text("a,"));
            assert_eq!(records(b"a\n\0", Framing::Whole, room), text("a\n\0"));
            for framing in [Framing::Lines, Framing::Nul, Framing::Length32, Framing::Length64] {
                assert_eq!(records(b"", framing, room), (vec![], None));
            }
            assert_eq!(records(b"", Framing::Whole, room), text(""));
        }
    }

    #[test]
    fn what_is_cut_is_named_with_its_offset() {
        let cut = b"\x01\0\0\0a\x05\0\0\0bcd";
        let (found, problem) = records(cut, Framing::Length32, 2);
        assert_eq!(found, [&b"a"[..], b"bcd"]);
        let problem = problem.unwrap();
        assert!(problem.contains("at byte 12: it ends 2 bytes before the end of record 1 ("), "{problem}");
        let (_, problem) = records(&cut[..7], Framing::Length32, 100);
        let problem = problem.unwrap();
        assert!(
            problem.contains("at byte 7: it ends within the length of record 1, 2 bytes of 4 are there"),
            "{problem}"
        );
        // An impossible length is not allocated.
        let (_, problem) = records(&[0xFF; 9], Framing::Length64, 100);
        let problem = problem.unwrap();
        assert!(problem.contains("ends 18446744073709551614 bytes before the end of record 0"), "{problem}");
    }
}
