//! The datasets of an opened set of tables.

use std::borrow::Cow;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::read::arrow::Problem;
use super::read::rules;
use super::read::samples::Encoding;
use super::read::set::{Set, TextDataset};
use super::read::table::OndaTable;
use super::views::annotations;
use super::views::computed;
use super::views::sidecar::{self, Facts};
use super::write::rewrite;
use crate::content::Content;
use crate::error::Row;
use crate::source::Source;
use crate::tree::{
    Abilities, Datasets, Description, Identity, Names, Placement, Provenance, Rewrite, Sampled, Sampling,
    Sidecars, Size, Validate,
};
use crate::yaml::{self, Node};
use crate::{Error, Result};

#[derive(Clone)]
pub struct OndaDatasets {
    pub set: Arc<Set>,
}

impl OndaDatasets {
    fn text(&self, of: TextDataset) -> Result<Vec<u8>> {
        match of {
            TextDataset::Annotations { recording, nested } => {
                let recording = self.set.recordings.get(recording as usize).ok_or(Error::NotFound)?;
                annotations::build(&self.set, recording, nested)
            }
            TextDataset::Table(table) => {
                let table = self.set.tables.get(table as usize).ok_or(Error::NotFound)?;
                let mut text = String::new();
                yaml::write(&sidecar::table(table), 0, &mut text);
                Ok(text.into_bytes())
            }
        }
    }

    fn describe_signal(&self, number: u32) -> Result<Description> {
        let set = &self.set;
        let facts = Facts::of(set, number);
        let (table, row) = set.signal(number).ok_or(Error::NotFound)?;
        let (metadata, unreadable) = table.row(row);
        let data = facts.data.as_ref().ok();
        let array = data.map_or(Ok(None), |data| data.array()).unwrap_or_default();
        let kind = array.as_ref().and_then(|array| array.dtype.element.name()).unwrap_or("bytes");
        let format = facts.signal.as_ref().and_then(|signal| signal.format.clone());
        let compression = match data.map(|data| data.encoding) {
            Some(Encoding::Zstd) => Some("zstd".into()),
            Some(Encoding::Program) => format,
            _ => None,
        };
        let named = Description::of(&*set.shown_name(number), kind);
        Ok(Description {
            array,
            compression,
            stored: data.map(|data| 0..data.source.len()),
            decoded_len: data.and_then(|data| data.known_len()),
            // Data that cannot be decoded reports its own error when read.
            fault: facts.fault.clone().filter(|_| data.is_some_and(|data| data.len().is_ok())),
            metadata: Arc::new(metadata),
            codec: Arc::new(sidecar::facts(set, number, &facts, &unreadable)),
            ..named
        })
    }
}

impl Names for OndaDatasets {
    fn len(&self) -> usize {
        self.set.len()
    }

    fn get(&self, number: usize) -> Option<Cow<'_, [u8]>> {
        self.set.names.get(number).map(Cow::Borrowed)
    }
}

impl Datasets for OndaDatasets {
    fn count(&self) -> u64 {
        self.set.len() as u64
    }

    fn size(&self, number: u32) -> Size {
        if self.set.text(number).is_some() {
            return Size { len: None, stored: 0 };
        }
        let Ok(data) = self.set.data(number) else { return Size { len: None, stored: 0 } };
        let claimed =
            |len: u64| if data.fault(len).is_some() { len.min(data.source.len()).max(1) } else { len };
        Size { len: data.known_len().map(claimed), stored: data.source.len() }
    }

    fn content(&self, number: u32) -> Result<Content> {
        match self.set.text(number) {
            Some(text) => Ok(Content::Inline(self.text(text)?.into())),
            None => self.set.data(number)?.content(),
        }
    }

    fn ready_content(&self, number: u32) -> Result<Option<Content>> {
        match self.set.data_if_known(number) {
            Some(data) => data.content_if_known(),
            None => Ok(None),
        }
    }

    fn describe(&self, number: u32) -> Result<Description> {
        let Some(text) = self.set.text(number) else { return self.describe_signal(number) };
        let stored = match text {
            TextDataset::Table(_) => "table",
            TextDataset::Annotations { .. } => "annotations",
        };
        Ok(Description {
            // Errors are reported when it is read.
            decoded_len: self.text(text).ok().map(|text| text.len() as u64),
            codec: Arc::new(Node::map([("made of", Node::text(stored))])),
            ..Description::of(&*self.set.shown_name(number), "text")
        })
    }

    fn memory(&self) -> u64 {
        self.set.memory()
    }

    fn remains(&self, number: u32) -> Result<Content> {
        match self.set.text(number) {
            Some(_) => self.content(number),
            None => Ok(self.set.data(number)?.remains()),
        }
    }

    fn abilities(&self) -> Abilities<'_> {
        Abilities {
            sidecars: Some(self),
            placement: Some(self),
            provenance: Some(self),
            validate: Some(self),
            sampled: Some(self),
            rewrite: Some(self),
            ..Abilities::default()
        }
    }
}

impl Sidecars for OndaDatasets {
    fn has_sidecar(&self, number: u32) -> bool {
        self.set.text(number).is_none()
    }

    fn sidecar_size(&self, _: u32, _: &[u8]) -> Size {
        Size { len: None, stored: 0 }
    }

    fn sidecar(&self, number: u32, file_name: &[u8]) -> Result<Content> {
        Ok(Content::Inline(sidecar::build(&self.set, number, file_name).into()))
    }
}

impl Placement for OndaDatasets {
    fn is_there(&self, number: u32) -> bool {
        self.set.text(number).is_some() || self.set.data(number).is_ok()
    }
}

impl Provenance for OndaDatasets {
    fn file(&self, number: u32) -> Option<Arc<dyn Source>> {
        match self.set.text(number) {
            Some(_) => None,
            None => self.set.data(number).ok().map(|data| data.source.clone()),
        }
    }

    /// The sample files listed in the tables.
    fn files(&self) -> Vec<PathBuf> {
        (0..self.set.signals.len() as u32).filter_map(|number| self.set.path(number)).collect()
    }

    fn row(&self, number: u32) -> Option<Row> {
        self.set.row_of(number)
    }
}

impl Validate for OndaDatasets {
    fn identity(&self, number: u32) -> Option<Identity> {
        let data = if self.set.text(number).is_none() { self.set.data(number).ok()? } else { return None };
        data.number.map(|number| [number, 0, 0])
    }

    fn violations(&self, number: u32) -> Result<Vec<String>> {
        let problems = match self.set.text(number) {
            Some(TextDataset::Table(table)) => {
                let of = |table| [rules::table(table), table.unreadable(rules::MAX_REPORTED)].concat();
                self.set.tables.get(table as usize).map_or(Vec::new(), of)
            }
            Some(TextDataset::Annotations { .. }) => Vec::new(),
            None => Facts::of(&self.set, number).warnings,
        };
        // Reaching a limit is not a violation.
        match problems
            .iter()
            .find(|_| problems.iter().all(|problem| matches!(problem, Problem::Unsupported(_))))
        {
            Some(limit) => Err(limit.clone().at(self.set.place(number))),
            None => Ok(problems.iter().map(|problem| problem.text().to_owned()).collect()),
        }
    }

    fn doubt(&self, number: u32) -> Option<String> {
        self.set.signal(number).and_then(|_| Facts::of(&self.set, number).doubt)
    }
}

impl Sampled for OndaDatasets {
    fn sampling(&self, number: u32) -> Option<Sampling> {
        let (table, row) = self.set.signal(number)?;
        Some(Sampling { rate: table.signal(row).ok()?.rate?, channels: table.channel_names(row).ok()? })
    }

    fn decoded(&self, number: u32, stored: &Description) -> Result<Option<(Description, Content)>> {
        if self.set.text(number).is_some() {
            return Ok(None);
        }
        let (data, scale) = (self.set.data(number)?, self.set.row(number)?.scale());
        match (data.layout, scale, data.content()?) {
            (_, _, Content::Broken { error, .. }) => Err(error),
            (Some(layout), Some(scale), samples) => {
                let (array, content) = computed::decoded(samples, layout, scale)?;
                Ok(Some((sidecar::describe_decoded(stored.clone(), array), content)))
            }
            _ => Ok(None),
        }
    }
}

impl Rewrite for OndaDatasets {
    fn rewrite(
        &self,
        path: &Path,
        file: &File,
        only: Option<&[usize]>,
        _: &mut dyn FnMut(u64) -> Result<()>,
    ) -> Result<Vec<String>> {
        let [table] = self.set.tables.as_slice() else {
            return Err(Error::Usage(several_tables(&self.set.tables)));
        };
        let rows = match only {
            None => (0..table.arrow.rows() as u32).collect(),
            Some(numbers) => self.rows(numbers),
        };
        if rows.is_empty() && only.is_some() {
            let problem = "no row of the table is selected: name signals, or the annotations of recordings";
            return Err(Error::Usage(format!("{}: {problem}", table.source.path().display())));
        }
        rewrite::rewrite(table, &rows, path, file)
    }
}

/// The error for rewriting several tables.
fn several_tables(tables: &[OndaTable]) -> String {
    let paths: Vec<_> =
        tables.iter().take(3).map(|table| table.source.path().display().to_string()).collect();
    let more = if tables.len() > paths.len() { ", ..." } else { "" };
    format!(
        "these are {} tables ({}{more}), and tables are rewritten one by one: name one, or, for one table \
         with the signals of all, rab unpack them and rab pack what that wrote, which copies the samples",
        tables.len(),
        paths.join(", ")
    )
}

impl OndaDatasets {
    /// The table rows behind these datasets, in table order.
    pub fn rows(&self, numbers: &[usize]) -> Vec<u32> {
        let of_annotations = |recording: u32| {
            let recording = self.set.recordings.get(recording as usize);
            let numbers = recording.map_or(&[][..], |recording| &recording.annotations);
            numbers.iter().filter_map(|number| self.set.annotations.get(*number as usize))
        };
        let mut rows = Vec::new();
        for number in numbers {
            match self.set.text(*number as u32) {
                None => rows.extend(self.set.signals.get(*number).map(|row| row.row)),
                Some(TextDataset::Annotations { recording, .. }) => {
                    rows.extend(of_annotations(recording).map(|row| row.row));
                }
                Some(TextDataset::Table(_)) => {}
            }
        }
        // Rows of a recording need not be adjacent.
        rows.sort_unstable();
        rows
    }
}
