//! The command `rab`: one verb, one file. Results go to standard output, errors to standard error as
//! `rab: ...`, and the exit codes are those of `rab-mount`.

mod add;
mod binary;
mod cat;
mod convert;
mod diff;
mod diff_json;
mod face;
mod framed;
mod get;
mod human;
mod info;
mod inputs;
mod items;
mod ls;
mod mv;
mod numbers;
mod opaque;
mod output;
mod pack;
mod print;
mod progress;
mod records;
mod refs;
mod rm;
mod select;
mod set;
mod several;
mod stop;
mod told;
mod typed;
mod unpack;
mod verify;
#[cfg(not(feature = "mount"))]
mod without_fuse;

use std::io::Write;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use super::{complete, panics};
use crate::{Error, format};
pub use output::complain_of;
use output::{Done, Failure, Output};

const SHORT_NOTE: &str = "See 'rab VERB --help' or rab(1) for more.";

const LONG_NOTE: &str = "\
Examples:
  rab ls -lh run7.rab 'sub01/*'        names, types, shapes and sizes
  rab info run7.rab 'my array' --stats everything known of a dataset
  rab cat run7.rab notes | less        a dataset's decoded bytes
  rab get run7.rab 'data[3, 10:20, ::2]'
  rab unpack run7.rab out 'sub01/*'    datasets as files
  rab refs run7.rab > run7.json        where arrays are, for fsspec and xarray
  rab pack new.rab DIR x.npy           files and directories become a container
  rab add run7.rab notes.txt --text    more datasets
  rab verify *.rab                     is every dataset whole?
  rab diff run7.rab copy.rab --rtol 1e-6
  rab convert run7.rab small.rab --compress=9
  rab rm run7.rab 'draft/*'            datasets taken out
  rab mv run7.rab data raw/data        another name
  rab set run7.rab data --key unit=mV  metadata

Exit codes:
   0  success
   1  anything not listed here; of diff: different
   2  wrong usage
   3  no such dataset
  10  the container cannot be opened
  11  not a container of a known format
  12  the container, or a dataset that was asked for, is damaged
  20  the mountpoint cannot be used (or not be unmounted)
  21  FUSE is not available";

const NAMES: &str = "A dataset is named as it is in the container, or by a glob: * and ? and [abc] also match slashes. \
    An exact name wins over a glob. Names that begin with a dash go behind --.";

fn about() -> String {
    format!("Look into scientific container files ({}), make them and edit them", format::known())
}

#[derive(Parser)]
#[command(name = "rab", version, about = about(), long_about = format!("{}\n\n{NAMES}", about()))]
#[command(after_help = SHORT_NOTE, after_long_help = LONG_NOTE, max_term_width = 110)]
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
    Unpack(unpack::Unpack),
    Refs(refs::Refs),
    Verify(verify::Verify),
    Diff(diff::Diff),
    Convert(convert::Convert),
    Pack(pack::Pack),
    Add(add::Add),
    Rm(rm::Rm),
    Mv(mv::Mv),
    Set(set::Set),
    /// Mount a container as a directory: the same as rab-mount
    #[cfg(feature = "mount")]
    Mount(Box<super::mount::Options>),
    #[cfg(not(feature = "mount"))]
    #[command(hide = true)]
    Mount(without_fuse::WithoutFuse),
}

/// The whole of `rab`.
pub fn rab() -> ExitCode {
    panics::reported("rab", parse_and_run)
}

fn parse_and_run() -> ExitCode {
    complete::answer::<Cli>();
    let verb = match Cli::try_parse() {
        Ok(cli) => cli.verb,
        Err(error) => return super::said_by_clap(&error),
    };
    let done = match verb {
        #[cfg(feature = "mount")]
        Verb::Mount(options) => return super::mount::run(*options),
        #[cfg(not(feature = "mount"))]
        Verb::Mount(mount) => mount.run(),
        Verb::Ls(ls) => with_output(|out| ls.run(out)),
        Verb::Info(info) => with_output(|out| info.run(out)),
        Verb::Cat(cat) => with_output(|out| cat.run(out)),
        Verb::Get(get) => with_output(|out| get.run(out)),
        Verb::Unpack(unpack) => unpack.run(),
        Verb::Refs(refs) => with_output(|out| refs.run(out)),
        Verb::Diff(diff) => with_output(|out| diff.run(out)),
        Verb::Convert(convert) => convert.run(),
        Verb::Pack(pack) => pack.run(),
        Verb::Add(add) => add.run(),
        Verb::Verify(verify) => with_output(|out| verify.run(out)),
        Verb::Rm(rm) => rm.run(),
        Verb::Mv(mv) => mv.run(),
        Verb::Set(set) => set.run(),
    };
    let code = match done {
        Ok(()) | Err(Failure::Pipe) => ExitCode::SUCCESS,
        Err(Failure::Said(code)) => ExitCode::from(code),
        Err(Failure::Error(error)) => {
            complain(&error);
            ExitCode::from(error.exit_code())
        }
    };
    if panics::were_seen() { ExitCode::FAILURE } else { code }
}

/// What was printed before an error is not lost.
fn with_output(verb: impl FnOnce(&mut Output) -> Done) -> Done {
    let mut out = Output::new()?;
    let done = verb(&mut out);
    let flushed = out.flush();
    done?;
    Ok(flushed?)
}

/// What a user may want to know, and nothing is wrong with.
pub fn note(text: &str) {
    complain_of("note", text);
}

pub fn warning(text: &str) {
    complain_of("warning", text);
}

fn complain(error: &Error) {
    warn(&error.to_string());
}

fn warn(message: &str) {
    complain_of("rab", message);
}
