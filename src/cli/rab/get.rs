//! `rab get`: prints an array or a part of it, as text like numpy's, as a .npy file, or as its bare elements. Reads
//! only the requested part; of a large array printed as text, only the edges.

use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::ops::ControlFlow;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use clap::Args;
use clap::builder::PossibleValuesParser;

use super::binary::Guarded;
use super::output::{Done, Failure, Output};
use super::{as_view, items, numbers, opaque, print, select};
use crate::array::{self, Meaning, Slab};
use crate::cli::complete::dataset_and_table_names;
use crate::cli::reading::{Opening, READING};
use crate::content::Content;
use crate::tree::{Items, naming};
use crate::{AnyArray, Archive, Dataset, Error, Result, view};

/// Arrays with more elements are abbreviated to their edges.
const MANY: u64 = 1000;

const HELP: &str = "\
The index is numpy's basic indexing for arrays, rows and columns for tables, and channels and times for \
signals. Column and channel names that look like numbers go in quotes. Quote all of it for the shell.

Examples:
  rab get run7.rab 'data[3, 10:20, ::2]'               part of an array
  rab get run7.rab 'events[x, y, :10]'                 ten rows of two columns, as CSV
  rab get run7.arrow 'RECORDING/eeg[c3, 10s:12.5s]'    a channel, from 10 to 12.5 seconds
  rab get run7.rab 'data[-1]' --as npy > last.npy";

/// Print an array or a table, or a part of it
#[derive(Args)]
#[command(after_help = HELP)]
pub struct Get {
    /// The container
    file: PathBuf,

    /// A dataset's name, optionally followed by an index in brackets
    #[arg(value_name = "NAME[INDEX]", add = dataset_and_table_names())]
    what: OsString,

    /// Print text, the bare elements (raw), or a view of the dataset
    #[arg(long = "as", value_name = "KIND", default_value = TEXT, value_parser = kinds())]
    kind: String,

    /// Print JSON: arrays as nested lists, tables as a list of objects
    #[arg(long, conflicts_with = "kind")]
    json: bool,

    /// Print binary data on a terminal without asking
    #[arg(short, long)]
    force: bool,

    /// Print values in their unit, as float64: resolution and offset are applied (Onda)
    #[arg(long)]
    decoded: bool,

    #[command(flatten, next_help_heading = READING)]
    opening: Opening,
}

const TEXT: &str = "text";
const RAW: &str = "raw";

fn kinds() -> PossibleValuesParser {
    PossibleValuesParser::new([vec![TEXT, RAW], view::kinds()].concat())
}

impl Get {
    pub fn run(&self, out: &mut Output) -> Done {
        let archive = self.opening.open(&self.file)?;
        self.print(&archive, out).map_err(|failure| match failure {
            Failure::Error(Error::NoDataset { name, .. }) => {
                archive.no_dataset_or_table(name.as_bytes()).into()
            }
            other => other,
        })
    }

    fn print(&self, archive: &Archive, out: &mut Output) -> Done {
        let is_view = ![TEXT, RAW].contains(&&*self.kind);
        if is_view && let Some(derived) = self.derived(archive, &self.kind)? {
            return self.write(&derived, out);
        }
        let (number, mut index) = match self.chosen(archive) {
            Err(missing @ Error::NoDataset { .. }) if self.kind == TEXT => {
                return match self.derived(archive, self.table_kind())? {
                    Some(table) => self.table(&table, out),
                    None => Err(missing.into()),
                };
            }
            chosen => chosen?,
        };
        let dataset = archive.dataset_at(number)?;
        let dataset = if self.decoded { dataset.decoded()? } else { dataset };
        if let Some(index) = &mut index {
            let meant = dataset.meant(index)?;
            meant.notes.iter().for_each(|note| super::note(note));
            *index = meant.expression;
        }
        let expression = index.as_deref().unwrap_or("...");
        if self.kind == TEXT
            && let Some(found) = values(&dataset)
        {
            return items::print(&dataset, &*found, expression, out);
        }
        if self.kind == TEXT && is_table(&dataset) {
            return self.table(&as_view::content(&dataset, index.as_deref(), self.table_kind())?, out);
        }
        let slab = || {
            let found = dataset.slab(expression).map_err(|error| as_view::instead(&dataset, error));
            found.map_err(|error| of_field(&dataset, expression, error))
        };
        match self.kind.as_str() {
            TEXT if self.json => items::array(&dataset, &slab()?, out)?,
            TEXT => writeln!(out, "{}", text(&dataset, &slab()?)?)?,
            RAW => {
                let (slab, mut out) = (slab()?, self.guarded(None, out));
                let described = dataset.array_description()?;
                for part in dataset.blocks(&slab)? {
                    part?.write(described.dtype.endian, &mut out)?;
                }
            }
            kind => self.write(&as_view::content(&dataset, index.as_deref(), kind)?, out)?,
        }
        Ok(())
    }

    /// The view used for tables.
    fn table_kind(&self) -> &'static str {
        if self.json { "jsonl" } else { "csv" }
    }

    /// The container's derived file of this name, or some rows of it: `records[2:4]`.
    fn derived(&self, archive: &Archive, kind: &str) -> Result<Option<Content>> {
        match as_view::derived(archive, &self.what, kind)? {
            None => as_view::derived_rows(archive, &self.what, kind),
            whole => Ok(whole),
        }
    }

    fn table(&self, table: &Content, out: &mut Output) -> Done {
        if self.json { items::lines(table, out) } else { self.write(table, out) }
    }

    fn write(&self, content: &Content, out: &mut Output) -> Done {
        let (mut out, mut written) = (self.guarded(content.known_len(), out), Ok(()));
        content.pass(&mut |piece| {
            written = out.write_all(piece);
            if written.is_err() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        Ok(written?)
    }

    fn guarded<'o>(&self, len: Option<u64>, out: &'o mut Output) -> Guarded<'o> {
        Guarded::new(out, &self.what.to_string_lossy(), len, self.force)
    }

    /// The dataset and the index. If a dataset's own name ends in brackets, the whole argument is its name.
    fn chosen(&self, archive: &Archive) -> Result<(usize, Option<String>)> {
        let what = self.what.as_bytes();
        let mut missing = None;
        if !archive.has(what) {
            for (name, index) in array::indexed(what).into_iter().chain(array::quoted(what)) {
                match select::select_linked(archive, OsStr::from_bytes(name)) {
                    Ok(numbers) => return Ok((only(&numbers, name)?, Some(index.to_owned()))),
                    Err(error) => missing = missing.or(Some(error)),
                }
            }
        }
        match missing {
            Some(error) => Err(error),
            None => Ok((only(&select::select_linked(archive, &self.what)?, what)?, None)),
        }
    }
}

/// Explains the error if the index is the name of a field.
fn of_field(dataset: &Dataset<'_>, index: &str, error: Error) -> Error {
    let record = dataset.description().array.as_ref().and_then(|array| array.record.as_ref());
    let is_field = record.is_some_and(|record| record.fields().iter().any(|field| &*field.name == index));
    match is_field {
        true => Error::Usage(format!(
            "{}: {index:?} is a field of its elements, which cannot be taken out here: --as csv prints all fields as columns",
            dataset.place()
        )),
        false => error,
    }
}

fn only(numbers: &[usize], name: &[u8]) -> Result<usize> {
    let [number] = numbers else {
        let (name, count) = (naming::printed(name), numbers.len());
        return Err(Error::Usage(format!("{name:?} matches {count} datasets: name one")));
    };
    Ok(*number)
}

/// True for a table that is not also an array, with a valid description.
fn is_table(dataset: &Dataset<'_>) -> bool {
    let about = dataset.description();
    about.table.is_some() && about.array.is_none() && about.fault.is_none()
}

/// The items of a dataset that is not an array of numbers, if its format interprets them.
fn values(dataset: &Dataset<'_>) -> Option<Box<dyn Items>> {
    let is_of_numbers = dataset.description().array.as_ref().is_some_and(|array| array.record.is_none());
    if is_of_numbers { None } else { dataset.items() }
}

fn text(dataset: &Dataset<'_>, slab: &Slab) -> Result<String> {
    let sizes = slab.shape();
    let cut: Vec<bool> =
        sizes.iter().map(|size| slab.len() > MANY && *size > 2 * print::EDGE as u64).collect();
    let array = edges(dataset, slab, &cut, 0)?;
    Ok(print::layout(&texts(&array, sizes.is_empty()), array.shape(), &cut))
}

/// The elements as text. An element `by_itself` gets as many digits as it needs, without alignment.
fn texts(array: &AnyArray, by_itself: bool) -> Vec<String> {
    if let AnyArray::Opaque(opaque) = array {
        let meaning = opaque.record().map(Meaning::of);
        let texts = opaque.items().map(|item| opaque::text(item, meaning.as_ref())).collect();
        let is_of_times = matches!(meaning, Some(Meaning::Times(_)));
        return if is_of_times && !by_itself { numbers::right_aligned(texts) } else { texts };
    }
    match array.scalars().as_slice() {
        [cell] if by_itself => vec![numbers::alone(*cell)],
        cells => numbers::aligned(cells),
    }
}

/// Reads the part, but from `axis` on only the edges of the axes marked in `cut`.
fn edges(dataset: &Dataset<'_>, slab: &Slab, cut: &[bool], axis: usize) -> Result<AnyArray> {
    match cut.iter().skip(axis).position(|is_cut| *is_cut) {
        None => dataset.part(slab),
        Some(further) => {
            let axis = axis + further;
            let (first, last) = slab.edges(axis, print::EDGE as u64);
            AnyArray::join(
                axis,
                &edges(dataset, &first, cut, axis + 1)?,
                &edges(dataset, &last, cut, axis + 1)?,
            )
        }
    }
}
