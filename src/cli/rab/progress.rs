//! A progress bar: on a terminal only, and only once it takes a while. Any thread may move it.

use std::io::{self, IsTerminal};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// What takes less needs no progress bar.
const PATIENCE: Duration = Duration::from_secs(1);

/// Bytes done of a total.
pub struct Progress {
    since: Instant,
    /// Counts from the start, so that it knows the speed by the time it is shown. None without a terminal.
    bar: Option<ProgressBar>,
    is_shown: AtomicBool,
}

impl Progress {
    pub fn new(total: u64) -> Progress {
        let bar = io::stderr().is_terminal().then(|| hidden_bar(total));
        Progress { since: Instant::now(), bar, is_shown: AtomicBool::new(false) }
    }

    pub fn add(&self, bytes: u64) {
        let Some(bar) = &self.bar else { return };
        bar.inc(bytes);
        if self.since.elapsed() > PATIENCE && !self.is_shown.swap(true, Ordering::Relaxed) {
            bar.set_draw_target(ProgressDrawTarget::stderr());
        }
    }

    /// This many bytes of the total will not be read, and do not count for the speed.
    pub fn skip(&self, bytes: u64) {
        if let Some(bar) = &self.bar {
            bar.dec_length(bytes);
        }
    }

    /// Of the total, `planned` bytes turn out to be `actual` ones.
    pub fn correct(&self, planned: u64, actual: u64) {
        if let Some(bar) = &self.bar {
            bar.inc_length(actual);
            bar.dec_length(planned);
        }
    }

    /// Does something that prints.
    pub fn hidden<T>(&self, print: impl FnOnce() -> T) -> T {
        match &self.bar {
            Some(bar) => bar.suspend(print),
            None => print(),
        }
    }
}

fn hidden_bar(total: u64) -> ProgressBar {
    let style = ProgressStyle::with_template("{wide_bar} {bytes} of {total_bytes}, {eta} left");
    let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::hidden());
    style.map_or(bar.clone(), |style| bar.with_style(style))
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
