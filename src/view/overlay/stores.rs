//! The stores that programs may have open. A program that has a Zarr store open reads a missing chunk as zeros, so a
//! chunk must not be missing because its container was removed or replaced. These are remembered for as long as the
//! mount lives, since a program can keep a store open for as long.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use parking_lot::Mutex;

use super::paths::above;
use crate::tree::NodeId;
use crate::{Error, Result};

/// Stores, and directories that lead to them, that are remembered: about 50 MiB.
const MAX_STORES: usize = 1 << 20;
/// Arrays and groups that are remembered: about 16 MiB. Beyond that every name counts as one of them.
const MAX_MEMBERS: usize = 1 << 20;

/// Paths are kept as hashes: two equal ones cost an error too many, never one too few.
#[derive(Default)]
pub struct Stores(Mutex<Known>);

#[derive(Default)]
struct Known {
    /// Stores by their paths; None for the directories that lead to them.
    found: HashMap<u64, Option<Store>>,
    /// The arrays and groups of stores that programs know: they look for chunks by name alone, whatever takes the
    /// array's place later.
    members: HashSet<u64>,
}

struct Store {
    container: NodeId,
    /// Another container, or none, was seen at its path: programs may have either open.
    was_replaced: bool,
}

impl Stores {
    /// A directory where a store can be was looked up, and is that of `container`, if it is one.
    ///
    /// # Errors
    /// If there are too many stores to remember another.
    pub fn seen(&self, path: &[u8], container: Option<NodeId>) -> Result<()> {
        let found = &mut self.0.lock().found;
        if let Some(Some(store)) = found.get_mut(&hash(path)) {
            store.was_replaced |= container != Some(store.container);
            return Ok(());
        }
        let Some(container) = container else { return Ok(()) };
        if found.len() >= MAX_STORES {
            return Err(Error::Other(format!("{MAX_STORES} stores were opened here: mount again")));
        }
        found.insert(hash(path), Some(Store { container, was_replaced: false }));
        for above in above(path) {
            found.entry(hash(above)).or_insert(None);
        }
        Ok(())
    }

    /// Was a store at this path, or below it?
    pub fn had(&self, path: &[u8]) -> bool {
        self.0.lock().found.contains_key(&hash(path))
    }

    /// Is the path inside a store that was replaced (or inside any, if `is_gone`)?
    pub fn lost(&self, path: &[u8], is_gone: bool) -> bool {
        self.0.lock().is_in(path, |store| is_gone || store.was_replaced)
    }

    /// A program knows of an array or a group at this path.
    pub fn know(&self, path: &[u8], is_array: bool) {
        let mut known = self.0.lock();
        if known.members.len() < MAX_MEMBERS && known.is_in(path, |_| true) {
            known.members.insert(hash(&(path, is_array)));
        }
    }

    /// Does the entry at this path hide part of a store that was replaced? So does a file where a directory was (to
    /// programs nothing is below it then), and an entry with the name of a chunk where an array was.
    pub fn covers(&self, path: &[u8], is_directory: bool, is_piece: bool) -> bool {
        let known = self.0.lock();
        let was = |path: &[u8], is_array| {
            known.members.len() >= MAX_MEMBERS || known.members.contains(&hash(&(path, is_array)))
        };
        let covers = !is_directory && (was(path, true) || was(path, false))
            || is_piece && above(path).last().is_some_and(|array| was(array, true));
        covers && known.is_in(path, |store| store.was_replaced)
    }

    pub fn is_empty(&self) -> bool {
        self.0.lock().found.is_empty()
    }
}

impl Known {
    fn is_in(&self, path: &[u8], matches: impl Fn(&Store) -> bool) -> bool {
        above(path).any(|path| self.found.get(&hash(path)).and_then(Option::as_ref).is_some_and(&matches))
    }
}

fn hash(of: &(impl Hash + ?Sized)) -> u64 {
    let mut hasher = DefaultHasher::new();
    of.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_leads_to_a_store_is_remembered_too() {
        let stores = Stores::default();
        stores.seen(b"sub/x.npz", None).unwrap();
        assert!(stores.is_empty());
        stores.seen(b"sub/x.npz", Some(7)).unwrap();
        stores.seen(b"sub/x.npz", Some(7)).unwrap();
        for had in ["sub", "sub/x.npz"] {
            assert!(stores.had(had.as_bytes()), "{had}");
        }
        assert!(!stores.had(b"x.npz") && !stores.had(b"sub/x.npz/a") && !stores.had(b"s"));
        // The same container has what it had.
        assert!(!stores.lost(b"sub/x.npz/a/b", false) && stores.lost(b"sub/x.npz/a/b", true));
        assert!(!stores.lost(b"sub/y.npz", true));
    }

    #[test]
    fn a_store_that_was_replaced_once_stays_so() {
        for other in [None, Some(8)] {
            let stores = Stores::default();
            for container in [Some(7), other, Some(7)] {
                stores.seen(b"x.npz", container).unwrap();
            }
            assert!(stores.lost(b"x.npz/a", false) && stores.lost(b"x.npz/a/0", false), "{other:?}");
            assert!(!stores.lost(b"y.npz/a", false));
        }
    }

    #[test]
    fn a_store_is_remembered_after_many_others_or_the_new_one_is_refused() {
        let stores = Stores::default();
        for at in 0..MAX_STORES as u64 {
            stores.seen(format!("{at}").as_bytes(), Some(at)).unwrap();
        }
        assert!(stores.had(b"0"));
        let refused = stores.seen(b"new", Some(1)).unwrap_err();
        assert_eq!(refused.to_string(), "1048576 stores were opened here: mount again");
        // Those that are known go on.
        stores.seen(b"0", Some(1)).unwrap();
        assert!(stores.lost(b"0/x", false));
    }

    #[test]
    fn arrays_and_groups_are_known_and_beyond_the_limit_every_name_is() {
        let stores = Stores::default();
        stores.know(b"x.npz/b", true);
        [7, 8].into_iter().for_each(|container| stores.seen(b"x.npz", Some(container)).unwrap());
        stores.know(b"x.npz/a", true);
        stores.know(b"x.npz/g", false);
        let covered = |name: &[u8], is_directory| {
            let is_piece = name.ends_with(b"/0");
            stores.covers(&[b"x.npz/", name].concat(), is_directory, is_piece)
        };
        assert!(covered(b"a", false) && covered(b"g", false) && covered(b"a/0", true));
        assert!(!covered(b"a", true) && !covered(b"g/0", true) && !covered(b"b", false));
        (0..MAX_MEMBERS).for_each(|at| stores.know(format!("x.npz/{at}").as_bytes(), true));
        assert!(covered(b"y", false) && !stores.covers(b"y.npz/y", false, false));
        assert_eq!(stores.0.lock().members.len(), MAX_MEMBERS);
    }
}
