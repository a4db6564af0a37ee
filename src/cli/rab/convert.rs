//! `rab convert`: converts a container to the format given by an extension.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::Args;

use super::output::Done;
use super::progress::Progress;
use super::reported::Reported;
use super::stop::Stop;
use super::{complain, select};
use crate::cli::complete::dataset_names;
use crate::cli::reading::{Opening, READING};
use crate::cli::values;
use crate::convert::{self, Options, Watch};
use crate::format::writer::holds_only_one_array;
use crate::yaml::Text;
use crate::{Archive, Compression, Error, Result};

const HELP: &str = "\
Names, order, types and metadata are kept; what the new format cannot hold is named on standard error. \
Without --compress, datasets that are compressed are compressed again.

Examples:
  rab convert run7.npz run7.rab
  rab convert run7.rab small.rab --compress=9
  rab convert run7.rab data.npy data";

/// Write the datasets of a container to a new file, in the format of its extension
#[derive(Args)]
#[command(after_help = HELP)]
pub struct Convert {
    /// The container to read
    input: PathBuf,

    /// The new file
    out: PathBuf,

    /// Names of datasets, or globs [default: all]
    #[arg(add = dataset_names())]
    glob: Vec<OsString>,

    /// Compress every dataset, at a level from 1 to 9 [6 if none is given]; 0 or none: compress nothing
    #[arg(short, long, value_name = "LEVEL", num_args = 0..=1, require_equals = true, default_missing_value = "6",
          value_parser = values::compression)]
    compress: Option<Compression>,

    /// Name of the dataset, if there is only one [default: its own; of a .npy file, the file's without .npy]
    #[arg(long)]
    name: Option<String>,

    /// Replace OUT if it exists
    #[arg(short, long)]
    force: bool,

    /// Number of compression threads [default: the number of processors]
    #[arg(short, long, value_name = "N", value_parser = values::threads)]
    jobs: Option<usize>,

    #[command(flatten, next_help_heading = READING)]
    opening: Opening,
}

impl Convert {
    pub fn run(&self) -> Done {
        let archive = convert::as_held_by(self.opening.open(&self.input)?, &self.out)?;
        let numbers = match self.glob.as_slice() {
            [] if holds_only_one_array(&self.out) => only_array(&archive, &self.out)?,
            [] => (0..archive.len()).collect(),
            globs => select::select_each(&archive, globs)?,
        };
        if self.name.is_some() && numbers.len() != 1 {
            let problem = format!("--name is for one dataset, and {} are selected", numbers.len());
            return Err(Error::Usage(problem).into());
        }
        let options = Options {
            name: self.name.as_deref().map(Text::from),
            compression: self.compress,
            force: self.force,
            jobs: values::jobs_or_all(self.jobs),
        };
        let len = select::stored_len(&archive, Some(&numbers));
        watched(len, |watch| convert::convert(&archive, &numbers, &self.out, &options, watch))
    }
}

/// Converts with a progress bar and notes on stderr; Ctrl-C stops it.
fn watched(len: u64, convert: impl FnOnce(&Watch<'_>) -> Result<()>) -> Done {
    let (progress, stop, reported) = (Progress::new(len), Stop::listen(), Reported::default());
    let noted = |note: &str| progress.hidden(|| super::note(note));
    let warned = |text: &str| progress.hidden(|| super::warning(text));
    let failed = |error: &Error| {
        if reported.is_new(error) {
            progress.hidden(|| complain(error));
        }
    };
    let passed = |bytes| progress.add(bytes);
    let done = convert(&Watch {
        passed: &passed,
        noted: &noted,
        warned: &warned,
        failed: &failed,
        stop: &stop.asked,
    });
    drop(progress);
    stop.obey();
    done?;
    reported.done()
}

/// The number of a container's only array.
fn only_array(archive: &Archive, out: &Path) -> Result<Vec<usize>> {
    let mut arrays = Vec::new();
    for number in 0..archive.len() {
        if archive.brief_at(number)?.array.is_some() {
            arrays.push(number);
        }
    }
    match arrays.len() {
        1 => Ok(arrays),
        count => Err(Error::Usage(format!(
            "{}: a .npy file holds one array, and {} has {count}: name one after the output",
            out.display(),
            archive.path().display()
        ))),
    }
}
