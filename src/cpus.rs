//! On which CPUs the calling thread runs. Threads inherit that from the one that starts them.

use std::sync::atomic::{AtomicBool, Ordering};

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Was any thread ever kept to one CPU? Otherwise none is moved.
static IS_USED: AtomicBool = AtomicBool::new(false);

/// The CPUs of the process: those of its first thread, which is never kept to one of them. They may be changed at any
/// time, with taskset(1) for example. None if they are unknown.
pub fn all() -> Option<CpuSet> {
    sched_getaffinity(Some(rustix::process::getpid())).ok()
}

/// Keeps this thread to one CPU of the process. Says whether it is now.
pub fn keep_to(cpu: usize) -> bool {
    let mut only = CpuSet::new();
    if cpu >= CpuSet::MAX_CPU || !all().is_some_and(|all| all.is_set(cpu)) {
        return false;
    }
    only.set(cpu);
    IS_USED.store(true, Ordering::Relaxed);
    sched_setaffinity(None, &only).is_ok()
}

/// Lets this thread run on all CPUs of the process, if it may have been kept to one of them.
pub fn release() {
    if IS_USED.load(Ordering::Relaxed)
        && let Some(all) = all()
    {
        // It fails where CPUs were taken away from the process: the kernel has then chosen others already.
        let _ = sched_setaffinity(None, &all);
    }
}

/// How many CPUs the calling thread may run on.
#[cfg(test)]
pub fn count() -> u32 {
    sched_getaffinity(None).unwrap().count()
}
