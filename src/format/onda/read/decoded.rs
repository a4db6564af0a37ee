//! A cache of decoded sample files, so that a file is decoded once for all rows that refer to it.

use std::num::NonZeroUsize;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use lru::LruCache;
use parking_lot::Mutex;

use super::samples::Encoding;
use crate::Result;
use crate::codec::{Engine, Piped, ZstdStream};
use crate::content::{Bytes, Computed};
use crate::error::Place;
use crate::source::{Named, Seen, Source};

/// Cached files; each takes about a kilobyte.
const MAX_CACHED: NonZeroUsize = NonZeroUsize::new(8192).unwrap();

pub struct DecodedFiles {
    engine: Arc<Engine>,
    /// Formats and the commands that decode them.
    programs: Vec<(String, String)>,
    next_number: AtomicU64,
    recent: Mutex<LruCache<Key, DecodedFile>>,
}

/// A file's identity and its decoder.
type Key = (PathBuf, Seen, Decoder);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Decoder {
    Zstd,
    /// Index into `DecodedFiles::programs`.
    Program(usize),
}

#[derive(Clone)]
pub struct DecodedFile {
    /// Unique.
    pub number: u64,
    pub bytes: Arc<dyn Computed>,
}

impl DecodedFiles {
    pub fn new(engine: Arc<Engine>, programs: Vec<(String, String)>) -> DecodedFiles {
        DecodedFiles {
            engine,
            programs,
            next_number: AtomicU64::new(0),
            recent: Mutex::new(LruCache::sparse(MAX_CACHED)),
        }
    }

    /// The encoding that `format` means, and the decoded file if it has to be decoded. `place` is that of the row that
    /// refers to `source`.
    pub fn find(&self, source: &Arc<Named>, format: &str, place: &Place) -> (Encoding, Option<DecodedFile>) {
        let program = self.programs.iter().rposition(|(name, _)| name == format);
        let (encoding, decoder) = match (Encoding::named(format), program) {
            (Encoding::Zstd, _) => (Encoding::Zstd, Decoder::Zstd),
            (Encoding::Unknown, Some(number)) => (Encoding::Program, Decoder::Program(number)),
            (encoding, _) => return (encoding, None),
        };
        let key = (source.path().to_owned(), source.seen(), decoder);
        let cached = self.recent.lock().get(&key).cloned();
        let file = cached.unwrap_or_else(|| self.insert(key, self.new_file(source, decoder, place)));
        let bytes = Arc::new(RowView { bytes: file.bytes.clone(), place: place.clone() });
        (encoding, Some(DecodedFile { number: file.number, bytes }))
    }

    /// Caches a new file, unless another thread has cached it in the meantime.
    fn insert(&self, key: Key, new: DecodedFile) -> DecodedFile {
        let mut recent = self.recent.lock();
        if let Some(first) = recent.get(&key) {
            return first.clone();
        }
        let old = recent.push(key, new.clone());
        // Dropping may close files, so it happens after unlocking.
        drop(recent);
        drop(old);
        new
    }

    /// Prepares decoding; reads nothing yet.
    fn new_file(&self, source: &Arc<Named>, decoder: Decoder, place: &Place) -> DecodedFile {
        let (engine, file, place) = (self.engine.clone(), source.clone(), place.clone());
        let bytes: Arc<dyn Computed> = match decoder {
            Decoder::Zstd => Arc::new(ZstdStream::new(engine, file, 0..source.len(), None, place)),
            Decoder::Program(number) => {
                let command = self.programs.get(number).map_or("", |(_, command)| command);
                Arc::new(Piped::new(engine, file, command, place))
            }
        };
        DecodedFile { number: self.next_number.fetch_add(1, Ordering::Relaxed), bytes }
    }
}

/// A decoded file whose errors name one of its rows.
struct RowView {
    bytes: Arc<dyn Computed>,
    place: Place,
}

impl RowView {
    fn with_place<T>(&self, result: Result<T>) -> Result<T> {
        result.map_err(|error| error.of(&self.place))
    }
}

impl Computed for RowView {
    fn known_len(&self) -> Option<u64> {
        self.bytes.known_len()
    }

    fn len(&self) -> Result<u64> {
        self.with_place(self.bytes.len())
    }

    fn valid_len(&self) -> Result<u64> {
        self.with_place(self.bytes.valid_len())
    }

    fn on_damage(&self, listener: Box<dyn FnOnce() + Send>) {
        self.bytes.on_damage(listener);
    }

    fn file(&self) -> Option<Place> {
        self.bytes.file()
    }

    fn fill(&self, buf: &mut [u8], offset: u64) -> Result<()> {
        self.with_place(self.bytes.fill(buf, offset))
    }

    fn read_if_ready(&self, range: Range<u64>) -> Result<Option<Bytes>> {
        self.with_place(self.bytes.read_if_ready(range))
    }
}
