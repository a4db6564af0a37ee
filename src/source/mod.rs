//! Where bytes come from. A source has a length that never changes and answers reads by position from
//! any number of threads at once. It knows nothing of formats or codecs.
//!
//! A source also answers for its identity: [`Source::check`] fails for ever once the bytes below it may
//! no longer be those that were opened.

mod access;
mod below_url;
mod file;
pub mod interruptible;
mod listed;
mod location;
mod mapped;
#[cfg(test)]
pub mod memory;
mod named;
#[cfg(feature = "remote")]
mod remote;
mod resolve;

use std::fs::File;
use std::ops::Range;
use std::path::Path;
use std::time::SystemTime;

pub use access::{Access, configure};
pub use file::FileSource;
pub use listed::Listed;
pub use location::{
    find, finish, is_directory, is_url, list, may_write, open, percent_encoded, upload, url, without_secrets,
};
pub use mapped::Mapped;
pub use named::{Named, OpenFiles, Policy, Seen, Siblings};
pub use resolve::resolve;

use crate::Result;
use crate::error::Place;

#[allow(clippy::len_without_is_empty)] // nobody asks
pub trait Source: Send + Sync {
    /// What messages call it: the path that was opened.
    fn path(&self) -> &Path;

    /// Length in bytes when it was opened.
    fn len(&self) -> u64;

    /// When its bytes were last modified.
    fn modified(&self) -> SystemTime;

    /// Fills `buf` from `offset`, or fails: never less than the whole.
    fn read_exact_at(&self, buf: &mut [u8], offset: u64) -> Result<()>;

    /// Fails if the bytes may have changed since opening; to be asked after reading, before answering.
    fn check(&self) -> Result<()>;

    /// Are the bytes of `range` likely to be had without waiting for a disk or a network?
    fn is_cached(&self, range: &Range<u64>) -> bool {
        let _ = range;
        true
    }

    /// Fills `buf` from `offset` if that needs no waiting for a disk or a network; or says that it would.
    fn read_if_cached(&self, buf: &mut [u8], offset: u64) -> Result<bool> {
        self.read_exact_at(buf, offset).map(|()| true)
    }

    /// The bytes of `range` will be read soon: they may be fetched meanwhile.
    fn will_need(&self, range: Range<u64>) {
        let _ = range;
    }

    /// These small ranges will be read soon, one after the other: where each read is a request, they are fetched side by
    /// side.
    fn will_need_pieces(&self, ranges: &[Range<u64>]) {
        let _ = ranges;
    }

    /// The bytes of `range` to be handed to the kernel, where they can be mapped: reading them is the
    /// kernel's business alone, see [`Mapped`].
    fn map(&self, range: Range<u64>) -> Option<Mapped> {
        let _ = range;
        None
    }

    /// The permission bits of the file when it was opened.
    fn mode(&self) -> u32 {
        0o444
    }

    /// Device and inode number of a file.
    fn file_id(&self) -> Option<(u64, u64)> {
        None
    }

    /// The file itself, for the kernel to copy from, where there is one.
    fn file(&self) -> Option<&File> {
        None
    }

    /// Are these bytes those of the file at its path, where they are there?
    fn is_in_file(&self) -> bool {
        true
    }

    fn place(&self) -> Place {
        Place::file(self.path())
    }

    /// The bytes of `range`, checked for identity. The caller bounds the length.
    fn read_range(&self, range: Range<u64>) -> Result<Vec<u8>> {
        let mut bytes = vec![0; (range.end.saturating_sub(range.start)) as usize];
        self.read_exact_at(&mut bytes, range.start)?;
        self.check()?;
        Ok(bytes)
    }
}
