//! Writes RawArray files that the strictest reader accepts: little-endian, no flags, exact size, fastest dim first and,
//! where possible, types that all readers support. The file appears at its path only when finished.
//!
//! `words` builds the header.

#[cfg(test)]
mod tests;
mod words;

use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::array::{Array, Dtype, Element, Endian, Kind, Order};
use crate::error::Place;
use crate::format::rawarray::header;
use crate::format::writer::input::{self, Exactly};
use crate::format::writer::{NewContainer, NewContent, NewDataset, Temporary, lost};
use crate::tree::naming;
use crate::yaml::Text;
use crate::{Error, Result};
use words::Words;

pub struct Writer {
    path: PathBuf,
    file: Temporary,
    /// The array's name, once written.
    array: Option<Text>,
    has_trailer: bool,
}

impl Writer {
    pub fn create(path: &Path, force: bool) -> Result<Writer> {
        let failed = |cause| Error::write(Place::file(path), cause);
        let file = Temporary::create(path, force).map_err(failed)?;
        Ok(Writer { path: path.to_owned(), file, array: None, has_trailer: false })
    }

    fn failed(&self, name: &Text, cause: io::Error) -> Error {
        Error::write(Place::file(&self.path).dataset(&naming::printed(name.as_bytes())), cause)
    }

    fn store(&self, dataset: &NewDataset<'_>, data: &mut dyn Read) -> io::Result<Vec<String>> {
        let mut notes = Vec::new();
        match dataset.what {
            NewContent::Array(array) => {
                let words = Words::of(array, dataset.origin.or(dataset.facts), &mut notes)
                    .map_err(io::Error::other)?;
                let mut data = Exactly::new(data, words.size);
                self.write(|to| to.write_all(&words.header()))?;
                self.write(|to| input::swapped(words.swapped, &mut data, to))?;
            }
            NewContent::Bytes | NewContent::Text => {
                notes.push("it is written as an array of uint8".into());
                self.store_bytes(data)?;
            }
            NewContent::Object | NewContent::Table(_) => {
                let problem = "a RawArray file holds an array, and this is not one: write it to a .rab \
                    file, or its values as an array";
                return Err(io::Error::other(problem));
            }
        }
        let left_out = [lost::metadata(dataset), lost::name(dataset, &self.path), lost::compression(dataset)];
        notes.extend(left_out.into_iter().flatten());
        Ok(notes)
    }

    /// Writes bytes of unknown length, then the header again with the length.
    fn store_bytes(&self, data: &mut dyn Read) -> io::Result<()> {
        let dtype = Dtype { element: Element { kind: Kind::Uint, size: 1 }, endian: Endian::Little };
        let words = |len| {
            let array = Array::new(dtype, [len], Order::C);
            Words::of(&array, None, &mut Vec::new()).map(|words| words.header()).map_err(io::Error::other)
        };
        let mut len = 0;
        self.write(|to| {
            to.write_all(&words(0)?)?;
            len = io::copy(data, to)?;
            Ok(())
        })?;
        let mut file = &self.file.file;
        file.seek(SeekFrom::Start(0))?;
        file.write_all(&words(len)?)?;
        file.seek(SeekFrom::End(0)).map(drop)
    }

    fn store_trailer(&mut self, data: &mut dyn Read) -> io::Result<Vec<String>> {
        let len = self.write(|to| io::copy(data, to))?;
        self.has_trailer = len > 0;
        Ok(vec!["it is written after the data, which readers in Python and Rust refuse".into()])
    }

    fn write<T>(&self, write: impl FnOnce(&mut BufWriter<&File>) -> io::Result<T>) -> io::Result<T> {
        let mut to = BufWriter::with_capacity(256 << 10, &self.file.file);
        let written = write(&mut to)?;
        to.flush()?;
        Ok(written)
    }

    /// Removes what a failed dataset has written.
    fn truncate(&self, len: u64) -> io::Result<()> {
        self.file.file.set_len(len)?;
        (&self.file.file).seek(SeekFrom::Start(len)).map(drop)
    }
}

impl NewContainer for Writer {
    fn add(&mut self, dataset: &NewDataset<'_>, data: &mut dyn Read) -> Result<Vec<String>> {
        let name = dataset.name;
        let trailer = self.array.as_ref().map(|array| [array.as_bytes(), b".trailer"].concat());
        let is_trailer = dataset.what == NewContent::Bytes
            && !self.has_trailer
            && trailer.is_some_and(|trailer| trailer == name.as_bytes());
        if self.array.is_some() && !is_trailer {
            let problem = "a RawArray file holds one array, and it already has one: write a file for each, \
                or one .rab file for all";
            return Err(self.failed(name, io::Error::other(problem)));
        }
        let before = self.file.file.metadata().map_err(|cause| self.failed(name, cause))?.len();
        let stored = if is_trailer { self.store_trailer(data) } else { self.store(dataset, data) };
        match stored {
            Ok(notes) => {
                self.array.get_or_insert_with(|| name.clone());
                Ok(notes)
            }
            Err(cause) => {
                self.truncate(before).map_err(|cause| self.failed(name, cause))?;
                Err(self.failed(name, cause))
            }
        }
    }

    fn finish(self: Box<Self>) -> Result<()> {
        let failed = |cause| Error::write(Place::file(&self.path), cause);
        if self.array.is_none() {
            return Err(failed(io::Error::other("a RawArray file holds one array, and there is none")));
        }
        self.file.finish().map_err(failed)
    }
}
