//! Resources shared by all streams of a mount, with common bounds: the block cache, decoders parked where a reader
//! stopped, the memory for seek points, and the threads that decode ahead and pack.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, UNIX_EPOCH};

use parking_lot::Mutex;
use xxhash_rust::xxh3::Xxh3;

use super::block_cache::BlockCache;
use super::index::{Account, Index};
use super::index_store::{IndexFile, IndexStore, Key};
use super::inflate::{Inflater, Parts};
use super::spill::Spill;
use super::window::MAX_BYTES;
use super::{BLOCK, SPAN};
use crate::pool::Pool;
use crate::source::{OpenFiles, Source};

/// Maximum number of parked decoders. Each holds about 125 KiB (tables, window, decoded bytes), 32 to 256 KiB of input,
/// and perhaps a seek point: 10 MiB, or up to 24 with sequential readers.
const PARKED: usize = 64;
/// Maximum number of retired decoders whose buffers are kept for reuse.
const SPARE: usize = 8;
/// Maximum number of threads that decode ahead of sequential readers; each reader uses a few, briefly.
const AHEAD: usize = 16;

/// The limits that users can set.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Decoded bytes kept in the block cache.
    pub cache: u64,
    /// Bytes for seek points.
    pub index: u64,
    /// Bytes on disk for decoded data that is too large for the cache; None: as the free space permits.
    pub spill: Option<u64>,
    /// Serve nothing of a stream before all of it has been verified.
    pub verify_first: bool,
}

/// How long unmounting waits for windows to be packed.
const PATIENCE: Duration = Duration::from_millis(1000);
/// The header is hashed in pieces of this size.
const PIECE: u64 = 1 << 20;

pub struct Engine {
    pub cache: BlockCache,
    pub limits: Limits,
    pub account: Arc<Account>,
    store: Option<IndexStore>,
    /// Decoded data that is too large for the cache.
    pub spill: Spill,
    /// Open files that containers refer to.
    pub files: Arc<OpenFiles>,
    /// Decoders stopped on a block boundary, each with its stream's number, oldest first.
    parked: Mutex<VecDeque<(u64, Inflater)>>,
    spare: Mutex<Vec<Parts>>,
    scratch: Mutex<Vec<Vec<u8>>>,
    ahead: Pool,
    /// One thread at idle priority.
    packers: Pool,
    packing: Arc<Packing>,
    /// Bytes decoded so far, for the log and for tests.
    decoded: AtomicU64,
}

#[derive(Default)]
struct Packing {
    waiting: AtomicUsize,
    /// Time is up: windows stay unpacked.
    is_over: AtomicBool,
}

impl Engine {
    /// An engine with default limits except for the cache.
    pub fn new(cache: u64) -> Engine {
        Engine::with(Limits { cache, index: 64 << 20, spill: None, verify_first: false }, None)
    }

    /// `store` keeps indexes between mounts.
    pub fn with(limits: Limits, store: Option<IndexStore>) -> Engine {
        Engine {
            cache: BlockCache::new(usize::try_from(limits.cache).unwrap_or(usize::MAX)),
            spill: Spill::new(limits.spill),
            files: Arc::default(),
            limits,
            account: Arc::new(Account::new(limits.index)),
            store,
            parked: Mutex::default(),
            spare: Mutex::default(),
            scratch: Mutex::default(),
            ahead: Pool::new("rab-ahead", AHEAD),
            packers: Pool::idle("rab-pack", 1),
            packing: Arc::default(),
            decoded: AtomicU64::new(0),
        }
    }

    /// Adds to the count of decoded bytes.
    pub fn count_decoded(&self, bytes: u64) {
        self.decoded.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Bytes decoded so far, including those only skipped to reach others.
    pub fn decoded(&self) -> u64 {
        self.decoded.load(Ordering::Relaxed)
    }

    /// Runs a job in the background, or drops it if all background threads are busy.
    pub fn in_background(&self, job: impl FnOnce() + Send + 'static) {
        self.ahead.offer(job);
    }

    /// The index file of a container, if indexes are kept.
    pub fn index_file(&self, source: &dyn Source, header: Range<u64>) -> Option<IndexFile> {
        let store = self.store.as_ref()?;
        let mut hash = Xxh3::new();
        for at in header.clone().step_by(PIECE as usize) {
            let piece = source.read_range(at..header.end.min(at + PIECE)).ok()?;
            hash.update(&piece);
        }
        let since = source.modified().duration_since(UNIX_EPOCH).unwrap_or_else(|before| before.duration());
        Some(store.open(Key {
            len: source.len(),
            seconds: since.as_secs() as i64,
            nanoseconds: since.subsec_nanos().into(),
            header_hash: hash.digest128(),
        }))
    }

    /// Saves an index for the next mount once its windows are packed.
    pub fn save(&self, index: &Arc<Index>) {
        let index = Arc::downgrade(index);
        self.packers.submit(move || {
            if let Some(index) = index.upgrade() {
                index.save();
            }
        });
    }

    /// At unmount: saves all indexes, with windows packed as far as [`PATIENCE`] allows, and logs totals.
    pub fn close(&self) {
        let (done, finished) = mpsc::channel();
        let account = self.account.clone();
        self.packers.submit(move || {
            account.save();
            let _ = done.send(());
        });
        if finished.recv_timeout(PATIENCE).is_err() {
            self.packing.is_over.store(true, Ordering::Relaxed);
            let _ = finished.recv();
        }
        let (points, bytes, known) = self.account.totals();
        log::info!("decoded {} bytes", self.decoded());
        log::info!("index: {bytes} bytes for {known} decoded bytes in {points} seek points");
    }

    /// Deflates the window of the seek point at `position`, in the background, or now if too many are queued.
    pub fn pack(&self, index: &Arc<Index>, position: u64) {
        let waiting = Waiting::new(&self.packing);
        // Queued windows may take half of the memory; beyond that the decoding thread deflates its own.
        if (waiting.before * MAX_BYTES) as u64 >= self.limits.index / 2 {
            return waiting.packing.pack(index, position);
        }
        let index = Arc::downgrade(index);
        self.packers.submit(move || {
            if let Some(index) = index.upgrade() {
                waiting.packing.pack(&index, position);
            }
        });
    }

    /// Keeps a decoder for a later read from its position; the oldest is retired when there are too many.
    pub fn park(&self, stream: u64, decoder: Inflater) {
        let mut parked = self.parked.lock();
        parked.push_back((stream, decoder));
        let oldest = if parked.len() > PARKED { parked.pop_front() } else { None };
        drop(parked);
        if let Some((_, decoder)) = oldest {
            self.retire(decoder);
        }
    }

    /// Keeps the buffers of a finished decoder for reuse.
    pub fn retire(&self, decoder: Inflater) {
        give_back(&self.spare, decoder.into_parts());
    }

    pub fn parts(&self) -> Parts {
        let spare = self.spare.lock().pop();
        spare.unwrap_or_else(Parts::new)
    }

    /// A buffer with unspecified contents for a span and the rest of the block before it, to be returned after use.
    pub fn scratch(&self) -> Vec<u8> {
        let used = self.scratch.lock().pop();
        used.unwrap_or_else(|| vec![0; (SPAN + BLOCK) as usize])
    }

    pub fn return_scratch(&self, buffer: Vec<u8>) {
        give_back(&self.scratch, buffer);
    }

    /// Takes the parked decoder of `stream` nearest before or at `position`, but not before `from`.
    pub fn resume(&self, stream: u64, from: u64, position: u64) -> Option<Inflater> {
        let mut parked = self.parked.lock();
        let (index, _) = nearest(&parked, stream, position).filter(|(_, at)| *at >= from)?;
        parked.remove(index).map(|(_, decoder)| decoder)
    }

    /// The position of the nearest parked decoder before or at `position`, or 0.
    pub fn parked_before(&self, stream: u64, position: u64) -> u64 {
        nearest(&self.parked.lock(), stream, position).map_or(0, |(_, position)| position)
    }
}

impl Packing {
    fn pack(&self, index: &Index, position: u64) {
        let is_over = self.is_over.load(Ordering::Relaxed);
        if let Some(window) = index.large_window(position).filter(|_| !is_over) {
            index.set_window(position, window.deflated());
        }
    }
}

/// Counts a window as waiting to be packed until dropped.
struct Waiting {
    packing: Arc<Packing>,
    /// How many were waiting before this one.
    before: usize,
}

impl Waiting {
    fn new(packing: &Arc<Packing>) -> Waiting {
        let before = packing.waiting.fetch_add(1, Ordering::Relaxed);
        Waiting { packing: packing.clone(), before }
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.packing.waiting.fetch_sub(1, Ordering::Relaxed);
    }
}

fn give_back<T>(to: &Mutex<Vec<T>>, thing: T) {
    let mut kept = to.lock();
    if kept.len() < SPARE {
        kept.push(thing);
    }
}

/// Index and position of the nearest decoder of `stream` before or at `position`.
fn nearest(parked: &VecDeque<(u64, Inflater)>, stream: u64, position: u64) -> Option<(usize, u64)> {
    let of_stream = parked.iter().enumerate().filter(|(_, (id, _))| *id == stream);
    let positions = of_stream.map(|(index, (_, decoder))| (index, decoder.position()));
    positions.filter(|(_, at)| *at <= position).max_by_key(|(_, at)| *at)
}
