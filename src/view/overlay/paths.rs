//! Paths of the directories that the kernel remembers, from the root on.

use std::collections::HashMap;

use parking_lot::Mutex;

use super::nodes::MAX_LEN;
use crate::tree::{NodeId, ROOT};

/// From the root of the mount on, without a slash at either end.
pub type Path = Vec<u8>;

/// Each directory's path and how often it was looked up.
#[derive(Default)]
pub struct Paths(Mutex<HashMap<NodeId, (Path, u64)>>);

impl Paths {
    /// The path of a name in a directory that was looked up. None if it is longer than the kernel accepts.
    pub fn of(&self, dir: NodeId, name: &[u8]) -> Option<Path> {
        if dir == ROOT {
            return Some(name.into());
        }
        let paths = self.0.lock();
        let (above, _) = paths.get(&dir)?;
        Some([above, name].join(&b'/')).filter(|path| path.len() <= MAX_LEN)
    }

    pub fn of_directory(&self, dir: NodeId) -> Option<Path> {
        self.0.lock().get(&dir).map(|(path, _)| path.clone())
    }

    /// A directory was looked up.
    pub fn entered(&self, dir: NodeId, path: &[u8]) {
        let mut paths = self.0.lock();
        let place = paths.entry(dir).or_default();
        *place = (path.into(), place.1 + 1);
    }

    /// The kernel forgot `lookups` look-ups of a node.
    pub fn left(&self, id: NodeId, lookups: u64) {
        let mut paths = self.0.lock();
        let Some((_, known)) = paths.get_mut(&id) else { return };
        *known = known.saturating_sub(lookups);
        if *known == 0 {
            paths.remove(&id);
        }
    }
}

/// The directories that a path leads through, outermost first.
pub fn above(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    let slashes = path.iter().enumerate().filter(|(_, byte)| **byte == b'/');
    slashes.map(|(at, _)| path.get(..at).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_kept_as_long_as_the_kernel_remembers_their_directories() {
        let paths = Paths::default();
        paths.entered(7, b"x.npz");
        paths.entered(7, b"y.npz");
        paths.left(7, 1);
        assert_eq!(paths.of(7, b"a"), Some(b"y.npz/a".into()));
        assert_eq!(paths.of(7, &[b'a'; MAX_LEN]), None);
        paths.left(7, 1);
        assert_eq!(paths.of(7, b"a"), None);
    }
}
