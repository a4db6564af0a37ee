//! A block of an object: on its way, here, or failed. Everybody who needs it waits for the one request.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use super::object::Failure;

/// Bytes of all blocks that are here or on their way.
static HELD: AtomicU64 = AtomicU64::new(0);
/// Bytes of those on their way.
static ON_THE_WAY: AtomicU64 = AtomicU64::new(0);

/// The kernel asks again at once for a page of what has failed; that is the same request to the user.
const LASTS: Duration = Duration::from_secs(1);

struct Failed {
    failure: Failure,
    at: Instant,
}

pub struct Block {
    /// Bytes of memory that it counts for, from the request on.
    len: u64,
    bytes: Mutex<Option<Result<Arc<[u8]>, Failed>>>,
    arrived: Condvar,
}

impl Block {
    pub fn new(len: u64) -> Arc<Block> {
        HELD.fetch_add(len, Ordering::Relaxed);
        ON_THE_WAY.fetch_add(len, Ordering::Relaxed);
        Arc::new(Block { len, bytes: Mutex::default(), arrived: Condvar::new() })
    }

    pub fn len(&self) -> u64 {
        self.len
    }

    pub fn held() -> u64 {
        HELD.load(Ordering::Relaxed)
    }

    pub fn on_the_way() -> u64 {
        ON_THE_WAY.load(Ordering::Relaxed)
    }

    /// Only the first outcome counts.
    pub fn set(&self, bytes: Result<Arc<[u8]>, Failure>) {
        let mut slot = self.bytes.lock();
        if slot.is_none() {
            *slot = Some(bytes.map_err(|failure| Failed { failure, at: Instant::now() }));
            ON_THE_WAY.fetch_sub(self.len, Ordering::Relaxed);
            self.arrived.notify_all();
        }
    }

    pub fn is_here(&self) -> bool {
        matches!(*self.bytes.lock(), Some(Ok(_)))
    }

    /// Has it failed, so long ago that it is worth another request?
    pub fn has_failed(&self) -> bool {
        matches!(&*self.bytes.lock(), Some(Err(failed)) if failed.at.elapsed() > LASTS)
    }

    pub fn is_on_its_way(&self) -> bool {
        self.bytes.lock().is_none()
    }

    pub fn wait(&self) -> Result<Arc<[u8]>, Failure> {
        let mut bytes = self.bytes.lock();
        loop {
            if let Some(bytes) = &*bytes {
                return bytes.as_ref().map(Arc::clone).map_err(|failed| failed.failure.clone());
            }
            self.arrived.wait(&mut bytes);
        }
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        HELD.fetch_sub(self.len, Ordering::Relaxed);
        if self.bytes.get_mut().is_none() {
            ON_THE_WAY.fetch_sub(self.len, Ordering::Relaxed);
        }
    }
}
