//! The life of a mount after it is ready: serve until the session ends, by whoever unmounts. The first signal
//! unmounts (lazily if the mount is busy, and then serves on until the last file is closed); the second one
//! ends the process at once.

use super::session::Mounted;
use super::signals::{self, Event};
use super::unmount::{Refusal, unmount};
use std::process::ExitCode;
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

#[derive(Clone, Copy, PartialEq)]
enum State {
    Serving,
    /// Unmounted for good: the session is about to end.
    Unmounted,
    /// Asked to end, but somebody is using it, or something is mounted on it.
    InUse,
}

pub fn until_end(mut mounted: Mounted) -> ExitCode {
    let mut state = State::Serving;
    loop {
        match next(&mounted, state) {
            None => {
                log::warn!(
                    "{}: unmounted, but still served, as another mount namespace holds it; a further signal \
                     ends this at once",
                    mounted.place.path.display()
                );
                state = State::InUse;
            }
            Some(Event::Signal(signal)) if state == State::Serving => {
                log::info!("{}: unmounting on {}", mounted.place.path.display(), signals::name(signal));
                state = unmounted_on_signal(&mut mounted);
            }
            Some(Event::Signal(_)) => return end_now(mounted, state),
            Some(Event::Ended(result)) => return ended(mounted, result),
            Some(Event::CommandEnded) => {}
        }
        if state == State::Unmounted {
            mounted.remove_directory();
        }
    }
}

/// The next event; None if a session that should end by itself has not, for a while.
fn next(mounted: &Mounted, state: State) -> Option<Event> {
    let lost = || Event::Ended(Ok(()));
    if state != State::Unmounted {
        return Some(mounted.events.recv().unwrap_or_else(|_| lost()));
    }
    match mounted.events.recv_timeout(Duration::from_secs(2)) {
        Ok(event) => Some(event),
        Err(RecvTimeoutError::Disconnected) => Some(lost()),
        Err(RecvTimeoutError::Timeout) => None,
    }
}

fn unmounted_on_signal(mounted: &mut Mounted) -> State {
    let path = mounted.place.path.display().to_string();
    match unmount(&mounted.entry, false) {
        Ok(()) => return State::Unmounted,
        Err(Refusal::Busy) => {}
        Err(refusal) => return keep_serving(&path, refusal),
    }
    match unmount(&mounted.entry, true) {
        Ok(()) => {
            log::warn!(
                "{path}: in use: detached, and served until the last file is closed; a second signal ends \
                 this at once"
            );
            mounted.remove_directory();
            State::InUse
        }
        Err(refusal) => keep_serving(&path, refusal),
    }
}

fn keep_serving(path: &str, refusal: Refusal) -> State {
    match refusal {
        Refusal::Covered(what) => log::warn!(
            "{path}: not unmounted, as something else is mounted on it or inside it: unmount {what} first, \
             then this with 'rab-mount -u {path}'; a second signal ends this at once and leaves a dead \
             mount"
        ),
        Refusal::Busy => log::warn!("{path}: in use, and cannot be detached: it stays mounted"),
        Refusal::Other(why) => log::warn!("{path}: cannot be unmounted and stays mounted: {why}"),
    }
    State::InUse
}

fn end_now(mut mounted: Mounted, state: State) -> ExitCode {
    if state == State::Unmounted {
        return ExitCode::SUCCESS;
    }
    let path = mounted.place.path.display().to_string();
    // What was in the way may be gone by now.
    if unmount(&mounted.entry, false).is_ok() {
        log::warn!("{path}: ended by a second signal");
        mounted.remove_directory();
    } else {
        log::warn!(
            "{path}: ended by a second signal; left behind as a dead mount: clear it with 'rab-mount -u {path}'"
        );
        mounted.leave_behind();
    }
    ExitCode::FAILURE
}

fn ended(mut mounted: Mounted, result: std::io::Result<()>) -> ExitCode {
    let path = mounted.place.path.display().to_string();
    let code = match result {
        // Unmounted by whoever; what is mounted there by now is somebody else's, whatever its id.
        Ok(()) => ExitCode::SUCCESS,
        Err(cause) => {
            log::error!("{path}: the session failed: {cause}");
            // A mount without a server must not stay.
            if let Err(refusal) = unmount(&mounted.entry, true) {
                keep_serving(&path, refusal);
            }
            ExitCode::FAILURE
        }
    };
    mounted.remove_directory();
    log::info!("{path}: unmounted");
    code
}
