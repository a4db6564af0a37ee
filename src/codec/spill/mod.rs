//! Decoded frames too large for memory, in a temporary file: one per mount, created when first needed, in `$TMPDIR` or
//! else in /var/tmp.
//!
//! Invariants:
//! - The file never exceeds the limit (`--spill-size`). When it is full, the least recently used frame is evicted; the
//!   space of a frame being read is freed when its reader is done.
//! - If frames being written do not fit together, all but one give up and retry when another has ended, so only a frame
//!   that is itself larger than the limit is refused.
//! - No lock is held while reading or writing.

mod disk;

use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use lru::LruCache;
use parking_lot::{Mutex, MutexGuard};

use super::BLOCK;
use crate::{Error, Result};
use disk::{Disk, Pieces};

/// Unit of allocation and of checksums, and so of reading back, in bytes.
pub const PIECE: usize = BLOCK as usize;

/// Advice for errors where the limit is too small.
pub const ADVICE: &str = "set TMPDIR to a directory with more space (a quarter of it is used, at most 16 GiB), or mount \
    with a larger --spill-size";

/// Stream and frame number.
pub type Key = (u64, u64);

pub struct Spill {
    directory: PathBuf,
    requested_limit: Option<u64>,
    disk: OnceLock<Arc<Disk>>,
    frames: Mutex<LruCache<Key, Arc<Spilled>>>,
    /// A disk failure was logged: the others would only repeat it.
    is_reported: AtomicBool,
    /// Held while decoding a frame that needs much memory.
    turn: Mutex<()>,
}

/// Why a piece was not taken.
#[derive(Debug)]
pub enum Refused {
    /// The frame alone is larger than the limit, in bytes.
    TooLarge {
        limit: u64,
    },
    /// Frames being written do not fit together: drop the writer and retry (see [`Spill::attempts`]).
    Busy,
    Failed(Error),
}

impl From<Error> for Refused {
    fn from(error: Error) -> Refused {
        Refused::Failed(error)
    }
}

impl Spill {
    /// A spill of at most `limit` bytes; None: a quarter of the free space, at most 16 GiB. Creates no file yet.
    pub fn new(limit: Option<u64>) -> Spill {
        let directory = std::env::var_os("TMPDIR").filter(|path| !path.is_empty());
        let directory = directory.map_or_else(|| PathBuf::from("/var/tmp"), PathBuf::from);
        // A daemon changes its working directory.
        Spill::in_directory(std::path::absolute(&directory).unwrap_or(directory), limit)
    }

    /// Waits until no other thread decodes a frame that needs much memory.
    pub fn turn(&self) -> MutexGuard<'_, ()> {
        self.turn.lock()
    }

    fn in_directory(directory: PathBuf, requested_limit: Option<u64>) -> Spill {
        Spill {
            directory,
            requested_limit,
            disk: OnceLock::new(),
            frames: Mutex::new(LruCache::unbounded()),
            turn: Mutex::default(),
            is_reported: AtomicBool::new(false),
        }
    }

    /// The limit in bytes.
    pub fn limit(&self) -> Result<u64> {
        Ok(u64::from(self.disk()?.max_pieces) * PIECE as u64)
    }

    pub fn get(&self, key: Key) -> Option<Arc<Spilled>> {
        self.frames.lock().get(&key).cloned()
    }

    /// Drops a frame.
    pub fn forget(&self, key: Key) {
        let old = self.frames.lock().pop(&key);
        drop(old);
    }

    pub fn writer(&self) -> Result<Writer<'_>> {
        let disk = self.disk()?;
        disk.lock().writers += 1;
        Ok(Writer { spill: self, pieces: Pieces::none(disk), len: 0, gave_up: false })
    }

    /// Retries writing a frame until there is room for it, or it is clear that there never will be.
    pub fn attempts<T>(
        &self,
        mut attempt: impl FnMut() -> Result<T, Refused>,
        too_large: impl Fn(u64) -> Error,
    ) -> Result<T> {
        loop {
            match attempt() {
                Ok(done) => return Ok(done),
                Err(Refused::Busy) => self.wait(),
                Err(Refused::TooLarge { limit }) => return Err(too_large(limit)),
                Err(Refused::Failed(error)) => return Err(error),
            }
        }
    }

    /// After [`Refused::Busy`], with the writer dropped: waits until another frame is finished or freed.
    fn wait(&self) {
        let Some(disk) = self.disk.get() else { return };
        let mut room = disk.lock();
        let seen = room.ended;
        while room.writers > 0 && room.ended == seen {
            disk.wait(&mut room);
        }
    }

    fn disk(&self) -> Result<Arc<Disk>> {
        if let Some(disk) = self.disk.get() {
            return Ok(disk.clone());
        }
        let new =
            Disk::open(&self.directory, self.requested_limit).map_err(|cause| self.failed("made", &cause))?;
        // If two threads create it at once, one file is used.
        Ok(self.disk.get_or_init(|| Arc::new(new)).clone())
    }

    /// Allocates a piece for a writer that has `mine` already.
    fn take(&self, disk: &Disk, mine: usize) -> Result<u32, Refused> {
        let mut room = disk.lock();
        loop {
            if let Some(piece) = room.take(disk.max_pieces) {
                return Ok(piece);
            }
            drop(room);
            let evicted = self.evict();
            room = disk.lock();
            if evicted || room.has_free() {
                continue;
            }
            if mine as u64 >= u64::from(disk.max_pieces) {
                return Err(Refused::TooLarge { limit: u64::from(disk.max_pieces) * PIECE as u64 });
            }
            if room.writers > 1 {
                // No longer counted as a writer, so that the last one continues.
                room.writers -= 1;
                return Err(Refused::Busy);
            }
            // The missing space is held by readers, or by writers that gave up: it is freed soon.
            disk.wait(&mut room);
        }
    }

    /// Evicts the least recently used frame. Returns whether there was one.
    fn evict(&self) -> bool {
        let oldest = self.frames.lock().pop_lru();
        oldest.is_some()
    }

    fn failed(&self, what: &str, cause: &io::Error) -> Error {
        let advice = match cause.raw_os_error() {
            Some(libc::ENOSPC | libc::EDQUOT) => {
                ": set TMPDIR to a directory with more space, or mount with a smaller --spill-size"
            }
            _ => ": TMPDIR names another directory",
        };
        let directory = self.directory.display();
        let error = Error::Other(format!(
            "{directory}: the temporary file for decoded data cannot be {what}: {cause}{advice}"
        ));
        if !self.is_reported.swap(true, Ordering::Relaxed) {
            log::error!("{error}");
        }
        error
    }
}

/// A frame being written to the spill. Its space is freed if it is dropped unfinished.
pub struct Writer<'a> {
    spill: &'a Spill,
    pieces: Pieces,
    len: u64,
    gave_up: bool,
}

impl Writer<'_> {
    /// Appends a piece of [`PIECE`] bytes; only the last may be shorter.
    pub fn push(&mut self, bytes: &[u8]) -> Result<(), Refused> {
        let taken = self.spill.take(&self.pieces.disk, self.pieces.count());
        let piece = taken.inspect_err(|why| self.gave_up = matches!(why, Refused::Busy))?;
        let written = self.pieces.push(piece, bytes);
        written.map_err(|cause| Refused::Failed(self.spill.failed("written", &cause)))?;
        self.len += bytes.len() as u64;
        Ok(())
    }

    /// Keeps the frame under `key`.
    pub fn finish(mut self, key: Key) -> Arc<Spilled> {
        let none = Pieces::none(self.pieces.disk.clone());
        let pieces = std::mem::replace(&mut self.pieces, none);
        let frame = Arc::new(Spilled { pieces, len: self.len });
        let old = self.spill.frames.lock().put(key, frame.clone());
        drop(old);
        // The writer ends only now, so that threads waiting for it find a frame they can evict.
        frame
    }
}

impl Drop for Writer<'_> {
    fn drop(&mut self) {
        self.pieces.give_back();
        self.pieces.disk.end_of_writer(!self.gave_up);
    }
}

/// A frame in the spill, whose space is not reused while it is referenced.
pub struct Spilled {
    pieces: Pieces,
    len: u64,
}

impl Spilled {
    pub fn len(&self) -> u64 {
        self.len
    }

    /// The bytes of piece `index`, verified against its checksum.
    pub fn read(&self, index: usize, spill: &Spill) -> Result<Vec<u8>> {
        let start = (index as u64).saturating_mul(PIECE as u64);
        let len = self.len.saturating_sub(start).min(PIECE as u64) as usize;
        self.pieces.read(index, len).map_err(|cause| spill.failed("read", &cause))
    }
}

#[cfg(test)]
mod tests;
