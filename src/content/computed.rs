//! Contents that are nowhere as they are read: made for each range that is asked for, or joined from others.

use std::ops::Range;
use std::sync::Arc;

use super::{Bytes, Content};
use crate::codec::{Bits, Decoder, Walk, Xz};
use crate::{Error, Result};

/// Bytes made range by range. Nobody asks beyond the length.
#[allow(clippy::len_without_is_empty)] // nobody asks
pub trait Computed: Send + Sync {
    fn len(&self) -> u64;

    /// The length before the first damage that was found so far.
    fn sound_len(&self) -> u64 {
        self.len()
    }

    /// Fills `buf` from `offset`.
    fn fill(&self, buf: &mut [u8], offset: u64) -> Result<()>;

    /// As [`Computed::read`] if that does not wait, or None.
    fn read_at_once(&self, range: Range<u64>) -> Result<Option<Bytes>>;

    fn read(&self, range: Range<u64>) -> Result<Bytes> {
        let mut bytes = vec![0; (range.end - range.start) as usize];
        self.fill(&mut bytes, range.start)?;
        Ok(Bytes::Owned(bytes))
    }
}

impl<D: Decoder> Computed for Walk<D> {
    fn len(&self) -> u64 {
        self.len()
    }

    fn sound_len(&self) -> u64 {
        self.sound_len()
    }

    fn fill(&self, buf: &mut [u8], offset: u64) -> Result<()> {
        self.read_exact_at(buf, offset)
    }

    fn read_at_once(&self, range: Range<u64>) -> Result<Option<Bytes>> {
        let cached = self.read_cached((range.end - range.start) as usize, range.start)?;
        Ok(cached.map(Bytes::Owned))
    }
}

impl Computed for Xz {
    fn len(&self) -> u64 {
        self.len()
    }

    fn sound_len(&self) -> u64 {
        self.sound_len()
    }

    fn fill(&self, buf: &mut [u8], offset: u64) -> Result<()> {
        self.read_exact_at(buf, offset)
    }

    fn read_at_once(&self, range: Range<u64>) -> Result<Option<Bytes>> {
        let cached = self.read_cached((range.end - range.start) as usize, range.start)?;
        Ok(cached.map(Bytes::Owned))
    }
}

impl Computed for Bits {
    fn len(&self) -> u64 {
        self.len()
    }

    fn fill(&self, buf: &mut [u8], offset: u64) -> Result<()> {
        self.read_exact_at(buf, offset)
    }

    fn read_at_once(&self, range: Range<u64>) -> Result<Option<Bytes>> {
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
    let mut end = 0;
    let mut parts: Vec<(u64, Content)> = parts
        .map(|part| {
            end += part.known_len().unwrap_or(0);
            (end, part)
        })
        .collect();
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
    fn len(&self) -> u64 {
        self.parts.last().map_or(0, |(end, _)| *end)
    }

    fn fill(&self, mut buf: &mut [u8], mut offset: u64) -> Result<()> {
        while !buf.is_empty() {
            let past = || Error::Other("read past the end".into());
            let (place, part) = self.part(offset).ok_or_else(past)?;
            let count = (place.end - offset).min(buf.len() as u64);
            let (now, rest) = buf.split_at_mut(count as usize);
            part.fill(now, offset - place.start)?;
            (buf, offset) = (rest, offset + count);
        }
        Ok(())
    }

    fn read_at_once(&self, range: Range<u64>) -> Result<Option<Bytes>> {
        match self.whole(&range) {
            Some((start, part)) => part.read_at_once(range.start - start, (range.end - range.start) as usize),
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

    #[test]
    fn parts_are_one_content() {
        let content = joined(vec![inline(b"ab"), inline(b""), inline(b"cdef"), inline(b"g")]);
        assert_eq!(content.known_len(), Some(7));
        for from in 0..9 {
            for size in 0..9 {
                let want = b"abcdefg".get(from..).unwrap_or(b"");
                let want = &want[..size.min(want.len())];
                let read = content.read(from as u64, size).unwrap();
                assert_eq!(read.for_the_kernel(), want, "{from} {size}");
                if let Some(read) = content.read_at_once(from as u64, size).unwrap() {
                    assert_eq!(read.for_the_kernel(), want);
                }
            }
        }
        assert!(content.fill(&mut [0; 8], 0).is_err());
        assert!(matches!(joined(vec![inline(b""), inline(b"x")]), Content::Inline(_)));
        assert_eq!(joined(Vec::new()).known_len(), Some(0));
    }
}
