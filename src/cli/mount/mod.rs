//! The command `rab-mount`, also available as `rab mount`: clap's structs (`options`), the list after `-o` (`list`),
//! and merging both into one `mount::Config` (`resolve`). Mounting itself happens elsewhere.

mod complete;
mod list;
mod options;
mod resolve;
mod showing;

use crate::{Error, mount, open};
use clap::Parser;
use std::process::ExitCode;

pub use options::Options;

/// Runs `rab-mount`.
pub fn rab_mount() -> ExitCode {
    super::panics::reported("rab-mount", || {
        super::complete::answer::<Options>();
        match Options::try_parse() {
            Ok(options) => run(options),
            Err(error) => super::print_clap_error(&error),
        }
    })
}

pub fn run(options: Options) -> ExitCode {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    if options.command.is_empty() && arguments.iter().any(|argument| argument == "--") {
        return mount::fail(&Error::Usage("a command must follow --: rab-mount SOURCE -- COMMAND".into()));
    }
    match resolve::resolve(options) {
        Ok(config) => {
            let config = mount::Config { by_mount: list::is_from_mount(&arguments), ..config };
            mount::run(&config, open::open)
        }
        Err(error) => mount::fail(&error),
    }
}
