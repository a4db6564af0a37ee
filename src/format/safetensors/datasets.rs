//! The datasets of a model: first the tensors that can be read, then the others, then its metadata.

use std::path::PathBuf;
use std::sync::Arc;

use super::FACTS;
use super::header::Tensor;
use super::model::{Located, Model, Unreadable};
use crate::array::{Array, Dtype, Endian, Order, numpy};
use crate::content::Content;
use crate::source::Source;
use crate::tree::{Abilities, Datasets, Description, NameList, Provenance, Sidecars, Size};
use crate::yaml::{self, Node};
use crate::{Error, Result};

pub struct SafetensorsDatasets {
    model: Model,
}

/// A dataset by its number.
enum Entry<'m> {
    Tensor(&'m Located),
    Unreadable(&'m Unreadable),
    Metadata(&'m str, &'m Arc<[u8]>),
}

impl SafetensorsDatasets {
    pub fn new(model: Model) -> SafetensorsDatasets {
        SafetensorsDatasets { model }
    }

    pub fn names(&self) -> Arc<NameList> {
        let mut names = NameList::default();
        self.model.tensors.iter().for_each(|located| names.push(located.tensor.name.as_bytes()));
        self.model.unreadable.iter().for_each(|tensor| names.push(tensor.name.as_bytes()));
        self.model.metadata.iter().for_each(|(name, _)| names.push(name.as_bytes()));
        Arc::new(names)
    }

    fn tensors(&self) -> usize {
        self.model.tensors.len() + self.model.unreadable.len()
    }

    fn entry(&self, number: u32) -> Result<Entry<'_>> {
        let number = number as usize;
        if let Some(located) = self.model.tensors.get(number) {
            return Ok(Entry::Tensor(located));
        }
        let number = number - self.model.tensors.len();
        if let Some(tensor) = self.model.unreadable.get(number) {
            return Ok(Entry::Unreadable(tensor));
        }
        let metadata = self.model.metadata.get(number - self.model.unreadable.len());
        metadata.map(|(name, text)| Entry::Metadata(name, text)).ok_or(Error::NotFound)
    }

    /// True if the tensor is not in the file that was opened first.
    fn is_elsewhere(&self, located: &Located) -> bool {
        !Arc::ptr_eq(&located.file, &self.model.source)
    }

    /// The header's entry for a tensor, with byte offsets in the file.
    fn facts(&self, located: &Located) -> Node {
        let Tensor { of, shape, stored, .. } = &located.tensor;
        let fixed = [
            ("dtype", Node::text(of.name)),
            ("shape", Node::seq(shape.iter().map(|size| Node::int(*size)))),
            ("byteOffset", Node::int(stored.start)),
            ("byteLength", Node::int(stored.end - stored.start)),
        ];
        let file = self.is_elsewhere(located).then(|| {
            let name = located.file.path().file_name().unwrap_or_default();
            ("file", Node::text(&name.to_string_lossy()))
        });
        let note = of.note().map(|note| ("note", Node::text(&note)));
        Node::map(fixed.into_iter().chain(file).chain(note))
    }

    fn sidecar_text(&self, number: u32, file_name: &[u8]) -> Result<String> {
        let (name, facts) = match self.entry(number)? {
            Entry::Tensor(located) => (&located.tensor.name, (FACTS, self.facts(located))),
            Entry::Unreadable(Unreadable { name, error }) => {
                (name, ("problem", Node::text(&error.to_string())))
            }
            Entry::Metadata(..) => return Err(Error::NotFound),
        };
        let all = [("name", Node::text(name)), ("number", Node::int(number)), facts];
        let mut text = String::new();
        yaml::write(&Node::map(all), 0, &mut text);
        if let Entry::Tensor(located) = self.entry(number)?
            && let Some(array) = array(&located.tensor)
        {
            text += &numpy::Parts::of(&array, false).text(file_name);
        }
        Ok(text)
    }
}

fn array(tensor: &Tensor) -> Option<Array> {
    let dtype = Dtype { element: tensor.of.element?, endian: Endian::Little };
    Some(Array::new(dtype, tensor.shape.clone(), Order::C))
}

impl Datasets for SafetensorsDatasets {
    fn count(&self) -> u64 {
        (self.tensors() + self.model.metadata.len()) as u64
    }

    fn size(&self, number: u32) -> Size {
        let (len, stored) = match self.entry(number) {
            Ok(Entry::Tensor(located)) => {
                let len = located.tensor.stored.end - located.tensor.stored.start;
                (Some(len), len)
            }
            Ok(Entry::Unreadable(_)) => (Some(1), 0),
            Ok(Entry::Metadata(_, text)) => (Some(text.len() as u64), 0),
            Err(_) => (None, 0),
        };
        Size { len, stored }
    }

    fn content(&self, number: u32) -> Result<Content> {
        Ok(match self.entry(number)? {
            Entry::Tensor(Located { tensor, file }) => {
                Content::Stored { source: file.clone(), range: tensor.stored.clone() }
            }
            Entry::Unreadable(Unreadable { error, .. }) => {
                Content::Broken { claimed: 1, error: error.clone() }
            }
            Entry::Metadata(_, text) => Content::Inline(text.clone()),
        })
    }

    fn ready_content(&self, number: u32) -> Result<Option<Content>> {
        self.content(number).map(Some)
    }

    fn describe(&self, number: u32) -> Result<Description> {
        Ok(match self.entry(number)? {
            Entry::Tensor(located) => {
                let Tensor { name, of, stored, .. } = &located.tensor;
                Description {
                    array: array(&located.tensor),
                    stored: Some(stored.clone()),
                    decoded_len: Some(stored.end - stored.start),
                    codec: Arc::new(self.facts(located)),
                    ..Description::of(name.as_str(), of.numpy)
                }
            }
            Entry::Unreadable(Unreadable { name, error }) => {
                let fault = match error {
                    Error::Damaged { place, problem } => {
                        let file = place.file.file_name().unwrap_or_default().display();
                        Some(format!("{file}: {problem}"))
                    }
                    _ => None,
                };
                Description { fault, ..Description::of(name.as_str(), "bytes") }
            }
            Entry::Metadata(name, text) => {
                Description { decoded_len: Some(text.len() as u64), ..Description::of(name, "object") }
            }
        })
    }

    fn memory(&self) -> u64 {
        256 * self.count()
    }

    fn abilities(&self) -> Abilities<'_> {
        Abilities { sidecars: Some(self), provenance: Some(self), ..Abilities::default() }
    }
}

impl Sidecars for SafetensorsDatasets {
    fn has_sidecar(&self, number: u32) -> bool {
        (number as usize) < self.tensors()
    }

    fn sidecar_size(&self, number: u32, file_name: &[u8]) -> Size {
        let len = self.sidecar_text(number, file_name).map_or(0, |text| text.len() as u64);
        Size { len: Some(len), stored: len }
    }

    fn sidecar(&self, number: u32, file_name: &[u8]) -> Result<Content> {
        Ok(Content::Inline(self.sidecar_text(number, file_name)?.into_bytes().into()))
    }
}

impl Provenance for SafetensorsDatasets {
    fn file(&self, number: u32) -> Option<Arc<dyn Source>> {
        match self.entry(number) {
            Ok(Entry::Tensor(located)) if self.is_elsewhere(located) => Some(located.file.clone()),
            _ => None,
        }
    }

    /// The files that contain tensors.
    fn files(&self) -> Vec<PathBuf> {
        let mut files: Vec<PathBuf> =
            self.model.tensors.iter().map(|located| located.file.path().to_owned()).collect();
        files.dedup();
        files
    }
}
