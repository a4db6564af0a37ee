//! Executes the plan: streams each dataset's bytes from its input into the container.

use std::cell::RefCell;
use std::io::{self, Read};
use std::path::Path;

use super::opened::Opened;
use super::plan::{Plan, Planned};
use super::transpose;
use crate::error::Place;
use crate::format::writer::input::Utf8;
use crate::format::writer::{NewContainer, NewContent, NewDataset};
use crate::{Error, Result};

/// Receives the number of bytes just read, 0 while waiting for input; an error from it ends packing.
pub type Step<'a> = &'a dyn Fn(u64) -> Result<()>;

/// Writes all datasets, and returns notes about what the container cannot hold. Data that must be reordered and does
/// not fit into memory goes to unnamed files in `scratch`.
pub fn write(plan: &Plan, to: &mut dyn NewContainer, scratch: &Path, step: Step<'_>) -> Result<Vec<String>> {
    let mut opened = Opened::new(scratch);
    let mut notes = Vec::new();
    for dataset in &plan.datasets {
        let added = add(dataset, to, &mut opened, step);
        // If the input changed meanwhile, that explains any error.
        dataset.input.origin().map_or(Ok(()), |origin| origin.check())?;
        let added = added.map_err(|error| described_by(dataset, error))?;
        notes.extend(added.into_iter().map(|note| format!("{}: {note}", dataset.input)));
    }
    Ok(notes)
}

/// Names the sidecar in errors of the container, which it may have caused.
fn described_by(dataset: &Planned, error: Error) -> Error {
    match (&dataset.sidecar, error) {
        (Some(sidecar), Error::Write { place, cause }) if cause.raw_os_error().is_none() => {
            let problem = format!("{cause} (it is described by {})", sidecar.display());
            Error::write(place, io::Error::other(problem))
        }
        (_, error) => error,
    }
}

/// Adds a dataset; text that is not UTF-8 is added as bytes.
fn add(
    dataset: &Planned,
    to: &mut dyn NewContainer,
    opened: &mut Opened<'_>,
    step: Step<'_>,
) -> Result<Vec<String>> {
    let new = described(dataset);
    let is_text = matches!(new.what, NewContent::Text | NewContent::Object);
    if is_text {
        opened.keep(&dataset.input, step)?;
    }
    match add_as(&new, dataset, to, opened, step)? {
        Added::All(notes) => Ok(notes),
        Added::NotUtf8(at) => {
            let new = NewDataset { what: NewContent::Bytes, origin: None, ..new };
            let mut notes = vec![format!("its text is not UTF-8 at byte {at}: it is written as bytes")];
            if let Added::All(more) = add_as(&new, dataset, to, opened, step)? {
                notes.extend(more);
            }
            Ok(notes)
        }
    }
}

enum Added {
    /// Notes about what the container cannot hold.
    All(Vec<String>),
    /// Nothing was added: the text is invalid at this byte.
    NotUtf8(u64),
}

fn add_as(
    new: &NewDataset<'_>,
    dataset: &Planned,
    to: &mut dyn NewContainer,
    opened: &mut Opened<'_>,
    step: Step<'_>,
) -> Result<Added> {
    let (failure, scratch) = (RefCell::new(None), opened.scratch());
    let mut watched = Watched { input: opened.open(&dataset.input, step)?, failure: &failure, step };
    let mut bad_at = None;
    let added = match (&dataset.turned, new.what) {
        (Some(array), _) => transpose::turned(&mut watched, array, scratch)
            .map_err(|cause| match cause.raw_os_error() {
                Some(_) => Error::write(Place::file(scratch), cause),
                None => dataset.input.unread(cause),
            })
            .and_then(|mut turned| to.add(new, &mut turned)),
        (None, NewContent::Text | NewContent::Object) => {
            let mut text = Utf8::new(&mut watched);
            let added = to.add(new, &mut text);
            bad_at = text.bad_at();
            added
        }
        (None, _) => to.add(new, &mut watched),
    };
    match (failure.take(), bad_at) {
        (Some(cause), _) => {
            Err(Error::inside(&cause).cloned().unwrap_or_else(|| dataset.input.unread(cause)))
        }
        (None, Some(at)) if added.is_err() => Ok(Added::NotUtf8(at)),
        _ => added.map(Added::All),
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

/// Reports progress, and keeps errors of the input apart from those of the container.
pub struct Watched<'a> {
    pub input: Box<dyn Read + 'a>,
    pub failure: &'a RefCell<Option<io::Error>>,
    pub step: Step<'a>,
}

impl Read for Watched<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.input.read(into);
        match read.and_then(|count| (self.step)(count as u64).map(|()| count).map_err(io::Error::other)) {
            Err(cause) if cause.kind() != io::ErrorKind::Interrupted => {
                let copy = io::Error::new(cause.kind(), cause.to_string());
                *self.failure.borrow_mut() = Some(cause);
                Err(copy)
            }
            read => read,
        }
    }
}
