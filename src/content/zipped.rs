//! Members of ZIP files as contents.

use std::ops::Range;
use std::sync::Arc;

use super::Content;
use crate::Result;
use crate::codec::zip::Record;
use crate::codec::{Described, Streams};
use crate::error::Place;
use crate::source::Source;

/// The bytes of the member with this number, whose data at `stored` was checked to be readable.
pub fn zipped(
    source: &Arc<dyn Source>,
    streams: &Streams,
    (number, record): (u32, &Record),
    stored: Range<u64>,
    place: impl FnOnce() -> Place,
) -> Result<Content> {
    if !record.is_deflated() {
        return Ok(Content::Stored { source: source.clone(), range: stored });
    }
    if record.len == 0 {
        return Ok(Content::Inline(Arc::default()));
    }
    let (wrapper, expected) = (Some(record.wrapper()), Some(record.len));
    let described = || Ok(Described { stored, wrapper, expected, place: place() });
    streams.get_or_make(number, described).map(Content::Decoded)
}
