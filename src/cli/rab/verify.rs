//! `rab verify`: reads every dataset of every file and checks it against its checksums and metadata. Prints one line
//! for each damaged dataset and a summary for each file.

use std::collections::BTreeMap;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

use clap::Args;

use super::complain;
use super::output::{Done, Output};
use super::progress::Progress;
use super::reported::Reported;
use super::several::Chosen;
use crate::cli::reading::{READING, Reading};
use crate::cli::values;
use crate::report::escaped;
use crate::{Checked, Error};

const HELP: &str = "\
Reads and decodes everything, and compares lengths and all checksums that are known. Prints a line for each \
damaged dataset, and a summary for each file. The exit code is 12 if anything is damaged.

Examples:
  rab verify *.rab
  rab verify -rq DIR";

/// Check that every dataset is intact
#[derive(Args)]
#[command(after_help = HELP)]
pub struct Verify {
    /// The containers
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,

    /// Search directories for containers, at any depth
    #[arg(short, long)]
    recursive: bool,

    /// Print only what is damaged
    #[arg(short, long)]
    quiet: bool,

    #[command(flatten, next_help_heading = READING)]
    reading: Reading,
}

impl Verify {
    pub fn run(&self, out: &mut Output) -> Done {
        if self.reading.no_verify {
            let problem = "verify compares checksums, so --no-verify cannot be used with it";
            return Err(Error::Usage(problem.into()).into());
        }
        let chosen = Chosen::files(&self.files, &self.reading.options(), self.recursive)?;
        // One bar for all files, so that it estimates the time for all.
        let progress = Progress::new(chosen.files.iter().map(|file| len(file)).sum());
        chosen.each(&mut |file| {
            let reported = Reported::default();
            self.file(file, &progress, out, &reported)?;
            reported.done()
        })
    }

    /// Verifies a file and reports its damaged datasets; an error concerns the whole file.
    fn file(&self, file: &Path, progress: &Progress, out: &mut Output, reported: &Reported) -> Done {
        let archive = self.reading.open(file).inspect_err(|_| progress.skip(len(file)))?;
        progress.correct(len(file), archive.stored_len());
        let mut counts = Counts { all: archive.len(), ..Counts::default() };
        // A small result type, since many of them may wait for an earlier one.
        let verify = |number| -> Result<(Checked, Option<String>), Box<Error>> {
            let checked = archive.dataset_at(number)?.verify(&|bytes| progress.add(bytes))?;
            Ok((checked, archive.doubt(number).filter(|_| !self.quiet)))
        };
        in_order(archive.len(), &verify, &mut |checked| {
            let error = match checked {
                Ok((checked, doubt)) => {
                    if let Some(doubt) = doubt {
                        progress.hidden(|| super::warning(&doubt));
                    }
                    counts.add(checked);
                    return Ok(());
                }
                Err(error) => *error,
            };
            match &error {
                // The other datasets may still be readable.
                Error::Read { .. } | Error::Damaged { .. } => counts.failed += 1,
                // Refused datasets are not damaged, but cannot be read entirely.
                Error::Unsupported { problem, .. } => counts.refuse(problem),
                _ => return Err(error.into()),
            }
            if !reported.is_new(&error) {
                return Ok(());
            }
            progress.hidden(|| match &error {
                Error::Read { .. } => {
                    complain(&error);
                    Ok(())
                }
                error => writeln!(out, "{}", escaped(&error.to_string())).and_then(|()| out.flush()),
            })?;
            Ok(())
        })?;
        if counts.failed == 0 && !self.quiet {
            let shown = file.display().to_string();
            let line = format!("{}: {}", escaped(&shown), escaped(&counts.summary()));
            progress.hidden(|| writeln!(out, "{line}").and_then(|()| out.flush()))?;
        }
        Ok(())
    }
}

/// The length of a file; 0 for a directory, whose files are unknown before it is opened.
fn len(file: &Path) -> u64 {
    std::fs::metadata(file).map_or(0, |meta| if meta.is_file() { meta.len() } else { 0 })
}

/// The numbers of datasets in a file, by result.
#[derive(Default)]
struct Counts {
    all: usize,
    ok: usize,
    /// Ok, with a checksum.
    with_checksum: usize,
    with_unknown_checksum: usize,
    /// Ok: compressed, without a checksum of the stored bytes.
    decoded: usize,
    /// Ok: Python objects, of which only the bytes were compared with a checksum.
    bytes_only: usize,
    /// Damaged or unreadable; reported one by one.
    failed: usize,
    refused: usize,
    /// The reason for refusal, if it is the same for all.
    reason: Option<String>,
}

impl Counts {
    fn add(&mut self, checked: Checked) {
        self.ok += 1;
        self.with_checksum += usize::from(checked == Checked::Checksum);
        self.with_unknown_checksum += usize::from(checked == Checked::UnknownChecksum);
        self.decoded += usize::from(checked == Checked::Decoded);
        self.bytes_only += usize::from(checked == Checked::BytesOnly);
    }

    fn refuse(&mut self, problem: &str) {
        self.reason = match self.refused {
            0 => Some(problem.to_owned()),
            _ => self.reason.take().filter(|reason| reason == problem),
        };
        self.refused += 1;
    }

    fn summary(&self) -> String {
        let Counts { all, ok, with_checksum: sums, with_unknown_checksum: unknown, refused, .. } = self;
        let bytes_only = match self.bytes_only {
            0 => String::new(),
            count => format!(", {count} checked as bytes, as Python objects are not interpreted"),
        };
        if *refused > 0 {
            let reason = self.reason.as_ref().map_or(String::new(), |reason| format!(": {reason}"));
            return format!("{ok} of {all} datasets ok{bytes_only}; {refused} not checked{reason}");
        }
        let datasets = if *all == 1 { "dataset" } else { "datasets" };
        let unknown = match unknown {
            0 => String::new(),
            unknown => format!(", {unknown} with one of an unknown algorithm, not compared"),
        };
        let decoded = match self.decoded {
            0 => String::new(),
            count => format!(", {count} decompressed to the end"),
        };
        format!("ok: {all} {datasets}, {sums} with a checksum{decoded}{unknown}{bytes_only}")
    }
}

/// Number of results that may wait for an earlier dataset's.
const AHEAD: usize = 1024;

/// Calls `work` for every number below `count` on all processors, and `each` with the results, in order. An error from
/// `each` ends it.
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
        // Each thread takes the next free number; the bounded channel keeps threads from running too far ahead.
        let (sender, results) = mpsc::sync_channel(AHEAD);
        let start = |_: &usize| {
            let (sender, next) = (sender.clone(), &next);
            let caught = |number| catch_unwind(AssertUnwindSafe(|| work(number)));
            let work = move || {
                let mut number = next.fetch_add(1, Ordering::Relaxed);
                while number < count && sender.send((number, caught(number))).is_ok() {
                    number = next.fetch_add(1, Ordering::Relaxed);
                }
            };
            thread::Builder::new().name("rab-verify".into()).spawn_scoped(scope, work).is_ok()
        };
        // If a thread cannot be started, the others do its share.
        if (0..jobs).filter(start).count() == 0 {
            return (0..count).try_for_each(|number| each(work(number)));
        }
        drop(sender);
        let (mut early, mut due) = (BTreeMap::new(), 0);
        for (number, result) in results {
            early.insert(number, result);
            while let Some(result) = early.remove(&due) {
                each(result.unwrap_or_else(|panic| resume_unwind(panic)))?;
                due += 1;
            }
        }
        Ok(())
    })
}
