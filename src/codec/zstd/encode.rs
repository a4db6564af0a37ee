//! One frame of zstd, with a checksum.

use std::io::{self, Write};

/// What zstd takes if nothing else is said.
const LEVEL: i32 = 3;

/// Everything that `write` writes, compressed.
pub fn zstd_frame(to: impl Write, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut frame = ::zstd::stream::write::Encoder::new(to, LEVEL)?;
    frame.include_checksum(true)?;
    write(&mut frame)?;
    frame.finish()?.flush()
}
