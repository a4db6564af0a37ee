//! Progress through a dataset in stored bytes, for readers of its decoded bytes.

/// Tells stored bytes in proportion to the decoded ones; all of them once it is dropped.
pub struct Meter<'a> {
    stored: u64,
    len: Option<u64>,
    done: u64,
    reported: u64,
    report: &'a dyn Fn(u64),
}

impl<'a> Meter<'a> {
    /// For a dataset with this many stored and, if known, decoded bytes.
    pub fn new(stored: u64, len: Option<u64>, report: &'a dyn Fn(u64)) -> Meter<'a> {
        Meter { stored, len, done: 0, reported: 0, report }
    }

    /// Counts further decoded bytes.
    pub fn passed(&mut self, bytes: u64) {
        self.done += bytes;
        if let Some(len) = self.len.filter(|len| *len > 0) {
            let share = u128::from(self.stored) * u128::from(self.done.min(len)) / u128::from(len);
            self.reach(share as u64);
        }
    }

    fn reach(&mut self, share: u64) {
        if share > self.reported {
            (self.report)(share - self.reported);
            self.reported = share;
        }
    }
}

impl Drop for Meter<'_> {
    fn drop(&mut self) {
        self.reach(self.stored);
    }
}
