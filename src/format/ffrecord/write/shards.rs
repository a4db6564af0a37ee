//! A directory of files that appears in its place when all of them are complete.

use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use tempfile::TempDir;

use crate::error::Place;
use crate::format::ffrecord::EXTENSION;
use crate::format::writer::directory;
use crate::source::url;
use crate::{Error, Result};

pub struct Shards {
    /// Removed with its contents unless finished.
    scratch: TempDir,
    target: PathBuf,
    force: bool,
}

impl Shards {
    /// `target` must not exist, or be an empty directory, or with `force` one that has only .ffr files.
    pub fn new(target: &Path, force: bool) -> Result<Shards> {
        let failed = |cause| Error::write(Place::file(target), cause);
        if url(target).is_some() {
            return Err(failed(io::Error::other("shards are written to a directory: upload that")));
        }
        match fs::symlink_metadata(target) {
            Ok(meta) if !meta.is_dir() => return Err(failed(io::ErrorKind::NotADirectory.into())),
            Ok(_) => check(target, force)?,
            Err(_) => {}
        }
        let scratch = tempfile::Builder::new().prefix(".rab-").tempdir_in(directory(target));
        Ok(Shards { scratch: scratch.map_err(failed)?, target: target.to_owned(), force })
    }

    /// The directory to write the files to.
    pub fn path(&self) -> &Path {
        self.scratch.path()
    }

    pub fn finish(self) -> Result<()> {
        let Shards { scratch, target, force } = self;
        let failed = |cause| Error::write(Place::file(&target), cause);
        let mode = Permissions::from_mode(0o777 & !umask());
        fs::set_permissions(scratch.path(), mode).map_err(failed)?;
        match fs::rename(scratch.path(), &target) {
            // It has been renamed to the target.
            Ok(()) => drop(scratch.keep()),
            Err(_) if force && target.is_dir() => {
                check(&target, force)?;
                let swapped = renameat_with(CWD, scratch.path(), CWD, &target, RenameFlags::EXCHANGE);
                swapped.map_err(|cause| failed(cause.into()))?;
                // Removes the old contents, now in the scratch directory.
                drop(scratch);
            }
            Err(cause) => return Err(failed(cause)),
        }
        // Some file systems cannot sync a directory.
        let _ = File::open(directory(&target)).and_then(|parent| parent.sync_all());
        Ok(())
    }
}

/// May this directory be replaced?
fn check(target: &Path, force: bool) -> Result<()> {
    let failed = |cause| Error::write(Place::file(target), cause);
    for entry in fs::read_dir(target).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let is_shard = path.is_file() && path.extension().is_some_and(|extension| extension == EXTENSION);
        let refused = |problem: String| Err(failed(io::Error::other(problem)));
        match (force, is_shard) {
            (true, true) => {}
            (true, false) => {
                return refused(format!("it holds {}, which is not a .ffr file", path.display()));
            }
            (false, _) => return refused("it is not empty: --force replaces it".into()),
        }
    }
    Ok(())
}

/// The umask, found out by creating a directory: `umask(2)` can only be read by changing it for a moment.
fn umask() -> u32 {
    let probe = tempfile::Builder::new().permissions(Permissions::from_mode(0o777)).tempdir();
    let mode = probe.ok().and_then(|probe| fs::metadata(probe.path()).ok());
    mode.map_or(0o022, |meta| !meta.permissions().mode() & 0o777)
}
