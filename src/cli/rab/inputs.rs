//! The input files and the options for turning them into datasets, shared by all verbs that pack.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Args, ValueEnum};

use super::progress::Progress;
use super::stop::Stop;
use crate::cli::values;
use crate::error::Place;
use crate::format::Compression;
use crate::format::writer::{LEVEL, NewContainer, directory, order_of};
use crate::pack;
use crate::yaml::{self, Node, Text};
use crate::{Error, Order, Result};

// Headings of --help.
const FILES: &str = "What files become";
const STORAGE: &str = "How data is stored";

#[derive(Args)]
pub struct Inputs {
    /// Files and directories; - is standard input
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<PathBuf>,

    /// Name of the dataset, if the only input is not a directory
    #[arg(help_heading = FILES, long)]
    name: Option<OsString>,

    /// Store other files as text instead of bytes
    #[arg(help_heading = FILES, long)]
    text: bool,

    /// Store .yaml, .yml and .json files as objects
    #[arg(help_heading = FILES, long)]
    objects: bool,

    /// Store .csv files as dataframes
    #[arg(help_heading = FILES, long)]
    dataframe: bool,

    /// Compress every dataset, at a level from 1 to 9 [6 if none is given]; 0 or none: compress nothing
    #[arg(help_heading = STORAGE, long, value_name = "LEVEL", num_args = 0..=1, require_equals = true, default_missing_value = "6",
          value_parser = values::compression)]
    compress: Option<Compression>,

    /// Compress, but store as it is what would not get smaller
    #[arg(help_heading = STORAGE, long)]
    compress_if_smaller: bool,

    /// Store the elements of arrays in this order [default: each array keeps its own]
    #[arg(help_heading = STORAGE, long, value_enum, value_name = "ORDER")]
    order: Option<Layout>,

    /// Metadata of all datasets without a sidecar: a mapping in a YAML or JSON file
    #[arg(help_heading = FILES, long, value_name = "FILE")]
    meta: Option<PathBuf>,

    /// Number of compression threads [default: the number of processors]
    #[arg(help_heading = STORAGE, long, value_name = "N", value_parser = values::threads)]
    jobs: Option<usize>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Layout {
    #[value(name = "C")]
    C,
    #[value(name = "F")]
    F,
}

impl Inputs {
    pub fn jobs(&self) -> usize {
        values::jobs_or_all(self.jobs)
    }

    fn compression(&self) -> Option<Compression> {
        match self.compress {
            Some(Compression::Zlib(level)) if self.compress_if_smaller => {
                Some(Compression::ZlibIfSmaller(level))
            }
            None if self.compress_if_smaller => Some(Compression::ZlibIfSmaller(LEVEL)),
            other => other,
        }
    }

    /// The paths; fails if any option for packing datasets is given.
    pub fn only_paths(&self) -> Result<&[PathBuf]> {
        let is_said =
            self.name.is_some() || self.text || self.objects || self.dataframe || self.meta.is_some();
        if is_said || self.compression().is_some() || self.order.is_some() {
            return Err(Error::Usage(
                "FFRecord records are bytes without names or types, and not compressed: only --records, \
                 --lines, --packed-folder, --shards and --force apply"
                    .into(),
            ));
        }
        Ok(&self.paths)
    }

    /// Plans what to write to `target`.
    pub fn plan(&self, target: &Path) -> Result<pack::Plan> {
        let plan = self.planned(target)?;
        match plan.reads(target) {
            None => Ok(plan),
            Some(input) => {
                let shown = input.display();
                Err(Error::Usage(format!(
                    "{shown}: is both an input and the output: give the output another name"
                )))
            }
        }
    }

    /// The requested order of elements, which the format must support; by default the only one it supports, if any.
    fn order_at(&self, target: &Path) -> Result<Option<Order>> {
        let asked = self.order.as_ref().map(|layout| match layout {
            Layout::C => Order::C,
            Layout::F => Order::F,
        });
        match (asked, order_of(target)) {
            (Some(asked), Some(only)) if asked != only => Err(Error::Usage(format!(
                "--order {asked}: {} stores arrays in {only} order only: leave --order out",
                target.display()
            ))),
            (asked, only) => Ok(asked.or(only)),
        }
    }

    fn planned(&self, target: &Path) -> Result<pack::Plan> {
        let name = self.name.as_ref().map(|name| match name.to_str() {
            Some(name) => Ok(Text::from(name)),
            None => Err(Error::Usage("a dataset's name must be UTF-8".into())),
        });
        let options = pack::Options {
            name: name.transpose()?,
            text: self.text,
            objects: self.objects,
            dataframes: self.dataframe,
            compression: self.compression(),
            order: self.order_at(target)?,
            metadata: self.meta.as_deref().map_or(Ok(Arc::new(Node::Null)), metadata)?,
        };
        let mut plan = pack::plan(&self.paths, &options)?;
        if self.order.is_none() {
            plan.note_orders();
        }
        Ok(plan)
    }
}

/// Writes everything to a container that will be at `target`.
pub fn write(plan: &pack::Plan, to: &mut dyn NewContainer, target: &Path, stop: &Stop) -> Result<()> {
    plan.notes.iter().for_each(|note| super::note(note));
    let progress = Progress::new(plan.len());
    let step = |bytes| {
        progress.add(bytes);
        stop.go_on()
    };
    let written = pack::write(plan, to, directory(target), &step);
    drop(progress);
    written?.iter().for_each(|note| super::note(note));
    Ok(())
}

/// Parses a .json file as JSON, and all others as YAML, which includes most JSON.
pub fn of_extension(file: &Path, text: &str) -> Result<Arc<Node>, yaml::Problem> {
    match file.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("json")) {
        true => yaml::json(text),
        false => yaml::value_to_write(text),
    }
}

fn metadata(file: &Path) -> Result<Arc<Node>> {
    let text = fs::read(file).map_err(|cause| Error::open(file, cause))?;
    let refused = |problem: String| Error::Other(format!("{}: {problem}", file.display()));
    let text = String::from_utf8(text).map_err(|_| refused("is not UTF-8".into()))?;
    let node = of_extension(file, &text)
        .map_err(|problem| Error::damaged(Place::file(file), problem.to_string()))?;
    match *node {
        Node::Map(_) | Node::Null => Ok(node),
        _ => Err(refused("is not a mapping (key: value), as metadata must be".into())),
    }
}
