//! Reads the header's words and checks them against the file's length.

use super::{BACKWARDS, MAGIC};
use crate::error::Place;
use crate::source::Source;
use crate::{Error, Result};

/// Offsets of the words in the file.
pub const FLAGS: u64 = 8;
pub const ELTYPE: u64 = 16;
pub const ELBYTE: u64 = 24;
pub const SIZE: u64 = 32;
pub const NDIMS: u64 = 40;
pub const DIMS: u64 = 48;

/// Bytes read at once; enough for a header with few dims.
const FIRST_READ: usize = 128;

/// Maximum number of dims read. (numpy's limit is 64.)
pub const MAX_DIMS: u64 = 1024;

/// Flag bits.
pub const BIG_ENDIAN: u64 = 1;
pub const COMPRESSED: u64 = 2;
pub const BITS: u64 = 4;
const KNOWN: u64 = BIG_ENDIAN | COMPRESSED | BITS;

#[derive(Clone, Debug)]
pub struct Header {
    /// The file, for messages.
    place: Place,
    /// True if the header itself is big-endian (reversed magic).
    pub is_big_header: bool,
    pub flags: u64,
    pub eltype: u64,
    pub elbyte: u64,
    pub size: u64,
    /// Fastest-varying first.
    pub dims: Vec<u64>,
    /// Offset of the data.
    pub data: u64,
    /// The file's length.
    pub end: u64,
}

impl Header {
    pub fn read(source: &dyn Source) -> Result<Header> {
        let (end, place) = (source.len(), source.place());
        // One read is enough for most headers.
        let mut first = [0; FIRST_READ];
        let first =
            first.get_mut(..usize::try_from(end).unwrap_or(FIRST_READ).min(FIRST_READ)).unwrap_or_default();
        source.read_exact_at(first, 0)?;
        let magic = first.first_chunk().copied().unwrap_or_default();
        let is_big_header = magic == *BACKWARDS;
        if magic != *MAGIC && !is_big_header {
            let found = format!(
                "is not a RawArray file: it begins with \"{}\", not with \"rawarray\"",
                magic.escape_ascii()
            );
            return Err(Error::NotAContainer { file: source.path().to_owned(), found });
        }
        if end < DIMS {
            let problem = format!("the header has {DIMS} bytes at least, but the file has {end}");
            return Err(Error::damaged(place.at(end), problem));
        }
        let word = |bytes: &[u8; 8]| {
            if is_big_header { u64::from_be_bytes(*bytes) } else { u64::from_le_bytes(*bytes) }
        };
        let mut words = first.as_chunks::<8>().0.iter().skip(1).map(word);
        let mut next = || words.next().unwrap_or_default();
        let (flags, eltype, elbyte, size, ndims) = (next(), next(), next(), next(), next());
        let data = data_offset(ndims, end).map_err(|problem| Error::damaged(place.at(NDIMS), problem))?;
        let dims = match first.get(DIMS as usize..data as usize) {
            Some(bytes) => bytes.as_chunks::<8>().0.iter().map(word).collect(),
            None => source.read_range(DIMS..data)?.as_chunks::<8>().0.iter().map(word).collect(),
        };
        source.check()?;
        Ok(Header { place, is_big_header, flags, eltype, elbyte, size, dims, data, end })
    }

    /// An error about the word at this offset.
    pub fn damaged(&self, offset: u64, problem: impl Into<String>) -> Error {
        Error::damaged(self.place.at(offset), problem)
    }

    pub fn has(&self, flag: u64) -> bool {
        self.flags & flag != 0
    }

    /// True if the data is big-endian.
    pub fn is_big(&self) -> bool {
        self.is_big_header || self.has(BIG_ENDIAN)
    }

    /// Flag bits that no known writer sets.
    pub fn unknown_flags(&self) -> u64 {
        self.flags & !KNOWN
    }

    /// Number of elements.
    pub fn count(&self) -> Result<u64> {
        if self.dims.contains(&0) {
            return Ok(0);
        }
        let product = self.dims.iter().try_fold(1u64, |product, size| product.checked_mul(*size));
        product.ok_or_else(|| self.too_large())
    }

    /// Bytes of decoded data.
    pub fn decoded_len(&self, elbyte: u64) -> Result<u64> {
        let len = self.count()?.checked_mul(elbyte).filter(|len| *len <= i64::MAX as u64);
        len.ok_or_else(|| self.too_large())
    }

    /// End of the stored data, assuming that `size` is its length in the file; None if beyond the end of the file.
    pub fn data_end(&self) -> Option<u64> {
        self.data.checked_add(self.size).filter(|end| *end <= self.end)
    }

    /// The error for when `data_end` is None.
    pub fn truncated(&self) -> Error {
        let Header { data, size, end, .. } = self;
        let ends = u128::from(*data) + u128::from(*size);
        self.damaged(SIZE, format!("size is {size}: the data ends at byte {ends}, but the file has {end}"))
    }

    fn too_large(&self) -> Error {
        let Header { elbyte, .. } = self;
        let dims = self.shown_dims();
        self.damaged(
            DIMS,
            format!("dims {dims} of elements of {elbyte} bytes (elbyte) do not fit into 63 bits"),
        )
    }

    pub fn shown_dims(&self) -> String {
        const SHOWN: usize = 8;
        let sizes = self.dims.iter().take(SHOWN).map(u64::to_string).collect::<Vec<_>>().join(", ");
        if self.dims.len() > SHOWN { format!("[{sizes}, ...]") } else { format!("[{sizes}]") }
    }
}

/// Offset of the data; the error describes what is wrong with ndims.
fn data_offset(ndims: u64, end: u64) -> Result<u64, String> {
    let ends = 8 * u128::from(ndims) + u128::from(DIMS);
    match u64::try_from(ends) {
        Ok(data) if data <= end && ndims <= MAX_DIMS => Ok(data),
        Ok(data) if data <= end => Err(format!("ndims is {ndims}, and the limit is {MAX_DIMS}")),
        _ => Err(format!("ndims is {ndims}: the dims end at byte {ends}, but the file has {end}")),
    }
}
