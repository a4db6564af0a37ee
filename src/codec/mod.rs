//! Decoding. A [`Stream`] is one compressed dataset as decoded bytes with random access; the [`Engine`]
//! is what all streams of a mount share: the block cache, the memory of seek points, and decoders that wait
//! where a reader stopped. Everything here is bounded in bytes whatever is read.
//!
//! | from the bytes up | |
//! |---|---|
//! | `raw` | the deflate engine, which can stop and start between deflate blocks |
//! | `input`, `check`, `wrapper` | stored bytes, check values, what zlib and gzip put around deflate |
//! | `prefix` | the first bytes of a stream |
//! | `inflate` | a stream decoded from its start or from a seek point |
//! | `window` | what a seek point has to keep of the bytes before it |
//! | `index` | what is known of one stream: seek points, check values, length |
//! | `index_store` | where that is kept between mounts |
//! | `single_flight`, `damage` | who decodes what, once for all who want it, and what is known to be wrong |
//! | `stream` | readers, and the runs of decoders that serve them |
//! | `decoded`, `spill` | what is decoded as a whole, and where that is kept on disk |
//! | `zstd` | zstd streams, frame by frame |
//! | `streams` | the streams of one container |
//! | `deflate`, `encoder` | compression, for writing |
//! | `walk` | streams without check values, from front to back: `lz4`, `leb128` |
//! | `xz` | .xz and .lzma streams, each decoded as a whole |
//! | `bits` | bits as bytes |
//! | `fill` | any range of what is made in pieces |
//! | `zip` | members of ZIP files |
//! | `piped` | files that a program of the user decodes |
//! | `whole` | bytes in memory, decoded as a whole |

mod bits;
mod block_cache;
mod check;
mod damage;
mod decoded;
pub mod deflate;
mod encoder;
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
mod raw;
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
/// Decoded bytes between two seek points: what is decoded at most for a block, unless memory is short or the
/// stream's own deflate blocks are longer.
pub const SPAN: u64 = 256 << 10;
