//! The file system as a user sees it, without FUSE: inodes, attributes, listings, reads. It knows the
//! container only as a [`Tree`], and answers every question with a plain value or an [`Error`].
//!
//! An inode number is 1 + 2 x node, plus 1 for the sidecar: it can be computed, never changes, and the root has 1.

mod ahead;
mod sizing;
mod xattr;

use std::collections::HashSet;
use std::ffi::OsString;
use std::ops::Range;
use std::sync::Arc;
use std::time::SystemTime;

use self::ahead::Ahead;
pub use self::ahead::Pass;
use self::sizing::Sizing;
use crate::content::{Bytes, Content};
use crate::source::Source;
use crate::tree::{Entry, FileKind, Lifetime, NodeId, NodeKind, ROOT, Size, Stat, Tree, VIEWS};
use crate::{Error, Result};
use parking_lot::Mutex;

/// The owner of the files, and the bits removed from 0444 and 0755.
#[derive(Clone, Copy, Debug)]
pub struct Owner {
    pub uid: u32,
    pub gid: u32,
    pub umask: u32,
}

pub struct FileSystem {
    tree: Arc<dyn Tree>,
    owner: Owner,
    modified: SystemTime,
    /// The bytes on disk of all there is.
    stored: u64,
    /// Inodes whose storage has failed.
    logged: Mutex<HashSet<u64>>,
    sizing: Sizing,
    ahead: Ahead,
}

/// Reads the whole of a small file.
pub type ReadFile<'a> = &'a dyn Fn() -> Result<Bytes>;

/// Maximum number of files among which a large one is looked for.
const MAX_SEEN: usize = 100_000;
/// Maximum number of I/O failures logged when a disk dies.
const MAX_LOGGED: usize = 1000;

/// What stat shows. `len` is `None` for a file whose size is only known after decoding it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Attributes {
    pub inode: u64,
    pub kind: NodeKind,
    pub len: Option<u64>,
    /// Bytes on disk.
    pub stored: u64,
    pub mode: u16,
    pub modified: SystemTime,
    pub lifetime: Lifetime,
}

/// What `df` shows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Totals {
    pub stored: u64,
    pub inodes: u64,
}

/// One line of a directory; `cursor` continues the listing after it.
pub struct Line<'a> {
    pub name: &'a [u8],
    pub cursor: u64,
    pub inode: u64,
    pub kind: NodeKind,
    dir: NodeId,
    entry: Entry,
}

impl<'a> Line<'a> {
    fn new(name: &'a [u8], cursor: u64, dir: NodeId, entry: Entry) -> Line<'a> {
        Line { name, cursor, inode: compose(entry.node, entry.file), kind: entry.kind, dir, entry }
    }

    /// `.` and `..`, which a listing does not look up.
    pub fn is_dots(&self) -> bool {
        self.cursor <= DOTS
    }
}

/// Cursors 1 and 2 are `.` and `..`; the tree's own follow.
const DOTS: u64 = 2;

impl FileSystem {
    pub fn new(tree: Arc<dyn Tree>, owner: Owner, modified: SystemTime, stored: u64) -> FileSystem {
        FileSystem {
            tree,
            owner,
            modified,
            stored,
            logged: Mutex::default(),
            sizing: Sizing::new(),
            ahead: Ahead::new(),
        }
    }

    pub fn owner(&self) -> Owner {
        self.owner
    }

    pub fn totals(&self) -> Totals {
        Totals { stored: self.stored, inodes: self.tree.entries() + self.tree.datasets() }
    }

    /// Has it a directory of which the kernel should not keep what a listing shows?
    pub fn is_vast(&self) -> bool {
        self.tree.is_vast()
    }

    /// The inodes of all that is in the same container.
    pub fn siblings(&self, inode: u64) -> Vec<Range<u64>> {
        let nodes = decompose(inode).map_or_else(|_| Vec::new(), |(node, _)| self.tree.siblings(node));
        let inodes =
            |nodes: Range<NodeId>| compose(nodes.start, FileKind::Data)..compose(nodes.end, FileKind::Data);
        nodes.into_iter().map(inodes).collect()
    }

    /// Can requests for this inode be answered without opening a container?
    pub fn is_ready(&self, inode: u64) -> bool {
        decompose(inode).is_ok_and(|(node, _)| self.tree.is_ready(node))
    }

    /// How long what is in a directory stays the same.
    pub fn listing_lifetime(&self, inode: u64) -> Lifetime {
        decompose(inode).map_or(Lifetime::Refresh, |(node, _)| self.tree.listing_lifetime(node))
    }

    /// What is found is remembered until it is forgotten.
    pub fn lookup(&self, parent: u64, name: &[u8]) -> Result<Attributes> {
        let (node, file) = self.tree.lookup(self.directory(parent)?, name)?.ok_or(Error::NotFound)?;
        self.known_attributes(node, file).inspect_err(|_| self.tree.forget(node, 1))
    }

    pub fn forget(&self, inode: u64, lookups: u64) {
        if let Ok((node, _)) = decompose(inode) {
            self.tree.forget(node, lookups);
        }
    }

    /// Somebody opens a file, and closes it with [`FileSystem::release`]. What is a file on disk as it is, is returned.
    pub fn open(&self, inode: u64) -> Result<Option<Arc<dyn Source>>> {
        decompose(inode).and_then(|(node, _)| self.tree.hold(node))
    }

    pub fn release(&self, inode: u64) {
        if let Ok((node, _)) = decompose(inode) {
            self.tree.release(node);
        }
    }

    /// From now on `changed` is called with the inode of a directory and a name in it when a change is noticed.
    pub fn watch(&self, changed: impl Fn(u64, Option<OsString>) + Send + Sync + 'static) {
        self.tree.watch(Arc::new(move |dir, name| changed(compose(dir, FileKind::Data), name)));
    }

    pub fn link(&self, inode: u64) -> Result<Vec<u8>> {
        self.tree.link(decompose(inode)?.0)
    }

    /// Attributes without decoding: `len` may be missing.
    pub fn attributes(&self, inode: u64) -> Result<Attributes> {
        let (node, file) = decompose(inode)?;
        self.known_attributes(node, file)
    }

    /// Attributes with their length, decoding the dataset if nothing else tells.
    pub fn exact_attributes(&self, inode: u64) -> Result<Attributes> {
        let known = self.attributes(inode)?;
        if known.len.is_some() {
            return Ok(known);
        }
        let (node, file) = decompose(inode)?;
        let len = self.tree.content(node, file)?.len()?;
        Ok(Attributes { len: Some(len), ..known })
    }

    /// Somebody asked for these attributes. Returns how often [`FileSystem::size_ahead`] is to be called in other
    /// threads.
    pub fn asked(&self, attributes: &Attributes) -> usize {
        match decompose(attributes.inode) {
            Ok((node, FileKind::Data)) if attributes.kind == NodeKind::File => {
                self.sizing.asked(self.tree.parent(node), attributes.len.is_some())
            }
            _ => 0,
        }
    }

    /// Finds out sizes of files that lie beside `inode` and will be asked for next.
    pub fn size_ahead(&self, inode: u64) {
        if let Ok((node, _)) = decompose(inode) {
            self.sizing.work(self.tree.parent(node), &*self.tree);
        }
    }

    /// The length of a file whose bytes are in the container as they are; None of others, and before the container is
    /// opened.
    pub fn stored_len(&self, inode: u64) -> Option<u64> {
        let (node, file) = decompose(inode).ok()?;
        match self.tree.ready_content(node, file).ok()?? {
            Content::Stored { range, .. } => Some(range.end - range.start),
            _ => None,
        }
    }

    /// Has it a file of so many bytes or more that are in the container as they are?
    pub fn has_stored(&self, len: u64) -> bool {
        if self.stored < len || self.is_vast() {
            return false;
        }
        let (mut dirs, mut seen, mut found) = (vec![ROOT], 0, false);
        while let Some(dir) = dirs.pop() {
            // A directory that cannot be listed has nothing that could be read.
            let _ = self.tree.list(dir, 0, &mut |name, entry| {
                seen += 1;
                match (entry.kind, entry.file) {
                    (NodeKind::Directory { .. }, _) if name != VIEWS => dirs.push(entry.node),
                    (NodeKind::File, FileKind::Data) => {
                        let is_large = |size: Size| size.len.is_some_and(|known| known >= len);
                        found = self.tree.size(entry.node, entry.file).is_ok_and(is_large)
                            && self.stored_len(compose(entry.node, entry.file)) >= Some(len);
                    }
                    _ => {}
                }
                !found && seen < MAX_SEEN
            });
            if found || seen == MAX_SEEN {
                break;
            }
        }
        found
    }

    /// The content of a file in a container if it has at most `max` bytes, and is there without decoding or waiting.
    pub fn small(&self, inode: u64, max: u64) -> Result<Option<Bytes>> {
        let attributes = self.attributes(inode)?;
        let dir = self.tree.parent(decompose(inode)?.0);
        match attributes.len {
            Some(len) if len <= max && self.tree.listing_lifetime(dir) == Lifetime::Forever => {
                self.read_if_ready(inode, 0, len as usize)
            }
            _ => Ok(None),
        }
    }

    /// A program reads a file from its start. Returns what [`FileSystem::hand_out`] is to be called with, on another
    /// thread, if it reads files of a directory in order.
    pub fn begins_to_read(&self, inode: u64) -> Option<Pass> {
        let (node, file) = decompose(inode).ok()?;
        let dir = self.tree.parent(node);
        // Where what is listed may change, a file is not what it was when it was looked up.
        let is_fixed = !self.is_vast() && self.tree.listing_lifetime(dir) == Lifetime::Forever;
        (is_fixed && self.ahead.read((dir, file), node)).then_some((dir, file))
    }

    /// [`FileSystem::hand_out`] will not be called.
    pub fn not_handed_out(&self, pass: Pass) {
        self.ahead.cancel(pass);
    }

    /// All files of a directory are being looked up.
    pub fn looks_all_up(&self, dir: u64) {
        if let Ok((node, _)) = decompose(dir) {
            self.ahead.listed(node);
        }
    }

    /// Calls `hand_out` with the inodes of files that are probably read next and a function that reads them, until that
    /// is enough or `hand_out` returns false, as the file was not looked up.
    pub fn hand_out(&self, pass: Pass, hand_out: &mut dyn FnMut(u64, ReadFile<'_>) -> bool) {
        self.ahead.hand_out(pass, &*self.tree, &mut |node, content, len| {
            let inode = compose(node, pass.1);
            hand_out(inode, &|| self.noted(inode, content.read(0, len)))
        });
    }

    /// The extended attributes that describe this file's dataset.
    pub fn xattrs(&self, inode: u64) -> Result<xattr::Attributes> {
        let (node, file) = decompose(inode)?;
        let about = if file == FileKind::Data { self.tree.describe(node)? } else { None };
        Ok(about.map_or_else(Vec::new, |about| xattr::of(&about, self.tree.format(node))))
    }

    /// Calls `each` for every line of a directory after `cursor`, `.` and `..` first, until it returns
    /// false.
    pub fn list(&self, inode: u64, cursor: u64, each: &mut dyn FnMut(Line<'_>) -> bool) -> Result<()> {
        let dir = self.directory(inode)?;
        let kind = NodeKind::Directory { subdirectories: None };
        let dots = [(&b"."[..], dir), (&b".."[..], self.tree.parent(dir))];
        for (at, (name, node)) in (1..).zip(dots).filter(|(at, _)| *at > cursor) {
            if !each(Line::new(name, at, dir, Entry { node, file: FileKind::Data, kind, cursor: 0 })) {
                return Ok(());
            }
        }
        self.tree.list(dir, cursor.saturating_sub(DOTS), &mut |name, entry| {
            let cursor = entry.cursor + DOTS;
            each(Line::new(name, cursor, dir, entry))
        })
    }

    /// The attributes of what was listed, without decoding; None if it is not there any more. It is remembered
    /// until it is forgotten, but for `.` and `..`.
    pub fn listed(&self, line: &Line<'_>) -> Result<Option<Attributes>> {
        if line.is_dots() {
            return self.known_attributes(line.entry.node, line.entry.file).map(Some);
        }
        let found = self.tree.listed(line.dir, line.name, &line.entry)?;
        Ok(found.map(|(node, file, stat)| self.of_stat(node, file, stat)))
    }

    /// As [`FileSystem::read`] if that neither decodes nor waits for the container, or None.
    pub fn read_if_ready(&self, inode: u64, offset: u64, size: usize) -> Result<Option<Bytes>> {
        let (node, file) = decompose(inode)?;
        let answer = match self.tree.ready_content(node, file)? {
            Some(content) => content.read_if_ready(offset, size),
            None => Ok(None),
        };
        self.noted(inode, answer)
    }

    /// At most `size` bytes from `offset`, fewer only where the file ends.
    pub fn read(&self, inode: u64, offset: u64, size: usize) -> Result<Bytes> {
        let (node, file) = decompose(inode)?;
        let answer = self.tree.content(node, file).and_then(|content| content.read(offset, size));
        self.noted(inode, answer)
    }

    /// Calls `listener` once when the file turns out to be damaged after some of it was served.
    pub fn on_damage(&self, inode: u64, listener: impl FnOnce() + Send + 'static) {
        let content = decompose(inode).and_then(|(node, file)| self.tree.ready_content(node, file));
        if let Ok(Some(content)) = content {
            content.on_damage(listener);
        }
    }

    /// Logs a failure of the container's storage once for each file. (Damage is logged where it is
    /// found.)
    fn noted<T>(&self, inode: u64, answer: Result<T>) -> Result<T> {
        if let Err(error @ Error::Read { .. }) = &answer {
            let mut logged = self.logged.lock();
            if logged.len() < MAX_LOGGED && logged.insert(inode) {
                log::error!("{error}; reads of it give that error");
            }
        }
        answer
    }

    fn directory(&self, inode: u64) -> Result<NodeId> {
        let (node, file) = decompose(inode)?;
        match self.tree.kind(node)? {
            NodeKind::Directory { .. } if file == FileKind::Data => Ok(node),
            _ => Err(Error::NotADirectory),
        }
    }

    fn known_attributes(&self, node: NodeId, file: FileKind) -> Result<Attributes> {
        Ok(self.of_stat(node, file, self.tree.stat(node, file)?))
    }

    fn of_stat(&self, node: NodeId, file: FileKind, stat: Stat) -> Attributes {
        let Stat { kind, size, modified, permissions } = stat;
        Attributes {
            inode: compose(node, file),
            kind,
            len: size.len,
            stored: size.stored,
            mode: permissions & !(self.owner.umask as u16),
            modified: modified.unwrap_or(self.modified),
            lifetime: self.tree.lifetime(node),
        }
    }
}

fn compose(node: NodeId, file: FileKind) -> u64 {
    1 + 2 * node + u64::from(file == FileKind::Sidecar)
}

fn decompose(inode: u64) -> Result<(NodeId, FileKind)> {
    let at = inode.checked_sub(1).ok_or(Error::NotFound)?;
    Ok((at / 2, if at % 2 == 0 { FileKind::Data } else { FileKind::Sidecar }))
}
