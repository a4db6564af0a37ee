//! A member's local header, which must match the directory.

use std::ops::Range;

use super::{ENCRYPTED, Fault, LOCAL, LOCAL_LEN, Record, names};
use crate::Result;
use crate::source::Source;

/// Bytes read at a time: local header, name, extra field, and some of the data.
pub const WINDOW: u64 = 512;
/// Flag: the sizes are in a data descriptor after the data.
const SIZES_FOLLOW: u16 = 1 << 3;
/// Marks a size that is in the ZIP64 extra field.
const ELSEWHERE: u32 = u32::MAX;

/// The first bytes of a member in the file, including its header.
pub struct Window<'s> {
    source: &'s dyn Source,
    start: u64,
    bytes: Vec<u8>,
}

impl Window<'_> {
    pub fn new(source: &dyn Source, start: u64) -> Result<Window<'_>> {
        let end = source.len().min(start.saturating_add(WINDOW));
        let bytes = if start < end { source.read_range(start..end)? } else { Vec::new() };
        Ok(Window { source, start, bytes })
    }

    /// The bytes in `range` of the file.
    pub fn get(&self, range: Range<u64>) -> Result<Vec<u8>> {
        let inside = |at: u64| at.checked_sub(self.start).and_then(|at| usize::try_from(at).ok());
        let here = inside(range.start).zip(inside(range.end)).and_then(|(from, to)| self.bytes.get(from..to));
        here.map_or_else(|| self.source.read_range(range), |bytes| Ok(bytes.to_vec()))
    }
}

/// Finds the data of the member called `name`. The outer error is one of reading, the inner one a fault of the member.
pub fn find(record: &Record, name: &str, window: &Window<'_>) -> Result<Result<Range<u64>, Fault>> {
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
    let end = match start.checked_add(record.stored_len) {
        Some(end) if end <= record.limit => end,
        _ => {
            let Record { stored_len, limit, .. } = record;
            let problem = format!(
                "its {stored_len} bytes from byte {start} on reach into what follows at byte {limit}"
            );
            return Ok(Err(problem.into()));
        }
    };
    let raw = window.get(name_start..name_start + name_len)?;
    if names::decode(&raw, u16_at(6)) != name {
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
    Ok(Ok(start..end))
}
