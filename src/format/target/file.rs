//! How a file that was written takes the place of its target: in one step, whole and on disk. Until then it is a
//! [`Temporary`] file of the same directory, and nothing is left of it when writing fails.

use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{Gid, Uid, fchown};

use super::temporary::Temporary;

/// Where a file is to be.
pub struct Target(PathBuf);

/// A file that is whole and on disk, and not in the target's place yet.
pub struct Whole {
    target: Target,
    file: Temporary,
}

impl Target {
    pub fn new(path: &Path) -> io::Result<Target> {
        resolved(path).map(Target)
    }

    /// Where the target is, and temporary files are.
    pub fn directory(&self) -> &Path {
        directory(&self.0)
    }

    /// A new file, with the mode that the umask leaves to new files.
    pub fn temporary(&self) -> io::Result<Temporary> {
        Temporary::create(self.directory())
    }

    /// Gives a file the owner and mode of what is there, and sees it on disk.
    pub fn whole(self, file: Temporary) -> io::Result<Whole> {
        keep_owner_and_mode(&self.0, &file.file)?;
        file.file.sync_all()?;
        Ok(Whole { target: self, file })
    }

    /// Puts a file in the target's place.
    pub fn replace(self, file: Temporary) -> io::Result<()> {
        self.whole(file)?.replace()
    }
}

impl Whole {
    /// Where it is to go, symbolic links resolved.
    pub fn target(&self) -> &Path {
        &self.target.0
    }

    /// Puts it in the target's place.
    pub fn replace(self) -> io::Result<()> {
        self.file.persist(&self.target.0)?;
        // Some file systems cannot sync a directory, and say so in this way.
        match File::open(self.target.directory())?.sync_all() {
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
            result => result,
        }
    }
}

/// The directory that a file is in.
pub fn directory(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
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

/// Those of the file that is at the target; the owner only as far as the user may give files away.
fn keep_owner_and_mode(target: &Path, file: &File) -> io::Result<()> {
    let Ok(old) = fs::metadata(target) else { return Ok(()) };
    let (owner, group) = (Some(Uid::from_raw(old.uid())), Some(Gid::from_raw(old.gid())));
    let _ = fchown(file, owner, group).or_else(|_| fchown(file, None, group));
    file.set_permissions(Permissions::from_mode(old.permissions().mode() & 0o7777))
}
