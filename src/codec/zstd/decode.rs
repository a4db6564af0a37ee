//! Decodes one frame from front to back, into memory while it is small, else into the spill. The result is verified:
//! checksum and content size where the frame has them, and that it ends where it should.

use std::ops::Range;
use std::sync::Arc;

use ::zstd::zstd_safe::{DCtx, DParameter, InBuffer, OutBuffer, get_error_name};

use super::frame::{self, Stored};
use crate::codec::decoded::{Decoded, Output, SMALL};
use crate::codec::input::Input;
use crate::codec::spill::{ADVICE, Key, PIECE, Refused, Spill};
use crate::error::Place;
use crate::source::Source;
use crate::{Error, Result};

/// Frames that need more memory than this are decoded one at a time.
const LARGE_WINDOW: u64 = 8 << 20;

/// A frame to be decoded.
pub struct Job<'a> {
    pub source: &'a Arc<dyn Source>,
    pub stored: Range<u64>,
    /// The decoded length, if recorded.
    pub len: Option<u64>,
    pub place: &'a Place,
    pub spill: &'a Spill,
    /// The key of the frame in the spill.
    pub key: Key,
}

impl Job<'_> {
    pub fn run(&self) -> Result<Decoded> {
        let start = self.stored.start;
        let header = frame::header(&mut Stored::new(self.source, self.stored.end, self.place), start)?;
        if let Some(problem) = header.unsupported() {
            return Err(self.unsupported(start, problem));
        }
        if let Some(len) = self.len.filter(|len| *len > SMALL as u64) {
            // Fail early rather than after decoding as much as fits.
            let limit = self.spill.limit()?;
            if len > limit {
                return Err(self.too_large(limit));
            }
        }
        let is_large = header.window > LARGE_WINDOW;
        self.spill.attempts(|| self.attempt(is_large), |limit| self.too_large(limit))
    }

    fn attempt(&self, is_large: bool) -> Result<Decoded, Refused> {
        let _turn = is_large.then(|| self.spill.turn());
        let mut decoder = DCtx::try_create().ok_or_else(no_memory)?;
        let most = DParameter::WindowLogMax(frame::WINDOW_LOG);
        decoder.set_parameter(most).map_err(|code| self.fault(self.stored.start, code))?;
        let mut input = Input::new(self.source.clone(), self.stored.clone(), Vec::new());
        let mut output = Output::new(self.spill);
        let mut chunk = vec![0; PIECE];
        let mut filled = 0;
        loop {
            let stored = input.peek()?;
            let (at_end, before) = (stored.is_empty(), filled);
            let mut from = InBuffer::around(stored);
            let mut to = OutBuffer::around_pos(&mut chunk[..], filled);
            let status = decoder.decompress_stream(&mut to, &mut from);
            filled = to.pos();
            let consumed = from.pos();
            input.consume(consumed);
            match status {
                Err(code) => return Err(self.fault(input.offset(), code).into()),
                Ok(0) => break,
                Ok(_) if at_end && filled == before => {
                    return Err(self.damaged(input.offset(), "the zstd frame ends early").into());
                }
                Ok(_) => {}
            }
            if filled == PIECE {
                output.push(&chunk)?;
                filled = 0;
            }
        }
        if input.offset() != self.stored.end {
            return Err(self.damaged(input.offset(), "the zstd frame ends before its last block").into());
        }
        output.push(chunk.get(..filled).unwrap_or_default())?;
        Ok(output.finish(self.key))
    }

    /// The error for the decoder's `code` at `at`.
    fn fault(&self, at: u64, code: usize) -> Error {
        let why = get_error_name(code);
        if why.contains("not enough memory") {
            return no_memory();
        }
        self.damaged(at, &format!("the zstd frame is damaged: {}", why.to_lowercase()))
    }

    fn too_large(&self, limit: u64) -> Error {
        let size = self.len.map_or("more".to_owned(), |len| format!("{len} bytes"));
        let problem = format!(
            "the zstd frame decodes to {size}, and at most {limit} bytes may be used on disk: {ADVICE}"
        );
        self.unsupported(self.stored.start, problem)
    }

    /// A limit was exceeded; the frame itself may be fine.
    fn unsupported(&self, at: u64, problem: String) -> Error {
        Error::Unsupported { place: self.place.at(at), problem }
    }

    fn damaged(&self, at: u64, problem: &str) -> Error {
        Error::damaged(self.place.at(at), problem)
    }
}

/// Not recorded as damage: the frame itself may be fine.
fn no_memory() -> Error {
    Error::Other("there is not enough memory to decode a zstd frame".into())
}
