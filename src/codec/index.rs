//! What is known of one stream from decoding it: seek points, a check value for each block, and its length.
//!
//! What always holds: blocks are learned from the front, each once; a block that was learned and is decoded
//! again must have the same check value. The points are in order, and there is one between two multiples of
//! their spacing. Their memory is counted for all streams together, see [`Account`].

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

/// The memory that the seek points of all streams take, and how it is kept bounded. (Check values come on top of
/// that, 128 KiB for a GiB decoded.)
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

    /// An index that knows what is kept of it, if it is kept anywhere. `expected` is the decoded length where
    /// it is known.
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

    /// Keeps what was learned since it was kept last.
    pub fn save(&self) {
        self.indexes().iter().for_each(|index| index.save());
    }

    /// What all streams know: seek points, bytes that these and the check values take, bytes decoded.
    pub fn totals(&self) -> (usize, u64, u64) {
        let indexes = self.indexes();
        indexes.iter().map(|index| index.size()).fold((0, 0, 0), |a, b| (a.0 + b.0, a.1 + b.1, a.2 + b.2))
    }

    /// Counts `bytes` as long as what is returned is there; None if there is no room for them.
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

    /// While too much is used: every second point of all streams goes, as long as there are any to go.
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

    /// Those that have, or had, seek points.
    fn indexes(&self) -> Vec<Arc<Index>> {
        self.indexes.lock().iter().filter_map(Weak::upgrade).collect()
    }

    fn changed(&self, before: u64, after: u64) {
        self.used.fetch_add(after.wrapping_sub(before), Ordering::Relaxed);
    }
}

/// Memory that is counted, until this is dropped.
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

/// Where an index outlives the mount. Only that of a stream whose end was right is kept, with the check value
/// that stands there: so an index of other data is told by it, whatever the container's time says.
pub struct Kept {
    pub file: Arc<IndexFile>,
    pub source: Arc<dyn Source>,
    pub stored: Range<u64>,
    /// The header tells the decoded length, so it need not be kept.
    pub len_is_told: bool,
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
    /// The decoded length, once the end was seen and was right.
    len: Option<u64>,
    /// Where in the source its trailer ended; None also for more than one gzip member, of which each has its own.
    trailer: Option<u64>,
    /// Memory that the points take.
    bytes: u64,
    /// Counts how often what was known turned out to be of other data.
    version: u64,
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
    /// What was known when its decoder started is forgotten.
    Stale,
}

impl Index {
    /// The decoded length, once the end of the stream was seen and was right.
    pub fn len(&self) -> Option<u64> {
        self.known.lock().len
    }

    /// To be given back with what is learned by a decoder that starts now.
    pub fn version(&self) -> u64 {
        self.known.lock().version
    }

    /// The end was seen after `len` bytes, and was right; the trailer of the only member ends at `trailer`. Says
    /// whether that is new.
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

    /// As [`Index::point_before`], its position alone.
    pub fn position_before(&self, position: u64) -> u64 {
        let known = self.known.lock();
        let after = known.points.partition_point(|point| point.position <= position);
        after.checked_sub(1).and_then(|at| known.points.get(at)).map_or(0, |point| point.position)
    }

    /// Compares the check value of a block with the one it had, or remembers it.
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

    /// Takes a point where one is missing; says whether it did.
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

    /// The point at `position`, if it is still there and its window is not packed.
    pub fn unpacked(&self, position: u64) -> Option<Point> {
        let known = self.known.lock();
        let at = known.points.binary_search_by_key(&position, |point| point.position).ok()?;
        known.points.get(at).filter(|point| !point.window.is_packed()).cloned()
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

    /// Forgets what an earlier mount has left, which turned out to be of other data. Was there something?
    pub fn distrust(&self) -> bool {
        let mut known = self.known.lock();
        let was_loaded = known.is_loaded;
        if was_loaded {
            self.account.changed(known.bytes, 0);
            *known = Known { version: known.version + 1, ..Known::default() };
        }
        was_loaded
    }

    /// Of a damaged stream nothing is kept.
    pub fn condemn(&self) {
        self.known.lock().trailer = None;
    }

    /// Keeps what was learned since it was kept last, if the stream's end was right.
    pub fn save(&self) {
        let Some(kept) = &self.kept else { return };
        let Some(ends) = self.known.lock().trailer.and_then(|trailer| kept.ends(trailer)) else { return };
        let mut known = self.known.lock();
        let is_worth_it = !known.points.is_empty() || !kept.len_is_told;
        if !std::mem::take(&mut known.is_new) || !is_worth_it {
            return;
        }
        let copy = known.clone();
        drop(known);
        let record = record::encode(&copy, &ends);
        kept.file.put(kept.stored.start, kept.stored.end, &record);
    }

    /// From now on it counts for the account.
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

    /// Seek points, the bytes that they and the check values take, and bytes decoded.
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

    /// What took `before` bytes now takes `after`.
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

/// Memory that a point takes.
fn cost(point: &Point) -> usize {
    size_of::<Point>() + point.window.bytes()
}

/// The block in which decoding from `position` gives the first whole block.
pub fn first_whole_block(position: u64) -> u64 {
    position.div_ceil(BLOCK)
}
