//! Reading what another program may be slow to write, without being deaf to an interruption meanwhile.

use std::fs::File;
use std::io::{self, Read};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::Result;

/// How often it is asked whether to go on while nothing comes.
const PAUSE: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };

pub struct Interruptible<'a> {
    file: File,
    go_on: &'a dyn Fn() -> Result<()>,
}

impl<'a> Interruptible<'a> {
    /// An error of `go_on` ends a read that waits.
    pub fn new(file: File, go_on: &'a dyn Fn() -> Result<()>) -> Interruptible<'a> {
        Interruptible { file, go_on }
    }
}

impl Read for Interruptible<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            let ready = poll(&mut [PollFd::new(&self.file, PollFlags::IN)], Some(&PAUSE));
            match ready.map_err(io::Error::from) {
                Err(cause) if cause.kind() != io::ErrorKind::Interrupted => return Err(cause),
                Ok(files) if files > 0 => return self.file.read(into),
                Ok(_) | Err(_) => (self.go_on)().map_err(|error| io::Error::other(error.to_string()))?,
            }
        }
    }
}
