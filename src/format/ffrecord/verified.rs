//! The records that have been compared with their CRC: one bit each. Readers wait for a thread that compares a large
//! record, so that no record is read twice for it at the same time; no lock is held meanwhile.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::{Condvar, Mutex};

use crate::{Error, Result};

/// Maximum number of damaged records that are remembered and logged; others are checked again at every read.
const MAX_DAMAGED: usize = 1000;

pub struct Verified {
    right: Vec<AtomicU64>,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    damaged: HashMap<u64, Error>,
    busy: HashSet<u64>,
}

impl Verified {
    pub fn new(count: u64) -> Verified {
        let words = count.div_ceil(64);
        Verified {
            right: (0..words).map(|_| AtomicU64::new(0)).collect(),
            state: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    /// Is this record known to be intact?
    pub fn is_right(&self, number: u64) -> bool {
        let word = self.right.get((number / 64) as usize);
        word.is_some_and(|word| word.load(Ordering::Relaxed) >> (number % 64) & 1 == 1)
    }

    fn set_right(&self, number: u64) {
        if let Some(word) = self.right.get((number / 64) as usize) {
            word.fetch_or(1 << (number % 64), Ordering::Relaxed);
        }
    }

    /// Verifies a record with `compare`, unless that has been done. Damage is remembered; read errors are not.
    pub fn once(&self, number: u64, compare: impl FnOnce() -> Result<()>) -> Result<()> {
        let mut state = self.state.lock();
        loop {
            if self.is_right(number) {
                return Ok(());
            }
            if let Some(error) = state.damaged.get(&number) {
                return Err(error.clone());
            }
            if state.busy.insert(number) {
                break;
            }
            self.changed.wait(&mut state);
        }
        drop(state);
        let _busy = Busy { all: self, number };
        let compared = compare();
        match &compared {
            Ok(()) => self.set_right(number),
            Err(error @ Error::Damaged { .. }) => self.note(number, error),
            Err(_) => {}
        }
        compared
    }

    fn note(&self, number: u64, error: &Error) {
        let mut state = self.state.lock();
        if state.damaged.len() < MAX_DAMAGED && state.damaged.insert(number, error.clone()).is_none() {
            log::error!("{error}; reads of it give an input/output error");
        }
    }
}

/// Releases the record, even if verifying panics.
struct Busy<'a> {
    all: &'a Verified,
    number: u64,
}

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        self.all.state.lock().busy.remove(&self.number);
        self.all.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Place;

    #[test]
    fn each_record_is_compared_once_by_one() {
        let verified = Verified::new(130);
        let compared = AtomicU64::new(0);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for number in 0..130 {
                        let compare = || {
                            compared.fetch_add(1, Ordering::Relaxed);
                            std::thread::yield_now();
                            Ok(())
                        };
                        verified.once(number, compare).unwrap();
                    }
                });
            }
        });
        assert_eq!(compared.into_inner(), 130);
        assert!((0..130).all(|number| verified.is_right(number)) && !verified.is_right(1000));
    }

    #[test]
    fn damage_is_remembered_and_failing_reads_are_not() {
        let verified = Verified::new(2);
        assert!(verified.once(1, || Err(Error::NotFound)).is_err());
        let damaged = || Err(Error::damaged(Place::default(), "wrong"));
        assert!(verified.once(1, damaged).is_err());
        assert!(verified.once(1, || panic!("compared again")).is_err());
        assert!(verified.once(0, || Ok(())).is_ok() && !verified.is_right(1));
    }
}
