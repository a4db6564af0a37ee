//! What a file on disk is shown as: a directory, a container (which is a directory then), itself, a link, or not at
//! all. Names are looked for in directories that are opened and compared with what they were, so that nobody who may
//! rename things below the root leads us out of it.

use std::ffi::{OsStr, OsString};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use std::{fs, io};

use lru::LruCache;
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, fstat, openat, statat};

use super::nodes::Node;
use super::options::Options;
use crate::error::Place;
use crate::format::{self, Candidate, Format, HEAD};
use crate::source::resolve;
use crate::tree::{Kind, Size, Stat};
use crate::{Error, Result};

/// Files of which it is remembered whether they are containers: 16 MiB of memory.
const REMEMBERED: std::num::NonZeroUsize = std::num::NonZeroUsize::new(200_000).unwrap();

/// What a file is shown as.
#[derive(Clone, Copy)]
pub enum What {
    Directory,
    Container(&'static dyn Format),
    File,
    Link,
}

impl What {
    pub fn kind(self) -> Kind {
        match self {
            What::Directory | What::Container(_) => Kind::Directory { subdirectories: None },
            What::File => Kind::File,
            What::Link => Kind::Link,
        }
    }

    pub fn number(self) -> u8 {
        match self {
            What::Directory => 0,
            What::Container(_) => 1,
            What::File => 2,
            What::Link => 3,
        }
    }
}

/// What tells one file from another, and one content from another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Identity {
    pub device: u64,
    pub inode: u64,
    pub len: u64,
    /// Seconds and nanoseconds.
    pub modified: (i64, i64),
}

impl Identity {
    pub fn same_file(&self, other: &Identity) -> bool {
        (self.device, self.inode) == (other.device, other.inode)
    }
}

/// A file that was looked at.
#[derive(Clone, Copy)]
pub struct Judged {
    pub what: What,
    pub identity: Identity,
    /// Bytes on disk.
    stored: u64,
    mode: u32,
    /// What the directories leave of it that a link leads through.
    allowed: u16,
}

impl Default for Judged {
    /// A directory that is on no disk.
    fn default() -> Judged {
        Judged {
            what: What::Directory,
            identity: Identity::default(),
            stored: 0,
            mode: 0o555,
            allowed: 0o777,
        }
    }
}

impl Judged {
    fn new(what: What, stat: &rustix::fs::Stat) -> Judged {
        let stored = 512 * stat.st_blocks as u64;
        Judged { what, identity: identity(stat), stored, mode: stat.st_mode, allowed: 0o777 }
    }

    /// The same file as it is now.
    fn now(&self, stat: &rustix::fs::Stat) -> Judged {
        Judged { allowed: self.allowed, ..Judged::new(self.what, stat) }
    }

    /// The same file as it is now, wherever it is.
    pub fn now_open(&self, file: impl AsFd) -> Option<Judged> {
        fstat(file).ok().map(|stat| self.now(&stat))
    }

    /// Is it the same in everything that a node keeps?
    pub fn is_same(&self, other: &Judged) -> bool {
        let is_unchanged = match self.what {
            What::Container(_) => (self.identity, self.mode) == (other.identity, other.mode),
            _ => self.identity.same_file(&other.identity),
        };
        is_unchanged && self.what.number() == other.what.number() && self.allowed == other.allowed
    }

    /// What two that are the same have in common, and is in a directory's listing already.
    pub fn hash(&self, hasher: &mut impl Hasher) {
        (self.what.number(), self.identity.inode, self.allowed).hash(hasher);
        if let What::Container(_) = self.what {
            (self.identity.len, self.identity.modified, self.mode).hash(hasher);
        }
    }

    /// A directory of which only the inode number is known.
    pub fn directory(inode: u64) -> Judged {
        Judged { identity: Identity { inode, ..Identity::default() }, ..Judged::default() }
    }

    pub fn stat(&self) -> Stat {
        let size = match self.what {
            What::File | What::Link => Size { len: Some(self.identity.len), stored: self.stored },
            What::Directory | What::Container(_) => Size::NOTHING,
        };
        let is_on_disk = self.identity != Identity::default();
        Stat {
            kind: self.what.kind(),
            size,
            modified: is_on_disk.then(|| time(self.identity.modified)),
            permissions: self.permissions(),
        }
    }

    /// Who may read a container may look into it.
    fn permissions(&self) -> u16 {
        let bits = self.mode as u16 & self.allowed;
        match self.what {
            What::Container(_) => (bits & 0o444) | (bits & 0o444) >> 2,
            What::Link => 0o777,
            What::Directory | What::File => bits & 0o555,
        }
    }
}

fn identity(stat: &rustix::fs::Stat) -> Identity {
    Identity {
        device: stat.st_dev,
        inode: stat.st_ino,
        len: stat.st_size as u64,
        modified: (stat.st_mtime, stat.st_mtime_nsec as i64),
    }
}

fn time((seconds, nanoseconds): (i64, i64)) -> SystemTime {
    let whole = Duration::from_secs(seconds.unsigned_abs());
    let base = if seconds < 0 { UNIX_EPOCH.checked_sub(whole) } else { UNIX_EPOCH.checked_add(whole) };
    base.unwrap_or(UNIX_EPOCH) + Duration::from_nanos(nanoseconds.clamp(0, 999_999_999) as u64)
}

/// The root of the tree of a directory.
pub fn root(path: &Path) -> Result<Node> {
    let failed = |cause| Error::open(path, cause);
    let path = path.canonicalize().map_err(failed)?;
    let stat = statat(CWD, &path, AtFlags::empty()).map_err(|errno| failed(errno.into()))?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::Directory {
        return Err(failed(io::Error::from(io::ErrorKind::NotADirectory)));
    }
    Ok(Node::root(path, Some(Judged::new(What::Directory, &stat))))
}

/// The format, if it is a container.
type Verdict = Option<&'static dyn Format>;

pub struct Judge {
    pub options: Options,
    /// Is a file of this identity and (the hash of) this name a container?
    verdicts: Mutex<LruCache<(Identity, u64), Verdict>>,
}

impl Judge {
    pub fn new(options: Options) -> Judge {
        Judge { options, verdicts: Mutex::new(LruCache::new(REMEMBERED)) }
    }

    /// The file `name` in `dir`; None if there is none that is shown.
    pub fn look_at(&self, dir: &Arc<Node>, name: &OsStr) -> Result<Option<Judged>> {
        match open_directory(dir)? {
            Some(fd) => self.look_in(dir, fd.as_fd(), name),
            None => self.look_in(dir, CWD, name),
        }
    }

    /// As [`Judge::look_at`], in a directory that is open.
    pub fn look_in(&self, dir: &Arc<Node>, fd: impl AsFd, name: &OsStr) -> Result<Option<Judged>> {
        let failed = |errno: rustix::io::Errno| Error::read(place(dir, name), errno.into());
        let stat = match statat(&fd, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => stat,
            Err(rustix::io::Errno::NOENT) => return Ok(None),
            Err(errno) => return Err(failed(errno)),
        };
        let judged = match FileType::from_raw_mode(stat.st_mode) {
            FileType::Symlink => self.follow(dir, name, &stat)?,
            _ => self.of_stat(dir, &fd, name, name, &stat)?,
        };
        Ok(judged.filter(|judged| self.shows(dir, name, judged.what)))
    }

    /// What `stat` says of the file at `path` below `fd`; `name` is what it is shown as.
    fn of_stat(
        &self,
        dir: &Node,
        fd: impl AsFd,
        path: &OsStr,
        name: &OsStr,
        stat: &rustix::fs::Stat,
    ) -> Result<Option<Judged>> {
        Ok(match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory => Some(Judged::new(What::Directory, stat)),
            FileType::RegularFile => {
                let format = self.format(dir, fd, path, name, stat)?;
                Some(Judged::new(format.map_or(What::File, What::Container), stat))
            }
            _ => None,
        })
    }

    /// A link is followed if it leads to something below the root (not to a directory that it is in itself). Who may
    /// not go the way that it leads may not read what is there either.
    fn follow(&self, dir: &Arc<Node>, name: &OsStr, link: &rustix::fs::Stat) -> Result<Option<Judged>> {
        let itself = Ok(Some(Judged::new(What::Link, link)));
        let Ok(target) = resolve(&dir.path().join(name), self.options.mountpoint.as_deref()) else {
            return itself;
        };
        let identity = identity(&target.stat);
        if dir.ancestors().any(|node| node.found.identity.same_file(&identity)) {
            return itself;
        }
        let allowed = match root_of(dir) {
            // A source that the user names is what it leads to.
            _ if dir.is_sources() => 0o777,
            Some(root) if target.path.starts_with(&root) => target.permissions(Some(&root)),
            _ if self.options.follow_outside => target.permissions(None),
            _ => return itself,
        };
        let found = self.of_stat(dir, CWD, target.path.as_os_str(), name, &target.stat)?;
        Ok(found.map(|found| Judged { allowed, ..found }))
    }

    /// Is it shown by its name, its depth and what it is?
    pub fn shows(&self, dir: &Node, name: &OsStr, what: What) -> bool {
        let options = &self.options;
        let is_directory = matches!(what, What::Directory);
        if is_directory && options.max_depth.is_some_and(|most| !dir.is_sources() && dir.level() >= most) {
            return false;
        }
        if options.only_containers && matches!(what, What::File | What::Link) {
            return false;
        }
        let filter = &options.filter;
        filter.is_empty() || filter.shows(&dir.below_root().join(name), is_directory)
    }

    /// The format of a regular file, if it is a container. A file that may not be read is none.
    fn format(
        &self,
        dir: &Node,
        fd: impl AsFd,
        path: &OsStr,
        name: &OsStr,
        stat: &rustix::fs::Stat,
    ) -> Result<Option<&'static dyn Format>> {
        let identity = identity(stat);
        if identity.len == 0 {
            return Ok(None);
        }
        let mut hasher = DefaultHasher::new();
        name.hash(&mut hasher);
        let key = (identity, hasher.finish());
        let known = self.verdicts.lock().unwrap_or_else(PoisonError::into_inner).get(&key).copied();
        if let Some(known) = known {
            return Ok(known);
        }
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
        let file = match openat(fd, path, flags, Mode::empty()) {
            Ok(file) => file,
            // That says nothing of the file.
            Err(errno @ (rustix::io::Errno::MFILE | rustix::io::Errno::NFILE | rustix::io::Errno::NOMEM)) => {
                return Err(Error::read(place(dir, name), errno.into()));
            }
            Err(_) => return Ok(None),
        };
        let mut head = [0; HEAD];
        let mut have = 0;
        // One read, but for file systems that give less than there is.
        while let Some(rest) = head.get_mut(have..).filter(|rest| !rest.is_empty()) {
            match rustix::io::pread(&file, rest, have as u64) {
                Ok(0) => break,
                Ok(count) => have += count,
                Err(rustix::io::Errno::INTR) => {}
                Err(_) => return Ok(None),
            }
        }
        let path = dir.path().join(name);
        let candidate = Candidate {
            path: &path,
            head: head.get(..have).unwrap_or_default(),
            len: identity.len,
            asked_for: false,
        };
        let format = match &self.options.formats.format {
            Some(name) => Some(format::named(name)?).filter(|format| format.detect(&candidate)),
            None => format::detect(&candidate),
        };
        // It may be another file by now.
        if fstat(&file).is_ok_and(|stat| self::identity(&stat) == identity) {
            self.verdicts.lock().unwrap_or_else(PoisonError::into_inner).put(key, format);
        }
        Ok(format)
    }

    /// What a node is now, for who looks at it again.
    pub fn look_again(&self, node: &Arc<Node>) -> Result<Stat> {
        let Some(parent) = &node.parent else {
            if node.name.is_empty() {
                return Ok(node.found.stat());
            }
            let stat = statat(CWD, Path::new(&node.name), AtFlags::empty()).map_err(|errno| match errno {
                rustix::io::Errno::NOENT => Error::NotFound,
                errno => Error::read(Place::file(&node.path()), errno.into()),
            })?;
            return Ok(Judged::new(What::Directory, &stat).stat());
        };
        if let What::Link = node.what {
            return Ok(node.found.stat());
        }
        let stat = match open_directory(parent)? {
            Some(fd) => statat(fd, &node.name, AtFlags::empty()),
            None => statat(CWD, &node.name, AtFlags::empty()),
        };
        let stat = stat.map_err(|_| Error::NotFound)?;
        // Another file of the same name is another node.
        if !identity(&stat).same_file(&node.found.identity) {
            return Err(Error::NotFound);
        }
        Ok(node.found.now(&stat).stat())
    }

    pub fn link(&self, node: &Node) -> Result<Vec<u8>> {
        let path = node.path();
        let target = fs::read_link(&path).map_err(|cause| Error::read(Place::file(&path), cause))?;
        Ok(OsString::from(target).into_vec())
    }
}

/// Of several sources each is a root of its own.
fn root_of(dir: &Arc<Node>) -> Option<PathBuf> {
    let root = dir.ancestors().filter(|node| !node.is_sources()).last()?;
    root.path().canonicalize().ok()
}

fn place(dir: &Node, name: &OsStr) -> Place {
    Place::file(&dir.path().join(name))
}

/// A directory as it was when it was found; None for the root of several sources, which is on no disk.
pub fn open_directory(dir: &Node) -> Result<Option<OwnedFd>> {
    let path: PathBuf = dir.path();
    if path.as_os_str().is_empty() {
        return Ok(None);
    }
    let failed = |errno: rustix::io::Errno| match errno {
        rustix::io::Errno::NOENT | rustix::io::Errno::NOTDIR => Error::NotFound,
        errno => Error::read(Place::file(&path), errno.into()),
    };
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let fd = openat(CWD, &path, flags, Mode::empty()).map_err(failed)?;
    let stat = fstat(&fd).map_err(failed)?;
    match identity(&stat).same_file(&dir.found.identity) {
        true => Ok(Some(fd)),
        false => Err(Error::NotFound),
    }
}

/// When a directory was last modified.
pub fn modified(fd: &OwnedFd) -> Option<(i64, i64)> {
    fstat(fd).ok().map(|stat| identity(&stat).modified)
}
