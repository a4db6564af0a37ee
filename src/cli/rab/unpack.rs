//! `rab unpack`: writes the files that a mount shows into a directory.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;

use super::output::Done;
use super::progress::Progress;
use super::reported::Reported;
use super::stop::Stop;
use super::{as_view, complain, select, warning};
use crate::cli::complete::dataset_and_table_names;
use crate::cli::reading::{Opening, READING};
use crate::cli::values;
use crate::unpack::{self, Choice, Options, Watch};
use crate::view::{self, View};
use crate::{Archive, Error, Result};

const HELP: &str = "\
Each dataset becomes a file of its decoded bytes, with its type, shape and metadata beside it in \
NAME.meta.yaml. Nothing is written outside of the directory, and no symbolic link in it is followed.

Examples:
  rab unpack run7.rab out
  rab unpack run7.rab out 'sub01/*' --as npy";

/// Write datasets as files into a directory, as a mount shows them
#[derive(Args)]
#[command(after_help = HELP)]
pub struct Unpack {
    /// The container
    file: PathBuf,

    /// The directory; created if it is missing
    dir: PathBuf,

    /// Names of datasets, or globs [default: all]
    #[arg(add = dataset_and_table_names())]
    glob: Vec<OsString>,

    /// Write this view of the datasets that have it, as NAME.npy for example, and the others as they are
    #[arg(long = "as", value_name = "KIND", value_parser = as_view::kinds())]
    kind: Option<String>,

    /// Replace existing files
    #[arg(short, long)]
    force: bool,

    /// Leave out the .meta.yaml files
    #[arg(long)]
    no_meta: bool,

    /// Number of threads that copy and decode [default: the number of processors]
    #[arg(short, long, value_name = "N", value_parser = values::threads)]
    jobs: Option<usize>,

    #[command(flatten, next_help_heading = READING)]
    opening: Opening,
}

impl Unpack {
    pub fn run(&self) -> Done {
        let archive = self.opening.open(&self.file)?;
        let view = self.kind.as_deref().map(view::named).transpose()?;
        let chosen = match self.glob.as_slice() {
            [] => None,
            globs => Some(choose(&archive, globs, view)?),
        };
        let datasets = chosen.as_ref().map(|chosen| chosen.datasets.as_slice());
        let progress = Progress::new(select::stored_len(&archive, datasets));
        let (stop, reported) = (Stop::listen(), Reported::default());
        let failed = |error: &Error| {
            if reported.is_new(error) {
                progress.hidden(|| complain(error));
            }
        };
        let watch = Watch {
            passed: &|bytes| progress.add(bytes),
            failed: &failed,
            failed_again: &|error| reported.note(error.exit_code()),
            warned: &|text| progress.hidden(|| warning(text)),
            stop: &stop.asked,
        };
        let options =
            Options { view, force: self.force, meta: !self.no_meta, jobs: values::jobs_or_all(self.jobs) };
        let done = unpack::unpack(&archive, chosen.as_ref(), &self.dir, options, &watch);
        drop(progress);
        stop.obey();
        done?;
        reported.done()
    }
}

/// The datasets that the patterns select, and the view's derived files, by name without extension.
fn choose(archive: &Archive, globs: &[OsString], view: Option<&'static dyn View>) -> Result<Choice> {
    let names = |view: &dyn View| {
        let all = archive.derived().of_view(view.kind(), view.extension());
        all.map(|(_, name)| name.to_vec()).collect()
    };
    let derived: Vec<Vec<u8>> = view.map_or_else(Vec::new, names);
    let mut choice = Choice::default();
    for glob in globs {
        let found = select::among(&derived, glob);
        choice.derived.extend(found.iter().map(|name| name.to_vec()));
        match select::select(archive, glob) {
            Ok(numbers) => choice.datasets.extend(numbers),
            Err(Error::NoDataset { .. }) if !found.is_empty() => {}
            Err(error) => return Err(error),
        }
    }
    choice.datasets.sort_unstable();
    choice.datasets.dedup();
    Ok(choice)
}
