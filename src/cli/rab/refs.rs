//! `rab refs`: where the arrays of containers are, for programs that read Zarr by references.

use std::path::PathBuf;

use clap::Args;
use clap::builder::NonEmptyStringValueParser;

use super::complain;
use super::output::{Done, Failure, Output};
use crate::cli::reading::Opening;
use crate::error::Error;
use crate::refs;

/// Print where arrays are in the file, for fsspec, xarray and other programs that read Zarr
///
/// They then read the container itself, over HTTP, S3 or from a disk, without a mount and without rab. Prints
/// kerchunk's references (version 1): for each key of a Zarr store its text, or address, offset and length.
/// Arrays that are not in the file as they are, nor as a zlib or gzip stream, are left out and named on standard
/// error; if there is no other array, the exit code is 1. Of a directory each container is a group, called by its path.
#[derive(Args)]
pub struct Refs {
    /// The container, or a directory of containers
    source: PathBuf,

    /// The address that readers will find SOURCE at [default: its path]
    #[arg(long, value_name = "URL", value_parser = NonEmptyStringValueParser::new())]
    url: Option<String>,

    #[command(flatten)]
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
            // That something cannot be referred to is no failure, damage is.
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
            (worst, _) => Err(Failure::Said(worst)),
        }
    }
}

/// Of what is neither damage nor a file that cannot be read.
const ORDINARY: u8 = 1;
