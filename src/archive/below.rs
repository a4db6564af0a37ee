//! The containers of a directory and below, by path. Links to directories are not followed, so every walk ends.

use std::fs;
use std::path::{Path, PathBuf};

use crate::format::{self, Options, writer};
use crate::source::{self, FileSource, Listed, url};
use crate::{Error, Result};

/// Nesting of directories at most, which no file system exceeds.
const MAX_DEPTH: usize = 2048;

/// All of them, in the order of their names, those that symbolic links lead to as well. Other files are passed over.
/// Reported to `failed` are directories that cannot be listed, files with a container's extension that cannot be read
/// or are no containers, and links that lead out of `root`, unless the options permit following them. An error is that
/// of `root` itself.
pub fn containers_below(
    root: &Path,
    options: &Options,
    failed: &mut dyn FnMut(&Error),
) -> Result<Vec<PathBuf>> {
    if let Some(url) = url(root) {
        return objects_below(url, options);
    }
    let mut containers = Vec::new();
    // The directory itself has to be there.
    fs::read_dir(root).map_err(|cause| Error::open(root, cause))?;
    let real_root = root.canonicalize().map_err(|cause| Error::open(root, cause))?;
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
            continue;
        }
        let is_container = match meta.is_symlink() {
            true => leads_to_container(&path, &real_root, options),
            false if meta.is_file() => is_container(&path, options),
            false => Ok(false),
        };
        match is_container {
            Ok(true) => containers.push(path),
            Ok(false) => {}
            Err(error) => failed(&error),
        }
    }
    Ok(containers)
}

/// The objects below a prefix that are named as containers are.
fn objects_below(url: &str, options: &Options) -> Result<Vec<PathBuf>> {
    let is_wanted = |name: &str| {
        let wanted = options.format.as_deref();
        let found = format::known_by_name(Path::new(name));
        found.is_some_and(|found| wanted.is_none_or(|wanted| found.name().eq_ignore_ascii_case(wanted)))
    };
    let mut containers = Vec::new();
    let mut left = vec![(PathBuf::from(url), Listed::Directory)];
    while let Some((path, listed)) = left.pop() {
        let Some(url) = path.to_str() else { continue };
        match listed {
            Listed::Object { .. } if is_wanted(url) => containers.push(path),
            Listed::Object { .. } => {}
            Listed::Directory => {
                let inner = source::list(url)?;
                left.extend(inner.into_iter().rev().map(|(name, listed)| (path.join(name), listed)));
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

/// What cannot be opened is an error only if it has a container's extension.
fn is_container(path: &Path, options: &Options) -> Result<bool> {
    match FileSource::open(path) {
        Ok(source) => Ok(format::met(&source, options)?.is_some()),
        Err(error) if writer::named_by(path).is_some() => Err(error),
        Err(_) => Ok(false),
    }
}

/// As [`is_container`], of a symbolic link.
fn leads_to_container(link: &Path, root: &Path, options: &Options) -> Result<bool> {
    let is_called_so = writer::named_by(link).is_some();
    match link.canonicalize() {
        Err(cause) if is_called_so => Err(Error::open(link, cause)),
        Ok(target) if options.policy.follow_outside || target.starts_with(root) => {
            Ok(target.is_file() && is_container(link, options)?)
        }
        Ok(target) if target.is_file() && (is_called_so || writer::named_by(&target).is_some()) => {
            let (link, root) = (link.display(), root.display());
            let problem = "is a symbolic link that leads out of";
            Err(Error::Other(format!("{link}: {problem} {root}: --follow-outside reads it all the same")))
        }
        Ok(_) | Err(_) => Ok(false),
    }
}
