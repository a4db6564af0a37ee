//! The known damage of a stream: recorded, logged once, and passed to a listener.

use std::collections::BTreeMap;

use crate::{Error, Result};

/// Maximum number of single damaged parts remembered; further ones are detected again on each read.
const MAX_SINGLE_PARTS: usize = 4096;

pub type Listener = Box<dyn FnOnce() + Send>;

/// Positions count bytes or parts, depending on the kind of stream.
#[derive(Default)]
pub struct Damage {
    /// Nothing is served from this position on.
    from: Option<(u64, Error)>,
    /// Damaged parts whose successors are intact.
    alone: BTreeMap<u64, Error>,
    listener: Option<Listener>,
    is_notified: bool,
}

impl Damage {
    pub fn is_found(&self) -> bool {
        self.from.is_some() || !self.alone.is_empty()
    }

    /// Is everything from some position on untrusted?
    pub fn is_cut(&self) -> bool {
        self.from.is_some()
    }

    /// The error for reads at `position`.
    pub fn at(&self, position: u64) -> Option<Error> {
        let from = self.from.as_ref().filter(|(from, _)| *from <= position).map(|(_, error)| error);
        from.or_else(|| self.alone.get(&position)).cloned()
    }

    /// That error, or the result of `found`.
    pub fn or<T>(&self, position: u64, found: impl FnOnce() -> Option<T>) -> Option<Result<T>> {
        self.at(position).map(Err).or_else(|| found().map(Ok))
    }

    /// The error for reading `len` bytes from `offset`; None if they end before the damage begins.
    pub fn within(&self, offset: u64, len: usize) -> Option<Error> {
        let end = offset.saturating_add(len as u64);
        self.from.as_ref().filter(|(from, _)| end > *from).map(|(_, error)| error.clone())
    }

    /// How many of `len` bytes come before the damage.
    pub fn valid_len(&self, len: u64) -> u64 {
        self.from.as_ref().map_or(len, |(from, _)| *from)
    }

    /// Records that nothing from `from` on can be trusted.
    pub fn record(&mut self, from: u64, error: &Error) -> News {
        let is_first = !self.is_found();
        if self.from.as_ref().is_none_or(|(known, _)| from < *known) {
            self.from = Some((from, error.clone()));
        }
        self.news(is_first.then(|| message(from > 0, error)))
    }

    /// Records that one part cannot be decoded.
    pub fn record_alone(&mut self, part: u64, error: &Error) -> News {
        let is_first = !self.is_found();
        if self.alone.len() < MAX_SINGLE_PARTS {
            self.alone.insert(part, error.clone());
        }
        self.news(is_first.then(|| message(false, error)))
    }

    fn news(&mut self, message: Option<String>) -> News {
        let listener = self.listener.take();
        self.is_notified |= listener.is_some();
        News { message, listener }
    }

    /// Keeps `listener` until damage is found, unless there is one already. If damage was found before and nobody was
    /// notified, returns it, to be called with no lock held.
    pub fn listen(&mut self, listener: Listener) -> Option<Listener> {
        if !self.is_found() {
            self.listener.get_or_insert(listener);
            return None;
        }
        (!std::mem::replace(&mut self.is_notified, true)).then_some(listener)
    }

    /// Asks the listener to check again, although nothing is recorded.
    pub fn notify_only(&mut self) -> News {
        News { message: None, listener: self.listener.take() }
    }
}

fn message(is_partly_served: bool, error: &Error) -> String {
    let given = match error {
        Error::Unsupported { .. } => "the error \"operation not supported\"",
        _ => "an input/output error",
    };
    match is_partly_served {
        true => format!("{error}; reads of what comes before it are served, others give {given}"),
        false => format!("{error}; reads of it give {given}"),
    }
}

/// New damage, to be reported when no lock is held.
#[must_use]
pub struct News {
    message: Option<String>,
    listener: Option<Listener>,
}

impl News {
    pub fn report(self) {
        if let Some(message) = self.message {
            log::error!("{message}");
        }
        if let Some(listener) = self.listener {
            listener();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Place;

    fn error(problem: &str) -> Error {
        Error::damaged(Place::default(), problem)
    }

    #[test]
    fn data_before_the_damage_stays_readable() {
        let mut damage = Damage::default();
        assert!(damage.at(u64::MAX).is_none() && damage.within(0, usize::MAX).is_none());
        assert!(damage.record(700, &error("far")).message.unwrap().contains("before it are served"));
        assert!(damage.record(800, &error("farther")).message.is_none());
        assert!(damage.at(900).unwrap().to_string().contains("far"));
        assert_eq!(damage.record(500, &error("near")).message, None);
        assert!(damage.at(499).is_none() && damage.within(400, 100).is_none());
        assert_eq!(damage.at(500).unwrap().to_string(), damage.within(400, 101).unwrap().to_string());
        assert_eq!(damage.valid_len(1000), 500);
    }

    #[test]
    fn a_single_damaged_part_does_not_affect_others() {
        let mut damage = Damage::default();
        damage.record_alone(7, &error("alone")).report();
        assert!(damage.at(6).is_none() && damage.at(8).is_none());
        assert!(damage.at(7).unwrap().to_string().contains("alone"));
        assert!(damage.is_found() && !damage.is_cut());
    }

    #[test]
    fn a_listener_is_called_once() {
        let mut damage = Damage::default();
        assert!(damage.listen(Box::new(|| {})).is_none());
        assert!(damage.record(0, &error("first")).listener.is_some());
        assert!(damage.record(0, &error("second")).listener.is_none());
        assert!(damage.listen(Box::new(|| {})).is_none());
        let mut found = Damage::default();
        found.record(0, &error("before anyone listened")).report();
        assert!(found.listen(Box::new(|| {})).is_some() && found.listen(Box::new(|| {})).is_none());
    }
}
