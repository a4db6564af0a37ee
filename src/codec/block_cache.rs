//! One LRU cache of decoded blocks for the whole mount, bounded in bytes.
//!
//! A key is (stream, block number); streams get their numbers from [`BlockCache::new_stream`], so two
//! streams never share a key. The lock is held only for a lookup or an insertion, never while decoding.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use lru::LruCache;
use parking_lot::Mutex;

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
        self.held.lock().blocks.get(&(stream, block)).cloned()
    }

    /// `len` bytes from `offset` of a stream cached in blocks of `block` bytes; None unless all are cached.
    pub fn bytes(&self, stream: u64, block: u64, len: usize, offset: u64) -> Option<Vec<u8>> {
        let mut bytes = Vec::with_capacity(len);
        while bytes.len() < len {
            let at = offset + bytes.len() as u64;
            let whole = self.get(stream, at / block)?;
            let from = whole.get((at % block) as usize..).filter(|from| !from.is_empty())?;
            bytes.extend_from_slice(&from[..from.len().min(len - bytes.len())]);
        }
        Some(bytes)
    }

    /// Is the block cached? Does not count as a use.
    pub fn contains(&self, stream: u64, block: u64) -> bool {
        self.held.lock().blocks.contains(&(stream, block))
    }

    /// Stores a copy of `bytes` as the block and returns it. A full cache evicts a block for each new one and reuses
    /// its memory, which avoids fragmenting the heap.
    pub fn insert(&self, stream: u64, number: u64, bytes: &[u8]) -> Block {
        let block = filled(self.make_room(cost(bytes.len())), bytes);
        let mut held = self.held.lock();
        held.bytes += cost(bytes.len());
        let old = held.blocks.put((stream, number), block.clone());
        held.bytes -= old.map_or(0, |old| cost(old.len()));
        drop(held);
        self.make_room(0);
        block
    }

    /// Evicts least recently used blocks until `cost_of_new` fits; returns the last one evicted.
    fn make_room(&self, cost_of_new: usize) -> Option<Block> {
        let mut dropped = None;
        let mut held = self.held.lock();
        while held.bytes + cost_of_new > self.limit {
            let Some((_, old)) = held.blocks.pop_lru() else { break };
            held.bytes -= cost(old.len());
            dropped = Some(old);
        }
        dropped
    }
}

/// A block of these bytes, in the memory of `old` if the sizes match and no reader holds it.
fn filled(old: Option<Block>, bytes: &[u8]) -> Block {
    if let Some(mut block) = old
        && let Some(room) = Arc::get_mut(&mut block).filter(|room| room.len() == bytes.len())
    {
        room.copy_from_slice(bytes);
        return block;
    }
    bytes.into()
}

/// The memory a block takes: its bytes, and its entry in the list and the table.
fn cost(len: usize) -> usize {
    len + 128
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn evicts_the_least_recently_used_block() {
        let cache = BlockCache::new(3 * 138);
        let ten = &[7; 10];
        for n in 0..3 {
            cache.insert(0, n, ten);
        }
        assert!(cache.get(0, 0).is_some());
        cache.insert(0, 3, ten);
        let there: Vec<bool> = (0..4).map(|n| cache.contains(0, n)).collect();
        assert_eq!(there, [true, false, true, true]);
    }

    #[test]
    fn replacing_a_block_counts_its_bytes_once() {
        let cache = BlockCache::new(2 * 138 + 10);
        for _ in 0..10 {
            cache.insert(1, 1, &[0; 10]);
        }
        cache.insert(1, 2, &[0; 20]);
        assert!(cache.contains(1, 1) && cache.contains(1, 2));
    }

    #[test]
    fn memory_is_reused_only_when_no_reader_holds_it() {
        let cache = BlockCache::new(2 * 138);
        let first = cache.insert(0, 0, &[1; 10]);
        let address = cache.insert(0, 1, &[2; 10]).as_ptr();
        assert_eq!(cache.insert(0, 2, &[3; 10])[..], [3; 10]);
        assert_eq!(first[..], [1; 10], "a reader has it");
        let last = cache.insert(0, 3, &[4; 10]);
        assert_eq!((last.as_ptr(), &last[..]), (address, &[4; 10][..]), "nobody has it");
    }

    #[test]
    fn a_block_larger_than_the_cache_is_not_kept() {
        let cache = BlockCache::new(130);
        cache.insert(0, 0, &[0; 6]);
        assert!(!cache.contains(0, 0));
    }
}
