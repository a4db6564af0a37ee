//! `rab pack`: makes a new container from files and directories.

use std::fs;
use std::io;
use std::path::PathBuf;

use clap::Args;

use super::inputs::{self, Inputs};
use super::output::Done;
use super::records::Records;
use super::stop::Stop;
use crate::error::Place;
use crate::format::writer::{self, WriteOptions};
use crate::{Error, Result};

const HELP: &str = "\
OUT ends in .rab, .npz, .safetensors, .ra or .npy (one array), .ffr, .awkd (flat and jagged arrays) or .arrow \
(Onda signals). A .npy file becomes an array, an .npz file an array for each member, and other files bytes. \
A file that has a mount's sidecar (NAME.meta.yaml) beside it becomes what the sidecar describes.

Examples:
  rab pack new.rab samples.npy notes.txt --text --compress
  rab pack copy.rab DIR                      a directory, such as the copy of a mount
  producer | rab pack new.ffr - --lines      a record for each line";

/// Make a container from files and directories
#[derive(Args)]
#[command(after_help = HELP)]
pub struct Pack {
    /// The new container; its extension chooses the format
    #[arg(value_name = "OUT")]
    out: PathBuf,

    #[command(flatten)]
    inputs: Inputs,

    /// Replace OUT if it exists
    #[arg(short, long)]
    force: bool,

    #[command(flatten, next_help_heading = "FFRecord files")]
    records: Records,
}

impl Pack {
    pub fn run(&self) -> Done {
        self.check_target()?;
        if self.records.are_meant(&self.out) {
            let paths = self.inputs.only_paths()?;
            return Stop::heard(|stop| Ok(self.records.pack(&self.out, paths, self.force, stop)?));
        }
        let plan = self.inputs.plan(&self.out)?;
        let options = WriteOptions { jobs: self.inputs.jobs(), force: self.force };
        Stop::heard(|stop| {
            let mut to = writer::create(&self.out, &options)?;
            inputs::write(&plan, &mut *to, &self.out, stop)?;
            Ok(to.finish()?)
        })
    }

    fn check_target(&self) -> Result<()> {
        match fs::metadata(&self.out) {
            Ok(meta) if meta.is_dir() && !self.records.is_directory() => {
                Err(Error::write(Place::file(&self.out), io::ErrorKind::IsADirectory.into()))
            }
            Ok(meta) if !self.force && !meta.is_dir() => {
                Err(Error::Other(format!("{}: exists: --force replaces it", self.out.display())))
            }
            _ => Ok(()),
        }
    }
}
