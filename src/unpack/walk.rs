//! From directory to directory, by descriptors: no path is ever given to the system that has more than one name, so
//! that a symbolic link is met where it stands and refused, and no path is too long.

use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{AtFlags, FileType, Mode, OFlags, mkdirat, open, openat, statat};
use rustix::io::Errno;

use super::Nodes;
use super::shown::Shown;
use crate::content::Content;
use crate::error::Place;
use crate::tree::{Entry, Face, Kind, NodeId, ROOT, Tree};
use crate::{Error, Result};

/// So many of the innermost directories are kept open, and of those further out every such one.
const OPEN: usize = 32;

/// The files that are wanted.
pub struct Walk<'a> {
    pub tree: &'a Nodes,
    /// By node, their directories among them; None: all.
    pub wanted: Option<Vec<bool>>,
    pub to: &'a Path,
    /// Sidecars too.
    pub meta: bool,
    /// The view in whose form datasets are written.
    pub shown: Option<Shown>,
}

/// A file or link of the tree, and the directory where it belongs.
pub struct Found<'f> {
    pub dir: &'f Arc<OwnedFd>,
    pub name: &'f [u8],
    pub node: NodeId,
    pub face: Face,
    pub is_link: bool,
}

/// A directory on the way from the root to where the walk is.
struct Step {
    node: NodeId,
    /// None while it is not needed: opened again from the nearest one further out.
    fd: Option<Arc<OwnedFd>>,
    /// Directories in it that are still to be visited, the last one first.
    left: Vec<NodeId>,
}

/// The nodes of these datasets and of the directories that lead to them.
pub fn wanted(tree: &Nodes, numbers: &[usize]) -> Vec<bool> {
    let mut chosen = vec![false; tree.datasets() as usize];
    numbers.iter().for_each(|number| chosen[*number] = true);
    let mut wanted = vec![false; tree.nodes() as usize];
    for node in 0..tree.nodes() {
        if tree.dataset_of(node).is_none_or(|number| !chosen[number as usize]) {
            continue;
        }
        let mut at = node;
        while at != ROOT && !std::mem::replace(&mut wanted[at as usize], true) {
            at = tree.parent(at);
        }
    }
    wanted
}

impl Walk<'_> {
    /// Calls `each` for every file that is wanted. Directories that are not there are made if `make`, else what
    /// would be in them is left out.
    pub fn each(&self, make: bool, each: &mut dyn FnMut(Found<'_>) -> Result<()>) -> Result<()> {
        let root = match open(self.to, DIRECTORY - OFlags::NOFOLLOW, Mode::empty()) {
            Ok(root) => root,
            Err(Errno::NOENT) if !make => return Ok(()),
            Err(cause) => return Err(Error::write(Place::file(self.to), cause.into())),
        };
        let mut steps = Vec::new();
        self.visit(&mut steps, ROOT, Arc::new(root), each)?;
        while let Some(step) = steps.last_mut() {
            let Some(child) = step.left.pop() else {
                steps.pop();
                continue;
            };
            let dir = self.reopen(&mut steps)?;
            if let Some(fd) = self.enter(&dir, child, make)? {
                self.visit(&mut steps, child, Arc::new(fd), each)?;
            }
        }
        Ok(())
    }

    fn visit(
        &self,
        steps: &mut Vec<Step>,
        node: NodeId,
        dir: Arc<OwnedFd>,
        each: &mut dyn FnMut(Found<'_>) -> Result<()>,
    ) -> Result<()> {
        let (mut left, mut done) = (Vec::new(), Ok(()));
        let parent = node;
        self.tree.list(parent, 0, &mut |name, Entry { node, face, kind, .. }| {
            if self.wanted.as_ref().is_some_and(|wanted| !wanted[node as usize]) {
                return true;
            }
            match kind {
                Kind::Directory { .. } => left.push(node),
                Kind::File if face == Face::Sidecar && !self.meta => {}
                Kind::File | Kind::Link => {
                    let is_link = kind == Kind::Link;
                    done = self.found(parent, Found { dir: &dir, name, node, face, is_link }, each);
                }
            }
            done.is_ok()
        })?;
        left.reverse();
        steps.push(Step { node, fd: Some(dir), left });
        let far = steps.len().checked_sub(OPEN + 1).filter(|far| far % OPEN != 0);
        if let Some(step) = far.and_then(|far| steps.get_mut(far)) {
            step.fd = None;
        }
        done
    }

    /// Hands out a file of a directory under the name that it gets.
    fn found(
        &self,
        dir: NodeId,
        file: Found<'_>,
        each: &mut dyn FnMut(Found<'_>) -> Result<()>,
    ) -> Result<()> {
        let shown = self.shown.as_ref().filter(|_| !file.is_link);
        // Of what cannot be described, reading says why.
        let name = shown.and_then(|shown| shown.name(dir, file.name, file.node, file.face).ok()?);
        each(Found { name: name.as_deref().unwrap_or(file.name), ..file })
    }

    /// What goes into a file.
    pub fn content(&self, node: NodeId, face: Face) -> Result<Content> {
        let shown = self.shown.as_ref().map(|shown| shown.content(node, face));
        shown.transpose()?.flatten().map_or_else(|| self.tree.content(node, face), Ok)
    }

    /// The descriptor of the last step.
    fn reopen(&self, steps: &mut [Step]) -> Result<Arc<OwnedFd>> {
        let open = steps.iter().rposition(|step| step.fd.is_some()).unwrap_or(0);
        let mut dir = steps.get(open).and_then(|step| step.fd.clone()).ok_or(Error::NotFound)?;
        for step in steps.iter_mut().skip(open + 1) {
            let fd = self.enter(&dir, step.node, false)?;
            let gone = || self.failed(step.node, io::Error::other("it went away meanwhile"));
            dir = Arc::new(fd.ok_or_else(gone)?);
            step.fd = Some(dir.clone());
        }
        Ok(dir)
    }

    /// The directory `node` in `dir`; None if it is not there and not to be made.
    fn enter(&self, dir: &OwnedFd, node: NodeId, make: bool) -> Result<Option<OwnedFd>> {
        let name = self.tree.name_of(node);
        let open = || openat(dir, name, DIRECTORY, Mode::empty());
        let opened = match open() {
            Err(Errno::NOENT) if !make => return Ok(None),
            Err(Errno::NOENT) => match mkdirat(dir, name, Mode::from_raw_mode(0o777)) {
                Ok(()) | Err(Errno::EXIST) => open(),
                Err(cause) => Err(cause),
            },
            opened => opened,
        };
        opened.map(Some).map_err(|cause| self.failed(node, obstacle(dir, name, cause)))
    }

    fn failed(&self, node: NodeId, cause: io::Error) -> Error {
        Error::write(Place::file(&self.path(node)), cause)
    }

    /// Where a node belongs, for messages.
    pub fn path(&self, node: NodeId) -> PathBuf {
        super::path(self.tree, self.to, node)
    }
}

const DIRECTORY: OFlags =
    OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Why what is there is no directory to go into.
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
