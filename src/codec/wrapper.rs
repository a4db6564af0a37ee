//! The wrappers of deflate data: headers and trailers of zlib (RFC 1950) and gzip (RFC 1952), identified by their first
//! bytes; or none, where the container itself has a CRC-32. Bytes after a zlib stream are ignored, as in the format's
//! Python reader; after a gzip member comes another one, zero padding, or nothing.

use super::check::Check;
use super::input::Input;
use crate::Error;
use crate::error::Place;

/// An error that still lacks its place.
pub enum Fault {
    Data(String),
    /// A checksum or length does not match the decoded data: none of it can be trusted.
    Mismatch(String),
    Source(Error),
}

impl From<Error> for Fault {
    fn from(error: Error) -> Fault {
        Fault::Source(error)
    }
}

impl Fault {
    pub fn into_error(self, place: &Place, offset: u64) -> Error {
        match self {
            Fault::Data(problem) | Fault::Mismatch(problem) => Error::damaged(place.at(offset), problem),
            Fault::Source(error) => error,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wrapper {
    Zlib,
    Gzip,
    /// No wrapper: the container has the CRC-32 of the decoded bytes.
    Bare {
        crc: u32,
    },
}

/// Flag bits of a gzip header (RFC 1952, 2.3.1).
const FHCRC: u8 = 2;
const FEXTRA: u8 = 4;
const FNAME: u8 = 8;
const FCOMMENT: u8 = 16;
const RESERVED: u8 = 0xe0;

impl Wrapper {
    pub fn name(self) -> &'static str {
        match self {
            Wrapper::Zlib => "zlib",
            Wrapper::Gzip => "gzip",
            Wrapper::Bare { .. } => "deflate",
        }
    }

    pub fn check(self) -> Check {
        match self {
            Wrapper::Zlib => Check::Adler,
            Wrapper::Gzip | Wrapper::Bare { .. } => Check::Crc,
        }
    }

    /// Skips the header at the start of a stream and identifies its wrapper.
    pub fn open(input: &mut Input) -> Result<Wrapper, Fault> {
        let mut header = Header { input, check: Check::Crc.of_nothing() };
        let first = header.first("there are no bytes")?;
        let second = header.first("there is one byte")?;
        let wrapper = Wrapper::shown(first, second)?;
        if wrapper == Wrapper::Gzip {
            header.rest_of_gzip()?;
        }
        Ok(wrapper)
    }

    /// Identifies the wrapper by the first two bytes.
    pub fn shown(first: u8, second: u8) -> Result<Wrapper, Fault> {
        match (first, second) {
            (0x1f, 0x8b) => Ok(Wrapper::Gzip),
            // RFC 1950, 2.2: a multiple of 31 that names method 8 and a window of at most 32 KiB.
            (0x08 | 0x18 | 0x28 | 0x38 | 0x48 | 0x58 | 0x68 | 0x78, _)
                if u16::from_be_bytes([first, second]).is_multiple_of(31) =>
            {
                if second & 0x20 != 0 {
                    let needs = "the zlib stream needs a preset dictionary, which the format does not have";
                    return Err(Fault::Data(needs.into()));
                }
                Ok(Wrapper::Zlib)
            }
            _ => Err(Fault::Data(format!(
                "neither a zlib nor a gzip stream: it begins with {first:02x} {second:02x}"
            ))),
        }
    }

    /// Skips the trailer, verifying the checksum and length of the decoded data.
    pub fn close(self, input: &mut Input, check: u32, len: u64) -> Result<(), Fault> {
        let recorded = match self {
            Wrapper::Zlib => u32::from_be_bytes(self.take(input)?),
            Wrapper::Gzip => u32::from_le_bytes(self.take(input)?),
            Wrapper::Bare { crc } => crc,
        };
        if recorded != check {
            return Err(self.mismatch("incorrect data check"));
        }
        // ISIZE counts modulo 2^32 (RFC 1952, 2.3.1).
        if self == Wrapper::Gzip && u32::from_le_bytes(self.take(input)?) != len as u32 {
            return Err(self.mismatch("incorrect length check"));
        }
        Ok(())
    }

    /// After a trailer: skips zero padding and the header of another gzip member. Returns whether there is one.
    pub fn next_member(self, input: &mut Input) -> Result<bool, Fault> {
        if self != Wrapper::Gzip {
            return Ok(false);
        }
        loop {
            let bytes = input.peek()?;
            if bytes.is_empty() {
                return Ok(false);
            }
            let zeros = bytes.iter().take_while(|b| **b == 0).count();
            let next = bytes.get(zeros).copied();
            input.consume(zeros);
            match next {
                None => {}
                Some(0x1f) => break,
                Some(b) => {
                    let problem = format!("after the gzip stream come other bytes, first {b:02x}");
                    return Err(Fault::Data(problem));
                }
            }
        }
        let mut header = Header { input, check: Check::Crc.of_nothing() };
        match (header.byte()?, header.byte()?) {
            (0x1f, 0x8b) => header.rest_of_gzip().map(|()| true),
            (a, b) => {
                Err(Fault::Data(format!("after the gzip stream come other bytes, first {a:02x} {b:02x}")))
            }
        }
    }

    /// The fault of truncated data.
    pub fn ends_early(self) -> Fault {
        Fault::Data(format!("the {} stream ends early", self.name()))
    }

    pub fn damaged(self, why: &str) -> Fault {
        Fault::Data(format!("the {} stream is damaged: {why}", self.name()))
    }

    fn mismatch(self, why: &str) -> Fault {
        Fault::Mismatch(format!("the {} stream is damaged: {why}", self.name()))
    }

    fn take(self, input: &mut Input) -> Result<[u8; 4], Fault> {
        let mut bytes = [0; 4];
        for byte in &mut bytes {
            *byte = input.next()?.ok_or_else(|| self.ends_early())?;
        }
        Ok(bytes)
    }
}

/// A header being read, and the CRC-32 of its bytes so far.
struct Header<'a> {
    input: &'a mut Input,
    check: u32,
}

impl Header<'_> {
    fn byte(&mut self) -> Result<u8, Fault> {
        let byte = self.input.next()?.ok_or_else(|| Wrapper::Gzip.ends_early())?;
        self.check = Check::Crc.update(self.check, &[byte]);
        Ok(byte)
    }

    fn first(&mut self, otherwise: &str) -> Result<u8, Fault> {
        match self.input.peek()? {
            [] => Err(Fault::Data(format!("a zlib or gzip stream was needed, but {otherwise}"))),
            _ => self.byte(),
        }
    }

    fn skip(&mut self, count: u32) -> Result<(), Fault> {
        (0..count).try_for_each(|_| self.byte().map(drop))
    }

    fn skip_text(&mut self) -> Result<(), Fault> {
        while self.byte()? != 0 {}
        Ok(())
    }

    /// Skips the rest of a gzip header after 1f 8b.
    fn rest_of_gzip(&mut self) -> Result<(), Fault> {
        let (method, flags) = (self.byte()?, self.byte()?);
        if method != 8 || flags & RESERVED != 0 {
            let problem = format!(
                "its header asks for method {method} and flags {flags:02x}, which gzip does not have"
            );
            return Err(Wrapper::Gzip.damaged(&problem));
        }
        self.skip(6)?;
        if flags & FEXTRA != 0 {
            let len = u16::from_le_bytes([self.byte()?, self.byte()?]);
            self.skip(len.into())?;
        }
        if flags & FNAME != 0 {
            self.skip_text()?;
        }
        if flags & FCOMMENT != 0 {
            self.skip_text()?;
        }
        if flags & FHCRC != 0 {
            let check = self.check as u16;
            if u16::from_le_bytes([self.byte()?, self.byte()?]) != check {
                return Err(Wrapper::Gzip.damaged("header crc mismatch"));
            }
        }
        Ok(())
    }
}
