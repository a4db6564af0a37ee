//! Creates a file atomically: unnamed while it is written where the file system supports that, otherwise under a
//! temporary name. It gets its name once complete; if dropped earlier, it leaves nothing behind.

use std::fs::File;
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Read, Write};
use std::ops::Range;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::{Arc, OnceLock};
use std::time::SystemTime;

use rustix::fs::{
    AtFlags, Mode, OFlags, RenameFlags, copy_file_range, linkat, openat, renameat, renameat_with, unlinkat,
};
use rustix::io::Errno;

use crate::content::Content;
use crate::source::Source;
use crate::{Error, Result};

/// Bytes that the kernel copies per call, and bytes of decoded data per write.
const COPIED: u64 = 8 << 20;
const PIECE: usize = 256 << 10;

/// Which side failed.
pub enum Failure {
    Read(Error),
    Write(io::Error),
}

pub struct NewFile {
    dir: Arc<OwnedFd>,
    file: File,
    /// The temporary name, if it has one.
    temporary: Option<String>,
}

impl NewFile {
    pub fn create(dir: &Arc<OwnedFd>) -> io::Result<NewFile> {
        if can_be_named_later() {
            let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
            match openat(dir, ".", flags, MODE) {
                Ok(fd) => return Ok(NewFile { dir: dir.clone(), file: fd.into(), temporary: None }),
                Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL | Errno::NOENT) => {}
                Err(cause) => return Err(cause.into()),
            }
        }
        NewFile::named(dir)
    }

    fn named(dir: &Arc<OwnedFd>) -> io::Result<NewFile> {
        let name = temporary_name();
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = openat(dir, &*name, flags, MODE)?;
        Ok(NewFile { dir: dir.clone(), file: fd.into(), temporary: Some(name) })
    }

    /// Writes all bytes. `step` receives the number of bytes just written; an error from it ends writing.
    pub fn fill(&self, content: &Content, step: &mut dyn FnMut(u64) -> Result<()>) -> Result<(), Failure> {
        let mut content = content.clone();
        if let Content::Stored { source, range } = &mut content {
            self.copy(&**source, range, step).map_err(Failure::Read)?;
        }
        let mut reader = content.reader().map_err(Failure::Read)?;
        let mut buffer = vec![0; content.known_len().unwrap_or(u64::MAX).clamp(1, PIECE as u64) as usize];
        loop {
            let count = reader.read(&mut buffer).map_err(failed)?;
            if count == 0 {
                return Ok(());
            }
            (&self.file).write_all(buffer.get(..count).unwrap_or_default()).map_err(Failure::Write)?;
            step(count as u64).map_err(Failure::Read)?;
        }
    }

    /// Lets the kernel copy, which may share blocks. `range` keeps what was not copied; reading and writing that yields
    /// the error, if any.
    fn copy(
        &self,
        source: &dyn Source,
        range: &mut Range<u64>,
        step: &mut dyn FnMut(u64) -> Result<()>,
    ) -> Result<()> {
        let Some(from) = source.file() else { return Ok(()) };
        while range.start < range.end {
            let count = (range.end - range.start).min(COPIED) as usize;
            match copy_file_range(from, Some(&mut range.start), &self.file, None, count) {
                Ok(0) => break,
                Ok(count) => {
                    source.check()?;
                    step(count as u64)?;
                }
                Err(Errno::INTR) => {}
                Err(_) => break,
            }
        }
        Ok(())
    }

    /// Gives the file its name, replacing an existing file only with `force`.
    pub fn finish(mut self, name: &[u8], modified: SystemTime, force: bool) -> io::Result<()> {
        self.file.set_modified(modified)?;
        // Network file systems report failed writes when a file is closed.
        nix::unistd::close(OwnedFd::from(self.file.try_clone()?))?;
        match &self.temporary {
            None => self.link(name, force),
            Some(temporary) => {
                self.rename(temporary, name, force)?;
                self.temporary = None;
                Ok(())
            }
        }
    }

    fn link(&mut self, name: &[u8], force: bool) -> io::Result<()> {
        let own = format!("/proc/self/fd/{}", self.file.as_raw_fd());
        let link = |name: &[u8]| linkat(rustix::fs::CWD, &*own, &self.dir, name, AtFlags::SYMLINK_FOLLOW);
        match link(name) {
            Err(Errno::EXIST) if force => {
                let temporary = temporary_name();
                link(temporary.as_bytes())?;
                let temporary = self.temporary.insert(temporary);
                renameat(&self.dir, temporary.as_str(), &self.dir, name)?;
                self.temporary = None;
                Ok(())
            }
            linked => Ok(linked?),
        }
    }

    fn rename(&self, temporary: &str, name: &[u8], force: bool) -> io::Result<()> {
        let dir = &self.dir;
        if force {
            return Ok(renameat(dir, temporary, dir, name)?);
        }
        match renameat_with(dir, temporary, dir, name, RenameFlags::NOREPLACE) {
            Err(Errno::INVAL | Errno::NOSYS) => {
                linkat(dir, temporary, dir, name, AtFlags::empty())?;
                Ok(unlinkat(dir, temporary, AtFlags::empty())?)
            }
            renamed => Ok(renamed?),
        }
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        if let Some(temporary) = &self.temporary {
            let _ = unlinkat(&self.dir, temporary.as_str(), AtFlags::empty());
        }
    }
}

/// The mode before the umask is applied.
const MODE: Mode = Mode::from_raw_mode(0o666);

/// An unnamed file is linked through /proc, which may not be mounted.
fn can_be_named_later() -> bool {
    static CAN: OnceLock<bool> = OnceLock::new();
    *CAN.get_or_init(|| std::path::Path::new("/proc/self/fd").is_dir())
}

/// A name that no other file has.
fn temporary_name() -> String {
    format!(".rab-{:016x}.tmp", RandomState::new().hash_one(std::process::id()))
}

fn failed(cause: io::Error) -> Failure {
    match Error::inside(&cause) {
        Some(error) => Failure::Read(error.clone()),
        None => Failure::Write(cause),
    }
}
