//! Files that become records. What goes wrong in reading them is not the target's fault, and is said of them.

use std::io::{self, Read};
use std::path::Path;

use super::Writer;
use crate::error::Place;
use crate::{Error, Result};

/// Adds all of the file at `path`, opened as `from`, as a record.
pub fn add(
    writer: &mut Writer,
    path: &Path,
    from: &mut dyn Read,
    passed: &mut dyn FnMut(u64),
) -> Result<u64> {
    let mut watched = Watched { from, failure: None, passed };
    let added = writer.add_from(&mut watched);
    match watched.failure {
        Some(cause) => Err(Error::read(Place::file(path), cause)),
        None => added,
    }
}

/// Remembers its error, and counts.
struct Watched<'a> {
    from: &'a mut dyn Read,
    failure: Option<io::Error>,
    passed: &'a mut dyn FnMut(u64),
}

impl Read for Watched<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self.from.read(into) {
            Ok(count) => {
                (self.passed)(count as u64);
                Ok(count)
            }
            Err(cause) if cause.kind() == io::ErrorKind::Interrupted => Err(cause),
            Err(cause) => {
                let told = io::Error::new(cause.kind(), cause.to_string());
                self.failure = Some(cause);
                Err(told)
            }
        }
    }
}
