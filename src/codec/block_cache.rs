//! One cache of decoded blocks for the whole mount: least recently used first out, bounded in bytes.
//!
//! A key is (stream, block number); streams get their numbers from [`BlockCache::new_stream`], so two
//! streams never share a key. The lock is held for a look-up or an insertion only, never while decoding.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use lru::LruCache;

pub type Block = Arc<[u8]>;
type Key = (u64, u64);

pub struct BlockCache {
    limit: usize,
    next_stream: AtomicU64,
    held: Mutex<Held>,
}

struct Held {
    blocks: LruCache<Key, Block>,
    bytes: usize,
}

impl BlockCache {
    /// A cache of at most `limit` bytes of blocks.
    pub fn new(limit: usize) -> BlockCache {
        let held = Held { blocks: LruCache::unbounded(), bytes: 0 };
        BlockCache { limit, next_stream: AtomicU64::new(0), held: Mutex::new(held) }
    }

    /// A number that no other stream has.
    pub fn new_stream(&self) -> u64 {
        self.next_stream.fetch_add(1, Ordering::Relaxed)
    }

    pub fn get(&self, stream: u64, block: u64) -> Option<Block> {
        self.lock().blocks.get(&(stream, block)).cloned()
    }

    /// Is the block there? Does not count as a use.
    pub fn contains(&self, stream: u64, block: u64) -> bool {
        self.lock().blocks.contains(&(stream, block))
    }

    pub fn insert(&self, stream: u64, number: u64, block: Block) {
        let mut held = self.lock();
        held.bytes += cost(&block);
        if let Some(old) = held.blocks.put((stream, number), block) {
            held.bytes -= cost(&old);
        }
        while held.bytes > self.limit {
            let Some((_, old)) = held.blocks.pop_lru() else { break };
            held.bytes -= cost(&old);
        }
    }

    /// A poisoned lock is used on: each critical section leaves the cache consistent.
    fn lock(&self) -> std::sync::MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a block takes: its bytes and its place in the list and the table.
fn cost(block: &Block) -> usize {
    block.len() + 128
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_recently_used_goes_first() {
        let cache = BlockCache::new(3 * 138);
        let ten = || Block::from([7u8; 10]);
        for n in 0..3 {
            cache.insert(0, n, ten());
        }
        assert!(cache.get(0, 0).is_some());
        cache.insert(0, 3, ten());
        let there: Vec<bool> = (0..4).map(|n| cache.contains(0, n)).collect();
        assert_eq!(there, [true, false, true, true]);
    }

    #[test]
    fn replacing_a_block_counts_its_bytes_once() {
        let cache = BlockCache::new(2 * 138 + 10);
        for _ in 0..10 {
            cache.insert(1, 1, Block::from([0u8; 10]));
        }
        cache.insert(1, 2, Block::from([0u8; 20]));
        assert!(cache.contains(1, 1) && cache.contains(1, 2));
    }

    #[test]
    fn a_block_larger_than_the_cache_is_not_kept() {
        let cache = BlockCache::new(130);
        cache.insert(0, 0, Block::from([0u8; 6]));
        assert!(!cache.contains(0, 0));
    }
}
