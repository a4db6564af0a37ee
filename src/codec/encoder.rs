//! The compressing side of the deflate engine (RFC 1951, without wrapper) as a safe type, for one block at a time.
//!
//! From level 4 to 8 the engine would only find repetitions of four bytes and more, which costs 7 % on arrays of
//! 16-bit integers; at level 9 it finds three bytes as well, as zlib does at every level. So these levels are its
//! level 9 with as much effort as zlib makes at them, for which libz-rs-sys has a call (deflateTune) that flate2
//! does not pass on.

use std::io;

use libz_rs_sys as z;

/// Good match, lazy match, nice match, longest chain: zlib's own numbers for the levels from 4 on.
const EFFORT: [[i32; 4]; 5] =
    [[4, 4, 16, 16], [8, 16, 32, 32], [8, 16, 128, 128], [8, 32, 128, 256], [32, 128, 258, 1024]];

/// `block` compressed, as if it came behind `before` (at most 32 KiB). It ends at a byte, with the end of the stream
/// if it is the last one. Levels go from 0 to 9.
pub fn encode(level: u32, before: &[u8], block: &[u8], is_last: bool) -> io::Result<Vec<u8>> {
    Encoder::new(level)?.encode(before, block, is_last)
}

/// Used for one block only: what the engine has seen before its reset can change which repetitions it finds later.
struct Encoder {
    /// Boxed, since zlib wants its address to stay the same.
    stream: Box<z::z_stream>,
}

impl Encoder {
    fn new(level: u32) -> io::Result<Encoder> {
        let mut stream = Box::new(z::z_stream::default());
        let size = size_of::<z::z_stream>() as i32;
        let effort = level.checked_sub(4).and_then(|above| EFFORT.get(above as usize));
        let engine = if effort.is_some() { 9 } else { level as i32 };
        let (method, strategy) = (z::Z_DEFLATED, z::Z_DEFAULT_STRATEGY);
        // SAFETY: the stream is a valid value that stays where it is, and the version is zlib's own.
        let code = unsafe {
            z::deflateInit2_(&mut *stream, engine, method, -15, 8, strategy, z::zlibVersion(), size)
        };
        is_ok(code)?;
        let mut encoder = Encoder { stream };
        if let Some([good, lazy, nice, chain]) = effort.copied() {
            // SAFETY: the stream was initialised.
            is_ok(unsafe { z::deflateTune(&mut *encoder.stream, good, lazy, nice, chain) })?;
        }
        Ok(encoder)
    }

    fn encode(&mut self, before: &[u8], block: &[u8], is_last: bool) -> io::Result<Vec<u8>> {
        if !before.is_empty() {
            // SAFETY: the stream was initialised; zlib copies the bytes before.
            is_ok(unsafe {
                z::deflateSetDictionary(&mut *self.stream, before.as_ptr(), before.len() as u32)
            })?;
        }
        let flush = if is_last { z::Z_FINISH } else { z::Z_SYNC_FLUSH };
        let mut out: Vec<u8> = Vec::with_capacity(block.len() / 2 + 64);
        self.stream.next_in = block.as_ptr();
        self.stream.avail_in = block.len() as u32;
        loop {
            let room = out.spare_capacity_mut();
            let len = room.len() as u32;
            self.stream.next_out = room.as_mut_ptr().cast();
            self.stream.avail_out = len;
            // SAFETY: the stream was initialised, the pointers and lengths are those of the block and of the room,
            // of which as many bytes were written as it has less room now.
            let code = unsafe {
                let code = z::deflate(&mut *self.stream, flush);
                out.set_len(out.len() + (len - self.stream.avail_out) as usize);
                code
            };
            match code {
                z::Z_STREAM_END => return Ok(out),
                // With room left, all has been flushed.
                z::Z_OK | z::Z_BUF_ERROR if self.stream.avail_out > 0 && !is_last => return Ok(out),
                z::Z_OK | z::Z_BUF_ERROR if self.stream.avail_out == 0 => out.reserve(out.len().max(64)),
                _ => return Err(failed(code)),
            }
        }
    }
}

impl Drop for Encoder {
    fn drop(&mut self) {
        // SAFETY: the stream was initialised and is not used any more.
        unsafe { z::deflateEnd(&mut *self.stream) };
    }
}

fn is_ok(code: i32) -> io::Result<()> {
    if code == z::Z_OK { Ok(()) } else { Err(failed(code)) }
}

fn failed(code: i32) -> io::Error {
    io::Error::other(format!("zlib cannot compress (its code is {code}): this is a bug"))
}
