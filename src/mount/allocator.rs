//! The C library's allocator keeps what is freed, once for each thread's arena: with blocks of a cache that
//! come and go in many threads the process grew to twice the cache's size. Large blocks are therefore mapped
//! and unmapped one by one, and arenas are few.

/// Blocks from this size on go back to the system when they are freed.
#[cfg(target_env = "gnu")]
const MAPPED: libc::c_int = 128 << 10;

/// To be called once, before threads are started.
pub fn prefer_small() {
    #[cfg(target_env = "gnu")]
    // SAFETY: mallopt only sets parameters, and no other thread is allocating yet.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, MAPPED);
        libc::mallopt(libc::M_ARENA_MAX, 2);
    }
}
