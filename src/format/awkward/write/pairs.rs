//! Checks that starts and stops describe valid lists. They arrive one after the other but only make sense together, so
//! both are read back from the new file.

use std::fs::File;
use std::os::unix::fs::FileExt;

use super::Added;
use crate::array;

/// Numbers read at a time.
const BLOCK: u64 = 8192;

/// For lists in a content of `have` items. There are at most as many starts as stops.
pub fn check(file: &File, starts: &Added, stops: &Added, have: u64) -> Result<(), String> {
    let count = starts.array.shape.iter().product();
    let mut first = 0;
    while first < count {
        let some = BLOCK.min(count - first);
        let pairs = ints(file, starts, first, some)?.into_iter().zip(ints(file, stops, first, some)?);
        for (number, (start, stop)) in (first..).zip(pairs) {
            if start < 0 || stop < start {
                return Err(format!("list {number} goes from {start} to {stop}"));
            }
            if stop > start && stop > i128::from(have) {
                return Err(format!("list {number} ends at {stop}, but its content has {have} items"));
            }
        }
        first += some;
    }
    // Surplus stops belong to no list, but the reference checks them too.
    let all = stops.array.shape.iter().product();
    while first < all {
        let some = BLOCK.min(all - first);
        for (number, stop) in (first..).zip(ints(file, stops, first, some)?) {
            if stop > i128::from(have) {
                return Err(format!(
                    "stop {number}, which no start has, is {stop}, but its content has {have} items"
                ));
            }
        }
        first += some;
    }
    Ok(())
}

fn ints(file: &File, of: &Added, first: u64, count: u64) -> Result<Vec<i128>, String> {
    let width = (of.array.dtype.element.size as usize).max(1);
    let mut bytes = vec![0; width * count as usize];
    let read = file.read_exact_at(&mut bytes, of.at + first * width as u64);
    read.map_err(|cause| format!("they cannot be read again: {cause}"))?;
    Ok(bytes.chunks_exact(width).map(|item| array::int(item, of.array.dtype)).collect())
}
