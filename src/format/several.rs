//! Containers of several files: finds the parts of one in a directory, and checks whether given files make one.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{FORMATS, Format, MultiFile, Options, chosen, named};
use crate::error::Place;
use crate::source::Source;
use crate::{Error, Result};

/// The contents of a directory, ignoring hidden files except a format's `hidden_part`.
#[derive(Default)]
pub struct Parts {
    /// The files that make one container, sorted by name; empty if there is none.
    pub files: Vec<PathBuf>,
    /// The first other entry by name, which makes a mount show the directory as it is.
    pub other: Option<OsString>,
}

/// The files of a directory that make one container.
pub fn parts(directory: &Path, options: &Options) -> Result<Parts> {
    let parts = found(directory, options, false)?;
    if parts.files.is_empty() {
        refused(directory, options)?;
    }
    Ok(parts)
}

/// Like [`parts`], but empty if the directory has anything else.
pub fn only_parts(directory: &Path, options: &Options) -> Result<Vec<PathBuf>> {
    let files = found(directory, options, true)?.files;
    // Without a named format, the directory is shown as it is.
    if files.is_empty() && options.format.is_some() {
        refused(directory, options)?;
    }
    Ok(files)
}

/// Do these files make one container?
pub fn are_one(files: &[Arc<dyn Source>], options: &Options) -> Result<bool> {
    let formats = files.iter().map(|file| chosen(&**file, options)).collect::<Result<Vec<_>>>()?;
    let [first, others @ ..] = formats.as_slice() else { return Ok(false) };
    let Some(multi_file) = first.multi_file() else { return Ok(false) };
    let is_same = others.iter().all(|other| other.name() == first.name());
    Ok(is_same && (others.is_empty() || multi_file.are_one(files)))
}

fn formats(options: &Options) -> Result<Vec<&'static dyn Format>> {
    match &options.format {
        Some(name) => Ok(vec![named(name)?]),
        None => Ok(FORMATS.to_vec()),
    }
}

/// Fails if the directory is of a known format in an unsupported variant.
fn refused(directory: &Path, options: &Options) -> Result<()> {
    let mut multi_file = formats(options)?.into_iter().filter_map(|format| format.multi_file());
    match multi_file.find_map(|format| format.refuses(directory)) {
        Some(problem) => Err(Error::Unsupported { place: Place::file(directory), problem }),
        None => Ok(()),
    }
}

fn found(directory: &Path, options: &Options, only: bool) -> Result<Parts> {
    for format in formats(options)?.into_iter().filter_map(|format| format.multi_file()) {
        let parts = of_format(directory, format, only, options.format.is_some())?;
        if !parts.files.is_empty() {
            return Ok(parts);
        }
    }
    Ok(Parts::default())
}

fn of_format(directory: &Path, format: &dyn MultiFile, only: bool, named: bool) -> Result<Parts> {
    let failed = |cause| Error::open(directory, cause);
    let mut parts = Parts::default();
    for entry in directory.read_dir().map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let name = entry.file_name();
        if name.as_encoded_bytes().starts_with(b".") && format.hidden_part().is_none_or(|part| name != part) {
            continue;
        }
        let path = entry.path();
        match format.is_part(&path) && path.is_file() {
            true => parts.files.push(path),
            false if format.stands_beside(&path, named) => {}
            false if only => return Ok(Parts::default()),
            false => {
                let name = entry.file_name();
                parts.other = Some(parts.other.map_or(name.clone(), |other| other.min(name)));
            }
        }
    }
    parts.files.sort();
    match parts.files.first() {
        // Each file is a container of its own: the directory is shown as it is.
        Some(first) if !format.can_be_one(&parts.files) => {
            Ok(Parts { files: Vec::new(), other: first.file_name().map(OsString::from) })
        }
        _ => Ok(parts),
    }
}
