//! Decides how a file on disk is shown: as a directory, a container (which is then a directory), a plain file, a link,
//! or not at all. Names are looked up in directories that were opened and compared with their known identity, so that
//! renaming things below the root cannot lead outside of it.

use std::ffi::{OsStr, OsString};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fs, io};

use lru::LruCache;
use parking_lot::Mutex;
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, fstat, openat, statat};
use rustix::io::{Errno, pread};

use super::classified::{Classified, EntryKind, Identity, identity};
use super::nodes::Node;
use super::objects::Objects;
use super::options::Options;
use crate::error::Place;
use crate::format::{self, Candidate, Format, HEAD};
use crate::source::{resolve, url};
use crate::tree::Stat;
use crate::{Error, Result};

/// Files of which it is remembered whether they are containers: 16 MiB of memory.
const REMEMBERED: std::num::NonZeroUsize = std::num::NonZeroUsize::new(200_000).unwrap();

/// The root of the tree of a directory, or of the prefix that a URL is.
pub fn root(path: &Path) -> Result<Node> {
    let failed = |cause| Error::open(path, cause);
    if let Some(url) = url(path) {
        return Objects::root(url);
    }
    let path = path.canonicalize().map_err(failed)?;
    let stat = statat(CWD, &path, AtFlags::empty()).map_err(|errno| failed(errno.into()))?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::Directory {
        return Err(failed(io::Error::from(io::ErrorKind::NotADirectory)));
    }
    Ok(Node::root(path, Some(Classified::new(EntryKind::Directory, &stat))))
}

/// The format, if it is a container.
type Verdict = Option<&'static dyn Format>;

pub struct Classifier {
    pub options: Options,
    pub objects: Arc<Objects>,
    /// Is a file of this identity and (the hash of) this name a container?
    verdicts: Mutex<LruCache<(Identity, u64), Verdict>>,
}

impl Classifier {
    pub fn new(options: Options) -> Classifier {
        let objects = Arc::new(Objects::new(options.refresh, options.formats.format.clone()));
        Classifier { options, objects, verdicts: Mutex::new(LruCache::sparse(REMEMBERED)) }
    }

    /// The file `name` in `dir`; None if there is none that is shown.
    pub fn look_at(&self, dir: &Arc<Node>, name: &OsStr) -> Result<Option<Classified>> {
        if dir.holds_remote(name) {
            let found = self.objects.look_at(dir, name)?;
            return Ok(found.filter(|found| self.shows(dir, name, found.what)));
        }
        match open_directory(dir)? {
            Some(fd) => self.look_in(dir, fd.as_fd(), name),
            None => self.look_in(dir, CWD, name),
        }
    }

    /// As [`Classifier::look_at`], in a directory that is open.
    pub fn look_in(&self, dir: &Arc<Node>, fd: impl AsFd, name: &OsStr) -> Result<Option<Classified>> {
        let failed = |errno: Errno| Error::read(place(dir, name), errno.into());
        let stat = match statat(&fd, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => stat,
            Err(Errno::NOENT) => return Ok(None),
            Err(errno) => return Err(failed(errno)),
        };
        let classified = match FileType::from_raw_mode(stat.st_mode) {
            FileType::Symlink => self.follow(dir, name, &stat)?,
            _ => self.of_stat(dir, &fd, name, name, &stat)?,
        };
        Ok(classified.filter(|classified| self.shows(dir, name, classified.what)))
    }

    /// As [`Classifier::look_in`], of a regular file that was not looked at before: without a stat by its name. None
    /// also where the fast path does not apply.
    pub fn look_into(&self, dir: &Node, fd: impl AsFd, name: &OsStr) -> Result<Option<Classified>> {
        let Ok(file) = open_to_look(fd, name) else { return Ok(None) };
        let Ok(stat) = fstat(&file) else { return Ok(None) };
        let has_head = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile && stat.st_size > 0;
        if !has_head {
            return Ok(None);
        }
        let format = self.format_of(dir, &file, name, &stat)?;
        let classified = Classified::new(format.map_or(EntryKind::File, EntryKind::Container), &stat);
        Ok(Some(classified).filter(|classified| self.shows(dir, name, classified.what)))
    }

    /// What `stat` says of the file at `path` below `fd`; `name` is what it is shown as.
    fn of_stat(
        &self,
        dir: &Node,
        fd: impl AsFd,
        path: &OsStr,
        name: &OsStr,
        stat: &rustix::fs::Stat,
    ) -> Result<Option<Classified>> {
        Ok(match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory => Some(Classified::new(EntryKind::Directory, stat)),
            FileType::RegularFile => {
                let format = self.format(dir, fd, path, name, stat)?;
                Some(Classified::new(format.map_or(EntryKind::File, EntryKind::Container), stat))
            }
            _ => None,
        })
    }

    /// A link is followed if it leads to something below the root (not to a directory that it is in itself). Who may
    /// not go the way that it leads may not read what is there either.
    fn follow(&self, dir: &Arc<Node>, name: &OsStr, link: &rustix::fs::Stat) -> Result<Option<Classified>> {
        let itself = Ok(Some(Classified::new(EntryKind::Link, link)));
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
        Ok(found.map(|found| found.by_link(allowed)))
    }

    /// Is it shown by its name, its depth and what it is?
    pub fn shows(&self, dir: &Node, name: &OsStr, what: EntryKind) -> bool {
        let options = &self.options;
        let is_directory = matches!(what, EntryKind::Directory);
        if is_directory && options.max_depth.is_some_and(|most| !dir.is_sources() && dir.level() >= most) {
            return false;
        }
        if options.only_containers && matches!(what, EntryKind::File | EntryKind::Link) {
            return false;
        }
        let filter = &options.filter;
        filter.is_empty() || filter.shows(&dir.below_root().join(name), is_directory)
    }

    /// The format of a regular file, if it is a container. A file that may not be read is not one.
    fn format(
        &self,
        dir: &Node,
        fd: impl AsFd,
        path: &OsStr,
        name: &OsStr,
        stat: &rustix::fs::Stat,
    ) -> Result<Verdict> {
        let identity = identity(stat);
        if identity.len == 0 {
            return Ok(None);
        }
        if let Some(known) = self.verdicts.lock().get(&key(identity, name)).copied() {
            return Ok(known);
        }
        match open_to_look(fd, path) {
            Ok(file) => match fstat(&file) {
                Ok(stat) => self.format_of(dir, &file, name, &stat),
                Err(_) => Ok(None),
            },
            // That says nothing of the file.
            Err(errno @ (Errno::MFILE | Errno::NFILE | Errno::NOMEM)) => {
                Err(Error::read(place(dir, name), errno.into()))
            }
            Err(_) => Ok(None),
        }
    }

    /// The format of a file that is open, if it is a container. Writing to it after the stat changes when it was
    /// modified, so that it is looked at again.
    fn format_of(
        &self,
        dir: &Node,
        file: &OwnedFd,
        name: &OsStr,
        stat: &rustix::fs::Stat,
    ) -> Result<Verdict> {
        let identity = identity(stat);
        let (mut head, len) = ([0; HEAD], usize::try_from(identity.len).unwrap_or(HEAD));
        let head = head.get_mut(..len.min(HEAD)).unwrap_or_default();
        let Ok(head) = read_head(file, head) else { return Ok(None) };
        let path = dir.path().join(name);
        let asked_for = self.options.formats.format.is_some();
        let candidate = Candidate { path: &path, head, len: identity.len, asked_for };
        let format = match &self.options.formats.format {
            Some(name) => Some(format::named(name)?).filter(|format| format.detect(&candidate)),
            None => format::detect(&candidate),
        };
        self.verdicts.lock().put(key(identity, name), format);
        Ok(format)
    }

    /// The present state of a node, for another look at it.
    pub fn look_again(&self, node: &Arc<Node>) -> Result<Stat> {
        let Some(parent) = &node.parent else {
            if node.name.is_empty() || node.is_remote {
                return Ok(node.found.stat());
            }
            let stat = statat(CWD, Path::new(&node.name), AtFlags::empty()).map_err(|errno| match errno {
                Errno::NOENT => Error::NotFound,
                errno => Error::read(Place::file(&node.path()), errno.into()),
            })?;
            return match identity(&stat).same_file(&node.found.identity) {
                true => Ok(Classified::new(EntryKind::Directory, &stat).stat()),
                false => Err(Error::NotFound),
            };
        };
        if let EntryKind::Link = node.what {
            return Ok(node.found.stat());
        }
        if node.is_remote {
            let found = self.objects.look_at(parent, &node.name)?.ok_or(Error::NotFound)?;
            let is_same = found.identity.same_file(&node.found.identity);
            return if is_same { Ok(found.stat()) } else { Err(Error::NotFound) };
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

/// A file of this identity and the hash of this name.
fn key(identity: Identity, name: &OsStr) -> (Identity, u64) {
    let mut hasher = DefaultHasher::new();
    name.hash(&mut hasher);
    (identity, hasher.finish())
}

/// Neither waits for a pipe nor becomes our terminal.
fn open_to_look(dir: impl AsFd, path: &OsStr) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    openat(dir, path, flags, Mode::empty())
}

/// The first bytes, in one read but on file systems that give less than there is.
fn read_head<'a>(file: &OwnedFd, head: &'a mut [u8]) -> rustix::io::Result<&'a [u8]> {
    let mut have = 0;
    while let Some(rest) = head.get_mut(have..).filter(|rest| !rest.is_empty()) {
        match pread(file, rest, have as u64) {
            Ok(0) => break,
            Ok(count) => have += count,
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
    }
    Ok(head.get(..have).unwrap_or_default())
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
    let failed = |errno: Errno| match errno {
        Errno::NOENT | Errno::NOTDIR => Error::NotFound,
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
