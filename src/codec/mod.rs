//! Decoding. A [`Stream`] is one compressed dataset as decoded bytes with random access; the [`Engine`]
//! is what all streams of a mount share: the block cache and the decoders that wait where a reader
//! stopped. Everything here is bounded in bytes whatever is read.

mod block_cache;
mod engine;
mod inflate;
mod stream;
mod streams;

pub use block_cache::Block;
pub use engine::Engine;
pub use stream::Stream;
pub use streams::Streams;

#[cfg(test)]
mod tests;

/// Unit of decoding and caching, in decoded bytes.
pub const BLOCK: u64 = 256 << 10;
