//! Directories and files that belong to this user alone: what somebody else could have written there is not believed.

use std::fs::{self, DirBuilder, File, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

/// Fails unless the directory exists and nobody else can write to it.
pub fn check_directory(path: &Path) -> io::Result<()> {
    let meta = fs::symlink_metadata(path)?;
    is_ours(&meta, meta.is_dir(), "a directory").map_err(io::Error::other)
}

/// Creates missing directories, private to this user.
pub fn create_directory(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)?;
    check_directory(path)
}

/// Opens a file that nobody else can have written.
pub fn open(path: &Path, write: bool) -> io::Result<File> {
    opened(OpenOptions::new().read(true).write(write), path)
}

/// As [`open`], for writing; one that is not there is created.
pub fn open_or_create(path: &Path) -> io::Result<File> {
    opened(OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600), path)
}

fn opened(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_NOCTTY;
    let file = options.custom_flags(flags).open(path)?;
    let meta = file.metadata()?;
    is_ours(&meta, meta.is_file(), "a regular file").map_err(io::Error::other)?;
    Ok(file)
}

fn is_ours(meta: &Metadata, is_kind: bool, kind: &str) -> Result<(), String> {
    let uid = nix::unistd::geteuid().as_raw();
    if !is_kind {
        Err(format!("it is not {kind}"))
    } else if meta.uid() != uid {
        Err(format!("it belongs to user {}, not to {uid}", meta.uid()))
    } else if meta.mode() & 0o022 != 0 {
        Err(format!("other users may write to it (mode {:o})", meta.mode() & 0o777))
    } else {
        Ok(())
    }
}
