//! Dead mounts, whose daemon was killed: they answer nothing ("Transport endpoint is not connected") until they are
//! unmounted. A user's own are cleared when they are in the way, and those that commands left behind.

use super::mountinfo::{self, Entry};
use super::unmount::{Refusal, unmount};
use super::{mountpoint, registry};
use nix::errno::Errno;
use std::path::Path;
use std::time::Duration;

/// A daemon that holds its state file lives; only where there is none the mount is asked.
pub fn is_dead(entry: &Entry) -> bool {
    let state = entry.owner().and_then(|owner| registry::find(&[owner], entry.device));
    let is_living = state.is_some_and(|state| state.age().is_some());
    !is_living && answers_nothing(&entry.mountpoint)
}

/// Asked for what no cache answers: a stat may succeed for a while after the daemon died.
pub fn answers_nothing(mountpoint: &Path) -> bool {
    nix::sys::statvfs::statvfs(mountpoint) == Err(Errno::ENOTCONN)
}

/// Clears a dead mount of this user that a new one is to replace. The directory that was created for it stays where the
/// new one is given none. Remaining obstacles are reported when the mountpoint is checked.
pub fn clear_at(path: &Path, directory: Directory) {
    let Ok(table) = mountinfo::read() else { return };
    mountinfo::topmost(&table, path).into_iter().for_each(|entry| clear_if_dead(entry, directory));
}

/// What becomes of a directory that was created for a dead mount.
#[derive(Clone, Copy, PartialEq)]
pub enum Directory {
    Stays,
    Goes,
}

/// Clears what `rab-mount SOURCE -- COMMAND` of this user left in the temporary directory when it was killed.
pub fn clear_private() {
    let (Ok(table), Ok(parent)) = (mountinfo::read(), mountpoint::temporary().canonicalize()) else { return };
    let is_left = |path: &Path| path.parent() == Some(&parent) && mountpoint::is_private(path);
    table
        .iter()
        .filter(|entry| is_left(&entry.mountpoint))
        .for_each(|entry| clear_if_dead(entry, Directory::Goes));
}

fn clear_if_dead(entry: &Entry, directory: Directory) {
    if !entry.is_own() || !is_dead(entry) {
        return;
    }
    let shown = entry.mountpoint.display();
    match clear(entry, directory) {
        Ok(()) => log::info!("{shown}: cleared a dead mount"),
        Err(_) => log::info!("{shown}: a dead mount that cannot be cleared: try 'rab-mount -u {shown}'"),
    }
}

/// Unmounts it, and may remove the directory that was created for it.
fn clear(entry: &Entry, directory: Directory) -> Result<(), Refusal> {
    // Whoever mounts there meanwhile holds this too, and may have been given the dead mount's numbers: only what is
    // still dead under the lock is unmounted.
    let Some(_claim) = mountpoint::lock(&entry.mountpoint) else { return Ok(()) };
    if !is_dead(entry) {
        return Ok(());
    }
    let state = entry.owner().and_then(|owner| registry::find(&[owner], entry.device));
    // Whoever has files of it open gets nothing but errors from them in any case.
    unmount(entry, true)?;
    if let Some(state) = state {
        if let Some(created) = state.created.filter(|_| directory == Directory::Goes) {
            mountpoint::remove(&entry.mountpoint, created);
        }
        state.wait_until_gone(Duration::ZERO);
    }
    Ok(())
}
