//! Contents of small files that the kernel gets before it asks for them (FUSE_NOTIFY_STORE): what is in its page cache
//! costs no request. Which files these are is found in [`crate::fs`].
//!
//! The kernel makes us wait until a page that it is reading has arrived, and it arrives with the answer to a request. So
//! no thread that receives requests may wait here, nor any thread that holds what others need for an answer.
//! Invariants:
//! - No lock is held while contents are handed over, and they are in memory already.
//! - Ahead of readers, contents are handed over by one thread, which does nothing else.
//! - Where a file is opened, they are handed over by the receiving thread, but only while no program has the file open:
//!   nobody can be reading it then. Whoever opens it meanwhile waits for that.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, IoSlice, Write};
use std::os::fd::OwnedFd;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};

use lru::LruCache;
use parking_lot::{Condvar, Mutex};

use crate::fs::Pass;

/// The code of the notification, in the enumeration `fuse_notify_code` of <linux/fuse.h>.
const STORE: i32 = 4;
/// Directories that wait for the thread; when there are more, their files are not handed over.
const MAX_WAITING: usize = 64;
/// Number of files of which it is known that they were opened before.
const MAX_SEEN: usize = 1 << 16;

/// Where contents are pushed to.
#[derive(Default)]
pub struct Push {
    /// The device of the mount, in addition to those on which requests arrive. fuser's own notifier does not say that
    /// the kernel does not know the file.
    device: OnceLock<File>,
    /// What the thread is to do.
    ahead: OnceLock<SyncSender<Pass>>,
    /// How many times the kernel had to forget something.
    forgotten: AtomicU64,
    opened: Mutex<Opened>,
    is_pushed: Condvar,
}

struct Opened {
    /// Files that are open.
    open: HashMap<u64, Open>,
    /// Files that were opened lately: what the kernel has of them need not be handed over again.
    seen: LruCache<u64, ()>,
}

impl Default for Opened {
    fn default() -> Opened {
        Opened { open: HashMap::new(), seen: LruCache::unbounded() }
    }
}

struct Open {
    handles: u64,
    /// Is its content being handed over?
    is_busy: bool,
}

impl Push {
    /// From now on it has a mount. `push_ahead` is called on a thread of its own.
    pub fn begin(&self, device: OwnedFd, push_ahead: impl Fn(Pass) + Send + 'static) {
        let (sender, receiver) = sync_channel(MAX_WAITING);
        let work = move || receiver.into_iter().for_each(push_ahead);
        match std::thread::Builder::new().name("rab-push".into()).spawn(work) {
            Ok(_) => {
                let _ = (self.ahead.set(sender), self.device.set(device.into()));
            }
            Err(cause) => log::warn!("contents are not pushed to the kernel: {cause}"),
        }
    }

    pub fn is_possible(&self) -> bool {
        self.device.get().is_some()
    }

    /// Has files handed over ahead of a reader. Says whether that will be done.
    pub fn ahead(&self, pass: Pass) -> bool {
        self.ahead.get().is_some_and(|ahead| ahead.try_send(pass).is_ok())
    }

    /// A file is being opened. `push` is called if its content may be handed over and was not lately.
    pub fn opened(&self, inode: u64, push: impl FnOnce()) {
        let mut opened = self.opened.lock();
        if let Some(open) = opened.open.get_mut(&inode) {
            open.handles += 1;
            while opened.open.get(&inode).is_some_and(|open| open.is_busy) {
                self.is_pushed.wait(&mut opened);
            }
            return;
        }
        let is_first = self.is_possible() && opened.seen.put(inode, ()).is_none();
        if opened.seen.len() > MAX_SEEN {
            opened.seen.pop_lru();
        }
        opened.open.insert(inode, Open { handles: 1, is_busy: is_first });
        drop(opened);
        if is_first {
            let _busy = Busy { push: self, inode };
            push();
        }
    }

    pub fn released(&self, inode: u64) {
        let mut opened = self.opened.lock();
        if let Some(open) = opened.open.get_mut(&inode) {
            open.handles -= 1;
            if open.handles == 0 {
                opened.open.remove(&inode);
            }
        }
    }

    /// To be called before the kernel is told to forget something.
    pub fn forget(&self) {
        self.forgotten.fetch_add(1, Ordering::SeqCst);
    }

    /// Counts what is forgotten, for [`Push::store`].
    pub fn forgotten(&self) -> u64 {
        self.forgotten.load(Ordering::SeqCst)
    }

    /// Puts the whole content of a file into the kernel's page cache, unless something was forgotten since
    /// [`Push::forgotten`] was `read_at`.
    pub fn store(&self, inode: u64, content: &[u8], read_at: u64) -> Stored {
        let Some(device) = self.device.get() else { return Stored::Unknown };
        if self.forgotten() != read_at {
            return Stored::Known;
        }
        match store(device, inode, content) {
            // The kernel may have forgotten the file before it got this.
            Ok(()) if self.forgotten() != read_at => Stored::Outdated,
            Ok(()) => Stored::Known,
            Err(cause) => {
                if cause.raw_os_error() != Some(libc::ENOENT) {
                    log::debug!("content is not pushed to the kernel: {cause}");
                }
                Stored::Unknown
            }
        }
    }
}

/// What became of a content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stored {
    /// The kernel knows the file.
    Known,
    /// It does not, or cannot have it.
    Unknown,
    /// It has the content, and has to forget it.
    Outdated,
}

/// Ends the wait of those who open the file too, whatever happens.
struct Busy<'a> {
    push: &'a Push,
    inode: u64,
}

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        if let Some(open) = self.push.opened.lock().open.get_mut(&self.inode) {
            open.is_busy = false;
        }
        self.push.is_pushed.notify_all();
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::mpsc::channel;
    use std::time::Duration;

    use super::*;

    fn pushing() -> Arc<Push> {
        let push = Push::default();
        push.begin(File::open("/dev/null").unwrap().into(), |_| {});
        Arc::new(push)
    }

    #[test]
    fn whoever_opens_a_file_that_is_handed_over_waits_for_that() {
        let push = pushing();
        let (begun, begins) = channel();
        let (end, ends) = channel::<()>();
        let first = push.clone();
        let first = std::thread::spawn(move || {
            first.opened(7, || {
                begun.send(()).unwrap();
                ends.recv().unwrap();
            });
        });
        begins.recv().unwrap();
        // Others do not wait.
        push.opened(8, || {});
        let (opened, opens) = channel();
        let second = push.clone();
        std::thread::spawn(move || {
            second.opened(7, || panic!("nothing is handed over twice"));
            opened.send(()).unwrap();
        });
        assert!(opens.recv_timeout(Duration::from_millis(50)).is_err());
        end.send(()).unwrap();
        opens.recv().unwrap();
        first.join().unwrap();
    }

    #[test]
    fn a_panic_leaves_nobody_waiting() {
        let push = pushing();
        let panicking = push.clone();
        assert!(std::thread::spawn(move || panicking.opened(7, || panic!("on purpose"))).join().is_err());
        push.opened(7, || panic!("it is open"));
        (0..2).for_each(|_| push.released(7));
        assert!(push.opened.lock().open.is_empty());
    }

    #[test]
    fn contents_are_handed_over_at_the_first_open_only() {
        let push = pushing();
        let mut count = 0;
        for _ in 0..3 {
            push.opened(7, || count += 1);
            push.released(7);
        }
        assert_eq!(count, 1);
        // More releases than opens do no harm.
        push.released(7);
    }
}
