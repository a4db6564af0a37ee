//! The records of one or several files as contents, numbered across the files in order. A record's CRC is verified
//! before its first byte is returned.

use std::ops::Range;
use std::sync::Arc;

use super::shard::Shard;
use super::table::Record;
use super::verified::Verified;
use crate::codec::Check;
use crate::content::Content;
use crate::error::Place;
use crate::source::Source;
use crate::tree::{Size, naming};
use crate::{Error, Result};

/// Records up to this length are verified and returned in one read.
const SMALL: u64 = 256 << 10;
/// Maximum number of bytes of all files' tables in memory; further entries are read when they are needed.
const KEPT: u64 = 16 << 20;

pub struct Records {
    /// Each shard with the number of its first record.
    shards: Vec<(u32, Shard)>,
    count: u32,
    /// None: CRCs are not verified.
    verified: Option<Verified>,
}

/// A record and the file it is in.
pub struct RecordInShard<'a> {
    pub shard: &'a Shard,
    pub record: Record,
}

impl RecordInShard<'_> {
    pub fn len(&self) -> u64 {
        self.record.range.end - self.record.range.start
    }

    fn stored(&self) -> Content {
        Content::Stored { source: self.shard.source.clone(), range: self.record.range.clone() }
    }
}

impl Records {
    /// Reads the files' headers, and verifies their checksums if `verify`.
    pub fn open(sources: Vec<Arc<dyn Source>>, verify: bool) -> Result<Records> {
        let (mut shards, mut count, mut room) = (Vec::with_capacity(sources.len()), 0u32, KEPT);
        for source in sources {
            let shard = Shard::open(source, verify, room)?;
            room -= shard.table.memory();
            let too_many = || {
                let problem =
                    format!("together with those before, it has more than {} records", u32::MAX - 1);
                Error::damaged(shard.source.place().at(4), problem)
            };
            let next = count.checked_add(shard.count).filter(|count| *count < u32::MAX);
            let next = next.ok_or_else(too_many)?;
            shards.push((count, shard));
            count = next;
        }
        Ok(Records { shards, count, verified: verify.then(|| Verified::new(count.into())) })
    }

    pub fn count(&self) -> u32 {
        self.count
    }

    /// Approximate memory used, in bytes.
    pub fn memory(&self) -> u64 {
        let tables: u64 = self.shards().map(|shard| shard.table.memory()).sum();
        tables + u64::from(self.count) / 8
    }

    pub fn verifies(&self) -> bool {
        self.verified.is_some()
    }

    pub fn shards(&self) -> impl Iterator<Item = &Shard> {
        self.shards.iter().map(|(_, shard)| shard)
    }

    /// The file that has this record, and the record's number in it.
    pub fn shard(&self, number: u32) -> Option<(&Shard, u32)> {
        let at = self.shards.partition_point(|(first, _)| *first <= number).checked_sub(1)?;
        // Of several shards that begin here the last; those before it are empty.
        let (first, shard) = self.shards.get(at)?;
        (number - first < shard.count).then_some((shard, number - first))
    }

    pub fn find(&self, number: u32) -> Result<RecordInShard<'_>> {
        let (shard, own) = self.shard(number).ok_or(Error::NotFound)?;
        Ok(RecordInShard { shard, record: shard.table.record(own)? })
    }

    pub fn size(&self, number: u32) -> Result<Size> {
        let found = self.find(number)?;
        Ok(Size { len: Some(self.claimed(&found)), stored: found.len() })
    }

    /// The length of a record's content; at least 1 for a damaged record, so that programs try to read it.
    pub fn claimed(&self, found: &RecordInShard<'_>) -> u64 {
        let len = found.len();
        let is_damaged = self.verifies() && len == 0 && found.record.crc != Check::Crc.of_nothing();
        len.max(is_damaged.into())
    }

    /// The bytes of a record; if it is damaged, every read of them fails.
    pub fn content(&self, number: u32) -> Result<Content> {
        let found = self.find(number)?;
        let Some(verified) = &self.verified else { return Ok(found.stored()) };
        if verified.is_right(number.into()) {
            return Ok(found.stored());
        }
        let mut small = None;
        let compared = verified.once(number.into(), || {
            let Record { range, crc } = &found.record;
            let computed = match found.len() <= SMALL {
                true => {
                    let bytes = found.shard.source.read_range(range.clone())?;
                    let crc = Check::Crc.update(Check::Crc.of_nothing(), &bytes);
                    small = Some(Content::Inline(bytes.into()));
                    crc
                }
                false => found.shard.crc(range.clone())?,
            };
            if computed == *crc { Ok(()) } else { Err(self.damaged(number, &found, computed)) }
        });
        match compared {
            Ok(()) => Ok(small.unwrap_or_else(|| found.stored())),
            Err(error @ Error::Damaged { .. }) => Ok(Content::Broken { claimed: found.len().max(1), error }),
            Err(error) => Err(error),
        }
    }

    /// [`Records::content`] if that needs neither to wait for a disk nor to read many bytes; else None.
    pub fn ready_content(&self, number: u32) -> Result<Option<Content>> {
        let Some(verified) = &self.verified else { return self.content(number).map(Some) };
        if verified.is_right(number.into()) {
            return self.content(number).map(Some);
        }
        let found = self.find(number)?;
        let is_ready = found.len() <= SMALL && found.shard.source.is_cached(&found.record.range);
        if is_ready { self.content(number).map(Some) } else { Ok(None) }
    }

    /// The bytes of a record, without verifying the CRC.
    pub fn stored(&self, number: u32) -> Result<Content> {
        self.find(number).map(|found| found.stored())
    }

    /// The concatenated bytes of all records.
    pub fn data(&self) -> Vec<Content> {
        let stored =
            |shard: &Shard, range: Range<u64>| Content::Stored { source: shard.source.clone(), range };
        self.shards().map(|shard| stored(shard, shard.data.clone())).collect()
    }

    /// The total length of all records, in bytes.
    pub fn data_len(&self) -> u64 {
        self.shards().map(|shard| shard.data.end - shard.data.start).fold(0, u64::saturating_add)
    }

    pub fn checksums(&self) -> Vec<Content> {
        let stored =
            |shard: &Shard, range: Range<u64>| Content::Stored { source: shard.source.clone(), range };
        self.shards().map(|shard| stored(shard, shard.table.checksums())).collect()
    }

    pub fn place(&self, number: u32, found: &RecordInShard<'_>) -> Place {
        let place = found.shard.source.place().at(found.record.range.start);
        place.dataset(&naming::printed(&self.name(number)))
    }

    pub fn damaged(&self, number: u32, found: &RecordInShard<'_>, computed: u32) -> Error {
        let stored = found.record.crc;
        let problem = format!("its CRC-32 is {computed:#010x}, but {stored:#010x} is recorded");
        Error::damaged(self.place(number, found), problem)
    }

    /// The name of a record's dataset: [`FOLDER`] and the file name.
    pub fn name(&self, number: u32) -> Vec<u8> {
        format!("{FOLDER}/{number:0width$}", width = self.width()).into_bytes()
    }

    pub fn file_name(&self, number: u32) -> Vec<u8> {
        format!("{number:0width$}", width = self.width()).into_bytes()
    }

    /// The record of this file name.
    pub fn number_of(&self, file_name: &[u8]) -> Option<u32> {
        let is_one = file_name.len() == self.width() && file_name.iter().all(u8::is_ascii_digit);
        let number = std::str::from_utf8(file_name).ok().filter(|_| is_one)?.parse().ok()?;
        (number < self.count).then_some(number)
    }

    /// The number of digits of the highest record number.
    fn width(&self) -> usize {
        self.count.saturating_sub(1).checked_ilog10().map_or(1, |log| log as usize + 1)
    }
}

/// The directory of the records.
pub const FOLDER: &str = "records";
