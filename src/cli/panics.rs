//! A panic is always a bug. It becomes one line to report and exit code 1, and is never silent.

use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind, set_hook};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

use log::LevelFilter;

use super::rab::complain_of;
use crate::yaml;

static SEEN: AtomicBool = AtomicBool::new(false);

/// Runs `program`, which unwinds from a panic, so that temporary files are removed.
pub fn reported(program: &'static str, run: impl FnOnce() -> ExitCode) -> ExitCode {
    set_hook(Box::new(move |panic| {
        // The YAML parser's panics are caught, and become errors of what it parses.
        if !yaml::is_guarded() {
            report(program, panic);
        }
    }));
    catch_unwind(AssertUnwindSafe(run)).unwrap_or(ExitCode::FAILURE)
}

/// Has any thread panicked? Its result may be missing even where nobody waited for it.
pub fn were_seen() -> bool {
    SEEN.load(Ordering::Relaxed)
}

/// A mount logs every panic, as its requests go on; elsewhere what follows from the first one says nothing new.
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
