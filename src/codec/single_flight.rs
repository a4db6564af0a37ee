//! Decodes each part of a stream once for all concurrent readers.
//!
//! Parts are numbered in stream order: blocks, spans or frames, or just 0 where the whole stream is decoded at once. A
//! flight is a running decoder that covers a range of parts, often a single one.
//!
//! Invariants:
//! - One lock guards both the stream's state and the list of flights, so finished work is never started again.
//! - The lock is not held while reading or decoding.
//! - A flight ends when its [`Announced`] is dropped, also by an error or a panic. Its waiters then check again: they
//!   find the part or the damage, or decode the part themselves.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use parking_lot::{Condvar, Mutex, MutexGuard};

use super::damage::{Damage, Listener};
use crate::Error;

pub struct SingleFlight<S> {
    shared: Mutex<Shared<S>>,
    progress: Condvar,
}

/// The shared state of a stream: damage, running decoders, and what its own module adds.
pub struct Shared<S> {
    pub damage: Damage,
    pub flights: Vec<Flight>,
    announced: u64,
    /// The parts that readers are waiting for.
    waiting: Vec<u64>,
    inner: S,
}

/// A running decoder: `next` is the part it has reached, `last` the last one it will decode.
pub struct Flight {
    number: u64,
    pub next: u64,
    pub last: u64,
    /// Nobody waits for its end, so `last` may be increased.
    pub open: bool,
}

impl<S> SingleFlight<S> {
    pub fn new(inner: S) -> Arc<SingleFlight<S>> {
        let (flights, waiting) = (Vec::new(), Vec::new());
        let shared = Shared { damage: Damage::default(), flights, announced: 0, waiting, inner };
        Arc::new(SingleFlight { shared: Mutex::new(shared), progress: Condvar::new() })
    }

    pub fn lock(&self) -> MutexGuard<'_, Shared<S>> {
        self.shared.lock()
    }

    /// Returns the result of `found`, or else of `make`; concurrent callers for `part` wait and check again. `found` is
    /// called with the lock held, `make` without.
    pub fn once<T>(
        self: &Arc<Self>,
        part: u64,
        found: impl Fn(&mut Shared<S>) -> Option<T>,
        make: impl FnOnce() -> T,
    ) -> T {
        let mut shared = self.lock();
        loop {
            if let Some(found) = found(&mut shared) {
                return found;
            }
            if !shared.is_coming(part) {
                break;
            }
            self.wait(&mut shared, part);
        }
        let _announced = self.announce(&mut shared, part, part, false);
        drop(shared);
        make()
    }

    /// Changes the state and records any damage that the change reveals, in one step for other threads. `change`
    /// returns the position from which nothing can be trusted, and why. Returns that error.
    pub fn publish(&self, change: impl FnOnce(&mut Shared<S>) -> Option<(u64, Error)>) -> Option<Error> {
        let mut shared = self.lock();
        let (from, error) = change(&mut shared)?;
        // Errors of the source or the disk may be transient.
        if error.lasts() {
            let news = shared.damage.record(from, &error);
            drop(shared);
            news.report();
        }
        Some(error)
    }

    /// Records that nothing from `from` on can be trusted, unless the error may be transient. Returns the error.
    pub fn mark_corrupt(&self, from: u64, error: Error) -> Error {
        self.publish(|_| Some((from, error.clone())));
        error
    }

    /// As [`SingleFlight::mark_corrupt`], for a single part.
    pub fn mark_part_corrupt(&self, part: u64, error: Error) -> Error {
        if error.lasts() {
            let news = self.lock().damage.record_alone(part, &error);
            news.report();
        }
        error
    }

    /// Calls `listener` when damage is found, or now if it was and nobody was notified. Only the first listener is
    /// kept.
    pub fn on_damage(&self, listener: Listener) {
        let listener = self.lock().damage.listen(listener);
        if let Some(listener) = listener {
            listener();
        }
    }

    /// Announces a flight from part `next` through part `last`, starting now.
    pub fn announce(
        self: &Arc<Self>,
        shared: &mut Shared<S>,
        next: u64,
        last: u64,
        open: bool,
    ) -> Announced<S> {
        shared.announced += 1;
        let number = shared.announced;
        shared.flights.push(Flight { number, next, last, open });
        Announced { of: self.clone(), number }
    }

    /// Waits until a flight passes `part`, or ends.
    pub fn wait(&self, shared: &mut MutexGuard<'_, Shared<S>>, part: u64) {
        shared.waiting.push(part);
        self.progress.wait(shared);
        if let Some(at) = shared.waiting.iter().position(|waiting| *waiting == part) {
            shared.waiting.swap_remove(at);
        }
    }
}

impl<S> Shared<S> {
    /// Is a running decoder going to reach `part`?
    pub fn is_coming(&self, part: u64) -> bool {
        self.flights.iter().any(|flight| flight.next <= part && part <= flight.last)
    }
}

impl<S> Deref for Shared<S> {
    type Target = S;

    fn deref(&self) -> &S {
        &self.inner
    }
}

impl<S> DerefMut for Shared<S> {
    fn deref_mut(&mut self) -> &mut S {
        &mut self.inner
    }
}

/// The announcement of a flight, held by its decoder.
pub struct Announced<S> {
    of: Arc<SingleFlight<S>>,
    number: u64,
}

impl<S> Announced<S> {
    /// The last part that the flight is to decode.
    pub fn last(&self) -> u64 {
        let shared = self.of.lock();
        shared.flights.iter().find(|flight| flight.number == self.number).map_or(0, |flight| flight.last)
    }

    /// Records that the parts from `at` up to `next` are decoded; returns the last part that the flight is to decode.
    pub fn passed(&self, at: u64, next: u64) -> u64 {
        let mut shared = self.of.lock();
        let flight = shared.flights.iter_mut().find(|flight| flight.number == self.number);
        let (from, last) =
            flight.map_or((at, 0), |flight| (std::mem::replace(&mut flight.next, next), flight.last));
        // It may have been announced to start earlier than it did.
        if shared.waiting.iter().any(|part| (from.min(at)..next).contains(part)) {
            drop(shared);
            self.of.progress.notify_all();
        }
        last
    }
}

impl<S> Drop for Announced<S> {
    fn drop(&mut self) {
        self.of.lock().flights.retain(|flight| flight.number != self.number);
        self.of.progress.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

    use super::*;
    use crate::Result;
    use crate::error::Place;

    const PARTS: u64 = 60;
    const THREADS: u64 = 8;

    fn numbers(seed: u64) -> impl Iterator<Item = u64> {
        std::iter::successors(Some(seed), |last| {
            Some(last.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407))
        })
        .map(|number| number >> 33)
        .skip(1)
    }

    /// Of every three parts one is good, one is damaged, and one makes its first decoder panic.
    #[test]
    fn every_part_is_decoded_once_and_nobody_hangs() {
        let flight = SingleFlight::new(BTreeMap::<u64, u64>::new());
        let attempts: Vec<AtomicUsize> = (0..PARTS).map(|_| AtomicUsize::default()).collect();
        let (at_work, panics) = (AtomicU64::new(0), AtomicUsize::new(0));
        let decode = |part: u64| -> Result<u64> {
            let attempt = attempts[part as usize].fetch_add(1, Ordering::Relaxed);
            assert_eq!(
                at_work.fetch_or(1 << part, Ordering::SeqCst) & (1 << part),
                0,
                "{part} is decoded twice"
            );
            std::thread::yield_now();
            at_work.fetch_and(!(1 << part), Ordering::SeqCst);
            match part % 3 {
                1 => {
                    let error = Error::damaged(Place::default(), format!("part {part}"));
                    let news = flight.lock().damage.record_alone(part, &error);
                    news.report();
                    return Err(error);
                }
                2 if attempt == 0 => panic!("once, on purpose"),
                _ => {}
            }
            flight.lock().insert(part, part * part);
            Ok(part * part)
        };
        let found = |shared: &mut Shared<BTreeMap<u64, u64>>, part: u64| {
            let there = shared.get(&part).copied().map(Ok);
            shared.damage.at(part).map(Err).or(there)
        };
        let read = |part: u64| flight.once(part, |shared| found(shared, part), || decode(part));
        std::thread::scope(|scope| {
            for thread in 0..THREADS {
                let (read, panics) = (&read, &panics);
                scope.spawn(move || {
                    for part in numbers(thread % 3).take(500).map(|number| number % PARTS) {
                        match catch_unwind(AssertUnwindSafe(|| read(part))) {
                            Ok(Ok(value)) => assert!(part % 3 != 1 && value == part * part),
                            Ok(Err(error)) => {
                                assert!(
                                    part % 3 == 1 && error.to_string().ends_with(&format!("part {part}"))
                                );
                            }
                            Err(_) => assert!(part % 3 == 2 && panics.fetch_add(1, Ordering::Relaxed) < 20),
                        }
                    }
                });
            }
        });
        for (part, attempts) in attempts.iter().enumerate() {
            assert_eq!(attempts.load(Ordering::Relaxed), if part % 3 == 2 { 2 } else { 1 }, "{part}");
        }
        assert!(flight.lock().flights.is_empty() && flight.lock().waiting.is_empty());
    }

    /// The decoder goes through all parts because the waiting readers extend its range.
    #[test]
    fn readers_wake_when_their_part_is_decoded() {
        let flight = SingleFlight::new(0u64);
        let announced = flight.announce(&mut flight.lock(), 0, 0, true);
        std::thread::scope(|scope| {
            for part in 0..PARTS {
                let flight = &flight;
                scope.spawn(move || {
                    let mut shared = flight.lock();
                    let last = shared.flights[0].last.max(part);
                    shared.flights[0].last = last;
                    while **shared <= part {
                        assert!(shared.is_coming(part));
                        flight.wait(&mut shared, part);
                    }
                });
            }
            while flight.lock().waiting.len() < PARTS as usize {
                std::thread::yield_now();
            }
            assert_eq!(announced.last(), PARTS - 1);
            for at in 0..PARTS {
                **flight.lock() = at + 1;
                assert_eq!(announced.passed(at, at + 1), PARTS - 1);
            }
        });
        assert!(flight.lock().waiting.is_empty());
        drop(announced);
        assert!(flight.lock().flights.is_empty());
    }

    /// An announced flight that never starts keeps nobody waiting.
    #[test]
    fn a_flight_that_is_given_up_is_taken_over() {
        let flight = SingleFlight::new(());
        let announced = flight.announce(&mut flight.lock(), 0, 3, true);
        std::thread::scope(|scope| {
            let reader = scope.spawn(|| flight.once(2, |_| None, || 7));
            drop(announced);
            assert_eq!(reader.join().unwrap(), 7);
        });
    }

    #[test]
    fn disk_errors_are_not_recorded() {
        let flight = SingleFlight::new(());
        flight.mark_corrupt(0, Error::Other("the disk is full".into()));
        flight.mark_part_corrupt(0, Error::Other("the disk is full".into()));
        assert!(!flight.lock().damage.is_found());
    }
}
