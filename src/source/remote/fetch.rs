//! Requests for blocks and pieces of one version of an object. Blocks that are on disk are taken from there; missing ones
//! beside each other are one request.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Semaphore, SemaphorePermit};

use super::block::Block;
use super::blocks::BLOCK;
use super::cache::{Disk, aside};
use super::object::{Failure, Object, Version};
use super::runtime;

/// Bytes of a request, at most.
pub const MAX_REQUEST: u64 = 8 << 20;
/// Bytes that wait to be written to disk. Whatever comes while there are so many is not kept.
const MAX_UNWRITTEN: usize = 32 << 20;

/// How long the last of them are waited for.
const LAST_WRITES: Duration = Duration::from_secs(2);

static UNWRITTEN: Semaphore = Semaphore::const_new(MAX_UNWRITTEN);

pub struct Fetch {
    pub object: Arc<dyn Object>,
    pub len: u64,
    pub version: Version,
    pub disk: Option<Arc<Disk>>,
}

/// A block that has been promised. Whatever happens, it is not waited for in vain.
struct Promised(Arc<Block>);

impl Drop for Promised {
    fn drop(&mut self) {
        self.0.set(Err(Failure::Other("the request was not answered".into())));
    }
}

impl Fetch {
    /// Requests blocks, given with their numbers, in order.
    pub fn blocks(self: &Arc<Fetch>, missing: Vec<(u64, Arc<Block>)>) {
        let promised = missing.into_iter().map(|(number, block)| (number, Promised(block))).collect();
        for (first, run) in runs(promised) {
            match &self.disk {
                Some(disk) => self.from_disk(disk.clone(), first, run),
                None => self.request(first * BLOCK, run),
            }
        }
    }

    /// Requests a piece, wherever it begins.
    pub fn piece(self: &Arc<Fetch>, offset: u64, piece: Arc<Block>) {
        self.request(offset, vec![Promised(piece)]);
    }

    fn from_disk(self: &Arc<Fetch>, disk: Arc<Disk>, first: u64, run: Vec<Promised>) {
        let fetch = self.clone();
        spawn(async move {
            let len = fetch.len;
            let read = move |disk: &Disk| {
                let is_missing = |(number, block): &(u64, Promised)| {
                    let bytes = disk.read(*number, BLOCK.min(len - number * BLOCK) as usize);
                    bytes.map(|bytes| block.0.set(Ok(bytes.into()))).is_none()
                };
                (first..).zip(run).filter(is_missing).collect::<Vec<_>>()
            };
            for (first, run) in runs(aside(&disk, read).await.unwrap_or_default()) {
                fetch.request(first * BLOCK, run);
            }
        });
    }

    /// Requests a run of blocks, or a piece.
    fn request(self: &Arc<Fetch>, start: u64, run: Vec<Promised>) {
        let end = start.saturating_add(run.iter().map(|block| block.0.len()).sum()).min(self.len);
        let answer = self.object.get(start..end, self.version.tag.as_deref());
        let fetch = self.clone();
        spawn(async move {
            match answer.await {
                Ok(part) if part.version() != fetch.version => {
                    run.iter().for_each(|block| block.0.set(Err(Failure::Changed)));
                }
                Ok(part) => {
                    let pieces: Vec<Arc<[u8]>> = part.bytes.chunks(BLOCK as usize).map(Arc::from).collect();
                    drop(part);
                    let turn = fetch.turn_to_keep(start, &pieces);
                    run.iter().zip(&pieces).for_each(|(block, bytes)| block.0.set(Ok(bytes.clone())));
                    drop(run);
                    if let (Some(disk), Some(_turn)) = (&fetch.disk, turn) {
                        let first = start / BLOCK;
                        let write = move |disk: &Disk| {
                            (first..).zip(pieces).for_each(|(number, bytes)| disk.write(number, &bytes));
                        };
                        aside(disk, write).await;
                    }
                }
                Err(failure) => run.iter().for_each(|block| block.0.set(Err(failure.clone()))),
            }
        });
    }

    /// May these blocks be written to disk, or are there too many to be written already?
    fn turn_to_keep(&self, start: u64, blocks: &[Arc<[u8]>]) -> Option<SemaphorePermit<'static>> {
        let bytes: usize = blocks.iter().map(|block| block.len()).sum();
        let is_wanted = self.disk.is_some() && start.is_multiple_of(BLOCK);
        is_wanted.then(|| UNWRITTEN.try_acquire_many(bytes as u32).ok()).flatten()
    }
}

/// Waits until what has been fetched is on disk: a program that ends right away would keep nothing.
pub fn finish_writing() {
    if UNWRITTEN.available_permits() < MAX_UNWRITTEN {
        let all = || UNWRITTEN.acquire_many(MAX_UNWRITTEN as u32);
        let _ = runtime::wait(async { Ok(tokio::time::timeout(LAST_WRITES, all()).await.is_ok()) });
    }
}

fn spawn(future: impl Future<Output = ()> + Send + 'static) {
    if let Err(failure) = runtime::spawn(future) {
        log::error!("{failure}");
    }
}

/// Blocks beside each other, and the number of the first.
fn runs(blocks: Vec<(u64, Promised)>) -> Vec<(u64, Vec<Promised>)> {
    let mut runs: Vec<(u64, Vec<Promised>)> = Vec::new();
    for (number, block) in blocks {
        match runs.last_mut() {
            Some((first, run))
                if number == *first + run.len() as u64 && (run.len() as u64) < MAX_REQUEST / BLOCK =>
            {
                run.push(block);
            }
            _ => runs.push((number, vec![block])),
        }
    }
    runs
}
