//! Reports panics, which are always bugs: one line asks the user to report it, and the exit code is 1.

use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind, set_hook};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

use log::LevelFilter;

use super::rab::complain_of;
use crate::yaml;

static SEEN: AtomicBool = AtomicBool::new(false);

/// Runs the program and unwinds from a panic, so that temporary files are removed.
pub fn reported(program: &'static str, run: impl FnOnce() -> ExitCode) -> ExitCode {
    set_hook(Box::new(move |panic| {
        // Panics of the YAML parser are caught and become parse errors.
        if !yaml::is_guarded() {
            report(program, panic);
        }
    }));
    catch_unwind(AssertUnwindSafe(run)).unwrap_or(ExitCode::FAILURE)
}

/// True if any thread has panicked. Its result may be missing even if nothing waited for it.
pub fn were_seen() -> bool {
    SEEN.load(Ordering::Relaxed)
}

/// A mount logs every panic, because it goes on serving requests; elsewhere only the first is printed, since later ones
/// are usually its consequences.
fn report(program: &str, panic: &PanicHookInfo<'_>) {
    let line = line(program, panic);
    let is_first = !SEEN.swap(true, Ordering::Relaxed);
    if log::max_level() > LevelFilter::Off {
        log::error!("{line}");
    } else if is_first {
        complain_of(program, &line);
    }
}

fn line(program: &str, panic: &PanicHookInfo<'_>) -> String {
    let payload = panic.payload();
    let text = payload.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("panic without a message");
    let text = text.lines().map(str::trim).collect::<Vec<_>>().join(" ");
    let place = panic.location().map_or("unknown place".into(), |at| format!("{}:{}", at.file(), at.line()));
    let version = env!("CARGO_PKG_VERSION");
    format!("internal error: {text} ({place}), {program} {version}; please report this line")
}
