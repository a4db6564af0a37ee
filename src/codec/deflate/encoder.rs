//! A safe wrapper around the deflate encoder (RFC 1951, no zlib or gzip wrapper) that compresses one block at a time.
//!
//! At levels 4 to 8 libz-rs-sys finds only matches of four bytes or more, which costs 7 % on arrays of 16-bit integers;
//! at level 9 it also finds matches of three bytes, as zlib does at every level. So these levels use its level 9 with
//! zlib's effort for the level, set through deflateTune, which flate2 does not expose.

use std::io;

use libz_rs_sys as z;

/// Good match, lazy match, nice match, longest chain: zlib's own parameters for levels 4 to 8.
const EFFORT: [[i32; 4]; 5] =
    [[4, 4, 16, 16], [8, 16, 32, 32], [8, 16, 128, 128], [8, 32, 128, 256], [32, 128, 258, 1024]];

/// Compresses `block` as the continuation of `before` (at most 32 KiB). The output ends on a byte boundary; the last
/// block also ends the stream. Levels go from 0 to 9.
pub fn encode(level: u32, before: &[u8], block: &[u8], is_last: bool) -> io::Result<Vec<u8>> {
    Encoder::new(level)?.encode(before, block, is_last)
}

/// Used for one block only: data seen before a reset can change which matches the engine finds later.
struct Encoder {
    /// Boxed because zlib requires a stable address.
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
            // SAFETY: the stream was initialised, the pointers and lengths are those of the block and of the spare
            // capacity, and zlib has written exactly as many bytes as `avail_out` has shrunk by.
            let code = unsafe {
                let code = z::deflate(&mut *self.stream, flush);
                out.set_len(out.len() + (len - self.stream.avail_out) as usize);
                code
            };
            match code {
                z::Z_STREAM_END => return Ok(out),
                // If room is left, everything has been flushed.
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
