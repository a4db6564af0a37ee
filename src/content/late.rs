//! Contents created on first use, including their length.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use super::{Bytes, Computed, Content};
use crate::Result;

/// A failure is not remembered: the next request tries again.
pub fn late(make: impl Fn() -> Result<Content> + Send + Sync + 'static) -> Content {
    Content::Computed(Arc::new(Late { make, made: OnceLock::new() }))
}

struct Late<F> {
    make: F,
    made: OnceLock<Content>,
}

impl<F: Fn() -> Result<Content>> Late<F> {
    fn made(&self) -> Result<&Content> {
        if let Some(made) = self.made.get() {
            return Ok(made);
        }
        let made = (self.make)()?;
        Ok(self.made.get_or_init(|| made))
    }
}

impl<F: Fn() -> Result<Content> + Send + Sync> Computed for Late<F> {
    fn known_len(&self) -> Option<u64> {
        self.made.get().and_then(Content::known_len)
    }

    fn len(&self) -> Result<u64> {
        self.made()?.len()
    }

    fn fill(&self, buf: &mut [u8], offset: u64) -> Result<()> {
        self.made()?.fill(buf, offset)
    }

    fn read_if_ready(&self, range: Range<u64>) -> Result<Option<Bytes>> {
        match self.made.get() {
            Some(made) => made.read_if_ready(range.start, (range.end - range.start) as usize),
            None => Ok(None),
        }
    }
}
