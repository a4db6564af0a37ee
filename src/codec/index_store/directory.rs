//! The directory of index files: that it and they belong to this user alone (somebody else's index could make
//! us serve wrong bytes), and that all of them together stay under the limit. Only names that we give are ever
//! removed: the directory may be one that holds other things.

use std::ffi::OsStr;
use std::fs::{self, DirBuilder, File, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use rustix::fs::FlockOperation;

/// A temporary file this old was left by a process that died.
const LEFT_OVER: Duration = Duration::from_secs(3600);

#[derive(Clone)]
pub struct Directory {
    pub path: PathBuf,
    /// Bytes of all index files together.
    pub limit: u64,
}

impl Directory {
    /// Fails unless it is there, and nobody else can put files into it.
    pub fn check(&self) -> io::Result<()> {
        let meta = fs::symlink_metadata(&self.path)?;
        is_ours(&meta, meta.is_dir(), "a directory").map_err(io::Error::other)
    }

    /// Creates what is missing, for this user alone.
    pub fn create(&self) -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.path)?;
        self.check()
    }

    /// Drops what was used longest ago until the rest is under the limit, but neither `own` nor what another
    /// mount has locked. False if that is not enough.
    ///
    /// `own` is not even opened: where locks belong to processes, closing it would give ours up.
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

    /// Removes what processes left that died while they wrote a file.
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

fn is_ours(meta: &Metadata, is_kind: bool, kind: &str) -> Result<(), String> {
    let uid = nix::unistd::geteuid().as_raw();
    if !is_kind {
        Err(format!("it is not {kind}"))
    } else if meta.uid() != uid {
        Err(format!("it belongs to user {}, not to {uid}", meta.uid()))
    } else if meta.mode() & 0o022 != 0 {
        Err(format!("other users may write to it (mode {:o})", meta.mode() & 0o777))
    } else {
        Ok(())
    }
}

/// Opens a file that nobody else can have written.
pub fn open(path: &Path, write: bool) -> io::Result<File> {
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_NOCTTY;
    let file = OpenOptions::new().read(true).write(write).custom_flags(flags).open(path)?;
    let meta = file.metadata()?;
    is_ours(&meta, meta.is_file(), "a regular file").map_err(io::Error::other)?;
    Ok(file)
}

/// Locks the file for this process, until its last descriptor is closed; false if it cannot be had at once.
pub fn lock(file: &File) -> bool {
    rustix::fs::flock(file, FlockOperation::NonBlockingLockExclusive).is_ok()
}

/// Gives the lock up, whoever else has the file open by the same description.
pub fn unlock(file: &File) {
    let _ = rustix::fs::flock(file, FlockOperation::Unlock);
}

/// Is it this file that has the name?
pub fn is_at(file: &File, path: &Path) -> bool {
    let (Ok(open), Ok(there)) = (file.metadata(), fs::symlink_metadata(path)) else {
        return false;
    };
    (open.dev(), open.ino()) == (there.dev(), there.ino())
}

fn remove_unlocked(path: &Path) -> bool {
    open(path, true).is_ok_and(|file| lock(&file) && is_at(&file, path) && fs::remove_file(path).is_ok())
}

/// A new file beside its later place, locked; gone with this if it never got there.
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
        // Left by a dead process that had our number.
        let _ = fs::remove_file(&path);
        let file = OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(&path)?;
        let new = Temporary { file, path, target: target.to_owned() };
        if lock(&new.file) { Ok(new) } else { Err(io::Error::other("it cannot be locked")) }
    }

    /// Gives it its name, in place of what has that now.
    pub fn keep(self) -> io::Result<File> {
        self.file.sync_all()?;
        fs::rename(&self.path, &self.target)?;
        self.file.try_clone()
    }
}

impl Drop for Temporary {
    /// In vain when it was kept.
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}
