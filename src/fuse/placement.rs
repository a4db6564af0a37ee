//! Answers small requests on the CPU where they were made. A request wakes a receiving thread, and its answer wakes the
//! program again: where one of the two is on a CPU that has gone to sleep, waking that costs several times as much as
//! the answer itself. So a receiving thread that answers the only program for a while follows it to its CPU. With several
//! programs, and for large reads, more CPUs at work are faster: threads are then left to the scheduler.

use std::cell::RefCell;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use fuser::Request;
use parking_lot::{Condvar, Mutex};

use crate::cpus;

/// Reads of more bytes than this are answered on whichever CPU is free.
const MAX_SMALL: u32 = 32 << 10;
/// Number of requests in a row after which a thread looks where the program is: a look takes microseconds.
const LOOK_EVERY: u32 = 16;
/// A program that made so many requests in a row was worth following.
const LONG: u32 = 4096;
const MAX_NEEDED: u32 = 1 << 14;
/// After this long a thread receives again, whatever holds up the others.
const MAX_REST: Duration = Duration::from_millis(10);

static PROGRAMS: Programs = Programs::new();
static RESTING: Resting = Resting::new();

thread_local! {
    static PLACE: RefCell<Placement> = const { RefCell::new(Placement::new()) };
}

/// A request that is being answered. To be dropped behind the answer, when the thread may move.
pub struct Answering {
    program: u32,
    size: u32,
    receivers: u32,
}

impl Answering {
    /// A request for `size` bytes, 0 for what is not a read, answered by one of so many receiving threads.
    pub fn new(request: &Request, size: u32, receivers: u32) -> Answering {
        Answering { program: request.pid(), size, receivers }
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        // Process 0 is the kernel itself, or one that is not seen from here.
        let is_small = self.program != 0 && self.size <= MAX_SMALL;
        PLACE.with_borrow_mut(|place| match is_small {
            true => place.answered(self.program, PROGRAMS.asked(self.program), self.receivers),
            false => place.leave(),
        });
    }
}

/// Who makes requests, as all receiving threads together see it.
struct Programs {
    last: AtomicU32,
    /// How many times it was another one than before.
    changes: AtomicU32,
}

impl Programs {
    const fn new() -> Programs {
        Programs { last: AtomicU32::new(0), changes: AtomicU32::new(0) }
    }

    /// A request of this program arrived. Returns the number of changes so far.
    fn asked(&self, program: u32) -> u32 {
        match self.last.load(Ordering::Relaxed) == program {
            true => self.changes.load(Ordering::Relaxed),
            false => {
                self.last.store(program, Ordering::Relaxed);
                RESTING.end();
                self.changes.fetch_add(1, Ordering::Relaxed) + 1
            }
        }
    }
}

/// Receiving threads that leave the only program to the last of them: the kernel gives requests to threads in turn, and
/// two that take turns answer later than one.
struct Resting {
    count: Mutex<u32>,
    ended: Condvar,
}

impl Resting {
    const fn new() -> Resting {
        Resting { count: Mutex::new(0), ended: Condvar::new() }
    }

    /// Rests unless all other threads do.
    fn rest(&self, receivers: u32) {
        let mut count = self.count.lock();
        if *count + 1 < receivers {
            *count += 1;
            self.ended.wait_for(&mut count, MAX_REST);
            *count -= 1;
        }
    }

    fn end(&self) {
        if *self.count.lock() > 0 {
            self.ended.notify_all();
        }
    }
}

/// Where a receiving thread runs.
struct Placement {
    /// How many requests it answered since the program was another one.
    answered: u32,
    changes: u32,
    /// How many it takes until the thread follows the program.
    needed: u32,
    /// The only CPU that it runs on.
    kept_to: Option<usize>,
    watched: Option<Watched>,
}

impl Placement {
    const fn new() -> Placement {
        Placement { answered: 0, changes: 0, needed: LOOK_EVERY, kept_to: None, watched: None }
    }

    fn answered(&mut self, program: u32, changes: u32, receivers: u32) {
        if self.changes != changes {
            self.be_patient();
            self.leave();
            self.changes = changes;
        }
        self.answered = self.answered.saturating_add(1);
        if self.answered < self.needed
            || !self.answered.is_multiple_of(LOOK_EVERY)
            || cpus::all().is_none_or(|all| all.count() < 2)
        {
            if self.kept_to.is_some() {
                RESTING.rest(receivers);
            }
            return;
        }
        if self.watched.is_none() {
            self.watched = Watched::new(program).ok();
        }
        match self.watched.as_ref().and_then(Watched::cpu) {
            None => self.leave(),
            cpu if cpu == self.kept_to => {}
            cpu => self.kept_to = cpu.filter(|cpu| cpus::keep_to(*cpu)),
        }
    }

    /// Where programs alternate, following each of them for a moment would take longer than it saves.
    fn be_patient(&mut self) {
        if self.kept_to.is_some() {
            let was_long = self.answered >= LONG;
            self.needed = if was_long { LOOK_EVERY } else { MAX_NEEDED.min(4 * self.needed) };
        }
    }

    /// Leaves the choice to the scheduler.
    fn leave(&mut self) {
        if self.kept_to.take().is_some() {
            cpus::release();
            RESTING.end();
        }
        (self.watched, self.answered) = (None, 0);
    }
}

/// A thread of a program whose CPU the kernel tells in /proc.
struct Watched(File);

impl Watched {
    fn new(program: u32) -> io::Result<Watched> {
        File::open(format!("/proc/{program}/stat")).map(Watched)
    }

    /// None if it has ended.
    fn cpu(&self) -> Option<usize> {
        let mut line = [0; 512];
        let len = self.0.read_at(&mut line, 0).ok()?;
        cpu_in(line.get(..len)?)
    }
}

/// The field `processor` of a line of /proc/PID/stat: the 37th after the program's name, which is in parentheses and
/// may have anything in it (proc(5)).
fn cpu_in(line: &[u8]) -> Option<usize> {
    let after_name = line.iter().rposition(|byte| *byte == b')')? + 2;
    let mut fields = line.get(after_name..)?.split(|byte| *byte == b' ');
    std::str::from_utf8(fields.nth(36)?).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cpu_is_found_behind_any_name() {
        let rest = (3..=52).map(|field| if field == 39 { "5".into() } else { format!("1{field}") });
        let line = format!("7 (a) b) {}\n", rest.collect::<Vec<_>>().join(" "));
        assert_eq!(cpu_in(line.as_bytes()), Some(5));
        for short in ["", "7 (a)", "7 (a) R 1 2"] {
            assert_eq!(cpu_in(short.as_bytes()), None, "{short}");
        }
    }

    #[test]
    fn a_thread_follows_one_program_until_a_large_read() {
        let all = cpus::count();
        let worker = std::thread::spawn(move || {
            let program = rustix::thread::gettid().as_raw_nonzero().get() as u32;
            // Itself, which is where it is.
            let answer = |program| drop(Answering { program, size: 4096, receivers: 1 });
            (0..LOOK_EVERY).for_each(|_| answer(program));
            let kept = cpus::count();
            drop(Answering { program, size: 1 << 20, receivers: 1 });
            (kept, cpus::count())
        });
        assert_eq!(worker.join().unwrap(), (1, all));
        // A program that is not there, and the kernel's own requests, change nothing.
        for program in [u32::MAX, 0] {
            (0..LOOK_EVERY).for_each(|_| drop(Answering { program, size: 1, receivers: 1 }));
        }
        assert_eq!(cpus::count(), all);
    }
}
