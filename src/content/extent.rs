//! Where a content is stored in a file, for programs that read the file directly.

use std::ops::Range;
use std::sync::Arc;

use super::Content;
use crate::codec::Wrapper;
use crate::error::Place;
use crate::source::Source;
use crate::{Error, Result};

/// Bytes of a file from which a content is had.
pub struct Extent {
    pub source: Arc<dyn Source>,
    pub range: Range<u64>,
    pub coding: Coding,
}

/// What these bytes are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Coding {
    /// The content itself.
    Plain,
    /// A stream of RFC 1950; other bytes may follow it.
    Zlib,
    /// One member of RFC 1952.
    Gzip,
}

impl Content {
    /// The file that its first bytes come from, as far as one is known.
    pub fn file(&self) -> Option<Place> {
        match self {
            Content::Stored { source, .. } => Some(source.place()),
            Content::Decoded(stream) => Some(stream.stored().0.place()),
            Content::Part { whole, .. } => whole.file(),
            Content::Computed(computed) => computed.file(),
            Content::Broken {
                error: Error::Damaged { place, .. } | Error::Unsupported { place, .. },
                ..
            } => Some(Place::file(&place.file)),
            Content::Inline(_) | Content::Broken { .. } => None,
        }
    }

    /// Where all of it is; None if it is nowhere as it is, nor as a stream that is decoded without our help. Reads a
    /// few bytes of a stream to tell.
    pub fn extent(&self) -> Result<Option<Extent>> {
        let extent = |source: &Arc<dyn Source>, range: &Range<u64>, coding| {
            Some(Extent { source: source.clone(), range: range.clone(), coding })
        };
        Ok(match self {
            Content::Stored { source, range } => extent(source, range, Coding::Plain),
            Content::Part { whole, range } => {
                let plain = whole.extent()?.filter(|extent| extent.coding == Coding::Plain);
                plain.map(|Extent { source, range: of, coding }| Extent {
                    source,
                    range: of.start + range.start..of.start + range.end,
                    coding,
                })
            }
            Content::Decoded(stream) => {
                let (source, range) = stream.stored();
                match stream.single()? {
                    Some(Wrapper::Zlib) => extent(source, range, Coding::Zlib),
                    Some(Wrapper::Gzip) => extent(source, range, Coding::Gzip),
                    Some(Wrapper::Bare { .. }) | None => None,
                }
            }
            Content::Inline(_) | Content::Computed(_) | Content::Broken { .. } => None,
        })
    }
}
