//! Answers to requests, from whichever thread: what [`crate::fs`] finds as FUSE says it, and what the kernel has to
//! forget of it. A panic in a request is caught and becomes EIO.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use fuser::{
    Errno, FileAttr, FileType, FopenFlags, Generation, INodeNo, Notifier, ReplyDirectory, ReplyDirectoryPlus,
    ReplyEntry,
};
use parking_lot::Mutex;

use super::listed::Listed;
use super::passthrough::Passthrough;
use super::push::{Push, Stored};
use crate::content::Bytes;
use crate::fs::{Attributes, FileSystem, Line, Pass};
use crate::tree::{Lifetime, NodeKind};
use crate::{Error, Result};

const DAY: Duration = Duration::from_secs(24 * 3600);
const NO_TIME: Duration = Duration::ZERO;
const GENERATION: Generation = Generation(0);
/// Size of the unit in which `df` counts.
pub const UNIT: u32 = 4096;
/// Larger files are not pushed when they are opened: the program waits for that.
const MAX_OPENED: u64 = 16 << 10;

pub struct Shared {
    pub fs: FileSystem,
    pub notifier: OnceLock<Notifier>,
    pub passthrough: Passthrough,
    pub push: Push,
    /// First inodes of containers that were invalidated in the kernel.
    forgotten: Mutex<HashSet<u64>>,
    /// How long answers hold that may change, where some do.
    changing: Option<Duration>,
    listed: Arc<Listed>,
}

impl Shared {
    pub fn new(fs: FileSystem, changing: Option<Duration>) -> Shared {
        Shared {
            fs,
            notifier: OnceLock::new(),
            passthrough: Passthrough::new(),
            push: Push::default(),
            forgotten: Mutex::default(),
            changing,
            listed: Arc::new(Listed::new(changing.unwrap_or(DAY))),
        }
    }

    /// Runs a request; a panic in it is an error like any other (the panic hook has logged it).
    pub fn guard<T>(&self, inode: u64, request: impl FnOnce(&FileSystem) -> Result<T>) -> Result<T, Errno> {
        self.guarded(inode, request, errno)
    }

    /// As [`Shared::guard`], of what the kernel came to by a name: if that is another container's by now, it is to look
    /// the whole path up again.
    pub fn guard_name<T>(
        &self,
        inode: u64,
        request: impl FnOnce(&FileSystem) -> Result<T>,
    ) -> Result<T, Errno> {
        self.guarded(inode, request, |error| match error {
            Error::Changed { .. } if self.changing.is_some() => Errno::ESTALE,
            error => errno(error),
        })
    }

    fn guarded<T>(
        &self,
        inode: u64,
        request: impl FnOnce(&FileSystem) -> Result<T>,
        errno: impl FnOnce(&Error) -> Errno,
    ) -> Result<T, Errno> {
        let done = catch_unwind(AssertUnwindSafe(|| request(&self.fs)));
        match done {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(error)) => {
                if let Error::Changed { .. } = error {
                    self.invalidate(inode);
                }
                Err(errno(&error))
            }
            Err(_) => Err(Errno::EIO),
        }
    }

    /// If `inode`, of which something was served, turns out to be damaged, the kernel has to forget it.
    pub fn watch(self: &Arc<Shared>, inode: u64) {
        let shared = Arc::downgrade(self);
        self.fs.on_damage(inode, move || {
            if let Some(shared) = shared.upgrade() {
                shared.forget(std::iter::once(inode..inode + 1).collect());
            }
        });
    }

    /// How a file is read: large ones that are stored as they are, of `direct_from` bytes or more, do without the page
    /// cache, in which they would be a second time.
    pub fn how_to_open(&self, inode: u64, direct_from: u64) -> FopenFlags {
        match self.fs.stored_len(inode).is_some_and(|len| len >= direct_from) {
            true => FopenFlags::FOPEN_KEEP_CACHE | FopenFlags::FOPEN_DIRECT_IO,
            false => FopenFlags::FOPEN_KEEP_CACHE,
        }
    }

    /// Gives the kernel the content of a small file that is being opened for the first time: it will be read.
    pub fn push_opened(self: &Arc<Shared>, inode: u64) {
        self.push.opened(inode, || {
            let forgotten = self.push.forgotten();
            if let Ok(Some(bytes)) = self.guard(inode, |fs| fs.small(inode, MAX_OPENED)) {
                self.store(inode, &bytes, forgotten);
            }
        });
    }

    /// Gives the kernel what will probably be read next. To be called on the one thread that does so.
    pub fn push_ahead(self: &Arc<Shared>, pass: Pass) {
        self.fs.hand_out(pass, &mut |inode, read| {
            let forgotten = self.push.forgotten();
            match self.guard(inode, |_| read()) {
                Ok(bytes) => self.store(inode, &bytes, forgotten),
                // Whoever reads the file gets the error.
                Err(_) => true,
            }
        });
    }

    /// Says whether the kernel knows the file.
    fn store(self: &Arc<Shared>, inode: u64, bytes: &Bytes, forgotten: u64) -> bool {
        // What is mapped may have to be read from a disk, while the kernel waits.
        let Bytes::Owned(bytes) = bytes else { return true };
        let stored = self.push.store(inode, bytes, forgotten);
        self.watch(inode);
        if stored == Stored::Outdated
            && let Some(notifier) = self.notifier.get()
        {
            let _ = notifier.inval_inode(INodeNo(inode), 0, 0);
        }
        stored != Stored::Unknown
    }

    /// The container of `inode` changed: the kernel has to forget all that it was given of it.
    fn invalidate(&self, inode: u64) {
        let all = self.fs.siblings(inode);
        let mut forgotten = self.forgotten.lock();
        if all.first().is_some_and(|first| forgotten.insert(first.start)) {
            drop(forgotten);
            self.forget(all);
        }
    }

    fn lifetime(&self, of: Lifetime) -> Duration {
        match of {
            Lifetime::Forever => DAY,
            Lifetime::Refresh => self.changing.unwrap_or(DAY),
        }
    }

    /// How long attributes may be kept: not at all while the size is not known.
    pub fn attributes_hold(&self, attributes: &Attributes) -> Duration {
        if attributes.len.is_some() { self.lifetime(attributes.lifetime) } else { NO_TIME }
    }

    /// From now on listings are forgotten in time.
    pub fn forget_listings(&self, notifier: Notifier) {
        let listed = self.listed.clone();
        let work = move || listed.work(|inode| drop(notifier.inval_inode(INodeNo(inode), 0, 0)));
        if let Err(cause) = std::thread::Builder::new().name("rab-refresh".into()).spawn(work) {
            log::warn!("files that become containers may be listed as files for a while: {cause}");
        }
    }

    pub fn look_up(&self, parent: u64, name: &OsStr, reply: ReplyEntry) {
        match self.guard_name(parent, |fs| fs.lookup(parent, name.as_bytes())) {
            Ok(found) => {
                let attr = self.file_attr(&found);
                let holds = self.lifetime(found.lifetime);
                reply.entry_with_ttls(&self.attributes_hold(&found), &holds, &attr, GENERATION);
            }
            Err(errno) => reply.error(errno),
        }
    }

    pub fn list(&self, inode: u64, cursor: u64, mut reply: ReplyDirectory) {
        let listed = self.each_line(inode, cursor, &mut |line| {
            let kind = file_type(line.kind);
            !reply.add(INodeNo(line.inode), line.cursor, kind, OsStr::from_bytes(line.name))
        });
        match listed {
            Ok(()) => reply.ok(),
            Err(errno) => reply.error(errno),
        }
    }

    pub fn list_with_attributes(&self, inode: u64, cursor: u64, mut reply: ReplyDirectoryPlus) {
        if cursor == 0 {
            self.fs.looks_all_up(inode);
        }
        let listed = self.each_line(inode, cursor, &mut |line| {
            // What cannot be looked at is left out; whoever asks for it by its name gets the error.
            let found = self.fs.listed(&line).inspect_err(|error| log::warn!("not listed: {error}"));
            let Ok(Some(found)) = found else { return true };
            let attr = self.file_attr(&found);
            let holds = self.attributes_hold(&found);
            let name = OsStr::from_bytes(line.name);
            let is_full = reply.add(attr.ino, line.cursor, name, &holds, &attr, GENERATION);
            if is_full && !line.is_dots() {
                self.fs.forget(found.inode, 1);
            }
            !is_full
        });
        match listed {
            Ok(()) => reply.ok(),
            Err(errno) => reply.error(errno),
        }
    }

    /// Lists until `add` returns false. What was listed of a directory that may change is forgotten in time.
    fn each_line(&self, inode: u64, cursor: u64, add: &mut dyn FnMut(Line<'_>) -> bool) -> Result<(), Errno> {
        let done = self.guard(inode, |fs| fs.list(inode, cursor, add));
        if self.fs.listing_lifetime(inode) == Lifetime::Refresh {
            self.listed.note(inode);
        }
        done
    }

    /// Makes the kernel forget. Done on a thread of its own, since the kernel may wait here for reads that are
    /// still to be answered. What the kernel does not know it need not forget.
    fn forget(&self, inodes: Vec<Range<u64>>) {
        self.push.forget();
        let Some(notifier) = self.notifier.get().cloned() else { return };
        let forget = move || {
            inodes.into_iter().flatten().for_each(|inode| drop(notifier.inval_inode(INodeNo(inode), 0, 0)))
        };
        if let Err(cause) = std::thread::Builder::new().name("rab-forget".into()).spawn(forget) {
            log::warn!("what the kernel has cached of damaged or changed data stays readable: {cause}");
        }
    }

    pub fn file_attr(&self, of: &Attributes) -> FileAttr {
        let nlink = match of.kind {
            // One is what file systems say that do not count.
            NodeKind::Directory { subdirectories } => subdirectories.map_or(1, |count| 2 + count),
            NodeKind::File | NodeKind::Link => 1,
        };
        let (owner, modified) = (self.fs.owner(), of.modified);
        FileAttr {
            ino: INodeNo(of.inode),
            // The kernel counts sizes in 63 bits.
            size: of.len.unwrap_or(0).min(i64::MAX as u64),
            blocks: of.stored.div_ceil(512),
            atime: modified,
            mtime: modified,
            ctime: modified,
            crtime: modified,
            kind: file_type(of.kind),
            perm: of.mode,
            nlink: u32::try_from(nlink).unwrap_or(u32::MAX),
            uid: owner.uid,
            gid: owner.gid,
            rdev: 0,
            blksize: UNIT,
            flags: 0,
        }
    }
}

fn file_type(kind: NodeKind) -> FileType {
    match kind {
        NodeKind::Directory { .. } => FileType::Directory,
        NodeKind::File => FileType::RegularFile,
        NodeKind::Link => FileType::Symlink,
    }
}

/// The one place where errors become errno.
fn errno(error: &Error) -> Errno {
    match error {
        // A file below that is missing is not the one that was asked for: "no such file" is nothing to read to many.
        Error::Read { cause, .. } | Error::Open { cause, .. } => {
            let known = cause.raw_os_error().filter(|code| ![libc::ENOENT, libc::ENOTDIR].contains(code));
            known.map_or(Errno::EIO, Errno::from_i32)
        }
        Error::Unsupported { .. } => Errno::EOPNOTSUPP,
        Error::NotFound => Errno::ENOENT,
        Error::IsADirectory => Errno::EISDIR,
        Error::NotADirectory => Errno::ENOTDIR,
        _ => Errno::EIO,
    }
}
