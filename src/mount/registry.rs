//! One small file per mount, so that `-u` can wait for the daemon and knows whether the directory was
//! created. It is named by the mount's device (`0-57`) and stays locked while its daemon lives: a file that
//! can be locked belongs to a dead one. A mount works without it.

use super::mountinfo::{self, Device};
use super::mountpoint::Created;
use nix::fcntl::{Flock, FlockArg};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A device number is reused when its mount is gone, and that mount's daemon, which holds the lock, may take this
/// long to end on a machine with much to do.
const ENDING: Duration = Duration::from_secs(10);
const COMMAND: &str = "command";

/// Holds the lock; the file goes when this does.
#[derive(Debug)]
pub struct Registration {
    path: PathBuf,
    _lock: Flock<File>,
}

impl Drop for Registration {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// What a daemon wrote about itself.
#[derive(Debug)]
pub struct State {
    pub pid: i32,
    pub created: Option<Created>,
    /// The process runs a command, and goes on without the mount.
    runs_command: bool,
    namespace: String,
    path: PathBuf,
    file: File,
}

/// Announces this process as the daemon of a mount.
pub fn register(
    uid: u32,
    device: Device,
    mountpoint: &Path,
    created: Option<Created>,
    runs_command: bool,
) -> io::Result<Registration> {
    let directory =
        private_directory(uid).ok_or_else(|| io::Error::other("no directory for state files can be used"))?;
    prune(&directory);
    let path = directory.join(device.to_string());
    let mut lock = locked(&path)?;
    lock.set_len(0)?;
    let created = created.map_or("-".to_owned(), |c| format!("{} {} {}", c.dev, c.ino, c.born));
    let namespace = namespace().unwrap_or_default();
    let kind = if runs_command { COMMAND } else { "daemon" };
    writeln!(lock, "{}\n{created}\n{namespace}\n{kind}\n{}", std::process::id(), mountpoint.display())?;
    Ok(Registration { path, _lock: lock })
}

/// What the daemon of a mount wrote, looked for where each of these users keeps it.
pub fn find(uids: &[u32], device: Device) -> Option<State> {
    let candidates = uids.iter().flat_map(|&uid| directories(uid).into_iter().map(move |dir| (dir, uid)));
    let directory = candidates.filter(|(dir, uid)| is_private(dir, *uid)).map(|(dir, _)| dir);
    directory.map(|dir| dir.join(device.to_string())).find_map(|path| read(&path))
}

/// `/run` is emptied at boot, as mounts are; `/tmp` serves where there is no session directory.
fn directories(uid: u32) -> Vec<PathBuf> {
    let run = if uid == 0 { "/run/rab-mount".into() } else { format!("/run/user/{uid}/rab-mount") };
    vec![run.into(), format!("/tmp/rab-mount-{uid}").into()]
}

/// The user's own directory, in which nobody else can write: in `/tmp` anyone may have made another one.
pub fn is_private(directory: &Path, uid: u32) -> bool {
    fs::symlink_metadata(directory).is_ok_and(|is| is.is_dir() && is.uid() == uid && is.mode() & 0o022 == 0)
}

/// The first of them that can be used, created if need be.
pub fn private_directory(uid: u32) -> Option<PathBuf> {
    directories(uid).into_iter().find(|dir| {
        let _ = DirBuilder::new().mode(0o700).create(dir);
        is_private(dir, uid)
    })
}

fn open(path: &Path, create: bool) -> io::Result<File> {
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(create)
        .truncate(false)
        .mode(0o600)
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK)
        .open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("not a regular file"));
    }
    Ok(file)
}

/// The file at this path, locked; recreated if someone removed it before we had the lock.
fn locked(path: &Path) -> io::Result<Flock<File>> {
    for _ in 0..100 {
        let Some(lock) = lock_within(open(path, true)?, ENDING) else {
            break;
        };
        if is_at(&lock, path) {
            return Ok(lock);
        }
    }
    Err(io::Error::other(format!("{}: another process holds it", path.display())))
}

fn is_at(file: &File, path: &Path) -> bool {
    let (Ok(open), Ok(there)) = (file.metadata(), fs::symlink_metadata(path)) else {
        return false;
    };
    (open.dev(), open.ino()) == (there.dev(), there.ino())
}

/// Waits a bounded time for an exclusive lock; None if it is not to be had.
pub fn lock_within(file: File, time: Duration) -> Option<Flock<File>> {
    let end = Instant::now() + time;
    let mut file = file;
    loop {
        match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
            Ok(lock) => return Some(lock),
            Err((back, nix::errno::Errno::EWOULDBLOCK | nix::errno::Errno::EINTR))
                if Instant::now() < end =>
            {
                file = back;
                std::thread::sleep(Duration::from_millis(10));
            }
            Err(_) => return None,
        }
    }
}

fn read(path: &Path) -> Option<State> {
    let file = open(path, false).ok()?;
    let mut text = Vec::new();
    (&file).take(8192).read_to_end(&mut text).ok()?;
    let text = String::from_utf8_lossy(&text);
    let mut lines = text.lines();
    let pid = lines.next()?.parse().ok().filter(|&pid| pid > 0)?;
    let created = lines.next().and_then(read_created);
    let namespace = lines.next().unwrap_or_default().to_owned();
    let runs_command = lines.next() == Some(COMMAND);
    Some(State { pid, created, runs_command, namespace, path: path.to_owned(), file })
}

fn read_created(line: &str) -> Option<Created> {
    let mut numbers = line.split(' ').map(|word| word.parse().ok());
    let mut next = || numbers.next().flatten();
    Some(Created { dev: next()?, ino: next()?, born: next()? })
}

/// Which mount table this process sees.
fn namespace() -> Option<String> {
    fs::read_link("/proc/self/ns/mnt").ok().map(|link| link.display().to_string())
}

impl State {
    /// How long ago the daemon announced itself; None if it does not live any more.
    pub fn age(self) -> Option<Duration> {
        let since = self.file.metadata().and_then(|meta| meta.modified());
        // Shared: others may be asking at the same time, and are not taken for the daemon.
        let is_living = Flock::lock(self.file, FlockArg::LockSharedNonblock).is_err();
        is_living.then(|| since.ok().and_then(|since| since.elapsed().ok()).unwrap_or_default())
    }

    /// Waits until the daemon is gone (it holds the lock until it ends); false if it is still there then.
    pub fn wait_until_gone(self, time: Duration) -> bool {
        let end = Instant::now() + time;
        let Some(lock) = lock_within(self.file, time) else {
            return false;
        };
        // A dead daemon could not remove its file. With the lock in hand nobody else is using it.
        if is_at(&lock, &self.path) {
            let _ = fs::remove_file(&self.path);
        }
        while !self.runs_command && is_running(self.pid) {
            if Instant::now() >= end {
                return false;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        true
    }
}

/// A zombie counts as gone: its parent has yet to wait for it.
fn is_running(pid: i32) -> bool {
    let Ok(stat) = fs::read(format!("/proc/{pid}/stat")) else {
        return false;
    };
    // The command's name, in parentheses, may contain anything.
    let after_name = stat.iter().rposition(|&b| b == b')').map_or(0, |at| at + 2);
    !matches!(stat.get(after_name), Some(b'Z' | b'X') | None)
}

/// Removes what killed daemons left, when their mounts are gone too (as far as this mount table tells).
fn prune(directory: &Path) {
    let (Ok(table), Ok(entries)) = (mountinfo::read(), fs::read_dir(directory)) else {
        return;
    };
    for path in entries.flatten().map(|entry| entry.path()) {
        let device = path.file_name().and_then(|name| Device::parse(name.to_str()?));
        let Some(device) = device.filter(|device| !table.iter().any(|entry| entry.device == *device)) else {
            continue;
        };
        let Some(state) = read(&path).filter(|state| Some(&state.namespace) == namespace().as_ref()) else {
            continue;
        };
        let lock = lock_within(state.file, Duration::ZERO);
        // Looked at again under the lock: a mount may have been made, and killed, meanwhile.
        let is_gone = || mountinfo::read().is_ok_and(|now| !now.iter().any(|entry| entry.device == device));
        if lock.is_some_and(|lock| is_at(&lock, &path) && is_gone()) {
            let _ = fs::remove_file(&path);
            log::debug!("removed the state of a dead daemon, {device}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_directory_of_ones_own_is_private() {
        let dir = tempfile::tempdir().unwrap();
        let uid = nix::unistd::geteuid().as_raw();
        assert!(is_private(dir.path(), uid));
        assert!(!is_private(dir.path(), uid + 1));
        let link = dir.path().join("link");
        std::os::unix::fs::symlink(dir.path(), &link).unwrap();
        assert!(!is_private(&link, uid));
    }

    #[test]
    fn live_and_dead_processes_are_distinguished() {
        assert!(is_running(std::process::id() as i32));
        assert!(!is_running(i32::MAX));
    }

    #[test]
    fn another_process_that_asks_is_not_taken_for_the_daemon() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("0-1");
        fs::write(&path, "1\n-\n-\n").unwrap();
        let asking = Flock::lock(File::open(&path).unwrap(), FlockArg::LockSharedNonblock).unwrap();
        assert!(read(&path).unwrap().age().is_none());
        drop(asking);
        let _daemon = locked(&path).unwrap();
        assert!(read(&path).unwrap().age().is_some());
    }

    #[test]
    fn a_lock_is_waited_for_but_not_forever() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("0-1");
        let held = locked(&path).unwrap();
        assert!(lock_within(open(&path, false).unwrap(), Duration::from_millis(30)).is_none());
        drop(held);
        assert!(lock_within(open(&path, false).unwrap(), Duration::ZERO).is_some());
    }
}
