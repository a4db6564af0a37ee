//! A whole stream from front to back, past the cache and the index: for who reads it once.

use std::ops::ControlFlow;

use super::super::SPAN;
use super::super::inflate::Inflater;
use super::Stream;
use crate::Result;

impl Stream {
    /// Hands all decoded bytes to `each` in order, until it breaks off. What could be decoded before damage is
    /// handed out first, then the error is returned: also one of a check value, which only the end tells.
    pub fn pass(&self, each: &mut dyn FnMut(&[u8]) -> ControlFlow<()>) -> Result<()> {
        let (source, parts) = (self.source.clone(), self.engine.parts());
        let mut decoder = Inflater::new(source, self.stored.clone(), self.wrapper, &self.place, parts)?;
        let done = self.pass_through(&mut decoder, each);
        self.engine.retire(decoder);
        done
    }

    fn pass_through(
        &self,
        decoder: &mut Inflater,
        each: &mut dyn FnMut(&[u8]) -> ControlFlow<()>,
    ) -> Result<()> {
        let needed = self.expected.unwrap_or(u64::MAX);
        let mut buffer = vec![0; SPAN as usize];
        loop {
            let start = decoder.position();
            let read = decoder.read(&mut buffer, &mut Vec::new(), &self.place);
            self.source.check()?;
            let good = decoder.position().min(needed).saturating_sub(start) as usize;
            let piece = buffer.get(..good).unwrap_or_default();
            if !piece.is_empty() && each(piece).is_break() {
                return Ok(());
            }
            let at_end = read? < buffer.len();
            match decoder.position() {
                found if found > needed => return Err(self.wrong_length("more".into())),
                found if at_end && found < needed && self.expected.is_some() => {
                    return Err(self.wrong_length(found.to_string()));
                }
                _ if at_end => return Ok(()),
                _ => {}
            }
        }
    }
}
