//! Decoding a zlib (RFC 1950) stream or gzip (RFC 1952) of one or more members, told apart by their
//! first bytes, from front to back. The engine checks Adler-32, CRC-32 and ISIZE; what is added here is
//! that a stream which stops early is an error, as is anything but zeros after the last gzip member.
//!
//! zlib streams may be followed by other bytes, which the format's Python reader ignores, and so do we.

use std::ops::Range;
use std::sync::Arc;

use flate2::{Decompress, FlushDecompress, Status};

use crate::error::Place;
use crate::source::Source;
use crate::{Error, Result};

/// Stored bytes are fetched in pieces of this size.
const INPUT: usize = 32 << 10;
/// The largest window a stream may ask for.
const WINDOW_BITS: u8 = 15;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Wrapper {
    Zlib,
    Gzip,
}

/// A decoder somewhere in its stream. Positions count from the start of the decoded bytes.
pub struct Inflater {
    engine: Decompress,
    wrapper: Wrapper,
    input: Input,
    position: u64,
    finished: bool,
}

/// What can be used again from a decoder that is done, so that reading a million small streams does not
/// allocate and free its tables a million times (which fragments the heap).
pub struct Parts {
    zlib: Option<Decompress>,
    buffer: Vec<u8>,
}

impl Inflater {
    /// A decoder at the start of the stream stored in `range` of `source`.
    pub fn new(
        source: Arc<dyn Source>,
        range: Range<u64>,
        place: &Place,
        parts: Option<Parts>,
    ) -> Result<Inflater> {
        let Parts { zlib, mut buffer } = parts.unwrap_or(Parts { zlib: None, buffer: Vec::new() });
        buffer.clear();
        let mut input = Input { source, at: range.start, end: range.end, buffer, used: 0 };
        let wrapper = input.wrapper().map_err(|e| e.into_error(place, range.start))?;
        let engine = match (wrapper, zlib) {
            (Wrapper::Zlib, Some(mut engine)) => {
                engine.reset(true);
                engine
            }
            _ => new_engine(wrapper),
        };
        Ok(Inflater { engine, wrapper, input, position: 0, finished: false })
    }

    pub fn into_parts(self) -> Parts {
        let zlib = (self.wrapper == Wrapper::Zlib).then_some(self.engine);
        Parts { zlib, buffer: self.input.buffer }
    }

    /// How many bytes have been decoded.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Fills `out`; returns less than its length only at the verified end of the stream. After an error
    /// [`Inflater::position`] tells how far the bytes in `out` are good.
    pub fn read(&mut self, out: &mut [u8], place: &Place) -> Result<usize> {
        let mut filled = 0;
        while filled < out.len() && !self.finished {
            let step = self.step(&mut out[filled..]);
            filled += step.map_err(|e| e.into_error(place, self.input.at))?;
        }
        Ok(filled)
    }

    /// One call of the engine; returns the bytes it produced.
    fn step(&mut self, out: &mut [u8]) -> Result<usize, Fault> {
        let input = self.input.peek()?;
        let at_end = input.is_empty();
        let (in_before, out_before) = (self.engine.total_in(), self.engine.total_out());
        let status = self.engine.decompress(input, out, FlushDecompress::None);
        let consumed = (self.engine.total_in() - in_before) as usize;
        let produced = (self.engine.total_out() - out_before) as usize;
        self.input.consume(consumed);
        self.position += produced as u64;
        match status {
            Ok(Status::StreamEnd) => self.end_of_member()?,
            Ok(_) if consumed == 0 && produced == 0 && at_end => {
                return Err(Fault::Data(format!("the {} stream ends early", self.name())));
            }
            Ok(_) => {}
            Err(cause) if cause.needs_dictionary().is_some() => {
                return Err(Fault::Data(
                    "the zlib stream needs a preset dictionary, which the format does not have".into(),
                ));
            }
            Err(cause) => {
                let why = cause.message().unwrap_or("invalid data");
                return Err(Fault::Data(format!("the {} stream is damaged: {why}", self.name())));
            }
        }
        Ok(produced)
    }

    /// After a gzip member either another one follows, or padding with zeros, or nothing.
    fn end_of_member(&mut self) -> Result<(), Fault> {
        self.finished = match self.wrapper {
            Wrapper::Zlib => true,
            Wrapper::Gzip => !self.input.skip_to_member()?,
        };
        if !self.finished {
            self.engine = new_engine(Wrapper::Gzip);
        }
        Ok(())
    }

    fn name(&self) -> &'static str {
        match self.wrapper {
            Wrapper::Zlib => "zlib",
            Wrapper::Gzip => "gzip",
        }
    }
}

fn new_engine(wrapper: Wrapper) -> Decompress {
    match wrapper {
        Wrapper::Zlib => Decompress::new_with_window_bits(true, WINDOW_BITS),
        Wrapper::Gzip => Decompress::new_gzip(WINDOW_BITS),
    }
}

/// What went wrong, before it is known where to say so.
enum Fault {
    Data(String),
    Source(Error),
}

impl From<Error> for Fault {
    fn from(error: Error) -> Fault {
        Fault::Source(error)
    }
}

impl Fault {
    fn into_error(self, place: &Place, offset: u64) -> Error {
        match self {
            Fault::Data(problem) => Error::damaged(place.at(offset), problem),
            Fault::Source(error) => error,
        }
    }
}

/// The stored bytes, fetched piece by piece. `at` is the file offset of the first byte not yet used.
struct Input {
    source: Arc<dyn Source>,
    at: u64,
    end: u64,
    buffer: Vec<u8>,
    used: usize,
}

impl Input {
    /// The bytes at hand, fetching more if there are none; empty only at the end of the range.
    fn peek(&mut self) -> Result<&[u8]> {
        if self.used == self.buffer.len() && self.at < self.end {
            let size = (self.end - self.at).min(INPUT as u64);
            self.buffer.resize(size as usize, 0);
            // Until they are there, none of the bytes counts.
            self.used = self.buffer.len();
            self.source.read_exact_at(&mut self.buffer, self.at)?;
            self.used = 0;
        }
        Ok(&self.buffer[self.used..])
    }

    fn consume(&mut self, count: usize) {
        self.used += count;
        self.at += count as u64;
    }

    /// RFC 1950, 2.2: the first two bytes are a multiple of 31 and name method 8. RFC 1952, 2.3.1: 1f 8b.
    fn wrapper(&mut self) -> Result<Wrapper, Fault> {
        match *self.peek()? {
            [0x1f, 0x8b, ..] => Ok(Wrapper::Gzip),
            [cmf, flg, ..] if cmf & 15 == 8 && u16::from_be_bytes([cmf, flg]) % 31 == 0 => Ok(Wrapper::Zlib),
            [a, b, ..] => {
                Err(Fault::Data(format!("neither a zlib nor a gzip stream: it begins with {a:02x} {b:02x}")))
            }
            [] => Err(Fault::Data("a zlib or gzip stream was needed, but there are no bytes".into())),
            [_] => Err(Fault::Data("a zlib or gzip stream was needed, but there is one byte".into())),
        }
    }

    /// Passes over zero padding after a member. Is there another member?
    fn skip_to_member(&mut self) -> Result<bool, Fault> {
        loop {
            let bytes = self.peek()?;
            if bytes.is_empty() {
                return Ok(false);
            }
            let zeros = bytes.iter().take_while(|b| **b == 0).count();
            let next = bytes.get(zeros).copied();
            self.consume(zeros);
            match next {
                None => {}
                Some(0x1f) => return Ok(true),
                Some(b) => {
                    return Err(Fault::Data(format!(
                        "after the gzip stream come other bytes, first {b:02x}"
                    )));
                }
            }
        }
    }
}
