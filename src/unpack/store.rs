//! Writes a view that is a directory of files (a store). The file that makes programs recognize the store is written
//! last, and not at all if anything is missing, because programs read missing parts of a store as zeros.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::Job;
use crate::tree::NodeId;

pub struct Store {
    /// Writes the file that announces the store.
    pub last: Job,
    is_whole: AtomicBool,
    is_reported: AtomicBool,
}

impl Store {
    /// Records that part of the store is missing.
    pub fn lacks_something(&self) {
        self.is_whole.store(false, Ordering::Relaxed);
    }

    /// True for the first error, the only one to report: every chunk of a damaged array has the same one.
    pub fn is_news(&self) -> bool {
        !self.is_reported.swap(true, Ordering::Relaxed)
    }

    pub fn is_whole(&self) -> bool {
        self.is_whole.load(Ordering::Relaxed)
    }
}

/// The stores found by a walk. It visits the files of a store together, beginning with the one that announces it.
#[derive(Default)]
pub struct Stores {
    /// The store that the walk is in, and the node of its directory.
    pub current: Option<(NodeId, Arc<Store>)>,
    /// Writes the file that announces all stores.
    pub last: Option<Job>,
}

impl Stores {
    /// Begins the store in the directory `dir`; returns the store before it.
    pub fn begin(&mut self, dir: NodeId, last: Job) -> Option<Arc<Store>> {
        let store =
            Arc::new(Store { last, is_whole: AtomicBool::new(true), is_reported: AtomicBool::default() });
        self.current.replace((dir, store)).map(|(_, before)| before)
    }

    /// The store in a directory.
    pub fn at(&self, dir: NodeId) -> Option<Arc<Store>> {
        self.current.as_ref().filter(|(at, _)| *at == dir).map(|(_, store)| store.clone())
    }
}
