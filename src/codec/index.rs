//! The index of one stream, learned by decoding it: seek points, a checksum for each block, and its length.
//!
//! Invariants: blocks are recorded in order, each once; a block decoded again must have the same checksum. Seek points
//! are sorted, with at most one between two multiples of the spacing. Their memory is counted for all streams together,
//! see [`Account`].

mod record;

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Once, Weak};

use self::record::Ends;
use super::index_store::IndexFile;
use super::inflate::Point;
use super::window::Window;
use super::{BLOCK, SPAN};
use crate::source::Source;
use parking_lot::Mutex;

/// The memory used by the seek points of all streams, kept within a limit. (Checksums add 128 KiB per decoded GiB.)
pub struct Account {
    limit: u64,
    used: AtomicU64,
    /// Decoded bytes between two seek points.
    spacing: AtomicU64,
    indexes: Mutex<Vec<Weak<Index>>>,
}

impl Account {
    pub fn new(limit: u64) -> Account {
        Account { limit, used: AtomicU64::new(0), spacing: AtomicU64::new(SPAN), indexes: Mutex::default() }
    }

    pub fn spacing(&self) -> u64 {
        self.spacing.load(Ordering::Relaxed)
    }

    fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    /// Opens an index, loading its saved state if there is one. `expected` is the decoded length where it is known.
    pub fn open(self: &Arc<Account>, kept: Option<Kept>, expected: Option<u64>) -> Arc<Index> {
        let loaded = kept.as_ref().and_then(|kept| kept.load(expected));
        let is_loaded = loaded.is_some();
        let known = Mutex::new(loaded.unwrap_or_default());
        let index = Arc::new(Index { account: self.clone(), kept, is_listed: Once::new(), known });
        if is_loaded {
            index.count_all();
            index.thin(self.spacing());
            index.list();
            self.bound();
        }
        index
    }

    /// Saves what was learned since the last save.
    pub fn save(&self) {
        self.indexes().iter().for_each(|index| index.save());
    }

    /// Totals over all streams: seek points, bytes taken by these and the checksums, bytes decoded.
    pub fn totals(&self) -> (usize, u64, u64) {
        let indexes = self.indexes();
        indexes.iter().map(|index| index.size()).fold((0, 0, 0), |a, b| (a.0 + b.0, a.1 + b.1, a.2 + b.2))
    }

    /// Reserves `bytes` until the returned guard is dropped; None if the limit would be exceeded.
    pub fn room(self: &Arc<Account>, bytes: u64) -> Option<Room> {
        let room = Room { account: self.clone(), bytes };
        let before = self.used.fetch_add(bytes, Ordering::Relaxed);
        (before.saturating_add(bytes) <= self.limit).then_some(room)
    }

    fn register(&self, index: &Arc<Index>) {
        let mut indexes = self.indexes.lock();
        if indexes.len() == indexes.capacity() {
            indexes.retain(|index| index.strong_count() > 0);
        }
        indexes.push(Arc::downgrade(index));
    }

    /// While over the limit, doubles the spacing, which drops every second seek point of all streams.
    fn bound(&self) {
        while self.used() > self.limit {
            let indexes = self.indexes();
            if indexes.iter().all(|index| index.points() <= 1) {
                return;
            }
            let spacing = self.spacing() * 2;
            self.spacing.store(spacing, Ordering::Relaxed);
            log::debug!("seek points are now {} KiB apart: --index-memory is used up", spacing >> 10);
            indexes.iter().for_each(|index| index.thin(spacing));
        }
    }

    /// The indexes that have, or had, seek points.
    fn indexes(&self) -> Vec<Arc<Index>> {
        self.indexes.lock().iter().filter_map(Weak::upgrade).collect()
    }

    fn changed(&self, before: u64, after: u64) {
        self.used.fetch_add(after.wrapping_sub(before), Ordering::Relaxed);
    }
}

/// Memory reserved until this is dropped.
pub struct Room {
    account: Arc<Account>,
    bytes: u64,
}

impl Drop for Room {
    fn drop(&mut self) {
        self.account.used.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

pub struct Index {
    account: Arc<Account>,
    kept: Option<Kept>,
    is_listed: Once,
    known: Mutex<Known>,
}

/// Where an index outlives the mount. An index is saved only if the stream's end was verified, together with the
/// checksum stored there, so an index of other data is recognised whatever the container's mtime says.
pub struct Kept {
    pub file: Arc<IndexFile>,
    pub source: Arc<dyn Source>,
    pub stored: Range<u64>,
    /// The header declares the decoded length, so it need not be saved.
    pub len_is_declared: bool,
}

impl Kept {
    fn load(&self, expected: Option<u64>) -> Option<Known> {
        let record = self.file.get(self.stored.start, self.stored.end)?;
        let known = record::decode(&record, &self.stored, expected, |trailer| self.ends(trailer));
        if known.is_none() {
            let (file, Range { start, end }) = (self.source.path().display(), &self.stored);
            log::info!(
                "{file}: the index of the stream in bytes {start}..{end} belongs to another stream: ignored"
            );
        }
        known
    }

    /// The first 8 bytes of the stream and the last of its trailer, which ends at `trailer`.
    fn ends(&self, trailer: u64) -> Option<Ends> {
        let last = trailer.checked_sub(8).filter(|_| trailer <= self.stored.end)?;
        let mut ends = [0; 16];
        let (first_bytes, last_bytes) = ends.split_at_mut(8);
        self.source.read_exact_at(first_bytes, self.stored.start).ok()?;
        self.source.read_exact_at(last_bytes, last).ok()?;
        Some(ends)
    }
}

#[derive(Clone, Default)]
struct Known {
    points: Vec<Point>,
    checks: Vec<u32>,
    /// The decoded length, once the end has been verified.
    len: Option<u64>,
    /// Offset in the source where the trailer ends; None also for several gzip members, which have a trailer each.
    trailer: Option<u64>,
    /// Memory taken by the points.
    bytes: u64,
    /// How often the saved state turned out to belong to other data.
    version: u64,
    /// Loaded from an earlier mount: discarded if the data contradicts it.
    is_loaded: bool,
    /// Something was learned that is not saved yet.
    is_new: bool,
}

/// The result of comparing a block's checksum.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Seen {
    /// The block is new and has been recorded.
    First,
    Again,
    /// It decoded to other bytes before.
    Different,
    /// The index was reset after its decoder started.
    Stale,
}

impl Index {
    /// The decoded length, once the end of the stream has been verified.
    pub fn len(&self) -> Option<u64> {
        self.known.lock().len
    }

    /// The version that a decoder starting now passes back with its results.
    pub fn version(&self) -> u64 {
        self.known.lock().version
    }

    /// Records the verified end after `len` bytes; the trailer of the only member ends at `trailer`. Returns whether
    /// that is new.
    pub fn finish(&self, version: u64, len: u64, trailer: Option<u64>) -> bool {
        let mut known = self.known.lock();
        if known.version != version || known.len == Some(len) {
            return false;
        }
        known.len = Some(len);
        known.trailer = trailer;
        known.is_new = true;
        true
    }

    /// All blocks before this one are known.
    pub fn frontier(&self) -> u64 {
        self.known.lock().checks.len() as u64
    }

    /// The last point before or at `position`.
    pub fn point_before(&self, position: u64) -> Option<Point> {
        let known = self.known.lock();
        let after = known.points.partition_point(|point| point.position <= position);
        known.points.get(after.checked_sub(1)?).cloned()
    }

    /// The position of [`Index::point_before`], or 0.
    pub fn position_before(&self, position: u64) -> u64 {
        let known = self.known.lock();
        let after = known.points.partition_point(|point| point.position <= position);
        after.checked_sub(1).and_then(|at| known.points.get(at)).map_or(0, |point| point.position)
    }

    /// Compares the checksum of a block with the recorded one, or records it.
    pub fn see(&self, version: u64, block: u64, check: u32) -> Seen {
        let mut known = self.known.lock();
        if known.version != version {
            return Seen::Stale;
        }
        match known.checks.get(block as usize) {
            Some(before) if *before == check => Seen::Again,
            Some(_) => Seen::Different,
            None if block == known.checks.len() as u64 => {
                known.checks.push(check);
                known.is_new = true;
                Seen::First
            }
            None => Seen::Stale,
        }
    }

    /// Is a point missing in the `spacing` bytes that end at or after `position`?
    pub fn lacks_point(&self, position: u64, spacing: u64) -> bool {
        self.known.lock().lacks_point(position, spacing)
    }

    /// Adds a point where one is missing; returns whether it did.
    pub fn add(self: &Arc<Index>, version: u64, point: Point, spacing: u64) -> bool {
        let spacing = spacing.max(self.account.spacing());
        let mut known = self.known.lock();
        if known.version != version || point.position == 0 || !known.lacks_point(point.position, spacing) {
            return false;
        }
        self.list();
        let at = known.points.partition_point(|other| other.position < point.position);
        self.count(&mut known, 0, cost(&point));
        known.points.insert(at, point);
        known.is_new = true;
        drop(known);
        self.account.bound();
        true
    }

    /// The window of the point at `position`, if it still exists and would be smaller deflated.
    pub fn large_window(&self, position: u64) -> Option<Window> {
        let known = self.known.lock();
        let at = known.points.binary_search_by_key(&position, |point| point.position).ok()?;
        known.points.get(at).map(|point| &point.window).filter(|window| window.is_large()).cloned()
    }

    pub fn set_window(&self, position: u64, window: Window) {
        let mut known = self.known.lock();
        let Ok(at) = known.points.binary_search_by_key(&position, |point| point.position) else { return };
        let Some(point) = known.points.get_mut(at) else { return };
        let before = cost(point);
        point.window = window;
        let after = cost(point);
        known.is_new |= known.len.is_some();
        self.count(&mut known, before, after);
    }

    /// Forgets what was loaded from an earlier mount, as it belongs to other data. Returns whether there was anything.
    pub fn discard_loaded(&self) -> bool {
        let mut known = self.known.lock();
        let was_loaded = known.is_loaded;
        if was_loaded {
            self.account.changed(known.bytes, 0);
            *known = Known { version: known.version + 1, ..Known::default() };
        }
        was_loaded
    }

    /// Prevents saving: indexes of damaged streams are not kept.
    pub fn mark_corrupt(&self) {
        self.known.lock().trailer = None;
    }

    /// Saves what was learned since the last save, if the stream's end was verified.
    pub fn save(&self) {
        let Some(kept) = &self.kept else { return };
        let Some(ends) = self.known.lock().trailer.and_then(|trailer| kept.ends(trailer)) else { return };
        let mut known = self.known.lock();
        let is_worth_it = !known.points.is_empty() || !kept.len_is_declared;
        if !std::mem::take(&mut known.is_new) || !is_worth_it {
            return;
        }
        let copy = known.clone();
        drop(known);
        let record = record::encode(&copy, &ends);
        kept.file.put(kept.stored.start, kept.stored.end, &record);
    }

    /// Registers the index with the account, once.
    fn list(self: &Arc<Index>) {
        self.is_listed.call_once(|| self.account.register(self));
    }

    fn count_all(&self) {
        let mut known = self.known.lock();
        let bytes = known.points.iter().map(cost).sum();
        self.count(&mut known, 0, bytes);
    }

    fn points(&self) -> usize {
        self.known.lock().points.len()
    }

    /// Seek points, bytes taken by these and the checksums, and bytes decoded.
    fn size(&self) -> (usize, u64, u64) {
        let known = self.known.lock();
        let bytes = known.bytes + size_of_val(known.checks.as_slice()) as u64;
        (known.points.len(), bytes, known.len.unwrap_or(known.checks.len() as u64 * BLOCK))
    }

    /// Keeps the last point before each multiple of `spacing`.
    fn thin(&self, spacing: u64) {
        let sum = |known: &Known| known.points.iter().map(cost).sum();
        let mut known = self.known.lock();
        let before = sum(&known);
        known.points.reverse();
        known.points.dedup_by_key(|point| point.position.div_ceil(spacing));
        known.points.reverse();
        known.points.shrink_to_fit();
        let after = sum(&known);
        self.count(&mut known, before, after);
    }

    /// Replaces `before` counted bytes by `after`.
    fn count(&self, known: &mut Known, before: usize, after: usize) {
        known.bytes = known.bytes + after as u64 - before as u64;
        self.account.changed(before as u64, after as u64);
    }
}

impl Drop for Index {
    fn drop(&mut self) {
        self.save();
        let bytes = self.known.lock().bytes;
        self.account.changed(bytes, 0);
    }
}

impl Known {
    fn lacks_point(&self, position: u64, spacing: u64) -> bool {
        let slot = position.div_ceil(spacing);
        let at = self.points.partition_point(|point| point.position.div_ceil(spacing) < slot);
        self.points.get(at).is_none_or(|point| point.position.div_ceil(spacing) > slot)
    }
}

/// Memory taken by a point.
fn cost(point: &Point) -> usize {
    size_of::<Point>() + point.window.bytes()
}

/// The first block that decoding from `position` yields whole.
pub fn first_whole_block(position: u64) -> u64 {
    position.div_ceil(BLOCK)
}
