//! `rab refs`: prints references to the arrays of containers, for programs that read Zarr.

use std::path::PathBuf;

use clap::Args;
use clap::builder::NonEmptyStringValueParser;

use super::complain;
use super::output::{Done, Failure, Output};
use crate::cli::reading::{Opening, READING};
use crate::error::Error;
use crate::refs;

const HELP: &str = "\
The output is JSON, version 1 of kerchunk's references. With it, programs read the container itself from a \
disk, over HTTP or from S3, without a mount and without rab. Arrays that references cannot describe, such as \
compressed members of NPZ files, are left out and named on standard error.

Example:
  rab refs run7.rab --url https://host/run7.rab > run7.json";

/// Print where arrays are stored, for programs that read Zarr (fsspec, xarray)
#[derive(Args)]
#[command(after_help = HELP)]
pub struct Refs {
    /// The container, or a directory of containers
    source: PathBuf,

    /// Address at which readers will find SOURCE [default: its absolute path]
    #[arg(long, value_name = "URL", value_parser = NonEmptyStringValueParser::new())]
    url: Option<String>,

    #[command(flatten, next_help_heading = READING)]
    opening: Opening,
}

impl Refs {
    pub fn run(&self, out: &mut Output) -> Done {
        let (formats, and) = (self.opening.options(), self.opening.and());
        let request =
            refs::Request { source: &self.source, and, formats: &formats, url: self.url.as_deref() };
        let mut worst = 0;
        let mut left_out = |error: &Error| {
            complain(error);
            // Damage is a failure; an array that cannot be referenced is not.
            let code = error.exit_code();
            worst = worst.max(if code == ORDINARY { 0 } else { code });
        };
        let arrays =
            refs::write(&request, out, &mut left_out).map_err(|cause| match Error::inside(&cause) {
                Some(error) => error.clone().into(),
                None => Failure::from(cause),
            })?;
        match (worst, arrays) {
            (0, 0) => {
                let source = self.source.display();
                Err(Error::Other(format!("{source}: has no array that references can point to")).into())
            }
            (0, _) => Ok(()),
            (worst, _) => Err(Failure::Reported(worst)),
        }
    }
}

/// The exit code of errors that are neither damage nor unreadable files.
const ORDINARY: u8 = 1;
