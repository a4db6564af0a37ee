//! `rab verify`: every dataset of every file is read and compared with what is known of it. One line for each
//! that is damaged, one for each file that is whole.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

use clap::Args;

use super::complain;
use super::output::{Done, Failure, Output, escaped};
use super::progress::Progress;
use crate::cli::reading::Reading;
use crate::cli::values;
use crate::{Checked, Error};

const DAMAGED: u8 = 12;

/// Check that every dataset is whole
///
/// Reads and decodes everything, and compares lengths, the check values of compressed data, and the
/// SHA-256 and CRC-32 checksums where they are recorded. Prints a line for each damaged dataset, for each that is
/// refused for what it is (code, for example), and for each file that is whole; the exit code is 12 if anything is
/// damaged.
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
            match self.file(file, out, &mut worst) {
                Err(Failure::Error(error)) => {
                    complain(&error);
                    note(&mut worst, error.exit_code());
                }
                done => done?,
            }
        }
        if worst == 0 { Ok(()) } else { Err(Failure::Said(worst)) }
    }

    /// Says what is wrong with its datasets; an error is that of the whole file.
    fn file(&self, file: &Path, out: &mut Output, worst: &mut u8) -> Done {
        let archive = self.reading.open(file)?;
        let progress = Progress::new(archive.stored_len());
        let (mut is_whole, mut sums, mut unknown) = (true, 0, 0);
        // Small, as a million of them may wait for the first.
        let verify = |number| -> Result<Checked, Box<Error>> {
            Ok(archive.dataset_at(number)?.verify(&|bytes| progress.add(bytes))?)
        };
        in_order(archive.len(), &verify, &mut |checked| {
            match checked {
                Ok(checked) => {
                    sums += usize::from(checked == Checked::Checksum);
                    unknown += usize::from(checked == Checked::UnknownChecksum);
                }
                Err(error) if matches!(*error, Error::Damaged { .. }) => {
                    (is_whole, *worst) = (false, DAMAGED);
                    progress.hidden(|| {
                        writeln!(out, "{}", escaped(&error.to_string())).and_then(|()| out.flush())
                    })?;
                }
                // Nothing is wrong with the file, but not all of it can be read.
                Err(error) if matches!(*error, Error::Unsupported { .. }) => {
                    is_whole = false;
                    note(worst, error.exit_code());
                    progress.hidden(|| {
                        writeln!(out, "{}", escaped(&error.to_string())).and_then(|()| out.flush())
                    })?;
                }
                // A disk may still give what the others need.
                Err(error) if matches!(*error, Error::Read { .. }) => {
                    is_whole = false;
                    note(worst, error.exit_code());
                    progress.hidden(|| complain(&error));
                }
                Err(error) => return Err((*error).into()),
            }
            Ok(())
        })?;
        drop(progress);
        if is_whole && !self.quiet {
            let shown = file.display().to_string();
            write!(out, "{}: ok: datasets: {}, with checksum: {sums}", escaped(&shown), archive.len())?;
            if unknown > 0 {
                write!(out, ", with a checksum of an unknown algorithm, not compared: {unknown}")?;
            }
            writeln!(out)?;
        }
        Ok(())
    }
}

/// Damage says more than what could not be looked at.
fn note(worst: &mut u8, code: u8) {
    if *worst == 0 || code == DAMAGED {
        *worst = code;
    }
}

/// Results that may wait for the one of an earlier dataset.
const AHEAD: usize = 1024;

/// Calls `work` with every number below `count` on all processors, and `each` with what it gives, in order. An error
/// of `each` is the end.
fn in_order<T: Send>(
    count: usize,
    work: &(impl Fn(usize) -> T + Sync),
    each: &mut dyn FnMut(T) -> Done,
) -> Done {
    let jobs = values::jobs_or_all(None).min(count);
    if jobs < 2 {
        return (0..count).try_for_each(|number| each(work(number)));
    }
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        // Each thread takes every number in turn that no other has; a full channel keeps it from running away.
        let (tell, told) = mpsc::sync_channel(AHEAD);
        let start = |_: &usize| {
            let (tell, next) = (tell.clone(), &next);
            let work = move || {
                let mut number = next.fetch_add(1, Ordering::Relaxed);
                while number < count && tell.send((number, work(number))).is_ok() {
                    number = next.fetch_add(1, Ordering::Relaxed);
                }
            };
            thread::Builder::new().name("rab-verify".into()).spawn_scoped(scope, work).is_ok()
        };
        // One that cannot be started leaves its share to the others.
        if (0..jobs).filter(start).count() == 0 {
            return (0..count).try_for_each(|number| each(work(number)));
        }
        drop(tell);
        let (mut early, mut due) = (BTreeMap::new(), 0);
        for (number, result) in told {
            early.insert(number, result);
            while let Some(result) = early.remove(&due) {
                each(result)?;
                due += 1;
            }
        }
        Ok(())
    })
}
