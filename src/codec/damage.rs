//! What is wrong with a stream: remembered, said in the log once, and told to whoever listens.

use std::collections::BTreeMap;

use crate::{Error, Result};

/// Parts beyond this many that are damaged alone are found out again each time.
const MAX_SINGLE_PARTS: usize = 4096;

pub type Listener = Box<dyn FnOnce() + Send>;

/// Positions are those of bytes or of parts, as each kind of stream counts them.
#[derive(Default)]
pub struct Damage {
    /// From this position on nothing is served.
    from: Option<(u64, Error)>,
    /// Parts that are damaged while what follows them is not.
    alone: BTreeMap<u64, Error>,
    listener: Option<Listener>,
    is_told: bool,
}

impl Damage {
    pub fn is_found(&self) -> bool {
        self.from.is_some() || !self.alone.is_empty()
    }

    /// Can everything from some position on no longer be trusted?
    pub fn is_cut(&self) -> bool {
        self.from.is_some()
    }

    /// The error of what is at `position`.
    pub fn at(&self, position: u64) -> Option<Error> {
        let from = self.from.as_ref().filter(|(from, _)| *from <= position).map(|(_, error)| error);
        from.or_else(|| self.alone.get(&position)).cloned()
    }

    /// That error, or what `found` finds.
    pub fn or<T>(&self, position: u64, found: impl FnOnce() -> Option<T>) -> Option<Result<T>> {
        self.at(position).map(Err).or_else(|| found().map(Ok))
    }

    /// The error of `len` bytes from `offset`; there is none if they end before the damage begins.
    pub fn within(&self, offset: u64, len: usize) -> Option<Error> {
        let end = offset.saturating_add(len as u64);
        self.from.as_ref().filter(|(from, _)| end > *from).map(|(_, error)| error.clone())
    }

    /// So many of `len` bytes come before it.
    pub fn sound(&self, len: u64) -> u64 {
        self.from.as_ref().map_or(len, |(from, _)| *from)
    }

    /// Records that nothing from `from` on can be trusted.
    pub fn record(&mut self, from: u64, error: &Error) -> News {
        let is_first = !self.is_found();
        if self.from.as_ref().is_none_or(|(known, _)| from < *known) {
            self.from = Some((from, error.clone()));
        }
        self.news(is_first.then(|| said(from > 0, error)))
    }

    /// Records that one part cannot be decoded.
    pub fn record_alone(&mut self, part: u64, error: &Error) -> News {
        let is_first = !self.is_found();
        if self.alone.len() < MAX_SINGLE_PARTS {
            self.alone.insert(part, error.clone());
        }
        self.news(is_first.then(|| said(false, error)))
    }

    fn news(&mut self, said: Option<String>) -> News {
        let listener = self.listener.take();
        self.is_told |= listener.is_some();
        News { said, listener }
    }

    /// Keeps `listener` until damage is found, unless there is one already. Returns it, to be called with no lock held, if
    /// damage was found and nobody was told.
    pub fn listen(&mut self, listener: Listener) -> Option<Listener> {
        if !self.is_found() {
            self.listener.get_or_insert(listener);
            return None;
        }
        (!std::mem::replace(&mut self.is_told, true)).then_some(listener)
    }

    /// The listener is to look again, although nothing is recorded.
    pub fn doubted(&mut self) -> News {
        News { said: None, listener: self.listener.take() }
    }
}

fn said(is_partly_served: bool, error: &Error) -> String {
    let given = match error {
        Error::Unsupported { .. } => "the error \"operation not supported\"",
        _ => "an input/output error",
    };
    match is_partly_served {
        true => format!("{error}; reads of what comes before it are served, others give {given}"),
        false => format!("{error}; reads of it give {given}"),
    }
}

/// What is new about damage, to be told when no lock is held.
#[must_use]
pub struct News {
    said: Option<String>,
    listener: Option<Listener>,
}

impl News {
    pub fn tell(self) {
        if let Some(said) = self.said {
            log::error!("{said}");
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
    fn what_comes_before_damage_is_sound() {
        let mut damage = Damage::default();
        assert!(damage.at(u64::MAX).is_none() && damage.within(0, usize::MAX).is_none());
        assert!(damage.record(700, &error("far")).said.unwrap().contains("before it are served"));
        assert!(damage.record(800, &error("farther")).said.is_none());
        assert!(damage.at(900).unwrap().to_string().contains("far"));
        assert_eq!(damage.record(500, &error("near")).said, None);
        assert!(damage.at(499).is_none() && damage.within(400, 100).is_none());
        assert_eq!(damage.at(500).unwrap().to_string(), damage.within(400, 101).unwrap().to_string());
        assert_eq!(damage.sound(1000), 500);
    }

    #[test]
    fn a_part_that_is_damaged_alone_cuts_nothing_off() {
        let mut damage = Damage::default();
        damage.record_alone(7, &error("alone")).tell();
        assert!(damage.at(6).is_none() && damage.at(8).is_none());
        assert!(damage.at(7).unwrap().to_string().contains("alone"));
        assert!(damage.is_found() && !damage.is_cut());
    }

    #[test]
    fn a_listener_is_told_once() {
        let mut damage = Damage::default();
        assert!(damage.listen(Box::new(|| {})).is_none());
        assert!(damage.record(0, &error("first")).listener.is_some());
        assert!(damage.record(0, &error("second")).listener.is_none());
        assert!(damage.listen(Box::new(|| {})).is_none());
        let mut found = Damage::default();
        found.record(0, &error("before anyone listened")).tell();
        assert!(found.listen(Box::new(|| {})).is_some() && found.listen(Box::new(|| {})).is_none());
    }
}
