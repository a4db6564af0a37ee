//! The deflate decoder (RFC 1951, no zlib or gzip wrapper). It can stop at the end of any block, tell at which bit and
//! after which bytes that is, and resume there.
//!
//! | module (lowest layer first) | purpose |
//! |---|---|
//! | `bits` | the input, bit by bit |
//! | `huffman` | codes from the lengths of their symbols |
//! | `tables` | what the next bits stand for, at one look |
//! | `codes` | headers of blocks, and the codes that they bring |
//! | `references` | bytes of a window that are referred to |
//! | `output` | decoded bytes, the window in front of them |
//! | `repeat` | matches |
//! | `symbols` | the loop that decodes blocks |
//! | `tail` | the last symbols of a stream, one by one |

mod bits;
mod codes;
mod huffman;
mod output;
mod references;
mod repeat;
mod symbols;
mod tables;
mod tail;

use self::bits::Bits;
use self::codes::{Codes, Fault, Header, Kind};
use self::output::Output;
pub use self::output::WINDOW;
use self::references::References;
use self::symbols::Stop;

/// With this many bytes of input a call of [`Decoder::step`] makes progress: no header of a block is longer.
pub const ENOUGH: usize = 512;

pub struct Decoder {
    codes: Box<Codes>,
    output: Output,
    next: Next,
    is_last_block: bool,
    /// The bits of the last consumed byte that are not used yet, and how many.
    left: (u64, u32),
    /// Where decoding has stopped, to be told when all bytes before it have been taken.
    reached: Option<Result<At, &'static str>>,
}

/// What the input has next.
#[derive(Clone, Copy)]
enum Next {
    Header,
    /// So many bytes of a stored block.
    Stored(u16),
    Symbols,
}

/// What one call did.
pub struct Step {
    pub consumed: usize,
    pub produced: usize,
    /// An error says what is wrong with the data after the produced bytes.
    pub at: Result<At, &'static str>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum At {
    /// Out of input or room.
    Inside,
    /// Right after a deflate block that is not the last one. Of the last consumed byte the upper `bits` bits
    /// (0 to 7) belong to the next block.
    Boundary { bits: u8 },
    /// After the last block; the rest of the last consumed byte is padding.
    End,
}

impl Decoder {
    pub fn new() -> Decoder {
        Decoder {
            codes: Box::new(Codes::new()),
            output: Output::new(),
            next: Next::Header,
            is_last_block: false,
            left: (0, 0),
            reached: None,
        }
    }

    /// Restarts at the start of a stream.
    pub fn reset(&mut self) {
        self.resume(0, 0, &[]);
    }

    /// Restarts at a block boundary: the upper `bits` bits of `byte`, which was consumed already, come first;
    /// `window` holds the preceding decoded bytes, of which the last [`WINDOW`] are used.
    pub fn resume(&mut self, bits: u8, byte: u8, window: &[u8]) {
        let bits = u32::from(bits.min(7));
        self.left = (u64::from(byte) >> (8 - bits), bits);
        self.output.reset(window);
        self.next = Next::Header;
        self.reached = None;
    }

    /// The last decoded bytes, at most [`WINDOW`].
    pub fn window(&self) -> &[u8] {
        self.output.window()
    }

    /// Looks for references to [`Decoder::window`], from a boundary on.
    pub fn track(&mut self) {
        self.output.track();
    }

    /// For each byte of the window at which tracking began whether it was referred to, the last one being that before
    /// the boundary. Complete when another window has been decoded, or the stream has ended.
    pub fn tracked(&self) -> Vec<bool> {
        self.output.references.as_ref().map(References::used).unwrap_or_default()
    }

    /// Decodes from `input` into `out` until either is used up, or with `stop` until a block ends. Unless `is_all` tells
    /// that no more input comes, the last bytes may stay unconsumed, but not all of them if there are [`ENOUGH`].
    pub fn step(&mut self, input: &[u8], is_all: bool, out: &mut [u8], stop: bool) -> Step {
        let mut step = Step { consumed: 0, produced: 0, at: Ok(At::Inside) };
        loop {
            let rest = out.get_mut(step.produced..).unwrap_or_default();
            let count = self.output.take(rest);
            step.produced += count;
            let room = rest.len() - count;
            if !self.output.is_taken() {
                return step;
            }
            if let Some(at) = self.tell(stop) {
                return Step { at, ..step };
            }
            let mut bits = Bits { input, at: step.consumed, buffer: self.left.0, count: self.left.1 };
            let stopped = self.decode(&mut bits, is_all, room);
            bits.give_back();
            self.left = (bits.buffer, bits.count);
            step.consumed = bits.at;
            match stopped {
                Ok(Stop::EndOfBlock) => self.reached = Some(Ok(self.boundary())),
                Ok(Stop::Room) if room > 0 => {}
                Ok(Stop::Room) => return step,
                Ok(Stop::Input) => {
                    step.produced += self.output.take(out.get_mut(step.produced..).unwrap_or_default());
                    return step;
                }
                Err(why) => self.reached = Some(Err(why)),
            }
        }
    }

    /// What to tell, now that all bytes have been taken. Boundaries are passed, errors and the end stay.
    fn tell(&mut self, stop: bool) -> Option<Result<At, &'static str>> {
        if let Some(Ok(At::Boundary { .. })) = self.reached {
            return self.reached.take().filter(|_| stop);
        }
        self.reached
    }

    fn boundary(&mut self) -> At {
        self.next = Next::Header;
        if self.is_last_block { At::End } else { At::Boundary { bits: self.left.1 as u8 } }
    }

    /// Decodes to the end of a block, or as far as `room` and the input permit.
    fn decode(&mut self, bits: &mut Bits, is_all: bool, room: usize) -> Result<Stop, &'static str> {
        let limit = self.output.limit(room);
        loop {
            match self.next {
                Next::Header => {
                    let mut after = bits.clone();
                    match self.codes.header(&mut after) {
                        Ok(header) => self.begin(&header),
                        Err(Fault::Short) => return Ok(Stop::Input),
                        Err(Fault::Invalid(why)) => return Err(why),
                    }
                    *bits = after;
                }
                Next::Stored(left) => return Ok(self.copy(bits, left, limit)),
                Next::Symbols => return self.symbols(bits, is_all, limit),
            }
        }
    }

    fn begin(&mut self, header: &Header) {
        self.is_last_block = header.is_last;
        self.next = match header.kind {
            Kind::Stored(len) => Next::Stored(len),
            Kind::Coded => Next::Symbols,
        };
    }

    /// Copies bytes of a stored block, of which `left` follow.
    fn copy(&mut self, bits: &mut Bits, left: u16, limit: usize) -> Stop {
        let rest = bits.input.get(bits.at..).unwrap_or_default();
        let wanted = rest.get(..left.into()).unwrap_or(rest);
        let count = self.output.append(wanted, limit);
        bits.at += count;
        self.next = Next::Stored(left - count as u16);
        match left - count as u16 {
            0 => Stop::EndOfBlock,
            _ if count == wanted.len() => Stop::Input,
            _ => Stop::Room,
        }
    }

    fn symbols(&mut self, bits: &mut Bits, is_all: bool, limit: usize) -> Result<Stop, &'static str> {
        let mut stopped = symbols::decode(&self.codes.tables, bits, &mut self.output, limit)?;
        if stopped == Stop::Input && is_all {
            stopped = tail::decode(&self.codes, bits, &mut self.output, limit)?;
        }
        // A block that ends where the room does is told to end there.
        let is_end = stopped == Stop::Room && tail::take_end(&self.codes, bits);
        Ok(if is_end { Stop::EndOfBlock } else { stopped })
    }
}

#[cfg(test)]
mod tests;
