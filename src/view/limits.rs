//! Detects rows too large to be written as text before any is read: a small file can repeat the column names in
//! endless rows, and each read of part of a row generates the whole row.

use super::frame::Frame;
use crate::tree::Description;

/// Bytes of a row's cells at most: a row is made whole for each read of a part of it.
const MAX_ROW_LEN: u64 = 1 << 20;
/// Bytes around the values of all rows that are always allowed, ...
const ALWAYS: u64 = 1 << 30;
/// ... or this many times the stored size of the dataset.
const TIMES: u64 = 64;

/// Bytes that may be around all values of a dataset.
pub fn most_around(about: &Description) -> u64 {
    let stored = about.stored_range().map(|range| range.end - range.start);
    stored.or(about.decoded_len).unwrap_or(0).saturating_mul(TIMES).max(ALWAYS)
}

/// Why such a dataset with rows is not written as text. A row has `around` bytes around the value of a column of
/// this name, at minimum.
pub fn too_much(about: &Description, around: impl Fn(&str) -> u64) -> Option<String> {
    let (rows, columns) = Frame::layout(about)?;
    let row = columns.iter().fold(0, |sum: u64, column| sum.saturating_add(column.width));
    if row > MAX_ROW_LEN {
        return Some(format!("a row has {row} bytes, more than {MAX_ROW_LEN} are not written as text"));
    }
    let most = most_around(about);
    let of_row = columns.iter().fold(0, |sum: u64, column| sum.saturating_add(around(&column.name)));
    (rows.saturating_mul(of_row) > most).then(|| {
        format!("as text its {rows} rows have more than {most} bytes around their values, which is the limit")
    })
}
