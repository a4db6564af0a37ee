//! Walks directories by descriptor. Each system call gets a single path component, so symbolic links are detected and
//! refused wherever they are, and no path is too long.

use std::ffi::OsStr;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use rustix::fs::{AtFlags, FileType, Mode, OFlags, mkdirat, open, openat, statat};
use rustix::io::Errno;

use crate::error::Place;
use crate::tree::{Entry, FileKind, Held, NodeId, NodeKind, ROOT, Tree};
use crate::{Error, Result};

/// Number of innermost directories kept open; of the outer ones, every `OPEN`-th is.
const OPEN: usize = 32;
/// Maximum number of directories of a path that messages show.
const SHOWN: usize = 16;

/// What to write, and where.
pub struct Walk<'a> {
    pub tree: Arc<dyn Tree>,
    pub to: &'a Path,
    /// Include sidecars.
    pub meta: bool,
}

/// A file or link of the tree, and the directory it belongs in.
pub struct WalkedFile<'f> {
    pub dir: &'f Arc<OwnedFd>,
    /// The directory's path, for messages.
    pub path: &'f Arc<Path>,
    pub name: &'f [u8],
    /// The directory's node.
    pub parent: NodeId,
    /// The node, or why it cannot be looked up.
    pub held: Result<Held>,
    pub file: FileKind,
    pub is_link: bool,
}

/// A directory on the path from the root to the current position.
struct Step {
    held: Held,
    name: Vec<u8>,
    path: Arc<Path>,
    /// None while closed; reopened from the nearest open directory above.
    fd: Option<Arc<OwnedFd>>,
    /// Subdirectories still to be visited, the next one last.
    left: Vec<Vec<u8>>,
}

/// Called for every file.
pub type Each<'e> = &'e mut dyn FnMut(WalkedFile<'_>) -> Result<()>;

impl Walk<'_> {
    /// Calls `each` for every file. Creates missing directories if `make`; otherwise skips their contents.
    pub fn each(&self, make: bool, each: Each<'_>) -> Result<()> {
        let root = match open(self.to, DIRECTORY - OFlags::NOFOLLOW, Mode::empty()) {
            Ok(root) => root,
            Err(Errno::NOENT) if !make => return Ok(()),
            Err(cause) => return Err(Error::write(Place::file(self.to), cause.into())),
        };
        let held = Held::borrowed(&self.tree, ROOT);
        let fd = Some(Arc::new(root));
        let mut steps = Vec::new();
        let first = Step { held, name: Vec::new(), path: self.to.into(), fd, left: Vec::new() };
        self.visit(&mut steps, first, each)?;
        loop {
            let depth = steps.len();
            let Some(step) = steps.last_mut() else { return Ok(()) };
            let Some(name) = step.left.pop() else {
                steps.pop();
                continue;
            };
            let Some((held, _)) = Held::find(&self.tree, step.held.node(), &name)? else { continue };
            let path = below(&step.path, &name, depth);
            let dir = self.reopen(&mut steps)?;
            if let Some(fd) = enter(&dir, &name, &path, make)? {
                let fd = Some(Arc::new(fd));
                self.visit(&mut steps, Step { held, name, path, fd, left: Vec::new() }, each)?;
            }
        }
    }

    fn visit(&self, steps: &mut Vec<Step>, mut step: Step, each: Each<'_>) -> Result<()> {
        let (mut left, mut done) = (Vec::new(), Ok(()));
        if let Some(dir) = &step.fd {
            let parent = step.held.node();
            self.tree.list(parent, 0, &mut |name, Entry { file, kind, .. }| {
                match kind {
                    NodeKind::Directory { .. } => left.push(name.to_vec()),
                    NodeKind::File if file == FileKind::Sidecar && !self.meta => {}
                    NodeKind::File | NodeKind::Link => {
                        let is_link = kind == NodeKind::Link;
                        let held = match Held::find(&self.tree, parent, name) {
                            Ok(Some((held, _))) => Ok(held),
                            Ok(None) => Err(Error::NotFound),
                            Err(error) => Err(error),
                        };
                        done = each(WalkedFile { dir, path: &step.path, name, parent, held, file, is_link });
                    }
                }
                done.is_ok()
            })?;
        }
        left.reverse();
        step.left = left;
        steps.push(step);
        let far = steps.len().checked_sub(OPEN + 1).filter(|far| far % OPEN != 0);
        if let Some(step) = far.and_then(|far| steps.get_mut(far)) {
            step.fd = None;
        }
        done
    }

    /// The descriptor of the last step, reopening directories as needed.
    fn reopen(&self, steps: &mut [Step]) -> Result<Arc<OwnedFd>> {
        let open = steps.iter().rposition(|step| step.fd.is_some()).unwrap_or(0);
        let mut dir = steps.get(open).and_then(|step| step.fd.clone()).ok_or(Error::NotFound)?;
        for step in steps.iter_mut().skip(open + 1) {
            let fd = enter(&dir, &step.name, &step.path, false)?;
            let gone = || Error::write(Place::file(&step.path), io::Error::other("it disappeared meanwhile"));
            dir = Arc::new(fd.ok_or_else(gone)?);
            step.fd = Some(dir.clone());
        }
        Ok(dir)
    }
}

/// The path shown for a subdirectory; beyond [`SHOWN`] levels it is abbreviated.
fn below(path: &Arc<Path>, name: &[u8], depth: usize) -> Arc<Path> {
    match depth {
        ..SHOWN => path.join(OsStr::from_bytes(name)).into(),
        SHOWN => path.join("...").into(),
        _ => path.clone(),
    }
}

/// Opens the directory `name` in `dir`; None if it does not exist and `make` is false.
fn enter(dir: &OwnedFd, name: &[u8], path: &Path, make: bool) -> Result<Option<OwnedFd>> {
    let open = || openat(dir, name, DIRECTORY, Mode::empty());
    let opened = match open() {
        Err(Errno::NOENT) if !make => return Ok(None),
        Err(Errno::NOENT) => match mkdirat(dir, name, Mode::from_raw_mode(0o777)) {
            Ok(()) | Err(Errno::EXIST) => open(),
            Err(cause) => Err(cause),
        },
        opened => opened,
    };
    opened.map(Some).map_err(|cause| Error::write(Place::file(path), obstacle(dir, name, cause)))
}

const DIRECTORY: OFlags =
    OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Explains why a directory cannot be entered.
fn obstacle(dir: &OwnedFd, name: &[u8], cause: Errno) -> io::Error {
    let kind = statat(dir, name, AtFlags::SYMLINK_NOFOLLOW).map(|stat| FileType::from_raw_mode(stat.st_mode));
    match kind {
        Ok(FileType::Symlink) => {
            io::Error::other("a symbolic link is in the place of a directory, and is not followed")
        }
        Ok(FileType::Directory) | Err(_) => cause.into(),
        Ok(_) => io::Error::other("a file is in the place of a directory"),
    }
}
