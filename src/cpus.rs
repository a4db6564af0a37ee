//! On which CPUs the calling thread runs. Threads inherit that from the one that starts them.

use std::sync::OnceLock;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// The CPUs of the process: those of its first thread, which is never kept to one of them. None if they are unknown.
pub fn all() -> Option<&'static CpuSet> {
    static ALL: OnceLock<Option<CpuSet>> = OnceLock::new();
    ALL.get_or_init(|| sched_getaffinity(Some(rustix::process::getpid())).ok()).as_ref()
}

/// Keeps this thread to one CPU of the process. Says whether it is now.
pub fn keep_to(cpu: usize) -> bool {
    let mut only = CpuSet::new();
    if cpu >= CpuSet::MAX_CPU || !all().is_some_and(|all| all.is_set(cpu)) {
        return false;
    }
    only.set(cpu);
    sched_setaffinity(None, &only).is_ok()
}

/// Lets this thread run on all CPUs of the process.
pub fn release() {
    if let Some(all) = all() {
        // It fails where CPUs were taken away from the process: the kernel has then chosen others already.
        let _ = sched_setaffinity(None, all);
    }
}

/// How many CPUs the calling thread may run on.
#[cfg(test)]
pub fn count() -> u32 {
    sched_getaffinity(None).unwrap().count()
}
