//! A file that is being written. Where the file system can, it has no name before it is whole, so that a process
//! that is killed leaves nothing behind; elsewhere its name is `.rab-XXXXXX.tmp`, beside the target.

use std::fs::{File, Permissions};
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Mode, OFlags};
use tempfile::{Builder, NamedTempFile, TempPath};

/// What the umask leaves of it is the mode of new files.
const MODE: u32 = 0o666;

pub struct Temporary {
    pub file: File,
    directory: PathBuf,
    name: Option<TempPath>,
}

impl Temporary {
    pub fn create(directory: &Path) -> io::Result<Temporary> {
        let (file, name) = match unnamed(directory) {
            Some(file) => (file, None),
            None => {
                let (file, name) = named(directory)?.into_parts();
                (file, Some(name))
            }
        };
        Ok(Temporary { file, directory: directory.to_owned(), name })
    }

    /// Puts it, which is on disk already, in the target's place.
    pub fn persist(self, target: &Path) -> io::Result<()> {
        let name = match self.name {
            Some(name) => name,
            None => match link(&self.file, &self.directory) {
                Ok(name) => name,
                Err(_) => copy(&self.file, &self.directory)?,
            },
        };
        name.persist(target).map_err(|error| error.error)
    }
}

/// It is given its name through /proc.
fn unnamed(directory: &Path) -> Option<File> {
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    let file = rustix::fs::open(directory, flags, Mode::from_raw_mode(MODE)).ok()?;
    let file = File::from(file);
    proc_path(&file).exists().then_some(file)
}

fn proc_path(file: &File) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", file.as_fd().as_raw_fd()))
}

fn builder() -> Builder<'static, 'static> {
    let mut builder = Builder::new();
    builder.prefix(".rab-").suffix(".tmp");
    builder
}

fn named(directory: &Path) -> io::Result<NamedTempFile> {
    builder().permissions(Permissions::from_mode(MODE)).tempfile_in(directory)
}

fn link(file: &File, directory: &Path) -> io::Result<TempPath> {
    let from = proc_path(file);
    let link = |to: &Path| Ok(rustix::fs::linkat(CWD, &from, CWD, to, AtFlags::SYMLINK_FOLLOW)?);
    Ok(builder().make_in(directory, link)?.into_temp_path())
}

/// For a file system that has files without a name, but cannot give them one.
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
    use std::fs;
    use std::io::Write;
    use std::os::unix::fs::MetadataExt;

    #[test]
    fn with_and_without_a_name() {
        let dir = tempfile::tempdir().unwrap();
        let (target, plain) = (dir.path().join("x"), dir.path().join("plain"));
        fs::write(&plain, "").unwrap();
        fs::write(&target, "old").unwrap();
        let count = || fs::read_dir(dir.path()).unwrap().count();
        let by_name = || {
            let (file, name) = named(dir.path()).unwrap().into_parts();
            Temporary { file, directory: dir.path().to_owned(), name: Some(name) }
        };
        for has_name in [false, true] {
            let mut temporary = if has_name { by_name() } else { Temporary::create(dir.path()).unwrap() };
            temporary.file.write_all(b"new").unwrap();
            assert_eq!(
                (fs::read(&target).unwrap(), count()),
                (b"old".to_vec(), 2 + usize::from(temporary.name.is_some()))
            );
            temporary.persist(&target).unwrap();
            assert_eq!((fs::read(&target).unwrap(), count()), (b"new".to_vec(), 2));
            assert_eq!(fs::metadata(&target).unwrap().mode(), fs::metadata(&plain).unwrap().mode());
            fs::write(&target, "old").unwrap();
        }
        let mut temporary = by_name();
        temporary.file.write_all(b"new").unwrap();
        copy(&temporary.file, dir.path()).unwrap().persist(&target).unwrap();
        drop(temporary);
        assert_eq!((fs::read(&target).unwrap(), count()), (b"new".to_vec(), 2));
    }
}
