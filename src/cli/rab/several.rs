//! Verbs of several containers: which ones the arguments mean, and one after the other, whatever is wrong with one.

use std::cell::OnceCell;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::complain;
use super::output::{Done, Failure};
use super::told::Told;
use crate::archive::containers_below;
use crate::cli::reading::Opening;
use crate::{Archive, Error, Options, Result};

/// What is asked for.
pub struct Chosen {
    pub files: Vec<PathBuf>,
    /// Names and globs, which are looked for in each file.
    pub names: Vec<OsString>,
    /// Several files, or all of a directory: each is shown with its name.
    pub are_several: bool,
    told: Told,
}

impl Chosen {
    /// `first` is a container, and of `others` those that are files or directories, unless `first` has a dataset of
    /// that name. The rest are names of datasets.
    pub fn of(first: &Path, others: &[OsString], opening: &Opening, recursive: bool) -> Result<Chosen> {
        let archive = OnceCell::new();
        let has_dataset = |name: &OsString| {
            // That it cannot be opened is said when its turn comes.
            let archive = archive.get_or_init(|| Archive::open_with(first, opening.options()).ok());
            let has = |archive: &Archive| archive.has(name.as_bytes());
            !(recursive && first.is_dir()) && archive.as_ref().is_some_and(has)
        };
        let (mut files, mut names) = (vec![first.to_owned()], Vec::new());
        for other in others {
            match Path::new(other).exists() && !has_dataset(other) {
                true => files.push(other.into()),
                false => names.push(other.clone()),
            }
        }
        if files.len() > 1 && !opening.and().is_empty() {
            return Err(Error::Usage("--and is for a single container: name the files of one".into()));
        }
        Ok(Chosen { names, ..Chosen::files(&files, &opening.options(), recursive)? })
    }

    /// Of directories all containers in them and below, if that is asked for.
    pub fn files(given: &[PathBuf], options: &Options, recursive: bool) -> Result<Chosen> {
        let told = Told::default();
        let mut failed = |error: &Error| {
            complain(error);
            told.note(error.exit_code());
        };
        let (mut files, mut are_several) = (Vec::new(), given.len() > 1);
        for file in given {
            if !(recursive && file.is_dir()) {
                files.push(file.clone());
                continue;
            }
            are_several = true;
            match containers_below(file, options, &mut failed) {
                Ok(below) => files.extend(below),
                Err(error) => failed(&error),
            }
        }
        Ok(Chosen { files, names: Vec::new(), are_several, told })
    }

    /// Calls `each` with every file. One that fails does not keep the others from their turn; the exit code is that of
    /// the worst.
    pub fn each(&self, each: &mut dyn FnMut(&Path) -> Done) -> Done {
        for file in &self.files {
            match each(file) {
                Err(Failure::Error(error)) => {
                    complain(&error);
                    self.told.note(error.exit_code());
                }
                Err(Failure::Said(code)) => self.told.note(code),
                done => done?,
            }
        }
        self.told.done()
    }
}
