//! Decodes compressed bytes in memory as a whole: LZ4 frames and zstd, up to a length that the caller permits.
//! ```text
//! LZ4 frame  04 22 4d 18 | flags, 1 | block size, 1 | [content size, 8] | [dictionary, 4] | check, 1
//!            blocks: size, 4, its highest bit set if stored as it is | bytes | [xxh32, 4]
//!            00 00 00 00 | [xxh32 of the content, 4]
//! ```

use ::zstd::bulk::Decompressor;
use lz4_flex::block::{DecompressError, decompress_into_with_dict};
use xxhash_rust::xxh32::xxh32;

use super::lz4::Lz4;

const FRAME: u32 = 0x184d_2204;
const SKIPPABLE: std::ops::RangeInclusive<u32> = 0x184d_2a50..=0x184d_2a5f;

/// Decodes zstd frames to at most `max_len` bytes.
pub fn zstd_bytes(stored: &[u8], max_len: usize) -> Result<Vec<u8>, String> {
    let mut decoder = Decompressor::new().map_err(|cause| cause.to_string())?;
    decoder.decompress(stored, max_len).map_err(|cause| format!("zstd: {}", cause.to_string().to_lowercase()))
}

/// Decodes LZ4 frames to at most `max_len` bytes.
pub fn lz4_frame(stored: &[u8], max_len: usize) -> Result<Vec<u8>, String> {
    let mut out = Vec::new();
    out.try_reserve_exact(max_len).map_err(|_| "does not fit into memory".to_owned())?;
    let mut input = Bytes(stored);
    while !input.0.is_empty() {
        match input.u32()? {
            FRAME => frame(&mut input, &mut out, max_len)?,
            magic if SKIPPABLE.contains(&magic) => {
                let len = input.u32()? as usize;
                input.take(len)?;
            }
            magic => return Err(format!("not an LZ4 frame: it begins with {magic:#010x}")),
        }
    }
    Ok(out)
}

struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], String> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or("the LZ4 frame ends early")?;
        self.0 = rest;
        Ok(taken)
    }

    fn u32(&mut self) -> Result<u32, String> {
        Ok(self.take(4)?.try_into().map_or(0, u32::from_le_bytes))
    }

    fn byte(&mut self) -> Result<u8, String> {
        Ok(self.take(1)?.first().copied().unwrap_or_default())
    }
}

fn frame(input: &mut Bytes<'_>, out: &mut Vec<u8>, max_len: usize) -> Result<(), String> {
    let descriptor = input.0;
    let (flags, _) = (input.byte()?, input.byte()?);
    if flags >> 6 != 1 {
        return Err(format!("the LZ4 frame is of version {}; only 1 is supported", flags >> 6));
    }
    let extra = if flags & 8 != 0 { 8 } else { 0 } + if flags & 1 != 0 { 4 } else { 0 };
    input.take(extra)?;
    if flags & 1 != 0 {
        return Err("the LZ4 frame needs a dictionary".into());
    }
    let described = descriptor.get(..2 + extra).unwrap_or_default();
    if input.byte()? != (xxh32(described, 0) >> 8) as u8 {
        return Err("the checksum of the LZ4 frame's header is wrong".into());
    }
    let start = out.len();
    loop {
        let size = input.u32()?;
        if size == 0 {
            break;
        }
        let block = input.take((size & 0x7fff_ffff) as usize)?;
        if flags & 0x10 != 0 && input.u32()? != xxh32(block, 0) {
            return Err("the checksum of an LZ4 block is wrong".into());
        }
        let is_linked = flags & 0x20 == 0;
        let from = if is_linked { start } else { out.len() };
        match size >> 31 {
            0 => lz4_block(block, out, from, max_len)?,
            _ if out.len() + block.len() > max_len => return Err(too_long(max_len)),
            _ => out.extend_from_slice(block),
        }
    }
    if flags & 4 != 0 && input.u32()? != xxh32(out.get(start..).unwrap_or_default(), 0) {
        return Err("the checksum of the LZ4 frame is wrong".into());
    }
    Ok(())
}

fn too_long(max_len: usize) -> String {
    format!("the LZ4 frame decodes to more than {max_len} bytes")
}

/// Appends the decoded block; copies may reach back to `from`.
fn lz4_block(block: &[u8], out: &mut Vec<u8>, from: usize, max_len: usize) -> Result<(), String> {
    let start = out.len();
    // No more than the block can fill, or small blocks would take as long as large ones.
    let block_limit = usize::try_from(Lz4::max_decoded_len(block.len() as u64)).unwrap_or(usize::MAX);
    out.resize(start.saturating_add(block_limit).min(max_len), 0);
    let (before, room) = out.split_at_mut(start);
    let made = decompress_into_with_dict(block, room, before.get(from..).unwrap_or_default());
    let made = made.map_err(|error| match error {
        DecompressError::OutputTooSmall { .. } => too_long(max_len),
        error => format!("the LZ4 block is damaged: {error}"),
    })?;
    out.truncate(start + made);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// An LZ4 frame with one block and all checksums.
    fn framed(bytes: &[u8]) -> Vec<u8> {
        let block = lz4_flex::block::compress(bytes);
        let head = [0x40 | 0x20 | 0x10 | 4, 0x70];
        let mut frame = [&FRAME.to_le_bytes()[..], &head, &[(xxh32(&head, 0) >> 8) as u8]].concat();
        frame.extend((block.len() as u32).to_le_bytes());
        frame.extend(&block);
        frame.extend(xxh32(&block, 0).to_le_bytes());
        frame.extend([0; 4]);
        frame.extend(xxh32(bytes, 0).to_le_bytes());
        frame
    }

    fn bytes() -> impl Strategy<Value = Vec<u8>> {
        proptest::collection::vec(prop_oneof![Just(0u8), Just(1), any::<u8>()], 0..2000)
    }

    proptest! {
        #[test]
        fn frames_come_back(bytes in bytes()) {
            let frame = framed(&bytes);
            prop_assert_eq!(&lz4_frame(&frame, bytes.len()).unwrap(), &bytes);
            prop_assert_eq!(lz4_frame(&[frame.clone(), frame].concat(), 2 * bytes.len()).unwrap().len(), 2 * bytes.len());
            let packed = ::zstd::bulk::compress(&bytes, 3).unwrap();
            prop_assert_eq!(&zstd_bytes(&packed, bytes.len()).unwrap(), &bytes);
        }

        #[test]
        fn damage_is_an_error_and_never_exceeds_the_limit(bytes in bytes(), at in any::<prop::sample::Index>(), with in any::<u8>()) {
            let mut frame = framed(&bytes);
            let at = at.index(frame.len());
            frame[at] = with;
            if let Ok(found) = lz4_frame(&frame, bytes.len()) {
                prop_assert!(found.len() <= bytes.len());
            }
            let _ = lz4_frame(&frame[..at], bytes.len());
        }
    }

    /// The second block copies from the first one, and then from itself.
    #[test]
    fn linked_blocks_copy_from_earlier_ones() {
        let blocks = [&[0x40, b'a', b'b', b'c', b'd'][..], &[0x04, 4, 0, 0x10, b'e']];
        let framed = |flags: u8| {
            let head = [0x40 | flags, 0x40];
            let mut frame = [&FRAME.to_le_bytes()[..], &head, &[(xxh32(&head, 0) >> 8) as u8]].concat();
            for block in blocks {
                frame.extend((block.len() as u32).to_le_bytes());
                frame.extend(block);
            }
            [frame, vec![0; 4]].concat()
        };
        assert_eq!(lz4_frame(&framed(0), 13).unwrap(), b"abcdabcdabcde");
        assert!(lz4_frame(&framed(0), 12).unwrap_err().contains("more than 12 bytes"));
        assert!(lz4_frame(&framed(0x20), 13).unwrap_err().contains("the LZ4 block is damaged"));
    }

    #[test]
    fn a_truncated_frame_is_damaged() {
        let frame = framed(&[7; 5000]);
        for end in 1..frame.len() {
            assert!(lz4_frame(&frame[..end], 5000).unwrap_err().contains("ends early"), "{end}");
        }
        assert!(lz4_frame(b"GIF89a", 10).unwrap_err().contains("not an LZ4 frame"));
    }

    #[test]
    fn more_than_the_declared_size_is_refused() {
        let bytes = vec![7; 100_000];
        assert!(lz4_frame(&framed(&bytes), 99_999).unwrap_err().contains("more than"));
        assert!(zstd_bytes(&::zstd::bulk::compress(&bytes, 3).unwrap(), 99_999).is_err());
        assert!(zstd_bytes(b"no zstd here", 10).is_err());
    }
}
