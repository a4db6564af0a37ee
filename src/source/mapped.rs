//! A memory-mapped file, from which the kernel copies replies without a copy of our own.
//!
//! Invariant: this process never reads a mapped byte itself. The file may be truncated at any moment, and touching the
//! map would then raise SIGBUS, whereas the kernel's copy into a reply only fails (the reader gets an input/output
//! error). Headers and streams are read with pread instead.
//!
//! Mapped pages count as resident memory of this process although they belong to the page cache, so they are released
//! from time to time.

use std::fs::File;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use memmap2::{Mmap, UncheckedAdvice};

/// After this many bytes have been handed out, the pages behind them are released.
const RESIDENT: u64 = 32 << 20;

pub struct Map {
    map: Mmap,
    handed_out: AtomicU64,
}

impl Map {
    /// None where the file system cannot map files; reads then go through a buffer.
    pub fn new(file: &File) -> Option<Arc<Map>> {
        // SAFETY: the bytes are never read by this process (see above), so it does not matter to the
        // language that others may change them.
        let map = unsafe { Mmap::map(file) };
        let map = map.inspect_err(|cause| log::debug!("the container cannot be mapped: {cause}")).ok()?;
        Some(Arc::new(Map { map, handed_out: AtomicU64::new(0) }))
    }

    pub fn range(self: &Arc<Map>, range: Range<u64>) -> Option<Mapped> {
        let range = usize::try_from(range.start).ok()?..usize::try_from(range.end).ok()?;
        self.map.get(range.clone())?;
        Some(Mapped { map: self.clone(), range })
    }

    fn count(&self, bytes: usize) {
        let bytes = bytes as u64;
        let before = self.handed_out.fetch_add(bytes, Ordering::Relaxed);
        if before / RESIDENT != (before + bytes) / RESIDENT {
            // SAFETY: the map is of a file and only read, so a page that is let go of comes back with the
            // same bytes, also under a copy that is going on.
            let advised = unsafe { self.map.unchecked_advise(UncheckedAdvice::DontNeed) };
            if let Err(cause) = advised {
                log::debug!("mapped pages stay resident: {cause}");
            }
        }
    }
}

/// A range of a mapped file, which cannot be read by accident.
pub struct Mapped {
    map: Arc<Map>,
    range: Range<usize>,
}

impl Mapped {
    /// # Safety
    /// The bytes may only be given to a system call. Another process may truncate the file at any moment: the call
    /// fails then, but looking into them here would end this process.
    pub unsafe fn for_the_kernel(&self) -> &[u8] {
        self.map.map.get(self.range.clone()).unwrap_or(&[])
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        self.map.count(self.range.len());
    }
}
