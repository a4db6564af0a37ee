//! The header: its fixed part, and one pass over both tables that compares the checksum and finds invalid offsets.
//! Nothing is allocated for a number of records before the file is known to be long enough for it.

use std::io;
use std::path::Path;
use std::time::SystemTime;

use crate::codec::Check;
use crate::error::counted;
use crate::format::Candidate;
use crate::source::Source;
use crate::{Error, Result};

/// Checksum and number of records.
pub const FIXED: u64 = 12;
/// Bytes of table per record: a CRC and an offset.
pub const PER_RECORD: u64 = 12;
/// Bytes per read; a multiple of the size of an offset.
const WINDOW: u64 = 1 << 20;

/// The state of the header's checksum.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HeaderChecksum {
    Valid,
    /// The file, written in 2021, has none.
    Absent,
    /// Verification was turned off.
    NotCompared,
}

impl HeaderChecksum {
    pub fn name(self) -> &'static str {
        match self {
            HeaderChecksum::Valid => "valid",
            HeaderChecksum::Absent => "absent",
            HeaderChecksum::NotCompared => "not compared",
        }
    }
}

#[derive(Debug)]
pub struct Head {
    pub count: u32,
    pub checksum: HeaderChecksum,
    /// The offset of the first record.
    pub data: u64,
    /// Both tables, if they fit the memory limit.
    pub kept: Option<Vec<u8>>,
}

impl Head {
    /// Reads and checks the header; keeps the tables in memory if they take at most `room` bytes.
    pub fn read(source: &dyn Source, verify: bool, room: u64) -> Result<Head> {
        let (stored, count) = fixed(source)?;
        let checksum = match (stored, verify) {
            (0, _) => HeaderChecksum::Absent,
            (_, true) => HeaderChecksum::Valid,
            (_, false) => HeaderChecksum::NotCompared,
        };
        let mut pass = Pass::new(source, count);
        let end = tables_end(count.into());
        let kept = (end - FIXED <= room).then(|| vec![0; (end - FIXED) as usize]);
        let kept = pass.run(kept, checksum == HeaderChecksum::Valid)?;
        if checksum == HeaderChecksum::Valid && pass.crc != stored {
            let found = pass.crc;
            let problem =
                format!("the header checksum is {stored:#010x}, bytes 4 to {end} have {found:#010x}");
            return Err(Error::damaged(source.place().at(0), problem));
        }
        pass.finish()?;
        Ok(Head { count, checksum, data: pass.first, kept })
    }

    /// Bytes between the tables and the first record.
    pub fn gap(&self) -> u64 {
        self.data - tables_end(self.count.into())
    }
}

/// Can this be an FFRecord header, as far as the file's first bytes show? If they hold both tables, everything is
/// verified.
pub fn is_plausible(candidate: &Candidate<'_>) -> bool {
    match Head::read(&Beginning { path: candidate.path, bytes: candidate.head, len: candidate.len }, true, 0)
    {
        Ok(_) | Err(Error::Read { .. }) => true,
        Err(_) => false,
    }
}

/// A file of which only the first bytes are available; reading others fails.
struct Beginning<'b> {
    path: &'b Path,
    bytes: &'b [u8],
    len: u64,
}

impl Source for Beginning<'_> {
    fn path(&self) -> &Path {
        self.path
    }

    fn len(&self) -> u64 {
        self.len
    }

    fn modified(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH
    }

    fn read_exact_at(&self, buf: &mut [u8], offset: u64) -> Result<()> {
        let rest = usize::try_from(offset).ok().and_then(|offset| self.bytes.get(offset..));
        let Some(bytes) = rest.and_then(|rest| rest.get(..buf.len())) else {
            return Err(Error::read(self.place().at(offset), io::ErrorKind::UnexpectedEof.into()));
        };
        buf.copy_from_slice(bytes);
        Ok(())
    }

    fn check(&self) -> Result<()> {
        Ok(())
    }
}

/// The end of the tables of `count` records.
pub fn tables_end(count: u64) -> u64 {
    FIXED + PER_RECORD * count
}

/// The checksum and the number of records, having checked that the file is long enough for its tables.
fn fixed(source: &dyn Source) -> Result<(u32, u32)> {
    let len = source.len();
    let wrong = |offset, problem: String| Err(Error::damaged(source.place().at(offset), problem));
    if len < FIXED {
        return wrong(0, format!("the header takes {FIXED} bytes, but the file has {len}"));
    }
    let mut bytes = [0; FIXED as usize];
    source.read_exact_at(&mut bytes, 0)?;
    source.check()?;
    let [a, b, c, d, number @ ..] = bytes;
    let (stored, number) = (u32::from_le_bytes([a, b, c, d]), i64::from_le_bytes(number));
    let Ok(count) = u64::try_from(number) else {
        return wrong(4, format!("the number of records is {number}"));
    };
    let needed = count.checked_mul(PER_RECORD).and_then(|tables| tables.checked_add(FIXED));
    if needed.is_none_or(|needed| needed > len) {
        let needed = needed.map_or("more than 2^64".into(), |needed| needed.to_string());
        return wrong(
            4,
            format!(
                "the number of records is {count}: header and tables take {needed} bytes, but the file has \
                 {len}"
            ),
        );
    }
    if count == 0 && len != FIXED {
        let why = if stored == 0 { ": its writer did not finish it" } else { "" };
        return wrong(
            4,
            format!(
                "the number of records is 0, but it is followed by {}{why}",
                counted(len - FIXED, "byte")
            ),
        );
    }
    match u32::try_from(count) {
        Ok(count) if count < u32::MAX => Ok((stored, count)),
        _ => wrong(4, format!("the number of records is {count}: the limit is {}", u32::MAX - 1)),
    }
}

/// One pass over both tables.
struct Pass<'s> {
    source: &'s dyn Source,
    count: u32,
    crc: u32,
    first: u64,
    last: u64,
    /// The first invalid offset: its position and the problem.
    wrong: Option<(u64, String)>,
}

impl<'s> Pass<'s> {
    fn new(source: &'s dyn Source, count: u32) -> Pass<'s> {
        let crc = Check::Crc.update(Check::Crc.of_nothing(), &u64::from(count).to_le_bytes());
        let first = tables_end(count.into());
        Pass { source, count, crc, first, last: first, wrong: None }
    }

    /// Reads the tables into `kept`, which has room for both, or through a window.
    fn run(&mut self, mut kept: Option<Vec<u8>>, sum: bool) -> Result<Option<Vec<u8>>> {
        let offsets = FIXED + 4 * u64::from(self.count);
        let end = tables_end(self.count.into());
        let mut window = vec![0; (end - FIXED).min(WINDOW) as usize];
        let mut at = FIXED;
        while at < end {
            // A window never spans both tables, nor splits an offset.
            let limit = if at < offsets { offsets } else { end };
            let count = (limit - at).min(WINDOW) as usize;
            let from = (at - FIXED) as usize;
            let piece = match &mut kept {
                Some(kept) => kept.get_mut(from..from + count),
                None => window.get_mut(..count),
            };
            let piece = piece.unwrap_or_default();
            self.source.read_exact_at(piece, at)?;
            self.source.check()?;
            if sum {
                self.crc = Check::Crc.update(self.crc, piece);
            }
            if at >= offsets {
                self.offsets(piece, at);
            }
            at += count as u64;
        }
        Ok(kept)
    }

    /// Checks the offsets in `piece`, which begins at file offset `at`.
    fn offsets(&mut self, piece: &[u8], at: u64) {
        let begin = tables_end(self.count.into());
        let start = at - (FIXED + 4 * u64::from(self.count));
        if self.wrong.is_some() {
            return;
        }
        let (len, first_place) = (self.source.len(), at);
        for (place, bytes) in (first_place..).step_by(8).zip(piece.chunks_exact(8)) {
            let raw = bytes.try_into().map_or(-1, i64::from_le_bytes);
            let number = (start + place - first_place) / 8;
            let problem = match u64::try_from(raw) {
                Err(_) => "which is negative".into(),
                Ok(offset) if offset > len => format!("past the end of the file at byte {len}"),
                Ok(offset) if number == 0 && offset < begin => {
                    format!("inside the header, which ends at byte {begin}")
                }
                Ok(offset) if number > 0 && offset < self.last => {
                    format!("before the record ahead of it, at {}", self.last)
                }
                Ok(offset) => {
                    if number == 0 {
                        self.first = offset;
                    }
                    self.last = offset;
                    continue;
                }
            };
            self.wrong = Some((place, format!("the offset of record {number} is {raw}, {problem}")));
            return;
        }
    }

    fn finish(&mut self) -> Result<()> {
        if let Some((place, problem)) = self.wrong.take() {
            return Err(Error::damaged(self.source.place().at(place), problem));
        }
        Ok(())
    }
}
