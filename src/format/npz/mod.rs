//! NPZ, numpy's archives: a ZIP file whose members are .npy files, stored or deflated. All numbers are
//! little-endian.
//! ```text
//! for each member:
//!   30 + n + m   local header, name, extra field
//!                data: a .npy file (its header, then the elements), as it is or as a bare deflate stream
//! the directory:
//!   46 + n + m + k for each member: sizes, CRC-32, where its local header is
//!   22 + c (ZIP64: 56 + 20 before it): where the directory is; comment
//! ```
//! `directory` reads the directory (once, when the archive is opened) into packed records; `member` looks at a
//! member when it is first asked for: the local header, which tells where the data is, and the NPY header, which
//! tells how long it is without that and what it means; `sidecar` says what was found; `archive` answers for the
//! datasets of an opened archive. `write` makes such files.
//!
//! A dataset is a member, called by its name without `.npy`, and its bytes are the elements. Members that are not
//! .npy files are bytes under their own names.

mod archive;
mod directory;
mod member;
mod names;
mod sidecar;
mod write;

use std::path::Path;
use std::sync::Arc;

use memchr::memmem;

use super::target::{NewContainer, WriteOptions};
use super::{Candidate, Context, Format, Listing};
use crate::Result;
use crate::tree::{Builder, NameList, Tree};
use archive::Archive;

pub struct Npz;

/// Before each member.
const LOCAL: [u8; 4] = *b"PK\x03\x04";
/// After the directory, which is all that there is of an archive without members.
const END: [u8; 4] = *b"PK\x05\x06";
/// Methods of compression.
const STORED: u16 = 0;
const DEFLATED: u16 = 8;
/// The length of a local header without name and extra field.
const LOCAL_LEN: usize = 30;
/// What the names of arrays end in.
const NPY: &[u8] = b".npy";

impl Format for Npz {
    fn name(&self) -> &'static str {
        "NPZ"
    }

    /// A ZIP file that is called .npz, maybe behind something else, or whose first member is a .npy file.
    fn detect(&self, candidate: &Candidate<'_>) -> bool {
        let head = candidate.head;
        if candidate.has_extension("npz") {
            return head.starts_with(&END) || memmem::find(head, &LOCAL).is_some();
        }
        let [low, high] = [26, 27].map(|at| head.get(at).copied().unwrap_or(0));
        let end = LOCAL_LEN + usize::from(u16::from_le_bytes([low, high]));
        head.starts_with(&LOCAL) && head.get(LOCAL_LEN..end).is_some_and(|name| name.ends_with(NPY))
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["npz"]
    }

    fn open(&self, context: Context) -> Result<Arc<dyn Tree>> {
        let (names, archive) = read(context)?;
        Ok(Arc::new(Builder::build(&names, archive)?))
    }

    fn list(&self, context: Context) -> Result<Listing> {
        let (names, archive) = read(context)?;
        Ok(Listing {
            format: self.name(),
            names: Box::new(Arc::unwrap_or_clone(names)),
            datasets: Box::new(archive),
        })
    }

    fn create(&self, path: &Path, options: &WriteOptions) -> Result<Box<dyn NewContainer>> {
        Ok(Box::new(write::Writer::create(path, options)?))
    }
}

fn read(context: Context) -> Result<(Arc<NameList>, Archive)> {
    let directory = directory::read(&*context.source)?;
    let names = directory.names.clone();
    Ok((names, Archive::new(context, directory)))
}

#[cfg(test)]
mod tests;
