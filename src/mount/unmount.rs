//! Unmounting one mount that we know by its id, and no other: the mount table is asked first whether it is
//! still there, and whether something is mounted on it or inside it. Nothing else is ever unmounted, not
//! even by detaching lazily, which would take along what is mounted inside.

use super::mountinfo::{self, Entry};
use super::preflight;
use nix::errno::Errno;
use nix::mount::{MntFlags, umount2};
use std::process::{Command, Stdio};

#[derive(Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Files are open or working directories are inside.
    Busy,
    /// These are mounted on it or inside it.
    Covered(String),
    Other(String),
}

/// Unmounts it; that it is gone already is fine. `lazy` detaches it even if it is in use.
pub fn unmount(entry: &Entry, lazy: bool) -> Result<(), Refusal> {
    let table =
        mountinfo::read().map_err(|cause| Refusal::Other(format!("/proc/self/mountinfo: {cause}")))?;
    if !table.iter().any(|other| other.is_same_mount(entry)) {
        return Ok(());
    }
    let covering: Vec<String> = mountinfo::inside(&table, entry).map(mountinfo::describe).collect();
    if !covering.is_empty() {
        return Err(Refusal::Covered(covering.join(", ")));
    }
    match mountinfo::topmost(&table, &entry.mountpoint) {
        Some(top) if !top.is_same_mount(entry) => return Err(Refusal::Covered(mountinfo::describe(top))),
        _ => {}
    }
    if nix::unistd::geteuid().is_root() {
        match directly(entry, lazy) {
            // Root in a container may lack the capability.
            Err(Errno::EPERM) => {}
            Ok(()) | Err(Errno::EINVAL | Errno::ENOENT) => return Ok(()),
            Err(Errno::EBUSY) => return Err(Refusal::Busy),
            Err(cause) => return Err(Refusal::Other(cause.desc().to_owned())),
        }
    }
    by_fusermount(entry, lazy)
}

fn directly(entry: &Entry, lazy: bool) -> nix::Result<()> {
    let lazily = if lazy { MntFlags::MNT_DETACH } else { MntFlags::empty() };
    umount2(&entry.mountpoint, MntFlags::UMOUNT_NOFOLLOW | lazily)
}

fn by_fusermount(entry: &Entry, lazy: bool) -> Result<(), Refusal> {
    let Some(program) = preflight::fusermount() else {
        return Err(Refusal::Other("fusermount3 is not found: install the package fuse3".into()));
    };
    let output = Command::new(program)
        .args(["-u"].into_iter().chain(lazy.then_some("-z")))
        .arg("--")
        .arg(&entry.mountpoint)
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .output()
        .map_err(|cause| Refusal::Other(format!("fusermount3 cannot be run: {cause}")))?;
    let words = preflight::one_line(&String::from_utf8_lossy(&output.stderr));
    match output.status.success() {
        true => Ok(()),
        false if words.contains("busy") => Err(Refusal::Busy),
        false => Err(Refusal::Other(words)),
    }
}
