//! Sizes that are only known after decoding. Programs ask for them one after the other (`ls -l`), which would leave
//! all but one processor idle; so from the second one in a directory on, the next ones are found in the background.
//! Never more than [`LEAD`] files ahead, as the program may have ended.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};

use lru::LruCache;
use parking_lot::Mutex;

use crate::tree::{FileKind, NodeId, NodeKind, Tree};

/// Number of files that are sized beyond the last one asked for.
const LEAD: usize = 64;
/// Directories that are remembered.
const DIRECTORIES: std::num::NonZeroUsize = std::num::NonZeroUsize::new(16).unwrap();

pub struct Sizing {
    passes: Mutex<LruCache<NodeId, Pass>>,
    /// Is any pass going on? If not, nothing has to be noted for sizes that are known.
    active: AtomicBool,
    workers: usize,
}

/// The way through one directory, in the order of its listing.
#[derive(Default)]
struct Pass {
    asked: u64,
    /// May be sized before somebody asks again.
    left: usize,
    workers: usize,
    /// Where the listing goes on; None at its end.
    cursor: Option<u64>,
    next: VecDeque<NodeId>,
}

impl Sizing {
    pub fn new() -> Sizing {
        Sizing {
            passes: Mutex::new(LruCache::new(DIRECTORIES)),
            active: AtomicBool::new(false),
            workers: std::thread::available_parallelism().map_or(1, usize::from),
        }
    }

    /// Somebody asked for a size in `dir` that is `known` or has to be found. Returns how often
    /// [`Sizing::work`] is to be called then.
    pub fn asked(&self, dir: NodeId, known: bool) -> usize {
        if known && !self.active.load(Ordering::Relaxed) {
            return 0;
        }
        let mut passes = self.passes.lock();
        let pass = match passes.get_mut(&dir) {
            Some(pass) => pass,
            None if known => return 0,
            None => passes.get_or_insert_mut(dir, || Pass { cursor: Some(0), ..Pass::default() }),
        };
        pass.asked += u64::from(!known);
        if pass.asked < 2 || !pass.is_unfinished() {
            return 0;
        }
        self.active.store(true, Ordering::Relaxed);
        pass.left = LEAD;
        let wanted = self.workers.saturating_sub(pass.workers);
        pass.workers += wanted;
        wanted
    }

    /// Sizes files of `dir` until enough were.
    pub fn work(&self, dir: NodeId, tree: &dyn Tree) {
        loop {
            match self.next(dir, tree) {
                Next::Size(node) => {
                    // Errors are logged, and returned to the reader that asks for the file.
                    let _ = tree.content(node, FileKind::Data).and_then(|content| content.len());
                }
                Next::Listed => {}
                Next::Enough => break,
            }
        }
    }

    /// What a worker is to do next. The lock is held for a piece of a listing at most.
    fn next(&self, dir: NodeId, tree: &dyn Tree) -> Next {
        let mut passes = self.passes.lock();
        let Some(pass) = passes.get_mut(&dir) else { return Next::Enough };
        let next = pass.next(dir, tree);
        if let Next::Enough = next {
            // It may be another one than when this worker began, if there are many.
            pass.workers = pass.workers.saturating_sub(1);
            let is_active = passes.iter().any(|(_, pass)| pass.workers > 0 || pass.is_unfinished());
            self.active.store(is_active, Ordering::Relaxed);
        }
        next
    }
}

enum Next {
    Size(NodeId),
    /// A piece of the directory was listed.
    Listed,
    Enough,
}

impl Pass {
    fn is_unfinished(&self) -> bool {
        self.cursor.is_some() || !self.next.is_empty()
    }

    fn next(&mut self, dir: NodeId, tree: &dyn Tree) -> Next {
        if self.left == 0 || !self.is_unfinished() {
            return Next::Enough;
        }
        match (self.next.pop_front(), self.cursor) {
            (Some(node), _) => {
                self.left -= 1;
                Next::Size(node)
            }
            (None, Some(cursor)) => {
                self.list(dir, tree, cursor);
                Next::Listed
            }
            (None, None) => Next::Enough,
        }
    }

    /// Lists a piece of the directory.
    fn list(&mut self, dir: NodeId, tree: &dyn Tree, cursor: u64) {
        let mut seen = 0;
        self.cursor = None;
        // Where it cannot be listed, nothing is found out ahead.
        let _ = tree.list(dir, cursor, &mut |_, entry| {
            let is_file = entry.kind == NodeKind::File && entry.file == FileKind::Data;
            if is_file && tree.size(entry.node, entry.file).is_ok_and(|size| size.len.is_none()) {
                self.next.push_back(entry.node);
            }
            seen += 1;
            self.cursor = (seen == 4 * LEAD).then_some(entry.cursor);
            self.cursor.is_none()
        });
    }
}
