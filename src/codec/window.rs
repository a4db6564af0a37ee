//! The decoded bytes before a seek point that later bytes refer to. Raw, a window is 32 KiB; packed, its unreferenced
//! bytes are zeroed and the rest is deflated: 4 to 25 MiB per decoded GiB instead of 128.
//!
//! Referenced bytes are found by decoding from the seek point twice, with two marker windows whose bytes encode their
//! positions: where the results differ, a byte of the window was copied. 32 KiB of output suffice, since deflate refers
//! no farther back.

use std::ops::Range;
use std::sync::Arc;

use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress};

use super::deflate::{At, Decoder, ENOUGH, WINDOW};
use super::inflate::Point;
use super::input::Input;
use crate::Result;
use crate::source::Source;

/// Level 1 takes 4/5 of the time but gives a third more bytes; higher levels are slower for little gain.
const LEVEL: u32 = 2;

#[derive(Clone)]
pub enum Window {
    Raw(Arc<[u8]>),
    /// The last `len` bytes of the window, deflated; bytes before them are not referenced.
    Packed {
        len: u32,
        deflated: Arc<[u8]>,
    },
}

impl Window {
    pub fn empty() -> Window {
        Window::Packed { len: 0, deflated: Arc::default() }
    }

    pub fn raw(bytes: Vec<u8>) -> Window {
        Window::Raw(bytes.into())
    }

    pub fn is_packed(&self) -> bool {
        matches!(self, Window::Packed { .. })
    }

    /// Memory taken, in bytes.
    pub fn bytes(&self) -> usize {
        match self {
            Window::Raw(bytes) | Window::Packed { deflated: bytes, .. } => bytes.len(),
        }
    }

    /// The bytes before the seek point, without leading unreferenced ones.
    pub fn unpack(&self) -> Arc<[u8]> {
        match self {
            Window::Raw(bytes) => bytes.clone(),
            Window::Packed { len: 0, .. } => Arc::default(),
            Window::Packed { len, deflated } => {
                let mut bytes = vec![0; (*len as usize).min(WINDOW)];
                // A window that fails to unpack gives wrong blocks, which their checksums reveal.
                let _ = Decompress::new(false).decompress(deflated, &mut bytes, FlushDecompress::Finish);
                bytes.into()
            }
        }
    }
}

/// Packs windows, reusing its engines and buffers.
pub struct Packer {
    decoders: [Decoder; 2],
    outs: [Vec<u8>; 2],
    used: Vec<bool>,
    buffer: Vec<u8>,
    compress: Compress,
}

impl Packer {
    pub fn new() -> Packer {
        Packer {
            decoders: [Decoder::new(), Decoder::new()],
            outs: [vec![0; WINDOW], vec![0; WINDOW]],
            used: Vec::new(),
            buffer: Vec::new(),
            compress: Compress::new(Compression::new(LEVEL), false),
        }
    }

    /// The packed window of `point`, after which the stream continues in `source` up to `end`.
    pub fn pack(&mut self, point: &Point, source: &Arc<dyn Source>, end: u64) -> Result<Window> {
        let Window::Raw(bytes) = &point.window else { return Ok(point.window.clone()) };
        self.find_used(point, bytes.len(), source, end)?;
        let Some(first) = self.used.iter().position(|used| *used) else { return Ok(Window::empty()) };
        let sparse: Vec<u8> = bytes
            .iter()
            .zip(&self.used)
            .skip(first)
            .map(|(byte, used)| if *used { *byte } else { 0 })
            .collect();
        Ok(Window::Packed { len: sparse.len() as u32, deflated: self.deflate(&sparse).into() })
    }

    /// Sets `used` for each referenced byte of the window. After an error in the data, the references found so far
    /// suffice: nothing after it will be decoded.
    fn find_used(&mut self, point: &Point, len: usize, source: &Arc<dyn Source>, end: u64) -> Result<()> {
        self.used.clear();
        self.used.resize(len, false);
        let range = point.stored - u64::from(point.bits > 0)..end;
        let mut input = Input::new(source.clone(), range, std::mem::take(&mut self.buffer));
        let byte = if point.bits > 0 { input.next()?.unwrap_or(0) } else { 0 };
        for (decoder, window) in self.decoders.iter_mut().zip(markers(0..len)) {
            decoder.resume(point.bits, byte, &window);
        }
        let mut filled = 0;
        while let Some(produced) = self.step(&mut input, filled)? {
            filled += produced;
        }
        self.buffer = input.into_buffer();
        Ok(())
    }

    /// Continues decoding with both engines; None at the end.
    fn step(&mut self, input: &mut Input, filled: usize) -> Result<Option<usize>> {
        if filled >= WINDOW {
            return Ok(None);
        }
        let (stored, is_all) = input.ahead(ENOUGH)?;
        let [low, high] = &mut self.outs;
        let (low, high) = (&mut low[filled..], &mut high[filled..]);
        let step = self.decoders[0].step(stored, is_all, low, false);
        // The same codes with another window stop at the same place.
        self.decoders[1].step(stored, is_all, high, false);
        for (low, high) in low.iter().zip(high.iter()).take(step.produced) {
            if let Some(used) = place(*low, *high).and_then(|place| self.used.get_mut(place)) {
                *used = true;
            }
        }
        input.consume(step.consumed);
        let goes_on = step.at.is_ok_and(|at| at != At::End) && step.consumed + step.produced > 0;
        Ok(goes_on.then_some(step.produced))
    }

    fn deflate(&mut self, bytes: &[u8]) -> Vec<u8> {
        self.compress.reset();
        let mut out = Vec::with_capacity(bytes.len() + bytes.len() / 8 + 64);
        // There is room for the worst case, stored blocks; if there were not, blocks would fail their checksums.
        let _ = self.compress.compress_vec(bytes, &mut out, FlushCompress::Finish);
        out.shrink_to_fit();
        out
    }
}

/// Two windows whose bytes at each position differ and together encode the position. A literal is equal in both
/// results.
fn markers(places: Range<usize>) -> [Vec<u8>; 2] {
    let low = |place: usize| place as u8;
    let high = |place: usize| low(place).wrapping_add(1 + (place >> 8) as u8);
    [places.clone().map(low).collect(), places.map(high).collect()]
}

/// The position encoded by a pair of bytes from the two results.
fn place(low: u8, high: u8) -> Option<usize> {
    let above = high.wrapping_sub(low).checked_sub(1)?;
    Some(usize::from(above) << 8 | usize::from(low))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markers_encode_their_position() {
        let [low, high] = markers(0..WINDOW);
        for (at, (low, high)) in low.into_iter().zip(high).enumerate() {
            assert_eq!(place(low, high), Some(at));
        }
        assert_eq!(place(7, 7), None);
    }
}
