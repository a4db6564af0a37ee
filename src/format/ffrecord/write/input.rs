//! Files that become records. Errors in reading them name the input, not the target.

use std::io::{self, Read};
use std::path::Path;

use super::{Passed, Writer};
use crate::error::Place;
use crate::{Error, Result};

/// Adds the whole file at `path`, opened as `from`, as a record.
pub fn add(writer: &mut Writer, path: &Path, from: &mut dyn Read, passed: Passed<'_>) -> Result<u64> {
    let mut watched = Watched { from, path, failure: None, passed };
    let added = writer.add_from(&mut watched);
    watched.failure.map_or(added, Err)
}

/// Keeps the original error, and reports the bytes read.
struct Watched<'a> {
    from: &'a mut dyn Read,
    path: &'a Path,
    failure: Option<Error>,
    passed: Passed<'a>,
}

impl Read for Watched<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let error = match self.from.read(into) {
            Ok(count) => match (self.passed)(count as u64) {
                Ok(()) => return Ok(count),
                Err(error) => error,
            },
            Err(cause) if cause.kind() == io::ErrorKind::Interrupted => return Err(cause),
            Err(cause) => Error::read(Place::file(self.path), cause),
        };
        let copy = io::Error::other(error.to_string());
        self.failure = Some(error);
        Err(copy)
    }
}
