//! The thin adapter between FUSE and [`crate::fs`]: the only room that names fuser, errno or inode types.
//!
//! A request that can be answered at once is answered on the thread that received it; one that has to decode goes with
//! its reply to the pool, so that a slow decode never freezes `ls`. What is in a container does not change while it is
//! mounted, so the kernel may keep what it learns for a day; sizes that nobody knows yet are given as 0 with a lifetime
//! of 0, and asked for again. In a mounted directory ([`Behaviour::changing`]) the kernel asks again after a while, and
//! tells us what it opens.

mod listed;
mod passthrough;
mod placement;
mod push;
mod shared;
mod xattr;

use std::ffi::OsStr;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use fuser::{
    Errno, FileHandle, Filesystem, FopenFlags, INodeNo, InitFlags, IoctlFlags, KernelConfig, LockOwner,
    Notifier, OpenFlags, ReplyAttr, ReplyData, ReplyDirectory, ReplyDirectoryPlus, ReplyEmpty, ReplyEntry,
    ReplyIoctl, ReplyOpen, ReplyStatfs, ReplyXattr, Request,
};

use self::passthrough::Passthrough;
use self::placement::Answering;
use self::shared::{Shared, UNIT};
use crate::Result;
use crate::content::Bytes;
use crate::fs::{Attributes, FileSystem};
use crate::pool::Pool;
use crate::tree::Lifetime;

/// The longest file name, in bytes.
const NAME_MAX: usize = 255;
/// The most threads that decode or wait for a decode of another; they are started as they are needed.
const WORKERS: usize = 64;

/// How a mount answers.
#[derive(Clone, Copy, Debug)]
pub struct Behaviour {
    /// Opening a directory of a dead mount has to fail, as fusermount3 expects it to when it decides about
    /// auto_unmount; the kernel must then go on asking.
    pub ask_opendirs: bool,
    /// Extended attributes say what datasets are.
    pub xattrs: bool,
    /// Names come and go: what the kernel knows of them holds for so long. None: nothing changes.
    pub changing: Option<Duration>,
    /// Files of so many bytes that are stored as they are do without the page cache.
    pub direct_from: u64,
    /// Small files are handed to the kernel before it asks for them.
    pub push: bool,
    /// Receiving threads run where the program is that they answer.
    pub follow: bool,
    /// Number of these threads.
    pub receivers: u32,
}

pub struct Fuse {
    shared: Arc<Shared>,
    pool: Pool,
    behaviour: Behaviour,
    /// The kernel takes ENOSYS for "opens need not be asked".
    opens_are_free: bool,
    opendirs_are_free: bool,
    /// To be done when the mount has ended.
    at_end: Option<Box<dyn FnOnce() + Send + Sync>>,
}

impl Fuse {
    /// `at_end` is called when the mount has ended.
    pub fn new(fs: FileSystem, behaviour: Behaviour, at_end: impl FnOnce() + Send + Sync + 'static) -> Fuse {
        Fuse {
            shared: Arc::new(Shared::new(fs, behaviour.changing)),
            pool: Pool::new("rab-worker", WORKERS),
            behaviour,
            opens_are_free: false,
            opendirs_are_free: !behaviour.ask_opendirs,
            at_end: Some(Box::new(at_end)),
        }
    }

    /// To be called with the session's notifier and device once it is mounted.
    pub fn on_mounted(&self) -> impl FnOnce(Notifier, OwnedFd) + Send + 'static {
        let (shared, behaviour) = (self.shared.clone(), self.behaviour);
        move |notifier, device| {
            if behaviour.push {
                let weak = Arc::downgrade(&shared);
                shared.push.begin(device, move |pass| {
                    if let Some(shared) = weak.upgrade() {
                        shared.push_ahead(pass);
                    }
                });
            }
            if shared.notifier.set(notifier.clone()).is_ok() && behaviour.changing.is_some() {
                shared.forget_listings(notifier.clone());
                shared.fs.watch(move |dir, name| {
                    // What the kernel does not know it need not forget.
                    if let Some(name) = name {
                        let _ = notifier.inval_entry(INodeNo(dir), &name);
                    }
                    let _ = notifier.inval_inode(INodeNo(dir), 0, 0);
                });
            }
        }
    }

    fn wanted(&self, config: &mut KernelConfig) -> InitFlags {
        let always = InitFlags::FUSE_DO_READDIRPLUS
            | InitFlags::FUSE_NO_OPENDIR_SUPPORT
            | InitFlags::FUSE_PARALLEL_DIROPS
            | InitFlags::FUSE_DIRECT_IO_ALLOW_MMAP;
        let wanted = match self.behaviour.changing {
            // Only who is asked at each open can say that a file is read directly.
            None if self.shared.fs.has_stored(self.behaviour.direct_from) => InitFlags::FUSE_CACHE_SYMLINKS,
            None => InitFlags::FUSE_NO_OPEN_SUPPORT | InitFlags::FUSE_CACHE_SYMLINKS,
            // The kernel drops what it has of a file or listing when the time of its modification is another one.
            Some(_) => {
                InitFlags::FUSE_AUTO_INVAL_DATA
                    | InitFlags::FUSE_READDIRPLUS_AUTO
                    | Passthrough::wanted(config)
            }
        };
        (always | wanted) & config.capabilities()
    }

    /// To be dropped behind the answer.
    fn answering(&self, request: &Request, size: u32) -> Option<Answering> {
        let Behaviour { follow, receivers, .. } = self.behaviour;
        follow.then(|| Answering::new(request, size, receivers))
    }

    fn answer_in_pool<R: Send + 'static>(
        &self,
        reply: R,
        answer: impl FnOnce(&Arc<Shared>, R) + Send + 'static,
    ) {
        let shared = self.shared.clone();
        self.pool.submit(move || answer(&shared, reply));
    }

    /// Answers here if that can be done without opening a container, else in the pool.
    fn answer<R: Send + 'static>(
        &self,
        inode: u64,
        reply: R,
        answer: impl FnOnce(&Arc<Shared>, R) + Send + 'static,
    ) {
        if self.shared.fs.is_ready(inode) {
            return answer(&self.shared, reply);
        }
        let shared = self.shared.clone();
        self.pool.submit(move || answer(&shared, reply));
    }
}

impl Fuse {
    /// As [`Fuse::answer`]; a directory on disk, in which each file may have to be looked at, is read in the pool.
    fn answer_listing<R: Send + 'static>(
        &self,
        inode: u64,
        cursor: u64,
        reply: R,
        answer: impl FnOnce(&Arc<Shared>, R) + Send + 'static,
    ) {
        if cursor > 0 || self.shared.fs.listing_lifetime(inode) == Lifetime::Forever {
            return self.answer(inode, reply, answer);
        }
        let shared = self.shared.clone();
        self.pool.submit(move || answer(&shared, reply));
    }
}

impl Filesystem for Fuse {
    fn init(&mut self, _: &Request, config: &mut KernelConfig) -> io::Result<()> {
        // Without this, since Linux 6.6, what is read directly could not be mapped.
        if !config.capabilities().contains(InitFlags::FUSE_DIRECT_IO_ALLOW_MMAP) {
            self.behaviour.direct_from = u64::MAX;
        }
        let mut wanted = self.wanted(config);
        wanted.set(InitFlags::FUSE_DO_READDIRPLUS, !self.shared.fs.is_vast());
        wanted &= config.capabilities();
        if wanted.contains(InitFlags::FUSE_PASSTHROUGH) {
            self.shared.passthrough.switch_on();
        }
        self.opens_are_free = wanted.contains(InitFlags::FUSE_NO_OPEN_SUPPORT);
        self.opendirs_are_free &= wanted.contains(InitFlags::FUSE_NO_OPENDIR_SUPPORT);
        config
            .add_capabilities(wanted)
            .map_err(|missing| io::Error::other(format!("the kernel does not support {missing:?}")))
    }

    fn destroy(&mut self) {
        if let Some(at_end) = self.at_end.take() {
            at_end();
        }
    }

    fn lookup(&self, request: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let _answering = self.answering(request, 0);
        if name.len() > NAME_MAX {
            return reply.error(Errno::ENAMETOOLONG);
        }
        if self.shared.fs.is_ready(parent.0) {
            return self.shared.look_up(parent.0, name, reply);
        }
        let name = name.to_owned();
        self.answer(parent.0, reply, move |shared, reply| shared.look_up(parent.0, &name, reply));
    }

    fn forget(&self, _: &Request, inode: INodeNo, lookups: u64) {
        self.shared.fs.forget(inode.0, lookups);
    }

    fn readlink(&self, _: &Request, inode: INodeNo, reply: ReplyData) {
        match self.shared.guard(inode.0, |fs| fs.link(inode.0)) {
            Ok(target) => reply.data(&target),
            Err(errno) => reply.error(errno),
        }
    }

    fn getattr(&self, request: &Request, inode: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        let _answering = self.answering(request, 0);
        let answer = |shared: &Shared, reply: ReplyAttr, found: Result<Attributes, Errno>| match found {
            Ok(found) => reply.attr(&shared.attributes_hold(&found), &shared.file_attr(&found)),
            Err(errno) => reply.error(errno),
        };
        let exactly = move |shared: &Arc<Shared>, reply| {
            answer(shared, reply, shared.guard(inode.0, |fs| fs.exact_attributes(inode.0)));
            shared.watch(inode.0);
        };
        if !self.shared.fs.is_ready(inode.0) {
            return self.answer(inode.0, reply, exactly);
        }
        let found = self.shared.guard(inode.0, |fs| fs.attributes(inode.0));
        for _ in 0..found.as_ref().map_or(0, |found| self.shared.fs.asked(found)) {
            let shared = self.shared.clone();
            self.pool.submit(move || shared.fs.size_ahead(inode.0));
        }
        match found {
            Ok(found) if found.len.is_none() => {
                let shared = self.shared.clone();
                self.pool.submit(move || exactly(&shared, reply));
            }
            found => answer(&self.shared, reply, found),
        }
    }

    fn open(&self, request: &Request, inode: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        if self.opens_are_free {
            return reply.error(Errno::ENOSYS);
        }
        let _answering = self.answering(request, 0);
        let direct_from = self.behaviour.direct_from;
        self.answer(inode.0, reply, move |shared, reply| {
            match shared.guard_name(inode.0, |fs| fs.open(inode.0)) {
                Ok(source) => {
                    let how = shared.how_to_open(inode.0, direct_from);
                    if !how.contains(FopenFlags::FOPEN_DIRECT_IO) {
                        shared.push_opened(inode.0);
                    }
                    shared.passthrough.open(inode.0, source, how, reply);
                }
                Err(errno) => reply.error(errno),
            }
        });
    }

    fn release(
        &self,
        _: &Request,
        inode: INodeNo,
        _: FileHandle,
        _: OpenFlags,
        _: Option<LockOwner>,
        _: bool,
        reply: ReplyEmpty,
    ) {
        self.shared.passthrough.release(inode.0);
        self.shared.push.released(inode.0);
        self.shared.fs.release(inode.0);
        reply.ok();
    }

    fn read(
        &self,
        request: &Request,
        inode: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let _answering = self.answering(request, size);
        let size = size as usize;
        let answer = |reply: ReplyData, read: Result<Bytes, Errno>| match read {
            // SAFETY: the reply hands them to writev.
            Ok(bytes) => reply.data(unsafe { bytes.for_the_kernel() }),
            Err(errno) => reply.error(errno),
        };
        match self.shared.guard(inode.0, |fs| fs.read_if_ready(inode.0, offset, size)) {
            Ok(Some(bytes)) => answer(reply, Ok(bytes)),
            Err(errno) => answer(reply, Err(errno)),
            Ok(None) => {
                let shared = self.shared.clone();
                self.pool.submit(move || {
                    answer(reply, shared.guard(inode.0, |fs| fs.read(inode.0, offset, size)));
                    shared.watch(inode.0);
                });
            }
        }
        if offset == 0
            && self.shared.push.is_possible()
            && let Some(pass) = self.shared.fs.begins_to_read(inode.0)
            && !self.shared.push.ahead(pass)
        {
            self.shared.fs.not_handed_out(pass);
        }
    }

    fn opendir(&self, _: &Request, _: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        if self.opendirs_are_free {
            reply.error(Errno::ENOSYS);
        } else {
            reply.opened(FileHandle(0), FopenFlags::FOPEN_CACHE_DIR | FopenFlags::FOPEN_KEEP_CACHE);
        }
    }

    fn readdir(&self, _: &Request, inode: INodeNo, _: FileHandle, cursor: u64, reply: ReplyDirectory) {
        self.answer_listing(inode.0, cursor, reply, move |shared, reply| shared.list(inode.0, cursor, reply));
    }

    fn readdirplus(
        &self,
        _: &Request,
        inode: INodeNo,
        _: FileHandle,
        cursor: u64,
        reply: ReplyDirectoryPlus,
    ) {
        self.answer_listing(inode.0, cursor, reply, move |shared, reply| {
            shared.list_with_attributes(inode.0, cursor, reply);
        });
    }

    fn statfs(&self, _: &Request, _: INodeNo, reply: ReplyStatfs) {
        let totals = self.shared.fs.totals();
        let units = totals.stored.div_ceil(u64::from(UNIT));
        reply.statfs(units, 0, 0, totals.inodes, 0, UNIT, NAME_MAX as u32, UNIT);
    }

    /// Not answered at all unless it is asked for: the kernel then stops asking, which makes `ls -l` ten times faster.
    fn getxattr(&self, _: &Request, inode: INodeNo, name: &OsStr, size: u32, reply: ReplyXattr) {
        let name = name.to_string_lossy().into_owned();
        match self.behaviour.xattrs {
            false => reply.error(Errno::ENOSYS),
            // Whatever else the system asks for with each file.
            true if !name.starts_with("user.") => reply.error(Errno::from_i32(libc::ENODATA)),
            true => {
                self.answer_in_pool(reply, move |shared, reply| shared.xattr(inode.0, &name, size, reply))
            }
        }
    }

    fn listxattr(&self, _: &Request, inode: INodeNo, size: u32, reply: ReplyXattr) {
        match self.behaviour.xattrs {
            false => reply.error(Errno::ENOSYS),
            true => self.answer_in_pool(reply, move |shared, reply| shared.xattr_names(inode.0, size, reply)),
        }
    }

    /// Nothing to be written back: not answered, and so asked once only.
    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        reply.error(Errno::ENOSYS);
    }

    fn fsync(&self, _: &Request, _: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        reply.error(Errno::ENOSYS);
    }

    fn fsyncdir(&self, _: &Request, _: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        reply.error(Errno::ENOSYS);
    }

    /// Not answered: the kernel then seeks by itself, without holes.
    fn lseek(&self, _: &Request, _: INodeNo, _: FileHandle, _: i64, _: i32, reply: fuser::ReplyLseek) {
        reply.error(Errno::ENOSYS);
    }

    /// Every terminal check (`isatty`, Python's `open`) asks one.
    #[allow(clippy::too_many_arguments)]
    fn ioctl(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        _: IoctlFlags,
        _: u32,
        _: &[u8],
        _: u32,
        reply: ReplyIoctl,
    ) {
        reply.error(Errno::ENOTTY);
    }
}
