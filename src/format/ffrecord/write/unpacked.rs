//! The output of `rab unpack`, or a copy of a mount, as input: a directory with the records by number, and possibly
//! the file that describes all of them.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::format::ffrecord::records::FOLDER;
use crate::format::ffrecord::tables::META;
use crate::{Error, Result, yaml};

/// The records' files in order; None if the directory is something else. Fails if a record is missing, as those after
/// it would be renumbered.
pub fn unpacked(directory: &Path) -> Result<Option<Vec<PathBuf>>> {
    let Some(recorded) = recorded(directory)? else { return Ok(None) };
    let folder = directory.join(FOLDER);
    let mut found: Vec<(u64, PathBuf)> = Vec::new();
    let entries = match fs::read_dir(&folder) {
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => None,
        entries => Some(entries.map_err(|cause| Error::open(&folder, cause))?),
    };
    for entry in entries.into_iter().flatten() {
        let entry = entry.map_err(|cause| Error::open(&folder, cause))?;
        let Some(number) = number(&entry.file_name()) else { return Ok(None) };
        found.push((number, entry.path()));
    }
    found.sort_unstable();
    let count = recorded.unwrap_or(0).max(found.len() as u64);
    let is_there = |number: &u64| found.get(*number as usize).is_some_and(|(found, _)| found == number);
    match (0..count).find(|number| !is_there(number)) {
        None => Ok(Some(found.into_iter().map(|(_, path)| path).collect())),
        Some(missing) => Err(Error::Other(format!(
            "{}: record {missing} is missing: unpack all records again, or name the files to be packed",
            folder.display()
        ))),
    }
}

/// The recorded number of records, if there is one; None if this is not the directory of a file of records.
fn recorded(directory: &Path) -> Result<Option<Option<u64>>> {
    let (mut has_folder, mut recorded) = (false, None);
    for entry in fs::read_dir(directory).map_err(|cause| Error::open(directory, cause))? {
        let entry = entry.map_err(|cause| Error::open(directory, cause))?;
        match entry.file_name().to_str() {
            Some(FOLDER) if entry.path().is_dir() => has_folder = true,
            Some(META) => {
                let text = fs::read_to_string(entry.path()).unwrap_or_default();
                let node = yaml::value_to_write(&text).ok();
                recorded = node.and_then(|node| node.get("records")?.as_u64());
                if recorded.is_none() {
                    return Ok(None);
                }
            }
            _ => return Ok(None),
        }
    }
    Ok((has_folder || recorded == Some(0)).then_some(recorded))
}

/// The parent, if this is the directory of records within what [`unpacked`] accepts.
pub fn above_records(directory: &Path) -> Option<PathBuf> {
    let directory = directory.canonicalize().ok()?;
    let above = directory.parent().filter(|_| directory.ends_with(FOLDER))?;
    unpacked(above).ok().flatten().map(|_| above.to_owned())
}

fn number(name: &OsStr) -> Option<u64> {
    let digits = name.to_str().filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()))?;
    digits.parse().ok()
}
