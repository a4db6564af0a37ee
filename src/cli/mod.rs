//! The command line: `rab` has the verbs of the command rab, `mount` the command rab-mount. clap is known nowhere else.

mod complete;
#[cfg(feature = "mount")]
mod mount;
mod panics;
mod rab;
mod reading;
mod values;

use std::process::ExitCode;

#[cfg(feature = "mount")]
pub use mount::rab_mount;
pub use rab::rab;

/// --help and --version come this way too, with code 0 and to stdout.
fn print_clap_error(error: &clap::Error) -> ExitCode {
    let _ = error.print();
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
}
