//! What the streams of one mount share, bounded for all of them together.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::block_cache::BlockCache;
use super::inflate::Inflater;

/// A parked decoder holds about 110 KiB (window, tables, input buffer): 64 of them are 7 MiB.
const PARKED: usize = 64;

pub struct Engine {
    pub cache: BlockCache,
    /// Decoders that stopped on a block boundary, each with its stream's number, oldest first.
    parked: Mutex<VecDeque<(u64, Inflater)>>,
}

impl Engine {
    /// `cache_size` bounds the decoded bytes that are kept.
    pub fn new(cache_size: u64) -> Engine {
        let limit = usize::try_from(cache_size).unwrap_or(usize::MAX);
        Engine { cache: BlockCache::new(limit), parked: Mutex::new(VecDeque::new()) }
    }

    /// Keeps a decoder for whoever reads on from its position; the oldest goes when there are too many.
    pub fn park(&self, stream: u64, decoder: Inflater) {
        let mut parked = self.lock();
        parked.push_back((stream, decoder));
        let oldest = if parked.len() > PARKED { parked.pop_front() } else { None };
        drop(parked);
        drop(oldest);
    }

    /// Takes the decoder of `stream` that stopped last before or at `position`.
    pub fn resume(&self, stream: u64, position: u64) -> Option<Inflater> {
        let mut parked = self.lock();
        let (index, _) = nearest(&parked, stream, position)?;
        parked.remove(index).map(|(_, decoder)| decoder)
    }

    /// The position of the decoder that [`Engine::resume`] would take.
    pub fn parked_before(&self, stream: u64, position: u64) -> Option<u64> {
        nearest(&self.lock(), stream, position).map(|(_, position)| position)
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<(u64, Inflater)>> {
        self.parked.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Index and position of the last decoder of `stream` before or at `position`.
fn nearest(parked: &VecDeque<(u64, Inflater)>, stream: u64, position: u64) -> Option<(usize, u64)> {
    let of_stream = parked.iter().enumerate().filter(|(_, (id, _))| *id == stream);
    let positions = of_stream.map(|(index, (_, decoder))| (index, decoder.position()));
    positions.filter(|(_, at)| *at <= position).max_by_key(|(_, at)| *at)
}
