//! `rab add`: adds files and directories to a container as datasets.

use std::path::PathBuf;

use clap::Args;

use super::inputs::{self, Inputs};
use super::output::Done;
use super::stop::Stop;
use crate::format::writer::NewContainer;
use crate::tree::naming;
use crate::{Editor, Error, Result, pack};

const HELP: &str = "\
Files become datasets as with rab pack. The file is replaced in one step, by a new one written beside \
it: everything is added, or nothing is changed.

Example:
  rab add run7.rab notes.txt --text";

/// Add files and directories to a RAB file
#[derive(Args)]
#[command(after_help = HELP)]
pub struct Add {
    /// The RAB file
    file: PathBuf,

    #[command(flatten)]
    inputs: Inputs,

    /// Replace datasets of the same names; they keep their places, and their metadata unless new metadata is
    /// given
    #[arg(short, long)]
    force: bool,
}

impl Add {
    pub fn run(&self) -> Done {
        let mut editor = Editor::open(&self.file)?.jobs(self.inputs.jobs());
        let plan = self.inputs.plan(&self.file)?;
        self.check_names(&mut editor, &plan)?;
        Stop::heard(|stop| {
            inputs::write(&plan, &mut editor, &self.file, stop)?;
            Ok(NewContainer::finish(Box::new(editor))?)
        })
    }

    fn check_names(&self, editor: &mut Editor, plan: &pack::Plan) -> Result<()> {
        let mut datasets = plan.datasets.iter().filter(|_| !self.force);
        match datasets.find(|dataset| editor.has(dataset.name.as_bytes())) {
            None => Ok(()),
            Some(dataset) => Err(Error::Other(format!(
                "{}: already has a dataset {:?}: --force replaces it",
                self.file.display(),
                naming::printed(dataset.name.as_bytes())
            ))),
        }
    }
}
