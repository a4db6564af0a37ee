//! Verification results for bytes that several datasets share, so that these are read once: a cache of the most recent
//! ones.

use std::hash::Hash;
use std::num::NonZeroUsize;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use lru::LruCache;
use parking_lot::Mutex;

use crate::error::Place;
use crate::tree::Identity;
use crate::{Error, Result};

const RECENT: NonZeroUsize = NonZeroUsize::new(4096).unwrap();

pub struct Known {
    /// Checksums of ranges of the container, by algorithm.
    sums: Once<(Range<u64>, String), String>,
    /// Ranges of files, the container or others, that could be read.
    read: Once<(PathBuf, Range<u64>), ()>,
    /// Whether bytes can be decoded.
    decoded: Once<Identity, ()>,
}

impl Known {
    pub fn new() -> Known {
        Known { sums: Once::new(), read: Once::new(), decoded: Once::new() }
    }

    /// Has `make` read a range of a file, if nobody has.
    pub fn read(&self, file: &Path, range: &Range<u64>, make: impl FnOnce() -> Result<()>) -> Result<bool> {
        let mut is_made = false;
        self.read.get((file.to_owned(), range.clone()), || {
            is_made = true;
            make()
        })?;
        Ok(is_made)
    }

    pub fn sum(
        &self,
        range: &Range<u64>,
        algorithm: &str,
        make: impl FnOnce() -> Result<String>,
    ) -> Result<String> {
        self.sums.get((range.clone(), algorithm.to_owned()), make)
    }

    /// `dataset` is the one that is asked about: errors name it, whoever asked first.
    pub fn decoded(&self, of: Identity, dataset: &Place, make: impl FnOnce() -> Result<()>) -> Result<()> {
        self.decoded.get(of, make).map_err(|error| error.of(dataset))
    }
}

/// Results that are computed once. Concurrent requests for one wait for it, and for nothing else. What cannot be read
/// may be another time.
struct Once<K, T>(Mutex<LruCache<K, Arc<Asked<T>>>>);

/// The result, once it is known; the thread that computes it holds the lock.
type Asked<T> = Mutex<Option<Result<T>>>;

impl<K: Hash + Eq, T: Clone> Once<K, T> {
    fn new() -> Once<K, T> {
        Once(Mutex::new(LruCache::sparse(RECENT)))
    }

    fn get(&self, key: K, make: impl FnOnce() -> Result<T>) -> Result<T> {
        let asked = self.0.lock().get_or_insert(key, Arc::default).clone();
        let mut known = asked.lock();
        if let Some(found) = &*known {
            return found.clone();
        }
        let made = make();
        if made.as_ref().map_or_else(Error::lasts, |_| true) {
            *known = Some(made.clone());
        }
        made
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::thread;

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

    #[test]
    fn concurrent_requests_wait() {
        let (once, made, start) = (Once::new(), Mutex::new(0), Barrier::new(8));
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    start.wait();
                    let make = || {
                        thread::yield_now();
                        *made.lock() += 1;
                        Ok(())
                    };
                    (0..100).for_each(|key| once.get(key, make).unwrap());
                });
            }
        });
        assert_eq!(*made.lock(), 100);
    }
}
