//! LEB128 numbers of one width: seven bits per byte, lowest first, with the high bit set on all but a number's last
//! byte. Signed numbers are zigzag coded (0, -1, 1, -2, ... as 0, 1, 2, 3, ...). Decoded numbers are little-endian.

use std::ops::Range;

use super::walk::{Decoder, Fault, Fetched};
use crate::Result;
use crate::source::Source;

#[derive(Clone)]
pub struct Leb128 {
    input: Fetched,
    /// Bytes per decoded number, at most 16.
    width: usize,
    signed: bool,
    /// May other bytes follow the last number?
    allows_trailing: bool,
}

impl Leb128 {
    /// The numbers in a range of the file. `width` is a power of two, at most 16.
    pub fn new(range: Range<u64>, width: usize, signed: bool) -> Leb128 {
        Leb128 { input: Fetched::new(range), width, signed, allows_trailing: false }
    }

    /// Bytes after the last number cause a warning instead of an error.
    pub fn allowing_trailing_bytes(self) -> Leb128 {
        Leb128 { allows_trailing: true, ..self }
    }

    /// Maximum encoded bytes of a number of `width` bytes.
    pub fn max_encoded_len(width: u64) -> u64 {
        (8 * width).div_ceil(7)
    }

    fn number(&mut self, source: &dyn Source) -> Result<u128, Fault> {
        let begin = self.input.offset();
        let bits = 8 * self.width as u32;
        let (mut value, mut shift) = (0u128, 0);
        loop {
            let Some(byte) = self.input.next(source)? else {
                return Err(Fault::Data("the LEB128 numbers end early".into(), self.input.offset()));
            };
            let part = u128::from(byte & 0x7f);
            if shift >= bits || bits - shift < 7 && part >> (bits - shift) != 0 {
                return Err(Fault::Data(format!("a LEB128 number has more than {bits} bits"), begin));
            }
            value |= part << shift;
            shift += 7;
            if byte & 0x80 == 0 {
                break;
            }
        }
        // Zigzag: the lowest bit tells whether the others are inverted.
        Ok(if self.signed { (value >> 1) ^ (value & 1).wrapping_neg() } else { value })
    }
}

impl Decoder for Leb128 {
    /// A point holds only an offset in the file.
    const POINTS: u64 = 1 << 16;
    const MEMORY: u64 = size_of::<Leb128>() as u64;

    fn decode(&mut self, source: &dyn Source, out: &mut Vec<u8>, count: usize) -> Result<(), Fault> {
        let end = out.len() + count;
        while out.len() < end {
            if self.width == 1 && !self.signed {
                // Numbers below 128 are stored as they are.
                let here = self.input.peek(source)?;
                let here = here.get(..here.len().min(end - out.len())).unwrap_or_default();
                let small = here.iter().position(|byte| *byte & 0x80 != 0).unwrap_or(here.len());
                out.extend(here.iter().take(small));
                self.input.consume(small);
                if out.len() == end {
                    break;
                }
            }
            let value = self.number(source)?.to_le_bytes();
            out.extend(value.iter().take(self.width));
        }
        Ok(())
    }

    fn finish(&mut self, source: &dyn Source) -> Result<(), Fault> {
        match self.input.peek(source)?.is_empty() {
            true => Ok(()),
            false if self.allows_trailing => {
                let place = source.place().at(self.input.offset());
                log::warn!("{place}: bytes follow the last LEB128 number, and are ignored");
                Ok(())
            }
            false => Err(Fault::Data("bytes follow the last LEB128 number".into(), self.input.offset())),
        }
    }

    fn rest(&mut self) {
        self.input.rest();
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::codec::walk::decodes;
    use crate::source::memory::MemorySource;

    fn encoded(values: &[i128], width: usize, signed: bool) -> Vec<u8> {
        let mut out = Vec::new();
        for value in values {
            let mask = if width == 16 { u128::MAX } else { (1 << (8 * width)) - 1 };
            let mut rest = *value as u128 & mask;
            if signed {
                rest = ((*value << 1) ^ (*value >> 127)) as u128 & mask;
            }
            while rest > 0x7f {
                out.push(rest as u8 | 0x80);
                rest >>= 7;
            }
            out.push(rest as u8);
        }
        out
    }

    fn decode(bytes: &[u8], width: usize, signed: bool, count: usize) -> Result<Vec<u8>, (Vec<u8>, String)> {
        let source = MemorySource { bytes: bytes.to_vec(), ..MemorySource::default() };
        let mut decoder = Leb128::new(0..bytes.len() as u64, width, signed);
        let mut out = Vec::new();
        match decoder.decode(&source, &mut out, count * width).and_then(|()| decoder.finish(&source)) {
            Ok(()) => Ok(out),
            Err(fault) => Err((out, format!("{fault:?}"))),
        }
    }

    proptest! {
        #[test]
        fn numbers_come_back(
            values in prop::collection::vec(any::<i128>(), 0..50),
            shift in 0u32..120,
            width in prop::sample::select(vec![1usize, 2, 4, 8, 16]),
            signed in any::<bool>(),
        ) {
            let cut = |value: &i128| {
                let bits = 8 * width as u32;
                let small = *value >> shift;
                if signed { (small << (128 - bits)) >> (128 - bits) } else { small }
            };
            let values: Vec<i128> = values.iter().map(cut).collect();
            let stored = encoded(&values, width, signed);
            let want: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()[..width].to_vec()).collect();
            prop_assert_eq!(decode(&stored, width, signed, values.len()).unwrap(), want.clone());
            prop_assert!(stored.len() as u64 <= values.len() as u64 * Leb128::max_encoded_len(width as u64));
            let source = MemorySource { bytes: stored.clone(), ..MemorySource::default() };
            let decoder = |end: usize| Leb128::new(0..end as u64, width, signed);
            prop_assert!(decodes(&decoder(stored.len()), &source, want.len() as u64).unwrap());
            if let Some(short) = stored.len().checked_sub(1) {
                prop_assert!(!decodes(&decoder(short), &source, want.len() as u64).unwrap());
            }
        }

        #[test]
        fn garbage_does_not_panic(
            bytes in prop::collection::vec(any::<u8>(), 0..200),
            width in prop::sample::select(vec![1usize, 2, 4, 8, 16]),
            count in 0usize..100,
        ) {
            let _ = decode(&bytes, width, true, count);
        }
    }

    #[test]
    fn invalid_numbers_are_errors() {
        let problem = |bytes: &[u8], width| decode(bytes, width, false, 2).unwrap_err();
        assert_eq!(
            problem(&[5, 0x80, 2], 1),
            (vec![5], "Data(\"a LEB128 number has more than 8 bits\", 1)".into())
        );
        assert!(problem(&[5, 0x80, 0x80, 0], 1).1.contains("more than 8 bits"));
        assert_eq!(problem(&[5, 0x80], 1), (vec![5], "Data(\"the LEB128 numbers end early\", 2)".into()));
        assert!(problem(&[5, 6, 7], 1).1.contains("bytes follow the last LEB128 number\", 2"));
        // An overlong encoding within the maximum length is valid.
        assert_eq!(decode(&[0x80, 0x00, 1], 1, false, 2).unwrap(), [0, 1]);
        let largest = [&[0xff; 18][..], &[3]].concat();
        assert_eq!(decode(&largest, 16, false, 1).unwrap(), [0xff; 16]);
        assert!(decode(&[&[0xff; 18][..], &[4]].concat(), 16, false, 1).is_err());
    }
}
