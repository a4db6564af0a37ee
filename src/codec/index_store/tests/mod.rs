//! Whatever is done to the files and the directory, what is got was put for that range of that container, and
//! the next mount can keep things again.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::{FileExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime};

use proptest::prelude::*;
use tempfile::TempDir;
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use super::layout::{HEAD, HEADER, MAX_PAYLOAD};
use super::{IndexFile, IndexStore, Key};

mod anything;
mod damage;
mod limit;
mod strangers;
mod uses;

const KEY: Key =
    Key { len: 1 << 40, seconds: 1_700_000_000, nanoseconds: 123_456_789, header_hash: 1 << 100 };
const LIMIT: u64 = 1 << 30;

/// A test's private cache directory.
struct Kit {
    parent: TempDir,
}

impl Kit {
    fn new() -> Kit {
        Kit { parent: TempDir::with_prefix("rab-test-").unwrap() }
    }

    fn directory(&self) -> PathBuf {
        self.parent.path().join("cache/rab-mount")
    }

    fn with_limit(&self, limit: u64, key: Key) -> IndexFile {
        IndexStore::new(self.directory(), limit).open(key)
    }

    /// As a new mount opens it.
    fn open(&self) -> IndexFile {
        self.with_limit(LIMIT, KEY)
    }

    fn path(&self) -> PathBuf {
        self.directory().join(KEY.file_name())
    }

    fn len(&self) -> u64 {
        fs::metadata(self.path()).unwrap().len()
    }

    /// Writes these bytes as the index file.
    fn plant(&self, bytes: &[u8]) {
        fs::create_dir_all(self.directory()).unwrap();
        fs::write(self.path(), bytes).unwrap();
        fs::set_permissions(self.path(), Permissions::from_mode(0o600)).unwrap();
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.directory()).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// The existing file is ignored, and the first put replaces it.
    fn is_made_again(&self, what: &str) {
        let index = self.open();
        assert_eq!(index.get(0, 10), None, "{what}");
        assert!(complained(&index), "{what}");
        index.put(0, 10, b"new");
        assert_eq!(index.get(0, 10).as_deref(), Some(&b"new"[..]), "{what}");
        drop(index);
        let index = self.open();
        assert_eq!(index.get(0, 10).as_deref(), Some(&b"new"[..]), "{what}");
        assert!(!complained(&index), "{what}");
    }

    /// The existing file is ignored, and nothing is stored.
    fn is_of_no_use(&self, index: &IndexFile, what: &str) {
        assert_eq!(index.get(0, 10), None, "{what}");
        index.put(0, 10, b"new");
        assert_eq!(index.get(0, 10), None, "{what}");
        assert!(complained(index), "{what}");
    }
}

fn complained(index: &IndexFile) -> bool {
    index.complained.load(Ordering::Relaxed)
}

fn other(number: u64) -> Key {
    Key { len: KEY.len + number, ..KEY }
}

/// The payload of record `n` of a sample, for the range `n..n + 10`.
fn payload(n: u64) -> Vec<u8> {
    (0..n * 7 % 40).map(|i| (i * 31 + n) as u8).collect()
}

/// A file of a few records, and where each one ends.
fn sample() -> (Vec<u8>, Vec<u64>) {
    let kit = Kit::new();
    let index = kit.open();
    let ends = (0..5).map(|n| {
        index.put(n, n + 10, &payload(n));
        kit.len()
    });
    let ends = ends.collect();
    (fs::read(kit.path()).unwrap(), ends)
}

/// A record with right checksums and arbitrary contents.
fn forged(at: u64, length: u32, start: u64, end: u64, payload: &[u8]) -> Vec<u8> {
    let mut bytes = b"RREC".to_vec();
    bytes.extend(length.to_le_bytes());
    for number in [start, end, xxh3_64(payload)] {
        bytes.extend(number.to_le_bytes());
    }
    bytes.extend(xxh3_64_with_seed(&bytes, KEY.seed().wrapping_add(at)).to_le_bytes());
    bytes.extend(payload);
    bytes
}
