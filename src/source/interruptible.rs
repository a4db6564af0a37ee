//! Reading a pipe whose writer may be silent for hours, while a signal can still end the program.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::Result;

/// How long to wait for bytes before asking whether to go on.
const PAUSE: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };

/// A file, pipe or terminal whose reads wait only as long as `go_on` succeeds; its error ends the read.
pub struct Interruptible<G> {
    file: File,
    go_on: G,
}

impl<G: Fn() -> Result<()>> Interruptible<G> {
    pub fn new(file: File, go_on: G) -> Interruptible<G> {
        Interruptible { file, go_on }
    }
}

/// Standard input, unbuffered: it has no bytes yet that `io::stdin` has taken.
pub fn stdin() -> io::Result<File> {
    io::stdin().as_fd().try_clone_to_owned().map(File::from)
}

/// Opens a FIFO without waiting for its writer, which [`Interruptible`] then does.
pub fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY).open(path)
}

impl<G: Fn() -> Result<()>> Read for Interruptible<G> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            let ready = poll(&mut [PollFd::new(&self.file, PollFlags::IN)], Some(&PAUSE));
            match ready.map_err(io::Error::from) {
                Err(cause) if cause.kind() != io::ErrorKind::Interrupted => return Err(cause),
                Ok(files) if files > 0 => match self.file.read(into) {
                    // Another reader was faster.
                    Err(cause) if cause.kind() == io::ErrorKind::WouldBlock => {}
                    read => return read,
                },
                Ok(_) | Err(_) => {}
            }
            (self.go_on)().map_err(io::Error::other)?;
        }
    }
}
