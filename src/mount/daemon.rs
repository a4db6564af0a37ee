//! Mounting in the background. The process forks before any thread exists; the child opens the container,
//! mounts and serves. It reports through a pipe when the mount is ready or has failed: one byte exit code,
//! then the message. The parent then proves that the mount can be used, and returns what it learnt.

use super::config::Config;
use super::mountinfo::Device;
use super::mountpoint::Mountpoint;
use super::{Opened, fail, logging, serve, session, signals};
use crate::{Error, Result};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::{ForkResult, Pid, dup2_stderr, dup2_stdin, dup2_stdout, fork, setsid};
use std::fs::{self, File, OpenOptions};
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::process::ExitCode;

pub fn run<F: fuser::Filesystem>(
    config: &Config,
    place: &Mountpoint,
    open: impl FnOnce(&Config) -> Result<Opened<F>>,
) -> ExitCode {
    let (reader, writer) = match io::pipe() {
        Ok(ends) => ends,
        Err(cause) => return fail(&Error::Other(format!("a pipe cannot be made: {cause}"))),
    };
    // SAFETY: this is the only thread: nothing before this point starts one (the command line was parsed,
    // paths were looked at, the log file was opened), so no lock can be held that the child would miss.
    match unsafe { fork() } {
        Ok(ForkResult::Child) => {
            drop(reader);
            child(config, place, open, writer)
        }
        Ok(ForkResult::Parent { child }) => {
            drop(writer);
            match parent(place, child, reader) {
                Ok(summary) => {
                    super::announce(&summary, place, config);
                    ExitCode::SUCCESS
                }
                Err((code, message)) => {
                    super::complain(&message);
                    ExitCode::from(code)
                }
            }
        }
        Err(cause) => fail(&Error::Other(format!("a process cannot be started: {cause}"))),
    }
}

fn child<F: fuser::Filesystem>(
    config: &Config,
    place: &Mountpoint,
    open: impl FnOnce(&Config) -> Result<Opened<F>>,
    mut report: PipeWriter,
) -> ExitCode {
    logging::to_daemon_log();
    // What can fail comes before the mount.
    let mounted = null_device().and_then(|null| {
        let mut mounted = session::start(config, place, None, open(config)?, &signals::for_daemon())?;
        detach(&null).inspect_err(|_| mounted.undo())?;
        Ok(mounted)
    });
    let mounted = match mounted {
        Ok(mounted) => mounted,
        Err(error) => {
            let _ = report.write_all(&[&[error.exit_code()], error.to_string().as_bytes()].concat());
            return ExitCode::from(error.exit_code());
        }
    };
    let ready = format!("\0{} {}", mounted.entry.device, mounted.summary);
    // The parent may be gone (killed): then nobody waits for this, and the mount stays.
    let _ = report.write_all(ready.as_bytes());
    drop(report);
    log::info!("{}: mounted, {}", place.path.display(), mounted.summary);
    serve::until_end(mounted)
}

/// What takes the place of the standard descriptors.
fn null_device() -> Result<File> {
    OpenOptions::new().read(true).write(true).open("/dev/null").map_err(|cause| {
        Error::Other(format!(
            "/dev/null cannot be opened, which a daemon needs: {cause}; create it with 'mknod -m 666 /dev/null c 1 3', \
             or stay in the foreground with -f"
        ))
    })
}

/// Detaches from the terminal, the session and the current directory of the caller. The standard
/// descriptors stay open, so that no file of ours ever gets their numbers.
fn detach(null: &File) -> Result<()> {
    let fail = |cause: io::Error| Error::Other(format!("the daemon cannot detach: {cause}"));
    setsid().map_err(|errno| fail(errno.into()))?;
    std::env::set_current_dir("/").map_err(fail)?;
    logging::not_to_stderr();
    dup2_stdin(null)
        .and_then(|()| dup2_stdout(null))
        .and_then(|()| dup2_stderr(null))
        .map_err(|e| fail(e.into()))
}

/// The summary of a mount that can be used, or an exit code and why.
fn parent(place: &Mountpoint, child: Pid, mut reader: PipeReader) -> Result<String, (u8, String)> {
    let mut report = Vec::new();
    let _ = reader.read_to_end(&mut report);
    let Some((&code, message)) = report.split_first() else {
        return Err((1, format!("the daemon ended before the mount was ready: {}", how_it_ended(child))));
    };
    let message = String::from_utf8_lossy(message).into_owned();
    if code != 0 {
        return Err((code, message));
    }
    let (device, summary) = message.split_once(' ').unwrap_or((&message, ""));
    match fs::metadata(&place.path) {
        Ok(is) if Device::parse(device) == Some(Device::from_dev(is.dev())) => Ok(summary.to_owned()),
        Ok(_) => Err((1, format!("{}: was unmounted as soon as it was mounted", place.shown.display()))),
        Err(cause) => Err((1, format!("{}: mounted, but cannot be used: {cause}", place.shown.display()))),
    }
}

fn how_it_ended(child: Pid) -> String {
    match waitpid(child, None) {
        Ok(WaitStatus::Signaled(_, signal, _)) => format!("killed by {signal}"),
        Ok(WaitStatus::Exited(_, code)) => format!("exit code {code}"),
        _ => "for an unknown reason".into(),
    }
}
