//! The entries of a directory, ordered by a hash of their names: a listing that continues after a name stays right
//! whatever is added or removed meanwhile, and needs no state. Recent listings are cached, so that a directory is not
//! read again for each piece.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::num::NonZeroUsize;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;

use lru::LruCache;
use parking_lot::Mutex;
use rustix::fs::{Dir, FileType};

use super::classified::{Classified, EntryKind};
use super::classify::{self, Classifier};
use super::nodes::{Node, id_of};
use crate::error::Place;
use crate::tree::{NodeId, NodeKind};
use crate::{Error, Result};

/// Listings that are kept.
const KEPT: NonZeroUsize = NonZeroUsize::new(16).unwrap();
/// Fewer files are looked at by one thread.
const MANY: usize = 128;
/// The most threads that look at the files of one directory: they wait for a disk or a network, too.
const THREADS: usize = 4;

pub struct Line {
    pub cursor: u64,
    pub shown: OsString,
    /// On disk, if that is another name.
    true_name: Option<OsString>,
    pub kind: NodeKind,
    pub id: NodeId,
}

pub struct Listing {
    /// When the directory was modified before it was read.
    modified: Option<(i64, i64)>,
    lines: Vec<Line>,
}

impl Listing {
    /// Has nothing been added to the directory or taken from it since?
    fn is_of_now(&self, dir: &Node, classifier: &Classifier) -> Result<bool> {
        if dir.is_remote {
            return Ok(classifier.objects.is_kept(dir));
        }
        let modified = classify::open_directory(dir)?.and_then(|fd| classify::modified(&fd));
        Ok(modified.is_some() && modified == self.modified)
    }

    /// The lines after `cursor`.
    pub fn after(&self, cursor: u64) -> &[Line] {
        let first = self.lines.partition_point(|line| line.cursor <= cursor);
        self.lines.get(first..).unwrap_or_default()
    }

    fn find(&self, shown: &OsStr) -> Option<&Line> {
        self.after(cursor_of(shown).saturating_sub(1)).iter().take(64).find(|line| line.shown == shown)
    }
}

pub struct Listings {
    /// The names and paths of several sources, which are what is in the root.
    sources: Vec<(OsString, OsString)>,
    kept: Mutex<LruCache<NodeId, Arc<Listing>>>,
}

impl Listings {
    pub fn of_disk() -> Listings {
        Listings { sources: Vec::new(), kept: Mutex::new(LruCache::new(KEPT)) }
    }

    pub fn of_sources(paths: &[PathBuf]) -> Listings {
        Listings { sources: named(paths), ..Listings::of_disk() }
    }

    /// The listing of a directory, of now if it begins.
    pub fn get(&self, dir: &Arc<Node>, cursor: u64, classifier: &Classifier) -> Result<Arc<Listing>> {
        // A new listing shows the present state: the kernel may keep it for as long as the directory has the time of
        // modification that it had before.
        let kept = if cursor > 0 { self.kept.lock().get(&dir.id).cloned() } else { None };
        kept.map_or_else(|| self.read(dir, classifier), Ok)
    }

    fn read(&self, dir: &Arc<Node>, classifier: &Classifier) -> Result<Arc<Listing>> {
        let (modified, lines) = if dir.is_remote {
            (None, of_objects(dir, classifier)?)
        } else if let Some(fd) = classify::open_directory(dir)? {
            let is_new = !self.kept.lock().contains(&dir.id);
            (classify::modified(&fd), read(dir, &fd, classifier, is_new)?)
        } else {
            (None, self.of_root(dir, classifier)?)
        };
        let listing = Arc::new(Listing { modified, lines: in_order(lines) });
        self.kept.lock().put(dir.id, listing.clone());
        Ok(listing)
    }

    fn of_root(&self, dir: &Arc<Node>, classifier: &Classifier) -> Result<Vec<Line>> {
        let mut lines = Vec::new();
        for (shown, path) in &self.sources {
            // One that cannot be looked at does not hide the others.
            let found = classifier.look_at(dir, path).inspect_err(|error| log::warn!("not listed: {error}"));
            if let Ok(Some(found)) = found {
                lines.push(Line { shown: shown.clone(), ..line(dir, path.clone(), &found) });
            }
        }
        Ok(lines)
    }

    /// The name on disk of what is shown under a name; None if nothing is.
    pub fn true_name(
        &self,
        dir: &Arc<Node>,
        shown: &OsStr,
        classifier: &Classifier,
    ) -> Result<Option<OsString>> {
        if dir.parent.is_none() && !self.sources.is_empty() {
            let source = self.sources.iter().find(|(name, _)| name == shown);
            return Ok(source.map(|(_, path)| path.clone()));
        }
        if !classifier.options.strip_ext {
            return Ok(Some(shown.to_owned()));
        }
        let listing = self.of_now(dir, classifier)?;
        let line = listing.find(shown);
        Ok(line.map(|line| line.true_name.clone().unwrap_or_else(|| line.shown.clone())))
    }

    /// A listing that nothing has been added to or taken from since.
    fn of_now(&self, dir: &Arc<Node>, classifier: &Classifier) -> Result<Arc<Listing>> {
        let kept = self.kept.lock().get(&dir.id).cloned();
        match kept {
            Some(listing) if listing.is_of_now(dir, classifier)? => Ok(listing),
            _ => self.read(dir, classifier),
        }
    }
}

/// The name of each source; one that is taken gets a number.
fn named(paths: &[PathBuf]) -> Vec<(OsString, OsString)> {
    let mut named: Vec<(OsString, OsString)> = Vec::new();
    let plain = |path: &Path| path.file_name().map_or("root".into(), OsStr::to_owned);
    let names: Vec<OsString> = paths.iter().map(|path| plain(path)).collect();
    for (path, name) in paths.iter().zip(&names) {
        let mut shown = name.clone();
        let mut number = 2;
        // A name that is another one's own is not given away.
        while named.iter().any(|(taken, _)| *taken == shown) || (shown != *name && names.contains(&shown)) {
            shown = name.clone();
            shown.push(format!("~{number}"));
            number += 1;
        }
        named.push((shown, path.clone().into()));
    }
    named
}

/// Position in the listing: larger than 0, and small enough for what is added to it above.
fn cursor_of(name: &OsStr) -> u64 {
    let mut hasher = DefaultHasher::new();
    name.as_bytes().hash(&mut hasher);
    (hasher.finish() >> 10).max(1)
}

fn in_order(mut lines: Vec<Line>) -> Vec<Line> {
    lines.sort_unstable_by(|a, b| (a.cursor, &a.shown).cmp(&(b.cursor, &b.shown)));
    let mut last = 0;
    for line in &mut lines {
        line.cursor = line.cursor.max(last + 1);
        last = line.cursor;
    }
    lines
}

fn line(dir: &Node, name: OsString, found: &Classified) -> Line {
    let id = id_of(dir.id, &name, found);
    Line { cursor: cursor_of(&name), shown: name, true_name: None, kind: found.what.kind(), id }
}

/// A name in a directory, with what the directory itself tells.
struct Raw {
    name: OsString,
    inode: u64,
    kind: FileType,
}

/// `is_new`: it was not read before.
fn read(dir: &Arc<Node>, fd: &OwnedFd, classifier: &Classifier, is_new: bool) -> Result<Vec<Line>> {
    let raw = names(dir, fd)?;
    let look = |raw| look(dir, fd, raw, classifier, is_new);
    let found: Vec<_> = match raw.len() {
        ..MANY => raw.into_iter().filter_map(look).collect(),
        _ => in_parallel(raw, &look),
    };
    Ok(lines(dir, found, classifier))
}

fn of_objects(dir: &Arc<Node>, classifier: &Classifier) -> Result<Vec<Line>> {
    let mut found = classifier.objects.list(dir)?;
    found.retain(|(name, found)| classifier.shows(dir, name, found.what));
    Ok(lines(dir, found, classifier))
}

fn lines(dir: &Node, found: Vec<(OsString, Classified)>, classifier: &Classifier) -> Vec<Line> {
    let names = if classifier.options.strip_ext { stripped(&found) } else { HashMap::new() };
    let lines = found.into_iter().map(|(name, found)| {
        let shown = names.get(&name).cloned();
        let mut line = line(dir, name.clone(), &found);
        if let Some(shown) = shown {
            (line.cursor, line.shown, line.true_name) = (cursor_of(&shown), shown, Some(name));
        }
        line
    });
    lines.collect()
}

fn names(dir: &Node, fd: &OwnedFd) -> Result<Vec<Raw>> {
    let failed = |errno: rustix::io::Errno| Error::read(Place::file(&dir.path()), errno.into());
    let mut names = Vec::new();
    for entry in Dir::read_from(fd).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let name = entry.file_name().to_bytes();
        if name != b"." && name != b".." {
            names.push(Raw {
                name: OsStr::from_bytes(name).to_owned(),
                inode: entry.ino(),
                kind: entry.file_type(),
            });
        }
    }
    Ok(names)
}

/// What is not there any more, or cannot be looked at, is not listed.
fn look(
    dir: &Arc<Node>,
    fd: &OwnedFd,
    raw: Raw,
    classifier: &Classifier,
    is_new: bool,
) -> Option<(OsString, Classified)> {
    if raw.kind == FileType::Directory {
        let is_shown = classifier.shows(dir, &raw.name, EntryKind::Directory);
        let found = Classified::directory(raw.inode);
        return is_shown.then_some((raw.name, found));
    }
    if is_new
        && raw.kind == FileType::RegularFile
        && let Ok(Some(found)) = classifier.look_into(dir, fd.as_fd(), &raw.name)
    {
        return Some((raw.name, found));
    }
    let found = classifier.look_in(dir, fd.as_fd(), &raw.name);
    let found = found.inspect_err(|error| log::warn!("not listed: {error}")).ok()??;
    Some((raw.name, found))
}

fn in_parallel<T: Send>(raw: Vec<Raw>, look: &(impl Fn(Raw) -> Option<T> + Sync)) -> Vec<T> {
    let rest = Mutex::new(raw.into_iter());
    let next = || rest.lock().next();
    let work = || std::iter::from_fn(next).filter_map(look).collect::<Vec<T>>();
    thread::scope(|scope| {
        // One that cannot be started leaves its share to the others.
        let start = |_| thread::Builder::new().name("rab-look".into()).spawn_scoped(scope, work).ok();
        let others: Vec<_> = (1..THREADS).filter_map(start).collect();
        let mut found = work();
        // Without what a thread that panicked was to find the listing would be wrong.
        let joined = |other: thread::ScopedJoinHandle<'_, _>| {
            other.join().unwrap_or_else(|panic| resume_unwind(panic))
        };
        others.into_iter().for_each(|other| found.extend::<Vec<T>>(joined(other)));
        found
    })
}

/// The names of containers without their extensions, where no other file would be called the same.
fn stripped(found: &[(OsString, Classified)]) -> HashMap<OsString, OsString> {
    let stem = |(name, found): &(OsString, Classified)| match found.what {
        EntryKind::Container(_) => Path::new(name).file_stem().map(OsStr::to_owned),
        _ => None,
    };
    let mut counts: HashMap<OsString, usize> = HashMap::new();
    for file in found {
        *counts.entry(file.0.clone()).or_default() += 1;
        if let Some(stem) = stem(file).filter(|stem| *stem != file.0) {
            *counts.entry(stem).or_default() += 1;
        }
    }
    let unique = |file: &(OsString, Classified)| {
        let stem = stem(file).filter(|stem| *stem != file.0 && counts.get(stem) == Some(&1))?;
        Some((file.0.clone(), stem))
    };
    found.iter().filter_map(unique).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_of_one_name_get_numbers() {
        let paths = ["/a/x.rab", "/b/x.rab", "/c/x.rab~2", "/d/x.rab", "/"].map(PathBuf::from);
        let names = named(&paths).into_iter().map(|(name, _)| name.into_string().unwrap());
        assert_eq!(names.collect::<Vec<_>>(), ["x.rab", "x.rab~3", "x.rab~2", "x.rab~4", "root"]);
    }

    #[test]
    fn cursors_grow_even_if_hashes_are_equal() {
        let at = |cursor, shown: &str| Line {
            cursor,
            shown: shown.into(),
            true_name: None,
            kind: NodeKind::File,
            id: 1,
        };
        let lines = in_order(vec![at(9, "c"), at(5, "b"), at(5, "a"), at(6, "d")]);
        let found: Vec<_> = lines.iter().map(|line| (line.cursor, line.shown.to_str().unwrap())).collect();
        assert_eq!(found, [(5, "a"), (6, "b"), (7, "d"), (9, "c")]);
    }
}
