//! Objects in stores as files of directories, by what listings say of them: nothing of an object is requested to find out
//! what it is. A listing is used again until names are to be refreshed; a long one for longer, as it took longer.

use std::collections::{BTreeMap, HashMap};
use std::ffi::{OsStr, OsString};
use std::io;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use lru::LruCache;
use parking_lot::Mutex;

use super::classified::{Classified, EntryKind};
use super::nodes::Node;
use crate::format;
use crate::source::{self, Listed};
use crate::tree::NodeId;
use crate::{Error, Result};

/// Listings that are kept.
const KEPT: NonZeroUsize = NonZeroUsize::new(16).unwrap();
/// How much longer a listing is used than it took.
const TIMES: u32 = 20;

pub struct Objects {
    refresh: Duration,
    /// What the sources that were given as URLs are: found out once.
    sources: Mutex<HashMap<String, Classified>>,
    /// The name of the only format that is looked for.
    wanted: Option<String>,
    kept: Mutex<LruCache<NodeId, Arc<Kept>>>,
}

struct Kept {
    names: BTreeMap<String, Listed>,
    until: Instant,
}

impl Objects {
    pub fn new(refresh: Duration, wanted: Option<String>) -> Objects {
        Objects { refresh, wanted, sources: Mutex::default(), kept: Mutex::new(LruCache::new(KEPT)) }
    }

    /// The directory that a prefix is.
    pub fn root(url: &str) -> Result<Node> {
        source::find(url, "")?.ok_or_else(|| nothing_below(url))?;
        Ok(Node::root(url.into(), Some(Classified::default())))
    }

    /// Fails if a source is not there.
    pub fn expect(&self, url: &str) -> Result<()> {
        self.source(url)?.map(drop).ok_or_else(|| nothing_below(url))
    }

    /// All that is in a directory, as it is now.
    pub fn list(&self, dir: &Node) -> Result<Vec<(OsString, Classified)>> {
        let path = dir.path();
        let begun = Instant::now();
        let names = source::list(&path.to_string_lossy())?;
        let until = Instant::now() + self.refresh.max(TIMES * begun.elapsed());
        let found = names.iter().map(|(name, listed)| (OsString::from(name), self.classified(name, listed)));
        let found = found.collect();
        self.kept.lock().put(dir.id, Arc::new(Kept { names, until }));
        Ok(found)
    }

    /// What is in a directory under one name; among several sources under one URL.
    pub fn look_at(&self, dir: &Node, name: &OsStr) -> Result<Option<Classified>> {
        let Some(name) = name.to_str() else { return Ok(None) };
        if dir.is_sources() {
            return self.source(name);
        }
        let found = match self.kept(dir) {
            Some(kept) => kept.names.get(name).copied(),
            None => source::find(&dir.path().to_string_lossy(), name)?,
        };
        Ok(found.map(|found| self.classified(name, &found)))
    }

    /// What a source is that was given as a URL.
    fn source(&self, url: &str) -> Result<Option<Classified>> {
        if let Some(known) = self.sources.lock().get(url) {
            return Ok(Some(*known));
        }
        let found = match source::is_directory(Path::new(url)) {
            true => source::find(url, "")?.map(|found| self.classified("", &found)),
            false => self.object_or_prefix(url)?,
        };
        self.sources.lock().extend(found.map(|found| (url.to_owned(), found)));
        Ok(found)
    }

    /// An object is opened: the user means it to be a container, whatever its name.
    fn object_or_prefix(&self, url: &str) -> Result<Option<Classified>> {
        let source = match format::source(Path::new(url)) {
            Ok(source) => source,
            Err(error) if error.is_missing() => {
                let found = if url.starts_with("http") { None } else { source::find(url, "")? };
                return found.map(|found| Some(self.classified("", &found))).ok_or(error);
            }
            Err(error) => return Err(error),
        };
        let what = format::shown(&*source).map_or(EntryKind::File, EntryKind::Container);
        let id = source.file_id().unwrap_or_default();
        Ok(Some(Classified::of_object(what, source.len(), source.modified(), id)))
    }

    /// What is in a directory has changed since it was listed.
    pub fn forget(&self, dir: &Node) {
        let forgotten = self.kept.lock().pop(&dir.id);
        drop(forgotten);
        if dir.is_sources() {
            self.sources.lock().clear();
        }
    }

    /// Is there a listing of it that is used again?
    pub fn is_kept(&self, dir: &Node) -> bool {
        self.kept(dir).is_some()
    }

    fn kept(&self, dir: &Node) -> Option<Arc<Kept>> {
        self.kept.lock().get(&dir.id).filter(|kept| Instant::now() < kept.until).cloned()
    }

    fn is_wanted(&self, format: &str) -> bool {
        self.wanted.as_ref().is_none_or(|wanted| wanted.eq_ignore_ascii_case(format))
    }

    fn classified(&self, name: &str, found: &Listed) -> Classified {
        match *found {
            Listed::Directory => Classified::default(),
            Listed::Object { len, modified, id } => {
                let format = format::known_by_name(Path::new(name))
                    .filter(|found| len > 0 && self.is_wanted(found.name()));
                let what = format.map_or(EntryKind::File, EntryKind::Container);
                Classified::of_object(what, len, modified, id)
            }
        }
    }
}

fn nothing_below(url: &str) -> Error {
    let problem = "no object is below this prefix";
    Error::open(&source::without_secrets(Path::new(url)), io::Error::new(io::ErrorKind::NotFound, problem))
}
