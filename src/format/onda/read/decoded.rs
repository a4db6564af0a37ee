//! Files of samples that have to be decoded: those of the last ones that were asked for, so that all rows that name a
//! file have it decoded once.

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

/// Each takes about a kilobyte.
const RECENT: NonZeroUsize = NonZeroUsize::new(8192).unwrap();

pub struct DecodedFiles {
    engine: Arc<Engine>,
    /// Programs by the formats that they decode.
    programs: Vec<(String, String)>,
    made: AtomicU64,
    recent: Mutex<LruCache<Key, DecodedFile>>,
}

/// A file as it was found, and how it is decoded.
type Key = (PathBuf, Seen, Way);

/// How a file's bytes become samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Way {
    Zstd,
    /// By the program of this number.
    Program(usize),
}

#[derive(Clone)]
pub struct DecodedFile {
    /// No other has it.
    pub number: u64,
    pub bytes: Arc<dyn Computed>,
}

impl DecodedFiles {
    pub fn new(engine: Arc<Engine>, programs: Vec<(String, String)>) -> DecodedFiles {
        DecodedFiles {
            engine,
            programs,
            made: AtomicU64::new(0),
            recent: Mutex::new(LruCache::sparse(RECENT)),
        }
    }

    /// What the bytes of `source` are in this format; of those that are decoded, what comes out. `place` is that of the row that
    /// names it.
    pub fn find(&self, source: &Arc<Named>, format: &str, place: &Place) -> (Encoding, Option<DecodedFile>) {
        let program = self.programs.iter().rposition(|(name, _)| name == format);
        let (encoding, way) = match (Encoding::named(format), program) {
            (Encoding::Zstd, _) => (Encoding::Zstd, Way::Zstd),
            (Encoding::Unknown, Some(number)) => (Encoding::Program, Way::Program(number)),
            (encoding, _) => return (encoding, None),
        };
        let key = (source.path().to_owned(), source.seen(), way);
        let known = self.recent.lock().get(&key).cloned();
        let file = known.unwrap_or_else(|| self.keep(key, self.new_file(source, way, place)));
        let bytes = Arc::new(OfRow { bytes: file.bytes.clone(), place: place.clone() });
        (encoding, Some(DecodedFile { number: file.number, bytes }))
    }

    /// Of two that were made at once the first is kept.
    fn keep(&self, key: Key, new: DecodedFile) -> DecodedFile {
        let mut recent = self.recent.lock();
        if let Some(first) = recent.get(&key) {
            return first.clone();
        }
        let old = recent.push(key, new.clone());
        // Closing is not done under the lock.
        drop(recent);
        drop(old);
        new
    }

    /// Nothing is read yet.
    fn new_file(&self, source: &Arc<Named>, way: Way, place: &Place) -> DecodedFile {
        let (engine, file, place) = (self.engine.clone(), source.clone(), place.clone());
        let bytes: Arc<dyn Computed> = match way {
            Way::Zstd => Arc::new(ZstdStream::new(engine, file, 0..source.len(), None, place)),
            Way::Program(number) => {
                let command = self.programs.get(number).map_or("", |(_, command)| command);
                Arc::new(Piped::new(engine, file, command, place))
            }
        };
        DecodedFile { number: self.made.fetch_add(1, Ordering::Relaxed), bytes }
    }
}

/// A decoded file for one of its rows, which errors name.
struct OfRow {
    bytes: Arc<dyn Computed>,
    place: Place,
}

impl OfRow {
    fn own<T>(&self, result: Result<T>) -> Result<T> {
        result.map_err(|error| error.of(&self.place))
    }
}

impl Computed for OfRow {
    fn known_len(&self) -> Option<u64> {
        self.bytes.known_len()
    }

    fn len(&self) -> Result<u64> {
        self.own(self.bytes.len())
    }

    fn sound_len(&self) -> Result<u64> {
        self.own(self.bytes.sound_len())
    }

    fn on_damage(&self, listener: Box<dyn FnOnce() + Send>) {
        self.bytes.on_damage(listener);
    }

    fn file(&self) -> Option<Place> {
        self.bytes.file()
    }

    fn fill(&self, buf: &mut [u8], offset: u64) -> Result<()> {
        self.own(self.bytes.fill(buf, offset))
    }

    fn read_at_once(&self, range: Range<u64>) -> Result<Option<Bytes>> {
        self.own(self.bytes.read_at_once(range))
    }
}
