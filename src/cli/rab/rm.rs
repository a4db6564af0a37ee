//! `rab rm`: removes datasets from a container, either all of them or none.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;

use super::output::Done;
use super::select;
use crate::cli::complete::editable_dataset_names;
use crate::{Archive, Editor};

const HELP: &str = "\
Damaged datasets can be removed too. The file is replaced in one step, by a new one written beside it: all of \
the datasets are removed, or nothing is changed.

Example:
  rab rm run7.rab 'draft/*'";

/// Remove datasets from a RAB file
#[derive(Args)]
#[command(after_help = HELP)]
pub struct Rm {
    /// The RAB file
    file: PathBuf,

    /// A dataset's name, or a glob
    #[arg(value_name = "NAME", required = true, add = editable_dataset_names())]
    names: Vec<OsString>,
}

impl Rm {
    pub fn run(&self) -> Done {
        let mut editor = Editor::open(&self.file)?;
        let archive = Archive::open(&self.file)?;
        let mut chosen = BTreeSet::new();
        for name in &self.names {
            chosen.extend(select::select(&archive, name)?);
        }
        for number in chosen {
            editor.remove(archive.raw_name(number))?;
        }
        Ok(editor.finish()?)
    }
}
