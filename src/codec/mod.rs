//! Decoding. A [`Stream`] is one compressed dataset as decoded bytes with random access, as is a `ZstdStream`;
//! the [`Engine`] is what all streams of a mount share: the block cache, the spill on disk, and the decoders
//! that wait where a reader stopped. Everything here is bounded in bytes whatever is read.

mod block_cache;
mod engine;
mod inflate;
mod spill;
mod stream;
mod streams;
#[cfg_attr(not(test), expect(dead_code, reason = "Onda will be the first format that uses it"))]
mod zstd;

pub use block_cache::Block;
pub use engine::Engine;
pub use stream::Stream;
pub use streams::Streams;

/// Unit of decoding and caching, in decoded bytes.
pub const BLOCK: u64 = 256 << 10;
