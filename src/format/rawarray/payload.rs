//! How the data is stored. One flag stands for two codecs (LZ4 of the C tool, LEB128 of RawArray.jl), and for raw
//! data too where RawArray.jl was told to compress floating-point numbers; sizes tell them apart, or decoding does.

use std::ops::Range;

use super::element::Type;
use super::header::{BITS, COMPRESSED, FLAGS, Header, SIZE};
use crate::Result;
use crate::codec::{Bits, Leb128, Lz4, decodes};
use crate::source::Source;

/// LZ4 takes no more at once.
const MAX_LZ4_LEN: u64 = 2_113_929_216;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Codec {
    /// As it is.
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
    /// Bytes when decoded.
    pub len: u64,
    pub notes: Vec<String>,
}

impl Payload {
    /// What the header says of the data, or the data itself where the header says too little.
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
            (_, true) => Ambiguous { header, of, len }.told_apart(source),
            (_, false) => lz4(header, len),
        }
    }

    fn noting(mut self, note: &str) -> Payload {
        self.notes.push(note.into());
        self
    }
}

/// Data of `size` bytes.
fn payload(header: &Header, codec: Codec, len: u64) -> Result<Payload> {
    let end = header.data_end().ok_or_else(|| header.truncated())?;
    Ok(Payload { codec, stored: header.data..end, len, notes: Vec::new() })
}

fn raw(header: &Header, of: &Type, len: u64) -> Result<Payload> {
    let Header { size, elbyte, .. } = header;
    if header.dims.is_empty() && *size == 0 {
        let note = "ndims and size are 0: read as an array without elements";
        return Ok(payload(header, Codec::Raw, 0)?.noting(note));
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
    let most = Lz4::longest(size);
    if len > most || len == 0 {
        let dims = header.shown_dims();
        let problem = format!(
            "size is {size}: LZ4 data of that length decodes to {most} bytes at most, dims {dims} need {len}"
        );
        return Err(header.damaged(SIZE, problem));
    }
    payload(header, Codec::Lz4, len)
}

/// Compressed data whose size is that of the decoded one.
struct Ambiguous<'h> {
    header: &'h Header,
    of: &'h Type,
    len: u64,
}

impl Ambiguous<'_> {
    fn told_apart(&self, source: &dyn Source) -> Result<Payload> {
        let Ambiguous { header, len, .. } = *self;
        let Some(end) = header.data_end() else { return self.cut_short() };
        let is_leb128 = self.can_be_leb128(true) && decodes(&self.leb128(), source, len)?;
        let is_lz4 = header.size <= MAX_LZ4_LEN && decodes(&Lz4::new(header.data..end), source, len)?;
        match (is_leb128, is_lz4) {
            (true, true) if end < header.end => Ok(payload(header, Codec::Lz4, len)?
                .noting("the data is valid both as LZ4 and as LEB128: read as LZ4")),
            (true, true) => {
                Ok(self.as_leb128().noting("the data is valid both as LEB128 and as LZ4: read as LEB128"))
            }
            (true, false) => Ok(self.as_leb128()),
            (false, true) => payload(header, Codec::Lz4, len),
            (false, false) if matches!(header.eltype, 3 | 4) && end == header.end => {
                let note =
                    "flags say that the data is compressed, but it is not (as RawArray.jl writes floats)";
                Ok(payload(header, Codec::Raw, len)?.noting(note))
            }
            (false, false) => {
                let problem =
                    "flags say that the data is compressed, but it decodes neither as LZ4 nor as LEB128";
                Err(header.damaged(FLAGS, problem))
            }
        }
    }

    /// The file ends before so many bytes: only LEB128 numbers can be shorter than that.
    fn cut_short(&self) -> Result<Payload> {
        if self.can_be_leb128(false) { Ok(self.as_leb128()) } else { Err(self.header.truncated()) }
    }

    /// With `exactly`, nothing follows the last number.
    fn can_be_leb128(&self, exactly: bool) -> bool {
        let (Header { eltype, data, end, .. }, size) = (self.header, self.of.size);
        let (count, rest) = (self.len / size.max(1), end - data);
        let is_short = rest <= count.saturating_mul(Leb128::longest(size));
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

/// The numbers in a range of the file. Only integers have signs.
pub fn leb128(header: &Header, of: &Type, stored: Range<u64>) -> Leb128 {
    Leb128::new(stored, of.size as usize, header.eltype == 1)
}
