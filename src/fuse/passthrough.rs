//! Plain files of a mounted directory: the kernel reads them from their own file system, past us and without a second
//! copy in memory. Only root may ask it to (since Linux 6.9); for others reads come to us as all others do.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use fuser::{BackingId, FileHandle, FopenFlags, InitFlags, KernelConfig, ReplyOpen};
use parking_lot::Mutex;

use crate::source::Source;

pub struct Passthrough {
    is_on: AtomicBool,
    /// By inode, with the number of times it is open: all openers must share one.
    open: Mutex<HashMap<u64, (Arc<BackingId>, u64)>>,
}

impl Passthrough {
    /// The flags to ask the kernel for.
    pub fn wanted(config: &mut KernelConfig) -> InitFlags {
        // A mount may then lie on what is no other such mount.
        match config.set_max_stack_depth(1) {
            Ok(_) => InitFlags::FUSE_PASSTHROUGH,
            Err(_) => InitFlags::empty(),
        }
    }

    pub fn new() -> Passthrough {
        Passthrough { is_on: AtomicBool::new(false), open: Mutex::default() }
    }

    pub fn switch_on(&self) {
        self.is_on.store(true, Ordering::Relaxed);
    }

    /// Answers that the file is opened: it is read past us, or else in the way that `otherwise` says.
    pub fn open(&self, inode: u64, source: Option<Arc<dyn Source>>, otherwise: FopenFlags, reply: ReplyOpen) {
        let source = source.filter(|_| self.is_on.load(Ordering::Relaxed));
        match source.and_then(|source| self.backing(inode, &*source, &reply)) {
            Some(backing) => reply.opened_passthrough(FileHandle(0), FopenFlags::empty(), &backing),
            None => reply.opened(FileHandle(0), otherwise),
        }
    }

    fn backing(&self, inode: u64, source: &dyn Source, reply: &ReplyOpen) -> Option<Arc<BackingId>> {
        let mut open = self.open.lock();
        if let Some((backing, count)) = open.get_mut(&inode) {
            *count += 1;
            return Some(backing.clone());
        }
        match reply.open_backing(source.file()?) {
            Ok(backing) => {
                let backing = Arc::new(backing);
                open.insert(inode, (backing.clone(), 1));
                Some(backing)
            }
            Err(cause) => {
                // A file must not be opened in both ways at a time, so none is from now on.
                if open.is_empty() {
                    self.is_on.store(false, Ordering::Relaxed);
                }
                log::debug!("{}: the kernel does not read it by itself: {cause}", source.path().display());
                None
            }
        }
    }

    pub fn release(&self, inode: u64) {
        let mut open = self.open.lock();
        if let Some((_, count)) = open.get_mut(&inode) {
            *count -= 1;
            if *count == 0 {
                open.remove(&inode);
            }
        }
    }
}
