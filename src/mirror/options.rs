//! Which files of a directory are shown, and how.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use crate::format;
use crate::{Error, Result};

/// Usual bytes of memory for open containers and files.
pub const MEMORY: u64 = 64 << 20;

#[derive(Clone, Debug)]
pub struct Options {
    /// Containers and files that are open at a time.
    pub max_open: usize,
    /// Bytes of memory that these take together, roughly; one may take more.
    pub max_memory: u64,
    /// What the user says about the containers.
    pub formats: format::Options,
    /// How long listings of stores are used again.
    pub refresh: Duration,
    /// The extension of a container is left out where no other file would be called the same.
    pub strip_ext: bool,
    pub only_containers: bool,
    /// Symbolic links that lead out of the directory are followed too.
    pub follow_outside: bool,
    /// Directories below the first that are shown; None: all.
    pub max_depth: Option<u32>,
    pub filter: Filter,
    /// Where it will be mounted, absolute and without links: never looked into.
    pub mountpoint: Option<PathBuf>,
}

/// Which files are shown by their names. A pattern without a slash is compared with a file's name, one with a slash
/// with its path below the directory that is mounted.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    include: Option<Patterns>,
    exclude: Option<Patterns>,
}

#[derive(Clone, Debug)]
struct Patterns {
    names: GlobSet,
    paths: GlobSet,
}

impl Filter {
    pub fn new(include: &[String], exclude: &[String]) -> Result<Filter> {
        let patterns =
            |list: &[String]| if list.is_empty() { Ok(None) } else { Patterns::new(list).map(Some) };
        Ok(Filter { include: patterns(include)?, exclude: patterns(exclude)? })
    }

    /// Is there anything that a path has to be known for?
    pub fn is_empty(&self) -> bool {
        self.include.is_none() && self.exclude.is_none()
    }

    /// Directories are shown whatever is to be included.
    pub fn shows(&self, path: &Path, is_directory: bool) -> bool {
        let is_included = is_directory || self.include.as_ref().is_none_or(|some| some.matches(path));
        is_included && !self.exclude.as_ref().is_some_and(|some| some.matches(path))
    }
}

impl Patterns {
    fn new(patterns: &[String]) -> Result<Patterns> {
        let (with_slash, without): (Vec<&String>, Vec<&String>) =
            patterns.iter().partition(|pattern| pattern.contains('/'));
        let all = |list: &[&String]| {
            let mut set = GlobSetBuilder::new();
            for pattern in list {
                let bare = pattern.trim_start_matches('/').trim_end_matches('/');
                let glob = GlobBuilder::new(bare).literal_separator(true).backslash_escape(true).build();
                set.add(glob.map_err(|problem| Error::Usage(format!("the pattern {pattern:?}: {problem}")))?);
            }
            set.build().map_err(|problem| Error::Usage(format!("the patterns cannot be used: {problem}")))
        };
        Ok(Patterns { names: all(&without)?, paths: all(&with_slash)? })
    }

    fn matches(&self, path: &Path) -> bool {
        self.names.is_match(path.file_name().unwrap_or(OsStr::new(""))) || self.paths.is_match(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_paths() {
        let list = |words: &[&str]| words.iter().map(|word| word.to_string()).collect::<Vec<_>>();
        let filter = Filter::new(&list(&["*.rab", "sub/*.txt"]), &list(&["old", "/a/b.rab"])).unwrap();
        let shows = |path: &str| filter.shows(Path::new(path), false);
        assert!(shows("x.rab") && shows("deep/er/x.rab") && shows("sub/x.txt"));
        assert!(!shows("x.txt") && !shows("sub/er/x.txt") && !shows("a/b.rab"));
        assert!(filter.shows(Path::new("any"), true) && !filter.shows(Path::new("x/old"), true));
        assert!(Filter::default().shows(Path::new("x"), false));
        assert!(Filter::new(&list(&["[a"]), &[]).is_err());
    }
}
