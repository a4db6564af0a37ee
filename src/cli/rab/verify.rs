//! `rab verify`: every dataset of every file is read and compared with what is known of it. One line for each
//! that is damaged, one for each file that is whole.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;

use super::complain;
use super::output::{Done, Failure, Output, escaped};
use super::progress::Progress;
use crate::cli::reading::Reading;
use crate::{Archive, Checked, Error, Result};

const DAMAGED: u8 = 12;

/// Check that every dataset is whole
///
/// Reads and decodes everything, and compares lengths, the check values of compressed data, and SHA-256
/// checksums where they are recorded. Prints a line for each damaged dataset and for each file that is whole;
/// the exit code is 12 if anything is damaged.
#[derive(Args)]
pub struct Verify {
    /// The containers
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,

    /// Only say what is damaged
    #[arg(short, long)]
    quiet: bool,

    #[command(flatten)]
    reading: Reading,
}

impl Verify {
    pub fn run(&self, out: &mut Output) -> Done {
        let mut worst = 0;
        for file in &self.files {
            let code = match self.file(file, out) {
                Ok(damaged) => {
                    if damaged {
                        DAMAGED
                    } else {
                        0
                    }
                }
                Err(Failure::Error(error)) => {
                    complain(&error);
                    error.exit_code()
                }
                Err(other) => return Err(other),
            };
            // Damage says more than a file that could not be looked at.
            worst = if worst == 0 || code == DAMAGED { code } else { worst };
        }
        if worst == 0 { Ok(()) } else { Err(Failure::Said(worst)) }
    }

    /// Is anything in it damaged?
    fn file(&self, file: &Path, out: &mut Output) -> Done<bool> {
        let archive = self.reading.open(file)?;
        let mut progress = Progress::new(archive.stored_len());
        let (mut damaged, mut sums) = (false, 0);
        for number in 0..archive.len() {
            match verify(&archive, number, &mut progress) {
                Ok(checked) => sums += usize::from(checked == Checked::Checksum),
                Err(error @ Error::Damaged { .. }) => {
                    damaged = true;
                    progress.hidden(|| {
                        writeln!(out, "{}", escaped(&error.to_string())).and_then(|()| out.flush())
                    })?;
                }
                Err(error) => return Err(error.into()),
            }
        }
        progress.end();
        if !damaged && !self.quiet {
            let shown = file.display().to_string();
            writeln!(out, "{}: ok: datasets: {}, with checksum: {sums}", escaped(&shown), archive.len())?;
        }
        Ok(damaged)
    }
}

fn verify(archive: &Archive, number: usize, progress: &mut Progress) -> Result<Checked> {
    archive.dataset_at(number)?.verify(&mut |bytes| progress.add(bytes))
}
