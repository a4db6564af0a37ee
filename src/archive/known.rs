//! What verifying found out of bytes that several datasets share, so that they are gone through once: of the last ones
//! that were looked at.

use std::hash::Hash;
use std::num::NonZeroUsize;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use lru::LruCache;
use parking_lot::Mutex;

use crate::tree::Identity;
use crate::{Error, Result};

const RECENT: NonZeroUsize = NonZeroUsize::new(4096).unwrap();

/// What came out of decoding, once somebody has; the lock is held by who is at it.
type Asked = Mutex<Option<Result<()>>>;

pub struct Known {
    /// Checksums of ranges of the container, by algorithm.
    sums: Mutex<LruCache<(Range<u64>, String), String>>,
    /// Ranges of files, the container or others, that could be read.
    read: Mutex<LruCache<(PathBuf, Range<u64>), ()>>,
    /// Whether bytes can be decoded. Who asks while somebody is at it waits for that.
    decoded: Mutex<LruCache<Identity, Arc<Asked>>>,
}

impl Known {
    pub fn new() -> Known {
        Known {
            sums: Mutex::new(LruCache::new(RECENT)),
            read: Mutex::new(LruCache::new(RECENT)),
            decoded: Mutex::new(LruCache::new(RECENT)),
        }
    }

    /// Has `make` read a range of a file, if nobody has. What could not be read may be another time.
    pub fn read(&self, file: &Path, range: &Range<u64>, make: impl FnOnce() -> Result<()>) -> Result<bool> {
        let key = (file.to_owned(), range.clone());
        if get(&self.read, &key).is_some() {
            return Ok(false);
        }
        make()?;
        put(&self.read, key, ());
        Ok(true)
    }

    pub fn sum(
        &self,
        range: &Range<u64>,
        algorithm: &str,
        make: impl FnOnce() -> Result<String>,
    ) -> Result<String> {
        let key = (range.clone(), algorithm.to_owned());
        if let Some(sum) = get(&self.sums, &key) {
            return Ok(sum);
        }
        let sum = make()?;
        put(&self.sums, key, sum.clone());
        Ok(sum)
    }

    /// `name` is that of the dataset that is asked about: errors have it, whoever asked first. What cannot be read may be
    /// another time.
    pub fn decoded(&self, of: Identity, name: &str, make: impl FnOnce() -> Result<()>) -> Result<()> {
        let known = self.decoded.lock().get_or_insert(of, Arc::default).clone();
        let mut known = known.lock();
        let made = match &*known {
            Some(found) => found.clone(),
            None => make(),
        };
        if let Ok(()) | Err(Error::Damaged { .. } | Error::Unsupported { .. }) = &made {
            *known = Some(made.clone());
        }
        made.map_err(|error| error.of_dataset(name))
    }
}

fn get<K: Hash + Eq, V: Clone>(known: &Mutex<LruCache<K, V>>, key: &K) -> Option<V> {
    known.lock().get(key).cloned()
}

fn put<K: Hash + Eq, V>(known: &Mutex<LruCache<K, V>>, key: K, value: V) {
    known.lock().put(key, value);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_of_a_file_is_read_once_unless_that_fails() {
        let (known, file) = (Known::new(), Path::new("x"));
        let not_now = || Err(Error::Other("not now".into()));
        assert!(known.read(file, &(0..5), not_now).is_err());
        assert!(known.read(file, &(0..5), || Ok(())).unwrap());
        assert!(!known.read(file, &(0..5), not_now).unwrap());
        for (file, range) in [("y", 0..5), ("x", 0..6)] {
            assert!(known.read(Path::new(file), &range, || Ok(())).unwrap());
        }
    }
}
