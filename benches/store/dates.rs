//! Times of objects: as HTTP has them (RFC 9110, section 5.6.7), and as listings do (ISO 8601). Both to the second.

use std::time::{SystemTime, UNIX_EPOCH};

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const WEEKDAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];

fn is_leap(year: u64) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

/// Days since 1970 as year, month (from 0) and day (from 1).
fn date(mut days: u64) -> (u64, usize, u64) {
    let (mut year, mut month) = (1970, 0);
    while days >= 365 + u64::from(is_leap(year)) {
        days -= 365 + u64::from(is_leap(year));
        year += 1;
    }
    let lengths = [31, 28 + u64::from(is_leap(year)), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    while days >= lengths[month] {
        days -= lengths[month];
        month += 1;
    }
    (year, month, days + 1)
}

fn seconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

fn time_of_day(seconds: u64) -> String {
    format!("{:02}:{:02}:{:02}", seconds / 3600 % 24, seconds / 60 % 60, seconds % 60)
}

pub fn http(time: SystemTime) -> String {
    let seconds = seconds(time);
    let (year, month, day) = date(seconds / 86_400);
    let weekday = WEEKDAYS[(seconds / 86_400 % 7) as usize];
    format!("{weekday}, {day:02} {} {year} {} GMT", MONTHS[month], time_of_day(seconds))
}

pub fn iso(time: SystemTime) -> String {
    let seconds = seconds(time);
    let (year, month, day) = date(seconds / 86_400);
    format!("{year}-{:02}-{day:02}T{}.000Z", month + 1, time_of_day(seconds))
}
