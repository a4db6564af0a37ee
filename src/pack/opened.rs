//! Opens inputs. An archive stays open for its next member; standard input is kept if it may be needed again.

use std::cell::RefCell;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use tempfile::SpooledTempFile;

use super::dataframe;
use super::input::Input;
use super::npz::Npz;
use super::write::{Step, Watched};
use crate::error::Place;
use crate::format::writer::input::set_aside;
use crate::source::interruptible::{self, Interruptible};
use crate::{Error, Result};

/// The capacity of a pipe, in bytes.
const BUFFER: usize = 64 << 10;

pub struct Opened<'s> {
    /// Directory for unnamed temporary files.
    scratch: &'s Path,
    npz: Option<Npz>,
    stdin: Option<SpooledTempFile>,
}

impl<'s> Opened<'s> {
    pub fn new(scratch: &'s Path) -> Opened<'s> {
        Opened { scratch, npz: None, stdin: None }
    }

    pub fn scratch(&self) -> &'s Path {
        self.scratch
    }

    /// Makes an input readable twice: standard input is read now, into memory or a temporary file.
    pub fn keep(&mut self, input: &Input, step: Step<'_>) -> Result<()> {
        if !matches!(input, Input::Stdin) {
            return Ok(());
        }
        let failure = RefCell::new(None);
        let stdin = Watched { input: stdin(step)?, failure: &failure, step };
        let aside = set_aside(stdin, self.scratch);
        if let Some(cause) = failure.take() {
            return Err(Error::inside(&cause).cloned().unwrap_or_else(|| input.unread(cause)));
        }
        self.stdin = Some(aside.map_err(|cause| Error::write(Place::file(self.scratch), cause))?);
        Ok(())
    }

    /// Opens an input at its beginning.
    pub fn open<'a>(&'a mut self, input: &'a Input, step: Step<'a>) -> Result<Box<dyn Read + 'a>> {
        match input {
            Input::Stdin => match &mut self.stdin {
                None => stdin(step),
                Some(kept) => {
                    kept.rewind().map_err(|cause| Error::read(Place::file(self.scratch), cause))?;
                    Ok(Box::new(kept))
                }
            },
            Input::File { origin, from } => {
                let mut file = File::open(&origin.path).map_err(|cause| Error::open(&origin.path, cause))?;
                let sought = file.seek(SeekFrom::Start(*from));
                sought.map_err(|cause| Error::read(Place::file(&origin.path), cause))?;
                Ok(Box::new(file))
            }
            Input::Made { text, .. } => Ok(Box::new(text.as_bytes())),
            Input::Member { origin, number, from, .. } => {
                if !self.npz.as_ref().is_some_and(|open| open.is_of(origin)) {
                    self.npz = Some(Npz::open(origin)?);
                }
                match &self.npz {
                    Some(open) => Ok(Box::new(open.read(*number, *from)?)),
                    None => Ok(Box::new(io::empty())),
                }
            }
            Input::Csv { origin, table } => {
                Ok(Box::new(dataframe::bytes(&origin.path, table, self.scratch)?))
            }
        }
    }
}

/// Standard input; an error from `step` interrupts a blocked read.
fn stdin(step: Step<'_>) -> Result<Box<dyn Read + '_>> {
    let stdin = interruptible::stdin().map_err(|cause| Input::Stdin.unread(cause))?;
    Ok(Box::new(BufReader::with_capacity(BUFFER, Interruptible::new(stdin, move || step(0)))))
}
