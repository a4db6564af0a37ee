//! Threads for requests that cannot be answered at once, so that a slow decode never holds the threads which
//! receive requests. They are started when all others are busy (some only wait for what another decodes), up
//! to a bound, and end when they have had nothing to do for a while.
//!
//! Dropping the pool forgets what is queued and waits for nothing: that comes with the end of the process.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use crate::cpus;

type Job = Box<dyn FnOnce() + Send>;

const IDLE: Duration = Duration::from_secs(10);

pub struct Pool {
    name: &'static str,
    most: usize,
    niceness: i32,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    queue: Mutex<Queue>,
    arrived: Condvar,
}

#[derive(Default)]
struct Queue {
    jobs: VecDeque<Job>,
    threads: usize,
    idle: usize,
    closed: bool,
}

impl Pool {
    /// At most `most` threads, called `name`; none is started yet.
    pub fn new(name: &'static str, most: usize) -> Pool {
        Pool { name, most, niceness: 0, shared: Arc::default() }
    }

    /// As [`Pool::new`], for work that is only done when a processor has nothing else to do.
    pub fn idle(name: &'static str, most: usize) -> Pool {
        Pool { name, most, niceness: 19, shared: Arc::default() }
    }

    pub fn submit(&self, job: impl FnOnce() + Send + 'static) {
        let mut queue = self.shared.queue.lock();
        queue.jobs.push_back(Box::new(job));
        if queue.jobs.len() > queue.idle && queue.threads < self.most {
            queue.threads += 1;
            drop(queue);
            self.start();
        }
        self.shared.arrived.notify_one();
    }

    /// As [`Pool::submit`] if a thread can take it at once; says whether it did.
    pub fn offer(&self, job: impl FnOnce() + Send + 'static) -> bool {
        let queue = self.shared.queue.lock();
        let has_room = queue.jobs.len() < queue.idle + (self.most - queue.threads);
        drop(queue);
        if has_room {
            self.submit(job);
        }
        has_room
    }

    fn start(&self) {
        let (shared, niceness) = (self.shared.clone(), self.niceness);
        let thread = std::thread::Builder::new().name(self.name.to_owned());
        let work = move || {
            // The thread that asked for this one may be kept to one CPU.
            cpus::release();
            if niceness > 0 {
                // On Linux this is of the calling thread; where it fails, the thread is as good as others.
                let _ = rustix::process::setpriority_process(None, niceness);
            }
            shared.work();
        };
        if let Err(cause) = thread.spawn(work) {
            let mut queue = self.shared.queue.lock();
            queue.threads -= 1;
            log::warn!("a thread cannot be started, {} go on: {cause}", queue.threads);
            if queue.threads == 0 {
                // Dropping a job answers its request with an error.
                queue.jobs.clear();
            }
        }
    }
}

impl Shared {
    fn work(&self) {
        while let Some(job) = self.next() {
            // A panic ends the job, not the thread; its request is answered when it is dropped.
            let _ = catch_unwind(AssertUnwindSafe(job));
        }
    }

    /// The next job; None when this thread is to end.
    fn next(&self) -> Option<Job> {
        let mut queue = self.queue.lock();
        loop {
            if let Some(job) = queue.jobs.pop_front() {
                return Some(job);
            }
            queue.idle += 1;
            let waited = self.arrived.wait_for(&mut queue, IDLE);
            queue.idle -= 1;
            if queue.closed || (waited.timed_out() && queue.jobs.is_empty()) {
                queue.threads -= 1;
                return None;
            }
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        let mut queue = self.shared.queue.lock();
        queue.closed = true;
        let forgotten = std::mem::take(&mut queue.jobs);
        drop(queue);
        drop(forgotten);
        self.shared.arrived.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    #[test]
    fn a_panic_does_not_end_the_pool() {
        let pool = Pool::new("test", 1);
        let (sender, receiver) = mpsc::channel();
        pool.submit(|| panic!("on purpose"));
        pool.submit(move || sender.send(7).unwrap());
        assert_eq!(receiver.recv(), Ok(7));
    }

    #[test]
    fn waiting_threads_leave_room_for_others_up_to_the_bound() {
        let pool = Pool::new("test", 3);
        let (release, released) = mpsc::channel::<()>();
        let released = Arc::new(Mutex::new(released));
        for _ in 0..2 {
            let released = released.clone();
            pool.submit(move || {
                let _ = released.lock().recv();
            });
        }
        let (sender, receiver) = mpsc::channel();
        for n in 0..50 {
            let sender = sender.clone();
            pool.submit(move || sender.send(n).unwrap());
        }
        drop(sender);
        assert_eq!(receiver.iter().count(), 50);
        assert!(pool.shared.queue.lock().threads <= 3);
        drop(release);
    }
}
