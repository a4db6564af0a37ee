//! Writing a file: the header and all elements, aligned so that numpy can map them.

use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::array::{byte_len, check_axes, npy};
use crate::error::Place;
use crate::format::writer::input::Exactly;
use crate::format::writer::{NewContent, NewDataset, NewFile, Temporary, lost};
use crate::{Error, Result};

pub struct Writer {
    path: PathBuf,
    file: Temporary,
    has_array: bool,
}

impl Writer {
    pub fn create(path: &Path, force: bool) -> Result<Writer> {
        let file = Temporary::create(path, force).map_err(|cause| Error::write(Place::file(path), cause))?;
        Ok(Writer { path: path.to_owned(), file, has_array: false })
    }
}

impl NewFile for Writer {
    fn path(&self) -> &Path {
        &self.path
    }

    fn put(&mut self, dataset: &NewDataset<'_>, data: &mut dyn Read) -> io::Result<Vec<String>> {
        let refused = |problem: &str| Err(io::Error::other(problem));
        let NewContent::Array(array) = dataset.what else {
            return refused("a .npy file holds an array, and the dataset is not one");
        };
        if self.has_array {
            return refused(
                "a .npy file holds one array, and it already has one: name one, or write a .npz file",
            );
        }
        check_axes(array.shape.len()).map_err(io::Error::other)?;
        let need = byte_len(array.dtype.element, &array.shape);
        let need = need.ok_or_else(|| io::Error::other("its shape is too large for an array"))?;
        let mut file = &self.file.file;
        file.seek(SeekFrom::Start(0))?;
        file.write_all(&npy::described(array))?;
        io::copy(&mut Exactly::new(data, need), &mut file)?;
        self.has_array = true;
        let notes = [array.lost_in_npy(), lost::metadata(dataset), lost::name(dataset, &self.path)];
        Ok(notes.into_iter().flatten().collect())
    }

    fn close(self) -> io::Result<()> {
        match self.has_array {
            true => self.file.finish(),
            false => Err(io::Error::other("a .npy file holds one array, and there is none")),
        }
    }
}
