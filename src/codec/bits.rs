//! Packed bits, read as bytes of 0 and 1. They are stored in 64-bit words, lowest bit first, in either byte order.

use std::sync::Arc;

use crate::Result;
use crate::source::Source;

/// Stored bytes are fetched in pieces of this size.
const PIECE: usize = 16 << 10;

pub struct Bits {
    source: Arc<dyn Source>,
    /// Offset of the first word in the file.
    start: u64,
    len: u64,
    big_endian: bool,
}

impl Bits {
    /// `len` bits whose words start at `start`. The caller has checked that they lie within the file.
    pub fn new(source: Arc<dyn Source>, start: u64, len: u64, big_endian: bool) -> Bits {
        Bits { source, start, len, big_endian }
    }

    /// The number of bits, each of which becomes one byte.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// The bytes that `count` bits take in the file.
    pub fn stored_len(count: u64) -> u64 {
        count.div_ceil(64).saturating_mul(8)
    }

    pub fn is_cached(&self, offset: u64, len: u64) -> bool {
        let first = self.start + offset / 64 * 8;
        self.source.is_cached(&(first..self.start + Bits::stored_len(offset + len)))
    }

    /// Fills `buf` from bit `offset` on; the caller keeps the range within the length.
    pub fn read_exact_at(&self, buf: &mut [u8], offset: u64) -> Result<()> {
        let (mut rest, mut at) = (buf, offset);
        let mut stored = Vec::new();
        while !rest.is_empty() {
            let word = at / 64;
            let needed = (at % 64 + rest.len() as u64).div_ceil(64) as usize * 8;
            stored.resize(needed.min(PIECE), 0);
            self.source.read_exact_at(&mut stored, self.start + 8 * word)?;
            let (words, _) = stored.as_chunks::<8>();
            let bits = words.iter().flat_map(|bytes| {
                let word =
                    if self.big_endian { u64::from_be_bytes(*bytes) } else { u64::from_le_bytes(*bytes) };
                (0..64).map(move |bit| (word >> bit & 1) as u8)
            });
            let count = rest.len().min(8 * stored.len() - (at % 64) as usize);
            let (filled, after) = rest.split_at_mut(count);
            filled.iter_mut().zip(bits.skip((at % 64) as usize)).for_each(|(to, bit)| *to = bit);
            (rest, at) = (after, at + count as u64);
        }
        self.source.check()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::source::memory::MemorySource;

    proptest! {
        #[test]
        fn any_range(len in 0u64..400_000, seed in any::<u64>(), big in any::<bool>(), from in any::<prop::sample::Index>(), size in 0u64..300_000) {
            let is_set = |at: u64| at.wrapping_mul(seed | 1) >> 61 & 1;
            let mut words = vec![0u64; len.div_ceil(64) as usize];
            (0..len).for_each(|at| words[at as usize / 64] |= is_set(at) << (at % 64));
            let mut bytes = vec![9; 3];
            bytes.extend(words.iter().flat_map(|word| if big { word.to_be_bytes() } else { word.to_le_bytes() }));
            prop_assert_eq!(bytes.len() as u64, 3 + Bits::stored_len(len));
            let bits = Bits::new(Arc::new(MemorySource { bytes, ..MemorySource::default() }), 3, len, big);
            let from = from.index(len as usize + 1) as u64;
            let mut found = vec![9; size.min(len - from) as usize];
            bits.read_exact_at(&mut found, from).unwrap();
            prop_assert!(found.iter().zip(from..).all(|(bit, at)| u64::from(*bit) == is_set(at)));
        }
    }
}
