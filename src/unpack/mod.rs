//! Writes a container's tree into a directory: the files that a mount shows, permanently.
//!
//! Invariants: nothing is written outside the directory, whatever the names or its existing content (`walk` goes from
//! directory to directory by descriptors and follows no symbolic link); a file is complete or absent (`file`); existing
//! files are replaced only on request.
//!
//! The walk creates directories and hands files to a few threads, which copy or decode them. As with cp and tar, data
//! is not synced: it reaches the disk when the system writes it back.

mod chosen;
mod file;
mod store;
mod walk;

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::SystemTime;

use parking_lot::Mutex;
use rustix::fs::{AtFlags, FileType, Stat, statat, symlinkat, unlinkat};
use rustix::io::Errno;

use self::chosen::Chosen;
use self::file::{Failure, NewFile};
use self::store::{Store, Stores};
use self::walk::{Walk, WalkedFile};
use crate::archive::{Archive, Meter};
use crate::content::Content;
use crate::error::Place;
use crate::tree::{Builder, FileKind, Files, Held, Tree, WithViews, naming};
use crate::view::{self, Overlay, View};
use crate::{Error, Result};

/// Maximum number of files waiting for a thread; each may keep a directory open.
const WAITING: usize = 64;

#[derive(Clone, Copy)]
pub struct Options {
    /// Write the datasets that this view can show as it shows them.
    pub view: Option<&'static dyn View>,
    /// Replace existing files.
    pub force: bool,
    /// Also write sidecars.
    pub meta: bool,
    /// Number of threads that copy and decode.
    pub jobs: usize,
}

/// Callbacks for progress and problems, called from any thread.
pub struct Watch<'a> {
    /// This many more stored bytes have been processed.
    pub passed: &'a (dyn Fn(u64) + Sync),
    /// A dataset cannot be read, or is damaged; the others continue. May repeat an error.
    pub failed: &'a (dyn Fn(&Error) + Sync),
    /// Another file fails with an error that was already reported; its exit code may be worse.
    pub failed_again: &'a (dyn Fn(&Error) + Sync),
    /// A deviation from a dataset's description that is not damage.
    pub warned: &'a (dyn Fn(&str) + Sync),
    /// Set by the caller to stop early.
    pub stop: &'a AtomicBool,
}

/// A selection from a container.
#[derive(Default)]
pub struct Choice {
    /// The numbers of datasets.
    pub datasets: Vec<usize>,
    /// Derived files of the view, beside those of datasets, by name without extension; see
    /// [`crate::tree::Derived::of_view`].
    pub derived: Vec<Vec<u8>>,
}

/// Writes the files of the selection, or of the whole container, into the directory `to`, which is created if needed.
///
/// Datasets that cannot be read are reported to `watch`, and only their sidecars are written. Datasets that contradict
/// others, break the format's rules or are refused are written unchanged, and reported at the end.
///
/// # Errors
/// Any other reason why files could not be written.
pub fn unpack(
    archive: &Archive,
    choice: Option<&Choice>,
    to: &Path,
    options: Options,
    watch: &Watch<'_>,
) -> Result<()> {
    let tree = archive.tree()?;
    let derived = options.view.map(|view| derived(archive, view, choice)).transpose()?.flatten();
    let tree: Arc<dyn Tree> = match choice {
        None => with_files(Arc::new(tree), archive, options)?,
        Some(choice) => Arc::new(Chosen::new(tree, &choice.datasets).with_ways_to(&choice.derived)?),
    };
    let tree = match derived {
        None => tree,
        Some(derived) => Arc::new(WithViews::new(tree, Arc::new(derived))),
    };
    let tree: Arc<dyn Tree> = match options.view {
        None => tree,
        Some(view) => {
            let overlay = Overlay::new(tree, Some(view));
            if overlay.shows_nothing()? {
                return Err(view::missing(view, archive.path(), archive.format()));
            }
            Arc::new(overlay)
        }
    };
    let walk = Walk { tree, to, meta: options.meta };
    let (modified, are_whole) = (archive.modified(), AtomicBool::new(true));
    let unpacking = Unpacking { archive, walk: &walk, options, watch, modified, are_whole };
    unpacking.check()?;
    fs::create_dir_all(to).map_err(|cause| Error::write(Place::file(to), cause))?;
    unpacking.write_all()?;
    match choice {
        None => unpacking.check_all(0..archive.len()),
        Some(choice) => unpacking.check_all(choice.datasets.iter().copied()),
    }
}

/// The container's derived files of a view: all, or the selected ones.
fn derived(archive: &Archive, view: &dyn View, choice: Option<&Choice>) -> Result<Option<Chosen>> {
    let derived = archive.derived();
    if derived.is_empty() {
        return Ok(None);
    }
    let is_chosen =
        |name: &[u8]| choice.is_none_or(|choice| choice.derived.iter().any(|chosen| chosen == name));
    let all = derived.of_view(view.kind(), view.extension());
    let numbers: Vec<_> =
        all.filter(|(_, name)| is_chosen(name)).map(|(number, _)| number as usize).collect();
    Ok(Some(Chosen::new(derived.tree()?, &numbers)))
}

/// Adds the files that describe the whole container.
fn with_files(tree: Arc<dyn Tree>, archive: &Archive, options: Options) -> Result<Arc<dyn Tree>> {
    if !options.meta || archive.container_files().is_empty() {
        return Ok(tree);
    }
    let (names, files) = Files::new(archive.container_files());
    Ok(Arc::new(WithViews::beside(tree, Arc::new(Builder::build(&names, Arc::new(files))?))))
}

struct Unpacking<'a> {
    archive: &'a Archive,
    walk: &'a Walk<'a>,
    options: Options,
    watch: &'a Watch<'a>,
    modified: SystemTime,
    /// True while all stores written so far are complete.
    are_whole: AtomicBool,
}

/// A file to write.
struct Job {
    dir: Arc<OwnedFd>,
    /// The directory's path, for messages.
    path: Arc<Path>,
    name: Vec<u8>,
    held: Held,
    file: FileKind,
    /// The store that the file is part of.
    store: Option<Arc<Store>>,
}

impl Unpacking<'_> {
    /// Checks that nothing is in the way, before anything is written.
    fn check(&self) -> Result<()> {
        self.walk.each(false, &mut |WalkedFile { dir, path, name, .. }| {
            self.go_on()?;
            let stat = match statat(dir, name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => stat,
                Err(Errno::NOENT) => return Ok(()),
                Err(cause) => return Err(failed(path, name, cause.into())),
            };
            match self.obstacle(&stat) {
                Some(problem) => Err(failed(path, name, io::Error::other(problem))),
                None => Ok(()),
            }
        })
    }

    fn obstacle(&self, stat: &Stat) -> Option<&'static str> {
        if FileType::from_raw_mode(stat.st_mode) == FileType::Directory {
            Some("a directory is in its place")
        } else if self.archive.has_file(stat.st_dev, stat.st_ino) {
            Some("it is part of the container that is being unpacked: choose another directory")
        } else if !self.options.force {
            Some("it exists: --force replaces it")
        } else {
            None
        }
    }

    fn write_all(&self) -> Result<()> {
        let failure: Mutex<Option<Error>> = Mutex::new(None);
        let keep = |error| {
            failure.lock().get_or_insert(error);
        };
        let (over, mut stores) = (AtomicBool::new(false), Stores::default());
        thread::scope(|scope| {
            let (give, jobs) = mpsc::sync_channel::<Job>(WAITING);
            let jobs = Arc::new(Mutex::new(jobs));
            for _ in 0..self.options.jobs.max(1) {
                let (jobs, over, keep) = (jobs.clone(), &over, &keep);
                let work = move || {
                    while let Some(job) = next(&jobs) {
                        let is_over = over.load(Ordering::Relaxed);
                        let done = if is_over { Ok(false) } else { self.write_caught(&job) };
                        if let Err(error) = self.finish(job.store, done) {
                            over.store(true, Ordering::Relaxed);
                            keep(error);
                        }
                    }
                };
                let started = thread::Builder::new().name("rab-unpack".into()).spawn_scoped(scope, work);
                if let Err(cause) = started {
                    log::warn!("a thread cannot be started, so fewer are used: {cause}");
                }
            }
            // Once all threads have ended, sending must fail rather than wait for a receiver.
            drop(jobs);
            let walked = self.walk.each(true, &mut |found| {
                let Some(job) = self.meet(found, &mut stores)? else { return Ok(()) };
                let is_over = over.load(Ordering::Relaxed) || give.send(job).is_err();
                if is_over { Err(Error::Other("no thread can be started".into())) } else { Ok(()) }
            });
            let last = stores.current.take().map(|(_, store)| store);
            let walked = self.finish(last, Ok(walked.is_ok())).and(walked);
            if let Err(error) = walked {
                // An error of a thread takes precedence.
                drop(give);
                if !over.load(Ordering::Relaxed) {
                    keep(error);
                }
            }
        });
        failure.into_inner().map_or(Ok(()), Err)?;
        stores.last.map_or(Ok(()), |last| self.announce(&last, self.are_whole.load(Ordering::Relaxed)))
    }

    /// Reports errors and doubts about datasets that are written unchanged.
    fn check_all(&self, mut numbers: impl Iterator<Item = usize>) -> Result<()> {
        numbers.try_for_each(|number| {
            self.go_on()?;
            match self.archive.fits(number) {
                Ok(()) => self.archive.doubt(number).iter().for_each(|doubt| (self.watch.warned)(doubt)),
                Err(error) => self.unreadable(error, None)?,
            }
            Ok(())
        })
    }

    /// Handles a file found by the walk; returns a job if a thread should write it.
    fn meet(&self, found: WalkedFile<'_>, stores: &mut Stores) -> Result<Option<Job>> {
        self.go_on()?;
        let WalkedFile { dir, path, name, parent, held, file, is_link } = found;
        let store = stores.at(parent);
        let held = match held {
            Ok(held) => held,
            Err(error) => {
                store.as_ref().inspect(|store| store.lacks_something());
                return self.unreadable(error, store.as_deref()).map(|()| None);
            }
        };
        if is_link {
            return self.link(dir, path, name, &held).map(|()| None);
        }
        let job = Job { dir: dir.clone(), path: path.clone(), name: name.to_vec(), held, file, store };
        if !self.options.view.is_some_and(|view| view.announces(name)) {
            return Ok(Some(job));
        }
        // An existing one belongs to an older store, which this one replaces.
        match self.options.force.then(|| unlinkat(dir, name, AtFlags::empty())) {
            None | Some(Ok(()) | Err(Errno::NOENT)) => {}
            Some(Err(cause)) => return Err(failed(path, name, cause.into())),
        }
        let is_view = self.walk.tree.brief(parent)?.is_some();
        let before = if is_view { stores.begin(parent, job) } else { stores.last.replace(job).and(None) };
        self.finish(before, Ok(true)).map(|()| None)
    }

    /// Records whether a file of a store was written; after the last one, announces the store.
    fn finish(&self, store: Option<Arc<Store>>, is_there: Result<bool>) -> Result<()> {
        if let Some(store) = store {
            if !matches!(is_there, Ok(true)) {
                store.lacks_something();
            }
            if let Some(store) = Arc::into_inner(store) {
                self.announce(&store.last, store.is_whole())?;
            }
        }
        is_there.map(drop)
    }

    /// Writes the file that announces a store, or all stores, if they are complete.
    fn announce(&self, job: &Job, is_whole: bool) -> Result<()> {
        if is_whole && self.write(job)? {
            return Ok(());
        }
        self.are_whole.store(false, Ordering::Relaxed);
        let name = naming::printed(&job.name);
        let problem = format!("{}: is incomplete, so {name} is not written", job.path.display());
        (self.watch.failed)(&Error::Other(problem));
        Ok(())
    }

    /// As [`Unpacking::write`], but turns a panic, which has already been reported, into an error: the store must learn
    /// that the file is missing.
    fn write_caught(&self, job: &Job) -> Result<bool> {
        catch_unwind(AssertUnwindSafe(|| self.write(job))).unwrap_or_else(|_| {
            let path = job.path.join(OsStr::from_bytes(&job.name));
            Err(Error::Other(format!("{}: not written, because of an internal error", path.display())))
        })
    }

    /// Writes a file, or reports why its dataset cannot be read. True if the file was written.
    fn write(&self, job: &Job) -> Result<bool> {
        let content = self.walk.tree.content(job.held.node(), job.file);
        match content.map_err(Failure::Read).and_then(|content| self.fill(job, &content)) {
            Ok(()) => Ok(true),
            Err(Failure::Write(cause)) => Err(failed(&job.path, &job.name, cause)),
            Err(Failure::Read(error)) => self.unreadable(error, job.store.as_deref()).map(|()| false),
        }
    }

    /// Reports an error that concerns only its own dataset, so that the others continue; returns any other error.
    fn unreadable(&self, error: Error, of: Option<&Store>) -> Result<()> {
        let is_its_own = match &error {
            Error::Damaged { .. } | Error::Read { .. } | Error::Unsupported { .. } => true,
            Error::Other(_) => self.go_on().is_ok(),
            _ => false,
        };
        if !is_its_own {
            return Err(error);
        }
        match of.is_none_or(Store::is_news) {
            true => (self.watch.failed)(&error),
            false => (self.watch.failed_again)(&error),
        }
        Ok(())
    }

    /// Creates a symbolic link, which is never followed here.
    fn link(&self, dir: &OwnedFd, path: &Path, name: &[u8], held: &Held) -> Result<()> {
        let target = self.walk.tree.link(held.node())?;
        let made = match symlinkat(&*target, dir, name) {
            Err(Errno::EXIST) if self.options.force => {
                unlinkat(dir, name, AtFlags::empty()).and_then(|()| symlinkat(&*target, dir, name))
            }
            made => made,
        };
        made.map_err(|cause| failed(path, name, cause.into()))
    }

    fn fill(&self, job: &Job, content: &Content) -> Result<(), Failure> {
        let new = NewFile::create(&job.dir).map_err(Failure::Write)?;
        let size = self.walk.tree.size(job.held.node(), FileKind::Data).map_err(Failure::Read)?;
        // Sidecars do not count as progress.
        let stored = if matches!(content, Content::Inline(_)) { 0 } else { size.stored };
        let mut meter = Meter::new(stored, content.known_len(), self.watch.passed);
        new.fill(content, &mut |bytes| {
            meter.passed(bytes);
            self.go_on()
        })?;
        new.finish(&job.name, self.modified, self.options.force).map_err(Failure::Write)
    }

    fn go_on(&self) -> Result<()> {
        match self.watch.stop.load(Ordering::Relaxed) {
            true => Err(Error::Other("interrupted".into())),
            false => Ok(()),
        }
    }
}

/// The error for a file that cannot be written.
fn failed(dir: &Path, name: &[u8], cause: io::Error) -> Error {
    Error::write(Place::file(&dir.join(OsStr::from_bytes(name))), cause)
}

fn next(jobs: &Mutex<mpsc::Receiver<Job>>) -> Option<Job> {
    jobs.lock().recv().ok()
}
