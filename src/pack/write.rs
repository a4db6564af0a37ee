//! The plan carried out: each dataset's bytes streamed from its input into the container.

use std::cell::RefCell;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use super::input::Input;
use super::npz::Npz;
use super::plan::{Plan, Planned};
use super::{dataframe, transpose};
use crate::error::Place;
use crate::format::target::{NewContainer, NewDataset};
use crate::{Error, Result};

/// Gets the numbers of bytes that were read, and may end it.
pub type Step<'a> = &'a mut dyn FnMut(u64) -> Result<()>;

/// Writes all datasets. What does not fit into memory is put in order in files without name in `scratch`.
/// `step` is told how many bytes were read, and may end it. Returns what the container cannot hold.
pub fn write(plan: &Plan, to: &mut dyn NewContainer, scratch: &Path, step: Step<'_>) -> Result<Vec<String>> {
    let mut npz = None;
    let mut notes = Vec::new();
    for dataset in &plan.datasets {
        let said = add(dataset, to, scratch, step, &mut npz);
        // If the input changed, that is what went wrong.
        dataset.input.origin().map_or(Ok(()), |origin| origin.check())?;
        notes.extend(said?.into_iter().map(|note| format!("{}: {note}", dataset.input)));
    }
    Ok(notes)
}

fn add(
    dataset: &Planned,
    to: &mut dyn NewContainer,
    scratch: &Path,
    step: Step<'_>,
    npz: &mut Option<Npz>,
) -> Result<Vec<String>> {
    let failure = RefCell::new(None);
    let bytes = open(&dataset.input, scratch, npz)?;
    let mut watched = Watched { input: bytes, failure: &failure, step };
    let added = match &dataset.turned {
        None => to.add(&described(dataset), &mut watched),
        Some(array) => transpose::turned(&mut watched, array, scratch)
            .map_err(|cause| match cause.raw_os_error() {
                Some(_) => Error::write(Place::file(scratch), cause),
                None => unread(&dataset.input, cause),
            })
            .and_then(|mut turned| to.add(&described(dataset), &mut turned)),
    };
    match failure.take() {
        Some(cause) => Err(Error::inside(&cause).cloned().unwrap_or_else(|| unread(&dataset.input, cause))),
        None => added,
    }
}

fn unread(input: &Input, cause: io::Error) -> Error {
    match input {
        Input::Member { origin, name, .. } if cause.raw_os_error().is_none() => {
            Error::damaged(Place::file(&origin.path), format!("member {name:?} cannot be read: {cause}"))
        }
        Input::Stdin => Error::read(Place::file(Path::new("standard input")), cause),
        Input::File { origin, .. }
        | Input::Made { origin, .. }
        | Input::Member { origin, .. }
        | Input::Csv { origin, .. } => Error::read(Place::file(&origin.path), cause),
    }
}

fn described(dataset: &Planned) -> NewDataset<'_> {
    NewDataset {
        name: &dataset.name,
        metadata: &dataset.metadata,
        what: dataset.what.what(),
        compression: dataset.compression,
        origin: dataset.origin.as_deref(),
        facts: dataset.facts.as_deref(),
    }
}

/// The bytes of an input. An archive stays open for its next member.
fn open<'a>(input: &'a Input, scratch: &Path, npz: &'a mut Option<Npz>) -> Result<Box<dyn Read + 'a>> {
    match input {
        Input::Stdin => Ok(Box::new(io::stdin().lock())),
        Input::File { origin, from } => {
            let mut file = File::open(&origin.path).map_err(|cause| Error::open(&origin.path, cause))?;
            let sought = file.seek(SeekFrom::Start(*from));
            sought.map_err(|cause| Error::read(Place::file(&origin.path), cause))?;
            Ok(Box::new(file))
        }
        Input::Made { text, .. } => Ok(Box::new(text.as_bytes())),
        Input::Member { origin, number, from, .. } => {
            if !npz.as_ref().is_some_and(|open| open.is_of(origin)) {
                *npz = Some(Npz::open(origin)?);
            }
            match npz {
                Some(open) => Ok(Box::new(open.read(*number, *from)?)),
                None => Ok(Box::new(io::empty())),
            }
        }
        Input::Csv { origin, table } => Ok(Box::new(dataframe::bytes(&origin.path, table, scratch)?)),
    }
}

/// Remembers its error, which is not the container's, and counts.
struct Watched<'a> {
    input: Box<dyn Read + 'a>,
    failure: &'a RefCell<Option<io::Error>>,
    step: Step<'a>,
}

impl Read for Watched<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.input.read(into);
        match read.and_then(|count| (self.step)(count as u64).map(|()| count).map_err(io::Error::other)) {
            Err(cause) if cause.kind() != io::ErrorKind::Interrupted => {
                let told = io::Error::new(cause.kind(), cause.to_string());
                *self.failure.borrow_mut() = Some(cause);
                Err(told)
            }
            read => read,
        }
    }
}
