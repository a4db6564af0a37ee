//! What verifying found out of bytes that several datasets share, so that they are gone through once: of the last ones
//! that were looked at.

use std::hash::Hash;
use std::num::NonZeroUsize;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use lru::LruCache;

use crate::tree::Identity;
use crate::{Error, Result};

const RECENT: NonZeroUsize = NonZeroUsize::new(4096).unwrap();

pub struct Known {
    /// Checksums of ranges of the container, by algorithm.
    sums: Mutex<LruCache<(Range<u64>, String), String>>,
    /// Whether bytes can be decoded.
    decoded: Mutex<LruCache<Identity, Result<()>>>,
}

impl Known {
    pub fn new() -> Known {
        Known { sums: Mutex::new(LruCache::new(RECENT)), decoded: Mutex::new(LruCache::new(RECENT)) }
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

    /// `name` is that of the dataset that is asked about. What cannot be read may be another time.
    pub fn decoded(&self, of: Identity, name: &str, make: impl FnOnce() -> Result<()>) -> Result<()> {
        if let Some(found) = get(&self.decoded, &of) {
            return found.map_err(|error| called(error, name));
        }
        let made = make();
        if let Ok(()) | Err(Error::Damaged { .. } | Error::Unsupported { .. }) = &made {
            put(&self.decoded, of, made.clone());
        }
        made
    }
}

/// An error of another dataset with the same bytes.
fn called(error: Error, name: &str) -> Error {
    match error {
        Error::Damaged { place, problem } => Error::Damaged { place: place.dataset(name), problem },
        Error::Unsupported { place, problem } => Error::Unsupported { place: place.dataset(name), problem },
        other => other,
    }
}

fn get<K: Hash + Eq, V: Clone>(known: &Mutex<LruCache<K, V>>, key: &K) -> Option<V> {
    known.lock().unwrap_or_else(PoisonError::into_inner).get(key).cloned()
}

fn put<K: Hash + Eq, V>(known: &Mutex<LruCache<K, V>>, key: K, value: V) {
    known.lock().unwrap_or_else(PoisonError::into_inner).put(key, value);
}
