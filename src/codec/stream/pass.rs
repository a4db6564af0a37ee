//! Reads a whole stream once, from front to back, bypassing the cache and the index.

use std::ops::ControlFlow;
use std::sync::Arc;

use super::super::SPAN;
use super::super::inflate::Inflater;
use super::Stream;
use crate::{Error, Result};

/// A sequential read of a whole stream. Data decoded before damage comes first, then the error; a checksum error comes
/// only at the end.
pub struct Pass {
    stream: Arc<Stream>,
    /// None only while being dropped.
    decoder: Option<Inflater>,
    end: Option<Result<()>>,
}

impl Stream {
    /// Passes all decoded bytes to `each` in order, until it breaks.
    pub fn pass(self: &Arc<Stream>, each: &mut dyn FnMut(&[u8]) -> ControlFlow<()>) -> Result<()> {
        let mut pass = self.once()?;
        let mut buffer = vec![0; SPAN as usize];
        loop {
            let count = pass.read(&mut buffer)?;
            let piece = buffer.get(..count).unwrap_or_default();
            if piece.is_empty() || each(piece).is_break() {
                return Ok(());
            }
        }
    }

    /// A reader of all decoded bytes.
    pub fn once(self: &Arc<Stream>) -> Result<Pass> {
        let (source, parts) = (self.source.clone(), self.engine.parts());
        let decoder = Inflater::new(source, self.stored.clone(), self.wrapper, &self.place, parts)?;
        Ok(Pass { stream: self.clone(), decoder: Some(decoder), end: None })
    }
}

impl Pass {
    /// Fills the buffer; fewer bytes only right before the end or an error. 0 is the end.
    pub fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        if let Some(end) = &self.end {
            return end.clone().map(|()| 0);
        }
        let Some(decoder) = self.decoder.as_mut().filter(|_| !buffer.is_empty()) else { return Ok(0) };
        let stream = &self.stream;
        let start = decoder.position();
        let read = decoder.read(buffer, &mut Vec::new(), &stream.place);
        stream.source.check()?;
        let found = decoder.position();
        let good = found.min(stream.expected.unwrap_or(u64::MAX)).saturating_sub(start) as usize;
        self.end = match read {
            Err(error) => Some(Err(error)),
            Ok(count) => stream.end(found, count < buffer.len()),
        };
        match &self.end {
            Some(Err(error)) if good == 0 => Err(error.clone()),
            _ => Ok(good),
        }
    }
}

impl Stream {
    /// The result of the pass if it ends after `found` bytes.
    fn end(&self, found: u64, at_end: bool) -> Option<Result<()>> {
        let wrong = |found: String| -> Option<Result<(), Error>> { Some(Err(self.wrong_length(found))) };
        match self.expected {
            Some(needed) if found > needed => wrong("more".into()),
            Some(needed) if at_end && found < needed => wrong(found.to_string()),
            _ => at_end.then_some(Ok(())),
        }
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        if let Some(decoder) = self.decoder.take() {
            self.stream.engine.retire(decoder);
        }
    }
}
