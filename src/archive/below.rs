//! The containers of a directory and below, by path. Links to directories are not followed, so every walk ends.

use std::fs;
use std::path::{Path, PathBuf};

use crate::format::{self, Candidate, HEAD, Options};
use crate::source::{FileSource, Source};
use crate::{Error, Result};

/// Nesting of directories at most, which no file system exceeds.
const MAX_DEPTH: usize = 2048;

/// All of them, in the order of their names; other files are passed over. What cannot be looked at is reported to
/// `failed`. An error is that of `root` itself.
pub fn containers_below(
    root: &Path,
    options: &Options,
    failed: &mut dyn FnMut(&Error),
) -> Result<Vec<PathBuf>> {
    let mut containers = Vec::new();
    // The directory itself has to be there.
    fs::read_dir(root).map_err(|cause| Error::open(root, cause))?;
    let mut left = vec![(root.to_owned(), 0)];
    while let Some((path, depth)) = left.pop() {
        let meta = match if depth == 0 { fs::metadata(&path) } else { fs::symlink_metadata(&path) } {
            Ok(meta) => meta,
            Err(cause) => {
                failed(&Error::open(&path, cause));
                continue;
            }
        };
        if meta.is_dir() && depth < MAX_DEPTH {
            match listed(&path) {
                Ok(inner) => left.extend(inner.into_iter().map(|path| (path, depth + 1))),
                Err(error) => failed(&error),
            }
        } else if fs::metadata(&path).is_ok_and(|meta| meta.is_file()) {
            match is_container(&path, options) {
                Ok(true) => containers.push(path),
                Ok(false) => {}
                Err(error) => failed(&error),
            }
        }
    }
    Ok(containers)
}

/// What a directory has, the first name last.
fn listed(path: &Path) -> Result<Vec<PathBuf>> {
    let failed = |cause| Error::open(path, cause);
    let entries = fs::read_dir(path).map_err(failed)?;
    let mut inner =
        entries.map(|entry| Ok(entry?.path())).collect::<std::io::Result<Vec<_>>>().map_err(failed)?;
    inner.sort_by(|a, b| b.cmp(a));
    Ok(inner)
}

fn is_container(path: &Path, options: &Options) -> Result<bool> {
    let source = FileSource::open(path)?;
    let head = source.read_range(0..source.len().min(HEAD as u64))?;
    let candidate = Candidate { path, head: &head, len: source.len(), asked_for: false };
    let found = format::detect(&candidate);
    Ok(found.is_some_and(|found| {
        options.format.as_ref().is_none_or(|wanted| found.name().eq_ignore_ascii_case(wanted))
    }))
}
