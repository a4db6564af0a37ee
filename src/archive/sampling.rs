//! Parts of samples by what their axes mean: `c3, 10s:12.5s` for a channel's name and a range of time, in any order,
//! as the numbers that they stand for.

use crate::tree::Sampling;

/// The same expression in numbers, axes in order. Terms that are numbers (or texts that mean nothing here) stay, and
/// take the axes that are left.
pub fn in_numbers(expression: &str, sampling: &Sampling) -> Result<String, String> {
    let (mut time, mut channel, mut plain) = (None, None, Vec::new());
    for term in expression.split(',').map(str::trim) {
        let (slot, found) = if let Some(range) = samples(term, sampling.rate)? {
            (&mut time, range)
        } else if let Some(number) = named(term, sampling) {
            (&mut channel, number.to_string())
        } else {
            plain.push(term);
            continue;
        };
        if slot.replace(found).is_some() {
            return Err(format!("{expression:?} has two ranges of time, or two channels"));
        }
    }
    let Some(first) = time.or_else(|| channel.is_some().then(|| take_range(&mut plain))) else {
        return Ok(expression.to_owned());
    };
    plain.retain(|term| !matches!(*term, "..." | ""));
    match (channel, plain.as_slice()) {
        (Some(channel), []) => Ok(format!("{first}, {channel}")),
        (None, []) => Ok(first),
        (None, [other]) => Ok(format!("{first}, {other}")),
        _ => Err(format!("{expression:?} has more terms than samples and channels")),
    }
}

/// The term that a channel's name leaves for the samples.
fn take_range(plain: &mut Vec<&str>) -> String {
    let at = plain.iter().position(|term| !matches!(*term, "..." | ""));
    at.map_or(":".into(), |at| plain.remove(at).to_owned())
}

/// A number is a number, even if a channel is called so.
fn named(term: &str, sampling: &Sampling) -> Option<usize> {
    let is_number = term.parse::<i128>().is_ok();
    sampling.channels.iter().position(|channel| channel.as_deref() == Some(term)).filter(|_| !is_number)
}

/// The range of samples that a time or range of times stands for; None if the term is neither.
fn samples(term: &str, rate: f64) -> Result<Option<String>, String> {
    let (start, stop) = match term.split_once(':') {
        None => match nanoseconds(term)? {
            None => return Ok(None),
            // A moment is the nanosecond after it.
            Some(start) => (Some(start), Some(start + 1)),
        },
        Some((start, stop)) => {
            let (from, to) = (nanoseconds(start.trim())?, nanoseconds(stop.trim())?);
            match (from, to) {
                (None, None) => return Ok(None),
                (None, to) if start.trim().is_empty() => (None, to),
                (from, None) if stop.trim().is_empty() => (from, None),
                (Some(from), Some(to)) if from < to => (Some(from), Some(to)),
                _ => return Err(format!("{term:?} is no range of time such as 10s:12.5s, 10s: or :500ms")),
            }
        }
    };
    if !(rate.is_finite() && rate > 0.0) {
        return Err(format!("the sample rate is {rate}, which gives times no meaning"));
    }
    let sample = |time: i128| (time as f64 / 1e9 * rate).floor() as u64;
    let first = start.map_or(String::new(), |start| sample(start).to_string());
    let last = stop.map_or(String::new(), |stop| (sample((stop - 1).max(0)) + 1).to_string());
    Ok(Some(format!("{first}:{last}")))
}

const UNITS: [(&str, u32); 4] = [("ns", 0), ("us", 3), ("ms", 6), ("s", 9)];
const LONG_UNITS: [(&str, i128); 2] = [("min", 60), ("h", 3600)];

/// A time such as `12.5s`, exact to the nanosecond; None if it is no number with a unit.
fn nanoseconds(text: &str) -> Result<Option<i128>, String> {
    let digits = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let unit = unit.trim();
    let power = UNITS.iter().find(|(name, _)| *name == unit).map(|(_, power)| (*power, 1));
    let long = || LONG_UNITS.iter().find(|(name, _)| *name == unit).map(|(_, seconds)| (9, *seconds));
    let Some((power, times)) = power.or_else(long).filter(|_| !number.is_empty()) else { return Ok(None) };
    let (whole, part) = number.split_once('.').unwrap_or((number, ""));
    let (kept, rest) = part.split_at(part.len().min(power as usize));
    let padded = format!("{whole}{kept:0<width$}", width = power as usize);
    let parsed = padded.parse::<i128>().ok().and_then(|number| number.checked_mul(times));
    match parsed {
        Some(number) if rest.bytes().all(|byte| byte == b'0') && number <= i64::MAX.into() => {
            Ok(Some(number))
        }
        _ => Err(format!("{text:?} is no whole number of nanoseconds below 2^63")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(expression: &str) -> Result<String, String> {
        let channels = ["c3", "m1-c4", "(a+b)/2", "7"].map(|name| Some(name.to_owned())).to_vec();
        in_numbers(expression, &Sampling { rate: 100.0, channels })
    }

    #[test]
    fn channels_and_times() {
        for (expression, wanted) in [
            ("c3, 10s:12.5s", "1000:1250, 0"),
            ("10s:12.5s, m1-c4", "1000:1250, 1"),
            ("(a+b)/2", ":, 2"),
            ("c3, 5:9:2", "5:9:2, 0"),
            ("-3, c3", "-3, 0"),
            ("..., c3", ":, 0"),
            (":500ms", ":50"),
            ("1min:", "6000:"),
            ("1.5s", "150:151"),
            ("15ms, 0", "1:2, 0"),
            ("0s:1ns", "0:1"),
            ("3, 10:20", "3, 10:20"),
            ("7", "7"),
            ("...", "..."),
        ] {
            assert_eq!(numbers(expression).as_deref(), Ok(wanted), "{expression}");
        }
        for wrong in ["c3, m1-c4", "1s, 2s", "2s:1s", "1s:5", "c3, 1s, 0", "1.0000000001s", "99999999999s"] {
            assert!(numbers(wrong).is_err(), "{wrong}");
        }
        assert!(in_numbers("1s", &Sampling { rate: f64::NAN, channels: Vec::new() }).is_err());
    }
}
