//! The life of a mount: from a resolved `Config` to a mounted, served and unmounted file system, and the
//! exit code. It knows fuser's session but no format and no tree: what is mounted comes from `open`.
//!
//! `mountpoint` chooses and creates the directory, `session` mounts on it, `daemon`, `command` and this file
//! are the three ways to run it, `serve` waits for its end, `unmount` unmounts exactly it.

mod allocator;
mod arguments;
mod command;
pub mod config;
mod daemon;
mod dead;
mod list_command;
mod logging;
mod mountinfo;
mod mountpoint;
mod preflight;
mod read_ahead;
mod registry;
mod serve;
mod session;
mod signals;
mod unmount;
mod unmount_command;

use crate::source;
use crate::{Error, Result, report};
use std::fs;
use std::io::{self, IsTerminal, Write};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::ExitCode;

pub use config::{Config, Mode};
use mountpoint::Mountpoint;

/// A container ready to be mounted.
pub struct Opened<F> {
    pub filesystem: F,
    /// What there is, for people: `12 datasets`.
    pub summary: String,
    /// The container's permission bits.
    pub mode: u32,
    /// Called once when it is mounted, with the means to tell the kernel about changes.
    pub on_mounted: Box<dyn FnOnce(fuser::Notifier, OwnedFd) + Send>,
}

/// Where containers are mounted now.
pub fn mountpoints() -> Vec<PathBuf> {
    let table = mountinfo::read().unwrap_or_default();
    table.into_iter().filter(mountinfo::Entry::is_ours).map(|entry| entry.mountpoint).collect()
}

/// Does what `config` says; errors are printed. `open` reads the container's index, in the process that
/// will serve it: it may start threads.
pub fn run<F: fuser::Filesystem>(
    config: &Config,
    open: impl FnOnce(&Config) -> Result<Opened<F>>,
) -> ExitCode {
    allocator::prefer_small();
    if let Err(error) = logging::start(config) {
        return fail(&error);
    }
    match &config.mode {
        Mode::Unmount(asked) => return unmount_command::run(asked),
        Mode::List => return list_command::run(),
        _ => dead::clear_private(),
    }
    source::configure(config.access.clone());
    arguments::hide_secrets();
    let ready = source_exists(config).and_then(|()| match config.mode {
        Mode::Command(_) => preflight::check(config).map(|()| None),
        _ => place(config).and_then(|place| preflight::check(config).map(|()| Some(place))),
    });
    let place = ready.as_ref().ok().and_then(Option::as_ref).map(|place| place.path.clone());
    let config = &Config { mountpoint: place, ..config.clone() };
    match (ready, &config.mode) {
        (Err(error), _) => fail(&error),
        (Ok(_), Mode::Command(words)) => command::run(config, words, open),
        (Ok(Some(place)), Mode::Background) => daemon::run(config, &place, open),
        (Ok(Some(place)), _) => foreground(config, &place, open),
        (Ok(None), _) => ExitCode::SUCCESS,
    }
}

fn place(config: &Config) -> Result<Mountpoint> {
    let directory = if config.by_mount { dead::Directory::Stays } else { dead::Directory::Goes };
    dead::clear_at(&mountpoint::locate(&mountpoint::wanted(config)?)?, directory);
    mountpoint::choose(config)
}

/// A mistyped name should be reported before any problem with the mountpoint. Of a URL that is found when it is opened.
fn source_exists(config: &Config) -> Result<()> {
    let exists = |path: &PathBuf| fs::metadata(path).map(drop).map_err(|cause| Error::open(path, cause));
    config.sources.iter().filter(|path| source::url(path).is_none()).try_for_each(exists)
}

fn foreground<F: fuser::Filesystem>(
    config: &Config,
    place: &Mountpoint,
    open: impl FnOnce(&Config) -> Result<Opened<F>>,
) -> ExitCode {
    let mounted = open(config)
        .and_then(|opened| session::start(config, place, None, opened, &signals::for_foreground()));
    match mounted {
        Ok(mounted) => {
            announce(&mounted.summary, place, config);
            serve::until_end(mounted)
        }
        Err(error) => fail(&error),
    }
}

/// On a terminal: what is mounted where, and how to unmount it.
fn announce(summary: &str, place: &Mountpoint, config: &Config) {
    if !io::stderr().is_terminal() {
        return;
    }
    let shown = place.shown.display().to_string();
    let shown = if shown.len() > 1 { shown.trim_end_matches('/') } else { &shown };
    let views = match &config.showing.kind {
        Some(kind) => format!("arrays and tables are listed as {kind} where that is possible"),
        None => format!("arrays as .npy files under {shown}/.views/npy/, or mount with --as npy"),
    };
    let line = format!("{summary} at {shown}/ ; {views} ; unmount with rab-mount -u {shown}\n");
    let _ = io::stderr().write_all(line.as_bytes());
}

/// Prints an error and gives its exit code.
pub fn fail(error: &Error) -> ExitCode {
    complain(&error.to_string());
    ExitCode::from(error.exit_code())
}

/// One line on stderr, which may be closed; in one write, so that lines of several processes do not mix.
fn complain(message: &str) {
    let mut message = format!("rab-mount: {message}");
    if io::stderr().is_terminal() {
        message = message.lines().map(report::escaped).collect::<Vec<_>>().join("\n");
    }
    let _ = io::stderr().write_all((message + "\n").as_bytes());
}
