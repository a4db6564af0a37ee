//! Compression. The other side of `inflate`, and simpler: what reads gives the compressed bytes of what it
//! reads.

use std::io::Read;

use flate2::Compression;
use flate2::read::{DeflateEncoder, ZlibEncoder};

/// The highest level.
pub const MAX_LEVEL: u32 = 9;

/// `input` as a zlib stream; levels go from 0 (only stored) to [`MAX_LEVEL`].
pub fn zlib(input: impl Read, level: u32) -> impl Read {
    ZlibEncoder::new(input, Compression::new(level.min(MAX_LEVEL)))
}

/// As [`zlib`], without a wrapper.
pub fn bare(input: impl Read, level: u32) -> impl Read {
    DeflateEncoder::new(input, Compression::new(level.min(MAX_LEVEL)))
}
