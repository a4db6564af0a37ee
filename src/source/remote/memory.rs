//! The blocks of all objects that are in memory or on their way. When there is too much, what was not used for longest
//! goes, whichever object it is of.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};

use lru::LruCache;
use parking_lot::Mutex;

use super::block::Block;
use crate::source::access::access;

/// Bytes of all blocks, if the command line does not say otherwise.
const MAX_HELD: u64 = 256 << 20;
/// Even less would not hold what one reader needs at a time.
const MIN_HELD: u64 = 16 << 20;

static BLOCKS: LazyLock<Mutex<LruCache<Key, Arc<Block>>>> =
    LazyLock::new(|| Mutex::new(LruCache::unbounded()));
static NEXT: AtomicU64 = AtomicU64::new(0);

/// An object, and the number of its block.
type Key = (u64, u64);

/// The most that is held, in bytes.
pub fn limit() -> u64 {
    access().memory.unwrap_or(MAX_HELD).max(MIN_HELD)
}

/// The blocks of one object; they go when this is dropped.
pub struct Memory {
    object: u64,
    /// Number of its blocks.
    count: u64,
}

impl Memory {
    /// Of an object of `count` blocks.
    pub fn new(count: u64) -> Memory {
        Memory { object: NEXT.fetch_add(1, Ordering::Relaxed), count }
    }

    /// The blocks of these numbers. Those that are new or have failed, and have to be requested, are added to `missing` too.
    pub fn get(
        &self,
        numbers: impl Iterator<Item = u64>,
        len: u64,
        missing: &mut Vec<(u64, Arc<Block>)>,
    ) -> Vec<Arc<Block>> {
        let mut all = BLOCKS.lock();
        let mut get = |number| {
            let known = all.get(&(self.object, number)).filter(|block| !block.has_failed()).cloned();
            known.unwrap_or_else(|| {
                let block = Block::new(len);
                missing.push((number, block.clone()));
                all.put((self.object, number), block.clone());
                block
            })
        };
        let blocks = numbers.map(&mut get).collect();
        let dropped = make_room(&mut all);
        drop(all);
        drop(dropped);
        blocks
    }

    /// Are all of them here or on their way?
    pub fn has(&self, mut numbers: impl Iterator<Item = u64>) -> bool {
        let all = BLOCKS.lock();
        numbers.all(|number| all.contains(&(self.object, number)))
    }

    pub fn are_here(&self, mut numbers: impl Iterator<Item = u64>) -> bool {
        let all = BLOCKS.lock();
        numbers.all(|number| all.peek(&(self.object, number)).is_some_and(|block| block.is_here()))
    }
}

/// Memory is given back outside of the lock.
fn make_room(all: &mut LruCache<Key, Arc<Block>>) -> Vec<Arc<Block>> {
    let mut dropped: Vec<Arc<Block>> = Vec::new();
    let mut excess = Block::held().saturating_sub(limit());
    while excess > 0 && all.peek_lru().is_some_and(|(_, block)| !block.is_on_its_way()) {
        let Some((_, block)) = all.pop_lru() else { break };
        excess = excess.saturating_sub(block.len());
        dropped.push(block);
    }
    dropped
}

impl Drop for Memory {
    fn drop(&mut self) {
        let mut all = BLOCKS.lock();
        let own: Vec<Key> = match self.count < all.len() as u64 {
            true => (0..self.count).map(|number| (self.object, number)).collect(),
            false => all.iter().map(|(key, _)| *key).filter(|(object, _)| *object == self.object).collect(),
        };
        let dropped: Vec<_> = own.iter().filter_map(|key| all.pop(key)).collect();
        drop(all);
        drop(dropped);
    }
}
