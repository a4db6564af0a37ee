//! `rab mv`: renames a dataset.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use clap::Args;

use super::output::Done;
use crate::cli::complete::editable_dataset_names;
use crate::tree::naming;
use crate::{Archive, Editor, Error, Text};

const HELP: &str = "\
The dataset keeps its place in the order. The file is replaced in one step, by a new one written beside it.

Example:
  rab mv run7.rab data raw/data";

/// Rename a dataset of a RAB file
#[derive(Args)]
#[command(after_help = HELP)]
pub struct Mv {
    /// The RAB file
    file: PathBuf,

    /// The dataset's name; not a glob
    #[arg(add = editable_dataset_names())]
    old: OsString,

    /// Its new name
    new: OsString,

    /// Replace a dataset that has the new name
    #[arg(short, long)]
    force: bool,
}

impl Mv {
    pub fn run(&self) -> Done {
        let new = Text::from_wtf8(self.new.as_bytes())
            .ok_or_else(|| Error::Usage(format!("{:?}: the name of a dataset must be Unicode", self.new)))?;
        let mut editor = Editor::open(&self.file)?;
        let old = self.old.as_bytes();
        let meant = naming::unescaped(old).filter(|meant| !editor.has(old) && editor.has(meant));
        let old = meant.as_deref().unwrap_or(old);
        if old == new.as_bytes() && editor.has(old) {
            return Ok(());
        }
        if self.force && editor.has(old) && editor.has(new.as_bytes()) {
            editor.remove(new.as_bytes())?;
        }
        editor.rename(old, new).map_err(|error| match error {
            // The archive also suggests similar names.
            Error::NoDataset { .. } => {
                Archive::open(&self.file).map_or(error, |archive| archive.no_dataset(old))
            }
            error => error,
        })?;
        Ok(editor.finish()?)
    }
}
