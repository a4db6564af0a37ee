//! What was wrong with datasets, while the others go on: each thing is said once, however many datasets suffer from it,
//! and the exit code is that of the worst.

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU8, Ordering};

use parking_lot::Mutex;

use super::output::{Done, Failure};
use crate::Error;

#[derive(Default)]
pub struct Told {
    /// Of messages. There may be a million.
    hashes: Mutex<HashSet<u64>>,
    hasher: RandomState,
    worst: AtomicU8,
}

impl Told {
    /// Is this to be said, as it has not been yet?
    pub fn is_new(&self, error: &Error) -> bool {
        self.note(error.exit_code());
        let hash = self.hasher.hash_one(error.to_string());
        self.hashes.lock().insert(hash)
    }

    /// Damage (12) says more than what could not be read (10), and that more than what is refused (1).
    pub fn note(&self, code: u8) {
        self.worst.fetch_max(code, Ordering::Relaxed);
    }

    /// 0: nothing was wrong.
    pub fn code(&self) -> u8 {
        self.worst.load(Ordering::Relaxed)
    }

    pub fn done(&self) -> Done {
        match self.code() {
            0 => Ok(()),
            code => Err(Failure::Said(code)),
        }
    }
}
