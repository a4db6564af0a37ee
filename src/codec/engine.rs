//! What the streams of one mount share, bounded for all of them together.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::BLOCK;
use super::block_cache::BlockCache;
use super::inflate::{Inflater, Parts};
use super::spill::Spill;

/// A parked decoder holds about 80 KiB (window, tables, input buffer): 256 of them are 20 MiB.
const PARKED: usize = 256;
/// Parts of decoders that are kept for the next ones.
const SPARE: usize = 8;

pub struct Engine {
    pub cache: BlockCache,
    /// Decoded data that is too large for the cache.
    pub spill: Spill,
    /// Decoders that stopped on a block boundary, each with its stream's number, oldest first.
    parked: Mutex<VecDeque<(u64, Inflater)>>,
    spare: Mutex<Vec<Parts>>,
    scratch: Mutex<Vec<Vec<u8>>>,
}

impl Engine {
    /// `cache_size` bounds the decoded bytes that are kept.
    pub fn new(cache_size: u64) -> Engine {
        let limit = usize::try_from(cache_size).unwrap_or(usize::MAX);
        Engine {
            cache: BlockCache::new(limit),
            spill: Spill::new(None),
            parked: Mutex::default(),
            spare: Mutex::default(),
            scratch: Mutex::default(),
        }
    }

    /// With another bound for the decoded bytes on disk than the usual one.
    pub fn with_spill(mut self, limit: Option<u64>) -> Engine {
        self.spill = Spill::new(limit);
        self
    }

    /// Keeps a decoder for whoever reads on from its position; the oldest goes when there are too many.
    pub fn park(&self, stream: u64, decoder: Inflater) {
        let mut parked = lock(&self.parked);
        parked.push_back((stream, decoder));
        let oldest = if parked.len() > PARKED { parked.pop_front() } else { None };
        drop(parked);
        if let Some((_, decoder)) = oldest {
            self.retire(decoder);
        }
    }

    /// Takes the parts of a decoder that is done.
    pub fn retire(&self, decoder: Inflater) {
        give_back(&self.spare, decoder.into_parts());
    }

    pub fn parts(&self) -> Option<Parts> {
        lock(&self.spare).pop()
    }

    /// A buffer of one block, full of anything, to be given back.
    pub fn scratch(&self) -> Vec<u8> {
        let used = lock(&self.scratch).pop();
        used.unwrap_or_else(|| vec![0; BLOCK as usize])
    }

    pub fn return_scratch(&self, buffer: Vec<u8>) {
        give_back(&self.scratch, buffer);
    }

    /// Takes the decoder of `stream` that stopped last before or at `position`.
    pub fn resume(&self, stream: u64, position: u64) -> Option<Inflater> {
        let mut parked = lock(&self.parked);
        let (index, _) = nearest(&parked, stream, position)?;
        parked.remove(index).map(|(_, decoder)| decoder)
    }

    /// The position of the decoder that [`Engine::resume`] would take.
    pub fn parked_before(&self, stream: u64, position: u64) -> Option<u64> {
        nearest(&lock(&self.parked), stream, position).map(|(_, position)| position)
    }
}

/// A poisoned lock is used on: nothing here is ever half changed.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn give_back<T>(to: &Mutex<Vec<T>>, thing: T) {
    let mut kept = lock(to);
    if kept.len() < SPARE {
        kept.push(thing);
    }
}

/// Index and position of the last decoder of `stream` before or at `position`.
fn nearest(parked: &VecDeque<(u64, Inflater)>, stream: u64, position: u64) -> Option<(usize, u64)> {
    let of_stream = parked.iter().enumerate().filter(|(_, (id, _))| *id == stream);
    let positions = of_stream.map(|(index, (_, decoder))| (index, decoder.position()));
    positions.filter(|(_, at)| *at <= position).max_by_key(|(_, at)| *at)
}
