//! The spill file: pieces of [`PIECE`] bytes, allocated and freed, so that frames of any size leave no gaps. The file
//! has no name, so it disappears with the process however that ends; its mode is 0600.
//!
//! A piece is read back as it was written, or not at all: [`Pieces`] keeps its checksum.

use std::fs::{File, Permissions};
use std::io;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::Path;
use std::sync::Arc;

use parking_lot::{Condvar, Mutex, MutexGuard};
use xxhash_rust::xxh3::xxh3_64;

use super::PIECE;

/// The default limit is the free space divided by this, but at most [`DEFAULT_LIMIT`].
const DEFAULT_PART: u64 = 4;
const DEFAULT_LIMIT: u64 = 16 << 30;

pub struct Disk {
    file: File,
    /// Maximum number of pieces in the file.
    pub max_pieces: u32,
    room: Mutex<Room>,
    given_back: Condvar,
}

#[derive(Default)]
pub struct Room {
    free: Vec<u32>,
    /// Pieces in the file, including free ones.
    made: u32,
    /// Frames being written that have not given up.
    pub writers: u32,
    /// How many writers have ended.
    pub ended: u64,
}

impl Disk {
    /// A new file in `directory` of at most `limit` bytes; None: depends on the free space there.
    pub fn open(directory: &Path, limit: Option<u64>) -> io::Result<Disk> {
        let limit = match limit {
            Some(limit) => limit,
            None => (free_space(directory)? / DEFAULT_PART).min(DEFAULT_LIMIT),
        };
        let file = tempfile::tempfile_in(directory)?;
        // No other process can have opened it yet.
        file.set_permissions(Permissions::from_mode(0o600))?;
        Ok(Disk::new(file, limit))
    }

    pub fn new(file: File, limit: u64) -> Disk {
        let max_pieces = u32::try_from(limit / PIECE as u64).unwrap_or(u32::MAX);
        Disk { file, max_pieces, room: Mutex::default(), given_back: Condvar::new() }
    }

    pub fn lock(&self) -> MutexGuard<'_, Room> {
        self.room.lock()
    }

    /// Waits until a writer ends or pieces are freed.
    pub fn wait(&self, room: &mut MutexGuard<'_, Room>) {
        self.given_back.wait(room);
    }

    pub fn end_of_writer(&self, counted: bool) {
        let mut room = self.lock();
        room.writers -= u32::from(counted);
        room.ended += 1;
        drop(room);
        self.given_back.notify_all();
    }

    #[cfg(test)]
    pub fn file(&self) -> &File {
        &self.file
    }
}

impl Room {
    pub fn take(&mut self, max_pieces: u32) -> Option<u32> {
        if let Some(piece) = self.free.pop() {
            return Some(piece);
        }
        let new = self.made;
        (new < max_pieces).then(|| {
            self.made += 1;
            new
        })
    }

    pub fn has_free(&self) -> bool {
        !self.free.is_empty()
    }

    #[cfg(test)]
    pub fn in_use(&self) -> u32 {
        self.made - self.free.len() as u32
    }
}

/// The pieces of a frame in order, freed when dropped.
pub struct Pieces {
    pub disk: Arc<Disk>,
    /// Number and checksum.
    list: Vec<(u32, u64)>,
}

impl Pieces {
    pub fn none(disk: Arc<Disk>) -> Pieces {
        Pieces { disk, list: Vec::new() }
    }

    pub fn count(&self) -> usize {
        self.list.len()
    }

    /// Writes at most [`PIECE`] bytes to `piece` and appends it.
    pub fn push(&mut self, piece: u32, bytes: &[u8]) -> io::Result<()> {
        // Listed first, so that it is freed also if writing fails.
        self.list.push((piece, xxh3_64(bytes)));
        self.disk.file.write_all_at(bytes, offset(piece))
    }

    /// The `len` bytes of piece `index` of the frame.
    pub fn read(&self, index: usize, len: usize) -> io::Result<Vec<u8>> {
        let &(piece, sum) = self.list.get(index).ok_or(io::ErrorKind::UnexpectedEof)?;
        let mut bytes = vec![0; len];
        self.disk.file.read_exact_at(&mut bytes, offset(piece))?;
        match xxh3_64(&bytes) == sum {
            true => Ok(bytes),
            false => Err(io::Error::other("what is read back is not what was written")),
        }
    }

    pub fn give_back(&mut self) {
        self.disk.lock().free.extend(self.list.drain(..).map(|(piece, _)| piece));
        self.disk.given_back.notify_all();
    }
}

impl Drop for Pieces {
    fn drop(&mut self) {
        self.give_back();
    }
}

fn offset(piece: u32) -> u64 {
    u64::from(piece) * PIECE as u64
}

/// Free space available to this user, in bytes.
fn free_space(directory: &Path) -> io::Result<u64> {
    let found = nix::sys::statvfs::statvfs(directory)?;
    // The types differ between systems.
    #[allow(clippy::unnecessary_cast)]
    Ok((found.blocks_available() as u64).saturating_mul(found.fragment_size() as u64))
}
