//! Ctrl-C and its like: the verb ends by itself, so that nothing half-written stays, and then the program as if it
//! had not heard of them. A second one ends it at once.

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
    /// Does what can be stopped, and all that it has begun is gone before the program ends.
    pub fn heard(work: impl FnOnce(&Stop) -> Done) -> Done {
        let stop = Stop::listen();
        let done = work(&stop);
        stop.obey();
        done
    }

    /// Listens from now on.
    pub fn listen() -> Stop {
        let stop = Stop { asked: Arc::default(), signal: Arc::default() };
        for number in [SIGINT, SIGTERM, SIGHUP] {
            let signal = stop.signal.clone();
            // Where it cannot be listened to, it ends the program as it always did.
            let _ = flag::register_conditional_default(number, stop.asked.clone());
            // SAFETY: storing a number is all that it does.
            let _ = unsafe { low_level::register(number, move || signal.store(number, Ordering::Relaxed)) };
            let _ = flag::register(number, stop.asked.clone());
            let _ = flag::register(number, INTERRUPTED.clone());
        }
        stop
    }

    /// Fails once it is asked for.
    pub fn go_on(&self) -> Result<()> {
        match self.asked.load(Ordering::Relaxed) {
            true => Err(Error::Other("interrupted".into())),
            false => Ok(()),
        }
    }

    /// Ends the program if that was asked for.
    pub fn obey(&self) {
        let number = self.signal.load(Ordering::Relaxed);
        if number != 0 {
            let _ = low_level::emulate_default_handler(number);
        }
    }
}
