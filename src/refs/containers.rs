//! The containers of a directory and below, by path. Links to directories are not followed.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::format::{self, Candidate, HEAD, Options};
use crate::source::{FileSource, Source};
use crate::view::zarr;
use crate::{Error, Result};

/// Directories in each other, of which a file system has no more.
const DEEPEST: usize = 2048;

#[derive(Default)]
pub struct Found {
    pub containers: Vec<Container>,
    /// The keys of directories that lead to them, outermost first; the directory itself is the empty one.
    pub groups: BTreeSet<String>,
    /// Of the containers.
    keys: BTreeSet<String>,
}

pub struct Container {
    pub path: PathBuf,
    pub key: String,
}

/// All of them, in the order of their names. What cannot be looked at is told to `left_out`.
pub fn below(root: &Path, formats: &Options, left_out: &mut dyn FnMut(&Error)) -> Result<Found> {
    let mut found = Found::default();
    found.groups.insert(String::new());
    let mut left = vec![(root.to_owned(), String::new(), 0)];
    // The directory itself has to be there.
    fs::read_dir(root).map_err(|cause| Error::open(root, cause))?;
    while let Some((path, key, depth)) = left.pop() {
        let meta = match if depth == 0 { fs::metadata(&path) } else { fs::symlink_metadata(&path) } {
            Ok(meta) => meta,
            Err(cause) => {
                left_out(&Error::open(&path, cause));
                continue;
            }
        };
        if meta.is_dir() && depth < DEEPEST {
            match listed(&path, &key, depth + 1) {
                Ok(inner) => left.extend(inner),
                Err(error) => left_out(&error),
            }
        } else if fs::metadata(&path).is_ok_and(|meta| meta.is_file()) {
            match is_container(&path, formats) {
                Ok(true) if found.has(&key) => {
                    let shown = path.display();
                    left_out(&Error::Other(format!("{shown}: something else has its key, {key:?}")));
                }
                Ok(true) => found.add(path, key),
                Ok(false) => {}
                Err(error) => left_out(&error),
            }
        }
    }
    Ok(found)
}

impl Found {
    /// Is this the key of something that was found, or below a container's? Names that are not the same may have one
    /// key, as a backslash is `%5C` in it.
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

/// What a directory has, the first name last.
fn listed(path: &Path, key: &str, depth: usize) -> Result<Vec<(PathBuf, String, usize)>> {
    let failed = |cause| Error::open(path, cause);
    let mut inner = Vec::new();
    for entry in fs::read_dir(path).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let name = zarr::key(entry.file_name().as_bytes());
        let key = if key.is_empty() { name } else { format!("{key}/{name}") };
        inner.push((entry.path(), key, depth));
    }
    inner.sort_by(|a, b| b.cmp(a));
    Ok(inner)
}

fn is_container(path: &Path, formats: &Options) -> Result<bool> {
    let source = FileSource::open(path)?;
    let head = source.read_range(0..source.len().min(HEAD as u64))?;
    let candidate = Candidate { path, head: &head, len: source.len(), asked_for: false };
    let found = format::detect(&candidate);
    Ok(found.is_some_and(|found| {
        formats.format.as_ref().is_none_or(|wanted| found.name().eq_ignore_ascii_case(wanted))
    }))
}
