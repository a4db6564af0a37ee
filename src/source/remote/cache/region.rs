//! A file of 32 blocks: each at its place, with holes where there are none, and behind them their checksums. A block is
//! written before its checksum, so that one torn by a crash has a wrong one, and is missing.

use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::private;
use crate::source::remote::blocks::BLOCK;

/// Blocks of a region.
pub const BLOCKS: u64 = 32;
/// Bytes of a checksum.
const SUM: u64 = 8;
/// That it was used is noted so often, for those who look for the oldest.
const NOTED: Duration = Duration::from_secs(600);

pub struct Region {
    pub path: PathBuf,
    pub key: u128,
}

impl Region {
    pub fn read(&self, number: u64, len: usize) -> Option<Vec<u8>> {
        let file = private::open(&self.path, false).ok()?;
        let (at, sum_at) = places(number);
        let (mut bytes, mut sum) = (vec![0; len], [0; SUM as usize]);
        file.read_exact_at(&mut sum, sum_at).ok()?;
        file.read_exact_at(&mut bytes, at).ok()?;
        if u64::from_le_bytes(sum) != self.sum(number, &bytes) {
            return None;
        }
        let modified = file.metadata().and_then(|meta| meta.modified()).ok()?;
        if modified.elapsed().is_ok_and(|age| age > NOTED) {
            // It may be another program's turn to do so.
            let _ = file.set_modified(SystemTime::now());
        }
        Some(bytes)
    }

    pub fn write(&self, number: u64, bytes: &[u8]) -> io::Result<()> {
        let file = private::open_or_create(&self.path)?;
        let (at, sum_at) = places(number);
        file.write_all_at(bytes, at)?;
        file.write_all_at(&self.sum(number, bytes).to_le_bytes(), sum_at)
    }

    /// Of a block at its place; never that of a hole.
    fn sum(&self, number: u64, bytes: &[u8]) -> u64 {
        let seed = (self.key as u64) ^ ((self.key >> 64) as u64) ^ number;
        xxh3_64_with_seed(bytes, seed).max(1)
    }
}

/// Where a block and its checksum are in their region.
fn places(number: u64) -> (u64, u64) {
    let slot = number % BLOCKS;
    (slot * BLOCK, BLOCKS * BLOCK + slot * SUM)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_come_back_whole_or_not_at_all() {
        let directory = tempfile::tempdir().unwrap();
        let region = Region { path: directory.path().join("0001"), key: 7 };
        let block = |number: u64| vec![number as u8 + 1; BLOCK as usize];
        assert_eq!(region.read(33, 10), None);
        region.write(33, &block(33)).unwrap();
        region.write(63, &block(63)[..100]).unwrap();
        assert_eq!(region.read(33, BLOCK as usize), Some(block(33)));
        assert_eq!(region.read(63, 100), Some(block(63)[..100].to_vec()));
        // A hole, another length, another version, another place.
        assert_eq!(region.read(34, BLOCK as usize), None);
        assert_eq!(region.read(63, 99), None);
        assert_eq!(
            Region { key: 8, ..Region { path: region.path.clone(), key: 0 } }.read(33, BLOCK as usize),
            None
        );
        assert_eq!(region.read(33 + BLOCKS, BLOCK as usize), None);
        // One byte is wrong.
        let file = private::open(&region.path, true).unwrap();
        file.write_all_at(&[0], places(33).0 + 77).unwrap();
        assert_eq!(region.read(33, BLOCK as usize), None);
        // It ends within the checksums.
        file.set_len(BLOCKS * BLOCK + 3).unwrap();
        assert_eq!(region.read(63, 100), None);
    }
}
