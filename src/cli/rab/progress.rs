//! A progress bar: on a terminal only, and only once it takes a while.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

/// What takes less needs no progress bar.
const PATIENCE: Duration = Duration::from_secs(1);

/// Bytes done of a total.
pub struct Progress {
    since: Instant,
    total: u64,
    done: u64,
    bar: Option<ProgressBar>,
}

impl Progress {
    pub fn new(total: u64) -> Progress {
        Progress { since: Instant::now(), total, done: 0, bar: None }
    }

    pub fn add(&mut self, bytes: u64) {
        self.done += bytes;
        if self.bar.is_none() && self.since.elapsed() > PATIENCE {
            let style = ProgressStyle::with_template("{wide_bar} {bytes} of {total_bytes}, {eta} left");
            let bar = ProgressBar::new(self.total);
            self.bar = Some(style.map_or(bar.clone(), |style| bar.with_style(style)));
        }
        if let Some(bar) = &self.bar {
            bar.set_position(self.done);
        }
    }

    /// Does something that prints.
    pub fn hidden<T>(&self, print: impl FnOnce() -> T) -> T {
        match &self.bar {
            Some(bar) => bar.suspend(print),
            None => print(),
        }
    }

    pub fn end(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
