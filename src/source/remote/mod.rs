//! Objects in stores and on web servers as sources: `https://`, `http://`, `s3://`, `gs://` and `az://`. The first
//! request brings the length, the version and the first bytes together. Everything is read in blocks ([`blocks`]), and
//! every later request names the version, so that bytes of two versions never meet.
//!
//! Requests run in a runtime of their own ([`runtime`]), which is started with the first URL: no other room knows of
//! futures.

mod block;
mod blocks;
mod bucket;
mod cache;
pub mod fetch;
pub mod list;
mod memory;
mod object;
mod odd_keys;
mod pieces;
mod profile;
mod readers;
mod runtime;
mod s3;
mod store;
pub mod upload;
mod web;

use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;

use self::blocks::Blocks;
use self::cache::{Disk, Known};
use self::object::{Failure, Object, Part, Version};
use super::Source;
use super::location::shown;
use crate::{Error, Result};

pub struct RemoteSource {
    /// The URL as messages show it.
    path: PathBuf,
    len: u64,
    id: (u64, u64),
    modified: SystemTime,
    blocks: Blocks,
    changed: Arc<AtomicBool>,
}

impl RemoteSource {
    /// Opens an object with one request, or two side by side.
    ///
    /// # Errors
    /// [`Error::Open`] says whether it is missing, refused or unreachable.
    pub fn open(url: &str, reads_end: bool) -> Result<RemoteSource> {
        let path = PathBuf::from(shown(url));
        let failed = |failure: Failure| Error::open(&path, failure.into());
        let object = runtime::enter(|| object(url)).map_err(failed)?;
        let Ends { head, tail, are_known } = runtime::wait(ends(url, &*object, reads_end)).map_err(failed)?;
        let disk = Disk::of(url, &head.version()).map(Arc::new);
        if let Some(disk) = disk.as_ref().filter(|_| !are_known) {
            Known::save(url, disk, &head, tail.as_ref());
        }
        let changed = Arc::new(AtomicBool::new(false));
        Ok(RemoteSource {
            len: head.len,
            id: file_id(&head.version()),
            modified: head.modified.unwrap_or(SystemTime::UNIX_EPOCH),
            blocks: Blocks::new(object, head, tail, disk),
            path,
            changed,
        })
    }

    fn failed(&self, failure: Failure, offset: u64) -> Error {
        match failure {
            Failure::Changed => {
                let error = Error::Changed { file: self.path.clone() };
                if !self.changed.swap(true, Ordering::Relaxed) {
                    log::error!("{error}");
                }
                error
            }
            other => Error::read(self.place().at(offset), other.into()),
        }
    }
}

/// What identifies a version of an object.
fn file_id(version: &Version) -> (u64, u64) {
    let mut hasher = DefaultHasher::new();
    version.hash(&mut hasher);
    (hasher.finish(), version.len())
}

/// What is had of an object when it is opened.
struct Ends {
    head: Part,
    tail: Option<Part>,
    /// Both are from the disk, and the store says that the object is still that one.
    are_known: bool,
}

/// The first bytes, and the last ones if they will be needed: side by side, or those on disk if they are still right.
async fn ends(url: &str, object: &dyn Object, with_end: bool) -> Result<Ends, Failure> {
    if let Some(known) = Known::of(url, with_end) {
        return match object.get_unless(0..blocks::BLOCK, &known.tag).await {
            Err(Failure::Unchanged) => Ok(Ends { head: known.head, tail: known.tail, are_known: true }),
            Ok(head) => Ok(Ends { head, tail: None, are_known: false }),
            Err(failure) => Err(failure),
        };
    }
    let tail = with_end.then(|| object.get_end(blocks::BLOCK)).flatten().map(tokio::spawn);
    let head = object.get(0..blocks::BLOCK, None).await?;
    let tail = match tail {
        // It is fetched again when it is read.
        Some(tail) => tail.await.ok().and_then(Result::ok),
        None => None,
    };
    // Of another version it is of no use; the first read that needs it finds that out.
    let fits = |tail: &Part| tail.version() == head.version() && tail.bytes.len() as u64 <= head.len;
    let tail = tail.filter(fits);
    Ok(Ends { head, tail, are_known: false })
}

fn object(url: &str) -> Result<Arc<dyn Object>, Failure> {
    match url.split_once("://").map(|(scheme, _)| scheme) {
        Some("http" | "https") => Ok(Arc::new(web::Page::new(url)?)),
        _ => Ok(Arc::new(store::Stored::new(url)?)),
    }
}

impl Source for RemoteSource {
    fn path(&self) -> &Path {
        &self.path
    }

    fn len(&self) -> u64 {
        self.len
    }

    /// A hash of the version.
    fn file_id(&self) -> Option<(u64, u64)> {
        Some(self.id)
    }

    fn modified(&self) -> SystemTime {
        self.modified
    }

    fn read_exact_at(&self, buf: &mut [u8], offset: u64) -> Result<()> {
        let end = offset.checked_add(buf.len() as u64).filter(|end| *end <= self.len);
        if end.is_none() {
            return Err(Error::read(self.place().at(offset), io::ErrorKind::UnexpectedEof.into()));
        }
        self.blocks.read(buf, offset).map_err(|failure| self.failed(failure, offset))
    }

    /// Each request is answered in the version that was opened, or not at all.
    fn check(&self) -> Result<()> {
        match self.changed.load(Ordering::Relaxed) {
            true => Err(Error::Changed { file: self.path.clone() }),
            false => Ok(()),
        }
    }

    fn is_cached(&self, range: &Range<u64>) -> bool {
        self.blocks.are_here(range)
    }

    fn read_if_cached(&self, buf: &mut [u8], offset: u64) -> Result<bool> {
        if !self.blocks.are_here(&(offset..offset.saturating_add(buf.len() as u64))) {
            return Ok(false);
        }
        self.read_exact_at(buf, offset).map(|()| true)
    }

    fn will_need(&self, range: Range<u64>) {
        self.blocks.will_need(range);
    }

    fn will_need_pieces(&self, ranges: &[Range<u64>]) {
        self.blocks.will_need_pieces(ranges);
    }
}
