//! Dataset name <-> path of file names. Percent-decoding a path (and joining its components with `/`)
//! gives the dataset's name back, except for components that were shortened.
//!
//! - `/` separates directories (up to 2048 of them); one that would make an empty component, or whose left
//!   side is itself a dataset, is written `%2F` and stays in its component.
//! - `%`, bytes 0 to 31, 127 and those of lone surrogates (names are WTF-8) are percent-encoded; `.` and
//!   `..` become `%2E`, `%2E%2E`; a first component `.views` becomes `%2Eviews`; the empty name is `%`.
//! - An escaped component longer than 240 bytes is cut to at most 223 and gets `~` and 16 hex digits of
//!   the SHA-256 of the whole: with `~N` and the sidecar's suffix it still fits into 255 bytes.
//!
//! Names that are not UTF-8 are percent-encoded too where they are printed, see [`printed`].

use std::borrow::Cow;

use sha2::{Digest, Sha256};

/// What a sidecar's name adds to the name of its dataset's file.
pub const SIDECAR: &[u8] = b".meta.yaml";

/// Maximum number of directories in a name; no path of the system is deeper.
const MAX_DEPTH: usize = 2048;
const MAX_LEN: usize = 240;
const CUT: usize = 223;
/// What a cut component ends in: `~` and 16 digits.
const HASHED: usize = 17;
/// The longest name with a number: 255 less the sidecar's suffix.
const NUMBERED: usize = 245;

/// A dataset's name as text: itself where it is UTF-8, else [`escaped`].
pub fn printed(name: &[u8]) -> Cow<'_, str> {
    std::str::from_utf8(name).map_or_else(|_| escaped(name, 0).into(), Cow::Borrowed)
}

/// The name with `%`, control characters, bytes that are not UTF-8 and all of its first `more` bytes percent-encoded.
/// [`unescaped`] gives the name back, whatever `more` is.
pub fn escaped(name: &[u8], more: usize) -> String {
    let (encoded, plain) = name.split_at(more.min(name.len()));
    let mut out: String = encoded.iter().map(|byte| percent_encoded(*byte)).collect();
    for chunk in plain.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c == '%' || c.is_control() {
                true => out.extend(c.encode_utf8(&mut [0; 4]).bytes().map(percent_encoded)),
                false => out.push(c),
            }
        }
        out.extend(chunk.invalid().iter().map(|byte| percent_encoded(*byte)));
    }
    out
}

/// The name that a percent-encoded text stands for; None if nothing in it is encoded, or a `%` is not followed by
/// two hexadecimal digits.
pub fn unescaped(text: &[u8]) -> Option<Vec<u8>> {
    let mut pieces = text.split(|byte| *byte == b'%');
    let mut name = pieces.next()?.to_vec();
    let mut is_encoded = false;
    for piece in pieces {
        let (digits, rest) = piece.split_at_checked(2)?;
        let digits = std::str::from_utf8(digits).ok().filter(|digits| !digits.starts_with('+'))?;
        name.push(u8::from_str_radix(digits, 16).ok()?);
        name.extend_from_slice(rest);
        is_encoded = true;
    }
    is_encoded.then_some(name)
}

fn percent_encoded(byte: u8) -> String {
    format!("%{byte:02X}")
}

/// The file names that `name` becomes, outermost directory first; never empty. `after_datasets` are the
/// positions of slashes whose left side is itself a dataset, in order.
pub fn components(name: &[u8], after_datasets: &[usize]) -> Vec<Vec<u8>> {
    let mut parts = Vec::new();
    let mut start = 0;
    for (at, _) in name.iter().enumerate().filter(|(_, byte)| **byte == b'/') {
        let separates = can_separate(name, start, at)
            && after_datasets.binary_search(&at).is_err()
            && parts.len() < MAX_DEPTH;
        if separates {
            parts.push(component(&name[start..at], parts.is_empty()));
            start = at + 1;
        }
    }
    parts.push(component(&name[start..], parts.is_empty()));
    parts
}

/// Is `path` (file names with slashes between them) one that `name` becomes beside some other datasets?
pub fn can_become(name: &[u8], path: &[u8]) -> bool {
    let mut start = 0;
    let mut parts = path.split(|byte| *byte == b'/').peekable();
    while let Some(part) = parts.next() {
        let is_first = start == 0;
        let rest = name.get(start..).unwrap_or_default();
        if parts.peek().is_none() {
            return is_file_of(part, &component(rest, is_first));
        }
        let slashes = rest.iter().enumerate().skip(least_len(part)).filter(|(_, byte)| **byte == b'/');
        let ends = slashes.map(|(at, _)| at).filter(|at| can_separate(rest, 0, *at)).take(MAX_SUFFIXES);
        match ends.into_iter().find(|end| component(&rest[..*end], is_first) == part) {
            Some(end) => start += end + 1,
            None => return false,
        }
    }
    false
}

/// Maximum number of suffixes tried for a directory whose name was shortened.
const MAX_SUFFIXES: usize = 1000;

/// May the slash at `at` end the component that begins at `start`?
fn can_separate(name: &[u8], start: usize, at: usize) -> bool {
    at > start && !matches!(name.get(at + 1), None | Some(b'/'))
}

/// Is `file` what a file gets that should be called `plain`, maybe with a number?
fn is_file_of(file: &[u8], plain: &[u8]) -> bool {
    let number = || {
        let tilde = file.iter().rposition(|byte| *byte == b'~')?;
        let number: u32 = std::str::from_utf8(&file[tilde + 1..]).ok()?.parse().ok()?;
        (number >= 2).then_some(number)
    };
    file == plain || number().is_some_and(|number| numbered(plain, number) == file)
}

/// What a component stands for is no shorter than this, even if it was cut.
fn least_len(part: &[u8]) -> usize {
    let kept = part.len().saturating_sub(HASHED);
    let escapes = part[..kept].iter().filter(|byte| **byte == b'%').count();
    kept.saturating_sub(2 * escapes)
}

/// The name with its number, short enough that the sidecar's suffix still fits.
pub fn numbered(name: &[u8], number: u32) -> Vec<u8> {
    let suffix = format!("~{number}");
    let mut kept = name.len().min(NUMBERED - suffix.len());
    while kept < name.len() && kept > 0 && is_continuation(name[kept]) {
        kept -= 1;
    }
    [&name[..kept], suffix.as_bytes()].concat()
}

/// One file name of its own, below the root: slashes in `name` stay in it, escaped.
pub fn file_name(name: &[u8]) -> Vec<u8> {
    component(name, false)
}

/// One file name; slashes in `part` stay in it.
fn component(part: &[u8], first: bool) -> Vec<u8> {
    let mut out = Vec::with_capacity(part.len());
    for (at, &byte) in part.iter().enumerate() {
        match byte {
            b'/' => out.extend_from_slice(b"%2F"),
            byte => escape(byte, lone_surrogate(part, at), &mut out),
        }
    }
    finish(out, first)
}

fn escape(byte: u8, surrogate: bool, out: &mut Vec<u8>) {
    if byte == b'%' || byte < 32 || byte == 127 || surrogate {
        out.extend_from_slice(percent_encoded(byte).as_bytes());
    } else {
        out.push(byte);
    }
}

/// Is the byte at `at` one of the three of a lone surrogate (ED A0..BF xx in WTF-8)?
fn lone_surrogate(name: &[u8], at: usize) -> bool {
    (at.saturating_sub(2)..=at)
        .any(|start| matches!(name.get(start..start + 3), Some([0xED, 0xA0..=0xBF, _])))
}

fn finish(part: Vec<u8>, first: bool) -> Vec<u8> {
    match part.as_slice() {
        b"" => b"%".to_vec(),
        b"." => b"%2E".to_vec(),
        b".." => b"%2E%2E".to_vec(),
        b".views" if first => b"%2Eviews".to_vec(),
        long if long.len() > MAX_LEN => shorten(long),
        _ => part,
    }
}

fn shorten(part: &[u8]) -> Vec<u8> {
    let mut end = CUT;
    while end > 0 && is_continuation(part[end]) {
        end -= 1;
    }
    // Not inside %XX: its `%` would stand one or two bytes before the cut.
    if let Some(percent) = (end.saturating_sub(2)..end).find(|at| part[*at] == b'%') {
        end = percent;
    }
    let digest = Sha256::digest(part);
    let mut short = part[..end].to_vec();
    short.push(b'~');
    for byte in &digest[..8] {
        short.extend_from_slice(format!("{byte:02x}").as_bytes());
    }
    short
}

fn is_continuation(byte: u8) -> bool {
    byte & 0xC0 == 0x80
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn slashes_after(name: &str, datasets: &[&str]) -> Vec<usize> {
        name.match_indices('/').map(|(at, _)| at).filter(|at| datasets.contains(&&name[..*at])).collect()
    }

    fn path(name: &str, datasets: &[&str]) -> String {
        let parts = components(name.as_bytes(), &slashes_after(name, datasets));
        parts.into_iter().map(|p| String::from_utf8(p).unwrap()).collect::<Vec<_>>().join("/")
    }

    #[test]
    fn slashes() {
        assert_eq!(path("a/b/c", &[]), "a/b/c");
        assert_eq!(path("a/b/c", &["a"]), "a%2Fb/c");
        assert_eq!(path("a//b", &[]), "a%2F/b");
        assert_eq!(path("a///b", &[]), "a%2F%2F/b");
        assert_eq!(path("/a/", &[]), "%2Fa%2F");
        assert_eq!(path("/", &[]), "%2F");
        assert_eq!(path("//", &[]), "%2F%2F");
    }

    #[test]
    fn a_path_that_a_name_can_become() {
        let can = |name: &str, path: &str| can_become(name.as_bytes(), path.as_bytes());
        for (name, path) in [
            ("a/b/c", "a/b/c"),
            ("a/b/c", "a%2Fb/c"),
            ("a/b/c", "a%2Fb%2Fc"),
            ("a//b", "a%2F/b"),
            ("", "%"),
            ("../x", "%2E%2E/x"),
            (".views/x", "%2Eviews/x"),
            ("a", "a~2"),
            ("a/b", "a/b~13"),
        ] {
            assert!(can(name, path), "{name} {path}");
        }
        for (name, path) in [
            ("a/b", "a/c"),
            ("a/b", "b"),
            ("a", "a~1"),
            ("a", "a~x"),
            ("a/b", "a"),
            ("a", "a/b"),
            ("%", "%"),
            ("", ""),
        ] {
            assert!(!can(name, path), "{name} {path}");
        }
        let (long, other) = ("é/".repeat(200) + "x", "%".repeat(300));
        for name in [long.clone(), other.clone() + "/" + &long, other.clone() + "//" + &other] {
            let first_slash = slashes_after(&name, &[&other]);
            for datasets in [&[][..], &first_slash] {
                let parts = components(name.as_bytes(), datasets);
                assert!(can_become(name.as_bytes(), &parts.join(&b'/')), "{name}");
            }
        }
    }

    #[test]
    fn names_that_mean_something_to_the_system() {
        assert_eq!(path("", &[]), "%");
        assert_eq!(path(".", &[]), "%2E");
        assert_eq!(path("../..", &[]), "%2E%2E/%2E%2E");
        assert_eq!(path(".views", &[]), "%2Eviews");
        assert_eq!(path("x/.views", &[]), "x/.views");
        assert_eq!(path("100%\n\x7f", &[]), "100%25%0A%7F");
    }

    #[test]
    fn lone_surrogates_are_escaped_whole() {
        let parts = components(b"a\xED\xA0\x80b", &[]);
        assert_eq!(parts, [b"a%ED%A0%80b".to_vec()]);
        assert_eq!(path("\u{D7FF}", &[]), "\u{D7FF}");
    }

    #[test]
    fn long_components_are_cut_at_characters_and_escapes() {
        assert_eq!(path(&"x".repeat(240), &[]), "x".repeat(240));
        let cut = path(&"é".repeat(200), &[]);
        assert!(cut.starts_with(&"é".repeat(111)) && cut.as_bytes()[222] == b'~' && cut.len() == 239);
        for lead in 0..3 {
            let cut = path(&("x".repeat(lead) + &"%".repeat(100)), &[]);
            let kept = cut.rsplit_once('~').unwrap().0;
            assert!((kept.len() - lead).is_multiple_of(3) && kept.len() <= 223, "{cut}");
        }
    }

    fn decode(component: &[u8]) -> Vec<u8> {
        if component == b"%" {
            return Vec::new();
        }
        let mut out = Vec::new();
        let mut rest = component;
        while let [first, tail @ ..] = rest {
            if *first == b'%' {
                out.push(u8::from_str_radix(std::str::from_utf8(&tail[..2]).unwrap(), 16).unwrap());
                rest = &tail[2..];
            } else {
                out.push(*first);
                rest = tail;
            }
        }
        out
    }

    #[test]
    fn names_that_are_not_utf_8_are_printed_escaped() {
        assert_eq!(printed("100% é\n".as_bytes()), "100% é\n");
        assert_eq!(printed(b"100% \xFF\n"), "100%25 %FF%0A");
        assert_eq!(printed(b"a\xED\xA0\x80"), "a%ED%A0%80");
        for text in ["", "plain", "100%", "%f", "%+f", "%\u{e9}", "a%zz%20"] {
            assert_eq!(unescaped(text.as_bytes()), None, "{text}");
        }
        assert_eq!(unescaped(b"a%ff%25"), Some(b"a\xFF%".to_vec()));
    }

    proptest! {
        #[test]
        fn every_escaped_form_gives_the_name_back(
            mut name in prop::collection::vec(prop::sample::select(&b"a%+\n\xC3\xA9\xFF\xED\xA0\x80"[..]), 0..12),
            more in 0usize..14,
        ) {
            name.push(0xFF);
            prop_assert_eq!(unescaped(escaped(&name, more).as_bytes()), Some(name));
        }

        #[test]
        fn percent_decoding_gives_the_name_back(name in "[a./%é\n]{0,40}", other in "[a./]{0,4}") {
            let parts = components(name.as_bytes(), &slashes_after(&name, &[&other]));
            let back = parts.iter().map(|p| decode(p)).collect::<Vec<_>>().join(&b'/');
            prop_assert_eq!(back, name.as_bytes());
            prop_assert!(can_become(name.as_bytes(), &parts.join(&b'/')));
            for part in &parts {
                prop_assert!(!part.is_empty() && part != b"." && part != b".." && !part.contains(&b'/'));
            }
        }
    }
}
