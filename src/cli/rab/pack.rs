//! `rab pack`: files and directories become a new container.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use clap::Args;

use super::inputs::Inputs;
use super::output::Done;
use super::progress::Progress;
use super::warn;
use crate::error::Place;
use crate::format::target;
use crate::{Error, Result, pack};

/// Make a container of files and directories
///
/// .npy become arrays, .npz an array for each member, everything else bytes. Files with a sidecar of a mount
/// (NAME.meta.yaml) become what the sidecar says. Names are relative to the directory given.
#[derive(Args)]
pub struct Pack {
    /// The container to be made; its extension tells the format
    #[arg(value_name = "OUT.rab")]
    out: PathBuf,

    #[command(flatten)]
    inputs: Inputs,

    /// Replace OUT if it exists
    #[arg(long)]
    force: bool,
}

impl Pack {
    pub fn run(&self) -> Done {
        self.check_target()?;
        let plan = self.inputs.plan()?;
        if let Some(input) = plan.reads(&self.out) {
            let problem = format!("{}: is to be written, and is among what is packed", input.display());
            return Err(Error::Usage(problem).into());
        }
        plan.notes.iter().for_each(|note| warn(note));
        let mut to = target::create(&self.out, &self.inputs.write_options())?;
        let mut progress = Progress::new(plan.len());
        let written = pack::write(&plan, &mut *to, directory(&self.out), &mut |bytes| progress.add(bytes));
        progress.end();
        written?.iter().for_each(|note| warn(note));
        Ok(to.finish()?)
    }

    fn check_target(&self) -> Result<()> {
        match fs::metadata(&self.out) {
            Ok(meta) if meta.is_dir() => {
                Err(Error::write(Place::file(&self.out), io::ErrorKind::IsADirectory.into()))
            }
            Ok(_) if !self.force => {
                Err(Error::Other(format!("{}: exists: --force replaces it", self.out.display())))
            }
            _ => Ok(()),
        }
    }
}

/// Where a file is.
fn directory(file: &Path) -> &Path {
    file.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
