//! A progress bar, shown only on a terminal and only for work that takes a while. Any thread may update it.

use std::io::{self, IsTerminal};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Time before the progress bar appears.
const PATIENCE: Duration = Duration::from_secs(1);

/// Progress in bytes of a total.
pub struct Progress {
    since: Instant,
    /// Counts from the start, so that the speed is known once the bar is shown. None without a terminal.
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

    /// Removes bytes from the total that will not be read, so that they do not affect the speed.
    pub fn skip(&self, bytes: u64) {
        if let Some(bar) = &self.bar {
            bar.dec_length(bytes);
        }
    }

    /// Corrects the total: `planned` bytes turned out to be `actual`.
    pub fn correct(&self, planned: u64, actual: u64) {
        if let Some(bar) = &self.bar {
            bar.inc_length(actual);
            bar.dec_length(planned);
        }
    }

    /// Hides the bar while something else is printed.
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
