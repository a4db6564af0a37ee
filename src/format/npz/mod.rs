//! NPZ, numpy's archives: a ZIP file (see [`zip`]) whose members are .npy files (header, then the elements), stored
//! or deflated.
//!
//! The directory is read once, when the archive is opened. `member` reads a member on first use: the local header,
//! which locates the data, and the NPY header, which gives its own length and the array's type. `sidecar` describes
//! the member; `datasets` serves the datasets of an opened archive; `write` makes such files.
//!
//! A dataset is a member, named without `.npy`; its bytes are the elements. Members that are not .npy files are bytes
//! under their own names.

mod datasets;
mod member;
mod sidecar;
mod write;

use std::path::Path;
use std::sync::Arc;

use memchr::memmem;

use super::writer::{NewContainer, WriteOptions};
use super::{Candidate, Container, Context, Format, Marks, WriteFormat};
use crate::Result;
use crate::codec::zip::{self, END, LOCAL, LOCAL_LEN};
use crate::tree::NameList;
use datasets::NpzDatasets;
use member::Record;

pub struct Npz;

/// The extension of arrays.
const NPY: &[u8] = b".npy";

impl Format for Npz {
    fn name(&self) -> &'static str {
        "NPZ"
    }

    /// A ZIP file named .npz, possibly with another extension after it, or whose first member is a .npy file.
    fn detect(&self, candidate: &Candidate<'_>) -> bool {
        let head = candidate.head;
        if candidate.has_extension("npz") {
            return head.starts_with(&END) || memmem::find(head, &LOCAL).is_some();
        }
        let [low, high] = [26, 27].map(|at| head.get(at).copied().unwrap_or(0));
        let end = LOCAL_LEN + usize::from(u16::from_le_bytes([low, high]));
        head.starts_with(&LOCAL) && head.get(LOCAL_LEN..end).is_some_and(|name| name.ends_with(NPY))
    }

    fn open(&self, context: Context) -> Result<Container> {
        let (names, archive) = read(context)?;
        Ok(Container::new(self.name(), names, Arc::new(archive)))
    }

    fn marks(&self) -> Marks {
        Marks { facts: Some("zip"), directory_last: &["npz"], ..Marks::default() }
    }

    fn write(&self) -> Option<&'static dyn WriteFormat> {
        Some(&Npz)
    }
}

impl WriteFormat for Npz {
    fn extensions(&self) -> &'static [&'static str] {
        &["npz"]
    }

    fn create(&self, path: &Path, options: &WriteOptions) -> Result<Box<dyn NewContainer>> {
        Ok(Box::new(write::Writer::create(path, options)?))
    }
}

fn read(context: Context) -> Result<(Arc<NameList>, NpzDatasets)> {
    let (mut names, mut is_npy) = (NameList::default(), Vec::new());
    let directory = zip::read(&*context.source, &mut |name| {
        let dataset = name.as_bytes().strip_suffix(NPY);
        names.push(dataset.unwrap_or(name.as_bytes()));
        is_npy.push(dataset.is_some());
    })?;
    let names = Arc::new(names);
    let record = |(zip, is_npy)| Record { zip, is_npy };
    let records = directory.records.into_iter().zip(is_npy).map(record).collect();
    Ok((names.clone(), NpzDatasets::new(context, names, records, directory.start)))
}

#[cfg(test)]
mod tests;
