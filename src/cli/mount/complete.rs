//! Shell completion for the arguments of `rab-mount`.

use std::env;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use clap::{Args, Command};
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate, PathCompleter, ValueCompleter};

use super::options::Settings;
use crate::cli::complete::before;
use crate::mount;

/// Containers and mountpoints; after `-u`, the mounts. clap also calls this for the words after `--`.
pub fn paths() -> ArgValueCompleter {
    ArgValueCompleter::new(|current: &OsStr| {
        if before().iter().any(|word| word == "--") {
            return command_words(current);
        }
        match before().iter().any(|word| is_unmount(word)) {
            true => mountpoints(current),
            false => PathCompleter::any().complete(current),
        }
    })
}

fn is_unmount(word: &OsStr) -> bool {
    let flags = word.as_bytes().strip_prefix(b"-").unwrap_or_default();
    flags == b"-unmount" || flags.contains(&b'u') && flags.iter().all(|flag| b"fuv".contains(flag))
}

/// The user's mountpoints, spelled like the word typed so far: relative to the current directory (with or without
/// `./`), or absolute.
fn mountpoints(current: &OsStr) -> Vec<CompletionCandidate> {
    let here = env::current_dir().unwrap_or_default();
    let ways = |mountpoint: PathBuf| {
        let near = mountpoint.strip_prefix(&here).ok().filter(|near| !near.as_os_str().is_empty());
        let near: Vec<PathBuf> =
            near.into_iter().flat_map(|near| [near.to_owned(), Path::new(".").join(near)]).collect();
        let ways = near.into_iter().chain([mountpoint]);
        ways.map(OsString::from).find(|way| way.as_bytes().starts_with(current.as_bytes()))
    };
    mount::mountpoints().into_iter().filter_map(ways).map(CompletionCandidate::new).collect()
}

/// The words of a command.
pub fn command() -> ArgValueCompleter {
    ArgValueCompleter::new(command_words)
}

/// Programs for the first word after `--`, files for the others.
fn command_words(current: &OsStr) -> Vec<CompletionCandidate> {
    let is_program = before().last().is_some_and(|word| word == "--");
    match is_program && !current.as_bytes().contains(&b'/') {
        true => programs(current),
        false => PathCompleter::any().complete(current),
    }
}

fn programs(current: &OsStr) -> Vec<CompletionCandidate> {
    let path = env::var_os("PATH").unwrap_or_default();
    let entries =
        env::split_paths(&path).filter_map(|directory| directory.read_dir().ok()).flatten().flatten();
    let found = entries.filter(|entry| entry.file_name().as_bytes().starts_with(current.as_bytes()));
    let is_program =
        |path: &Path| path.metadata().is_ok_and(|of| of.is_file() && of.permissions().mode() & 0o111 != 0);
    let mut found: Vec<OsString> =
        found.filter(|entry| is_program(&entry.path())).map(|entry| entry.file_name()).collect();
    found.sort();
    found.into_iter().map(CompletionCandidate::new).collect()
}

/// Completes the setting after the last comma; names of settings with a value end in `=`.
pub fn mount_options() -> ArgValueCompleter {
    ArgValueCompleter::new(|current: &OsStr| {
        let Some(current) = current.to_str() else { return Vec::new() };
        let (done, start) = current.split_at(current.rfind(',').map_or(0, |comma| comma + 1));
        let start = start.replace('-', "_");
        let settings = Settings::augment_args(Command::new(""));
        let names = settings.get_arguments().filter_map(|setting| {
            let name = setting.get_long()?.replace('-', "_");
            let value = if setting.get_action().takes_values() { "=" } else { "" };
            let help = setting.get_help().cloned();
            name.starts_with(&start)
                .then(|| CompletionCandidate::new(format!("{done}{name}{value}")).help(help))
        });
        let read_only = "ro"
            .starts_with(&start)
            .then(|| CompletionCandidate::new(format!("{done}ro")).help(Some("As every mount is".into())));
        read_only.into_iter().chain(names).collect()
    })
}
