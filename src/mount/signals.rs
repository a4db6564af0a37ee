//! Events of a session as one stream: signals, its end, the end of the command. Signals are handled here and in `serve`
//! and `command`, never in a signal handler.

use crate::{Error, Result};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::io;
use std::sync::mpsc::Sender;

#[derive(Debug)]
pub enum Event {
    Signal(i32),
    /// The mount is gone, or its session failed.
    Ended(io::Result<()>),
    CommandEnded,
}

/// For the daemon, which asked for none of its parent's dispositions.
pub fn for_daemon() -> Vec<i32> {
    vec![SIGINT, SIGTERM, SIGHUP]
}

/// `nohup rab-mount -f` keeps ignoring SIGHUP. Shells start jobs with SIGINT ignored: that is not meant so.
pub fn for_foreground() -> Vec<i32> {
    for_daemon().into_iter().filter(|&signal| signal != SIGHUP || !is_ignored(signal)).collect()
}

/// A handler would undo, for the command too, that the caller ignores a signal.
pub fn for_command() -> Vec<i32> {
    for_daemon().into_iter().filter(|&signal| !is_ignored(signal)).collect()
}

/// From now on these become events. Called before anything exists that a signal would have to undo.
pub fn watch(signals: &[i32], events: Sender<Event>) -> Result<()> {
    let fail = |cause: io::Error| Error::Other(format!("signals cannot be caught: {cause}"));
    let mut signals = Signals::new(signals).map_err(fail)?;
    let watch = move || {
        for signal in signals.forever() {
            if events.send(Event::Signal(signal)).is_err() {
                return;
            }
        }
    };
    std::thread::Builder::new().name("signals".into()).spawn(watch).map(drop).map_err(fail)
}

fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok()).unwrap_or(0);
    mask >> (signal - 1) & 1 == 1
}

pub fn name(signal: i32) -> &'static str {
    signal_hook::low_level::signal_name(signal).unwrap_or("a signal")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ignored_signals_are_known() {
        // Rust's start-up ignores SIGPIPE; nobody ignores SIGSEGV.
        assert!(is_ignored(libc::SIGPIPE));
        assert!(!is_ignored(libc::SIGSEGV));
        assert_eq!(name(SIGTERM), "SIGTERM");
    }
}
