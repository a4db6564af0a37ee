//! Containers of several files: which of those in a directory make one, and whether some that were named do.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{FORMATS, Format, Options, chosen, named};
use crate::source::Source;
use crate::{Error, Result};

/// The files of a directory that make one container, by their names; none if nothing there does. Names with a dot in
/// front are left out.
pub fn parts(directory: &Path, options: &Options) -> Result<Vec<PathBuf>> {
    found(directory, options, false)
}

/// As [`parts`] in a directory that has nothing else; else none.
pub fn only_parts(directory: &Path, options: &Options) -> Result<Vec<PathBuf>> {
    found(directory, options, true)
}

/// Do these files make one container?
pub fn are_one(files: &[Arc<dyn Source>], options: &Options) -> Result<bool> {
    let formats = files.iter().map(|file| chosen(&**file, options)).collect::<Result<Vec<_>>>()?;
    let [first, others @ ..] = formats.as_slice() else { return Ok(false) };
    let is_same = first.takes_several() && others.iter().all(|other| other.name() == first.name());
    Ok(is_same && (others.is_empty() || first.are_one(files)))
}

fn found(directory: &Path, options: &Options, only: bool) -> Result<Vec<PathBuf>> {
    let formats = match &options.format {
        Some(name) => vec![named(name)?],
        None => FORMATS.to_vec(),
    };
    for format in formats.into_iter().filter(|format| format.takes_several()) {
        let files = of_format(directory, format, only, options.format.is_some())?;
        if !files.is_empty() {
            return Ok(files);
        }
    }
    Ok(Vec::new())
}

fn of_format(directory: &Path, format: &dyn Format, only: bool, named: bool) -> Result<Vec<PathBuf>> {
    let failed = |cause| Error::open(directory, cause);
    let mut files = Vec::new();
    for entry in directory.read_dir().map_err(failed)? {
        let entry = entry.map_err(failed)?;
        if entry.file_name().as_encoded_bytes().starts_with(b".") {
            continue;
        }
        let path = entry.path();
        match format.is_part(&path) && path.is_file() {
            true => files.push(path),
            false if only && !format.stands_beside(&path, named) => return Ok(Vec::new()),
            false => {}
        }
    }
    files.sort();
    Ok(files)
}
