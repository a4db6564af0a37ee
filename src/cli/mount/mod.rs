//! The command `rab-mount`, which is `rab mount` too: clap's structs (`options`), the list after `-o` (`list`), and
//! their merging into one `mount::Config` (`resolve`). Nothing is mounted here.

mod complete;
mod list;
mod options;
mod resolve;
mod showing;

use crate::{Error, mount, open};
use clap::Parser;
use std::process::ExitCode;

pub use options::Options;

/// The whole of `rab-mount`.
pub fn rab_mount() -> ExitCode {
    super::panics::reported("rab-mount", || {
        super::complete::answer::<Options>();
        match Options::try_parse() {
            Ok(options) => run(options),
            Err(error) => super::said_by_clap(&error),
        }
    })
}

pub fn run(options: Options) -> ExitCode {
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
