//! Similar names for one that does not exist.

use std::borrow::Cow;

/// Names that are looked at: a container may have millions, and nobody waits for a suggestion.
const MAX_NAMES: usize = 200_000;
/// Longer names are not compared, in bytes.
const MAX_LENGTH: usize = 256;
/// Names that are suggested.
const MAX_NEAR: usize = 3;

/// The names nearest to `wanted`, the best first; empty if none is near. Letter case counts for less than a typing
/// error does, the last part of a path may stand for the whole, and the beginning of either for all of it.
pub fn nearest<'n>(names: impl Iterator<Item = Cow<'n, [u8]>>, wanted: &[u8]) -> Vec<String> {
    let Some(wanted) = Wanted::new(wanted) else { return Vec::new() };
    let mut found: Vec<(usize, String)> = Vec::new();
    for name in names.take(MAX_NAMES) {
        let worst = match found.last() {
            Some((worst, _)) if found.len() == MAX_NEAR => *worst,
            _ => wanted.limit + 1,
        };
        let Ok(name) = std::str::from_utf8(&name) else { continue };
        if let Some(distance) = wanted.distance(name, worst)
            && !found.iter().any(|(_, other)| other == name)
        {
            let at = found.partition_point(|(other, _)| *other <= distance);
            found.insert(at, (distance, name.to_owned()));
            found.truncate(MAX_NEAR);
        }
    }
    found.into_iter().map(|(_, name)| name).collect()
}

struct Wanted {
    text: String,
    length: usize,
    /// Typing errors that are allowed for.
    limit: usize,
}

impl Wanted {
    fn new(name: &[u8]) -> Option<Wanted> {
        let text = std::str::from_utf8(name).ok().filter(|text| text.len() <= MAX_LENGTH)?.to_lowercase();
        let length = text.chars().count();
        // Of a name of one letter every other one is one error away.
        (length > 1).then(|| Wanted { limit: (length / 3).clamp(1, 4), text, length })
    }

    /// None if it is `worst` or more, or too far.
    fn distance(&self, name: &str, worst: usize) -> Option<usize> {
        if name.len() > MAX_LENGTH {
            return None;
        }
        let last = name.rsplit_once('/').map(|(_, last)| last);
        let whole = self.errors(name);
        let in_last = last.and_then(|last| Some(self.errors(last)? + 1));
        let begins = |name: &str| name.to_lowercase().starts_with(&self.text);
        let begun = (begins(name) || last.is_some_and(begins)).then_some(self.limit);
        whole.into_iter().chain(in_last).chain(begun).min().filter(|distance| *distance < worst)
    }

    fn errors(&self, name: &str) -> Option<usize> {
        // The difference of the lengths is the least that is to be changed.
        if name.chars().count().abs_diff(self.length) > self.limit {
            return None;
        }
        let errors = strsim::osa_distance(&name.to_lowercase(), &self.text);
        Some(errors).filter(|errors| *errors <= self.limit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(names: &[&str], wanted: &str) -> Vec<String> {
        nearest(names.iter().map(|name| name.as_bytes().into()), wanted.as_bytes())
    }

    #[test]
    fn names_that_were_meant() {
        let names = ["my first array", "my second array", "Some text", "sub01/eeg", "sub02/eeg", "x", "y"];
        assert_eq!(near(&names, "my frist array"), ["my first array"]);
        assert_eq!(near(&names, "some text"), ["Some text"]);
        assert_eq!(near(&names, "sub1/eeg"), ["sub01/eeg", "sub02/eeg"]);
        assert_eq!(near(&names, "eeg"), ["sub01/eeg", "sub02/eeg"]);
        assert_eq!(near(&names, "nothing"), [""; 0]);
        assert_eq!(near(&names, "z"), [""; 0]);
        assert_eq!(near(&["a1", "a2", "a3", "a4", "aa"], "ab"), ["a1", "a2", "a3"]);
        assert_eq!(near(&["data3", "dat", "data"], "data2"), ["data3", "data"]);
        assert_eq!(near(&["data3x", "dataxx", "data2x"], "data2x3"), ["data2x", "data3x", "dataxx"]);
        assert_eq!(near(&["same", "same"], "sane"), ["same"]);
        assert_eq!(near(&["pressure", "temperature", "temps"], "temp"), ["temperature", "temps"]);
        assert_eq!(near(&["a/Notes on this", "b/foot note", "sub/x"], "note"), ["a/Notes on this"]);
    }

    #[test]
    fn what_is_no_text_or_too_long_is_left_out() {
        let long = "x".repeat(MAX_LENGTH + 1);
        assert_eq!(near(&[&long], &long[1..]), [""; 0]);
        assert_eq!(nearest([b"\xff\xff".as_slice().into()].into_iter(), b"ab"), [""; 0]);
        assert_eq!(nearest([b"ab".as_slice().into()].into_iter(), b"a\xff"), [""; 0]);
    }
}
