//! `rab-mount -u MOUNTPOINT...`: unmounts, dead mounts too, and returns when the daemon is gone and a
//! directory that it created is removed. Every mountpoint is tried; the first error decides the exit code. With
//! `--lazy` what is in use is detached, and its daemon serves it until the last file is closed.

use super::config::Unmount;
use super::mountinfo::{self, Entry};
use super::unmount::{Refusal, unmount};
use super::{fail, mountpoint, registry};
use crate::{Error, Result};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(10);
/// With `--lazy`, whose user does not want to wait: time for a daemon that serves nobody any more to end.
const LITTLE_PATIENCE: Duration = Duration::from_secs(2);

pub fn run(asked: &Unmount) -> ExitCode {
    let mountpoints = match &asked.mountpoints {
        Some(mountpoints) => Ok(mountpoints.clone()),
        None => own(),
    };
    let mountpoints = match mountpoints {
        Ok(mountpoints) => mountpoints,
        Err(error) => return fail(&error),
    };
    let mut code = ExitCode::SUCCESS;
    for shown in &mountpoints {
        if let Err(error) = one(shown, asked.lazy) {
            let this = fail(&error);
            code = if code == ExitCode::SUCCESS { this } else { code };
        }
    }
    code
}

/// What this user has mounted, the last first: it may lie in another or on it.
fn own() -> Result<Vec<PathBuf>> {
    let table = mountpoint::table()?;
    Ok(table.into_iter().rev().filter(Entry::is_own).map(|entry| entry.mountpoint).collect())
}

fn one(shown: &Path, lazy: bool) -> Result<()> {
    let path = mountpoint::locate(shown)?;
    let table = mountpoint::table()?;
    let entry = match mountinfo::topmost(&table, &path) {
        Some(entry) if entry.is_ours() => entry,
        Some(entry) => {
            return Err(Error::mountpoint(
                shown,
                format!("is not a rab-mount mount but {}: unmount it with 'umount'", entry.fstype),
            ));
        }
        None => {
            return Err(Error::mountpoint(
                shown,
                "is not a rab-mount mount: 'rab-mount --list' and 'findmnt -t fuse.rab-mount' list those that are",
            ));
        }
    };
    let me = nix::unistd::geteuid().as_raw();
    let owner = entry.owner().unwrap_or(me);
    // Found before unmounting: a daemon that ends removes it.
    let state = registry::find(&[owner, me], entry.device);
    let is_detached = match unmount(entry, false) {
        Err(Refusal::Busy) if lazy => unmount(entry, true).map(|()| true),
        unmounted => unmounted.map(|()| false),
    };
    let is_detached = is_detached.map_err(|refusal| refused(shown, entry, me, refusal))?;
    let Some(state) = state else {
        return Ok(());
    };
    // First, since that also releases what other mount namespaces still hold of it.
    if let Some(created) = state.created {
        mountpoint::remove_after(&path, created);
    }
    let patience = match lazy {
        // A dead daemon left its state file, which goes.
        true if is_detached => Duration::ZERO,
        true => LITTLE_PATIENCE,
        false => PATIENCE,
    };
    let pid = state.pid;
    if state.wait_until_gone(patience) || lazy {
        return Ok(());
    }
    Err(Error::Other(format!(
        "{}: unmounted, but its daemon (process {pid}) still runs after {} seconds: another mount namespace \
         may hold the mount; 'kill {pid}' twice ends it",
        shown.display(),
        PATIENCE.as_secs()
    )))
}

fn refused(shown: &Path, entry: &Entry, me: u32, refusal: Refusal) -> Error {
    let dir = shown.display();
    let problem = match refusal {
        Refusal::Busy => format!(
            "is in use: see who uses it with 'fuser -vm {dir}' and close that, or detach it with \
             'rab-mount -u --lazy {dir}': it is then served until the last file is closed"
        ),
        Refusal::Covered(what) => {
            format!("something else is mounted on it or inside it: unmount {what} first")
        }
        Refusal::Other(_) if me != 0 && entry.owner() != Some(me) => {
            let owner = entry.owner().map_or("another user".into(), |uid| format!("the user with id {uid}"));
            format!("was mounted by {owner}: only that user and root can unmount it")
        }
        Refusal::Other(why) => format!("cannot be unmounted: {why}"),
    };
    Error::mountpoint(shown, problem)
}
