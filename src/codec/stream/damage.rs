//! What is wrong with a stream: remembered once, said once, told to who listens.

use std::sync::atomic::Ordering;

use super::{State, Stream};
use crate::Error;

pub struct Damage {
    /// Reads that end at or before this decoded position are served.
    pub from: u64,
    pub error: Error,
}

impl Stream {
    pub fn is_damaged(&self) -> bool {
        self.state.lock().damage.is_some()
    }

    /// Calls `listener` when damage is found, or now if it was and nobody was told; only the first listener counts.
    pub fn on_damage(&self, listener: impl FnOnce() + Send + 'static) {
        let mut state = self.state.lock();
        if state.damage.is_none() {
            if state.listener.is_none() {
                state.listener = Some(Box::new(listener));
            }
        } else if !std::mem::replace(&mut state.is_told, true) {
            drop(state);
            listener();
        }
    }

    /// Records damage from decoded position `from` on, found by a decoder that started when the index had
    /// `version`, and says so in the log the first time. An error of the source (changed, unreadable) is passed
    /// on and not kept: it may be of another cause next time. Nor is one kept that an index of an earlier mount
    /// may have caused: that is forgotten first.
    pub(super) fn condemn(&self, version: u64, from: u64, error: Error) -> Error {
        if !matches!(error, Error::Damaged { .. }) {
            return error;
        }
        let mut state = self.state.lock();
        if self.index.version() != version {
            return error;
        }
        let is_ours = !self.index.distrust();
        let known = state.damage.as_ref().map(|damage| damage.from);
        if is_ours && known.is_none_or(|known| from < known) {
            state.damage = Some(Damage { from, error: error.clone() });
            self.index.condemn();
        }
        if !is_ours {
            self.id.store(self.engine.cache.new_stream(), Ordering::Relaxed);
            self.is_suspect.store(true, Ordering::Relaxed);
        }
        let listener = state.listener.take();
        state.is_told |= is_ours && listener.is_some();
        drop(state);
        match known {
            _ if !is_ours => {
                log::warn!("{error}: or the index of an earlier mount is wrong, which is made anew")
            }
            None => log::error!("{error}; reads of it give an input/output error"),
            Some(_) => {}
        }
        if let Some(listener) = listener {
            listener();
        }
        error
    }

    pub(super) fn wrong_length(&self, found: String) -> Error {
        let needed = self.expected.unwrap_or(0);
        let problem = format!("decodes to {found} bytes, its description needs {needed}");
        Error::damaged(self.place.at(self.stored.start), problem)
    }

    pub(super) fn damage_in(&self, offset: u64, len: usize) -> Option<Error> {
        damage_in(&self.state.lock(), offset, len)
    }

    pub(super) fn error_at(&self, position: u64) -> Error {
        self.damage_in(position, 1).unwrap_or_else(|| {
            Error::damaged(self.place.clone(), format!("nothing decodes to byte {position}"))
        })
    }
}

fn damage_in(state: &State, offset: u64, len: usize) -> Option<Error> {
    let damage = state.damage.as_ref()?;
    (offset.saturating_add(len as u64) > damage.from).then(|| damage.error.clone())
}
