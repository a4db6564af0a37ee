//! Listings of directories on disk that the kernel keeps. It asks for them again when the directory was modified; but a
//! file that becomes a container where it stands is a directory from then on, and what it stands in is not modified by
//! that. So each listing is invalidated after a while.

use std::collections::{HashSet, VecDeque};
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

/// The kernel has what it was answered after so long.
const MIN_AGE: Duration = Duration::from_millis(100);

pub struct Listed {
    keep: Duration,
    queue: Mutex<Queue>,
    added: Condvar,
}

#[derive(Default)]
struct Queue {
    due: VecDeque<(Instant, u64)>,
    waiting: HashSet<u64>,
}

impl Listed {
    /// Listings are to be kept so long.
    pub fn new(keep: Duration) -> Listed {
        Listed { keep: keep.max(MIN_AGE), queue: Mutex::default(), added: Condvar::new() }
    }

    /// Something of the directory is being listed.
    pub fn note(&self, inode: u64) {
        let mut queue = self.queue.lock();
        // An overflow means that listings are kept for ever.
        let Some(due) = Instant::now().checked_add(self.keep) else { return };
        if queue.waiting.insert(inode) {
            queue.due.push_back((due, inode));
            self.added.notify_one();
        }
    }

    /// Calls `forget` with each directory when its time has come; does not return.
    pub fn work(&self, forget: impl Fn(u64)) {
        loop {
            let (due, inode) = self.next();
            thread::sleep(due.saturating_duration_since(Instant::now()));
            // What is listed from now on is noted again.
            self.queue.lock().waiting.remove(&inode);
            forget(inode);
        }
    }

    fn next(&self) -> (Instant, u64) {
        let mut queue = self.queue.lock();
        loop {
            match queue.due.pop_front() {
                Some(next) => return next,
                None => self.added.wait(&mut queue),
            }
        }
    }
}
