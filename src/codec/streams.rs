//! The streams of one container by dataset number. Those in use and recent ones are kept whole, so that readers share
//! them; of older ones only the findings are kept.

use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use lru::LruCache;
use parking_lot::Mutex;

use super::index_store::IndexFile;
use super::wrapper::Wrapper;
use super::{Engine, Stream};
use crate::Result;
use crate::error::Place;
use crate::source::Source;

/// Approximate bytes of memory for a stream, and for the length of one.
const STREAM: u64 = 512;
const LENGTH: u64 = 24;
/// 4 MiB of streams.
const RECENT: NonZeroUsize = NonZeroUsize::new(8192).unwrap();

pub struct Streams {
    engine: Arc<Engine>,
    source: Arc<dyn Source>,
    /// The container's header; its hash identifies the container.
    header: Range<u64>,
    file: OnceLock<Option<Arc<IndexFile>>>,
    held: Mutex<Held>,
}

struct Held {
    recent: LruCache<u32, Arc<Stream>>,
    /// Decoded lengths of streams that were dropped.
    lengths: HashMap<u32, u64>,
    /// Damaged streams are kept, so that their damage is logged only once.
    damaged: HashMap<u32, Arc<Stream>>,
}

/// Where a stream is stored, and its name in messages.
#[derive(Clone)]
pub struct Described {
    pub stored: Range<u64>,
    /// None: identified by its first bytes.
    pub wrapper: Option<Wrapper>,
    /// The decoded length where it is known. (0 counts as unknown: an empty stream still has to be verified.)
    pub expected: Option<u64>,
    pub place: Place,
}

impl Streams {
    pub fn new(engine: Arc<Engine>, source: Arc<dyn Source>, header: Range<u64>) -> Streams {
        let held =
            Held { recent: LruCache::sparse(RECENT), lengths: HashMap::new(), damaged: HashMap::new() };
        Streams { engine, source, header, file: OnceLock::new(), held: Mutex::new(held) }
    }

    pub fn get(&self, number: u32) -> Option<Arc<Stream>> {
        let mut held = self.held.lock();
        let recent = held.recent.get(&number).cloned();
        recent.or_else(|| held.damaged.get(&number).cloned())
    }

    /// The decoded length, if the stream was decoded before.
    pub fn known_len(&self, number: u32) -> Option<u64> {
        let held = self.held.lock();
        let stream = held.recent.peek(&number).or(held.damaged.get(&number));
        stream.and_then(|stream| stream.known_len()).or(held.lengths.get(&number).copied())
    }

    /// Approximate bytes of memory that all of them take.
    pub fn memory(&self) -> u64 {
        let held = self.held.lock();
        STREAM * (held.recent.len() + held.damaged.len()) as u64 + LENGTH * held.lengths.len() as u64
    }

    /// The stream, created from `describe` if there is none. It is created without holding the lock; if two threads
    /// create it at once, one is kept.
    pub fn get_or_make(
        &self,
        number: u32,
        describe: impl FnOnce() -> Result<Described>,
    ) -> Result<Arc<Stream>> {
        if let Some(stream) = self.get(number) {
            return Ok(stream);
        }
        let described = describe()?;
        let (engine, source) = (self.engine.clone(), self.source.clone());
        let new = Stream::kept_in(self.file(), engine, source, described);
        let mut held = self.held.lock();
        if let Some(first) = held.recent.get(&number) {
            return Ok(first.clone());
        }
        let old = held.recent.push(number, new.clone());
        let forgotten = old.and_then(|(number, stream)| held.remember(number, stream));
        // Dropping a stream saves its index: do that without the lock.
        drop(held);
        drop(forgotten);
        Ok(new)
    }

    /// The index file of these streams, opened when first needed.
    fn file(&self) -> Option<Arc<IndexFile>> {
        let open = || self.engine.index_file(&*self.source, self.header.clone()).map(Arc::new);
        self.file.get_or_init(open).clone()
    }
}

impl Held {
    /// Records the findings about a stream that is no longer recent; returns it to be dropped.
    fn remember(&mut self, number: u32, stream: Arc<Stream>) -> Option<Arc<Stream>> {
        if stream.is_damaged() {
            self.damaged.insert(number, stream);
            return None;
        }
        if let Some(len) = stream.known_len() {
            self.lengths.insert(number, len);
        }
        Some(stream)
    }
}
