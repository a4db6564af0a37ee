//! What a file's bytes are. A content is read by position and clamps at its own length, which may have
//! to be found first ([`Content::known_len`] says whether). A read fills its buffer up to the end of the
//! content or fails: never a short answer in between.

use std::ops::{ControlFlow, Range};
use std::sync::Arc;

mod computed;

pub use computed::{Computed, joined};

use crate::codec::Stream;
use crate::source::{Mapped, Source};
use crate::{Error, Result};

/// Whole contents are handed out in pieces of this size.
const PIECE: usize = 256 << 10;

#[derive(Clone)]
pub enum Content {
    /// Bytes in memory.
    Inline(Arc<[u8]>),
    /// A byte range of a source, as it is.
    Stored { source: Arc<dyn Source>, range: Range<u64> },
    /// A compressed stream.
    Decoded(Arc<Stream>),
    /// Bytes that are made as they are asked for.
    Computed(Arc<dyn Computed>),
    /// A dataset whose description makes no sense: it has the length that was claimed (at least 1, or the
    /// kernel would answer every read with an empty success), and every read gives the error.
    Broken { claimed: u64, error: Error },
}

impl Content {
    /// The length in bytes, if no decoding is needed to tell.
    pub fn known_len(&self) -> Option<u64> {
        match self {
            Content::Inline(bytes) => Some(bytes.len() as u64),
            Content::Stored { range, .. } => Some(range.end - range.start),
            Content::Decoded(stream) => stream.known_len(),
            Content::Computed(computed) => Some(computed.len()),
            Content::Broken { claimed, .. } => Some((*claimed).max(1)),
        }
    }

    /// The length in bytes, decoding if there is no other way.
    pub fn len(&self) -> Result<u64> {
        match self {
            Content::Decoded(stream) => stream.len(),
            other => Ok(other.known_len().unwrap_or(0)),
        }
    }

    /// Calls `listener` once when damage is found that reading at other places did not meet.
    pub fn on_damage(&self, listener: impl FnOnce() + Send + 'static) {
        if let Content::Decoded(stream) = self {
            stream.on_damage(listener);
        }
    }

    /// As [`Content::read`] if that neither decodes nor waits, or None.
    pub fn read_at_once(&self, offset: u64, size: usize) -> Result<Option<Bytes>> {
        let Some(len) = self.known_len() else { return Ok(None) };
        let end = len.min(offset.saturating_add(size as u64));
        match self {
            Content::Decoded(stream) if offset < end => {
                let bytes = stream.read_cached((end - offset) as usize, offset)?;
                Ok(bytes.map(Bytes::Owned))
            }
            Content::Stored { source, range } if offset < end => {
                let wanted = range.start + offset..range.start + end;
                if source.is_cached(&wanted) { stored(&**source, wanted).map(Some) } else { Ok(None) }
            }
            Content::Computed(computed) if offset < end => computed.read_at_once(offset..end),
            _ => self.read(offset, size).map(Some),
        }
    }

    /// Fills `buf` from `offset`, without a map: for who looks into the bytes. The caller stays below the length.
    pub fn fill(&self, buf: &mut [u8], offset: u64) -> Result<()> {
        match self {
            Content::Inline(bytes) => {
                let from = usize::try_from(offset).ok().and_then(|at| bytes.get(at..)?.get(..buf.len()));
                buf.copy_from_slice(from.ok_or_else(|| Error::Other("read past the end".into()))?);
                Ok(())
            }
            Content::Stored { source, range } => {
                source.read_exact_at(buf, range.start + offset)?;
                source.check()
            }
            Content::Decoded(stream) => stream.read_exact_at(buf, offset),
            Content::Computed(computed) => computed.fill(buf, offset),
            Content::Broken { error, .. } => Err(error.clone()),
        }
    }

    /// Hands all bytes to `each` from front to back, until it breaks off. What comes before damage is handed
    /// out before the error is returned.
    pub fn pass(&self, each: &mut dyn FnMut(&[u8]) -> ControlFlow<()>) -> Result<()> {
        match self {
            Content::Inline(bytes) => {
                let _ = each(bytes);
                Ok(())
            }
            Content::Stored { source, range } => {
                let fill = |piece: &mut [u8], at| {
                    source.read_exact_at(piece, at)?;
                    source.check()
                };
                pass_pieces(range.clone(), &fill, each)
            }
            Content::Computed(computed) => {
                pass_pieces(0..computed.len(), &|piece, at| computed.fill(piece, at), each)
            }
            Content::Decoded(stream) => stream.pass(each),
            Content::Broken { error, .. } => Err(error.clone()),
        }
    }

    /// At most `size` bytes from `offset`; fewer only where the content ends.
    pub fn read(&self, offset: u64, size: usize) -> Result<Bytes> {
        let end = self.len()?.min(offset.saturating_add(size as u64));
        let count = end.saturating_sub(offset) as usize;
        if count == 0 {
            return Ok(Bytes::Owned(Vec::new()));
        }
        match self {
            Content::Inline(bytes) => {
                Ok(Bytes::Owned(bytes.get(offset as usize..).unwrap_or(&[])[..count].to_vec()))
            }
            Content::Stored { source, range } => {
                let start = range.start + offset;
                stored(&**source, start..start + count as u64)
            }
            Content::Decoded(stream) => {
                let mut bytes = vec![0; count];
                stream.read_exact_at(&mut bytes, offset)?;
                Ok(Bytes::Owned(bytes))
            }
            Content::Computed(computed) => computed.read(offset..end),
            Content::Broken { error, .. } => Err(error.clone()),
        }
    }
}

fn pass_pieces(
    range: Range<u64>,
    fill: &dyn Fn(&mut [u8], u64) -> Result<()>,
    each: &mut dyn FnMut(&[u8]) -> ControlFlow<()>,
) -> Result<()> {
    let mut buffer = vec![0; PIECE];
    let mut at = range.start;
    while at < range.end {
        let count = (range.end - at).min(PIECE as u64);
        let piece = buffer.get_mut(..count as usize).unwrap_or_default();
        fill(piece, at)?;
        if each(piece).is_break() {
            break;
        }
        at += count;
    }
    Ok(())
}

fn stored(source: &dyn Source, range: Range<u64>) -> Result<Bytes> {
    match source.map(range.clone()) {
        Some(mapped) => {
            source.check()?;
            Ok(Bytes::Mapped(mapped))
        }
        None => source.read_range(range).map(Bytes::Owned),
    }
}

/// What a read gives: bytes in memory, or a place in a mapped file.
pub enum Bytes {
    Owned(Vec<u8>),
    Mapped(Mapped),
}

impl Bytes {
    /// To be given to a system call; mapped bytes are not to be looked into.
    pub fn for_the_kernel(&self) -> &[u8] {
        match self {
            Bytes::Owned(bytes) => bytes,
            Bytes::Mapped(mapped) => mapped.for_the_kernel(),
        }
    }
}
