//! Decodes a zlib, gzip or bare deflate stream from its start or from a seek point. The wrapper's checksum and length
//! are verified at the end wherever decoding started, since a seek point records the checksum up to it.
//!
//! Invariants: [`Inflater::read`] fills its buffer, reaches the verified end of the stream, or fails; after a failure
//! the bytes up to [`Inflater::position`] are good.

use std::ops::Range;
use std::sync::Arc;

use super::check::Check;
use super::deflate::{At, Decoder, ENOUGH, WINDOW};
use super::input::Input;
use super::window::Window;
use super::wrapper::{Fault, Wrapper};
use super::{BLOCK, SPAN};
use crate::Result;
use crate::error::Place;
use crate::source::Source;

/// Minimum number of decoded bytes between two window copies, however short the deflate blocks are.
const BETWEEN_CAPTURES: u64 = SPAN / 16;
/// How many bytes before a multiple of the spacing a seek point is looked for: initially, and at least. The stream's
/// own deflate blocks decide where in that range one is found.
const NEAR: u64 = SPAN / 4;
const NEAREST: u64 = SPAN / 16;

/// Where decoding can start: at a deflate block. Positions count decoded bytes.
#[derive(Clone)]
pub struct Point {
    pub position: u64,
    /// Offset in the source of the first byte that is not consumed.
    pub stored: u64,
    /// How many upper bits of the byte before `stored` are not consumed either.
    pub bits: u8,
    pub wrapper: Wrapper,
    /// Where the gzip member (or the zlib stream) begins; `check` is the checksum from there to here.
    pub member: u64,
    pub check: u32,
    pub window: Window,
}

pub struct Inflater {
    decoder: Decoder,
    input: Input,
    wrapper: Wrapper,
    position: u64,
    member: u64,
    /// From the start of the member to the start of the segment.
    check: u32,
    /// From the start of the block to the start of the segment.
    block: u32,
    /// The bytes since the start of the member or of the block, whichever is later.
    segment: Segment,
    finished: bool,
    /// Offset in the source where the first member's trailer ended, if it is the only one seen.
    trailer: Option<u64>,
    /// Whether the failure was a checksum or length mismatch.
    pub mismatch: bool,
    capture: Capture,
}

/// The search for seek points.
struct Capture {
    /// Capture points shortly before multiples of this, or not at all.
    spacing: Option<u64>,
    /// How far before a multiple to look for them.
    near: u64,
    /// Boundaries met in that range.
    met: u32,
    /// The last boundary taken, still without its window: what follows decides which bytes of that are kept.
    open: Option<(Point, Vec<u8>)>,
    done: Vec<Point>,
}

struct Segment {
    start: u64,
    check: u32,
}

/// The reusable buffers of a finished decoder, so that reading a million small streams does not allocate and free
/// decoder tables a million times, which fragments the heap.
pub struct Parts {
    decoder: Decoder,
    buffer: Vec<u8>,
}

impl Parts {
    pub fn new() -> Parts {
        Parts { decoder: Decoder::new(), buffer: Vec::new() }
    }
}

impl Inflater {
    /// A decoder at the start of the stream in `range` of `source`. Without `wrapper`, the first bytes identify it.
    pub fn new(
        source: Arc<dyn Source>,
        range: Range<u64>,
        wrapper: Option<Wrapper>,
        place: &Place,
        parts: Parts,
    ) -> Result<Inflater> {
        let Parts { mut decoder, buffer } = parts;
        decoder.reset();
        let start = range.start;
        let mut input = Input::new(source, range, buffer);
        let wrapper = match wrapper {
            Some(known) => known,
            None => Wrapper::open(&mut input).map_err(|fault| fault.into_error(place, start))?,
        };
        Ok(Inflater::at(decoder, input, wrapper, 0, 0, wrapper.check().of_nothing()))
    }

    /// A decoder at `point` of the stream that ends before `end` of `source`.
    pub fn resume(source: Arc<dyn Source>, end: u64, point: &Point, parts: Parts) -> Result<Inflater> {
        let Parts { mut decoder, buffer } = parts;
        let start = point.stored - u64::from(point.bits > 0);
        let mut input = Input::new(source, start..end, buffer);
        let byte = if point.bits > 0 { input.next()?.unwrap_or(0) } else { 0 };
        decoder.resume(point.bits, byte, &point.window.unpack());
        let Point { wrapper, position, member, check, .. } = *point;
        Ok(Inflater::at(decoder, input, wrapper, position, member, check))
    }

    fn at(
        decoder: Decoder,
        input: Input,
        wrapper: Wrapper,
        position: u64,
        member: u64,
        check: u32,
    ) -> Inflater {
        let segment = Segment { start: position, check: wrapper.check().of_nothing() };
        Inflater {
            decoder,
            input,
            wrapper,
            position,
            member,
            check,
            block: wrapper.check().of_nothing(),
            segment,
            finished: false,
            trailer: None,
            mismatch: false,
            capture: Capture { spacing: None, near: NEAR, met: 0, open: None, done: Vec::new() },
        }
    }

    pub fn into_parts(self) -> Parts {
        Parts { decoder: self.decoder, buffer: self.input.into_buffer() }
    }

    /// How many bytes have been decoded.
    pub fn position(&self) -> u64 {
        self.position
    }

    fn check(&self) -> Check {
        self.wrapper.check()
    }

    /// Where in the source the trailer of the stream's only member ends, once the end is reached.
    pub fn trailer(&self) -> Option<u64> {
        self.trailer
    }

    /// From here on, captures seek points shortly before multiples of `spacing`, or none.
    pub fn capture(&mut self, spacing: Option<u64>) {
        self.capture.spacing = spacing;
    }

    /// The seek points captured since the previous call. The last one before here may come later, as its window is
    /// known only when another window has been decoded.
    pub fn captured(&mut self) -> Vec<Point> {
        std::mem::take(&mut self.capture.done)
    }

    /// To be called at each multiple of the spacing.
    pub fn adapt(&mut self) {
        self.capture.adapt();
    }

    /// Fills `out` and returns the number of bytes, which is smaller only at the verified end of the stream. Appends
    /// the checksum of each block that ends in them, or with the stream. (If decoding started inside a block, its
    /// checksum covers only the rest of it.)
    pub fn read(&mut self, out: &mut [u8], checks: &mut Vec<u32>, place: &Place) -> Result<usize> {
        let mut filled = 0;
        while filled < out.len() && !self.finished {
            let rest = out.get_mut(filled..).unwrap_or_default();
            let step = self.step(rest, checks);
            filled += step.map_err(|fault| {
                self.mismatch = matches!(fault, Fault::Mismatch(_));
                fault.into_error(place, self.input.offset())
            })?;
        }
        Ok(filled)
    }

    /// One call of the engine; returns the bytes it produced.
    fn step(&mut self, out: &mut [u8], checks: &mut Vec<u32>) -> Result<usize, Fault> {
        let (room, stop) = self.capture.room(self.position, out.len());
        let out = out.get_mut(..room).unwrap_or_default();
        let (input, is_all) = self.input.ahead(ENOUGH)?;
        let rest = input.len();
        let step = self.decoder.step(input, is_all, out, stop);
        self.input.consume(step.consumed);
        self.count(out.get(..step.produced).unwrap_or_default(), checks);
        match step.at {
            Err(why) => return Err(self.wrapper.damaged(why)),
            Ok(At::Inside) if is_all && step.consumed == 0 && step.produced == 0 => {
                self.input.consume(rest);
                return Err(self.wrapper.ends_early());
            }
            Ok(At::Inside) => self.close_point(false),
            Ok(At::Boundary { bits }) => {
                self.close_point(false);
                self.pass(bits);
            }
            Ok(At::End) => self.end_of_member(checks)?,
        }
        Ok(step.produced)
    }

    /// Adds bytes to the checksums.
    fn count(&mut self, mut bytes: &[u8], checks: &mut Vec<u32>) {
        let kind = self.check();
        while !bytes.is_empty() {
            let left = (BLOCK - self.position % BLOCK) as usize;
            let (piece, rest) = bytes.split_at(left.min(bytes.len()));
            self.segment.check = kind.update(self.segment.check, piece);
            self.position += piece.len() as u64;
            if piece.len() == left {
                self.end_segment();
                checks.push(std::mem::replace(&mut self.block, kind.of_nothing()));
            }
            bytes = rest;
        }
    }

    /// Handles a boundary between two deflate blocks in the range where a seek point is looked for.
    fn pass(&mut self, bits: u8) {
        self.capture.met += 1;
        let last = self.capture.open.as_ref().map(|(point, _)| point).or(self.capture.done.last());
        if last.is_none_or(|last| self.position - last.position >= BETWEEN_CAPTURES) {
            self.capture.forget_before(self.position);
            // One before another multiple goes on.
            if self.capture.open.is_none() {
                self.capture.open = Some((self.point(bits), self.decoder.window().to_vec()));
                self.decoder.track();
            }
        }
    }

    /// Completes the open seek point, if nothing can refer to its window any more.
    fn close_point(&mut self, at_end: bool) {
        let is_over = |point: &Point| at_end || self.position - point.position >= WINDOW as u64;
        if let Some((mut point, bytes)) = self.capture.open.take_if(|(point, _)| is_over(point)) {
            point.window = Window::new(&bytes, &self.decoder.tracked());
            self.capture.done.push(point);
        }
    }

    /// Here, without a window.
    fn point(&self, bits: u8) -> Point {
        let len = self.position - self.segment.start;
        Point {
            position: self.position,
            stored: self.input.offset(),
            bits,
            wrapper: self.wrapper,
            member: self.member,
            check: self.check().combine(self.check, self.segment.check, len),
            window: Window::empty(),
        }
    }

    /// After a gzip member comes another one, zero padding, or nothing.
    fn end_of_member(&mut self, checks: &mut Vec<u32>) -> Result<(), Fault> {
        self.close_point(true);
        self.end_segment();
        self.wrapper.close(&mut self.input, self.check, self.position - self.member)?;
        self.trailer = Some(self.input.offset()).filter(|_| self.member == 0);
        self.finished = !self.wrapper.next_member(&mut self.input)?;
        if self.finished && !self.position.is_multiple_of(BLOCK) {
            checks.push(self.block);
        }
        if !self.finished {
            self.decoder.reset();
            self.member = self.position;
            self.check = self.check().of_nothing();
            if self.capture.spacing.is_some() {
                self.capture.forget_before(self.position);
                self.capture.done.push(self.point(0));
            }
        }
        Ok(())
    }

    /// Adds the segment to the checksums of the member and of the block.
    fn end_segment(&mut self) {
        let kind = self.check();
        let len = self.position - self.segment.start;
        self.check = kind.combine(self.check, self.segment.check, len);
        self.block = kind.combine(self.block, self.segment.check, len);
        self.segment = Segment { start: self.position, check: kind.of_nothing() };
    }
}

impl Capture {
    /// How many of `len` bytes from `position` on to decode at once, and whether to stop between blocks.
    fn room(&self, position: u64, len: usize) -> (usize, bool) {
        let Some(spacing) = self.spacing else { return (len, false) };
        let left = spacing - position % spacing;
        if left <= self.near {
            return (len, true);
        }
        (len.min((left - self.near) as usize), false)
    }

    /// Forgets the seek points before `position` that a later one would replace: one before each multiple of the
    /// spacing is enough.
    fn forget_before(&mut self, position: u64) {
        let Some(spacing) = self.spacing else { return };
        let slot = position.div_ceil(spacing);
        self.open.take_if(|(point, _)| point.position.div_ceil(spacing) == slot);
        self.done.retain(|point| point.position.div_ceil(spacing) != slot);
    }

    /// Looks farther back after finding nothing, and less far after finding more than enough.
    fn adapt(&mut self) {
        if self.spacing.is_some() {
            self.near = match self.met {
                0 => (self.near * 2).min(SPAN),
                1..=3 => self.near,
                _ => (self.near / 2).max(NEAREST),
            };
        }
        self.met = 0;
    }
}
