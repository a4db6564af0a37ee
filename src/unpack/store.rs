//! Writes a view that is a directory of files (a store). The file that makes programs recognize the store is written
//! last, and not at all if anything is missing, because programs read missing parts of a store as zeros.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::Job;
use crate::tree::NodeId;

pub struct Store {
    /// Writes what announces it.
    pub last: Job,
    is_whole: AtomicBool,
    is_reported: AtomicBool,
}

impl Store {
    /// Something of it is not there.
    pub fn lacks_something(&self) {
        self.is_whole.store(false, Ordering::Relaxed);
    }

    /// Whether its error should be reported. Once is enough: each chunk of a damaged array has the same.
    pub fn is_news(&self) -> bool {
        !self.is_reported.swap(true, Ordering::Relaxed)
    }

    pub fn is_whole(&self) -> bool {
        self.is_whole.load(Ordering::Relaxed)
    }
}

/// What a walk has met of stores. Files of one come together, what announces it first.
#[derive(Default)]
pub struct Stores {
    /// The one that the walk is in, and the node of its directory.
    pub current: Option<(NodeId, Arc<Store>)>,
    /// Writes what announces all of them.
    pub last: Option<Job>,
}

impl Stores {
    /// From now on files in the directory `dir` are a store's.
    pub fn begin(&mut self, dir: NodeId, last: Job) -> Option<Arc<Store>> {
        let store =
            Arc::new(Store { last, is_whole: AtomicBool::new(true), is_reported: AtomicBool::default() });
        self.current.replace((dir, store)).map(|(_, before)| before)
    }

    /// The store that a directory is.
    pub fn at(&self, dir: NodeId) -> Option<Arc<Store>> {
        self.current.as_ref().filter(|(at, _)| *at == dir).map(|(_, store)| store.clone())
    }
}
