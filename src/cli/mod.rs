//! The command line: clap's structs (`options`), the `-o` list (`mount_options`), and their merging into one
//! `mount::Config` (`resolve`); and the verbs of the command `rab`. clap is known nowhere else, and nothing is mounted here.

mod mount_options;
mod options;
mod rab;
mod reading;
mod resolve;
mod values;

use crate::{Error, mount, open, yaml};
use clap::Parser;
use std::process::ExitCode;

pub use options::Options;
pub use rab::rab;

/// The whole of `rab-mount`.
pub fn rab_mount() -> ExitCode {
    log_panics();
    match Options::try_parse() {
        Ok(options) => mount_with(options),
        Err(error) => said_by_clap(&error),
    }
}

fn log_panics() {
    std::panic::set_hook(Box::new(|panic| {
        // The YAML parser's panics are caught and become an error of the header.
        if !yaml::is_guarded() {
            log::error!("this is a bug in rab-mount, please report it: {panic}");
        }
    }));
}

/// --help and --version come this way too, with code 0 and to stdout.
fn said_by_clap(error: &clap::Error) -> ExitCode {
    let _ = error.print();
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
}

fn mount_with(options: Options) -> ExitCode {
    if options.command.is_empty() && std::env::args_os().any(|argument| argument == "--") {
        return mount::fail(&Error::Usage(
            "after -- a command was needed: rab-mount SOURCE -- COMMAND".into(),
        ));
    }
    match resolve::resolve(options) {
        Ok(config) => mount::run(&config, open::open),
        Err(error) => mount::fail(&error),
    }
}
