//! A container's tree written into a directory: the files that a mount shows, for keeps.
//!
//! What always holds: nothing is written outside the directory, whatever the names say and whatever is in it
//! already (`walk` goes from directory to directory by descriptors, and follows no symbolic link); a file is there
//! whole or not at all (`file`); nothing is replaced that was not to be.
//!
//! The walk makes directories and hands files to a few threads, which copy or decode them. As with cp and tar, the
//! bytes are the system's when this ends, and on disk when the system has written them.

mod file;
mod shown;
mod walk;

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread;
use std::time::SystemTime;

use rustix::fs::{AtFlags, FileType, Stat, statat, symlinkat, unlinkat};
use rustix::io::Errno;

use self::file::{Failure, NewFile};
use self::shown::Shown;
use self::walk::{Found, Walk};
use crate::archive::{Archive, Meter};
use crate::content::Content;
use crate::error::Place;
use crate::tree::{Arena, Datasets, Face, NodeId, Tree};
use crate::view::View;
use crate::{Error, Result};

/// Files that wait for a thread; each may keep a directory open.
const WAITING: usize = 64;

#[derive(Clone, Copy)]
pub struct Options {
    /// Datasets that have a face in this view are written as that; its faces are files.
    pub view: Option<&'static dyn View>,
    /// Replace files that are there already.
    pub force: bool,
    /// Write sidecars too.
    pub meta: bool,
    /// Threads that copy and decode.
    pub jobs: usize,
}

/// Who is told how it goes, from any thread.
pub struct Watch<'a> {
    /// So many stored bytes more have been dealt with.
    pub passed: &'a (dyn Fn(u64) + Sync),
    /// A dataset that cannot be read; the others go on.
    pub failed: &'a (dyn Fn(&Error) + Sync),
    /// Set from outside when all is to end soon.
    pub stop: &'a AtomicBool,
}

/// Writes the files of the datasets with these numbers, or of all, into the directory `to`, which is made if it is
/// not there. Datasets that cannot be read are told to `watch`, and nothing is written for them but their
/// sidecars; an error is returned if the rest could not be written.
pub fn unpack(
    archive: &Archive,
    datasets: Option<&[usize]>,
    to: &Path,
    options: Options,
    watch: &Watch<'_>,
) -> Result<()> {
    let tree = Arc::new(archive.tree()?);
    let wanted = datasets.map(|numbers| walk::wanted(&tree, numbers));
    let shown = options.view.map(|view| Shown { tree: tree.clone(), view });
    let walk = Walk { tree: &tree, wanted, to, meta: options.meta, shown };
    let unpacking = Unpacking { archive, walk: &walk, options, watch, modified: archive.modified() };
    unpacking.check()?;
    fs::create_dir_all(to).map_err(|cause| Error::write(Place::file(to), cause))?;
    unpacking.write_all()
}

struct Unpacking<'a> {
    archive: &'a Archive,
    walk: &'a Walk<'a>,
    options: Options,
    watch: &'a Watch<'a>,
    modified: SystemTime,
}

/// A file to be written.
struct Job {
    dir: Arc<OwnedFd>,
    name: Vec<u8>,
    node: NodeId,
    face: Face,
}

impl Unpacking<'_> {
    /// Looks whether anything stands in the way, before anything is written.
    fn check(&self) -> Result<()> {
        self.walk.each(false, &mut |Found { dir, name, node, .. }| {
            self.go_on()?;
            let stat = match statat(dir, name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => stat,
                Err(Errno::NOENT) => return Ok(()),
                Err(cause) => return Err(self.failed(node, name, cause.into())),
            };
            match self.obstacle(&stat) {
                Some(problem) => Err(self.failed(node, name, io::Error::other(problem))),
                None => Ok(()),
            }
        })
    }

    fn obstacle(&self, stat: &Stat) -> Option<&'static str> {
        if FileType::from_raw_mode(stat.st_mode) == FileType::Directory {
            Some("a directory is in its place")
        } else if self.archive.has_file(stat.st_dev, stat.st_ino) {
            Some("it is the container itself; choose another directory")
        } else if !self.options.force {
            Some("it is there already, and is replaced only with --force")
        } else {
            None
        }
    }

    fn write_all(&self) -> Result<()> {
        let failure: Mutex<Option<Error>> = Mutex::new(None);
        let keep = |error| {
            failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        };
        let over = AtomicBool::new(false);
        thread::scope(|scope| {
            let (give, jobs) = mpsc::sync_channel::<Job>(WAITING);
            let jobs = Arc::new(Mutex::new(jobs));
            for _ in 0..self.options.jobs.max(1) {
                let (jobs, over, keep) = (jobs.clone(), &over, &keep);
                let work = move || {
                    while let Some(job) = next(&jobs) {
                        if over.load(Ordering::Relaxed) {
                            continue;
                        }
                        if let Err(error) = self.write(&job) {
                            over.store(true, Ordering::Relaxed);
                            keep(error);
                        }
                    }
                };
                let started = thread::Builder::new().name("rab-unpack".into()).spawn_scoped(scope, work);
                if let Err(cause) = started {
                    log::warn!("a thread cannot be started, the others go on: {cause}");
                }
            }
            // Once all threads are gone nobody waits for a job.
            drop(jobs);
            let walked = self.walk.each(true, &mut |Found { dir, name, node, face, is_link }| {
                self.go_on()?;
                if is_link {
                    return self.link(dir, name, node);
                }
                let job = Job { dir: dir.clone(), name: name.to_vec(), node, face };
                let is_over = over.load(Ordering::Relaxed) || give.send(job).is_err();
                if is_over { Err(Error::Other("no thread can be started".into())) } else { Ok(()) }
            });
            if let Err(error) = walked {
                // What a thread has met comes first.
                drop(give);
                if !over.load(Ordering::Relaxed) {
                    keep(error);
                }
            }
        });
        failure.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
    }

    /// Writes a file, or tells why its dataset cannot be read.
    fn write(&self, job: &Job) -> Result<()> {
        let Job { dir, name, node, face } = job;
        let failed = |cause| self.failed(*node, name, cause);
        let told = match self.walk.content(*node, *face).map_err(Failure::Read) {
            Ok(content) => self.fill(dir, name, *node, &content),
            Err(error) => Err(error),
        };
        match told {
            Ok(()) => Ok(()),
            Err(Failure::Write(cause)) => Err(failed(cause)),
            Err(Failure::Read(
                error @ (Error::Damaged { .. } | Error::Read { .. } | Error::Unsupported { .. }),
            )) => {
                (self.watch.failed)(&error);
                Ok(())
            }
            Err(Failure::Read(error)) => Err(error),
        }
    }

    /// Makes a symbolic link; it is never followed here.
    fn link(&self, dir: &OwnedFd, name: &[u8], node: NodeId) -> Result<()> {
        let target = self.walk.tree.link(node)?;
        let made = match symlinkat(&*target, dir, name) {
            Err(Errno::EXIST) if self.options.force => {
                unlinkat(dir, name, AtFlags::empty()).and_then(|()| symlinkat(&*target, dir, name))
            }
            made => made,
        };
        made.map_err(|cause| self.failed(node, name, cause.into()))
    }

    fn fill(&self, dir: &Arc<OwnedFd>, name: &[u8], node: NodeId, content: &Content) -> Result<(), Failure> {
        let new = NewFile::create(dir).map_err(Failure::Write)?;
        let size = self.walk.tree.size(node, Face::Data).map_err(Failure::Read)?;
        // Sidecars count for nothing.
        let stored = if matches!(content, Content::Inline(_)) { 0 } else { size.stored };
        let mut meter = Meter::new(stored, content.known_len(), self.watch.passed);
        new.fill(content, &mut |bytes| {
            meter.passed(bytes);
            self.go_on()
        })?;
        new.finish(name, self.modified, self.options.force).map_err(Failure::Write)
    }

    fn go_on(&self) -> Result<()> {
        match self.watch.stop.load(Ordering::Relaxed) {
            true => Err(Error::Other("interrupted".into())),
            false => Ok(()),
        }
    }

    /// The error that the file `name` of a node cannot be written.
    fn failed(&self, node: NodeId, name: &[u8], cause: io::Error) -> Error {
        let dir = self.walk.path(self.walk.tree.parent(node));
        Error::write(Place::file(&dir.join(OsStr::from_bytes(name))), cause)
    }
}

fn next(jobs: &Mutex<mpsc::Receiver<Job>>) -> Option<Job> {
    jobs.lock().unwrap_or_else(PoisonError::into_inner).recv().ok()
}

type Nodes = Arena<Arc<dyn Datasets>>;

/// Where a node's file goes, for messages.
fn path(tree: &Nodes, to: &Path, node: NodeId) -> PathBuf {
    let (mut names, mut at) = (Vec::new(), node);
    while at != crate::tree::ROOT && names.len() < 16 {
        names.push(tree.name_of(at));
        at = tree.parent(at);
    }
    let start = if at == crate::tree::ROOT { to.to_owned() } else { to.join("...") };
    names.iter().rev().fold(start, |path, name| path.join(OsStr::from_bytes(name)))
}
