//! Contents that are not stored as they are read: computed for each requested range, or joined from others.

use std::ops::{ControlFlow, Range};
use std::sync::Arc;

use super::{Bytes, Content, in_pieces, pass_computed};
use crate::codec::{Bits, Decoder, Piped, Walk, Xz, ZstdStream};
use crate::error::Place;
use crate::{Error, Result};

/// Bytes made range by range. Nobody asks beyond the length.
#[allow(clippy::len_without_is_empty)] // nobody asks
pub trait Computed: Send + Sync {
    /// The length in bytes, if nothing has to be made to tell.
    fn known_len(&self) -> Option<u64>;

    /// The length, found out if there is no other way; it is known then.
    fn len(&self) -> Result<u64> {
        self.known_len().ok_or_else(|| Error::Other("a length is not known".into()))
    }

    /// The length before the first damage that was found so far.
    fn valid_len(&self) -> Result<u64> {
        self.len()
    }

    /// Calls `listener` once when damage is found that reading at other places did not meet.
    fn on_damage(&self, listener: Box<dyn FnOnce() + Send>) {
        drop(listener);
    }

    /// The file that its bytes come from, if that is one and known.
    fn file(&self) -> Option<Place> {
        None
    }

    /// Fills `buf` from `offset`.
    fn fill(&self, buf: &mut [u8], offset: u64) -> Result<()>;

    /// As [`Computed::read`] if that does not wait, or None.
    fn read_if_ready(&self, range: Range<u64>) -> Result<Option<Bytes>> {
        let _ = range;
        Ok(None)
    }

    fn read(&self, range: Range<u64>) -> Result<Bytes> {
        let mut bytes = vec![0; (range.end - range.start) as usize];
        self.fill(&mut bytes, range.start)?;
        Ok(Bytes::Owned(bytes))
    }

    /// As [`Content::pass`].
    fn pass(&self, each: &mut dyn FnMut(&[u8]) -> ControlFlow<()>) -> Result<()> {
        pass_computed(self, each)
    }
}

/// How streams are read whose decoded blocks are kept.
macro_rules! from_kept_blocks {
    () => {
        fn fill(&self, buf: &mut [u8], offset: u64) -> Result<()> {
            self.read_exact_at(buf, offset)
        }

        fn read_if_ready(&self, range: Range<u64>) -> Result<Option<Bytes>> {
            let cached = self.read_cached((range.end - range.start) as usize, range.start)?;
            Ok(cached.map(Bytes::Owned))
        }
    };
}

impl<D: Decoder> Computed for Walk<D> {
    fn known_len(&self) -> Option<u64> {
        Some(self.len())
    }

    fn valid_len(&self) -> Result<u64> {
        Ok(self.valid_len())
    }

    fn on_damage(&self, listener: Box<dyn FnOnce() + Send>) {
        self.on_damage(listener);
    }

    from_kept_blocks!();
}

impl Computed for Xz {
    fn known_len(&self) -> Option<u64> {
        Some(self.len())
    }

    fn valid_len(&self) -> Result<u64> {
        Ok(self.valid_len())
    }

    from_kept_blocks!();
}

impl Computed for ZstdStream {
    fn known_len(&self) -> Option<u64> {
        self.known_len()
    }

    fn len(&self) -> Result<u64> {
        self.len()
    }

    from_kept_blocks!();
}

impl Computed for Piped {
    fn known_len(&self) -> Option<u64> {
        self.known_len()
    }

    fn len(&self) -> Result<u64> {
        self.len()
    }

    fn fill(&self, buf: &mut [u8], offset: u64) -> Result<()> {
        self.read_exact_at(buf, offset)
    }
}

impl Computed for Bits {
    fn known_len(&self) -> Option<u64> {
        Some(self.len())
    }

    fn fill(&self, buf: &mut [u8], offset: u64) -> Result<()> {
        self.read_exact_at(buf, offset)
    }

    fn read_if_ready(&self, range: Range<u64>) -> Result<Option<Bytes>> {
        if self.is_cached(range.start, range.end - range.start) {
            self.read(range).map(Some)
        } else {
            Ok(None)
        }
    }
}

/// The bytes of several contents, one after the other. Their lengths are known.
pub fn joined(parts: Vec<Content>) -> Content {
    let parts = parts.into_iter().filter(|part| part.known_len() != Some(0));
    let mut end = Some(0u64);
    let parts: Option<Vec<(u64, Content)>> = parts
        .map(|part| {
            end = end?.checked_add(part.known_len()?);
            Some((end?, part))
        })
        .collect();
    let Some(mut parts) = parts else {
        let error = Error::Other("its parts are longer together than any file".into());
        return Content::Broken { claimed: 1, error };
    };
    match parts.len() {
        0 => Content::Inline(Arc::new([])),
        1 => parts.remove(0).1,
        _ => Content::Computed(Arc::new(Joined { parts })),
    }
}

struct Joined {
    /// Each with its end in the whole; none of them is empty.
    parts: Vec<(u64, Content)>,
}

impl Joined {
    /// The part with the byte at `offset`, and where that part begins and ends.
    fn part(&self, offset: u64) -> Option<(Range<u64>, &Content)> {
        let at = self.parts.partition_point(|(end, _)| *end <= offset);
        let start = at.checked_sub(1).and_then(|before| self.parts.get(before)).map_or(0, |(end, _)| *end);
        self.parts.get(at).map(|(end, part)| (start..*end, part))
    }

    /// The part that has all of `range`, and where it begins.
    fn whole(&self, range: &Range<u64>) -> Option<(u64, &Content)> {
        let (place, part) = self.part(range.start)?;
        (range.end <= place.end).then_some((place.start, part))
    }
}

impl Computed for Joined {
    fn known_len(&self) -> Option<u64> {
        Some(self.parts.last().map_or(0, |(end, _)| *end))
    }

    fn file(&self) -> Option<Place> {
        self.parts.iter().find_map(|(_, part)| part.file())
    }

    fn fill(&self, buf: &mut [u8], offset: u64) -> Result<()> {
        in_pieces(buf, offset, &mut |rest, at| {
            let Some((place, part)) = self.part(at) else { return Ok(0) };
            let count = (place.end - at).min(rest.len() as u64) as usize;
            part.fill(rest.get_mut(..count).unwrap_or_default(), at - place.start)?;
            Ok(count)
        })
    }

    fn read_if_ready(&self, range: Range<u64>) -> Result<Option<Bytes>> {
        match self.whole(&range) {
            Some((start, part)) => {
                part.read_if_ready(range.start - start, (range.end - range.start) as usize)
            }
            None => Ok(None),
        }
    }

    fn read(&self, range: Range<u64>) -> Result<Bytes> {
        let len = (range.end - range.start) as usize;
        if let Some((start, part)) = self.whole(&range) {
            return part.read(range.start - start, len);
        }
        let mut bytes = vec![0; len];
        self.fill(&mut bytes, range.start)?;
        Ok(Bytes::Owned(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inline(bytes: &[u8]) -> Content {
        Content::Inline(bytes.into())
    }

    /// What a reader gives in pieces of this size, and its error.
    fn read_through(content: &Content, step: usize) -> (Vec<u8>, Option<String>) {
        use std::io::Read;
        let (mut reader, mut found, mut piece) = (content.reader().unwrap(), Vec::new(), vec![0; step]);
        loop {
            match reader.read(&mut piece) {
                Ok(0) => return (found, None),
                Ok(count) => found.extend(&piece[..count]),
                Err(cause) => {
                    let error = Error::inside(&cause).expect("an error of ours");
                    assert!(matches!(error, Error::Damaged { .. }), "{error}");
                    return (found, Some(error.to_string()));
                }
            }
        }
    }

    fn walk<D: Decoder>(bytes: Vec<u8>, len: usize, start: impl Fn(Range<u64>) -> D) -> Content {
        let (range, engine) = (0..bytes.len() as u64, Arc::new(crate::codec::Engine::new(1 << 20)));
        let source = Arc::new(crate::source::memory::MemorySource { bytes, ..Default::default() });
        Content::Computed(Arc::new(Walk::new(engine, source, start(range), len as u64, Default::default())))
    }

    #[test]
    fn a_reader_gives_what_comes_before_damage_and_then_the_damage() {
        let bytes: Vec<u8> = (0..700_000u64).map(|at| (at * at / 1000 % 251) as u8).collect();
        let whole = lz4_flex::block::compress(&bytes);
        for step in [7_000, 300_000, 1 << 20] {
            let (found, error) =
                read_through(&walk(whole.clone(), bytes.len(), crate::codec::Lz4::new), step);
            assert!(found == bytes && error.is_none());
            let cut = whole[..whole.len() / 2].to_vec();
            let (found, error) = read_through(&walk(cut, bytes.len(), crate::codec::Lz4::new), step);
            assert!(error.is_some_and(|error| error.contains("the LZ4 block ends early")));
            assert!(found.len() > bytes.len() / 3 && bytes.starts_with(&found), "{}", found.len());
            // Numbers of two bytes, the 300,001st of which has too many bits.
            let mut numbers = [5u8, 0x85, 1].repeat(150_000);
            numbers.extend([0xff, 0xff, 0x7f, 1]);
            let start = |range| crate::codec::Leb128::new(range, 2, false);
            let (found, error) = read_through(&walk(numbers, 600_004, start), step);
            assert!(error.is_some_and(|error| error.contains("a LEB128 number has more than 16 bits")));
            assert!(found == [5, 0, 0x85, 0].repeat(150_000), "{}", found.len());
        }
    }

    #[test]
    fn parts_are_one_content() {
        let content = joined(vec![inline(b"ab"), inline(b""), inline(b"cdef"), inline(b"g")]);
        assert_eq!(content.known_len(), Some(7));
        for from in 0..9 {
            for size in 0..9 {
                let want = b"abcdefg".get(from..).unwrap_or(b"");
                let want = &want[..size.min(want.len())];
                let read = content.read(from as u64, size).unwrap();
                assert_eq!(read.to_vec(), want, "{from} {size}");
                if let Some(read) = content.read_if_ready(from as u64, size).unwrap() {
                    assert_eq!(read.to_vec(), want);
                }
            }
        }
        assert!(content.fill(&mut [0; 8], 0).is_err());
        assert!(matches!(joined(vec![inline(b""), inline(b"x")]), Content::Inline(_)));
        assert_eq!(joined(Vec::new()).known_len(), Some(0));
        let huge = Content::Part { whole: Arc::new(inline(b"")), range: 0..u64::MAX };
        let too_long = joined(vec![inline(b"x"), huge.clone()]);
        assert!(too_long.read(0, 1).is_err_and(|error| error.to_string().contains("longer together")));
        assert_eq!(joined(vec![huge]).known_len(), Some(u64::MAX));
    }
}
