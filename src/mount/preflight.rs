//! Checks for FUSE before anything is opened, and turns errors of mounting into messages that say what to install,
//! load or permit.

use super::config::Config;
use super::mountpoint::Mountpoint;
use crate::{Error, Result};
use std::env;
use std::fs::OpenOptions;
use std::io;
use std::path::PathBuf;

const DEVICE: &str = "/dev/fuse";
const WITHOUT_FUSE: &str = "rab get and rab unpack read the same data without FUSE";
const IN_DOCKER: &str = "in Docker, run the container with --device /dev/fuse --cap-add SYS_ADMIN";

pub fn check(config: &Config) -> Result<()> {
    OpenOptions::new().read(true).write(true).open(DEVICE).map_err(device_error)?;
    let root = nix::unistd::geteuid().is_root();
    if (!root || config.auto_unmount) && fusermount().is_none() {
        let who = if root { "auto_unmount needs" } else { "users other than root need" };
        return Err(Error::Fuse(format!(
            "fusermount3 is not found, which {who} to mount: install the package fuse3; {WITHOUT_FUSE}"
        )));
    }
    Ok(())
}

fn device_error(cause: io::Error) -> Error {
    let advice = match cause.raw_os_error() {
        Some(libc::ENOENT | libc::ENODEV | libc::ENXIO) => {
            format!("load the kernel module with 'modprobe fuse'; {IN_DOCKER}")
        }
        Some(libc::EACCES | libc::EPERM) => {
            format!("an administrator can permit it with 'chmod 666 {DEVICE}'; {IN_DOCKER}")
        }
        _ => IN_DOCKER.to_owned(),
    };
    Error::Fuse(format!(
        "FUSE is not available: {DEVICE} cannot be opened: {cause}; {advice}; {WITHOUT_FUSE}"
    ))
}

/// The set-uid program that mounts and unmounts for users other than root.
pub fn fusermount() -> Option<PathBuf> {
    if let Some(path) = env::var_os("FUSERMOUNT_PATH") {
        return Some(path.into());
    }
    let mut directories: Vec<PathBuf> =
        env::var_os("PATH").map(|path| env::split_paths(&path).collect()).unwrap_or_default();
    directories.extend(["/usr/bin", "/bin", "/sbin"].map(PathBuf::from));
    let names = ["fusermount3", "fusermount"];
    let mut candidates = names.iter().flat_map(|name| directories.iter().map(move |dir| dir.join(name)));
    candidates.find(|path| path.is_file())
}

/// Why fuser could not mount, from what it passes on of the kernel's and fusermount3's words.
pub fn explain(place: &Mountpoint, cause: &io::Error) -> Error {
    let text = one_line(&cause.to_string());
    if text.contains("user_allow_other") {
        return Error::Fuse(
            "allow_other, allow_root and auto_unmount are permitted to users other than root only if \
             /etc/fuse.conf has a line 'user_allow_other': ask an administrator to add it, or leave them out"
                .into(),
        );
    }
    if cause.raw_os_error() == Some(libc::ENOENT) {
        return Error::mountpoint(&place.shown, "was removed before it could be mounted on: try again");
    }
    // Before it mounts, fuser opens the mountpoint.
    let mountpoint_opened =
        matches!(cause.raw_os_error(), Some(libc::EACCES | libc::ENOTDIR | libc::ELOOP | libc::ENOTCONN));
    let words = text.replace(&*place.path.to_string_lossy(), "");
    let about_it = ["no write access", "mountpoint", "mount point", "forbidden"];
    if mountpoint_opened || about_it.iter().any(|part| words.contains(part)) {
        return Error::mountpoint(&place.shown, format!("{text}: choose a directory of your own"));
    }
    Error::Fuse(format!("FUSE refuses to mount on {}: {text}; {IN_DOCKER}", place.shown.display()))
}

pub fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn each_refusal_has_its_code() {
        let place = Mountpoint { path: "/mountpoint".into(), shown: "x".into(), exists: true };
        let code = |kind, text: &str| explain(&place, &io::Error::new(kind, text)).exit_code();
        let other = io::ErrorKind::Other;
        let words =
            "fusermount3: option allow_other only allowed if 'user_allow_other' is set in /etc/fuse.conf\n";
        assert_eq!(code(io::ErrorKind::PermissionDenied, words), 21);
        assert_eq!(code(other, "fusermount3: user has no write access to mountpoint /x\n"), 20);
        assert_eq!(code(other, "fusermount3: mount failed: Operation not permitted\n"), 21);
        assert_eq!(
            code(other, "Error calling mount() at \"/mountpoint\" with \"fd=7\": ENODEV: No such device"),
            21
        );
        assert_eq!(explain(&place, &io::Error::from_raw_os_error(libc::EACCES)).exit_code(), 20);
        assert_eq!(device_error(io::Error::from_raw_os_error(libc::ENOENT)).exit_code(), 21);
        assert!(one_line(" a\n b ").contains("a b") && Path::new(DEVICE).is_absolute());
    }
}
