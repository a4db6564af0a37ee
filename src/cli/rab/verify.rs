//! `rab verify`: every dataset of every file is read and compared with what is known of it. One line for each
//! that is damaged, one for each file that is whole.

use std::collections::BTreeMap;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

use clap::Args;

use super::complain;
use super::output::{Done, Failure, Output, escaped};
use super::progress::Progress;
use super::told::Told;
use crate::cli::reading::Reading;
use crate::cli::values;
use crate::{Checked, Error};

/// Check that every dataset is whole
///
/// Reads and decodes everything, and compares lengths, the check values of compressed data, and the
/// SHA-256 and CRC-32 checksums where they are recorded. Prints a line for each damaged dataset, for each that is
/// refused for what it is (code, for example), and for each file that is whole; the exit code is 12 if anything is
/// damaged. Arrays of Python objects are checked as bytes and not interpreted.
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
        let all = Told::default();
        for file in &self.files {
            let told = Told::default();
            match self.file(file, out, &told) {
                Err(Failure::Error(error)) => {
                    complain(&error);
                    all.note(error.exit_code());
                }
                done => done?,
            }
            all.note(told.code());
        }
        all.done()
    }

    /// Says what is wrong with its datasets; an error is that of the whole file.
    fn file(&self, file: &Path, out: &mut Output, told: &Told) -> Done {
        let archive = self.reading.open(file)?;
        let progress = Progress::new(archive.stored_len());
        let (mut sums, mut unknown, mut opaque) = (0, 0, 0);
        // Small, as a million of them may wait for the first.
        let verify = |number| -> Result<(Checked, Option<String>), Box<Error>> {
            let checked = archive.dataset_at(number)?.verify(&|bytes| progress.add(bytes))?;
            Ok((checked, archive.doubt(number).filter(|_| !self.quiet)))
        };
        in_order(archive.len(), &verify, &mut |checked| {
            match checked {
                Ok((checked, doubt)) => {
                    if let Some(doubt) = doubt {
                        progress.hidden(|| super::warning(&doubt));
                    }
                    sums += usize::from(checked == Checked::Checksum);
                    unknown += usize::from(checked == Checked::UnknownChecksum);
                    opaque += usize::from(checked == Checked::BytesOnly);
                }
                Err(error) => match *error {
                    // A disk may still give what the others need.
                    ref error @ Error::Read { .. } => {
                        if told.is_new(error) {
                            progress.hidden(|| complain(error));
                        }
                    }
                    // With what is refused nothing is wrong, but not all of it can be read.
                    ref error @ (Error::Damaged { .. } | Error::Unsupported { .. }) => {
                        if told.is_new(error) {
                            progress.hidden(|| {
                                writeln!(out, "{}", escaped(&error.to_string())).and_then(|()| out.flush())
                            })?;
                        }
                    }
                    error => return Err(error.into()),
                },
            }
            Ok(())
        })?;
        drop(progress);
        if told.code() == 0 && !self.quiet {
            let shown = file.display().to_string();
            write!(out, "{}: ok: datasets: {}, with checksum: {sums}", escaped(&shown), archive.len())?;
            if unknown > 0 {
                write!(out, ", with a checksum of an unknown algorithm, not compared: {unknown}")?;
            }
            if opaque > 0 {
                write!(out, ", checked as bytes, as Python objects are not interpreted: {opaque}")?;
            }
            writeln!(out)?;
        }
        Ok(())
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
            let caught = |number| catch_unwind(AssertUnwindSafe(|| work(number)));
            let work = move || {
                let mut number = next.fetch_add(1, Ordering::Relaxed);
                while number < count && tell.send((number, caught(number))).is_ok() {
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
                each(result.unwrap_or_else(|panic| resume_unwind(panic)))?;
                due += 1;
            }
        }
        Ok(())
    })
}
