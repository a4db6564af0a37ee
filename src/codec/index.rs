//! What is known of one stream from decoding it: seek points, a check value for each block, and its length.
//!
//! What always holds: blocks are learned from the front, each once; a block that was learned and is decoded
//! again must have the same check value. The points are in order, and there is one between two multiples of
//! their spacing. Their memory is counted for all streams together, see [`Account`].

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

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

    /// Makes an empty index.
    pub fn open(self: &Arc<Account>) -> Arc<Index> {
        Arc::new(Index { account: self.clone(), known: Mutex::default() })
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
            let indexes: Vec<_> = lock(&self.indexes).iter().filter_map(Weak::upgrade).collect();
            indexes.iter().for_each(|index| index.thin(spacing));
        }
    }

    fn changed(&self, before: u64, after: u64) {
        self.used.fetch_add(after.wrapping_sub(before), Ordering::Relaxed);
    }
}

pub struct Index {
    account: Arc<Account>,
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    points: Vec<Point>,
    checks: Vec<u32>,
    /// The decoded length, once the end was seen and was right.
    len: Option<u64>,
    bytes: u64,
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

    pub fn finish(&self, len: u64) {
        self.lock().len = Some(len);
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

    /// Seek points and the bytes that they and the check values take.
    pub fn size(&self) -> (usize, u64) {
        let known = self.lock();
        (known.points.len(), known.bytes)
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
