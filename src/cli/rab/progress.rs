//! A progress bar: on a terminal only, and only once it takes a while. Any thread may move it.

use std::io::{self, IsTerminal};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

/// What takes less needs no progress bar.
const PATIENCE: Duration = Duration::from_secs(1);

/// Bytes done of a total.
pub struct Progress {
    since: Instant,
    total: u64,
    done: AtomicU64,
    is_seen: bool,
    bar: OnceLock<ProgressBar>,
}

impl Progress {
    pub fn new(total: u64) -> Progress {
        let is_seen = io::stderr().is_terminal();
        Progress { since: Instant::now(), total, done: AtomicU64::new(0), is_seen, bar: OnceLock::new() }
    }

    pub fn add(&self, bytes: u64) {
        let done = self.done.fetch_add(bytes, Ordering::Relaxed) + bytes;
        if self.is_seen && self.since.elapsed() > PATIENCE {
            self.bar.get_or_init(|| self.bar()).set_position(done);
        }
    }

    fn bar(&self) -> ProgressBar {
        let style = ProgressStyle::with_template("{wide_bar} {bytes} of {total_bytes}, {eta} left");
        let bar = ProgressBar::new(self.total);
        style.map_or(bar.clone(), |style| bar.with_style(style))
    }

    /// Does something that prints.
    pub fn hidden<T>(&self, print: impl FnOnce() -> T) -> T {
        match self.bar.get() {
            Some(bar) => bar.suspend(print),
            None => print(),
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = self.bar.get() {
            bar.finish_and_clear();
        }
    }
}
