//! A safe wrapper around the deflate decoder (RFC 1951, no zlib or gzip wrapper) that can stop at the end of any
//! deflate block, export its state there, and resume from such a state. libz-rs-sys has zlib's calls for this
//! (inflatePrime, inflateGetDictionary, Z_BLOCK), which flate2 does not expose.

use libz_rs_sys as z;

/// How far back deflate can refer.
pub const WINDOW: usize = 32 << 10;

pub struct Raw {
    /// Boxed because zlib requires a stable address.
    stream: Box<z::z_stream>,
}

// SAFETY: the stream points to state owned by this value alone; pointers to a caller's buffers are never used
// after the call they were passed to.
unsafe impl Send for Raw {}

/// What one call did.
pub struct Step {
    pub consumed: usize,
    pub produced: usize,
    /// An error says what is wrong with the data after the produced bytes.
    pub at: Result<At, &'static str>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum At {
    /// Out of input or room.
    Inside,
    /// Right after a deflate block that is not the last one. Of the last consumed byte the upper `bits` bits
    /// (0 to 7) belong to the next block.
    Boundary { bits: u8 },
    /// After the last block; the rest of the last consumed byte is padding.
    End,
}

impl Raw {
    pub fn new() -> Raw {
        let mut stream = Box::new(z::z_stream::default());
        let size = size_of::<z::z_stream>() as i32;
        // SAFETY: the stream is a valid value that stays where it is, and the version is zlib's own.
        let code = unsafe { z::inflateInit2_(&mut *stream, -15, z::zlibVersion(), size) };
        assert_eq!(code, z::Z_OK, "zlib is made by the same crate, so only memory can be missing");
        Raw { stream }
    }

    /// Restarts at the start of a stream.
    pub fn reset(&mut self) {
        // SAFETY: the stream was initialised.
        unsafe { z::inflateReset(&mut *self.stream) };
    }

    /// Restarts at a block boundary: the upper `bits` bits of `byte`, which was consumed already, come first;
    /// `window` holds the preceding decoded bytes, of which the last [`WINDOW`] are used.
    pub fn resume(&mut self, bits: u8, byte: u8, window: &[u8]) {
        self.reset();
        let window = window.get(window.len().saturating_sub(WINDOW)..).unwrap_or(window);
        let value = i32::from(byte.checked_shr(8 - u32::from(bits.min(8))).unwrap_or(0));
        // SAFETY: the stream was initialised; zlib copies the window.
        let codes = unsafe {
            [
                z::inflatePrime(&mut *self.stream, i32::from(bits.min(7)), value),
                z::inflateSetDictionary(&mut *self.stream, window.as_ptr(), window.len() as u32),
            ]
        };
        assert_eq!(codes, [z::Z_OK; 2], "both are always right for a raw stream at its start");
    }

    /// Decodes from `input` into `out` until either is used up, or with `stop` until a block ends. References to
    /// bytes before `out` are slow, so each stop costs time.
    pub fn step(&mut self, input: &[u8], out: &mut [u8], stop: bool) -> Step {
        let (given, room) = (input.len() as u32, out.len() as u32);
        let stream = &mut *self.stream;
        stream.next_in = input.as_ptr();
        stream.avail_in = given;
        stream.next_out = out.as_mut_ptr();
        stream.avail_out = room;
        // SAFETY: the stream was initialised, and the pointers and lengths are those of the slices.
        let code = unsafe { z::inflate(stream, if stop { z::Z_BLOCK } else { z::Z_NO_FLUSH }) };
        let consumed = (given - stream.avail_in) as usize;
        let produced = (room - stream.avail_out) as usize;
        let at = match code {
            z::Z_STREAM_END => Ok(At::End),
            z::Z_OK | z::Z_BUF_ERROR if stop && stream.data_type & (128 | 64) == 128 => {
                Ok(At::Boundary { bits: (stream.data_type & 7) as u8 })
            }
            z::Z_OK | z::Z_BUF_ERROR => Ok(At::Inside),
            _ => Err(self.message()),
        };
        Step { consumed, produced, at }
    }

    fn message(&self) -> &'static str {
        if self.stream.msg.is_null() {
            return "invalid data";
        }
        // SAFETY: zlib's messages are static and end with a zero.
        let text: &'static std::ffi::CStr = unsafe { std::ffi::CStr::from_ptr(self.stream.msg) };
        text.to_str().unwrap_or("invalid data")
    }

    /// The last decoded bytes, at most [`WINDOW`].
    pub fn window(&self) -> Vec<u8> {
        let mut bytes = vec![0; WINDOW];
        let mut len = 0;
        // SAFETY: the stream was initialised, there is room for the largest window, and zlib only reads the stream.
        unsafe { z::inflateGetDictionary(&*self.stream as *const _ as *mut _, bytes.as_mut_ptr(), &mut len) };
        bytes.truncate(len as usize);
        bytes
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        // SAFETY: the stream was initialised and is not used any more.
        unsafe { z::inflateEnd(&mut *self.stream) };
    }
}
