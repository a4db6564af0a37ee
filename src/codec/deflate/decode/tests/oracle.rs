//! The decoder of zlib-rs, to compare ours with.

use libz_rs_sys as z;

/// What a stream decodes to.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Decoded {
    pub bytes: Vec<u8>,
    /// Between blocks: decoded and consumed bytes, and bits of the last one that belong to the next block.
    pub boundaries: Vec<(usize, usize, u8)>,
    pub end: End,
}

#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub enum End {
    /// The input ends before the stream does.
    #[default]
    Early,
    /// The stream ends after so many bytes of input.
    At(usize),
    Wrong(String),
}

/// Decodes the whole stream in `input`, which begins after the lowest `skip` bits of its first byte.
pub fn decode(input: &[u8], skip: u32, window: &[u8], max: usize) -> Decoded {
    let mut stream = z::z_stream::default();
    let size = size_of::<z::z_stream>() as i32;
    let (first, rest) = input.split_at(usize::from(skip > 0));
    let mut found = Decoded { bytes: vec![0; max], ..Decoded::default() };
    // SAFETY: the stream does not move before its end; the pointers and lengths are those of slices that live on.
    unsafe {
        assert_eq!(z::inflateInit2_(&mut stream, -15, z::zlibVersion(), size), z::Z_OK);
        if let Some(first) = first.first() {
            z::inflatePrime(&mut stream, 8 - skip as i32, i32::from(first >> skip));
        }
        z::inflateSetDictionary(&mut stream, window.as_ptr(), window.len() as u32);
        (stream.next_in, stream.avail_in) = (rest.as_ptr(), rest.len() as u32);
        (stream.next_out, stream.avail_out) = (found.bytes.as_mut_ptr(), max as u32);
        found.end = loop {
            let code = z::inflate(&mut stream, z::Z_BLOCK);
            let (produced, used) = (max - stream.avail_out as usize, input.len() - stream.avail_in as usize);
            match code {
                // It may tell only the next time, in other words.
                _ if !stream.msg.is_null() => {
                    break End::Wrong(std::ffi::CStr::from_ptr(stream.msg).to_str().unwrap().to_owned());
                }
                z::Z_STREAM_END => break End::At(used),
                z::Z_OK if stream.data_type & (128 | 64) == 128 => {
                    found.boundaries.push((produced, used, (stream.data_type & 7) as u8));
                }
                z::Z_OK => {}
                z::Z_BUF_ERROR => {
                    assert!(stream.avail_out > 0, "the stream decodes to more than {max} bytes");
                    break End::Early;
                }
                _ => panic!("zlib's code is {code}"),
            }
        };
        z::inflateEnd(&mut stream);
    }
    found.bytes.truncate(max - stream.avail_out as usize);
    found
}

/// A deflate stream of `pieces`, with a flush of its kind after each.
pub fn encode(pieces: &[(&[u8], i32)], level: i32, strategy: i32) -> Vec<u8> {
    let mut stream = z::z_stream::default();
    let size = size_of::<z::z_stream>() as i32;
    let total: usize = pieces.iter().map(|(piece, _)| piece.len()).sum();
    let mut out = vec![0; 2 * total + 100 + 50 * pieces.len()];
    // SAFETY: as in `decode`.
    unsafe {
        let code =
            z::deflateInit2_(&mut stream, level, z::Z_DEFLATED, -15, 8, strategy, z::zlibVersion(), size);
        assert_eq!(code, z::Z_OK);
        (stream.next_out, stream.avail_out) = (out.as_mut_ptr(), out.len() as u32);
        for (piece, flush) in pieces {
            (stream.next_in, stream.avail_in) = (piece.as_ptr(), piece.len() as u32);
            z::deflate(&mut stream, *flush);
        }
        assert_eq!(z::deflate(&mut stream, z::Z_FINISH), z::Z_STREAM_END);
        z::deflateEnd(&mut stream);
    }
    out.truncate(out.len() - stream.avail_out as usize);
    out
}
