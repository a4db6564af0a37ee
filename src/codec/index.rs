//! What is known of one stream from decoding it: seek points, a check value for each block, and its length.
//!
//! What always holds: blocks are learned from the front, each once; a block that was learned and is decoded
//! again must have the same check value. The points are in order, and there is one between two multiples of
//! their spacing. Their memory is counted for all streams together, see [`Account`].

mod record;

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use self::record::Ends;
use super::index_store::IndexFile;
use super::inflate::Point;
use super::window::Window;
use super::{BLOCK, SPAN};

/// The memory that the indexes of all streams take, and how it is kept bounded.
pub struct Account {
    limit: u64,
    used: AtomicU64,
    /// Decoded bytes between two seek points.
    spacing: AtomicU64,
    indexes: Mutex<Vec<Weak<Index>>>,
}

/// A spacing that no stream needs.
const MOST_SPACING: u64 = 1 << 50;

impl Account {
    pub fn new(limit: u64) -> Account {
        Account { limit, used: AtomicU64::new(0), spacing: AtomicU64::new(SPAN), indexes: Mutex::default() }
    }

    pub fn spacing(&self) -> u64 {
        self.spacing.load(Ordering::Relaxed)
    }

    pub fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    /// An index that knows what is kept of it, if it is kept anywhere. `expected` is the decoded length where
    /// it is known.
    pub fn open(self: &Arc<Account>, kept: Option<Kept>, expected: Option<u64>) -> Arc<Index> {
        let loaded = kept.as_ref().and_then(|kept| kept.load(expected));
        let index = Arc::new(Index { account: self.clone(), kept, known: Mutex::default() });
        if let Some(known) = loaded {
            index.take(known);
            self.register(&index);
            self.bound();
        }
        index
    }

    /// Keeps what was learned since it was kept last.
    pub fn save(&self) {
        self.indexes().iter().for_each(|index| index.save());
    }

    /// What all streams know: seek points, bytes that these and the check values take, bytes decoded.
    pub fn totals(&self) -> (usize, u64, u64) {
        let indexes = self.indexes();
        indexes.iter().map(|index| index.size()).fold((0, 0, 0), |a, b| (a.0 + b.0, a.1 + b.1, a.2 + b.2))
    }

    fn register(&self, index: &Arc<Index>) {
        let mut indexes = lock(&self.indexes);
        if indexes.len() == indexes.capacity() {
            indexes.retain(|index| index.strong_count() > 0);
        }
        indexes.push(Arc::downgrade(index));
    }

    /// While too much is used: every second point of all streams goes.
    fn bound(&self) {
        while self.used() > self.limit && self.spacing() < MOST_SPACING {
            let spacing = self.spacing() * 2;
            self.spacing.store(spacing, Ordering::Relaxed);
            log::debug!("seek points are now {} KiB apart: --index-memory is used up", spacing >> 10);
            self.indexes().iter().for_each(|index| index.thin(spacing));
        }
    }

    /// Those that have seek points.
    fn indexes(&self) -> Vec<Arc<Index>> {
        lock(&self.indexes).iter().filter_map(Weak::upgrade).collect()
    }

    fn changed(&self, before: u64, after: u64) {
        self.used.fetch_add(after.wrapping_sub(before), Ordering::Relaxed);
    }
}

pub struct Index {
    account: Arc<Account>,
    kept: Option<Kept>,
    known: Mutex<Known>,
}

/// Where an index outlives the mount.
pub struct Kept {
    pub file: Arc<IndexFile>,
    pub stored: Range<u64>,
    pub ends: Ends,
}

impl Kept {
    fn load(&self, expected: Option<u64>) -> Option<Known> {
        let record = self.file.get(self.stored.start, self.stored.end)?;
        let known = record::decode(&record, &self.ends, &self.stored, expected);
        if known.is_none() {
            let Range { start, end } = self.stored;
            log::info!("what is kept of the stream in bytes {start}..{end} is of another one, it is ignored");
        }
        known
    }
}

#[derive(Default)]
struct Known {
    points: Vec<Point>,
    checks: Vec<u32>,
    /// The decoded length, once the end was seen and was right.
    len: Option<u64>,
    bytes: u64,
    /// From an earlier mount: not yet to be believed, should the data say something else.
    is_loaded: bool,
    /// Something was learned that is not kept yet.
    is_new: bool,
}

/// What a block's check value says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Seen {
    /// The block is new, and remembered.
    First,
    Again,
    /// It was decoded before, to other bytes.
    Different,
    /// Blocks before it are not known yet.
    TooEarly,
}

impl Index {
    /// The decoded length, once the end of the stream was seen and was right.
    pub fn len(&self) -> Option<u64> {
        self.lock().len
    }

    /// The end was seen after `len` bytes, and was right. Says whether that is new.
    pub fn finish(&self, len: u64) -> bool {
        let mut known = self.lock();
        let is_new = known.len.replace(len) != Some(len);
        known.is_new |= is_new;
        is_new
    }

    /// All blocks before this one are known.
    pub fn frontier(&self) -> u64 {
        self.lock().checks.len() as u64
    }

    /// The last point before or at `position`.
    pub fn point_before(&self, position: u64) -> Option<Point> {
        let known = self.lock();
        let after = known.points.partition_point(|point| point.position <= position);
        known.points.get(after.checked_sub(1)?).cloned()
    }

    /// As [`Index::point_before`], its position alone.
    pub fn position_before(&self, position: u64) -> u64 {
        let known = self.lock();
        let after = known.points.partition_point(|point| point.position <= position);
        after.checked_sub(1).and_then(|at| known.points.get(at)).map_or(0, |point| point.position)
    }

    /// Compares the check value of a block with the one it had, or remembers it.
    pub fn see(self: &Arc<Index>, block: u64, check: u32) -> Seen {
        let mut known = self.lock();
        match known.checks.get(block as usize) {
            Some(before) if *before == check => Seen::Again,
            Some(_) => Seen::Different,
            None if block == known.checks.len() as u64 => {
                known.checks.push(check);
                known.is_new = true;
                self.count(&mut known, 0, size_of_val(&check));
                Seen::First
            }
            None => Seen::TooEarly,
        }
    }

    /// Is a point missing in the `spacing` bytes that end at or after `position`?
    pub fn lacks_point(&self, position: u64, spacing: u64) -> bool {
        let slot = position.div_ceil(spacing);
        let known = self.lock();
        let at = known.points.partition_point(|point| point.position.div_ceil(spacing) < slot);
        known.points.get(at).is_none_or(|point| point.position.div_ceil(spacing) > slot)
    }

    /// Takes a point where one is missing; says whether it did.
    pub fn add(self: &Arc<Index>, point: Point, spacing: u64) -> bool {
        if point.position == 0 || !self.lacks_point(point.position, spacing.max(self.account.spacing())) {
            return false;
        }
        let mut known = self.lock();
        if known.points.is_empty() {
            self.account.register(self);
        }
        let at = known.points.partition_point(|other| other.position < point.position);
        self.count(&mut known, 0, cost(&point));
        known.points.insert(at, point);
        known.is_new = true;
        drop(known);
        self.account.bound();
        true
    }

    /// The point at `position`, if it is still there and its window is not packed.
    pub fn unpacked(&self, position: u64) -> Option<Point> {
        let known = self.lock();
        let at = known.points.binary_search_by_key(&position, |point| point.position).ok()?;
        known.points.get(at).filter(|point| !point.window.is_packed()).cloned()
    }

    pub fn set_window(&self, position: u64, window: Window) {
        let mut known = self.lock();
        let Ok(at) = known.points.binary_search_by_key(&position, |point| point.position) else { return };
        let Some(point) = known.points.get_mut(at) else { return };
        let before = cost(point);
        point.window = window;
        let after = cost(point);
        self.count(&mut known, before, after);
    }

    /// Forgets what an earlier mount has left, which turned out to be of other data. Was there something?
    pub fn distrust(&self) -> bool {
        let mut known = self.lock();
        let was_loaded = known.is_loaded;
        if was_loaded {
            self.account.changed(known.bytes, 0);
            *known = Known::default();
        }
        was_loaded
    }

    /// Keeps what was learned since it was kept last.
    pub fn save(&self) {
        let Some(kept) = &self.kept else { return };
        let mut known = self.lock();
        if !std::mem::take(&mut known.is_new) {
            return;
        }
        let record = record::encode(&known, &kept.ends);
        drop(known);
        kept.file.put(kept.stored.start, kept.stored.end, &record);
    }

    fn take(&self, loaded: Known) {
        let mut known = self.lock();
        *known = loaded;
        let bytes = known.points.iter().map(cost).sum::<usize>() + size_of_val(known.checks.as_slice());
        self.count(&mut known, 0, bytes);
    }

    /// Seek points, the bytes that they and the check values take, and bytes decoded.
    fn size(&self) -> (usize, u64, u64) {
        let known = self.lock();
        (known.points.len(), known.bytes, known.len.unwrap_or(known.checks.len() as u64 * BLOCK))
    }

    /// Keeps the last point before each multiple of `spacing`.
    fn thin(&self, spacing: u64) {
        let sum = |known: &Known| known.points.iter().map(cost).sum();
        let mut known = self.lock();
        let before = sum(&known);
        known.points.reverse();
        known.points.dedup_by_key(|point| point.position.div_ceil(spacing));
        known.points.reverse();
        known.points.shrink_to_fit();
        let after = sum(&known);
        self.count(&mut known, before, after);
    }

    /// What took `before` bytes now takes `after`.
    fn count(&self, known: &mut Known, before: usize, after: usize) {
        known.bytes = known.bytes + after as u64 - before as u64;
        self.account.changed(before as u64, after as u64);
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        lock(&self.known)
    }
}

impl Drop for Index {
    fn drop(&mut self) {
        self.save();
        let bytes = self.lock().bytes;
        self.account.changed(bytes, 0);
    }
}

/// Memory that a point takes.
fn cost(point: &Point) -> usize {
    size_of::<Point>() + point.window.bytes()
}

/// A poisoned lock is used on: nothing here is ever half changed.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The block in which decoding from `position` gives the first whole block.
pub fn first_whole_block(position: u64) -> u64 {
    position.div_ceil(BLOCK)
}
