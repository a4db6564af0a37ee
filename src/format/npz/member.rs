//! A member as it is found in the file: where its data is, and what the data is. One or two small reads, and of a
//! deflated member the first few hundred bytes decoded.

use std::ops::{Deref, Range};
use std::sync::Arc;

use crate::array::npy::{FIXED, Header, OBJECTS, Problem};
use crate::codec::zip::{self, Fault, Window};
use crate::codec::{Engine, prefix};
use crate::error::Place;
use crate::source::Source;
use crate::{Error, Result};

/// Decoded bytes that hold most NPY headers.
const USUAL: usize = 256;
/// What the directory says of a member.
#[derive(Clone, Debug)]
pub struct Record {
    pub zip: zip::Record,
    /// Its name ends in `.npy`.
    pub is_npy: bool,
}

impl Deref for Record {
    type Target = zip::Record;

    fn deref(&self) -> &zip::Record {
        &self.zip
    }
}

pub struct Member {
    /// Its data in the file, as far as that is known.
    pub stored: Range<u64>,
    pub body: Result<Body, Fault>,
}

/// What is read of a member.
pub struct Body {
    /// None for a member that is no array.
    pub npy: Option<Header>,
}

impl Body {
    /// Where the elements begin in the decoded data.
    pub fn skip(&self) -> u64 {
        self.npy.as_ref().map_or(0, |header| header.len)
    }
}

/// Looks at a member. The error is one of reading; what makes no sense is the member's fault.
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
