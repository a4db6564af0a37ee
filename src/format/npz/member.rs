//! Locates a member's data and reads its NPY header: one or two small reads, and for a deflated member the first few
//! hundred bytes decoded.

use std::ops::{Deref, Range};
use std::sync::Arc;

use crate::array::npy::{FIXED, Header, OBJECTS, Problem};
use crate::codec::zip::{self, Fault, Window};
use crate::codec::{Engine, FIRST_PIECE, prefix};
use crate::error::Place;
use crate::source::Source;
use crate::{Error, Result};

/// Decoded bytes enough for most NPY headers.
const USUAL: usize = 256;
/// A member as the directory describes it.
#[derive(Clone, Debug)]
pub struct Record {
    pub zip: zip::Record,
    /// Its name ends in `.npy`.
    pub is_npy: bool,
}

impl Record {
    /// The bytes of the file that [`read`] needs, usually.
    pub fn head(&self) -> Range<u64> {
        let stored = if self.is_deflated() { self.stored_len.min(FIRST_PIECE as u64) } else { 0 };
        self.header..self.header.saturating_add(zip::WINDOW).saturating_add(stored)
    }
}

impl Deref for Record {
    type Target = zip::Record;

    fn deref(&self) -> &zip::Record {
        &self.zip
    }
}

pub struct Member {
    /// The range of its data in the file, as far as known.
    pub stored: Range<u64>,
    pub body: Result<Body, Fault>,
}

/// What the headers of a member contain.
pub struct Body {
    /// None if the member is not an array.
    pub npy: Option<Header>,
}

impl Body {
    /// Offset of the elements in the decoded data.
    pub fn skip(&self) -> u64 {
        self.npy.as_ref().map_or(0, |header| header.len)
    }
}

/// Reads the headers of a member. Errors are I/O errors only; invalid data becomes the member's fault.
pub fn read(
    record: &Record,
    name: &[u8],
    source: &Arc<dyn Source>,
    engine: &Engine,
    place: &Place,
) -> Result<Member> {
    let window = Window::new(&**source, record.header)?;
    let mut full = String::from_utf8_lossy(name).into_owned();
    if record.is_npy {
        full.push_str(".npy");
    }
    let stored = match zip::find(record, &full, &window)? {
        Ok(stored) => stored,
        Err(fault) => return Ok(Member { stored: 0..0, body: Err(fault) }),
    };
    let body = match record.check_readable() {
        Ok(()) if record.is_npy => npy(record, &stored, &window, source, engine, place)?,
        other => other.map(|()| Body { npy: None }),
    };
    source.check()?;
    Ok(Member { stored, body })
}

fn npy(
    record: &Record,
    stored: &Range<u64>,
    window: &Window<'_>,
    source: &Arc<dyn Source>,
    engine: &Engine,
    place: &Place,
) -> Result<Result<Body, Fault>> {
    let mut wanted = USUAL.min(usize::try_from(record.len).unwrap_or(USUAL));
    let header = loop {
        let first = match record.is_deflated() {
            true => prefix(engine, source.clone(), stored.clone(), record.wrapper(), wanted, place),
            false => window.get(stored.start..stored.start + wanted as u64),
        };
        let first = match first {
            Err(Error::Damaged { problem, .. }) => return Ok(Err(problem.into())),
            first => first?,
        };
        match Header::parse(&first) {
            Ok(header) => break header,
            Err(Problem::Short(need)) if need as u64 <= record.len && need > wanted => wanted = need,
            Err(Problem::Short(need)) => {
                let need = need.max(FIXED);
                return Ok(Err(format!("its NPY header needs {need} bytes, it has {}", record.len).into()));
            }
            Err(Problem::Wrong(problem)) => return Ok(Err(problem.into())),
        }
    };
    Ok(fits(record, header))
}

fn fits(record: &Record, header: Header) -> Result<Body, Fault> {
    if header.descr.has_objects {
        return Err(Fault::unsupported(OBJECTS));
    }
    header.fits(record.len.saturating_sub(header.len))?;
    Ok(Body { npy: Some(header) })
}
