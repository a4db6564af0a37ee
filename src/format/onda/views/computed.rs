//! Views of a signal's samples, computed on demand for the bytes requested: single channels, and values in the signal's
//! unit.

use std::ops::Range;
use std::sync::Arc;

use super::super::read::samples::Layout;
use crate::array::{Array, Dtype, Element, Endian, Kind, Order, npy};
use crate::codec::Scratch;
use crate::content::{Bytes, Computed, Content, Units, joined};
use crate::{Error, Result};

/// Bytes decoded at a time, small enough for the processor's cache.
const PIECE: u64 = 128 << 10;

/// Bytes read at a time to extract a channel. Larger, because reading is most of the work, and the kernel
/// copies whole pages faster in long runs.
const FRAMES: u64 = 1 << 20;

/// Decodes stored values to the signal's unit: `fma(resolution, value, offset)`, rounded once.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    pub resolution: f64,
    pub offset: f64,
}

impl Scale {
    /// True if values and their type stay unchanged.
    pub fn is_identity(&self) -> bool {
        self.resolution == 1.0 && self.offset == 0.0
    }
}

/// An array as a .npy file.
pub fn with_header(array: &Array, elements: Content) -> Content {
    joined(vec![Content::Inline(npy::described(array).into()), elements])
}

/// One channel as a .npy file.
pub fn channel(samples: Content, layout: Layout, number: u64) -> Result<Content> {
    let count = samples.len()? / layout.frame();
    let array = channel_array(layout, count);
    let elements = match layout.channels {
        1 => samples,
        _ => Content::Computed(Arc::new(Channel { samples, layout, number, count })),
    };
    Ok(with_header(&array, elements))
}

/// The array of one channel's samples.
pub fn channel_array(layout: Layout, samples: u64) -> Array {
    Array::new(layout.dtype(), [samples], Order::C)
}

/// All samples in the unit: as float64, or unchanged if the scale is the identity.
pub fn decoded(samples: Content, layout: Layout, scale: Scale) -> Result<(Array, Content)> {
    let count = samples.len()? / layout.frame();
    let array = decoded_array(layout, scale, count);
    if scale.is_identity() {
        return Ok((array, samples));
    }
    let values = count * layout.channels;
    Ok((array, Content::Computed(Arc::new(Decoded { samples, element: layout.element, scale, values }))))
}

/// The array of decoded samples.
pub fn decoded_array(layout: Layout, scale: Scale, samples: u64) -> Array {
    match scale.is_identity() {
        true => layout.array(samples),
        false => Array::new(FLOAT64, [samples, layout.channels], Order::C),
    }
}

pub const FLOAT64: Dtype = Dtype { element: Element { kind: Kind::Float, size: 8 }, endian: Endian::Little };

/// A range of the stored samples as a .npy file.
pub fn part(samples: Content, layout: Layout, range: Range<u64>) -> Content {
    let frame = layout.frame();
    let array = layout.array(range.end - range.start);
    let bytes = range.start * frame..range.end * frame;
    with_header(&array, Content::Part { whole: Arc::new(samples), range: bytes })
}

struct Channel {
    samples: Content,
    layout: Layout,
    number: u64,
    count: u64,
}

impl Channel {
    /// Fills `out` with values from `first` on.
    fn values(&self, out: &mut [u8], first: u64) -> Result<()> {
        let (size, frame) = (self.layout.element.size as usize, self.layout.frame());
        let per_piece = (FRAMES / frame).max(1) as usize;
        let (mut first, skip) = (first, self.number as usize * size);
        let mut frames = Scratch::take();
        for piece in out.chunks_mut(per_piece * size) {
            let count = (piece.len() / size) as u64;
            let frames = frames.bytes((count * frame) as usize);
            self.samples.fill(frames, first * frame)?;
            let from = frames.get(skip..).unwrap_or_default();
            match size {
                1 => gather::<1>(from, frame as usize, piece),
                2 => gather::<2>(from, frame as usize, piece),
                4 => gather::<4>(from, frame as usize, piece),
                _ => gather::<8>(from, frame as usize, piece),
            }
            first += count;
        }
        Ok(())
    }
}

/// Copies the first `N` bytes of each frame.
fn gather<const N: usize>(from: &[u8], frame: usize, to: &mut [u8]) {
    for (to, from) in to.chunks_exact_mut(N).zip(from.chunks(frame)) {
        if let (Some(to), Some(from)) = (to.first_chunk_mut::<N>(), from.first_chunk::<N>()) {
            *to = *from;
        }
    }
}

impl Computed for Channel {
    fn known_len(&self) -> Option<u64> {
        Some(self.count * u64::from(self.layout.element.size))
    }

    fn fill(&self, buf: &mut [u8], offset: u64) -> Result<()> {
        let size = u64::from(self.layout.element.size);
        aligned((size, size * self.count), buf, offset, &|out, first| self.values(out, first))
    }

    fn read_if_ready(&self, range: Range<u64>) -> Result<Option<Bytes>> {
        let size = u64::from(self.layout.element.size);
        let (first, last) = (range.start / size, range.end.div_ceil(size));
        let frame = self.layout.frame();
        if_ready(self, &self.samples, first * frame..last * frame, range)
    }
}

struct Decoded {
    samples: Content,
    element: Element,
    scale: Scale,
    values: u64,
}

impl Computed for Decoded {
    fn known_len(&self) -> Option<u64> {
        Some(8 * self.values)
    }

    fn fill(&self, buf: &mut [u8], offset: u64) -> Result<()> {
        let size = u64::from(self.element.size);
        aligned((8, 8 * self.values), buf, offset, &|out, first| {
            let (mut first, mut stored) = (first, Scratch::take());
            for piece in out.chunks_mut(PIECE as usize) {
                let count = (piece.len() / 8) as u64;
                let stored = stored.bytes((count * size) as usize);
                self.samples.fill(stored, first * size)?;
                decode(stored, self.element, self.scale, piece);
                first += count;
            }
            Ok(())
        })
    }

    fn read_if_ready(&self, range: Range<u64>) -> Result<Option<Bytes>> {
        let size = u64::from(self.element.size);
        if_ready(self, &self.samples, range.start / 8 * size..range.end.div_ceil(8) * size, range)
    }
}

/// Maximum bytes computed without blocking: larger results would hold up the thread that receives requests.
const MAX_IMMEDIATE: u64 = 64 << 10;

/// Computes a range if it is small and its samples are available without blocking.
fn if_ready(
    computed: &dyn Computed,
    samples: &Content,
    needed: Range<u64>,
    range: Range<u64>,
) -> Result<Option<Bytes>> {
    let is_small = needed.end - needed.start <= MAX_IMMEDIATE
        && match samples {
            Content::Stored { source, range } => {
                source.is_cached(&(range.start + needed.start..range.start + needed.end))
            }
            Content::Inline(_) => true,
            _ => false,
        };
    if is_small { computed.read(range).map(Some) } else { Ok(None) }
}

/// Fills `buf`, which may begin and end within a value, using `values`, which computes whole values of `size` bytes.
fn aligned(
    (size, len): (u64, u64),
    buf: &mut [u8],
    offset: u64,
    values: &dyn Fn(&mut [u8], u64) -> Result<()>,
) -> Result<()> {
    Units { size, len, max_chunk: u64::MAX }.fill(buf, offset, values, &|part, number, skip| {
        let mut edge = [0; 8];
        let edge = edge.get_mut(..size as usize).unwrap_or_default();
        values(edge, number)?;
        let selected = edge.get(skip as usize..).and_then(|edge| edge.get(..part.len()));
        part.copy_from_slice(selected.ok_or_else(|| Error::Other("read past the end".into()))?);
        Ok(())
    })
}

/// Decodes stored values to float64; both little-endian.
pub fn decode(stored: &[u8], element: Element, scale: Scale, out: &mut [u8]) {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("fma") && std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has the features that the function is compiled for.
        return unsafe { decode_fma(stored, element, scale, out) };
    }
    decode_by(stored, element, scale, out);
}

/// Compiled for processors with FMA instructions: several times as fast as a library call for each value.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "fma,avx2")]
fn decode_fma(stored: &[u8], element: Element, scale: Scale, out: &mut [u8]) {
    decode_by(stored, element, scale, out);
}

#[inline(always)]
fn decode_by(stored: &[u8], element: Element, scale: Scale, out: &mut [u8]) {
    match (element.kind, element.size) {
        (Kind::Int, 1) => each::<1>(stored, scale, out, |bytes| i8::from_le_bytes(bytes).into()),
        (Kind::Int, 2) => each::<2>(stored, scale, out, |bytes| i16::from_le_bytes(bytes).into()),
        (Kind::Int, 4) => each::<4>(stored, scale, out, |bytes| i32::from_le_bytes(bytes).into()),
        (Kind::Int, _) => each::<8>(stored, scale, out, |bytes| i64::from_le_bytes(bytes) as f64),
        (Kind::Uint, 1) => each::<1>(stored, scale, out, |bytes| u8::from_le_bytes(bytes).into()),
        (Kind::Uint, 2) => each::<2>(stored, scale, out, |bytes| u16::from_le_bytes(bytes).into()),
        (Kind::Uint, 4) => each::<4>(stored, scale, out, |bytes| u32::from_le_bytes(bytes).into()),
        (Kind::Uint, _) => each::<8>(stored, scale, out, |bytes| u64::from_le_bytes(bytes) as f64),
        (_, 4) => each::<4>(stored, scale, out, |bytes| f32::from_le_bytes(bytes).into()),
        (_, _) => each::<8>(stored, scale, out, f64::from_le_bytes),
    }
}

#[inline(always)]
fn each<const N: usize>(stored: &[u8], scale: Scale, out: &mut [u8], value: impl Fn([u8; N]) -> f64) {
    let Scale { resolution, offset } = scale;
    for (out, stored) in out.chunks_exact_mut(8).zip(stored.chunks_exact(N)) {
        if let (Some(out), Some(stored)) = (out.first_chunk_mut::<8>(), stored.first_chunk::<N>()) {
            *out = resolution.mul_add(value(*stored), offset).to_le_bytes();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(kind: Kind, size: u32, channels: u64) -> Layout {
        Layout { element: Element { kind, size }, channels }
    }

    fn all(content: &Content) -> Vec<u8> {
        let mut bytes = vec![0; content.len().unwrap() as usize];
        content.fill(&mut bytes, 0).unwrap();
        bytes
    }

    /// Checks that reading any range gives that slice of the whole.
    fn ranges(content: &Content) {
        let whole = all(content);
        for from in 0..whole.len() {
            for size in [0, 1, 3, 8, 17, whole.len()] {
                let expected = &whole[from..whole.len().min(from + size)];
                assert_eq!(content.read(from as u64, size).unwrap().to_vec(), expected, "{from} {size}");
            }
        }
    }

    #[test]
    fn channels_are_deinterleaved() {
        for size in [1u32, 2, 4, 8] {
            let frames: Vec<u8> = (0..size as usize * 3 * 7).map(|byte| byte as u8).collect();
            for number in 0..3usize {
                let content = Content::Inline(frames.as_slice().into());
                let view = channel(content, layout(Kind::Uint, size, 3), number as u64).unwrap();
                ranges(&view);
                let size = size as usize;
                let expected: Vec<u8> = frames
                    .chunks(3 * size)
                    .flat_map(|frame| &frame[number * size..][..size])
                    .copied()
                    .collect();
                assert!(all(&view).ends_with(&expected), "{size} {number}");
            }
        }
    }

    #[test]
    fn decoded_values_are_rounded_once() {
        let scale = Scale { resolution: 0.1, offset: -0.5 };
        let stored: Vec<u8> = (0..=255).collect();
        let mut out = vec![0; 8 * stored.len()];
        decode(&stored, Element { kind: Kind::Int, size: 1 }, scale, &mut out);
        let mut plain = vec![0; out.len()];
        decode_by(&stored, Element { kind: Kind::Int, size: 1 }, scale, &mut plain);
        assert_eq!(out, plain);
        let mut differ = 0;
        for (stored, out) in stored.iter().zip(out.chunks_exact(8)) {
            let (value, found) = (f64::from(*stored as i8), f64::from_le_bytes(out.try_into().unwrap()));
            assert_eq!(found, 0.1f64.mul_add(value, -0.5));
            differ += usize::from(found != 0.1 * value - 0.5);
        }
        assert!(differ > 5);
        let content = Content::Inline(stored.as_slice().into());
        ranges(&decoded(content, layout(Kind::Int, 1, 4), scale).unwrap().1);
    }

    #[test]
    fn identity_scales_leave_samples_unchanged() {
        let content = Content::Inline([1u8, 2, 3, 4, 5, 6].as_slice().into());
        let same = Scale { resolution: 1.0, offset: 0.0 };
        let (array, elements) = decoded(content, layout(Kind::Int, 2, 1), same).unwrap();
        let view = with_header(&array, elements);
        assert!(all(&view).ends_with(&[1, 2, 3, 4, 5, 6]));
        assert_eq!(all(&view).len() % 64, 6);
    }
}
