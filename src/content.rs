//! The bytes of a file. A content is read by position and ends at its own length, which may have to be found first
//! ([`Content::known_len`] is None then). A read fills its buffer up to the end of the content or fails: it never
//! returns fewer bytes.

mod as_source;
mod computed;
mod extent;
mod hyperslab;
mod late;
mod lines;
mod window;
mod zipped;

use std::io::{self, Read};
use std::ops::{ControlFlow, Range};
use std::sync::Arc;

pub use as_source::AsSource;
pub use computed::{Computed, joined};
pub use extent::Coding;
pub use hyperslab::hyperslab;
pub use late::late;
pub use lines::{Lines, Rows};
pub use window::Window;
pub use zipped::zipped;

use crate::codec::{Pass, Stream};
pub use crate::codec::{Units, in_pieces};
use crate::source::{Mapped, Source};
use crate::{Error, Result};

/// Copying so many bytes takes less time than mapping their pages.
pub const MAX_COPIED: u64 = 32 << 10;
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
    /// A byte range of another content, which ends where that ends or before.
    Part { whole: Arc<Content>, range: Range<u64> },
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
            Content::Stored { range, .. } | Content::Part { range, .. } => Some(range.end - range.start),
            Content::Decoded(stream) => stream.known_len(),
            Content::Computed(computed) => computed.known_len(),
            Content::Broken { claimed, .. } => Some((*claimed).max(1)),
        }
    }

    /// The length in bytes, decoding if there is no other way.
    pub fn len(&self) -> Result<u64> {
        match self {
            Content::Decoded(stream) => stream.len(),
            Content::Computed(computed) => computed.len(),
            other => Ok(other.known_len().unwrap_or(0)),
        }
    }

    /// A range of it, which ends where it ends or before.
    pub fn part(&self, range: Range<u64>) -> Content {
        let within = |of: &Range<u64>| of.start + range.start..of.start + range.end;
        match self {
            Content::Stored { source, range: of } => {
                Content::Stored { source: source.clone(), range: within(of) }
            }
            Content::Part { whole, range: of } => Content::Part { whole: whole.clone(), range: within(of) },
            Content::Broken { error, .. } => {
                Content::Broken { claimed: range.end - range.start, error: error.clone() }
            }
            whole => Content::Part { whole: Arc::new(whole.clone()), range },
        }
    }

    /// Calls `listener` once when damage is found that reading at other places did not meet.
    pub fn on_damage(&self, listener: impl FnOnce() + Send + 'static) {
        match self {
            Content::Decoded(stream) => stream.on_damage(listener),
            Content::Part { whole, .. } => whole.on_damage(listener),
            Content::Computed(computed) => computed.on_damage(Box::new(listener)),
            Content::Inline(_) | Content::Stored { .. } | Content::Broken { .. } => {}
        }
    }

    /// As [`Content::read`] if that neither decodes nor waits, or None.
    pub fn read_if_ready(&self, offset: u64, size: usize) -> Result<Option<Bytes>> {
        let Some(len) = self.known_len() else { return Ok(None) };
        let end = len.min(offset.saturating_add(size as u64));
        match self {
            Content::Decoded(stream) if offset < end => {
                let bytes = stream.read_cached((end - offset) as usize, offset)?;
                Ok(bytes.map(Bytes::Owned))
            }
            Content::Stored { source, range } if offset < end => {
                ready_stored(&**source, range.start + offset..range.start + end)
            }
            Content::Part { whole, range } if offset < end => {
                whole.read_if_ready(range.start + offset, (end - offset) as usize)
            }
            Content::Computed(computed) if offset < end => computed.read_if_ready(offset..end),
            _ => self.read(offset, size).map(Some),
        }
    }

    /// Fills `buf` from `offset`, without a map: for callers that inspect the bytes. The caller stays below the length.
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
            Content::Part { whole, range } => whole.fill(buf, range.start + offset),
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
            Content::Computed(computed) => computed.pass(each),
            Content::Decoded(stream) => stream.pass(each),
            Content::Part { whole, range } => pass_part(whole, range, each),
            Content::Broken { error, .. } => Err(error.clone()),
        }
    }

    /// All bytes from front to back, to be read once.
    pub fn reader(&self) -> Result<Reader> {
        match self {
            Content::Inline(bytes) => Ok(ReaderKind::Inline(io::Cursor::new(bytes.clone()))),
            Content::Stored { source, range } => {
                Ok(ReaderKind::Stored { source: source.clone(), range: range.clone() })
            }
            Content::Decoded(stream) => stream.once().map(Box::new).map(ReaderKind::Decoded),
            Content::Computed(computed) => Ok(ReaderKind::Computed { computed: computed.clone(), at: 0 }),
            Content::Part { whole, range } => whole.reader().map(|whole| ReaderKind::Part {
                whole: Box::new(whole),
                skip: range.start,
                left: range.end - range.start,
            }),
            Content::Broken { error, .. } => Err(error.clone()),
        }
        .map(Reader)
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
            Content::Part { whole, range } => whole.read(range.start + offset, count),
            Content::Computed(computed) => computed.read(offset..end),
            Content::Broken { error, .. } => Err(error.clone()),
        }
    }
}

/// What [`Content::reader`] gives. An [`Error`] of the container is inside the [`io::Error`], and what comes
/// before damage is read before it.
pub struct Reader(ReaderKind);

enum ReaderKind {
    Inline(io::Cursor<Arc<[u8]>>),
    Stored {
        source: Arc<dyn Source>,
        range: Range<u64>,
    },
    Decoded(Box<Pass>),
    Computed {
        computed: Arc<dyn Computed>,
        at: u64,
    },
    /// `left` bytes behind the next `skip` ones.
    Part {
        whole: Box<Reader>,
        skip: u64,
        left: u64,
    },
}

impl io::Read for Reader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match &mut self.0 {
            ReaderKind::Inline(bytes) => bytes.read(buffer),
            ReaderKind::Stored { source, range } => {
                let count = (range.end - range.start).min(buffer.len() as u64);
                let into = buffer.get_mut(..count as usize).unwrap_or_default();
                source.read_exact_at(into, range.start).map_err(io::Error::other)?;
                source.check().map_err(io::Error::other)?;
                range.start += count;
                Ok(into.len())
            }
            ReaderKind::Decoded(pass) => pass.read(buffer).map_err(io::Error::other),
            ReaderKind::Computed { computed, at } => {
                read_computed(&**computed, at, buffer).map_err(io::Error::other)
            }
            ReaderKind::Part { whole, skip, left } => {
                drop_first(whole, skip)?;
                read_part(whole, left, buffer)
            }
        }
    }
}

/// The bytes from `at` on; where one of them is damaged, those before it.
fn read_computed(computed: &dyn Computed, at: &mut u64, buffer: &mut [u8]) -> Result<usize> {
    let (start, room) = (*at, buffer.len() as u64);
    let count = |end: u64| end.saturating_sub(start).min(room) as usize;
    let whole = count(computed.len()?);
    let filled = match computed.fill(buffer.get_mut(..whole).unwrap_or_default(), *at) {
        Err(error @ Error::Damaged { .. }) => match count(computed.valid_len()?) {
            0 => return Err(error),
            valid => computed.fill(buffer.get_mut(..valid).unwrap_or_default(), *at).map(|()| valid)?,
        },
        filled => filled.map(|()| whole)?,
    };
    *at += filled as u64;
    Ok(filled)
}

/// Reads over the first `skip` bytes.
fn drop_first(whole: &mut Reader, skip: &mut u64) -> io::Result<()> {
    let wanted = std::mem::take(skip);
    match io::copy(&mut whole.by_ref().take(wanted), &mut io::sink())? {
        found if found < wanted => Err(io::ErrorKind::UnexpectedEof.into()),
        _ => Ok(()),
    }
}

/// What is left of a part. Behind its last byte the rest of the whole is read, whose end tells whether it is right.
fn read_part(whole: &mut Reader, left: &mut u64, buffer: &mut [u8]) -> io::Result<usize> {
    if *left == 0 && !buffer.is_empty() {
        return io::copy(whole, &mut io::sink()).map(|_| 0);
    }
    let count = (buffer.len() as u64).min(*left) as usize;
    let count = whole.read(buffer.get_mut(..count).unwrap_or_default())?;
    *left -= count as u64;
    Ok(count)
}

/// All of `whole` is passed, so that its end tells whether it is right.
/// Continues to the end of the stream, where its checksum is.
fn pass_part(
    whole: &Content,
    range: &Range<u64>,
    each: &mut dyn FnMut(&[u8]) -> ControlFlow<()>,
) -> Result<()> {
    let mut at = 0;
    whole.pass(&mut |piece| {
        let len = piece.len() as u64;
        let inside = |edge: u64| edge.saturating_sub(at).min(len) as usize;
        let wanted = piece.get(inside(range.start)..inside(range.end)).unwrap_or_default();
        at += len;
        if wanted.is_empty() { ControlFlow::Continue(()) } else { each(wanted) }
    })
}

fn pass_computed<C: Computed + ?Sized>(
    computed: &C,
    each: &mut dyn FnMut(&[u8]) -> ControlFlow<()>,
) -> Result<()> {
    let fill = |piece: &mut [u8], at| computed.fill(piece, at);
    let mut passed = 0;
    let whole = pass_pieces(0..computed.len()?, &fill, &mut |piece| {
        passed += piece.len() as u64;
        each(piece)
    });
    if let Err(Error::Damaged { .. }) = &whole {
        // What the piece with the damage has before it.
        pass_pieces(passed..computed.valid_len()?, &fill, each)?;
    }
    whole
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
    let is_small = range.end - range.start <= MAX_COPIED;
    match (!is_small).then(|| source.map(range.clone())).flatten() {
        Some(mapped) => {
            source.check()?;
            Ok(Bytes::Mapped(mapped))
        }
        None => source.read_range(range).map(Bytes::Owned),
    }
}

/// As [`stored`] if that does not wait for a disk, or None.
fn ready_stored(source: &dyn Source, range: Range<u64>) -> Result<Option<Bytes>> {
    let is_small = range.end - range.start <= MAX_COPIED;
    if !is_small && let Some(mapped) = source.map(range.clone()) {
        let is_cached = source.is_cached(&range);
        return if is_cached { source.check().map(|()| Some(Bytes::Mapped(mapped))) } else { Ok(None) };
    }
    let mut bytes = vec![0; (range.end - range.start) as usize];
    if !source.read_if_cached(&mut bytes, range.start)? {
        return Ok(None);
    }
    source.check().map(|()| Some(Bytes::Owned(bytes)))
}

/// What a read gives, for the kernel to copy: bytes in memory, or a place in a mapped file.
pub enum Bytes {
    Owned(Vec<u8>),
    Mapped(Mapped),
}

impl Bytes {
    /// # Safety
    /// As of [`Mapped::for_the_kernel`].
    pub unsafe fn for_the_kernel(&self) -> &[u8] {
        match self {
            Bytes::Owned(bytes) => bytes,
            // SAFETY: the caller guarantees the same.
            Bytes::Mapped(mapped) => unsafe { mapped.for_the_kernel() },
        }
    }

    /// Tests truncate no file below a read.
    #[cfg(test)]
    pub fn to_vec(&self) -> Vec<u8> {
        // SAFETY: see above.
        unsafe { self.for_the_kernel() }.to_vec()
    }
}
