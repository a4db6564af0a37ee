//! The command `rab`, with one file per verb. Results go to standard output, errors to standard error as `rab: ...`.
//! The exit codes are the same as those of `rab-mount`.

mod add;
mod as_view;
mod binary;
mod cat;
mod convert;
mod diff;
mod diff_json;
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
mod reported;
mod rm;
mod select;
mod set;
mod several;
mod stop;
mod typed;
mod unpack;
mod verify;
#[cfg(not(feature = "mount"))]
mod without_fuse;

use std::io::Write;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use super::urls::Urls;
use super::{complete, panics};
use crate::{Error, format, source};
pub use output::complain_of;
use output::{Done, Failure, Output};

const SHORT_NOTE: &str = "See 'rab VERB --help' for a verb's options, and rab(1) for all of it.";

const LONG_NOTE: &str = "\
Names of datasets are those in the container, or globs: *, ? and [abc] match slashes too. An exact name \
wins over a glob. Names that begin with a dash go after --.

Examples:
  rab ls -lh run7.rab 'sub01/*'              names, types, shapes and sizes
  rab cat run7.rab notes | less              a dataset's decoded bytes
  rab get run7.rab 'data[3, 10:20, ::2]'     part of an array
  rab verify *.rab                           is every dataset intact?
  rab unpack run7.rab out 'sub01/*'          datasets as files
  rab convert run7.rab run7.npz              the same data in another format

Exit codes:
   0  success
   1  anything not listed here; for diff: the containers differ
   2  wrong usage
   3  no such dataset
  10  the container cannot be opened
  11  not a container of a known format
  12  the container, or a dataset that was asked for, is damaged
  20  the mountpoint cannot be used, or cannot be unmounted
  21  FUSE is not available

See 'rab VERB --help' for a verb's options, and rab(1) for all of it.";

/// The verbs, grouped as in `--help` and the manual page.
const GROUPS: [(&str, &[&str]); 7] = [
    ("Inspect", &["ls", "info"]),
    ("Read", &["cat", "get"]),
    ("Check and compare", &["verify", "diff"]),
    ("Unpack and mount", &["unpack", "mount"]),
    ("References", &["refs"]),
    ("Write", &["pack", "convert"]),
    ("Edit RAB files", &["add", "rm", "mv", "set"]),
];

fn about() -> String {
    format!("Look into scientific container files ({}), make them and edit them", format::known())
}

/// The template for `--help`, since clap cannot group subcommands.
fn help_template() -> String {
    let verbs = Verb::augment_subcommands(clap::Command::new("rab"));
    let line = |name: &&str| {
        let verb = verbs.find_subcommand(name).filter(|verb| !verb.is_hide_set())?;
        Some(format!("  {name:<9}{}\n", verb.get_about()?))
    };
    let group = |(title, names): &(&str, &[&str])| {
        format!("{title}:\n{}\n", names.iter().filter_map(line).collect::<String>())
    };
    let groups: String = GROUPS.iter().map(group).collect();
    format!("{{about}}\n\n{{usage-heading}} {{usage}}\n\n{groups}Options:\n{{options}}{{after-help}}")
}

#[derive(Parser)]
#[command(name = "rab", version, about = about(), help_template = help_template(), override_usage = "rab VERB [OPTIONS] FILE [NAME]...")]
#[command(after_help = SHORT_NOTE, after_long_help = LONG_NOTE, max_term_width = 110)]
pub struct Cli {
    #[command(subcommand)]
    verb: Verb,

    #[command(flatten)]
    urls: Urls,
}

#[derive(Subcommand)]
enum Verb {
    Ls(ls::Ls),
    Info(info::Info),
    Cat(cat::Cat),
    Get(get::Get),
    Verify(verify::Verify),
    Diff(diff::Diff),
    Unpack(unpack::Unpack),
    /// Mount a container as a directory: the same as rab-mount
    #[cfg(feature = "mount")]
    Mount(Box<super::mount::Options>),
    #[cfg(not(feature = "mount"))]
    #[command(hide = true)]
    Mount(without_fuse::WithoutFuse),
    Refs(refs::Refs),
    Pack(pack::Pack),
    Convert(convert::Convert),
    Add(add::Add),
    Rm(rm::Rm),
    Mv(mv::Mv),
    Set(set::Set),
}

/// Runs `rab`.
pub fn rab() -> ExitCode {
    panics::reported("rab", parse_and_run)
}

fn parse_and_run() -> ExitCode {
    complete::answer::<Cli>();
    let verb = match Cli::try_parse() {
        Ok(cli) => {
            // A mount has them in its own options, and in -o.
            if !matches!(cli.verb, Verb::Mount(_)) {
                source::configure(cli.urls.access());
            }
            cli.verb
        }
        Err(error) => return super::print_clap_error(&error),
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
    source::finish();
    let code = match done {
        Ok(()) | Err(Failure::Pipe) => ExitCode::SUCCESS,
        Err(Failure::Reported(code)) => ExitCode::from(code),
        Err(Failure::Error(error)) => {
            complain(&error);
            ExitCode::from(error.exit_code())
        }
    };
    if panics::were_seen() { ExitCode::FAILURE } else { code }
}

/// Flushes the output even after an error, so that nothing printed before it is lost.
fn with_output(verb: impl FnOnce(&mut Output) -> Done) -> Done {
    let mut out = Output::new()?;
    let done = verb(&mut out);
    let flushed = out.flush();
    done?;
    Ok(flushed?)
}

/// Prints a note that is not a warning.
pub fn note(text: &str) {
    complain_of("note", text);
}

pub fn warning(text: &str) {
    complain_of("warning", text);
}

fn complain(error: &Error) {
    complain_of("rab", &error.to_string());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_verb_is_in_one_group_of_the_help() {
        let verbs = Verb::augment_subcommands(clap::Command::new("rab"));
        let grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        assert_eq!(grouped, verbs.get_subcommands().map(|verb| verb.get_name()).collect::<Vec<_>>());
    }
}
