//! Contents of small files that the kernel gets before it asks for them (FUSE_NOTIFY_STORE): what is in its page cache
//! costs no request. Which files these are is found in [`crate::fs`].

use std::fs::File;
use std::io::{self, IoSlice, Write};
use std::num::NonZeroUsize;
use std::os::fd::OwnedFd;
use std::sync::OnceLock;

use lru::LruCache;
use parking_lot::Mutex;

/// The code of the notification, in the enumeration `fuse_notify_code` of <linux/fuse.h>.
const STORE: i32 = 4;

/// Where contents are pushed to.
#[derive(Default)]
pub struct Push {
    /// The device of the mount, in addition to those on which requests arrive. fuser's own notifier does not say that
    /// the kernel does not know the file.
    device: OnceLock<File>,
    /// How many times the kernel had to forget something. Locked while contents are handed to it: what was read
    /// before something is forgotten must not arrive after that.
    forgotten: Mutex<u64>,
    /// Files that were opened.
    opened: Mutex<Opened>,
}

/// Inodes that were opened lately.
struct Opened(LruCache<u64, ()>);

impl Default for Opened {
    fn default() -> Opened {
        Opened(LruCache::new(MAX_OPENED))
    }
}

/// Number of files of which it is known that they were opened.
const MAX_OPENED: NonZeroUsize = NonZeroUsize::new(1 << 16).unwrap();

impl Push {
    /// From now on it has a mount.
    pub fn begin(&self, device: OwnedFd) {
        let _ = self.device.set(device.into());
    }

    pub fn is_possible(&self) -> bool {
        self.device.get().is_some()
    }

    /// Is this file opened for the first time, in a mount in which contents are pushed?
    pub fn is_first(&self, inode: u64) -> bool {
        self.is_possible() && self.opened.lock().0.put(inode, ()).is_none()
    }

    /// To be called before the kernel is told to forget something.
    pub fn forget(&self) {
        *self.forgotten.lock() += 1;
    }

    /// Counts what is forgotten, for [`Push::store`].
    pub fn forgotten(&self) -> u64 {
        *self.forgotten.lock()
    }

    /// Puts the whole content of a file into the kernel's page cache, unless something was forgotten since
    /// [`Push::forgotten`] was `read_at`. Says whether the kernel knows the file.
    pub fn store(&self, inode: u64, content: &[u8], read_at: u64) -> bool {
        let Some(device) = self.device.get() else { return false };
        let forgotten = self.forgotten.lock();
        if *forgotten != read_at {
            return true;
        }
        match store(device, inode, content) {
            Ok(()) => true,
            Err(cause) => {
                if cause.raw_os_error() != Some(libc::ENOENT) {
                    log::debug!("content is not pushed to the kernel: {cause}");
                }
                false
            }
        }
    }
}

/// Writes a `fuse_out_header` and a `fuse_notify_store_out` of <linux/fuse.h>, with the content behind them.
fn store(mut device: &File, inode: u64, content: &[u8]) -> io::Result<()> {
    let size = u32::try_from(content.len()).map_err(io::Error::other)?;
    let mut head = Vec::with_capacity(HEAD);
    head.extend_from_slice(&(HEAD as u32 + size).to_ne_bytes());
    head.extend_from_slice(&STORE.to_ne_bytes());
    // No request has this number, as this is no reply.
    head.extend_from_slice(&0u64.to_ne_bytes());
    head.extend_from_slice(&inode.to_ne_bytes());
    head.extend_from_slice(&0u64.to_ne_bytes());
    head.extend_from_slice(&size.to_ne_bytes());
    head.extend_from_slice(&0u32.to_ne_bytes());
    device.write_vectored(&[IoSlice::new(&head), IoSlice::new(content)]).map(drop)
}

const HEAD: usize = 16 + 24;
