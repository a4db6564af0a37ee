//! The first bytes of a stream, for callers that need only its beginning.

use std::ops::Range;
use std::sync::Arc;

use super::inflate::Inflater;
use super::{Engine, Wrapper};
use crate::Result;
use crate::error::Place;
use crate::source::Source;

/// Up to `len` decoded bytes from the start of a stream; fewer only if it is shorter. Only then is the checksum at its
/// end verified.
pub fn prefix(
    engine: &Engine,
    source: Arc<dyn Source>,
    stored: Range<u64>,
    wrapper: Wrapper,
    len: usize,
    place: &Place,
) -> Result<Vec<u8>> {
    let mut decoder = Inflater::new(source, stored, Some(wrapper), place, engine.parts())?;
    let mut bytes = vec![0; len];
    let read = decoder.read(&mut bytes, &mut Vec::new(), place);
    engine.count_decoded(decoder.position());
    engine.retire(decoder);
    bytes.truncate(read?);
    Ok(bytes)
}
