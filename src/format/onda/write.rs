//! Writes a table of signals from arrays of shape (samples, channels), whose metadata becomes their row. Samples go
//! into new files beside the table; existing files are never replaced. The table is written last, so that every file
//! it lists is complete.
//!
//! | | |
//! |---|---|
//! | `row` | the row of a signal, from an array's metadata |
//! | `columns`, `column_type` | the user's columns and their types |
//! | `canonical` | Onda's columns as Onda.jl writes them |
//! | `encode` | encoding samples from the signal's unit, like Onda.jl |
//! | `rewrite` | rewriting a table in the current schema |

pub mod canonical;
mod column_type;
pub mod columns;
mod encode;
pub mod rewrite;
pub mod row;

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use super::read::arrow::Problem;
use super::read::rules;
use super::read::samples::Layout;
use super::read::schema::QUALIFIED;
use super::read::table::Signal;
use super::views::computed::Scale;
use crate::array;
use crate::codec::zstd_frame;
use crate::error::Place;
use crate::format::writer::input::Exactly;
use crate::format::writer::{NewContent, NewDataset, NewFile, Temporary, directory};
use crate::source::url;
use crate::tree::naming;
use crate::{Error, Result};
use canonical::{NewTable, SIGNALS};
use columns::Custom;
use row::{Row, SignalMetadata, parsed};

pub struct Writer {
    path: PathBuf,
    table: Temporary,
    /// The table's file name without `.arrow`.
    stem: String,
    rows: Vec<canonical::Row>,
    custom: Custom,
    samples: Vec<(PathBuf, Temporary)>,
    /// The note that annotations are skipped was given.
    annotations_reported: bool,
    names: HashSet<String>,
}

impl Writer {
    pub fn create(path: &Path, force: bool) -> Result<Writer> {
        let failed = |cause| Error::write(Place::file(path), cause);
        if url(path).is_some() {
            return Err(failed(io::Error::other(
                "sample files stand beside an Onda table: write it to a directory, and upload that",
            )));
        }
        let stem = path.file_stem().and_then(|stem| stem.to_str()).map(str::to_owned);
        let stem =
            stem.ok_or_else(|| failed(io::Error::other("its name is not UTF-8, as paths of Onda are")))?;
        let table = Temporary::create(path, force).map_err(failed)?;
        let (rows, samples, names) = (Vec::new(), Vec::new(), HashSet::new());
        let custom = Custom::default();
        let annotations_reported = false;
        Ok(Writer { path: path.to_owned(), table, stem, rows, custom, samples, annotations_reported, names })
    }

    /// Notes about a file of a mount that is skipped because it is not a signal; None for any other file.
    fn skipped(&mut self, name: &str) -> Option<Vec<String>> {
        let (directory, last) = name.rsplit_once('/').unwrap_or(("", name));
        if last.as_bytes().ends_with(naming::SIDECAR) {
            return Some(vec!["skipped: it describes something that is not here".into()]);
        }
        let is_annotations = matches!(last, "annotations.csv" | "annotations.jsonl");
        if !is_annotations || parsed(directory).is_none() {
            return None;
        }
        let was_reported = std::mem::replace(&mut self.annotations_reported, true);
        let note = "skipped, like all annotations: they have a table of their own, which stays as it is \
            (rab convert rewrites it, for all recordings or some)";
        Some(if was_reported { Vec::new() } else { vec![note.into()] })
    }

    /// An unused name and path for a new sample file beside the table.
    fn free_name(&self, signal: &Signal) -> (String, PathBuf) {
        let (recording, label) =
            (super::read::table::shown(signal.recording), signal.label.as_deref().unwrap_or_default());
        let label: String = label.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
        let format = signal.format.as_deref().unwrap_or("lpcm");
        let mut number = 1u64;
        loop {
            let more = if number == 1 { String::new() } else { format!("~{number}") };
            let name = format!("{}.{recording}.{label}{more}.{format}", self.stem);
            let path = directory(&self.path).join(&name);
            if !self.names.contains(&name) && fs::symlink_metadata(&path).is_err() {
                return (name, path);
            }
            number += 1;
        }
    }
}

impl NewFile for Writer {
    fn path(&self) -> &Path {
        &self.path
    }

    fn put(&mut self, dataset: &NewDataset<'_>, data: &mut dyn Read) -> io::Result<Vec<String>> {
        let NewContent::Array(array) = dataset.what else {
            let name = dataset.name.as_str().unwrap_or_default();
            return match self.skipped(name) {
                Some(note) => io::copy(data, &mut io::sink()).map(|_| note),
                None => {
                    Err(io::Error::other("signals are arrays, and this dataset is not one: leave it out"))
                }
            };
        };
        let metadata = SignalMetadata::new(dataset);
        let row = metadata.row(array, dataset.compression).map_err(io::Error::other)?;
        let Row { mut signal, channels, is_encoded, mut notes } = row;
        let (name, path) = self.free_name(&signal);
        signal.path = Some(name.clone());
        notes.extend(
            self.custom
                .add(metadata.node, metadata.types(dataset), |key| metadata.is_reserved(key))
                .map_err(io::Error::other)?,
        );
        if let Some(problem) = rules::row(&signal, &channels, "sensor_label").first() {
            return Err(io::Error::other(problem.clone()));
        }
        let layout = Layout::of(&signal).ok_or_else(|| io::Error::other("its row describes no samples"))?;
        let scale = match (is_encoded, signal.scale()) {
            (false, Some(scale)) => scale,
            _ => Scale { resolution: 1.0, offset: 0.0 },
        };
        let file = Temporary::create(&path, false)?;
        let len = array::byte_len(array.dtype.element, &array.shape)
            .ok_or_else(|| io::Error::other("its shape does not fit into 64 bits"))?;
        let mut data = Exactly::new(data, len);
        let mut copy = |to: &mut dyn Write| encode::copy(&mut data, array.dtype, to, layout.element, scale);
        let mut to = BufWriter::with_capacity(256 << 10, &file.file);
        match signal.format.as_deref() {
            Some("lpcm.zst") => zstd_frame(&mut to, copy)?,
            _ => copy(&mut to).and_then(|()| to.flush())?,
        }
        drop(to);
        self.names.insert(name);
        self.samples.push((path, file));
        self.rows.push((signal, channels));
        Ok(notes)
    }

    fn close(self) -> io::Result<()> {
        if self.rows.is_empty() {
            return Err(io::Error::other("an Onda table is made of arrays, and there are none"));
        }
        let failed = |problem: Problem| io::Error::other(problem.text().to_owned());
        let columns = canonical::signals(&self.rows).map_err(failed)?;
        let custom = self.custom.columns().map_err(failed)?;
        let (fields, values) = columns.into_iter().chain(custom).unzip();
        let table_metadata = HashMap::from([(QUALIFIED.to_owned(), SIGNALS.to_owned())]);
        let written = NewTable::create(&self.table.file, fields, table_metadata).and_then(|mut new| {
            new.add(values)?;
            new.finish()
        });
        written.map_err(io::Error::other)?;
        self.table.sync()?;
        let mut placed = Vec::new();
        let place = || {
            for (path, file) in self.samples {
                file.finish()?;
                placed.push(path);
            }
            self.table.replace()
        };
        let done = place();
        if done.is_err() {
            // No table lists them.
            placed.iter().for_each(|path| drop(fs::remove_file(path)));
        }
        done
    }
}
