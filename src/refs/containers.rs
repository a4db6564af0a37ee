//! Finds the containers below a directory, with their keys in a Zarr store.

use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::archive::containers_below;
use crate::format::Options;
use crate::view::zarr;
use crate::{Error, Result};

#[derive(Default)]
pub struct Containers {
    pub containers: Vec<Container>,
    /// The keys of the directories that contain them, outermost first; the root is the empty key.
    pub groups: BTreeSet<String>,
    /// The keys of the containers.
    keys: BTreeSet<String>,
}

pub struct Container {
    pub path: PathBuf,
    pub key: String,
}

/// All containers below `root`, sorted by name. Errors in examining files go to `left_out`.
pub fn below(root: &Path, formats: &Options, left_out: &mut dyn FnMut(&Error)) -> Result<Containers> {
    let mut found = Containers::default();
    found.groups.insert(String::new());
    for path in containers_below(root, formats, left_out)? {
        let key = key_of(path.strip_prefix(root).unwrap_or(&path));
        match found.has(&key) {
            true => {
                let shown = path.display();
                left_out(&Error::Other(format!("{shown}: another file already has its key {key:?}")));
            }
            false => found.add(path, key),
        }
    }
    Ok(found)
}

fn key_of(path: &Path) -> String {
    path.iter().map(|name| zarr::key(name.as_bytes())).collect::<Vec<_>>().join("/")
}

impl Containers {
    /// True if something already has this key, or a container has a key above it. Different names can have the same
    /// key, because keys are escaped: a backslash becomes `%5C`.
    fn has(&self, key: &str) -> bool {
        self.groups.contains(key)
            || self.keys.contains(key)
            || key.match_indices('/').any(|(at, _)| self.keys.contains(&key[..at]))
    }

    fn add(&mut self, path: PathBuf, key: String) {
        let slashes = key.match_indices('/').map(|(at, _)| key[..at].to_owned());
        self.groups.extend(slashes.collect::<Vec<_>>());
        self.keys.insert(key.clone());
        self.containers.push(Container { path, key });
    }
}
