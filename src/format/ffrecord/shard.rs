//! One file of records.

use std::ops::Range;
use std::sync::Arc;

use super::head::{Head, HeaderChecksum};
use super::table::Table;
use crate::Result;
use crate::codec::Check;
use crate::source::Source;

pub struct Shard {
    pub source: Arc<dyn Source>,
    pub table: Table,
    pub checksum: HeaderChecksum,
    pub count: u32,
    /// All records, from the start of the first to the end of the file.
    pub data: Range<u64>,
}

/// Maximum bytes of a record in memory at a time.
const PIECE: u64 = 256 << 10;

impl Shard {
    /// Keeps its tables in memory if they take at most `room` bytes.
    pub fn open(source: Arc<dyn Source>, verify: bool, room: u64) -> Result<Shard> {
        let mut head = Head::read(&*source, verify, room)?;
        let table = Table::new(source.clone(), &mut head);
        let (gap, Head { count, checksum, data, .. }) = (head.gap(), head);
        let file = source.path().display();
        if gap > 0 {
            log::warn!("{file}: {gap} bytes between the header and record 0 belong to no record");
        }
        if checksum == HeaderChecksum::Absent {
            log::warn!(
                "{file}: has no header checksum (as files of 2021): only its records' can be compared"
            );
        }
        Ok(Shard { data: data..source.len(), source, table, checksum, count })
    }

    /// The CRC of a range of the file, read piece by piece.
    pub fn crc(&self, range: Range<u64>) -> Result<u32> {
        let mut buffer = vec![0; (range.end - range.start).min(PIECE) as usize];
        let mut crc = Check::Crc.of_nothing();
        let mut at = range.start;
        while at < range.end {
            let count = (range.end - at).min(PIECE);
            let piece = buffer.get_mut(..count as usize).unwrap_or_default();
            self.source.read_exact_at(piece, at)?;
            crc = Check::Crc.update(crc, piece);
            at += count;
        }
        self.source.check()?;
        Ok(crc)
    }
}
