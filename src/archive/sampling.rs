//! Parts of samples by what their axes mean: `c3, 10s:12.5s` for a channel's name and a range of time, in any order,
//! as the numbers that they stand for.
//!
//! | a term | is, the first that fits |
//! |---|---|
//! | `"10s"`, `'3'` | the channel of that name |
//! | `10s:12.5s`, `500ms` | a range of time, a moment |
//! | `3`, `-1`, `2:10:2`, `...` | an index, as numpy's |
//! | `c3` | the channel of that name |

use crate::array::{Term, is_index, terms};
use crate::tree::Sampling;

/// Names of channels that a message gives, and how many bytes they may have together.
const MAX_NAMED: (usize, usize) = (50, 1000);

/// The meaning of an expression: the same in numbers, and notes for the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Meant {
    pub expression: String,
    pub notes: Vec<String>,
}

impl Meant {
    pub fn as_it_is(expression: &str) -> Meant {
        Meant { expression: expression.to_owned(), notes: Vec::new() }
    }
}

/// The expression with axes in order, where there are `count` samples. Terms that are numbers stay, and take the axes
/// that are left. Times may reach past the end, as slices do, and then that is noted; they do not begin there.
pub fn in_numbers(expression: &str, sampling: &Sampling, count: u64) -> Result<Meant, String> {
    let (mut notes, mut others) = (Vec::new(), Vec::new());
    let found = numbers(expression, sampling, count, &mut notes, &mut others);
    match found {
        Ok(expression) => Ok(Meant { expression, notes: [notes, others].concat() }),
        Err(problem) => Err([vec![problem], others].concat().join("; ")),
    }
}

/// `others` is what else could have been meant.
fn numbers(
    expression: &str,
    sampling: &Sampling,
    count: u64,
    notes: &mut Vec<String>,
    others: &mut Vec<String>,
) -> Result<String, String> {
    let (mut time, mut channel, mut plain) = (None, None, Vec::new());
    for term in terms(expression)? {
        let (slot, found) = match Meaning::of(&term, sampling)? {
            Meaning::Time(term, range) => {
                others.extend(other_meaning(term, true, sampling));
                notes.extend(range.check(term, sampling.rate, count)?);
                (&mut time, range.shown())
            }
            Meaning::Channel(number) => (&mut channel, number.to_string()),
            Meaning::Plain(term) => {
                others.extend(other_meaning(term, false, sampling).filter(|_| is_index(term)));
                plain.push(term);
                continue;
            }
        };
        if slot.replace(found).is_some() {
            return Err(format!("{expression:?} has two ranges of time, or two channels"));
        }
    }
    let Some(first) = time.or_else(|| channel.is_some().then(|| take_range(&mut plain))) else {
        return Ok(expression.to_owned());
    };
    plain.retain(|term| !matches!(*term, "..." | ""));
    if channel.is_some() {
        // Then no other term can have been meant as one.
        others.clear();
    }
    match (channel, plain.as_slice()) {
        (Some(channel), []) => Ok(format!("{first}, {channel}")),
        (None, []) => Ok(first),
        (None, [other]) => Ok(format!("{first}, {other}")),
        _ => Err(format!("{expression:?} has more terms than samples and channels")),
    }
}

/// What a term is: see the table above.
enum Meaning<'a> {
    Time(&'a str, Range),
    Plain(&'a str),
    Channel(usize),
}

impl<'a> Meaning<'a> {
    fn of(term: &Term<'a>, sampling: &Sampling) -> Result<Meaning<'a>, String> {
        let term = match *term {
            Term::Name(name) => return named(name, sampling).map(Meaning::Channel),
            Term::Bare(term) => term,
        };
        if let Some(range) = Range::of(term, sampling.rate)? {
            return Ok(Meaning::Time(term, range));
        }
        match position(term, sampling).filter(|_| !is_index(term)) {
            Some(number) => Ok(Meaning::Channel(number)),
            None if is_plain(term) => Ok(Meaning::Plain(term)),
            None => Err(no_channel(term, sampling)),
        }
    }
}

/// Can this be a number or a slice, or something that is known from numpy?
fn is_plain(term: &str) -> bool {
    let is_part = |c: char| c.is_ascii_digit() || matches!(c, '-' | '+' | ':' | '.' | ' ');
    matches!(term, "None" | "newaxis" | "np.newaxis") || term.chars().all(is_part)
}

/// The note for a term that could also be a channel's name.
fn other_meaning(term: &str, is_time: bool, sampling: &Sampling) -> Option<String> {
    let quote = if term.contains('"') { '\'' } else { '"' };
    let what = if is_time { "a time" } else { "an index" };
    position(term, sampling).map(|_| {
        format!("{term} is {what} here; the channel that is called so is {quote}{term}{quote}, in quotes")
    })
}

fn no_channel(term: &str, sampling: &Sampling) -> String {
    format!("{term:?} is not a channel, time or index; its channels are {}", channels(sampling))
}

/// The names of all, or of the first.
fn channels(sampling: &Sampling) -> String {
    let (most, bytes) = MAX_NAMED;
    let mut left = bytes;
    let names = sampling.channels.iter().flatten();
    let fits = |name: &&String| {
        left = left.saturating_sub(name.len());
        left > 0
    };
    let shown: Vec<&str> = names.take(most).take_while(fits).map(String::as_str).collect();
    let more = match sampling.channels.len() - shown.len() {
        0 => String::new(),
        count => format!(" and {count} more"),
    };
    shown.join(", ") + &more
}

/// The term that a channel's name leaves for the samples.
fn take_range(plain: &mut Vec<&str>) -> String {
    let at = plain.iter().position(|term| !matches!(*term, "..." | ""));
    at.map_or(":".into(), |at| plain.remove(at).to_owned())
}

fn position(name: &str, sampling: &Sampling) -> Option<usize> {
    sampling.channels.iter().position(|channel| channel.as_deref() == Some(name))
}

fn named(name: &str, sampling: &Sampling) -> Result<usize, String> {
    let none = || format!("no channel is called {name:?}; its channels are {}", channels(sampling));
    position(name, sampling).ok_or_else(none)
}

/// The samples that a time or range of times stands for.
struct Range {
    first: Option<u64>,
    end: Option<u64>,
}

impl Range {
    fn shown(&self) -> String {
        let text = |sample: Option<u64>| sample.map_or(String::new(), |sample| sample.to_string());
        format!("{}:{}", text(self.first), text(self.end))
    }

    /// Checks it against `count` samples; may return a note.
    fn check(&self, term: &str, rate: f64, count: u64) -> Result<Option<String>, String> {
        let (begins, ends) = (self.first.is_some_and(|first| first >= count), self.end > Some(count));
        let there = || format!("there are {count} samples, {} s", count as f64 / rate);
        match (begins, ends) {
            (true, _) => Err(format!("{term:?} begins past the end: {}", there())),
            (false, true) => {
                Ok(Some(format!("{term:?} reaches past the end, and is cut there: {}", there())))
            }
            (false, false) => Ok(None),
        }
    }

    /// None if the term is neither a time nor a range of times.
    fn of(term: &str, rate: f64) -> Result<Option<Range>, String> {
        let Some((start, stop)) = times(term)? else { return Ok(None) };
        if !(rate.is_finite() && rate > 0.0) {
            return Err(format!("the sample rate is {rate}, which gives times no meaning"));
        }
        let sample = |time: i128| (time as f64 / 1e9 * rate).floor() as u64;
        let end = stop.map(|stop| sample((stop - 1).max(0)).saturating_add(1));
        Ok(Some(Range { first: start.map(sample), end }))
    }
}

type Times = (Option<i128>, Option<i128>);

/// From when to when, in nanoseconds.
fn times(term: &str) -> Result<Option<Times>, String> {
    let range = match term.split_once(':') {
        None => match nanoseconds(term)? {
            None => return Ok(None),
            // A moment is the nanosecond after it, as is a range that ends where it begins.
            Some(start) => (Some(start), Some(start + 1)),
        },
        Some((start, stop)) => {
            let (from, to) = (nanoseconds(start.trim())?, nanoseconds(stop.trim())?);
            match (from, to) {
                (None, None) => return Ok(None),
                (None, to) if start.trim().is_empty() => (None, to),
                (from, None) if stop.trim().is_empty() => (from, None),
                (Some(from), Some(to)) if from <= to => (Some(from), Some(to.max(from + 1))),
                (Some(_), Some(_)) => {
                    return Err(format!(
                        "{term:?} ends before it begins: the times are the wrong way around"
                    ));
                }
                _ => {
                    return Err(format!("{term:?} is not a range of time such as 10s:12.5s, 10s: or :500ms"));
                }
            }
        }
    };
    Ok(Some(range))
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
        _ => Err(format!("{text:?} is not a whole number of nanoseconds below 2^63")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(expression: &str) -> Result<String, String> {
        let channels = ["c3", "m1-c4", "(a+b)/2", "7", "10s", "it's", "-", "a,b"]
            .map(|name| Some(name.to_owned()))
            .to_vec();
        in_numbers(expression, &Sampling { rate: 100.0, channels }, 7000).map(|meant| meant.expression)
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
            ("\"7\"", ":, 3"),
            ("'7', 1s:2s", "100:200, 3"),
            ("1s:2s,\"10s\" ", "100:200, 4"),
            ("10s", "1000:1001"),
            ("10s:10s", "1000:1001"),
            ("0s:0s, c3", "0:1, 0"),
            ("it's, 0", "0, 5"),
            ("\"it's\"", ":, 5"),
            ("-", ":, 6"),
            ("'a,b', 3", "3, 7"),
        ] {
            assert_eq!(numbers(expression).as_deref(), Ok(wanted), "{expression}");
        }
        for wrong in [
            "c3, m1-c4",
            "1s, 2s",
            "2s:1s",
            "1s:5",
            "c3, 1s, 0",
            "1.0000000001s",
            "99999999999s",
            "\"c3",
            "'c3' 1",
            "'c3''c3'",
            "'8'",
            "''",
        ] {
            assert!(numbers(wrong).is_err(), "{wrong}");
        }
        assert!(numbers("2s:1s").unwrap_err().contains("\"2s:1s\" ends before it begins"));
        assert!(in_numbers("1s", &Sampling { rate: f64::NAN, channels: Vec::new() }, 7).is_err());
    }

    #[test]
    fn unknown_channels_are_reported_with_the_known_ones() {
        let message = |term| numbers(term).unwrap_err();
        assert_eq!(
            message("nope, 3"),
            "\"nope\" is not a channel, time or index; its channels are c3, m1-c4, (a+b)/2, 7, 10s, it's, \
             -, a,b"
        );
        assert!(
            message("C3").contains("its channels are c3") && message("c3:c4").contains("is not a channel")
        );
        for plain in ["-1, ::2", "None", "+3", ""] {
            assert_eq!(numbers(plain).as_deref(), Ok(plain));
        }
        let of = |name: &str, count| {
            let channels = vec![Some(name.to_owned()); count];
            in_numbers("x", &Sampling { rate: 1.0, channels }, 1).unwrap_err()
        };
        assert!(of("ch", 1_000_000).ends_with("ch, ch and 999950 more"));
        assert!(of(&"c".repeat(400), 4).len() < 1000 && of(&"c".repeat(400), 4).ends_with(" and 2 more"));
    }

    #[test]
    fn times_past_the_end() {
        let of = |term: &str, count| {
            let sampling = Sampling { rate: 100.0, channels: vec![Some("c3".into())] };
            in_numbers(term, &sampling, count).map(|meant| (meant.expression, meant.notes))
        };
        assert_eq!(of("0s:5s", 500), Ok(("0:500".into(), Vec::new())));
        assert_eq!(of("4.99s", 500), Ok(("499:500".into(), Vec::new())));
        let note = "\"2s:5.01s\" reaches past the end, and is cut there: there are 500 samples, 5 s";
        assert_eq!(of("c3, 2s:5.01s", 500), Ok(("200:501, 0".into(), vec![note.into()])));
        assert!(!of(":6s", 500).unwrap().1.is_empty() && of("4s:", 500).unwrap().1.is_empty());
        for past in ["5s:6s", "5s:", "5s", "9000h:"] {
            let message = of(past, 500).unwrap_err();
            assert!(message.contains("begins past the end: there are 500 samples, 5 s"), "{message}");
        }
        assert!(of("0s:1s", 0).is_err() && !of(":1s", 0).unwrap().1.is_empty());
        // Numbers are cut without a word, as numpy does.
        assert_eq!(of("900:1000", 500), Ok(("900:1000".into(), Vec::new())));
    }

    /// Numbers and times stay such, with a note where a channel has that name.
    #[test]
    fn names_that_look_like_numbers_and_times_are_in_quotes() {
        let of = |term: &str| {
            let channels = ["3", "10s", "c3"].map(|name| Some(name.to_owned())).to_vec();
            in_numbers(term, &Sampling { rate: 100.0, channels }, 500)
        };
        let notes = |term: &str| of(term).unwrap().notes;
        let message = "3 is an index here; the channel that is called so is \"3\", in quotes";
        assert_eq!(notes("3, 1s:2s"), [message]);
        assert_eq!(notes("'3', 1s:2s"), [""; 0]);
        assert_eq!(notes("0:3, c3"), [""; 0]);
        let wrong = of("10s").unwrap_err();
        assert!(wrong.contains("begins past the end") && wrong.ends_with("is \"10s\", in quotes"), "{wrong}");
        assert!(of("10s, 1s:2s").unwrap_err().contains("\"10s\", in quotes"));
        assert!(of("'nope'").unwrap_err().starts_with("no channel is called \"nope\"; its channels are 3, "));
    }
}
