//! Reads many records at once: sorted by offset, neighbours in one read, and each record once however often it is
//! requested. Data in the page cache is copied immediately; the other reads are all started before the first is waited
//! for, so that a disk or network can work on many at a time. Large batches are read by several threads.

use std::ops::Range;
use std::thread;

use parking_lot::Mutex;

use super::records::Records;
use super::shard::Shard;
use super::table::Record;
use crate::codec::Check;
use crate::{Error, Result};

/// Records in the order in which they were requested.
///
/// ```
/// let reader = rab::ffrecord::Reader::open("tests/data/ffrecord/text_lines.ffr")?;
/// let batch = reader.read(&[9, 0, 9])?;
/// assert_eq!(batch.len(), 3);
/// assert_eq!(batch.get(0), batch.get(2));
/// assert_eq!(batch.iter().map(<[u8]>::len).sum::<usize>(), 39);
/// # Ok::<(), rab::Error>(())
/// ```
pub struct Batch {
    bytes: Vec<u8>,
    places: Vec<Range<usize>>,
}

impl Batch {
    /// The number of records requested.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// The record requested at this position.
    pub fn get(&self, at: usize) -> Option<&[u8]> {
        self.bytes.get(self.places.get(at)?.clone())
    }

    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        self.places.iter().map(|place| self.bytes.get(place.clone()).unwrap_or_default())
    }
}

/// A record to read.
struct Wanted<'r> {
    number: u32,
    shard: &'r Shard,
    record: Record,
    /// Its position in the batch's bytes.
    place: Range<usize>,
}

/// Records that are contiguous both in their file and in the batch.
struct Run<'w, 'r> {
    shard: &'r Shard,
    from: u64,
    wanted: &'w [Wanted<'r>],
    bytes: &'w mut [u8],
    done: bool,
}

/// Maximum length of a read, unless a record is longer.
const MAX_RUN_LEN: u64 = 1 << 20;
/// Batches of at least this many bytes are read by several threads.
const MANY: usize = 2 << 20;
const MAX_THREADS: usize = 16;

/// Reads records, verifying their CRCs if `records` does.
pub fn read(records: &Records, numbers: &[u64]) -> Result<Batch> {
    let mut order: Vec<usize> = (0..numbers.len()).collect();
    order.sort_unstable_by_key(|at| numbers.get(*at));
    let mut places = vec![0..0; numbers.len()];
    let mut wanted: Vec<Wanted<'_>> = Vec::with_capacity(numbers.len());
    let mut end = 0usize;
    for at in order {
        let number = number(records, numbers.get(at).copied().unwrap_or(u64::MAX))?;
        if wanted.last().is_none_or(|last| last.number != number) {
            let found = records.find(number)?;
            let next = usize::try_from(found.len()).ok().and_then(|len| end.checked_add(len));
            let next = next.ok_or_else(too_large)?;
            wanted.push(Wanted { number, shard: found.shard, record: found.record, place: end..next });
            end = next;
        }
        if let (Some(place), Some(last)) = (places.get_mut(at), wanted.last()) {
            *place = last.place.clone();
        }
    }
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(end).map_err(|_| too_large())?;
    bytes.resize(end, 0);
    let mut runs = runs(&wanted, &mut bytes);
    fill(records, &mut runs)?;
    Ok(Batch { bytes, places })
}

/// Checks that there is a record of this number.
pub fn number(records: &Records, number: u64) -> Result<u32> {
    let known = u32::try_from(number).ok().filter(|number| *number < records.count());
    known.ok_or_else(|| {
        let file = records.shards().next().map(|shard| shard.source.path().to_owned()).unwrap_or_default();
        let name = format!("record {number} (there are {})", records.count());
        Error::NoDataset { file, name, near: Vec::new() }
    })
}

fn too_large() -> Error {
    Error::Other("the records of the batch do not fit into memory".into())
}

fn runs<'w, 'r>(mut wanted: &'w [Wanted<'r>], mut bytes: &'w mut [u8]) -> Vec<Run<'w, 'r>> {
    let mut runs = Vec::with_capacity(wanted.len());
    while let Some(first) = wanted.first() {
        let (from, mut end) = (first.record.range.start, first.record.range.end);
        let follows = |next: &Wanted<'_>, end: u64| {
            let range = &next.record.range;
            std::ptr::eq(next.shard, first.shard) && range.start == end && range.end - from <= MAX_RUN_LEN
        };
        let mut count = 1;
        while let Some(next) = wanted.get(count).filter(|next| follows(next, end)) {
            end = next.record.range.end;
            count += 1;
        }
        let (own, rest) = wanted.split_at(count);
        let (into, left) = bytes.split_at_mut(((end - from) as usize).min(bytes.len()));
        runs.push(Run { shard: first.shard, from, wanted: own, bytes: into, done: false });
        (wanted, bytes) = (rest, left);
    }
    runs
}

fn fill(records: &Records, runs: &mut [Run<'_, '_>]) -> Result<()> {
    let total: usize = runs.iter().map(|run| run.bytes.len()).sum();
    if total < MANY || runs.len() < 2 {
        return fill_here(records, runs);
    }
    // Only here, as finding the number of cores takes longer than reading a small batch.
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let threads = cores.min(MAX_THREADS).min(runs.len());
    let share = runs.len().div_ceil(threads);
    let rest = Mutex::new(runs.chunks_mut(share));
    let next = || rest.lock().next();
    let work = || std::iter::from_fn(next).try_for_each(|part| fill_here(records, part));
    thread::scope(|scope| {
        // If a thread cannot be started, the others do its share.
        let start = |_| thread::Builder::new().name("rab-batch".into()).spawn_scoped(scope, work).ok();
        let others: Vec<_> = (1..threads).filter_map(start).collect();
        let panicked = |_| Err(Error::Other("a thread that read records ended too early".into()));
        let joined = |other: thread::ScopedJoinHandle<'_, _>| other.join().unwrap_or_else(panicked);
        // Joins all threads, even after an error.
        others.into_iter().map(joined).fold(work(), Result::and)
    })
}

fn fill_here(records: &Records, runs: &mut [Run<'_, '_>]) -> Result<()> {
    for run in runs.iter_mut() {
        run.done = run.shard.source.read_if_cached(run.bytes, run.from)?;
        if !run.done {
            run.shard.source.will_need(run.from..run.from + run.bytes.len() as u64);
        }
    }
    for run in runs.iter_mut() {
        if !run.done {
            run.shard.source.read_exact_at(run.bytes, run.from)?;
        }
    }
    let mut checked: Option<&Shard> = None;
    for run in runs.iter() {
        if !checked.is_some_and(|shard| std::ptr::eq(shard, run.shard)) {
            run.shard.source.check()?;
            checked = Some(run.shard);
        }
        compare(records, run)?;
    }
    Ok(())
}

fn compare(records: &Records, run: &Run<'_, '_>) -> Result<()> {
    let start = run.wanted.first().map_or(0, |first| first.place.start);
    for wanted in run.wanted.iter().filter(|_| records.verifies()) {
        let bytes = run.bytes.get(wanted.place.start - start..wanted.place.end - start);
        let computed = Check::Crc.update(Check::Crc.of_nothing(), bytes.unwrap_or_default());
        if computed != wanted.record.crc {
            return Err(records.damaged(wanted.number, &records.find(wanted.number)?, computed));
        }
    }
    Ok(())
}
