//! LZ4 blocks: sequences of literals, each followed by a copy of earlier output from at most 64 KiB back.
//! ```text
//! bytes
//! 1      token: number of literals (upper 4 bits), length of the copy minus 4 (lower 4 bits)
//! 0..    if the number is 15: bytes added to it, up to and including the first that is not 255
//! n      literals
//! 2      distance of the copy, little-endian; the block's last sequence ends before it
//! 0..    if the length is 15 + 4: bytes added to it
//! ```
//! Existing crates decode a block as a whole, into one buffer of its decoded length; this decoder can stop and resume
//! anywhere.

use std::ops::Range;

use super::walk::{Decoder, Fault, Fetched};
use crate::Result;
use crate::source::Source;

/// Maximum distance of a copy.
const WINDOW: usize = 64 << 10;
const MIN_COPY: u64 = 4;

#[derive(Clone)]
pub struct Lz4 {
    input: Fetched,
    /// The last decoded bytes.
    window: Vec<u8>,
    step: Step,
}

/// What to decode next.
#[derive(Clone, Copy)]
enum Step {
    Token,
    /// The literals left, then the token, which holds the length of the copy.
    Literals(u64, u8),
    /// The bytes left to copy, and the distance.
    Copy(u64, usize),
    /// The last literals have been decoded.
    End,
}

impl Lz4 {
    /// The block in a range of the file.
    pub fn new(range: Range<u64>) -> Lz4 {
        Lz4 { input: Fetched::new(range), window: Vec::new(), step: Step::Token }
    }

    /// Maximum decoded length of a block of `stored` bytes.
    pub fn max_decoded_len(stored: u64) -> u64 {
        stored.saturating_mul(255).saturating_add(16)
    }

    fn byte(&mut self, source: &dyn Source) -> Result<u8, Fault> {
        let byte = self.input.next(source)?;
        byte.ok_or_else(|| Fault::Data("the LZ4 block ends early".into(), self.input.offset()))
    }

    /// A length that starts with `first` from the token.
    fn length(&mut self, source: &dyn Source, first: u8) -> Result<u64, Fault> {
        let mut length = u64::from(first);
        if first == 15 {
            loop {
                let byte = self.byte(source)?;
                // No file is long enough for this to overflow.
                length += u64::from(byte);
                if byte != 255 {
                    break;
                }
            }
        }
        Ok(length)
    }

    /// Appends literals to `out` up to length `end`; returns how many are left.
    fn literals(
        &mut self,
        source: &dyn Source,
        out: &mut Vec<u8>,
        end: usize,
        left: u64,
    ) -> Result<u64, Fault> {
        let here = self.input.peek(source)?;
        if here.is_empty() {
            return Err(Fault::Data("the LZ4 block ends early".into(), self.input.offset()));
        }
        let count = left.min((end - out.len()) as u64).min(here.len() as u64);
        out.extend_from_slice(here.get(..count as usize).unwrap_or_default());
        self.input.consume(count as usize);
        Ok(left - count)
    }

    /// The step after the literals.
    fn copy_or_end(&mut self, source: &dyn Source, token: u8, decoded: usize) -> Result<Step, Fault> {
        if self.input.peek(source)?.is_empty() {
            return Ok(Step::End);
        }
        let at = self.input.offset();
        let distance = usize::from(u16::from_le_bytes([self.byte(source)?, self.byte(source)?]));
        if distance == 0 || distance > decoded {
            let problem = format!("the LZ4 block copies from {distance} bytes back, and there are {decoded}");
            return Err(Fault::Data(problem, at));
        }
        Ok(Step::Copy(self.length(source, token & 15)? + MIN_COPY, distance))
    }

    fn run(&mut self, source: &dyn Source, out: &mut Vec<u8>, end: usize) -> Result<(), Fault> {
        while out.len() < end {
            self.step = match self.step {
                Step::Token => {
                    let token = self.byte(source)?;
                    Step::Literals(self.length(source, token >> 4)?, token)
                }
                Step::Literals(0, token) => self.copy_or_end(source, token, out.len())?,
                Step::Literals(left, token) => Step::Literals(self.literals(source, out, end, left)?, token),
                Step::Copy(0, _) => Step::Token,
                Step::Copy(left, distance) => {
                    let count = left.min((end - out.len()) as u64);
                    copy(out, distance, count as usize);
                    Step::Copy(left - count, distance)
                }
                Step::End => {
                    return Err(Fault::Data("the LZ4 block ends early".into(), self.input.offset()));
                }
            };
        }
        Ok(())
    }
}

/// Appends `count` bytes from `distance` before the end; where the ranges overlap, copied bytes are copied again.
fn copy(out: &mut Vec<u8>, distance: usize, count: usize) {
    let from = out.len() - distance;
    let mut left = count;
    while left > 0 {
        let part = left.min(out.len() - from);
        out.extend_from_within(from..from + part);
        left -= part;
    }
}

impl Decoder for Lz4 {
    /// 64 KiB each: 8 MiB in total.
    const POINTS: u64 = 128;
    const MEMORY: u64 = (WINDOW + size_of::<Lz4>()) as u64;

    fn decode(&mut self, source: &dyn Source, out: &mut Vec<u8>, count: usize) -> Result<(), Fault> {
        let mut window = std::mem::take(&mut self.window);
        let before = window.len();
        let run = self.run(source, &mut window, before + count);
        out.extend(window.iter().skip(before));
        window.drain(..window.len().saturating_sub(WINDOW));
        self.window = window;
        run
    }

    fn finish(&mut self, source: &dyn Source) -> Result<(), Fault> {
        let at = self.input.offset();
        let is_end = match self.step {
            Step::End => true,
            Step::Literals(0, _) => self.input.peek(source)?.is_empty(),
            // The last sequence may have no literals, but must exist.
            Step::Copy(0, _) | Step::Token => {
                let token = self.input.next(source)?;
                token.is_some_and(|token| token >> 4 == 0) && self.input.peek(source)?.is_empty()
            }
            _ => false,
        };
        match is_end {
            true => Ok(()),
            false => Err(Fault::Data("the LZ4 block does not end where its data does".into(), at)),
        }
    }

    fn rest(&mut self) {
        self.input.rest();
        self.window.shrink_to_fit();
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::codec::walk::decodes;
    use crate::source::memory::MemorySource;

    fn source(bytes: &[u8]) -> MemorySource {
        MemorySource { bytes: bytes.to_vec(), ..MemorySource::default() }
    }

    fn decode(bytes: &[u8], step: usize, len: usize) -> Result<Vec<u8>, String> {
        let source = source(bytes);
        let mut decoder = Lz4::new(0..bytes.len() as u64);
        let mut out = Vec::new();
        while out.len() < len {
            let count = step.min(len - out.len());
            decoder.decode(&source, &mut out, count).map_err(|fault| format!("{fault:?}"))?;
            decoder = decoder.clone();
            decoder.rest();
        }
        decoder.finish(&source).map(|()| out).map_err(|fault| format!("{fault:?}"))
    }

    /// Bytes with repetitions near and far.
    fn data() -> impl Strategy<Value = Vec<u8>> {
        let part = (any::<u8>(), 1usize..40_000, 1usize..300).prop_map(|(seed, len, period)| {
            (0..len).map(|at| (at % period) as u8 ^ seed).collect::<Vec<u8>>()
        });
        let noise = prop::collection::vec(any::<u8>(), 0..2000);
        prop::collection::vec(prop_oneof![part, noise], 0..6).prop_map(|parts| parts.concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

        #[test]
        fn decodes_what_lz4_flex_encodes(data in data(), step in 1usize..100_000) {
            let stored = lz4_flex::block::compress(&data);
            prop_assert!(data.len() as u64 <= Lz4::max_decoded_len(stored.len() as u64));
            prop_assert!(decode(&stored, step.max(data.len() / 50), data.len()).unwrap() == data);
            prop_assert!(decode(&stored, 70_000, data.len() + 1).is_err());
            if let Some(less) = data.len().checked_sub(1) {
                prop_assert!(decode(&stored, 70_000, less).is_err());
            }
            let short = Lz4::new(0..stored.len() as u64 - 1);
            prop_assert!(!decodes(&short, &source(&stored), data.len() as u64).unwrap());
        }

        #[test]
        fn garbage_decodes_as_in_lz4_flex_or_fails(bytes in prop::collection::vec(any::<u8>(), 1..300), len in 0usize..3000) {
            if let Ok(found) = decode(&bytes, 100, len) {
                prop_assert!(len == 0 || lz4_flex::block::decompress(&bytes, len).unwrap() == found);
            }
        }
    }

    #[test]
    fn errors_describe_the_damage() {
        assert!(decode(&[0x10, b'a', 0, 0], 10, 5).unwrap_err().contains("copies from 0 bytes back"));
        assert!(
            decode(&[0x10, b'a', 2, 0, 0], 10, 5).unwrap_err().contains("2 bytes back, and there are 1\", 2")
        );
        assert!(decode(&[0x20, b'a'], 10, 2).unwrap_err().contains("ends early\", 2"));
        assert!(decode(&[0xf0, 255, 255], 10, 2).unwrap_err().contains("ends early\", 3"));
        assert!(decode(&[0x10, b'a', 1, 0], 10, 5).unwrap_err().contains("does not end"));
        assert_eq!(decode(&[0x10, b'a', 1, 0, 0], 10, 5).unwrap(), b"aaaaa");
        assert_eq!(decode(&[0], 10, 0).unwrap(), b"");
    }
}
