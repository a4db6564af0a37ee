//! Writes ZIP files: members, and the central directory. As in numpy's files, every local header has the ZIP64 field,
//! so that lengths need not be known in advance.

use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::codec::crc32;
use crate::codec::deflate::{self, Compressor};
use crate::codec::zip::{DEFLATED, END, LOCAL, LOCAL_LEN, STORED, names};
use crate::format::Compression;
use crate::format::writer::input::{Stretch, set_aside};

/// Alignment of uncompressed members' data, in bytes.
const ALIGN: u64 = 64;
const PIECE: usize = 256 << 10;
/// The first version of the format with ZIP64.
const VERSION: u16 = 45;
/// Made on Unix, so that readers apply `MODE`.
const MADE_BY: u16 = 3 << 8 | VERSION;
/// A regular file with mode 0644.
const MODE: u32 = 0o100644 << 16;
/// 1 January 1980, the earliest date the format can hold.
const DATE: u16 = 1 << 5 | 1;
/// Extra fields: 64-bit sizes; alignment padding, as written by Android's zipalign.
const ZIP64: u16 = 1;
const ROOM: u16 = 0xd935;

/// The contents of a member: `head`, followed by all of `data`.
pub struct Body<'d> {
    pub head: Vec<u8>,
    pub data: &'d mut dyn Read,
    pub compression: Compression,
}

impl Body<'_> {
    fn all(&mut self) -> impl Read {
        self.head.as_slice().chain(&mut *self.data)
    }
}

/// A member that has been written to the file.
pub struct Written {
    /// Its central directory entry.
    entry: Vec<u8>,
    /// The end of its data, where the next member may begin.
    pub end: u64,
    /// CRC-32 of its uncompressed data.
    pub crc: u32,
}

/// The members of a file, in order.
pub struct Members {
    compressor: Compressor,
    /// Length of the kept members.
    len: u64,
    directory: Vec<u8>,
    count: u64,
}

impl Members {
    pub fn new(jobs: usize) -> Members {
        Members { compressor: Compressor::new(jobs), len: 0, directory: Vec::new(), count: 0 }
    }

    /// Number of kept members.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Writes a member behind the kept ones; unless it is kept too, it is overwritten or cut off. `scratch` is the
    /// directory for temporary files.
    pub fn write(&self, file: &File, scratch: &Path, name: &str, body: Body<'_>) -> io::Result<Written> {
        write(&Target { file, directory: scratch, compressor: &self.compressor }, self.len, name, body)
    }

    pub fn keep(&mut self, Written { entry, end, .. }: Written) {
        self.directory.extend(entry);
        (self.len, self.count) = (end, self.count + 1);
    }

    /// Writes the central directory.
    pub fn finish(self, file: &File) -> io::Result<()> {
        file.set_len(self.len)?;
        let mut to = At { file, at: self.len };
        to.write_all(&self.directory)?;
        to.write_all(&end(self.len, self.directory.len() as u64, self.count))
    }
}

/// Writes to a file from an offset on.
struct At<'f> {
    file: &'f File,
    at: u64,
}

impl Write for At<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.file.write_at(bytes, self.at)?;
        self.at += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

struct Facts {
    method: u16,
    crc: u32,
    stored_len: u64,
    len: u64,
}

/// The file that members go to, and what writing them needs.
struct Target<'p> {
    file: &'p File,
    directory: &'p Path,
    compressor: &'p Compressor,
}

/// Writes a member at offset `start`.
fn write(place: &Target<'_>, start: u64, name: &str, mut body: Body<'_>) -> io::Result<Written> {
    let (level, only_if_smaller) = match body.compression {
        Compression::None => {
            return write_as(place, start, name, body.all(), None).map(|(written, _)| written);
        }
        Compression::Zlib(level) => (level, false),
        Compression::ZlibIfSmaller(level) => (level, true),
    };
    let (written, facts) = write_as(place, start, name, body.all(), Some(level))?;
    if !only_if_smaller || facts.stored_len < facts.len {
        return Ok(written);
    }
    let stream = Stretch { file: place.file, at: written.end - facts.stored_len, end: written.end };
    let mut decoded = set_aside(deflate::decoded_bare(stream), place.directory)?;
    write_as(place, start, name, &mut decoded, None).map(|(written, _)| written)
}

fn write_as(
    place: &Target<'_>,
    start: u64,
    name: &str,
    data: impl Read,
    level: Option<u32>,
) -> io::Result<(Written, Facts)> {
    let name_len =
        u16::try_from(name.len()).map_err(|_| io::Error::other("its name takes more than 65535 bytes"))?;
    let method = if level.is_none() { STORED } else { DEFLATED };
    let before = start + LOCAL_LEN as u64 + u64::from(name_len) + 20 + 6;
    let room = if method == STORED { (before.next_multiple_of(ALIGN) - before) as usize } else { 0 };
    let data_at = before + room as u64;

    let mut summed = Summed { data, crc: 0, len: 0 };
    let mut to = BufWriter::with_capacity(PIECE, At { file: place.file, at: data_at });
    match level {
        None => copy(&mut summed, &mut to)?,
        Some(level) => copy(&mut place.compressor.bare(&mut summed, level), &mut to)?,
    }
    to.flush()?;
    let stored_len = to.get_ref().at - data_at;
    let facts = Facts { method, crc: summed.crc, stored_len, len: summed.len };
    place.file.write_all_at(&local(&facts, name, name_len, room), start)?;
    let entry = entry(&facts, name, name_len, start);
    let written = Written { entry, end: data_at + stored_len, crc: facts.crc };
    Ok((written, facts))
}

fn copy(from: &mut dyn Read, to: &mut dyn Write) -> io::Result<()> {
    let mut piece = vec![0; PIECE];
    loop {
        match from.read(&mut piece) {
            Ok(0) => return Ok(()),
            Ok(count) => to.write_all(piece.get(..count).unwrap_or_default())?,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Computes the CRC-32 and the length of what is read.
struct Summed<R> {
    data: R,
    crc: u32,
    len: u64,
}

impl<R: Read> Read for Summed<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.data.read(into)?;
        self.crc = crc32(self.crc, into.get(..count).unwrap_or_default());
        self.len += count as u64;
        Ok(count)
    }
}

/// The fields that local headers and directory entries share: version, flags, method, time, date, CRC-32, both lengths
/// (0xFFFFFFFF where the ZIP64 field has them), and the length of the name.
fn common(facts: &Facts, flags: u16, lengths: [u32; 2], name_len: u16) -> Vec<u8> {
    let mut out = [VERSION, flags, facts.method, 0, DATE].map(u16::to_le_bytes).concat();
    out.extend([facts.crc, lengths[0], lengths[1]].map(u32::to_le_bytes).concat());
    out.extend(name_len.to_le_bytes());
    out
}

fn flags(name: &str) -> u16 {
    if name.is_ascii() { 0 } else { names::UTF8 }
}

fn local(facts: &Facts, name: &str, name_len: u16, room: usize) -> Vec<u8> {
    let mut out = LOCAL.to_vec();
    out.extend(common(facts, flags(name), [u32::MAX; 2], name_len));
    let extra = [ZIP64, 16].map(u16::to_le_bytes).concat();
    let extra = [extra, [facts.len, facts.stored_len].map(u64::to_le_bytes).concat()].concat();
    let padding = [ROOM, 2 + room as u16, ALIGN as u16].map(u16::to_le_bytes).concat();
    // Its length: 20 bytes of ZIP64, 6 of the padding field's header, and the room.
    let extra = [extra, padding, vec![0; room]].concat();
    out.extend((extra.len() as u16).to_le_bytes());
    out.extend(name.as_bytes());
    out.extend(extra);
    out
}

fn entry(facts: &Facts, name: &str, name_len: u16, start: u64) -> Vec<u8> {
    let mut wide = Vec::new();
    let mut narrow = |number: u64| match u32::try_from(number) {
        Ok(number) if number < u32::MAX => number,
        _ => {
            wide.extend(number.to_le_bytes());
            u32::MAX
        }
    };
    // In the order of the ZIP64 field.
    let (len, stored_len, start) = (narrow(facts.len), narrow(facts.stored_len), narrow(start));
    let extra = match wide.is_empty() {
        true => Vec::new(),
        false => [[ZIP64, wide.len() as u16].map(u16::to_le_bytes).concat(), wide].concat(),
    };
    let mut out = b"PK\x01\x02".to_vec();
    out.extend(MADE_BY.to_le_bytes());
    out.extend(common(facts, flags(name), [stored_len, len], name_len));
    // Extra field, comment, disk, internal attributes.
    out.extend([extra.len() as u16, 0, 0, 0].map(u16::to_le_bytes).concat());
    out.extend([MODE, start].map(u32::to_le_bytes).concat());
    out.extend(name.as_bytes());
    out.extend(extra);
    out
}

/// The end records that follow a central directory of `len` bytes at `start`.
fn end(start: u64, len: u64, count: u64) -> Vec<u8> {
    let mut out = Vec::new();
    let fits = count < u16::MAX.into() && len < u32::MAX.into() && start < u32::MAX.into();
    if !fits {
        out.extend(b"PK\x06\x06");
        out.extend(44u64.to_le_bytes());
        out.extend([MADE_BY, VERSION].map(u16::to_le_bytes).concat());
        out.extend([0u32; 2].map(u32::to_le_bytes).concat());
        out.extend([count, count, len, start].map(u64::to_le_bytes).concat());
        out.extend(b"PK\x06\x07");
        out.extend(0u32.to_le_bytes());
        out.extend((start + len).to_le_bytes());
        out.extend(1u32.to_le_bytes());
    }
    let count = u16::try_from(count).unwrap_or(u16::MAX);
    let [len, start] = [len, start].map(|number| u32::try_from(number).unwrap_or(u32::MAX));
    out.extend(END);
    out.extend([0, 0, count, count].map(u16::to_le_bytes).concat());
    out.extend([len, start].map(u32::to_le_bytes).concat());
    out.extend(0u16.to_le_bytes());
    out
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_end_of_large_archives() {
        assert_eq!(super::end(1, 2, 3).len(), 22);
        assert_eq!(super::end(1 << 32, 2, 3).len(), 98);
        assert_eq!(super::end(1, 2, 65535).len(), 98);
    }
}
