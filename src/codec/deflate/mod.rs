//! Deflate (RFC 1951): our own decoder, which can stop and resume between blocks, and compression on several threads
//! with zlib-rs.

mod compressor;
mod decode;
mod encoder;

pub use self::compressor::{Compressor, decoded, decoded_bare};
pub use self::decode::{At, Decoder, ENOUGH, WINDOW};
