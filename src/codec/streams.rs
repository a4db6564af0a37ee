//! The streams of one container by dataset number: those in use and the recent ones are kept whole, so that
//! all readers share them; of older ones only what was found out about them.

use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lru::LruCache;

use super::Stream;
use crate::Result;

/// A stream takes half a kilobyte: 8192 of them 4 MiB.
const RECENT: NonZeroUsize = NonZeroUsize::new(8192).unwrap();

pub struct Streams {
    held: Mutex<Held>,
}

struct Held {
    recent: LruCache<u32, Arc<Stream>>,
    /// Decoded lengths of streams that were dropped.
    lengths: HashMap<u32, u64>,
    /// Their damage was said once; they stay.
    damaged: HashMap<u32, Arc<Stream>>,
}

impl Streams {
    pub fn new() -> Streams {
        let held = Held { recent: LruCache::new(RECENT), lengths: HashMap::new(), damaged: HashMap::new() };
        Streams { held: Mutex::new(held) }
    }

    pub fn get(&self, number: u32) -> Option<Arc<Stream>> {
        let mut held = self.lock();
        let recent = held.recent.get(&number).cloned();
        recent.or_else(|| held.damaged.get(&number).cloned())
    }

    /// The decoded length of a stream that was decoded before.
    pub fn known_len(&self, number: u32) -> Option<u64> {
        let held = self.lock();
        let stream = held.recent.peek(&number).or(held.damaged.get(&number));
        stream.and_then(|stream| stream.known_len()).or(held.lengths.get(&number).copied())
    }

    /// The stream, or the one that `make` makes; made without the lock, and of two made at once one is kept.
    pub fn get_or_make(
        &self,
        number: u32,
        make: impl FnOnce() -> Result<Arc<Stream>>,
    ) -> Result<Arc<Stream>> {
        if let Some(stream) = self.get(number) {
            return Ok(stream);
        }
        let new = make()?;
        let mut held = self.lock();
        if let Some(first) = held.recent.get(&number) {
            return Ok(first.clone());
        }
        if let Some((old, stream)) = held.recent.push(number, new.clone()) {
            held.remember(old, stream);
        }
        Ok(new)
    }

    fn lock(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Held {
    fn remember(&mut self, number: u32, stream: Arc<Stream>) {
        if stream.is_damaged() {
            self.damaged.insert(number, stream);
        } else if let Some(len) = stream.known_len() {
            self.lengths.insert(number, len);
        }
    }
}
