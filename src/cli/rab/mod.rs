//! The command `rab`: one verb, one file. Results go to standard output, errors to standard error as
//! `rab: ...`, and the exit codes are those of `rab-mount`.

mod cat;
mod get;
mod info;
mod ls;
mod numbers;
mod opaque;
mod output;
mod print;
mod progress;
mod report;
mod select;
mod verify;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use super::Options;
use crate::Error;
use output::{Done, Failure, Output};

const SHORT_NOTE: &str = "See 'rab VERB --help' or rab(1) for more.";

const LONG_NOTE: &str = "\
Examples:
  rab ls -l run7.rab 'sub01/*'         names, types, shapes and sizes
  rab info run7.rab 'my array' --stats everything known of a dataset
  rab cat run7.rab notes | less        a dataset's decoded bytes
  rab get run7.rab 'data[3, 10:20, ::2]'
  rab verify *.rab                     is every dataset whole?

Exit codes:
   0  success
   1  anything not listed here
   2  wrong usage
   3  no such dataset
  10  the container cannot be opened
  11  not a container of a known format
  12  the container, or a dataset that was asked for, is damaged
  20  the mountpoint cannot be used (or not be unmounted)
  21  FUSE is not available";

/// Look into scientific container files (RAB, RawArray)
///
/// A dataset is named as it is in the container, or by a glob: * and ? and [abc] also match slashes. An exact
/// name wins over a glob.
#[derive(Parser)]
#[command(name = "rab", version, after_help = SHORT_NOTE, after_long_help = LONG_NOTE, max_term_width = 110)]
pub struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    Ls(ls::Ls),
    Info(info::Info),
    Cat(cat::Cat),
    Get(get::Get),
    Verify(verify::Verify),
    /// Mount a container as a directory: the same as rab-mount
    Mount(Box<Options>),
}

/// The whole of `rab`.
pub fn rab() -> ExitCode {
    super::log_panics();
    let verb = match Cli::try_parse() {
        Ok(cli) => cli.verb,
        Err(error) => return super::said_by_clap(&error),
    };
    let done = match verb {
        Verb::Mount(options) => return super::mount_with(*options),
        Verb::Ls(ls) => with_output(|out| ls.run(out)),
        Verb::Info(info) => with_output(|out| info.run(out)),
        Verb::Cat(cat) => with_output(|out| cat.run(out)),
        Verb::Get(get) => with_output(|out| get.run(out)),
        Verb::Verify(verify) => with_output(|out| verify.run(out)),
    };
    match done {
        Ok(()) | Err(Failure::Pipe) => ExitCode::SUCCESS,
        Err(Failure::Said(code)) => ExitCode::from(code),
        Err(Failure::Error(error)) => {
            complain(&error);
            ExitCode::from(error.exit_code())
        }
    }
}

/// What was printed before an error is not lost.
fn with_output(verb: impl FnOnce(&mut Output) -> Done) -> Done {
    let mut out = Output::new()?;
    let done = verb(&mut out);
    let flushed = out.flush();
    done?;
    Ok(flushed?)
}

/// One line on stderr, which may be closed.
fn complain(error: &Error) {
    let _ = io::stderr().write_all(format!("rab: {error}\n").as_bytes());
}
