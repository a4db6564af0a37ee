//! The bytes of an index file, all numbers little-endian:
//!
//! ```text
//! header   0  "rab-idx\0"                  record   0  "RREC"
//!          8  version                               4  length of the payload, u32
//!         16  length of the container               8  start of the stored range
//!         24  its mtime: seconds                   16  end of the stored range
//!         32             nanoseconds               24  checksum of the payload
//!         40  hash of its header, u128             32  checksum of bytes 0..32
//!         56  checksum of bytes 0..56              40  payload
//!         64  records, one after the other
//! ```
//!
//! Checksums are xxh3-64. A record head's checksum depends on the file's key and on the record's offset, so that bytes
//! of another index, or from elsewhere in this one, are never taken for a record.

use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed, xxh3_128};

use super::Key;

const MAGIC: [u8; 8] = *b"rab-idx\0";
const VERSION: u64 = 2;
const RECORD: [u8; 4] = *b"RREC";

pub const HEADER: usize = 64;
pub const HEAD: usize = 40;

/// Maximum payload length, so that a false length cannot cause a large allocation.
pub const MAX_PAYLOAD: u32 = 256 << 20;

impl Key {
    fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(HEADER);
        bytes.extend(self.len.to_le_bytes());
        bytes.extend(self.seconds.to_le_bytes());
        bytes.extend(self.nanoseconds.to_le_bytes());
        bytes.extend(self.header_hash.to_le_bytes());
        bytes
    }

    /// The name of the container's index file.
    pub fn file_name(&self) -> String {
        format!("{:032x}.idx", xxh3_128(&self.bytes()))
    }

    pub fn header(&self) -> Vec<u8> {
        let mut bytes = [&MAGIC[..], &VERSION.to_le_bytes(), &self.bytes()].concat();
        bytes.extend(xxh3_64(&bytes).to_le_bytes());
        bytes
    }

    /// The seed of the checksums of all record heads of this container.
    pub fn seed(&self) -> u64 {
        xxh3_64(&self.bytes())
    }

    /// Checks that this is the header of the container's index; the error says why not.
    pub fn check(&self, header: &[u8; HEADER]) -> Result<(), String> {
        let own = self.header();
        if header[..] == own[..] {
            return Ok(());
        }
        let (body, checksum) = header.split_at(HEADER - 8);
        Err(if !body.starts_with(&MAGIC) {
            "it is not an index of rab-mount".into()
        } else if checksum != xxh3_64(body).to_le_bytes() {
            "its header is damaged".into()
        } else if body[..16] != own[..16] {
            format!("it has another version than {VERSION}")
        } else {
            "it is the index of another container".into()
        })
    }
}

/// The head of a record, which precedes its payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    pub start: u64,
    pub end: u64,
    pub length: u32,
    checksum: u64,
}

impl Head {
    /// None if such a record is impossible in the index of a container of `limit` bytes.
    pub fn new(start: u64, end: u64, payload: &[u8], limit: u64) -> Option<Head> {
        let length = u32::try_from(payload.len()).ok()?;
        let head = Head { start, end, length, checksum: xxh3_64(payload) };
        head.is_possible(limit).then_some(head)
    }

    fn is_possible(&self, limit: u64) -> bool {
        self.start < self.end && self.end <= limit && self.length <= MAX_PAYLOAD
    }

    /// The encoded head for offset `at` of the file.
    pub fn bytes(&self, seed: u64, at: u64) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(HEAD);
        bytes.extend(RECORD);
        bytes.extend(self.length.to_le_bytes());
        for number in [self.start, self.end, self.checksum] {
            bytes.extend(number.to_le_bytes());
        }
        bytes.extend(head_checksum(&bytes, seed, at).to_le_bytes());
        bytes
    }

    /// Decodes the head at the start of `bytes`, found at offset `at` in the index of a container of `limit` bytes.
    pub fn read(bytes: &[u8], seed: u64, at: u64, limit: u64) -> Option<Head> {
        let mut rest = bytes;
        let magic: [u8; 4] = take(&mut rest)?;
        let length = u32::from_le_bytes(take(&mut rest)?);
        let [start, end, checksum, own] = [(); 4].map(|()| take(&mut rest).map(u64::from_le_bytes));
        let head = Head { start: start?, end: end?, length, checksum: checksum? };
        let is_whole = own? == head_checksum(bytes.get(..HEAD - 8)?, seed, at);
        (magic == RECORD && is_whole && head.is_possible(limit)).then_some(head)
    }

    /// Is this the payload that the head was written for?
    pub fn fits(&self, payload: &[u8]) -> bool {
        payload.len() as u64 == u64::from(self.length) && xxh3_64(payload) == self.checksum
    }

    /// Length of the whole record in bytes.
    pub fn size(&self) -> u64 {
        HEAD as u64 + u64::from(self.length)
    }
}

fn head_checksum(bytes: &[u8], seed: u64, at: u64) -> u64 {
    xxh3_64_with_seed(bytes, seed.wrapping_add(at))
}

fn take<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (first, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(*first)
}
