//! A regular file as a source. The descriptor stays open, so a path replaced by rename keeps serving the
//! file that was opened; size and mtime are compared with those at opening, and the first difference is
//! final: from then on every check fails.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, IoSliceMut};
use std::num::NonZeroU64;
use std::ops::Range;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
#[cfg(debug_assertions)]
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::SystemTime;

use rustix::fs::Advice;
use rustix::io::ReadWriteFlags;

use super::Source;
use super::mapped::{Map, Mapped};
use crate::{Error, Result};

/// The smallest page of any machine.
const PAGE: u64 = 4096;
/// Shorter files are read sooner than they are mapped.
const MAPPED: u64 = 64 << 10;

pub struct FileSource {
    file: File,
    /// It may change, and is read as it is.
    is_live: bool,
    /// Made when it is first wanted.
    map: OnceLock<Option<Arc<Map>>>,
    path: PathBuf,
    stamp: Stamp,
    modified: SystemTime,
    /// Device and inode number.
    file_id: (u64, u64),
    mode: u32,
    changed: AtomicBool,
}

/// What must stay the same for the bytes to be taken for the same.
#[derive(PartialEq, Eq, Clone, Copy)]
struct Stamp {
    len: u64,
    seconds: i64,
    nanoseconds: i64,
}

impl Stamp {
    fn of(meta: &Metadata) -> Stamp {
        Stamp { len: meta.len(), seconds: meta.mtime(), nanoseconds: meta.mtime_nsec() }
    }
}

impl FileSource {
    /// Opens a regular file for reading; never blocks on a pipe or a device.
    pub fn open(path: &Path) -> Result<FileSource> {
        FileSource::open_as(path, false)
    }

    /// As [`FileSource::open`], for a file that is no container: it has the length and the bytes that it has when it
    /// is asked.
    pub fn open_live(path: &Path) -> Result<FileSource> {
        FileSource::open_as(path, true)
    }

    fn open_as(path: &Path, is_live: bool) -> Result<FileSource> {
        let failed = |cause| Error::open(path, cause);
        let file = OpenOptions::new()
            .read(true)
            .custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY)
            .open(path)
            .map_err(failed)?;
        let meta = file.metadata().map_err(failed)?;
        if !meta.is_file() {
            return Err(failed(io::Error::other(format!("it is {}, not a regular file", kind(&meta)))));
        }
        Ok(FileSource {
            map: OnceLock::new(),
            file_id: (meta.dev(), meta.ino()),
            is_live,
            file,
            path: path.to_owned(),
            stamp: Stamp::of(&meta),
            modified: meta.modified().map_err(failed)?,
            mode: meta.mode(),
            changed: AtomicBool::new(false),
        })
    }

    /// Device and inode number.
    pub fn file_id(&self) -> (u64, u64) {
        self.file_id
    }

    /// When it had been modified when it was opened, in seconds and nanoseconds.
    pub fn stamp(&self) -> (i64, i64) {
        (self.stamp.seconds, self.stamp.nanoseconds)
    }

    /// To copy from; its position is nobody's.
    pub fn own_file(&self) -> &File {
        &self.file
    }

    /// Marks the file as changed; the first to notice says so in the log.
    fn mark_changed(&self) -> Error {
        let error = Error::Changed { file: self.path.clone() };
        if !self.changed.swap(true, Ordering::Relaxed) {
            log::error!("{error}");
        }
        error
    }
}

fn kind(meta: &Metadata) -> &'static str {
    let t = meta.file_type();
    if t.is_dir() {
        "a directory"
    } else if t.is_fifo() {
        "a pipe"
    } else if t.is_socket() {
        "a socket"
    } else if t.is_block_device() || t.is_char_device() {
        "a device"
    } else {
        "something else"
    }
}

impl AsFd for FileSource {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

impl Source for FileSource {
    fn path(&self) -> &Path {
        &self.path
    }

    fn len(&self) -> u64 {
        match self.is_live {
            true => self.file.metadata().map_or(self.stamp.len, |meta| meta.len()),
            false => self.stamp.len,
        }
    }

    fn modified(&self) -> SystemTime {
        self.modified
    }

    fn mode(&self) -> u32 {
        self.mode
    }

    fn file_id(&self) -> Option<(u64, u64)> {
        Some(self.file_id)
    }

    fn read_exact_at(&self, buf: &mut [u8], offset: u64) -> Result<()> {
        #[cfg(debug_assertions)]
        panic_if_wanted(offset, buf.len() as u64);
        match self.file.read_exact_at(buf, offset) {
            Ok(()) => Ok(()),
            Err(cause) if cause.kind() == io::ErrorKind::UnexpectedEof => {
                self.check()?;
                Err(Error::read(self.place().at(offset), cause))
            }
            Err(cause) => Err(Error::read(self.place().at(offset), cause)),
        }
    }

    /// Asks for the first and the last byte, if they are in the page cache; once if both are in one page. A
    /// file system that cannot tell (some network ones) counts as slow.
    fn is_cached(&self, range: &Range<u64>) -> bool {
        let there = |at: u64| is_byte_cached(&self.file, at);
        let last = range.end.saturating_sub(1);
        there(last) && (range.start / PAGE == last / PAGE || there(range.start))
    }

    /// Whatever the kernel cannot answer at once, or not in this way, is left to a read that waits.
    fn read_if_cached(&self, buf: &mut [u8], offset: u64) -> Result<bool> {
        #[cfg(debug_assertions)]
        panic_if_wanted(offset, buf.len() as u64);
        let wanted = buf.len();
        let read =
            rustix::io::preadv2(&self.file, &mut [IoSliceMut::new(buf)], offset, ReadWriteFlags::NOWAIT);
        Ok(read.is_ok_and(|count| count == wanted))
    }

    /// Starts to read, and does not wait.
    fn will_need(&self, range: Range<u64>) {
        let len = NonZeroU64::new(range.end.saturating_sub(range.start));
        if let Err(cause) = rustix::fs::fadvise(&self.file, range.start, len, Advice::WillNeed) {
            log::debug!("nothing is read ahead: {cause}");
        }
    }

    fn map(&self, range: Range<u64>) -> Option<Mapped> {
        if self.stamp.len < MAPPED {
            return None;
        }
        #[cfg(debug_assertions)]
        panic_if_wanted(range.start, range.end.saturating_sub(range.start));
        self.map.get_or_init(|| Map::new(&self.file)).as_ref()?.range(range)
    }

    fn file(&self) -> Option<&File> {
        Some(&self.file)
    }

    fn check(&self) -> Result<()> {
        if self.is_live {
            return Ok(());
        }
        if self.changed.load(Ordering::Relaxed) {
            return Err(Error::Changed { file: self.path.clone() });
        }
        let meta = self.file.metadata().map_err(|cause| Error::read(self.place(), cause))?;
        if Stamp::of(&meta) == self.stamp { Ok(()) } else { Err(self.mark_changed()) }
    }
}

/// Tests see what becomes of a panic: reading the byte that RAB_TEST_PANIC_AT names is one.
#[cfg(debug_assertions)]
fn panic_if_wanted(offset: u64, len: u64) {
    static AT: LazyLock<Option<u64>> =
        LazyLock::new(|| std::env::var("RAB_TEST_PANIC_AT").ok()?.parse().ok());
    let is_read = AT.and_then(|at| at.checked_sub(offset)).is_some_and(|at| at < len);
    assert!(!is_read, "a test wants a panic\nat byte {}", AT.unwrap_or(0));
}

#[cfg(target_os = "linux")]
fn is_byte_cached(file: &File, at: u64) -> bool {
    let mut byte = [0];
    let into = &mut [std::io::IoSliceMut::new(&mut byte)];
    rustix::io::preadv2(file, into, at, rustix::io::ReadWriteFlags::NOWAIT).is_ok()
}

/// Other systems cannot tell.
#[cfg(not(target_os = "linux"))]
fn is_byte_cached(_: &File, _: u64) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn a_grown_file_fails_for_ever() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(b"abcdef").unwrap();
        let source = FileSource::open(file.path()).unwrap();
        assert_eq!(source.read_range(2..4).unwrap(), b"cd");
        file.write_all(b"g").unwrap();
        assert!(matches!(source.read_range(2..4), Err(Error::Changed { .. })));
        file.as_file().set_len(6).unwrap();
        assert!(matches!(source.check(), Err(Error::Changed { .. })));
    }

    #[test]
    fn directories_and_pipes_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let message = |path: &Path| FileSource::open(path).err().unwrap().to_string();
        assert!(message(dir.path()).contains("it is a directory"));
        let pipe = dir.path().join("pipe");
        nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRUSR).unwrap();
        assert!(message(&pipe).contains("it is a pipe"));
    }
}
