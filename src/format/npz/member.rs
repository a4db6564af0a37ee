//! A member as it is found in the file: where its data is, and what the data is. One or two small reads, and of a
//! deflated member the first few hundred bytes decoded.

use std::ops::Range;
use std::sync::Arc;

use super::directory::Record;
use super::{DEFLATED, LOCAL, LOCAL_LEN, NPY, STORED, names};
use crate::array::npy::{FIXED, Header, Problem};
use crate::codec::{Engine, Wrapper, prefix};
use crate::error::Place;
use crate::source::Source;
use crate::{Error, Result};

/// So much is read at a time: local header, name, extra field, and most NPY headers.
const WINDOW: u64 = 512;
/// Decoded bytes that hold most NPY headers.
const USUAL: usize = 256;
/// Flags.
const ENCRYPTED: u16 = 1;
const SIZES_FOLLOW: u16 = 1 << 3;
/// Stands for a size that the ZIP64 extra field has.
const ELSEWHERE: u32 = u32::MAX;

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

/// Why nothing is.
#[derive(Clone, Debug)]
pub struct Fault {
    pub problem: String,
    /// Nothing is wrong with it.
    pub is_unsupported: bool,
}

impl Fault {
    fn unsupported(problem: impl Into<String>) -> Fault {
        Fault { problem: problem.into(), is_unsupported: true }
    }

    pub fn error(&self, place: Place) -> Error {
        let problem = self.problem.clone();
        match self.is_unsupported {
            true => Error::Unsupported { place, problem },
            false => Error::Damaged { place, problem },
        }
    }
}

impl From<String> for Fault {
    fn from(problem: String) -> Fault {
        Fault { problem, is_unsupported: false }
    }
}

impl From<&str> for Fault {
    fn from(problem: &str) -> Fault {
        problem.to_owned().into()
    }
}

impl Body {
    /// Where the elements begin in the decoded data.
    pub fn skip(&self) -> u64 {
        self.npy.as_ref().map_or(0, |header| header.len)
    }
}

impl Record {
    pub fn is_deflated(&self) -> bool {
        self.method == DEFLATED
    }

    /// Neither encrypted nor of a compression that is not known.
    pub fn is_readable(&self) -> bool {
        self.flags & ENCRYPTED == 0 && matches!(self.method, STORED | DEFLATED)
    }

    pub fn wrapper(&self) -> Wrapper {
        Wrapper::Bare { crc: self.crc }
    }

    /// What the compression is called; None where the data is as it is.
    pub fn compression(&self) -> Option<String> {
        Some(match self.method {
            _ if self.flags & ENCRYPTED != 0 => "encrypted".into(),
            STORED => return None,
            DEFLATED => "deflate".into(),
            12 => "bzip2".into(),
            14 => "lzma".into(),
            93 => "zstd".into(),
            95 => "xz".into(),
            other => format!("method {other}"),
        })
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
    let stored = match local(record, name, &window)? {
        Ok(start) => start..start + record.stored_len,
        Err(fault) => return Ok(Member { stored: 0..0, body: Err(fault) }),
    };
    let body = match judge(record) {
        Ok(()) if record.is_npy => npy(record, &stored, &window, source, engine, place)?,
        other => other.map(|()| Body { npy: None }),
    };
    source.check()?;
    Ok(Member { stored, body })
}

/// The first bytes of a member with its headers, as they are in the file.
struct Window<'s> {
    source: &'s dyn Source,
    start: u64,
    bytes: Vec<u8>,
}

impl Window<'_> {
    fn new(source: &dyn Source, start: u64) -> Result<Window<'_>> {
        let end = source.len().min(start.saturating_add(WINDOW));
        let bytes = if start < end { source.read_range(start..end)? } else { Vec::new() };
        Ok(Window { source, start, bytes })
    }

    /// The bytes of `range` of the file, which holds them.
    fn get(&self, range: Range<u64>) -> Result<Vec<u8>> {
        let inside = |at: u64| at.checked_sub(self.start).and_then(|at| usize::try_from(at).ok());
        let here = inside(range.start).zip(inside(range.end)).and_then(|(from, to)| self.bytes.get(from..to));
        here.map_or_else(|| self.source.read_range(range), |bytes| Ok(bytes.to_vec()))
    }
}

/// Where the data begins, by the local header, which must agree with the directory.
fn local(record: &Record, name: &[u8], window: &Window<'_>) -> Result<Result<u64, Fault>> {
    let Some((fixed, _)) = window.bytes.split_first_chunk::<LOCAL_LEN>() else {
        let problem = format!("its local header at byte {} does not fit the file", record.header);
        return Ok(Err(problem.into()));
    };
    let u16_at = |at: usize| u16::from_le_bytes([fixed[at], fixed[at + 1]]);
    let u32_at = |at: usize| u32::from_le_bytes([fixed[at], fixed[at + 1], fixed[at + 2], fixed[at + 3]]);
    let contradicts = |what: &str| {
        let at = record.header;
        Ok(Err(format!("its local header at byte {at} has another {what} than the ZIP directory").into()))
    };
    if !fixed.starts_with(&LOCAL) {
        return Ok(Err(format!("there is no local header at byte {}", record.header).into()));
    }
    let (name_len, extra_len) = (u64::from(u16_at(26)), u64::from(u16_at(28)));
    let name_start = record.header + LOCAL_LEN as u64;
    let start = name_start + name_len + extra_len;
    match start.checked_add(record.stored_len) {
        Some(end) if end <= record.limit => {}
        _ => {
            let Record { stored_len, limit, .. } = record;
            let problem = format!(
                "its {stored_len} bytes from byte {start} on reach into what follows at byte {limit}"
            );
            return Ok(Err(problem.into()));
        }
    }
    let raw = window.get(name_start..name_start + name_len)?;
    let found = names::decode(&raw, u16_at(6));
    let suffix = if record.is_npy { NPY } else { b"" };
    if found.as_bytes().strip_suffix(suffix) != Some(name) {
        return contradicts("name");
    }
    if u16_at(8) != record.method || (u16_at(6) ^ record.flags) & ENCRYPTED != 0 {
        return contradicts("compression");
    }
    let sizes = [(18, record.stored_len), (22, record.len)].map(|(at, size)| (u32_at(at), size));
    let differs = |(local, size): (u32, u64)| local != ELSEWHERE && u64::from(local) != size;
    if u16_at(6) & SIZES_FOLLOW == 0 && (u32_at(14) != record.crc || sizes.into_iter().any(differs)) {
        return contradicts("CRC-32 or size");
    }
    Ok(Ok(start))
}

/// Can it be read, as far as the directory tells?
fn judge(record: &Record) -> Result<(), Fault> {
    let Record { stored_len, len, .. } = *record;
    match (record.compression(), record.method) {
        (None, _) if stored_len != len => {
            Err(format!("it is stored in {stored_len} bytes, and said to have {len}").into())
        }
        (None, _) => Ok(()),
        (Some(_), DEFLATED) if record.flags & ENCRYPTED == 0 => {
            // Deflate takes at least two bits for 258 bytes.
            let is_possible = len <= stored_len.saturating_mul(1032) && len <= i64::MAX as u64;
            let problem = || {
                format!(
                    "it is said to have {len} bytes, to which {stored_len} compressed bytes cannot decode"
                )
            };
            if is_possible { Ok(()) } else { Err(problem().into()) }
        }
        (Some(_), _) if record.flags & ENCRYPTED != 0 => {
            Err(Fault::unsupported("it is encrypted, which is not read"))
        }
        (Some(name), _) => {
            Err(Fault::unsupported(format!("its compression is {name}, known are stored and deflate")))
        }
    }
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
        return Err(Fault::unsupported(
            "it holds Python objects (a pickle), which are not read: np.load(..., allow_pickle=True) reads them, and runs whatever code they bring",
        ));
    }
    let have = record.len.saturating_sub(header.len);
    match header.byte_len() {
        Some(need) if need == have => Ok(Body { npy: Some(header) }),
        Some(need) => Err(format!("it has {have} bytes of elements, its description needs {need}").into()),
        None => Err("its shape does not fit into 64 bits".into()),
    }
}
