//! Decoding. A [`Stream`] gives random access to the decoded bytes of one compressed dataset; the [`Engine`] holds what
//! all streams of a mount share: the block cache, the memory budget for seek points, and decoders parked where a reader
//! stopped. Memory use is bounded in bytes whatever is read.
//!
//! | module (lowest layer first) | purpose |
//! |---|---|
//! | `deflate` | the deflate decoder, which can stop and resume between blocks; compression, for writing |
//! | `input`, `check`, `wrapper` | stored bytes, checksums, zlib and gzip headers and trailers |
//! | `prefix` | the first bytes of a stream |
//! | `inflate` | a stream decoded from its start or from a seek point |
//! | `window` | the decoded bytes that a seek point has to keep |
//! | `index` | the index of one stream: seek points, checksums, length |
//! | `index_store` | indexes kept on disk between mounts |
//! | `single_flight`, `damage` | each part is decoded once for all concurrent readers; known damage |
//! | `stream` | readers, and the decoder runs that serve them |
//! | `decoded`, `spill` | data decoded as a whole, and its copy on disk |
//! | `zstd` | zstd streams, frame by frame |
//! | `streams` | the streams of one container |
//! | `walk` | streams without checksums, decoded from front to back: `lz4`, `leb128` |
//! | `xz` | .xz and .lzma streams, each decoded as a whole |
//! | `bits` | packed bits as bytes |
//! | `fill` | any byte range of data produced in pieces |
//! | `zip` | members of ZIP files |
//! | `piped` | files decoded by a program that the user names |
//! | `whole` | data in memory, decoded as a whole |

mod bits;
mod block_cache;
mod check;
mod damage;
mod decoded;
pub mod deflate;
mod engine;
mod fill;
mod index;
mod index_store;
mod inflate;
mod input;
mod leb128;
mod lz4;
mod piped;
mod prefix;
mod scratch;
mod single_flight;
mod spill;
mod stream;
mod streams;
mod walk;
mod whole;
mod window;
mod wrapper;
mod xz;
pub mod zip;
mod zstd;

pub use bits::Bits;
pub use block_cache::Block;
pub use check::{Check, crc32};
pub use engine::{Engine, Limits};
pub use fill::{Units, from_blocks, in_pieces};
pub use index_store::IndexStore;
pub use input::FIRST_PIECE;
pub use leb128::Leb128;
pub use lz4::Lz4;
pub use piped::{INTERRUPTED, Piped};
pub use prefix::prefix;
pub use scratch::Scratch;
pub use stream::{Pass, Stream};
pub use streams::{Described, Streams};
pub use walk::{Decoder, Walk, decodes};
pub use whole::{lz4_frame, zstd_bytes};
pub use wrapper::Wrapper;
pub use xz::Xz;
pub use zstd::{ZstdStream, zstd_frame};

#[cfg(test)]
mod tests;

/// Unit of caching, in decoded bytes.
pub const BLOCK: u64 = 32 << 10;
/// Decoded bytes between two seek points, and so the most that is decoded to reach a block, unless memory is short or
/// the stream's own deflate blocks are longer.
pub const SPAN: u64 = 256 << 10;
