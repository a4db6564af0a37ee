//! Lays out the data of the new file: datasets in order, without gaps. Those that share bytes in the old file share
//! them in the new one, so that it does not grow.

use std::ops::Range;

/// Where the bytes of a dataset currently are.
#[derive(Clone, Debug)]
pub enum Part {
    /// In the old file.
    Old(Range<u64>),
    /// In the writer's file, where datasets never share bytes.
    New(Range<u64>),
}

/// A run of bytes that is copied in one go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    pub is_old: bool,
    pub start: u64,
    pub len: u64,
    /// Destination, relative to the start of the data.
    pub at: u64,
}

#[derive(Debug, Default)]
pub struct Placed {
    /// In the order of their destinations, without gaps.
    pub runs: Vec<Run>,
    /// The new offset of each part.
    pub offsets: Vec<u64>,
    pub len: u64,
}

/// A range of the old file that must stay contiguous because datasets overlap in it.
struct Shared {
    range: Range<u64>,
    at: Option<u64>,
}

pub fn place(parts: impl Iterator<Item = Part> + Clone) -> Placed {
    let mut shared = shared(parts.clone());
    let mut placed = Placed::default();
    for part in parts {
        let offset = match part {
            Part::New(range) => placed.append(false, &range),
            Part::Old(range) if range.is_empty() => placed.len,
            Part::Old(range) => match group(&mut shared, range.start) {
                Some(Shared { range: whole, at }) => {
                    let at = *at.get_or_insert_with(|| placed.append(true, whole));
                    at + (range.start - whole.start)
                }
                None => placed.append(true, &range),
            },
        };
        placed.offsets.push(offset);
    }
    placed
}

impl Placed {
    /// Appends a range and returns its destination.
    fn append(&mut self, is_old: bool, range: &Range<u64>) -> u64 {
        let (at, len) = (self.len, range.end - range.start);
        self.len += len;
        match self.runs.last_mut() {
            _ if len == 0 => {}
            Some(last) if last.is_old == is_old && last.start + last.len == range.start => last.len += len,
            _ => self.runs.push(Run { is_old, start: range.start, len, at }),
        }
        at
    }
}

/// The old ranges of all parts, overlapping ones merged, sorted by start.
fn shared(parts: impl Iterator<Item = Part>) -> Vec<Shared> {
    let old = parts.filter_map(|part| match part {
        Part::Old(range) if !range.is_empty() => Some(range),
        _ => None,
    });
    let mut ranges: Vec<Range<u64>> = old.collect();
    ranges.sort_unstable_by_key(|range| range.start);
    let mut all: Vec<Shared> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match all.last_mut() {
            Some(last) if range.start < last.range.end => last.range.end = last.range.end.max(range.end),
            _ => all.push(Shared { range, at: None }),
        }
    }
    all
}

/// The range that contains this byte.
fn group(shared: &mut [Shared], start: u64) -> Option<&mut Shared> {
    let after = shared.partition_point(|group| group.range.start <= start);
    shared.get_mut(after.checked_sub(1)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use Part::{New, Old};

    type Plain = (bool, u64, u64, u64);

    fn placed(parts: &[Part]) -> (Vec<u64>, Vec<Plain>, u64) {
        let Placed { runs, offsets, len } = place(parts.iter().cloned());
        (offsets, runs.iter().map(|run| (run.is_old, run.start, run.len, run.at)).collect(), len)
    }

    #[test]
    fn neighbours_are_copied_at_once() {
        let all = placed(&[Old(100..110), Old(110..110), Old(110..150), Old(150..151)]);
        assert_eq!(all, (vec![0, 10, 10, 50], vec![(true, 100, 51, 0)], 51));
        let less = placed(&[Old(100..110), Old(150..151), New(51..60), New(60..60), New(60..61)]);
        let runs = vec![(true, 100, 10, 0), (true, 150, 1, 10), (false, 51, 10, 11)];
        assert_eq!(less, (vec![0, 10, 11, 20, 20], runs, 21));
    }

    #[test]
    fn an_order_that_is_not_that_of_the_bytes() {
        let all = placed(&[Old(50..60), New(3..5), Old(10..20)]);
        assert_eq!(
            all,
            (vec![0, 10, 12], vec![(true, 50, 10, 0), (false, 3, 2, 10), (true, 10, 10, 12)], 22)
        );
    }

    #[test]
    fn shared_bytes_stay_shared() {
        let all = placed(&[Old(90..95), Old(20..30), Old(10..25), Old(20..30), Old(29..40), Old(40..41)]);
        assert_eq!(
            all,
            (vec![0, 15, 5, 15, 24, 35], vec![(true, 90, 5, 0), (true, 10, 31, 5)], 36),
            "the group is placed by its first member, all of it"
        );
    }
}
