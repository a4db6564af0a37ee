//! Stores the indexes of a container's compressed streams on disk between mounts: one file per container in a private
//! directory, with records keyed by stored range. Payloads are opaque here.
//!
//! Callers never see errors. A stale, foreign, damaged or locked file is logged and treated as empty; whatever
//! [`IndexFile::get`] returns was put, whole, for that range of that container.

mod directory;
mod file;
mod layout;
mod table;
#[cfg(test)]
mod tests;

use std::path::PathBuf;

use directory::Directory;
pub use file::IndexFile;

/// Identifies a container. Device and inode numbers are left out: they change across reboots and copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key {
    /// Length of the container in bytes.
    pub len: u64,
    /// When it was last modified.
    pub seconds: i64,
    pub nanoseconds: i64,
    pub header_hash: u128,
}

/// The directory of all index files, and the limit on their total size.
pub struct IndexStore {
    directory: Directory,
}

impl IndexStore {
    /// Does not access the directory yet. `limit` is in bytes, for all containers together.
    pub fn new(directory: PathBuf, limit: u64) -> IndexStore {
        IndexStore { directory: Directory { path: directory, limit } }
    }

    /// The container's index file. Nothing is read before the first get, and nothing created before the first put.
    pub fn open(&self, key: Key) -> IndexFile {
        IndexFile::new(self.directory.clone(), key)
    }
}
