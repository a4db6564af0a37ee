//! How a file that was written takes the place of its target: in one step, whole and on disk. Until then it is a
//! temporary file beside it, and nothing is left of it when writing fails.

use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

/// Where a file is to be.
pub struct Target(PathBuf);

impl Target {
    pub fn new(path: &Path) -> io::Result<Target> {
        resolved(path).map(Target)
    }

    /// Where the target is, and temporary files are.
    pub fn directory(&self) -> &Path {
        self.0.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
    }

    /// A new file beside the target, with the mode that the umask leaves to new files.
    pub fn temporary(&self) -> io::Result<NamedTempFile> {
        let mode = Permissions::from_mode(0o666);
        let mut builder = tempfile::Builder::new();
        builder.prefix(".rab-").suffix(".tmp").permissions(mode).tempfile_in(self.directory())
    }

    /// Puts a file in the target's place.
    pub fn replace(&self, whole: NamedTempFile) -> io::Result<()> {
        if let Ok(old) = fs::metadata(&self.0) {
            whole.as_file().set_permissions(Permissions::from_mode(old.permissions().mode() & 0o7777))?;
        }
        whole.as_file().sync_all()?;
        whole.persist(&self.0).map_err(|error| error.error)?;
        // Some file systems cannot sync a directory, and say so in this way.
        match File::open(self.directory())?.sync_all() {
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
            result => result,
        }
    }
}

/// The file that `target` names: of a symbolic link, what it points at.
fn resolved(target: &Path) -> io::Result<PathBuf> {
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
