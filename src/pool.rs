//! A few threads for requests that cannot be answered at once, so that a slow decode never holds the
//! threads which receive requests. The queue is as long as the kernel lets requests wait.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

type Job = Box<dyn FnOnce() + Send>;

pub struct Pool {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    queue: Mutex<Queue>,
    arrived: Condvar,
}

#[derive(Default)]
struct Queue {
    jobs: VecDeque<Job>,
    closed: bool,
}

impl Pool {
    /// Starts `threads` threads called `name`.
    pub fn new(name: &str, threads: usize) -> std::io::Result<Pool> {
        let mut pool = Pool { shared: Arc::default(), threads: Vec::new() };
        for _ in 0..threads {
            let shared = pool.shared.clone();
            let builder = std::thread::Builder::new().name(name.to_owned());
            pool.threads.push(builder.spawn(move || shared.work())?);
        }
        Ok(pool)
    }

    pub fn submit(&self, job: impl FnOnce() + Send + 'static) {
        self.shared.lock().jobs.push_back(Box::new(job));
        self.shared.arrived.notify_one();
    }
}

impl Shared {
    fn work(&self) {
        while let Some(job) = self.next() {
            // A panic ends the job, not the thread; whoever waits for the job's answer sees it dropped.
            let _ = catch_unwind(AssertUnwindSafe(job));
        }
    }

    fn next(&self) -> Option<Job> {
        let mut queue = self.lock();
        loop {
            if let Some(job) = queue.jobs.pop_front() {
                return Some(job);
            }
            if queue.closed {
                return None;
            }
            queue = self.arrived.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.shared.lock().closed = true;
        self.shared.arrived.notify_all();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    #[test]
    fn a_panic_does_not_end_the_thread() {
        let pool = Pool::new("test", 1).unwrap();
        let (tell, told) = mpsc::channel();
        pool.submit(|| panic!("on purpose"));
        pool.submit(move || tell.send(7).unwrap());
        assert_eq!(told.recv(), Ok(7));
    }

    #[test]
    fn dropping_finishes_what_was_submitted() {
        let pool = Pool::new("test", 2).unwrap();
        let (tell, told) = mpsc::channel();
        for n in 0..50 {
            let tell = tell.clone();
            pool.submit(move || tell.send(n).unwrap());
        }
        drop((pool, tell));
        assert_eq!(told.iter().count(), 50);
    }
}
