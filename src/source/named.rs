//! Files referenced by a container, beside it or elsewhere: resolved by rules that confine a hostile container to its
//! own directory, opened when they are read, and closed when too many are open.
//!
//! Invariants: the file read is the file that was resolved, or the read fails; only regular files are opened, and none
//! below our own mountpoint.

use std::io;
use std::num::NonZeroUsize;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use lru::LruCache;
use parking_lot::Mutex;
use rustix::fs::FileType;

use super::{Mapped, Source, below_url, is_url, location, resolve, url};
use crate::error::Place;
use crate::{Error, Result};

/// Named files that are open at a time, of all containers together.
const MAX_OPEN: NonZeroUsize = NonZeroUsize::new(128).unwrap();

/// The named files that are open: the one that was not used for longest is closed first.
pub struct OpenFiles {
    next: AtomicU64,
    held: Mutex<LruCache<u64, Arc<dyn Source>>>,
}

impl Default for OpenFiles {
    fn default() -> OpenFiles {
        OpenFiles { next: AtomicU64::new(0), held: Mutex::new(LruCache::new(MAX_OPEN)) }
    }
}

/// Which files a container may name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    /// Those outside of the container's directory too.
    pub follow_outside: bool,
    /// Beginnings of URLs outside of the container's directory.
    pub allowed_urls: Vec<String>,
    /// Where we are mounted, absolute and without links: to look into it would be to wait for ourselves.
    pub mountpoint: Option<PathBuf>,
}

/// The files that one container names.
pub struct Siblings {
    container: PathBuf,
    policy: Policy,
    files: Arc<OpenFiles>,
    /// The container's directory, without links.
    root: OnceLock<PathBuf>,
}

impl Siblings {
    pub fn new(container: &Path, policy: Policy, files: Arc<OpenFiles>) -> Siblings {
        Siblings { container: container.to_owned(), policy, files, root: OnceLock::new() }
    }

    fn root(&self) -> io::Result<&Path> {
        if let Some(root) = self.root.get() {
            return Ok(root);
        }
        let directory = self.container.parent().filter(|parent| !parent.as_os_str().is_empty());
        let root = directory.unwrap_or(Path::new(".")).canonicalize()?;
        Ok(self.root.get_or_init(|| root))
    }

    /// The file at `name`, which is absolute or counts from the container's directory. Nothing is opened yet.
    pub fn find(&self, name: &Path) -> Result<Named> {
        self.look_for(name).map_err(|cause| Error::read(Place::file(name), cause))
    }

    fn look_for(&self, name: &Path) -> io::Result<Named> {
        if name.as_os_str().is_empty() {
            return Err(io::Error::other("the path is empty"));
        }
        let text = name.to_str().unwrap_or_default();
        match (url(&self.container), is_url(text)) {
            (None, false) => self.look_for_file(name),
            (container, _) => {
                let found = below_url::resolve(container, text, &self.policy.allowed_urls);
                self.look_for_object(Path::new(&found.map_err(io::Error::other)?))
            }
        }
    }

    /// An object is opened at once: only then its length is known.
    fn look_for_object(&self, path: &Path) -> io::Result<Named> {
        let source = location::open(path, false).map_err(|error| match error {
            Error::Open { cause, .. } => io::Error::new(cause.kind(), cause.to_string()),
            error => io::Error::other(error),
        })?;
        let number = self.files.next.fetch_add(1, Ordering::Relaxed);
        let seen = Seen::of(&*source);
        drop(self.files.held.lock().push(number, source));
        let changed = AtomicBool::new(false);
        let shown = Some(location::without_secrets(path));
        Ok(Named { path: path.to_owned(), shown, seen, changed, number, files: self.files.clone() })
    }

    fn look_for_file(&self, name: &Path) -> io::Result<Named> {
        let refused = |problem: &str| Err(io::Error::other(problem));
        let root = self.root()?;
        let target = resolve(&root.join(name), self.policy.mountpoint.as_deref())?;
        if !self.policy.follow_outside && !target.path.starts_with(root) {
            return refused("it lies outside of the container's directory (--follow-outside permits that)");
        }
        let is_same =
            |own: rustix::fs::Stat| (own.st_dev, own.st_ino) == (target.stat.st_dev, target.stat.st_ino);
        if rustix::fs::stat(&self.container).is_ok_and(is_same) {
            return refused("it is the container itself, which has no data for itself");
        }
        match FileType::from_raw_mode(target.stat.st_mode) {
            FileType::RegularFile => {}
            FileType::Directory => return refused("it is a directory, not a regular file"),
            _ => return refused("it is not a regular file"),
        }
        Ok(Named {
            path: target.path,
            shown: None,
            seen: Seen {
                file_id: (target.stat.st_dev, target.stat.st_ino),
                stamp: (target.stat.st_mtime, target.stat.st_mtime_nsec as i64),
                len: target.stat.st_size as u64,
            },
            changed: AtomicBool::new(false),
            number: self.files.next.fetch_add(1, Ordering::Relaxed),
            files: self.files.clone(),
        })
    }
}

/// What a file was when it was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Seen {
    /// Device and inode number, or what identifies the version of an object.
    file_id: (u64, u64),
    /// When it was modified, in seconds and nanoseconds.
    stamp: (i64, i64),
    len: u64,
}

impl Seen {
    fn of(source: &dyn Source) -> Seen {
        let stamp = match source.modified().duration_since(UNIX_EPOCH) {
            Ok(since) => (since.as_secs() as i64, since.subsec_nanos().into()),
            // Nanoseconds count forwards before 1970 too.
            Err(before) => {
                let before = before.duration();
                let nanos = i64::from(before.subsec_nanos());
                (-(before.as_secs() as i64) - i64::from(nanos > 0), (1_000_000_000 - nanos) % 1_000_000_000)
            }
        };
        Seen { file_id: source.file_id().unwrap_or_default(), stamp, len: source.len() }
    }
}

/// A file that was found. Its length and its bytes are those it had then, or reads fail.
pub struct Named {
    path: PathBuf,
    /// What messages call it, if that is not its path.
    shown: Option<PathBuf>,
    seen: Seen,
    changed: AtomicBool,
    number: u64,
    files: Arc<OpenFiles>,
}

impl Named {
    pub fn seen(&self) -> Seen {
        self.seen
    }

    fn open(&self) -> Result<Arc<dyn Source>> {
        if self.changed.load(Ordering::Relaxed) {
            return Err(Error::Changed { file: self.path().to_owned() });
        }
        if let Some(open) = self.files.held.lock().get(&self.number) {
            return Ok(open.clone());
        }
        let source = location::open(&self.path, false)?;
        if Seen::of(&*source) != self.seen {
            return Err(self.mark_changed());
        }
        // Closing is not done under the lock.
        let closed = self.files.held.lock().push(self.number, source.clone());
        drop(closed);
        Ok(source)
    }

    /// The first to notice says so in the log.
    fn mark_changed(&self) -> Error {
        let error = Error::Changed { file: self.path().to_owned() };
        if !self.changed.swap(true, Ordering::Relaxed) {
            log::error!("{error}");
        }
        error
    }
}

impl Drop for Named {
    fn drop(&mut self) {
        let closed = self.files.held.lock().pop(&self.number);
        drop(closed);
    }
}

impl Source for Named {
    fn path(&self) -> &Path {
        self.shown.as_deref().unwrap_or(&self.path)
    }

    fn len(&self) -> u64 {
        self.seen.len
    }

    fn modified(&self) -> SystemTime {
        let (seconds, nanoseconds) = self.seen.stamp;
        let whole = Duration::from_secs(seconds.unsigned_abs());
        let base = if seconds < 0 { UNIX_EPOCH.checked_sub(whole) } else { UNIX_EPOCH.checked_add(whole) };
        base.unwrap_or(UNIX_EPOCH) + Duration::from_nanos(nanoseconds.clamp(0, 999_999_999) as u64)
    }

    fn read_exact_at(&self, buf: &mut [u8], offset: u64) -> Result<()> {
        self.open()?.read_exact_at(buf, offset)
    }

    /// An open file answers; of one that was closed meanwhile it is asked what its path leads to.
    fn check(&self) -> Result<()> {
        self.open()?.check()
    }

    fn is_cached(&self, range: &Range<u64>) -> bool {
        self.open().is_ok_and(|source| source.is_cached(range))
    }

    fn read_if_cached(&self, buf: &mut [u8], offset: u64) -> Result<bool> {
        self.open()?.read_if_cached(buf, offset)
    }

    fn will_need(&self, range: Range<u64>) {
        if let Ok(source) = self.open() {
            source.will_need(range);
        }
    }

    fn map(&self, range: Range<u64>) -> Option<Mapped> {
        self.open().ok()?.map(range)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    fn siblings(root: &Path, follow_outside: bool) -> Siblings {
        let policy = Policy { follow_outside, mountpoint: Some(root.join("mnt")), ..Policy::default() };
        Siblings::new(&root.join("table"), policy, Arc::default())
    }

    #[test]
    fn only_regular_files_of_the_directory_are_found() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap().join("root");
        fs::create_dir_all(root.join("sub")).unwrap();
        fs::create_dir_all(root.join("mnt")).unwrap();
        fs::write(root.join("sub/a"), "abc").unwrap();
        fs::write(root.join("mnt/b"), "abc").unwrap();
        fs::write(root.join("../out"), "out").unwrap();
        fs::write(root.join("table"), "table").unwrap();
        symlink("../out", root.join("link")).unwrap();
        symlink("sub/a", root.join("inside")).unwrap();
        let absolute = root.join("sub/a");
        let inside = ["sub/a", "./sub/../sub/a", "inside", absolute.to_str().unwrap()];
        for follow in [false, true] {
            let siblings = siblings(&root, follow);
            for name in inside {
                let found = siblings.find(Path::new(name)).unwrap();
                assert_eq!(found.read_range(1..3).unwrap(), b"bc", "{name}");
            }
            for name in ["", "sub", "/dev/zero", "none", "a\0b", "mnt/b", "table", "./sub/../table"] {
                assert!(siblings.find(Path::new(name)).is_err(), "{name:?}");
            }
            for name in ["../out", "link", "/etc/hostname"] {
                let found = siblings.find(Path::new(name));
                assert_eq!(found.is_ok(), follow && root.join(name).is_file(), "{name}");
            }
        }
        let message = siblings(&root, false).find(Path::new("link")).err().unwrap().to_string();
        assert!(message.contains("outside"), "{message}");
    }

    #[test]
    fn a_file_that_is_replaced_is_read_no_more() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        fs::write(&path, "abc").unwrap();
        let found = siblings(dir.path(), false).find(Path::new("a")).unwrap();
        fs::remove_file(&path).unwrap();
        fs::write(&path, "abcd").unwrap();
        assert!(matches!(found.read_range(0..1), Err(Error::Changed { .. })));
        fs::remove_file(&path).unwrap();
        assert!(matches!(found.read_range(0..1), Err(Error::Changed { .. })));
    }

    #[test]
    fn few_files_are_open() {
        let dir = tempfile::tempdir().unwrap();
        let siblings = siblings(dir.path(), false);
        let found: Vec<Named> = (0..300)
            .map(|number| {
                fs::write(dir.path().join(number.to_string()), number.to_string()).unwrap();
                siblings.find(Path::new(&number.to_string())).unwrap()
            })
            .collect();
        for (number, file) in found.iter().enumerate() {
            assert_eq!(file.read_range(0..file.len()).unwrap(), number.to_string().into_bytes());
        }
        assert!(siblings.files.held.lock().len() <= MAX_OPEN.get());
        drop(found);
        assert!(siblings.files.held.lock().is_empty());
    }
}
