//! Handles Ctrl-C and similar signals: the verb stops by itself, so that nothing half-written remains, and then the
//! process dies of the signal as usual. A second signal kills it immediately.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::{flag, low_level};

use super::output::Done;
use crate::codec::INTERRUPTED;
use crate::{Error, Result};

pub struct Stop {
    pub asked: Arc<AtomicBool>,
    signal: Arc<AtomicI32>,
}

impl Stop {
    /// Runs work that signals can stop; it cleans up before the process ends.
    pub fn heard(work: impl FnOnce(&Stop) -> Done) -> Done {
        let stop = Stop::listen();
        let done = work(&stop);
        stop.obey();
        done
    }

    /// Installs the signal handlers.
    pub fn listen() -> Stop {
        let stop = Stop { asked: Arc::default(), signal: Arc::default() };
        for number in [SIGINT, SIGTERM, SIGHUP] {
            let signal = stop.signal.clone();
            // If a handler cannot be installed, the signal keeps its default action.
            let _ = flag::register_conditional_default(number, stop.asked.clone());
            // SAFETY: the handler only stores an atomic, which is async-signal-safe.
            let _ = unsafe { low_level::register(number, move || signal.store(number, Ordering::Relaxed)) };
            let _ = flag::register(number, stop.asked.clone());
            let _ = flag::register(number, INTERRUPTED.clone());
        }
        stop
    }

    /// Fails once a signal has arrived.
    pub fn go_on(&self) -> Result<()> {
        match self.asked.load(Ordering::Relaxed) {
            true => Err(Error::Other("interrupted".into())),
            false => Ok(()),
        }
    }

    /// Ends the process if a signal has arrived.
    pub fn obey(&self) {
        let number = self.signal.load(Ordering::Relaxed);
        if number != 0 {
            let _ = low_level::emulate_default_handler(number);
        }
    }
}
