//! How the data is stored. The same flag means LZ4 (written by the C tool), LEB128 (written by RawArray.jl) or, when
//! RawArray.jl is asked to compress floats, raw data. Sizes distinguish them, or else trial decoding.

use std::ops::Range;

use super::element::Type;
use super::header::{BITS, COMPRESSED, FLAGS, Header, SIZE};
use crate::Result;
use crate::codec::{Bits, Leb128, Lz4, decodes};
use crate::source::Source;

/// Maximum size of an LZ4 block.
const MAX_LZ4_LEN: u64 = 2_113_929_216;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Codec {
    Raw,
    Bits,
    Lz4,
    Leb128,
}

impl Codec {
    pub fn name(self) -> Option<&'static str> {
        match self {
            Codec::Raw => None,
            Codec::Bits => Some("bits"),
            Codec::Lz4 => Some("lz4"),
            Codec::Leb128 => Some("leb128"),
        }
    }
}

#[derive(Clone, Debug)]
pub struct Payload {
    pub codec: Codec,
    pub stored: Range<u64>,
    /// Decoded length in bytes.
    pub len: u64,
    pub notes: Vec<String>,
}

impl Payload {
    /// Determined from the header, or by trial decoding if the header is ambiguous.
    pub fn of(header: &Header, of: &Type, source: &dyn Source) -> Result<Payload> {
        let len = header.decoded_len(of.size)?;
        if header.has(BITS) {
            return bits(header, len);
        }
        if !header.has(COMPRESSED) {
            return raw(header, of, len);
        }
        match (len, header.size == len) {
            (0, true) => payload(header, Codec::Raw, 0),
            (_, true) => Ambiguous { header, of, len }.resolve(source),
            (_, false) => lz4(header, len),
        }
    }

    fn with_note(mut self, note: &str) -> Payload {
        self.notes.push(note.into());
        self
    }
}

/// A payload whose stored length is the header's `size`.
fn payload(header: &Header, codec: Codec, len: u64) -> Result<Payload> {
    let end = header.data_end().ok_or_else(|| header.truncated())?;
    Ok(Payload { codec, stored: header.data..end, len, notes: Vec::new() })
}

fn raw(header: &Header, of: &Type, len: u64) -> Result<Payload> {
    let Header { size, elbyte, .. } = header;
    if header.dims.is_empty() && *size == 0 {
        let note = "ndims and size are 0: read as an array without elements";
        return Ok(payload(header, Codec::Raw, 0)?.with_note(note));
    }
    if *size != len {
        let (dims, name) = (header.shown_dims(), &of.name);
        let problem = format!("size is {size}, but dims {dims} of {name} (elbyte {elbyte}) take {len} bytes");
        return Err(header.damaged(SIZE, problem));
    }
    payload(header, Codec::Raw, len)
}

fn bits(header: &Header, len: u64) -> Result<Payload> {
    let (size, need) = (header.size, Bits::stored_len(len));
    if size != need {
        let dims = header.shown_dims();
        let problem = format!("size is {size}, but dims {dims} of bits in words of 8 bytes take {need}");
        return Err(header.damaged(SIZE, problem));
    }
    payload(header, Codec::Bits, len)
}

fn lz4(header: &Header, len: u64) -> Result<Payload> {
    let size = header.size;
    if size > MAX_LZ4_LEN {
        let problem = format!("size is {size}, an LZ4 block has {MAX_LZ4_LEN} bytes at most");
        return Err(header.damaged(SIZE, problem));
    }
    let max_len = Lz4::max_decoded_len(size);
    if len > max_len || len == 0 {
        let dims = header.shown_dims();
        let problem = format!(
            "size is {size}: LZ4 data of that length decodes to {max_len} bytes at most, dims {dims} need {len}"
        );
        return Err(header.damaged(SIZE, problem));
    }
    payload(header, Codec::Lz4, len)
}

/// Data flagged as compressed whose `size` equals the decoded length, so that any of the three is possible.
struct Ambiguous<'h> {
    header: &'h Header,
    of: &'h Type,
    len: u64,
}

impl Ambiguous<'_> {
    fn resolve(&self, source: &dyn Source) -> Result<Payload> {
        let Ambiguous { header, len, .. } = *self;
        let Some(end) = header.data_end() else { return self.cut_short() };
        let is_leb128 = self.can_be_leb128(true) && decodes(&self.leb128(), source, len)?;
        let is_lz4 = header.size <= MAX_LZ4_LEN && decodes(&Lz4::new(header.data..end), source, len)?;
        match (is_leb128, is_lz4) {
            (true, true) if end < header.end => Ok(payload(header, Codec::Lz4, len)?
                .with_note("the data is valid both as LZ4 and as LEB128: read as LZ4")),
            (true, true) => {
                Ok(self.as_leb128().with_note("the data is valid both as LEB128 and as LZ4: read as LEB128"))
            }
            (true, false) => Ok(self.as_leb128()),
            (false, true) => payload(header, Codec::Lz4, len),
            (false, false) if matches!(header.eltype, 3 | 4) && end == header.end => {
                let note =
                    "flags say that the data is compressed, but it is not (as RawArray.jl writes floats)";
                Ok(payload(header, Codec::Raw, len)?.with_note(note))
            }
            (false, false) => {
                let problem =
                    "flags say that the data is compressed, but it decodes neither as LZ4 nor as LEB128";
                Err(header.damaged(FLAGS, problem))
            }
        }
    }

    /// For files shorter than `size` claims: only LEB128 may be, since there `size` is the decoded length.
    fn cut_short(&self) -> Result<Payload> {
        if self.can_be_leb128(false) { Ok(self.as_leb128()) } else { Err(self.header.truncated()) }
    }

    /// With `exactly`, no trailer may follow the last number.
    fn can_be_leb128(&self, exactly: bool) -> bool {
        let (Header { eltype, data, end, .. }, size) = (self.header, self.of.size);
        let (count, rest) = (self.len / size.max(1), end - data);
        let is_short = rest <= count.saturating_mul(Leb128::max_encoded_len(size));
        matches!(eltype, 1 | 2 | 5)
            && matches!(size, 1 | 2 | 4 | 8 | 16)
            && count <= rest
            && (is_short || !exactly)
    }

    fn leb128(&self) -> Leb128 {
        leb128(self.header, self.of, self.header.data..self.header.end)
    }

    fn as_leb128(&self) -> Payload {
        let stored = self.header.data..self.header.end;
        Payload { codec: Codec::Leb128, stored, len: self.len, notes: Vec::new() }
    }
}

/// Decoder for LEB128 numbers in a range of the file; signed only for eltype 1 (int).
pub fn leb128(header: &Header, of: &Type, stored: Range<u64>) -> Leb128 {
    Leb128::new(stored, of.size as usize, header.eltype == 1)
}
