//! Writing an archive: members go to a temporary file one after the other, followed by the directory. np.load opens
//! it, and stored data is aligned to 64 bytes so that it can be mapped.
//!
//! Arrays become .npy files. Tables become structured arrays with a field for each column. Text, objects and bytes
//! become plain members, which np.load returns as `bytes`: a 0-d `<U` array would take four times the space, lose
//! trailing NULs, and be readable only by numpy.

mod table;

use std::collections::HashSet;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::NPY;
use crate::array::{byte_len, check_axes, npy};
use crate::error::Place;
use crate::format::Compression;
use crate::format::writer::input::{Exactly, Utf8};
use crate::format::writer::zip::{Body, Members};
use crate::format::writer::{NewContent, NewDataset, NewFile, Temporary, WriteOptions, lost};
use crate::{Error, Result};

pub struct Writer {
    path: PathBuf,
    file: Temporary,
    members: Members,
    names: HashSet<String>,
}

impl Writer {
    pub fn create(path: &Path, options: &WriteOptions) -> Result<Writer> {
        let failed = |cause| Error::write(Place::file(path), cause);
        let file = Temporary::create(path, options.force).map_err(failed)?;
        let (path, members) = (path.to_owned(), Members::new(options.jobs));
        Ok(Writer { path, file, members, names: HashSet::new() })
    }

    /// Adds a member; a failed one leaves no trace.
    fn member(
        &mut self,
        name: &str,
        is_npy: bool,
        head: Vec<u8>,
        data: &mut dyn Read,
        compression: Compression,
    ) -> io::Result<()> {
        if !is_npy && name.as_bytes().ends_with(NPY) {
            return Err(io::Error::other("its name ends in .npy, which only arrays may have"));
        }
        let name = if is_npy { format!("{name}.npy") } else { name.to_owned() };
        if self.names.contains(&name) {
            return Err(io::Error::other("there is already a dataset of this name"));
        }
        let body = Body { head, data, compression };
        let written = self.members.write(&self.file.file, self.file.directory(), &name, body)?;
        self.names.insert(name);
        self.members.keep(written);
        Ok(())
    }
}

impl NewFile for Writer {
    fn path(&self) -> &Path {
        &self.path
    }

    fn put(&mut self, dataset: &NewDataset<'_>, data: &mut dyn Read) -> io::Result<Vec<String>> {
        let name = dataset.name.as_str().ok_or_else(|| io::Error::other("its name is not Unicode"))?;
        let compression = dataset.compression.unwrap_or_default();
        let mut left_out = Vec::from_iter(lost::metadata(dataset));
        match dataset.what {
            NewContent::Array(array) => {
                check_axes(array.shape.len()).map_err(io::Error::other)?;
                let need = byte_len(array.dtype.element, &array.shape);
                let need = need.ok_or_else(|| io::Error::other("its shape is too large for an array"))?;
                let head = npy::described(array);
                self.member(name, true, head, &mut Exactly::new(data, need), compression)?;
                left_out.extend(array.lost_in_npy());
            }
            NewContent::Table(table) => {
                let descr = table::descr(table).map_err(io::Error::other)?;
                let head = npy::header(&descr, crate::array::Order::C, &[table.rows]);
                let mut rows = table::Rows::new(table, data, self.file.directory())?;
                self.member(name, true, head, &mut rows, compression)?;
                left_out.extend(table::left_out(table));
            }
            NewContent::Text => {
                self.member(name, false, Vec::new(), &mut Utf8::new(data), compression)?;
                left_out.push("it becomes plain bytes: that it is text is not kept".into());
            }
            NewContent::Object => {
                self.member(name, false, Vec::new(), &mut Utf8::new(data), compression)?;
                left_out.push("it becomes plain bytes: that it is an object is not kept".into());
            }
            NewContent::Bytes => self.member(name, false, Vec::new(), data, compression)?,
        }
        Ok(left_out)
    }

    fn close(self) -> io::Result<()> {
        self.members.finish(&self.file.file)?;
        self.file.finish()
    }
}

#[cfg(test)]
mod tests;
