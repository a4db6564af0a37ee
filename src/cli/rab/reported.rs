//! Collects errors of datasets while others continue: each message is reported once, however many datasets it affects,
//! and the most severe error determines the exit code.

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU8, Ordering};

use parking_lot::Mutex;

use super::output::{Done, Failure};
use crate::Error;

#[derive(Default)]
pub struct Reported {
    /// Hashes of messages, as there may be a million of them.
    hashes: Mutex<HashSet<u64>>,
    hasher: RandomState,
    worst: AtomicU8,
}

impl Reported {
    /// Records the error and returns whether its message is new.
    pub fn is_new(&self, error: &Error) -> bool {
        self.note(error.exit_code());
        let hash = self.hasher.hash_one(error.to_string());
        self.hashes.lock().insert(hash)
    }

    /// Keeps the most severe code: damaged (12) over unreadable (10) over refused (1).
    pub fn note(&self, code: u8) {
        self.worst.fetch_max(code, Ordering::Relaxed);
    }

    /// The exit code; 0 if there were no errors.
    pub fn code(&self) -> u8 {
        self.worst.load(Ordering::Relaxed)
    }

    pub fn done(&self) -> Done {
        match self.code() {
            0 => Ok(()),
            code => Err(Failure::Reported(code)),
        }
    }
}
