//! Records damage of a stream, unless an index saved by an earlier mount may be to blame.

use std::sync::atomic::Ordering;

use super::Stream;
use crate::Error;

impl Stream {
    pub fn is_damaged(&self) -> bool {
        self.state.lock().damage.is_found()
    }

    /// Calls `listener` when damage is found, or now if it was and nobody was notified. Only the first listener is
    /// kept.
    pub fn on_damage(&self, listener: impl FnOnce() + Send + 'static) {
        self.state.on_damage(Box::new(listener));
    }

    /// Records damage from decoded position `from` on, found by a decoder that started at index `version`, and logs it
    /// the first time. Errors of the source (changed, unreadable) are returned but not recorded, as they may be
    /// transient. Nor is damage recorded that a saved index may have caused: the index is discarded first.
    pub(super) fn mark_corrupt(&self, version: u64, from: u64, error: Error) -> Error {
        if !matches!(error, Error::Damaged { .. }) {
            return error;
        }
        let mut state = self.state.lock();
        if self.index.version() != version {
            return error;
        }
        let is_index_discarded = self.index.discard_loaded();
        let news = if is_index_discarded {
            self.id.store(self.engine.cache.new_stream(), Ordering::Relaxed);
            self.is_suspect.store(true, Ordering::Relaxed);
            state.damage.notify_only()
        } else {
            self.index.mark_corrupt();
            state.damage.record(from, &error)
        };
        drop(state);
        if is_index_discarded {
            log::warn!("{error}; or the index of an earlier mount was wrong: it is rebuilt");
        }
        news.report();
        error
    }

    pub(super) fn wrong_length(&self, found: String) -> Error {
        let needed = self.expected.unwrap_or(0);
        let problem = format!("decodes to {found} bytes, but its description needs {needed}");
        Error::damaged(self.place.at(self.stored.start), problem)
    }

    pub(super) fn damage_in(&self, offset: u64, len: usize) -> Option<Error> {
        self.state.lock().damage.within(offset, len)
    }

    pub(super) fn error_at(&self, position: u64) -> Error {
        self.damage_in(position, 1).unwrap_or_else(|| {
            Error::damaged(self.place.clone(), format!("nothing decodes to byte {position}"))
        })
    }
}
