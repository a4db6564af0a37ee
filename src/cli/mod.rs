//! The command line: `rab` implements the command rab, `mount` the command rab-mount. Only this module uses clap.

mod complete;
#[cfg(feature = "mount")]
mod mount;
mod panics;
mod rab;
mod reading;
mod urls;
mod user_cache;
mod values;

use std::process::ExitCode;

#[cfg(feature = "mount")]
pub use mount::rab_mount;
pub use rab::rab;

/// Also prints --help and --version, to stdout and with exit code 0.
fn print_clap_error(error: &clap::Error) -> ExitCode {
    let _ = error.print();
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
}
