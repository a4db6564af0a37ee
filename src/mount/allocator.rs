//! The C library's allocator keeps what is freed, once for each thread's arena: with memory that comes and goes
//! in many threads the process grew to twice the cache's size. So arenas are few, and what is large is mapped and
//! unmapped by itself; but not replies, whose pages would have to be allocated again for each.

/// Blocks from this size on go back to the system when they are freed: more than a reply (1 MiB).
#[cfg(target_env = "gnu")]
const MAPPED: libc::c_int = (1 << 20) + (64 << 10);
/// So much of an arena may be free at its end; else each reply would shrink it.
#[cfg(target_env = "gnu")]
const TRIM: libc::c_int = 4 << 20;

/// To be called once, before threads are started.
pub fn prefer_small() {
    #[cfg(target_env = "gnu")]
    // SAFETY: mallopt only sets parameters, and no other thread is allocating yet.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, MAPPED);
        libc::mallopt(libc::M_TRIM_THRESHOLD, TRIM);
        libc::mallopt(libc::M_ARENA_MAX, 2);
    }
}
