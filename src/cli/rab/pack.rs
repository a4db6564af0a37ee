//! `rab pack`: files and directories become a new container.

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

/// Make a container of files and directories
///
/// OUT is RAB, NPZ, RawArray (.ra), FFRecord (.ffr), Awkward (.awkd), Onda (.arrow), safetensors or NPY by its extension. .npy become arrays, .npz an array for
/// each member, everything else bytes; the records of an FFRecord file are the inputs as they are. Files with a sidecar of
/// a mount (NAME.meta.yaml) become what the sidecar says. Names are relative to the directory given.
#[derive(Args)]
pub struct Pack {
    /// The container to be made; its extension tells the format
    #[arg(value_name = "OUT")]
    out: PathBuf,

    #[command(flatten)]
    inputs: Inputs,

    #[command(flatten)]
    records: Records,

    /// Replace OUT if it exists
    #[arg(short, long)]
    force: bool,
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
