//! Where everything is that a Zarr store of a container has: descriptions as they are, chunks as ranges of files. An
//! array is there with all its chunks or not at all, since a chunk that is missing is one without data to Zarr.

use std::ops::Range;
use std::sync::Arc;

use serde_json::Value;

use super::store::Store;
use super::{ARRAY, ATTRIBUTES, MAX_DEPTH, description, group_key, key, too_deep};
use crate::content::{Coding, Content};
use crate::source::Source;
use crate::view::directory::Child;
use crate::view::{Dataset, Directory};
use crate::{Error, Result};

/// What a key of the store stands for.
pub enum Reference {
    /// A description, which is JSON.
    Text(String),
    /// A chunk that the file does not have whole.
    Bytes(Vec<u8>),
    Range(Arc<dyn Source>, Range<u64>),
}

impl Reference {
    /// What says that a key is a group.
    pub fn group() -> Reference {
        json(&description::group())
    }
}

fn json(value: &Value) -> Reference {
    Reference::Text(value.to_string())
}

/// Receives the references.
pub struct References<'a> {
    pub each: &'a mut dyn FnMut(&str, Reference) -> Result<()>,
    /// The error is why readers could not find the source.
    pub findable: &'a dyn Fn(&dyn Source) -> Result<()>,
    /// What is left out, as an error that says why.
    pub left_out: &'a mut dyn FnMut(&Error),
    /// What users call the container's format.
    pub format: &'a str,
    /// What is no array.
    pub others: Others,
}

/// Datasets that a store cannot have: how many, and what the first of them are called.
#[derive(Default)]
pub struct Others {
    count: u64,
    first: Vec<String>,
}

/// Maximum number of names in the note.
const NAMED: usize = 3;

impl Others {
    /// What a container says of itself in its header is no data that could be missed.
    fn add(&mut self, dataset: &Dataset) {
        let about = dataset.about();
        if about.stored.is_none()
            && about.kind == "object"
            && about.metadata.is_null()
            && about.codec.is_null()
        {
            return;
        }
        self.count += 1;
        if self.first.len() < NAMED {
            self.first.push(format!("{:?}", dataset.about().printed_name()));
        }
    }

    /// That they are left out, if there are any.
    pub fn note(&self) -> Option<String> {
        let more = self.count.checked_sub(self.first.len() as u64).filter(|more| *more > 0);
        let more = more.map_or(String::new(), |more| format!(" and {more} more"));
        let names = self.first.join(", ");
        (self.count > 0).then(|| {
            format!("these datasets are not arrays, so there are no references to them: {names}{more}")
        })
    }
}

impl References<'_> {
    /// Of all datasets of `directory` and below. `path` is empty, or ends in a slash.
    pub fn group(&mut self, directory: &Directory, path: &str) -> Result<()> {
        self.group_at(directory, path, 0)
    }

    fn group_at(&mut self, directory: &Directory, path: &str, depth: usize) -> Result<()> {
        (self.each)(&group_key(path.trim_end_matches('/')), Reference::group())?;
        directory.each(&mut |name, child| {
            let path = format!("{path}{}/", key(name));
            match child {
                Ok(Child::Directory(_)) if depth == MAX_DEPTH => {
                    (self.left_out)(&too_deep(&path));
                    Ok(())
                }
                Ok(Child::Directory(directory)) => self.group_at(&directory, &path, depth + 1),
                Ok(Child::Dataset(dataset)) if dataset.about().array.is_some() => {
                    self.array_or_none(&dataset, &path)
                }
                Ok(Child::Dataset(dataset)) => {
                    match damage(&dataset) {
                        Some(error) => (self.left_out)(&error),
                        None => self.others.add(&dataset),
                    }
                    Ok(())
                }
                Err(error) => {
                    (self.left_out)(&error);
                    Ok(())
                }
            }
        })
    }

    fn array_or_none(&mut self, dataset: &Dataset, path: &str) -> Result<()> {
        let all = Store::as_stored(dataset).and_then(|store| {
            let chunks = Chunks::of(&store, dataset, self.format)?;
            if let Chunks::Stored(source, _) = &chunks {
                (self.findable)(&**source)?;
            }
            Ok((store.description(), store.attributes()?, chunks, store))
        });
        let (array, attributes, chunks, store) = match all {
            Ok(all) => all,
            Err(error) => {
                (self.left_out)(&error);
                return Ok(());
            }
        };
        (self.each)(&format!("{path}{ARRAY}"), json(&array))?;
        (self.each)(&format!("{path}{ATTRIBUTES}"), json(&attributes))?;
        for number in 0..store.layout().count() {
            let key = format!("{path}{}", store.layout().name(number));
            (self.each)(&key, chunks.get(&store, number)?)?;
        }
        Ok(())
    }
}

/// Why a dataset is not known to be an array, if it may be one.
fn damage(dataset: &Dataset) -> Option<Error> {
    match dataset.content() {
        Ok(Content::Broken { error, .. }) | Err(error) if matches!(error, Error::Damaged { .. }) => {
            Some(error)
        }
        _ => None,
    }
}

/// Where the bytes of a store are.
enum Chunks {
    None,
    /// From this byte of the file on.
    Stored(Arc<dyn Source>, u64),
    Inline,
}

impl Chunks {
    /// The error is why there is nothing to refer to.
    fn of(store: &Store, dataset: &Dataset, format: &str) -> Result<Chunks> {
        if store.layout().count() == 0 {
            return Ok(Chunks::None);
        }
        match store.bytes() {
            Content::Broken { error, .. } => Err(error.clone()),
            Content::Inline(_) => Ok(Chunks::Inline),
            bytes => match bytes.extent()? {
                // What is compressed once more is in no file as it is.
                Some(extent) if extent.coding == Coding::Plain && extent.source.is_in_file() => {
                    Ok(Chunks::Stored(extent.source, extent.range.start))
                }
                _ => {
                    let is_compressed = dataset.about().compression.is_some();
                    let how = if is_compressed { "compressed" } else { "not stored as a plain array" };
                    let advice =
                        "references cannot point into it: mount it, or convert it to an uncompressed file";
                    Err(dataset.wrong(&format!("is {how} in the {format} file, so {advice}")))
                }
            },
        }
    }

    fn get(&self, store: &Store, number: u64) -> Result<Reference> {
        let (range, len) = (store.range(number), store.chunk_len(number));
        if let Chunks::Stored(source, first) = self {
            // Behind the elements of a last chunk comes whatever the file has there.
            let from = first + range.start;
            if from + len <= source.len() {
                return Ok(Reference::Range(source.clone(), from..from + len));
            }
        }
        let chunk = store.chunk(number);
        let mut bytes = vec![0; len as usize];
        chunk.fill(&mut bytes, 0)?;
        Ok(Reference::Bytes(bytes))
    }
}
