//! Stores that were found: one that is not there any more is an error, also on the way to it, where a tree can change.
//! To a program that has it open, what is missing of it is data of a sort.

use std::num::NonZeroUsize;
use std::sync::{Mutex, MutexGuard, PoisonError};

use lru::LruCache;

use super::Overlay;
use super::nodes::{LONGEST, Node, Parent, What, is_view};
use crate::tree::{Face, Kind, NodeId, ROOT, Tree};
use crate::{Error, Result};

/// Paths that are kept, and directories of the tree on the way to them.
const FOUND: NonZeroUsize = NonZeroUsize::new(16 << 10).unwrap();

/// Where something is, from the root on, as who looked for it called it.
pub type Path = Vec<u8>;

/// In which directory, by which name.
type Way = (NodeId, Box<[u8]>);

pub struct Stores {
    /// Directories of stores, and those that lead there.
    found: Mutex<LruCache<Path, ()>>,
    /// Where directories of the tree were found.
    ways: Mutex<LruCache<NodeId, Way>>,
}

impl Stores {
    pub fn new() -> Stores {
        Stores { found: Mutex::new(LruCache::new(FOUND)), ways: Mutex::new(LruCache::new(FOUND)) }
    }

    /// A directory of the tree was found.
    pub fn entered(&self, dir: NodeId, name: &[u8], id: NodeId) {
        lock(&self.ways).put(id, (dir, name.into()));
    }

    /// What is called so in a directory of the tree, or in one of a view. None where no program could say it, and where
    /// the directory was found too long ago.
    pub fn path(&self, mut dir: NodeId, mut node: Option<&Node>, name: &[u8]) -> Option<Path> {
        let (mut names, mut len) = (vec![Box::from(name)], name.len());
        while let Some(inner) = node {
            len += inner.name.len() + 1;
            names.push(inner.name.clone());
            dir = inner.parent.id();
            node = match &inner.parent {
                Parent::View(parent) => Some(parent),
                Parent::Tree(_) => None,
            };
        }
        let mut ways = lock(&self.ways);
        while dir != ROOT && len <= LONGEST {
            let (above, name) = ways.get(&dir)?;
            len += name.len() + 1;
            names.push(name.clone());
            dir = *above;
        }
        drop(ways);
        names.reverse();
        (len <= LONGEST).then(|| names.join(&b'/'))
    }

    /// There is a store's directory.
    pub fn put(&self, path: Path) {
        let mut found = lock(&self.found);
        let slashes = path.iter().enumerate().filter(|(_, byte)| **byte == b'/');
        for (at, _) in slashes {
            let above = path.get(..at).unwrap_or_default();
            if found.get(above).is_none() {
                found.put(above.to_vec(), ());
            }
        }
        found.put(path, ());
    }

    /// Is a store known to have been there, or behind it?
    pub fn had(&self, path: &[u8]) -> bool {
        lock(&self.found).get(path).is_some()
    }

    /// No store was found yet.
    pub fn is_empty(&self) -> bool {
        lock(&self.found).is_empty()
    }
}

impl Overlay {
    /// What was found in a directory. A store that was there and is no more is an error, and so is what leads to it.
    pub(super) fn still_there(
        &self,
        dir: NodeId,
        node: Option<&Node>,
        name: &[u8],
        found: Result<Option<(NodeId, Face)>>,
    ) -> Result<Option<(NodeId, Face)>> {
        let missing = match &found {
            _ if !self.can_change => return found,
            // What is in an array is so by its description, whatever was called so before.
            _ if node.is_some_and(|node| matches!(node.what, What::Face { .. })) => return found,
            Ok(Some((id, _))) if self.is_store(*id) => {
                self.stores.path(dir, node, name).into_iter().for_each(|path| self.stores.put(path));
                return found;
            }
            Ok(Some((id, _))) => match self.kind(*id) {
                Ok(Kind::File) => Some(*id),
                Ok(Kind::Directory { .. }) if !is_view(*id) => {
                    self.stores.entered(dir, name, *id);
                    return found;
                }
                _ => return found,
            },
            Ok(None) | Err(Error::NotFound | Error::NotADirectory) => None,
            Err(_) => return found,
        };
        if self.stores.is_empty() {
            return found;
        }
        match self.stores.path(dir, node, name).filter(|path| self.stores.had(path)) {
            None => found,
            Some(path) => {
                missing.into_iter().for_each(|id| self.forget(id, 1));
                Err(self.gone(&path))
            }
        }
    }

    /// Is it a directory of a store: an array, or what holds some?
    fn is_store(&self, id: NodeId) -> bool {
        let Some(node) = self.nodes.get(id) else { return false };
        match (&node.what, &node.parent) {
            (What::Face { view, .. }, _) => view.makes_directories(),
            (What::Directory { view }, Parent::View(above)) => {
                view.makes_directories() && matches!(above.what, What::Directory { .. })
            }
            _ => false,
        }
    }

    /// Of what is in a store: that its container is not there any more is not that the store has no such file.
    pub(super) fn of_store<T>(&self, node: &Node, answer: Result<T>) -> Result<T> {
        match (answer, &node.what) {
            (
                Err(Error::NotFound),
                What::Face { view, .. } | What::Inside { view } | What::Directory { view },
            ) if view.makes_directories() => Err(self.gone(&node.name)),
            (answer, _) => answer,
        }
    }

    fn gone(&self, path: &[u8]) -> Error {
        let path = String::from_utf8_lossy(path);
        let error =
            Error::Other(format!("{path}: it was there, and is not any more: open again what is in it"));
        self.tell(&error);
        error
    }
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_leads_to_a_store_was_there_too() {
        let stores = Stores::new();
        assert!(stores.is_empty());
        stores.entered(ROOT, b"x.npz", 7);
        stores.entered(7, b"sub", 9);
        let path = stores.path(9, None, b"a").unwrap();
        assert_eq!(path, b"x.npz/sub/a");
        stores.put(path);
        for had in ["x.npz", "x.npz/sub", "x.npz/sub/a"] {
            assert!(stores.had(had.as_bytes()), "{had}");
        }
        assert!(!stores.had(b"x") && !stores.had(b"x.npz/sub/b") && !stores.had(b"sub"));
        // The same directory, found again under another name.
        stores.entered(ROOT, b"y.npz", 7);
        assert_eq!(stores.path(9, None, b"a").unwrap(), b"y.npz/sub/a");
        assert_eq!(stores.path(8, None, b"a"), None);
        assert_eq!(stores.path(9, None, &[b'a'; LONGEST]), None);
    }
}
