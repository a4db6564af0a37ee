//! The user's directory for what can be made again: the index of compressed datasets, and what was fetched from URLs.

use std::ffi::OsString;
use std::path::PathBuf;

/// As the XDG specification requires, variables that are not absolute paths are ignored.
pub fn directory(variable: impl Fn(&str) -> Option<OsString>) -> PathBuf {
    let directory = |name| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let cache = directory("XDG_CACHE_HOME").or_else(|| directory("HOME").map(|home| home.join(".cache")));
    cache.unwrap_or_else(|| "/var/cache".into()).join("rab-mount")
}
