//! Finds the datasets that an argument selects: the one with exactly this name, else the one with this percent-encoded
//! name, else all that match it as a glob, in the container's order. `*` also matches `/`.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use globset::{GlobBuilder, GlobMatcher};

use crate::tree::naming;
use crate::{Archive, Error, Result};

/// As [`select`]; a name that is not a dataset's may also lead to one through the links that `rab ls` shows.
pub fn select_linked(archive: &Archive, pattern: &OsStr) -> Result<Vec<usize>> {
    let name = pattern.as_bytes();
    match archive.find_linked(name).filter(|_| !archive.has(name)) {
        Some(number) => Ok(vec![number]),
        None => select(archive, pattern),
    }
}

/// The numbers of the selected datasets, at least one.
pub fn select(archive: &Archive, pattern: &OsStr) -> Result<Vec<usize>> {
    if let Some(number) = archive.find(pattern.as_bytes()) {
        return Ok(vec![number]);
    }
    let glob = glob(pattern)?;
    let matches = |name: &[u8]| {
        let is_match = |name: &[u8]| glob.is_match(Path::new(OsStr::from_bytes(name)));
        is_match(name) || matches!(naming::printed(name), Cow::Owned(printed) if is_match(printed.as_bytes()))
    };
    let names = archive.raw_names().enumerate();
    let found: Vec<usize> = names.filter(|(_, name)| matches(name)).map(|(number, _)| number).collect();
    if found.is_empty() { Err(archive.no_dataset(pattern.as_bytes())) } else { Ok(found) }
}

/// The names that a pattern selects.
pub fn among<'n>(names: &'n [Vec<u8>], pattern: &OsStr) -> Vec<&'n Vec<u8>> {
    // An invalid glob is only compared as a name.
    let (glob, own) = (glob(pattern).ok(), pattern.as_bytes());
    let matches =
        |name: &[u8]| glob.as_ref().is_some_and(|glob| glob.is_match(Path::new(OsStr::from_bytes(name))));
    match names.iter().find(|name| *name == own) {
        Some(name) => vec![name],
        None => names.iter().filter(|name| matches(name)).collect(),
    }
}

/// The links with these names, or that match, with their targets; all links if there is no pattern.
pub fn links(archive: &Archive, patterns: &[OsString]) -> Result<Vec<(String, String)>> {
    if patterns.is_empty() {
        return Ok(archive.links().collect());
    }
    let others = patterns.iter().filter(|pattern| !archive.has(pattern.as_bytes()));
    let globs = others.map(|pattern| Ok((pattern, glob(pattern)?))).collect::<Result<Vec<_>>>()?;
    let is_meant = |name: &str| globs.iter().any(|(pattern, glob)| *pattern == name || glob.is_match(name));
    Ok(archive.links().filter(|(name, _)| is_meant(name)).collect())
}

/// The union of several patterns: each dataset once, in the container's order.
pub fn select_each(archive: &Archive, patterns: &[OsString]) -> Result<Vec<usize>> {
    let mut numbers = Vec::new();
    for pattern in patterns {
        numbers.extend(select(archive, pattern)?);
    }
    numbers.sort_unstable();
    numbers.dedup();
    Ok(numbers)
}

/// The stored size of these datasets, or of all, in bytes.
pub fn stored_len(archive: &Archive, numbers: Option<&[usize]>) -> u64 {
    match numbers {
        Some(numbers) => {
            numbers.iter().fold(0, |sum, number| archive.stored_len_of(*number).saturating_add(sum))
        }
        None => archive.stored_len(),
    }
}

fn glob(pattern: &OsStr) -> Result<GlobMatcher> {
    // Text that is not Unicode matches nothing, so the dataset is reported as missing.
    let text = pattern.to_string_lossy();
    let glob = GlobBuilder::new(&text).backslash_escape(true).build();
    glob.map(|glob| glob.compile_matcher()).map_err(|problem| {
        if let Some((name, _)) = text.split_once('[').filter(|(_, index)| !index.contains(']')) {
            return Error::Usage(format!("{text:?} has no closing bracket: {name}[INDEX]"));
        }
        let why = problem.kind();
        Error::Usage(format!(
            "there is no dataset {text:?}, and it is not a valid pattern either ({why}): a backslash before *, ?, [ or {{ \
             takes that as it is"
        ))
    })
}
