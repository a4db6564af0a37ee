//! What was learned about a container's compressed streams, kept on disk between mounts: one file per
//! container in one private directory, records in it by their stored range. What the payloads mean is the
//! caller's business.
//!
//! Nothing here is ever an error to the caller. A file that is stale, foreign, damaged or locked is a line in
//! the log and an [`IndexFile`] that knows nothing; what [`IndexFile::get`] returns was put for that very range
//! of that very container, whole.

mod directory;
mod file;
mod layout;
mod table;
#[cfg(test)]
mod tests;

use std::path::PathBuf;

use directory::Directory;
pub use file::IndexFile;

/// What tells one container from another. Device and inode numbers are not in it: they change across reboots
/// and copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key {
    /// Length of the container in bytes.
    pub len: u64,
    /// When it was last modified.
    pub seconds: i64,
    pub nanoseconds: i64,
    pub header_hash: u128,
}

/// The directory of all index files, and how large they may be together.
pub struct IndexStore {
    directory: Directory,
}

impl IndexStore {
    /// Touches nothing. `limit` is in bytes, for all containers together.
    pub fn new(directory: PathBuf, limit: u64) -> IndexStore {
        IndexStore { directory: Directory { path: directory, limit } }
    }

    /// The container's file; nothing is read before the first question, and nothing created before the first
    /// answer is put.
    pub fn open(&self, key: Key) -> IndexFile {
        IndexFile::new(self.directory.clone(), key)
    }
}
