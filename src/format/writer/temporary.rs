//! A file being written that atomically replaces a target once it is complete. If the file system supports it, the
//! file is unnamed (`O_TMPFILE`), so a killed process leaves nothing behind; otherwise it is called `.rab-XXXXXX.tmp`,
//! beside the target. It has the owner and mode of an existing target from the start.

use std::fs::{self, File, Permissions};
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use rustix::fs::{AtFlags, CWD, Gid, Mode, OFlags, Uid, fchown};
use tempfile::{Builder, NamedTempFile, TempPath};

use crate::codec::INTERRUPTED;
use crate::source::{self, url};

/// Mode of new files, before the umask.
const MODE: u32 = 0o666;

pub struct Temporary {
    pub file: File,
    /// A path, or the URL of an object that is uploaded in the end.
    target: PathBuf,
    /// Whether an existing target may be replaced.
    force: bool,
    name: Option<TempPath>,
}

impl Temporary {
    /// Creates one for a target that is a writable regular file or object, or does not exist.
    pub fn create(target: &Path, force: bool) -> io::Result<Temporary> {
        match url(target) {
            Some(url) => {
                source::may_write(url, force)?;
                Temporary::beside(target.to_owned(), force)
            }
            None => Temporary::beside(resolved(target)?, force),
        }
    }

    /// Creates another one for the same target.
    pub fn another(&self) -> io::Result<Temporary> {
        Temporary::beside(self.target.clone(), self.force)
    }

    fn beside(target: PathBuf, force: bool) -> io::Result<Temporary> {
        let (file, name) = match unnamed(directory(&target)) {
            Some(file) => (file, None),
            None => {
                let (file, name) = named(directory(&target))?.into_parts();
                (file, Some(name))
            }
        };
        keep_owner_and_mode(&target, &file)?;
        Ok(Temporary { file, target, force, name })
    }

    /// The target path, with symbolic links resolved.
    pub fn target(&self) -> &Path {
        &self.target
    }

    /// The directory of the target, or of temporary files for a target that is not on this machine.
    pub fn directory(&self) -> &Path {
        directory(&self.target)
    }

    /// Waits until all of it is on disk.
    pub fn sync(&self) -> io::Result<()> {
        keep_owner_and_mode(&self.target, &self.file)?;
        self.file.sync_all()
    }

    /// Syncs the file and puts it in the target's place.
    pub fn finish(self) -> io::Result<()> {
        self.sync()?;
        self.replace()
    }

    /// Puts the file, which must be synced, in the target's place.
    pub fn replace(self) -> io::Result<()> {
        if let Some(url) = url(&self.target) {
            return source::upload(url, &self.file, self.force, &INTERRUPTED);
        }
        let directory = directory(&self.target);
        let name = match self.name {
            Some(name) => name,
            None => match link(&self.file, directory) {
                Ok(name) => name,
                Err(_) => copy(&self.file, directory)?,
            },
        };
        let put = if self.force { TempPath::persist } else { TempPath::persist_noclobber };
        put(name, &self.target).map_err(|error| error.error)?;
        // What file systems that cannot sync a directory return.
        match File::open(directory)?.sync_all() {
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
            result => result,
        }
    }
}

/// Checks that the target can be written, and follows symbolic links.
fn resolved(target: &Path) -> io::Result<PathBuf> {
    let refused = |problem: &str| Err(io::Error::other(problem));
    match fs::metadata(target) {
        Ok(meta) if meta.is_dir() => Err(io::Error::from(io::ErrorKind::IsADirectory)),
        Ok(meta) if !meta.is_file() => refused("it is not a regular file"),
        Ok(meta) if meta.permissions().readonly() => refused("it is read-only"),
        Ok(_) => fs::canonicalize(target),
        Err(error) if error.kind() == io::ErrorKind::NotFound && target.file_name().is_some() => {
            match fs::symlink_metadata(target) {
                Ok(_) => {
                    refused("it is a symbolic link that leads nowhere: remove it, or make what it leads to")
                }
                Err(_) => Ok(target.to_owned()),
            }
        }
        Err(error) => Err(error),
    }
}

/// The directory that a file is in; for an object, that of temporary files.
pub fn directory(target: &Path) -> &Path {
    static OF_OBJECTS: LazyLock<PathBuf> = LazyLock::new(std::env::temp_dir);
    if url(target).is_some() {
        return &OF_OBJECTS;
    }
    target.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Copies owner and mode from an existing target; the owner only as far as the user is permitted to.
fn keep_owner_and_mode(target: &Path, file: &File) -> io::Result<()> {
    let Ok(old) = fs::metadata(target) else { return Ok(()) };
    let (owner, group) = (Some(Uid::from_raw(old.uid())), Some(Gid::from_raw(old.gid())));
    let _ = fchown(file, owner, group).or_else(|_| fchown(file, None, group));
    file.set_permissions(Permissions::from_mode(old.permissions().mode() & 0o7777))
}

/// An unnamed file; None if unsupported, or if /proc, through which it is linked later, is not mounted.
fn unnamed(directory: &Path) -> Option<File> {
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    let file = rustix::fs::open(directory, flags, Mode::from_raw_mode(MODE)).ok()?;
    let file = File::from(file);
    proc_path(&file).exists().then_some(file)
}

fn proc_path(file: &File) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", file.as_fd().as_raw_fd()))
}

/// Makes a file at an unused name. Errors are those of `make` alone, without the random name that tempfile adds.
fn at_new_name<T>(directory: &Path, make: impl Fn(&Path) -> io::Result<T>) -> io::Result<NamedTempFile<T>> {
    let mut code = None;
    let tried = |path: &Path| make(path).inspect_err(|cause| code = cause.raw_os_error());
    let mut builder = Builder::new();
    let made = builder.prefix(".rab-").suffix(".tmp").make_in(directory, tried);
    made.map_err(|cause| code.map_or(cause, io::Error::from_raw_os_error))
}

fn named(directory: &Path) -> io::Result<NamedTempFile> {
    let mut options = File::options();
    options.read(true).write(true).create_new(true).mode(MODE);
    at_new_name(directory, |path| options.open(path))
}

fn link(file: &File, directory: &Path) -> io::Result<TempPath> {
    let from = proc_path(file);
    let link = |to: &Path| Ok(rustix::fs::linkat(CWD, &from, CWD, to, AtFlags::SYMLINK_FOLLOW)?);
    Ok(at_new_name(directory, link)?.into_temp_path())
}

/// For file systems that support unnamed files but cannot link them.
fn copy(file: &File, directory: &Path) -> io::Result<TempPath> {
    let (mut from, copy) = (file, named(directory)?);
    io::Seek::rewind(&mut from)?;
    io::copy(&mut from, &mut copy.as_file())?;
    copy.as_file().set_permissions(file.metadata()?.permissions())?;
    copy.as_file().sync_all()?;
    Ok(copy.into_temp_path())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn with_and_without_a_name() {
        let dir = tempfile::tempdir().unwrap();
        let (target, plain) = (dir.path().join("x"), dir.path().join("plain"));
        fs::write(&plain, "").unwrap();
        fs::write(&target, "old").unwrap();
        let count = || fs::read_dir(dir.path()).unwrap().count();
        let by_name = |force| {
            let (file, name) = named(dir.path()).unwrap().into_parts();
            Temporary { file, target: target.clone(), force, name: Some(name) }
        };
        for has_name in [false, true] {
            let create =
                |force| if has_name { by_name(force) } else { Temporary::create(&target, force).unwrap() };
            let mut temporary = create(true);
            temporary.file.write_all(b"new").unwrap();
            assert_eq!(
                (fs::read(&target).unwrap(), count()),
                (b"old".to_vec(), 2 + usize::from(temporary.name.is_some()))
            );
            temporary.replace().unwrap();
            assert_eq!((fs::read(&target).unwrap(), count()), (b"new".to_vec(), 2));
            assert_eq!(fs::metadata(&target).unwrap().mode(), fs::metadata(&plain).unwrap().mode());
            let refused = create(false).replace().unwrap_err();
            assert_eq!(refused.kind(), io::ErrorKind::AlreadyExists);
            assert_eq!((fs::read(&target).unwrap(), count()), (b"new".to_vec(), 2));
            fs::write(&target, "old").unwrap();
        }
        let mut temporary = by_name(true);
        temporary.file.write_all(b"new").unwrap();
        copy(&temporary.file, dir.path()).unwrap().persist(&target).unwrap();
        drop(temporary);
        assert_eq!((fs::read(&target).unwrap(), count()), (b"new".to_vec(), 2));
    }

    #[test]
    fn permissions_of_the_target_hold_for_what_replaces_it() {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("x");
        fs::write(&target, "").unwrap();
        fs::set_permissions(&target, Permissions::from_mode(0o600)).unwrap();
        let temporary = Temporary::create(&target, true).unwrap();
        for file in [&temporary.file, &temporary.another().unwrap().file] {
            assert_eq!(file.metadata().unwrap().mode() & 0o777, 0o600);
        }
    }

    #[test]
    fn errors_do_not_tell_names_that_nobody_gave() {
        let dir = tempfile::tempdir().unwrap();
        let gone = dir.path().join("gone");
        let file = tempfile::tempfile_in(dir.path()).unwrap();
        for cause in [Temporary::create(&gone.join("x"), true).err(), link(&file, &gone).err()] {
            let cause = cause.unwrap();
            assert_eq!(cause.raw_os_error(), Some(2), "{cause}");
            assert!(!cause.to_string().contains(".rab-"), "{cause}");
        }
    }

    #[test]
    fn a_link_that_leads_nowhere_stays() {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("x");
        std::os::unix::fs::symlink("nothing", &target).unwrap();
        let message = Temporary::create(&target, true).err().unwrap().to_string();
        assert!(message.contains("leads nowhere"), "{message}");
    }
}
