//! The directory of index files. Makes sure that it and the files belong to this user alone (somebody else's index
//! could make us serve wrong bytes), and that their total size stays under the limit. Only files with names of our
//! pattern are ever removed, as the directory may hold other things.

use std::ffi::OsStr;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use rustix::fs::FlockOperation;

use crate::private;

/// A temporary file this old was left by a process that died.
const LEFT_OVER: Duration = Duration::from_secs(3600);

#[derive(Clone)]
pub struct Directory {
    pub path: PathBuf,
    /// Maximum total bytes of all index files.
    pub limit: u64,
}

impl Directory {
    /// Fails unless the directory exists and nobody else can write to it.
    pub fn check(&self) -> io::Result<()> {
        private::check_directory(&self.path)
    }

    /// Creates missing directories, private to this user.
    pub fn create(&self) -> io::Result<()> {
        private::create_directory(&self.path)
    }

    /// Removes the least recently used files until the rest is under the limit, except `own` and files that another
    /// mount has locked. Returns false if that is not enough.
    ///
    /// `own` is not even opened: where locks belong to processes, closing it would release ours.
    pub fn shrink(&self, own: &Path) -> bool {
        let mut files = self.files();
        files.sort_unstable_by_key(|(_, meta)| (meta.mtime(), meta.mtime_nsec()));
        let mut total: u64 = files.iter().fold(0, |sum, (_, meta)| sum.saturating_add(meta.len()));
        for (path, meta) in files {
            if total > self.limit && path != own && remove_unlocked(&path) {
                log::info!("{}: dropped, all indexes together were over the limit", path.display());
                total = total.saturating_sub(meta.len());
            }
        }
        total <= self.limit
    }

    /// Removes temporary files of processes that died while writing.
    pub fn remove_left_over(&self) {
        let is_old = |path: &Path| {
            let modified = fs::symlink_metadata(path).and_then(|meta| meta.modified());
            modified.is_ok_and(|at| SystemTime::now().duration_since(at).is_ok_and(|age| age > LEFT_OVER))
        };
        for path in self.names(is_temporary).filter(|path| is_old(path)) {
            let _ = fs::remove_file(path);
        }
    }

    fn files(&self) -> Vec<(PathBuf, Metadata)> {
        let files = self.names(is_index).filter_map(|path| Some((fs::symlink_metadata(&path).ok()?, path)));
        files.filter(|(meta, _)| meta.is_file()).map(|(meta, path)| (path, meta)).collect()
    }

    fn names(&self, is_one: fn(&str) -> bool) -> impl Iterator<Item = PathBuf> {
        let entries = fs::read_dir(&self.path).into_iter().flatten().flatten();
        let of_kind = move |path: &PathBuf| path.file_name().and_then(OsStr::to_str).is_some_and(is_one);
        entries.map(|entry| entry.path()).filter(of_kind)
    }
}

/// `0123456789abcdef0123456789abcdef.idx`
fn is_index(name: &str) -> bool {
    name.strip_suffix(".idx").is_some_and(|stem| stem.len() == 32 && is_hexadecimal(stem))
}

/// An index file's name, and `.PID-NUMBER.tmp`.
fn is_temporary(name: &str) -> bool {
    let parts = name.strip_suffix(".tmp").and_then(|rest| rest.rsplit_once('.'));
    parts.is_some_and(|(index, number)| {
        is_index(index) && number.bytes().all(|b| b == b'-' || b.is_ascii_digit())
    })
}

fn is_hexadecimal(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// Tries to lock the file, without blocking, until its last descriptor is closed.
pub fn lock(file: &File) -> bool {
    rustix::fs::flock(file, FlockOperation::NonBlockingLockExclusive).is_ok()
}

/// Releases the lock, even if others share the same open file description.
pub fn unlock(file: &File) {
    let _ = rustix::fs::flock(file, FlockOperation::Unlock);
}

/// Does `path` still refer to this file?
pub fn is_at(file: &File, path: &Path) -> bool {
    let (Ok(open), Ok(there)) = (file.metadata(), fs::symlink_metadata(path)) else {
        return false;
    };
    (open.dev(), open.ino()) == (there.dev(), there.ino())
}

fn remove_unlocked(path: &Path) -> bool {
    private::open(path, true)
        .is_ok_and(|file| lock(&file) && is_at(&file, path) && fs::remove_file(path).is_ok())
}

/// A new, locked file in the directory of its target; removed on drop unless kept.
pub struct Temporary {
    pub file: File,
    path: PathBuf,
    target: PathBuf,
}

impl Temporary {
    pub fn new(target: &Path) -> io::Result<Temporary> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let mut name = target.as_os_str().to_owned();
        name.push(format!(".{}-{number}.tmp", std::process::id()));
        let path = PathBuf::from(name);
        // Left by a dead process with the same id.
        let _ = fs::remove_file(&path);
        let file = OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(&path)?;
        let new = Temporary { file, path, target: target.to_owned() };
        if lock(&new.file) { Ok(new) } else { Err(io::Error::other("it cannot be locked")) }
    }

    /// Renames it to its target, replacing any file there.
    pub fn keep(self) -> io::Result<File> {
        self.file.sync_all()?;
        fs::rename(&self.path, &self.target)?;
        self.file.try_clone()
    }
}

impl Drop for Temporary {
    /// Has no effect if the file was kept.
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}
