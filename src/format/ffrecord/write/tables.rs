//! CRCs and end offsets of the added records: in memory while they are few, otherwise in an unnamed file.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;

use tempfile::SpooledTempFile;

use crate::codec::Check;
use crate::format::ffrecord::head::tables_end;

/// Maximum number of their bytes in memory.
const KEPT: usize = 8 << 20;
/// Bytes per entry: a CRC and an end offset.
const ENTRY: usize = 12;

pub struct Tables {
    entries: BufWriter<SpooledTempFile>,
    count: u32,
}

impl Tables {
    pub fn new(scratch: &Path) -> Tables {
        Tables { entries: BufWriter::new(tempfile::spooled_tempfile_in(KEPT, scratch)), count: 0 }
    }

    pub fn count(&self) -> u64 {
        self.count.into()
    }

    /// Adds a record with this CRC that ends at `end`, relative to the start of the first.
    pub fn push(&mut self, crc: u32, end: u64) -> io::Result<()> {
        let next = self.count.checked_add(1).filter(|count| *count < u32::MAX);
        let next = next.ok_or_else(|| io::Error::other(format!("the limit is {} records", u32::MAX - 1)))?;
        let [a, b, c, d] = crc.to_le_bytes();
        let [e, f, g, h, i, j, k, l] = end.to_le_bytes();
        self.entries.write_all(&[a, b, c, d, e, f, g, h, i, j, k, l])?;
        self.count = next;
        Ok(())
    }

    /// Writes header and tables at the start of `file`.
    pub fn write(self, file: &File) -> io::Result<()> {
        let count = u64::from(self.count);
        let mut entries = self.entries.into_inner().map_err(io::IntoInnerError::into_error)?;
        let mut to = file;
        to.seek(SeekFrom::Start(4))?;
        let mut to = Summed { to: BufWriter::with_capacity(256 << 10, to), crc: Check::Crc.of_nothing() };
        to.write(&count.to_le_bytes())?;
        each(&mut entries, count, |crc, _| to.write(&crc.to_le_bytes()))?;
        let mut start = tables_end(count);
        each(&mut entries, count, |_, end| {
            to.write(&start.to_le_bytes())?;
            start = tables_end(count) + end;
            Ok(())
        })?;
        to.to.flush()?;
        file.write_all_at(&to.crc.to_le_bytes(), 0)
    }
}

/// Calls `entry` with every CRC and end offset.
fn each(
    entries: &mut SpooledTempFile,
    count: u64,
    mut entry: impl FnMut(u32, u64) -> io::Result<()>,
) -> io::Result<()> {
    entries.seek(SeekFrom::Start(0))?;
    let mut from = BufReader::with_capacity(64 << 10, entries);
    for _ in 0..count {
        let mut bytes = [0; ENTRY];
        from.read_exact(&mut bytes)?;
        let [a, b, c, d, end @ ..] = bytes;
        entry(u32::from_le_bytes([a, b, c, d]), u64::from_le_bytes(end))?;
    }
    Ok(())
}

/// Computes the CRC of what is written.
struct Summed<W: Write> {
    to: W,
    crc: u32,
}

impl<W: Write> Summed<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.crc = Check::Crc.update(self.crc, bytes);
        self.to.write_all(bytes)
    }
}
