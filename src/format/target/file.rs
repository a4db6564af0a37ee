//! A file that takes another one's place when it is whole: until then it is a temporary file beside the target.

use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

/// The file that `target` names: of a symbolic link, what it points at.
pub fn resolved(target: &Path) -> io::Result<PathBuf> {
    match fs::metadata(target) {
        Ok(meta) if meta.is_dir() => Err(io::Error::from(io::ErrorKind::IsADirectory)),
        Ok(meta) if !meta.is_file() => Err(io::Error::other("it is not a regular file")),
        Ok(meta) if meta.permissions().readonly() => Err(io::Error::other("it is read-only")),
        Ok(_) => fs::canonicalize(target),
        Err(error) if error.kind() == io::ErrorKind::NotFound && target.file_name().is_some() => {
            Ok(target.to_owned())
        }
        Err(error) => Err(error),
    }
}

pub fn directory(target: &Path) -> &Path {
    target.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// A new file beside the target, with the mode that the umask leaves to new files.
pub fn temporary(target: &Path) -> io::Result<NamedTempFile> {
    let mode = Permissions::from_mode(0o666);
    tempfile::Builder::new().prefix(".rab-").suffix(".tmp").permissions(mode).tempfile_in(directory(target))
}

/// Puts a file that is whole in the target's place, once it is on disk, with the mode of what was there.
pub fn replace(whole: NamedTempFile, target: &Path) -> io::Result<()> {
    if let Ok(old) = fs::metadata(target) {
        whole.as_file().set_permissions(Permissions::from_mode(old.permissions().mode() & 0o7777))?;
    }
    whole.as_file().sync_all()?;
    whole.persist(target).map_err(|error| error.error)?;
    // Some file systems cannot sync a directory, and say so in this way.
    match File::open(directory(target))?.sync_all() {
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
        result => result,
    }
}
