//! For verbs that take several containers: finds out which ones the arguments mean, and processes one after the other,
//! even if one fails.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::complain;
use super::output::{Done, Failure};
use super::reported::Reported;
use crate::archive::containers_below;
use crate::cli::reading::Opening;
use crate::format::{self, writer};
use crate::source::is_directory;
use crate::tree::naming;
use crate::{Archive, Error, Options, Result};

/// The requested containers and datasets.
pub struct Chosen {
    pub files: Vec<PathBuf>,
    /// Names and globs to look for in each file.
    pub names: Vec<OsString>,
    /// True for several files, or a searched directory: each is then shown with its name.
    pub are_several: bool,
    /// The directory that is searched recursively; not every container in it needs to have every name.
    searched: Option<PathBuf>,
    /// The names found in some container.
    matched: RefCell<HashSet<OsString>>,
    reported: Reported,
}

impl Chosen {
    /// `first` is a container, and so are the `others` that are files; the rest are dataset names.
    pub fn of(first: &Path, others: &[OsString], opening: &Opening, recursive: bool) -> Result<Chosen> {
        let options = opening.options();
        let archive = OnceCell::new();
        // An error in opening it is reported later, when it is processed.
        let archive = || match recursive && is_directory(first) {
            true => None,
            false => archive.get_or_init(|| Archive::open_with(first, opening.options()).ok()).as_ref(),
        };
        let (mut files, mut names) = (vec![first.to_owned()], Vec::new());
        for other in others {
            match is_file(other, &archive, &options, recursive) {
                true => files.push(other.into()),
                false => names.push(other.clone()),
            }
        }
        if files.len() > 1 && !opening.and().is_empty() {
            return Err(Error::Usage("--and is for a single container: name the files of one".into()));
        }
        Ok(Chosen { names, ..Chosen::files(&files, &options, recursive)? })
    }

    /// The given files; if `recursive`, directories are replaced by all containers below them.
    pub fn files(given: &[PathBuf], options: &Options, recursive: bool) -> Result<Chosen> {
        let (reported, count) = (Reported::default(), Cell::new(0));
        let mut failed = |error: &Error| {
            complain(error);
            reported.note(error.exit_code());
            count.set(count.get() + 1);
        };
        let (mut files, mut searched) = (Vec::new(), None);
        for file in given {
            if !(recursive && is_directory(file)) {
                files.push(file.clone());
                continue;
            }
            searched = searched.or(Some(file.clone()));
            let before = count.get();
            match containers_below(file, options, &mut failed) {
                Ok(below) if below.is_empty() && count.get() == before => {
                    let format = options.format.as_ref().map_or(String::new(), |name| format!("{name} "));
                    failed(&Error::Other(format!("{}: has no {format}container in it", file.display())));
                }
                Ok(below) => files.extend(each_once(below)),
                Err(error) => failed(&error),
            }
        }
        let are_several = given.len() > 1 || searched.is_some();
        Ok(Chosen { files, names: Vec::new(), are_several, searched, matched: RefCell::default(), reported })
    }

    /// Handles the result of looking up a name in a container. In a searched directory, only one container needs to
    /// have it.
    pub fn found(&self, name: &OsStr, found: Result<Vec<usize>>) -> Result<Vec<usize>> {
        match found {
            Err(Error::NoDataset { .. }) if self.searched.is_some() => Ok(Vec::new()),
            Err(error) => Err(error),
            Ok(found) => {
                self.matched.borrow_mut().insert(name.to_owned());
                Ok(found)
            }
        }
    }

    /// True if containers without matching datasets are not mentioned, unless none has any.
    pub fn is_search(&self) -> bool {
        self.searched.is_some() && !self.names.is_empty()
    }

    /// Calls `each` for every file, even if one fails; the most severe error determines the exit code.
    pub fn each(&self, each: &mut dyn FnMut(&Path) -> Done) -> Done {
        for file in &self.files {
            match each(file) {
                Err(Failure::Error(error)) => self.complain(&error),
                Err(Failure::Reported(code)) => self.reported.note(code),
                done => done?,
            }
        }
        for directory in self.searched.iter().filter(|_| !self.files.is_empty()) {
            for name in self.names.iter().filter(|name| !self.matched.borrow().contains(*name)) {
                let name = naming::printed(name.as_bytes()).into_owned();
                self.complain(&Error::NoDataset { file: directory.clone(), name, near: Vec::new() });
            }
        }
        self.reported.done()
    }

    fn complain(&self, error: &Error) {
        complain(error);
        self.reported.note(error.exit_code());
    }
}

/// True if an argument means a container rather than a dataset of the first one.
fn is_file<'a>(
    argument: &OsStr,
    first: &dyn Fn() -> Option<&'a Archive>,
    options: &Options,
    recursive: bool,
) -> bool {
    let (path, name) = (Path::new(argument), argument.as_bytes());
    // Such a spelling clearly means a path.
    let is_path =
        [&b"/"[..], b"./", b"../"].iter().any(|start| name.starts_with(start)) || name.ends_with(b"/");
    match fs::metadata(path) {
        _ if first().is_some_and(|archive| archive.has(name)) => false,
        Ok(meta) if meta.is_dir() && !recursive && !is_path => {
            format::parts(path, options).map_or(true, |parts| !parts.files.is_empty())
        }
        Ok(_) => true,
        // A missing file counts if its name looks like a container's and not like a misspelled dataset's.
        Err(_) => {
            let is_glob = name.iter().any(|byte| b"*?[".contains(byte));
            let is_near = |archive: &Archive| match archive.no_dataset(name) {
                Error::NoDataset { near, .. } => !near.is_empty(),
                _ => false,
            };
            writer::named_by(path).is_some() && !is_glob && !first().is_some_and(is_near)
        }
    }
}

/// Removes symbolic links to files that are also listed under another name.
fn each_once(files: Vec<PathBuf>) -> Vec<PathBuf> {
    let identity = |path: &PathBuf| fs::metadata(path).map(|meta| (meta.dev(), meta.ino())).ok();
    let mut seen: HashSet<_> = files.iter().filter(|file| !file.is_symlink()).map(identity).collect();
    files.into_iter().filter(|file| !file.is_symlink() || seen.insert(identity(file))).collect()
}
