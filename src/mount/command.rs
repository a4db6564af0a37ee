//! `rab-mount SOURCE -- COMMAND`: a mount on a private directory for as long as one command runs. All in
//! this process and the command's, so that a batch system that kills the job leaves no daemon behind.

use super::config::Config;
use super::session::{self, Mounted};
use super::signals::{self, Event};
use super::unmount::{Refusal, unmount};
use super::{Opened, complain, fail, mountpoint};
use crate::Result;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{Id, WaitPidFlag, waitid};
use nix::unistd::Pid;
use signal_hook::consts::SIGINT;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, ExitCode, ExitStatus};
use std::thread;
use std::time::{Duration, Instant};

pub fn run<F: fuser::Filesystem>(
    config: &Config,
    words: &[OsString],
    open: impl FnOnce(&Config) -> Result<Opened<F>>,
) -> ExitCode {
    let mounted = open(config).and_then(|opened| {
        let (place, created) = mountpoint::private()?;
        session::start(config, &place, Some(created), opened, &signals::for_command())
            .inspect_err(|_| mountpoint::remove(&place.path, created))
    });
    let mut mounted = match mounted {
        Ok(mounted) => mounted,
        Err(error) => return fail(&error),
    };
    let code = match spawn(words, &mounted.place.path) {
        Ok(child) => wait(&mut mounted, child),
        Err(cause) => not_run(&words[0], &cause),
    };
    end(mounted);
    ExitCode::from(code)
}

fn spawn(words: &[OsString], mountpoint: &Path) -> io::Result<Child> {
    let mut words = words.iter().map(|word| with_mountpoint(word, mountpoint));
    let program = words.next().unwrap_or_default();
    Command::new(program).args(words).env("RAB_MOUNT", mountpoint).spawn()
}

/// Every `{}` replaced.
fn with_mountpoint(word: &OsStr, mountpoint: &Path) -> OsString {
    let mut bytes = Vec::new();
    let mut rest = word.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        if let Some(after) = rest.strip_prefix(b"{}") {
            bytes.extend_from_slice(mountpoint.as_os_str().as_bytes());
            rest = after;
        } else {
            bytes.push(first);
            rest = tail;
        }
    }
    OsString::from_vec(bytes)
}

/// The shell's codes for a command that cannot be run.
fn not_run(word: &OsStr, cause: &io::Error) -> u8 {
    let missing = cause.kind() == io::ErrorKind::NotFound;
    let why = if missing { "command not found".to_owned() } else { format!("cannot be executed: {cause}") };
    complain(&format!("{}: {why}", word.display()));
    if missing { 127 } else { 126 }
}

/// Passes signals on until the command has ended; its exit code, or 128 and the signal that killed it.
fn wait(mounted: &mut Mounted, mut child: Child) -> u8 {
    let pid = Pid::from_raw(child.id().cast_signed());
    let events = mounted.sender.clone();
    thread::spawn(move || {
        // It stays a zombie until `child.wait`, so that its number cannot be another process's meanwhile.
        while waitid(Id::Pid(pid), WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT)
            == Err(nix::errno::Errno::EINTR)
        {}
        let _ = events.send(Event::CommandEnded);
    });
    while let Ok(event) = mounted.events.recv() {
        match event {
            Event::CommandEnded => break,
            // The terminal sends it to the command as well.
            Event::Signal(SIGINT) => {}
            Event::Signal(signal) => {
                let _ = Signal::try_from(signal).map(|signal| kill(pid, signal));
            }
            Event::Ended(_) => {
                mounted.ended();
                log::warn!("{}: was unmounted while the command runs", mounted.place.path.display());
            }
        }
    }
    child.wait().map_or(1, code_of)
}

fn code_of(status: ExitStatus) -> u8 {
    let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
    u8::try_from(code).unwrap_or(u8::MAX)
}

fn end(mut mounted: Mounted) {
    let path = mounted.place.path.display().to_string();
    let result = match unmount(&mounted.entry, false) {
        // What the command left running loses its files with us.
        Err(Refusal::Busy) => unmount(&mounted.entry, true),
        Ok(()) if mounted.has_ended => Ok(()),
        Ok(()) => {
            wait_for_end(&mounted);
            Ok(())
        }
        refused => refused,
    };
    let why = match result {
        Ok(()) => return mounted.remove_directory(),
        Err(Refusal::Busy) => "it is in use".to_owned(),
        Err(Refusal::Covered(what)) => {
            format!("the command left something mounted inside: unmount {what} first")
        }
        Err(Refusal::Other(why)) => why,
    };
    log::warn!("{path}: left behind as a dead mount ({why}): clear it with 'rab-mount -u {path}'");
    mounted.leave_behind();
}

/// The session of an unmounted file system ends at once, and then keeps what it has learned.
fn wait_for_end(mounted: &Mounted) {
    let deadline = Instant::now() + Duration::from_secs(5);
    while let Ok(event) = mounted.events.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
        if let Event::Ended(_) = event {
            break;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pair_of_braces_is_replaced() {
        let path = Path::new("/m");
        for (word, expected) in [("{}", "/m"), ("a={}/b:{}", "a=/m/b:/m"), ("{ }{", "{ }{"), ("", "")] {
            assert_eq!(with_mountpoint(OsStr::new(word), path), expected);
        }
    }

    #[test]
    fn codes_as_a_shell_gives_them() {
        assert_eq!(code_of(ExitStatus::from_raw(3 << 8)), 3);
        assert_eq!(code_of(ExitStatus::from_raw(15)), 143);
    }
}
