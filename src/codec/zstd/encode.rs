//! Writes a single zstd frame with a checksum.

use std::io::{self, Write};

/// zstd's default level.
const LEVEL: i32 = 3;

/// Compresses everything that `write` writes.
pub fn zstd_frame(to: impl Write, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut frame = ::zstd::stream::write::Encoder::new(to, LEVEL)?;
    frame.include_checksum(true)?;
    write(&mut frame)?;
    frame.finish()?.flush()
}
