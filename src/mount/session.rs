//! From an opened container to a mount that answers: create the directory, mount, start the session, find
//! our own entry in the mount table. fuser's guard is kept from ever running: it unmounts by path, and after
//! an external umount it would take whatever lies below. We unmount ourselves, by mount id (`unmount`).

use super::config::{Config, Mode};
use super::mountinfo::{self, Entry};
use super::mountpoint::{self, Created, Mountpoint};
use super::registry::{self, Registration};
use super::signals::{self, Event};
use super::unmount::unmount;
use super::{Opened, preflight, read_ahead};
use crate::source::without_secrets;
use crate::{Error, Result};
use fuser::{MountOption, Session, SessionACL};
use std::mem::{self, ManuallyDrop};
use std::os::fd::AsFd;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

/// A mount of ours that is being served.
#[derive(Debug)]
pub struct Mounted {
    pub entry: Entry,
    pub place: Mountpoint,
    pub summary: String,
    pub events: Receiver<Event>,
    /// For other threads that have something to tell.
    pub sender: Sender<Event>,
    /// It does not answer any more.
    pub has_ended: bool,
    created: Option<Created>,
    registration: Option<Registration>,
}

impl Mounted {
    /// Removes the directory that we created, at most once: whoever makes one of that name later keeps it.
    pub fn remove_directory(&mut self) {
        if let Some(created) = self.created.take() {
            mountpoint::remove_after(&self.place.path, created);
        }
    }

    /// Undoes the mount, which was not announced yet.
    pub fn undo(&mut self) {
        if let Err(refusal) = unmount(&self.entry, true) {
            log::error!("{}: left behind as a dead mount: {refusal:?}", self.place.path.display());
        }
        self.remove_directory();
    }

    /// Others unmounted it: whoever waits for that need not wait any longer.
    pub fn ended(&mut self) {
        self.registration = None;
        self.has_ended = true;
    }

    /// This process ends before its mount: whoever clears that with `-u` finds the state file.
    pub fn leave_behind(mut self) {
        mem::forget(self.registration.take());
    }
}

/// Mounts and serves. `created` is the directory's identity if it was made for this mount already.
pub fn start<F: fuser::Filesystem>(
    config: &Config,
    place: &Mountpoint,
    created: Option<Created>,
    opened: Opened<F>,
    watched: &[i32],
) -> Result<Mounted> {
    warn_about_permissions(config, &opened);
    let (sender, events) = channel();
    signals::watch(watched, sender.clone())?;
    let _claim = mountpoint::claim(place)?;
    let created = created.or(mountpoint::create(place)?);
    let summary = opened.summary.clone();
    let entry = mount(config, place, opened, sender.clone()).inspect_err(|_| {
        if let Some(created) = created {
            mountpoint::remove(&place.path, created);
        }
    })?;
    read_ahead::set(config, entry.device);
    let uid = nix::unistd::geteuid().as_raw();
    let registration =
        registry::register(uid, entry.device, &place.path, created, matches!(config.mode, Mode::Command(_)))
            .inspect_err(|cause| {
                log::info!("no state file, so 'rab-mount -u' cannot wait for this daemon: {cause}")
            })
            .ok();
    let place = place.clone();
    Ok(Mounted { entry, place, summary, events, sender, has_ended: false, created, registration })
}

fn mount<F: fuser::Filesystem>(
    config: &Config,
    place: &Mountpoint,
    opened: Opened<F>,
    events: Sender<Event>,
) -> Result<Entry> {
    let session = Session::new(opened.filesystem, &place.path, &fuser_config(config))
        .map_err(|cause| preflight::explain(place, &cause))?;
    let failed = |cause| Error::Other(format!("the session cannot be started: {cause}"));
    let device = session.as_fd().try_clone_to_owned().map_err(failed)?;
    let mut background = ManuallyDrop::new(session.spawn().map_err(failed)?);
    (opened.on_mounted)(background.notifier(), device);
    let guard = mem::replace(&mut background.guard, thread::spawn(|| Ok(())));
    let wait = move || {
        let result = guard.join().unwrap_or_else(|_| Err(std::io::Error::other("its thread panicked")));
        let _ = events.send(Event::Ended(result));
    };
    let waiting = thread::Builder::new().name("session-end".into()).spawn(wait);
    let entry = waiting
        .map_err(|cause| Error::Other(format!("a thread cannot be started: {cause}")))
        .and_then(|_| own_entry(place));
    if entry.is_err() {
        // Nobody will serve it: this once fuser's guard is right.
        drop(ManuallyDrop::into_inner(background));
    }
    entry
}

/// Right after mounting, under the claim, the topmost mount there is ours.
fn own_entry(place: &Mountpoint) -> Result<Entry> {
    let table = mountpoint::table()?;
    let entry = mountinfo::topmost(&table, &place.path).filter(|entry| entry.is_ours());
    entry.cloned().ok_or_else(|| {
        Error::mountpoint(
            &place.shown,
            "was mounted, but /proc/self/mountinfo does not show it, so it is unmounted again: another program may have \
             unmounted it, or /proc is not that of this system",
        )
    })
}

fn fuser_config(config: &Config) -> fuser::Config {
    let by_fusermount = config.auto_unmount || !nix::unistd::geteuid().is_root();
    let mut options = vec![
        MountOption::RO,
        MountOption::NoSuid,
        MountOption::NoDev,
        MountOption::DefaultPermissions,
        MountOption::FSName(fsname(config, by_fusermount)),
        // As a kernel option and not `Subtype`, which fuser leaves out when it mounts as root.
        MountOption::CUSTOM("subtype=rab-mount".into()),
    ];
    options.extend(config.noexec.then_some(MountOption::NoExec));
    options.extend(config.auto_unmount.then_some(MountOption::AutoUnmount));
    let mut fuser = fuser::Config::default();
    fuser.mount_options = options;
    // Never RootAndOwner: fuser checks that per request, so what is in the page cache would be open to all.
    fuser.acl = if config.shared() { SessionACL::All } else { SessionACL::Owner };
    fuser.n_threads = Some(config.threads);
    fuser.clone_fd = true;
    fuser
}

/// fusermount3 reads a list, in which a comma must be escaped; mount(2) takes the name as it is.
fn fsname(config: &Config, by_fusermount: bool) -> String {
    let name = config
        .fsname
        .clone()
        .unwrap_or_else(|| without_secrets(config.source()).to_string_lossy().into_owned());
    if by_fusermount { name.replace('\\', "\\\\").replace(',', "\\,") } else { name }
}

fn warn_about_permissions<F>(config: &Config, opened: &Opened<F>) {
    if config.allow_other && opened.mode & 0o004 == 0 && config.umask & 0o004 == 0 {
        log::warn!(
            "{}: others may not read this file (mode {:03o}), but with allow_other they can read what is in it",
            without_secrets(config.source()).display(),
            opened.mode & 0o777
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comma_is_escaped_only_for_fusermount() {
        let config = Config { sources: vec!["/a,b\\c".into()], ..Config::default() };
        assert_eq!(fsname(&config, false), "/a,b\\c");
        assert_eq!(fsname(&config, true), "/a\\,b\\\\c");
    }

    #[test]
    fn a_mount_is_always_read_only_and_checks_permissions() {
        let config = Config { allow_root: true, ..Config::default() };
        let fuser = fuser_config(&config);
        for option in
            [MountOption::RO, MountOption::NoSuid, MountOption::NoDev, MountOption::DefaultPermissions]
        {
            assert!(fuser.mount_options.contains(&option));
        }
        assert_eq!(fuser.acl, SessionACL::All);
        assert_eq!(fuser_config(&Config::default()).acl, SessionACL::Owner);
    }
}
