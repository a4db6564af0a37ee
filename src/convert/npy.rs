//! numpy's .npy files, each of one array: read, and written as something like a container.

use std::io::{self, Read, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

use crate::array::npy::{self, Refused};
use crate::array::{self, Array};
use crate::error::Place;
use crate::format::target::{NewContainer, NewDataset, Temporary, What};
use crate::source::Source;
use crate::{Error, Result};

/// The array in a .npy file, and where its elements are.
pub fn read(source: &dyn Source) -> Result<(Array, Range<u64>)> {
    let damaged = |problem: String| Error::damaged(source.place(), problem);
    let (array, data) = npy::parse(&mut Begin { source, at: 0 }).map_err(|refused| match refused {
        Refused::Input(cause) => Error::read(source.place(), cause),
        Refused::Unsuitable(problem) => Error::Unsupported { place: source.place(), problem },
        Refused::Damaged(problem) => damaged(problem),
    })?;
    let need = array::byte_len(array.dtype.element, &array.shape);
    match need.and_then(|need| data.checked_add(need)) {
        Some(end) if end == source.len() => Ok((array, data..end)),
        _ => {
            let have = source.len() - data;
            Err(damaged(format!(
                "its shape {:?} of {} does not fit its {have} bytes",
                array.shape, array.dtype
            )))
        }
    }
}

/// A source from its beginning on.
struct Begin<'s> {
    source: &'s dyn Source,
    at: u64,
}

impl Read for Begin<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.source.len().saturating_sub(self.at).min(into.len() as u64) as usize;
        let into = into.get_mut(..count).unwrap_or_default();
        self.source.read_exact_at(into, self.at).map_err(io::Error::other)?;
        self.at += count as u64;
        Ok(count)
    }
}

/// A .npy file that is being written.
pub struct NewArray {
    path: PathBuf,
    file: Temporary,
    is_there: bool,
}

impl NewArray {
    pub fn create(path: &Path, force: bool) -> Result<NewArray> {
        let file = Temporary::create(path, force).map_err(|cause| Error::write(Place::file(path), cause))?;
        Ok(NewArray { path: path.to_owned(), file, is_there: false })
    }

    fn failed(&self, cause: io::Error) -> Error {
        Error::write(Place::file(&self.path), cause)
    }

    fn refused(&self, problem: &str) -> Error {
        self.failed(io::Error::other(problem))
    }
}

impl NewContainer for NewArray {
    fn add(&mut self, dataset: &NewDataset<'_>, data: &mut dyn Read) -> Result<Vec<String>> {
        let What::Array(array) = dataset.what else {
            return Err(self.refused("a .npy file holds an array, and the dataset is none"));
        };
        if std::mem::replace(&mut self.is_there, true) {
            return Err(self.refused("a .npy file holds one array; name one"));
        }
        let mut file = &self.file.file;
        let written = file.write_all(&npy::described(array)).and_then(|()| io::copy(data, &mut file));
        let count = written.map_err(|cause| self.failed(cause))?;
        if array::byte_len(array.dtype.element, &array.shape) != Some(count) {
            return Err(self.refused("the array has other bytes than its shape needs"));
        }
        let is_empty = dataset.metadata.is_null() || dataset.metadata.as_map().is_some_and(<[_]>::is_empty);
        Ok(if is_empty { Vec::new() } else { vec!["its metadata is left out".into()] })
    }

    fn finish(self: Box<Self>) -> Result<()> {
        if !self.is_there {
            return Err(self.refused("a .npy file holds one array, and there is none"));
        }
        let NewArray { path, file, .. } = *self;
        file.finish().map_err(|cause| Error::write(Place::file(&path), cause))
    }
}
