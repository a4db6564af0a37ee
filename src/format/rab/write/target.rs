//! The writer behind the interface of all formats. A RAB file can hold any dataset, if only as bytes.

use std::io::Read;

use super::{Add, Writer};
use crate::Result;
use crate::error::shortened;
use crate::format::writer::{NewContainer, NewContent, NewDataset};
use crate::yaml::Value;

impl NewContainer for Writer {
    fn add(&mut self, dataset: &NewDataset<'_>, data: &mut dyn Read) -> Result<Vec<String>> {
        Writer::add(self, dataset.name.clone()).all_of(dataset, data)
    }

    fn finish(self: Box<Self>) -> Result<()> {
        Writer::finish(*self)
    }
}

impl Add<'_> {
    /// Adds a dataset of any format with its whole description.
    pub(in super::super) fn all_of(
        self,
        dataset: &NewDataset<'_>,
        data: &mut dyn Read,
    ) -> Result<Vec<String>> {
        let NewDataset { metadata, what, compression, origin, .. } = *dataset;
        // Without new metadata, a replaced dataset keeps its own.
        let add = if metadata.is_null() { self } else { self.metadata(Value::from(metadata)) };
        let add = add.compression(compression.unwrap_or_default()).like(origin.cloned());
        match what {
            NewContent::Array(array) if array.dtype.element.name().is_none() => {
                let (element, shape) = (array.dtype.element, &array.shape);
                let dtype = element.ml_name().map_or_else(|| array.numpy_type(), str::to_owned);
                let advice =
                    if element.kind.is_float() { " (to keep it an array, store it as float32)" } else { "" };
                add.bytes(data)?;
                return Ok(vec![format!(
                    "RAB has no type {}: it is written as bytes, and its shape {shape:?} is not kept{advice}",
                    shortened(&dtype)
                )]);
            }
            NewContent::Bytes => add.bytes(data),
            NewContent::Text => add.text_from(data),
            NewContent::Object => add.object_from(data),
            NewContent::Array(array) => add.array_from(array, data),
            NewContent::Table(table) => add.dataframe_from(table, data),
        }?;
        Ok(Vec::new())
    }
}
