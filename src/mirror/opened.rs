//! Open containers and files. The least recently used one is closed when there are too many or their indexes take too
//! much memory; when it is reopened it has to be the same.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};

use lru::LruCache;
use parking_lot::Mutex;

use super::classified::EntryKind;
use super::failed::Failed;
use super::nodes::Node;
use super::objects::Objects;
use super::options::Options;
use crate::codec::Engine;
use crate::content::Content;
use crate::format::{self, Container, Context, Format};
use crate::source::{FileSource, Source};
use crate::tree::{NodeId, Stat, Tree};
use crate::{Error, Result};

/// Bytes of memory that any of them takes beside its index: descriptor, path, empty caches.
const EACH: u64 = 8 << 10;

pub struct Opened {
    most: usize,
    most_memory: u64,
    formats: format::Options,
    engine: Arc<Engine>,
    objects: Arc<Objects>,
    table: Mutex<Table>,
}

struct Table {
    /// Each with the memory that was counted for it.
    slots: LruCache<NodeId, (Arc<Slot>, u64)>,
    /// Of all slots together.
    memory: u64,
    /// How many times a node's files are open.
    held: HashMap<NodeId, u64>,
}

impl Table {
    fn take(&mut self, id: NodeId) -> Option<Arc<Slot>> {
        let (slot, memory) = self.slots.pop(&id)?;
        self.memory -= memory;
        Some(slot)
    }

    /// Counts what an opened container takes by now: it grows as it is read.
    fn count(&mut self, id: NodeId, slot: &Arc<Slot>) {
        if let Some((known, memory)) = self.slots.peek_mut(&id)
            && Arc::ptr_eq(known, slot)
        {
            let counted = std::mem::replace(memory, slot.memory());
            self.memory = self.memory - counted + *memory;
        }
    }

    /// What was not used for longest, but for `new`; what is held only if there is nothing else.
    fn oldest(&self, new: NodeId) -> Option<NodeId> {
        let others = || self.slots.iter().rev().map(|(id, _)| *id).filter(|id| *id != new);
        others().find(|id| !self.held.contains_key(id)).or_else(|| others().next())
    }
}

#[derive(Default)]
struct Slot {
    /// Opened once for all concurrent requests.
    open: OnceLock<Result<Open>>,
}

#[derive(Clone)]
enum Open {
    Tree(Arc<dyn Tree>),
    File(Arc<dyn Source>),
}

impl Slot {
    fn memory(&self) -> u64 {
        match self.open.get() {
            Some(Ok(Open::Tree(tree))) => EACH + tree.memory(),
            _ => EACH,
        }
    }
}

impl Opened {
    pub fn new(options: &Options, engine: Arc<Engine>, objects: Arc<Objects>) -> Opened {
        let table = Table { slots: LruCache::unbounded(), memory: 0, held: HashMap::new() };
        let (most, most_memory) = (options.max_open, options.max_memory);
        let formats = options.formats.clone();
        Opened { most, most_memory, formats, engine, objects, table: Mutex::new(table) }
    }

    /// The datasets of a container.
    pub fn tree(&self, node: &Node) -> Result<Arc<dyn Tree>> {
        match self.open(node)? {
            Open::Tree(tree) => Ok(tree),
            Open::File(_) => Err(Error::NotADirectory),
        }
    }

    /// As [`Opened::tree`], if it is open.
    pub fn tree_if_open(&self, node: &Node) -> Option<Arc<dyn Tree>> {
        match self.opened(node)? {
            Open::Tree(tree) => Some(tree),
            Open::File(_) => None,
        }
    }

    pub fn is_open(&self, node: &Node) -> bool {
        self.opened(node).is_some()
    }

    /// The bytes of a file as it is now.
    pub fn file(&self, node: &Node) -> Result<Content> {
        match self.open(node)? {
            Open::File(source) => Ok(whole(source)),
            Open::Tree(_) => Err(Error::IsADirectory),
        }
    }

    pub fn file_if_open(&self, node: &Node) -> Result<Option<Content>> {
        match self.opened(node) {
            Some(Open::File(source)) => Ok(Some(whole(source))),
            Some(Open::Tree(_)) => Err(Error::IsADirectory),
            None => Ok(None),
        }
    }

    /// What a file is now, also if its name is another file's by now.
    pub fn stat_if_open(&self, node: &Node) -> Option<Stat> {
        match self.opened(node)? {
            Open::File(source) => node.found.now_open(source.file()?).map(|classified| classified.stat()),
            Open::Tree(_) => None,
        }
    }

    /// Opens it for another holder.
    pub fn hold(&self, node: &Node) -> Result<Option<Arc<dyn Source>>> {
        let open = self.open(node)?;
        *self.table.lock().held.entry(node.id).or_default() += 1;
        match open {
            Open::File(source) => Ok(Some(source)),
            Open::Tree(_) => Ok(None),
        }
    }

    /// A holder is done with it.
    pub fn release(&self, node: &Node) {
        let mut table = self.table.lock();
        if let Some(count) = table.held.get_mut(&node.id) {
            *count -= 1;
            if *count == 0 {
                table.held.remove(&node.id);
            }
        }
    }

    /// Nobody knows it any more.
    pub fn close(&self, node: &Node) {
        let mut table = self.table.lock();
        table.held.remove(&node.id);
        let slot = table.take(node.id);
        // Closing may write an index: not under the lock.
        drop(table);
        drop(slot);
    }

    /// Bytes that all that are open take, roughly.
    #[cfg(test)]
    pub fn memory(&self) -> u64 {
        self.table.lock().memory
    }

    fn opened(&self, node: &Node) -> Option<Open> {
        let slot = self.table.lock().slots.get(&node.id)?.0.clone();
        slot.open.get()?.clone().ok()
    }

    fn open(&self, node: &Node) -> Result<Open> {
        let slot = self.table.lock().slots.get_or_insert(node.id, <(Arc<Slot>, u64)>::default).0.clone();
        let open = slot.open.get_or_init(|| self.reopen(node)).clone();
        if open.is_err() {
            // It may be different the next time.
            self.table.lock().take(node.id);
        }
        self.close_some(node.id, &slot);
        open
    }

    fn reopen(&self, node: &Node) -> Result<Open> {
        let source = match node.is_remote {
            true => self.object(node)?,
            false => file(node)?,
        };
        let EntryKind::Container(format) = node.what else { return Ok(Open::File(source)) };
        let context = Context { options: self.formats.clone(), ..Context::new(source, self.engine.clone()) };
        let tree = opened_or_failed(format, context)?;
        node.inner.store(tree.nodes(), Ordering::Relaxed);
        Ok(Open::Tree(tree))
    }

    /// An object that was found, if it is the same.
    fn object(&self, node: &Node) -> Result<Arc<dyn Source>> {
        let source = format::source(&node.path()).and_then(|source| match node.found.is_object(&*source) {
            true => Ok(source),
            false => Err(Error::Changed { file: source.path().to_owned() }),
        });
        if let (Err(_), Some(parent)) = (&source, &node.parent) {
            self.objects.forget(parent);
        }
        source
    }

    /// Closes what is too much now that `new` is in use.
    fn close_some(&self, new: NodeId, slot: &Arc<Slot>) {
        let mut table = self.table.lock();
        table.count(new, slot);
        loop {
            let (count, memory) = (table.slots.len(), table.memory);
            if count <= self.most && (memory <= self.most_memory || count == 1) {
                return;
            }
            let Some(oldest) = table.oldest(new) else { return };
            let slot = table.take(oldest);
            // Closing may write an index: not under the lock.
            drop(table);
            drop(slot);
            table = self.table.lock();
        }
    }
}

/// A file that grows is read as far as it goes.
fn whole(source: Arc<dyn Source>) -> Content {
    let range = 0..source.len();
    Content::Stored { source, range }
}

/// A file that was found, if it is the same.
fn file(node: &Node) -> Result<Arc<dyn Source>> {
    let path = node.path();
    let source = match node.is_container() {
        true => FileSource::open(&path)?,
        false => FileSource::open_live(&path)?,
    };
    same(&source, node)?;
    Ok(Arc::new(source))
}

/// Is it the file that was found? Renaming files could lead elsewhere.
fn same(source: &FileSource, node: &Node) -> Result<()> {
    let found = &node.found.identity;
    let is_same = match node.what {
        EntryKind::Container(_) => source.len() == found.len && source.stamp() == found.modified,
        _ => true,
    };
    match is_same && source.file_id() == (found.device, found.inode) {
        true => Ok(()),
        false => Err(Error::Changed { file: source.path().to_owned() }),
    }
}

/// A container at fault is a directory that says so, and so is one at which we are: what panicked once would at every
/// request.
fn opened_or_failed(format: &dyn Format, context: Context) -> Result<Arc<dyn Tree>> {
    let open = || format.open(context.clone()).and_then(Container::into_tree);
    let Ok(opened) = catch_unwind(AssertUnwindSafe(open)) else {
        let problem =
            "not opened because of an internal error: please report the line that the log has of it";
        let error = Error::Other(format!("{}: {problem}", context.source.place()));
        log::error!("{error}");
        return Ok(Arc::new(Failed::new(&error, None)));
    };
    match opened {
        Err(error @ (Error::Open { .. } | Error::Read { .. } | Error::Changed { .. })) => Err(error),
        Err(error) => {
            log::error!("{error}");
            let rest = format.salvage().and_then(|format| format.salvage(context)?.into_tree().ok());
            Ok(Arc::new(Failed::new(&error, rest)))
        }
        opened => opened,
    }
}
