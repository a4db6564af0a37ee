//! Names in a Zarr store. They are file names of the tree (escaped already, see `tree::naming`), but for what Zarr's
//! programs would take for something else: a backslash, which separates like a slash to them, is `%5C`, and names of
//! their own files get their dot escaped (`%2Ezarray`). What looks so already gets `25` behind its `%`, so that no two
//! names become one and each can be turned back.

use std::borrow::Cow;

/// What Zarr's programs call their own files.
pub const RESERVED: [&[u8]; 5] = [b".zarray", b".zattrs", b".zgroup", b".zmetadata", b"zarr.json"];
const DOT: Escape = Escape { of: b'.', digits: b"2E" };
const BACKSLASH: Escape = Escape { of: b'\\', digits: b"5C" };

pub fn escaped(file_name: &[u8]) -> Cow<'_, [u8]> {
    let escape = if is_reserved(file_name) { DOT } else { BACKSLASH };
    match file_name.contains(&escape.of) || file_name.contains(&b'%') {
        true => escape.more(file_name).into(),
        false => file_name.into(),
    }
}

/// The file name that is called so; a name that nothing is called by becomes any.
pub fn unescaped(name: &[u8]) -> Cow<'_, [u8]> {
    let escape = if is_reserved(name) { DOT } else { BACKSLASH };
    if name.contains(&b'%') { escape.less(name).into() } else { name.into() }
}

/// Is it the name of one of Zarr's own files, escaped or not?
fn is_reserved(name: &[u8]) -> bool {
    RESERVED.contains(&name)
        || name.contains(&b'%') && {
            let less = DOT.less(name);
            less != name && is_reserved(&less)
        }
}

/// A byte, and what stands for it behind a `%`.
#[derive(Clone, Copy)]
struct Escape {
    of: u8,
    digits: &'static [u8],
}

impl Escape {
    /// How long an escape is that a name begins with, if it does, and how often it was escaped itself.
    fn begins(self, name: &[u8]) -> Option<(usize, usize)> {
        let mut rest = name.strip_prefix(b"%")?;
        let mut times = 0;
        while let Some(after) = rest.strip_prefix(b"25") {
            (rest, times) = (after, times + 1);
        }
        rest.starts_with(self.digits).then_some((1 + 2 * times + self.digits.len(), times))
    }

    fn more(self, name: &[u8]) -> Vec<u8> {
        self.each(name, |times| [&b"%"[..], &b"25".repeat(times), self.digits].concat())
    }

    fn less(self, name: &[u8]) -> Vec<u8> {
        self.each(name, |times| match times.checked_sub(2) {
            None => vec![self.of],
            Some(times) => [&b"%"[..], &b"25".repeat(times), self.digits].concat(),
        })
    }

    /// A name with other bytes for the byte (0) and its escapes (1 and more, as often as they are escaped).
    fn each(self, name: &[u8], other: impl Fn(usize) -> Vec<u8>) -> Vec<u8> {
        let (mut out, mut rest) = (Vec::with_capacity(name.len() + 2), name);
        while let Some(first) = rest.first() {
            let (len, times) = match self.begins(rest) {
                Some((len, times)) => (len, Some(times + 1)),
                None => (1, (*first == self.of).then_some(0)),
            };
            let (now, after) = rest.split_at(len);
            match times {
                Some(times) => out.extend(other(times)),
                None => out.extend_from_slice(now),
            }
            rest = after;
        }
        out
    }
}

/// As [`escaped`], as text: bytes that are not UTF-8 (which only names on a disk have) are percent-encoded.
pub fn key(file_name: &[u8]) -> String {
    let name = escaped(file_name);
    let mut key = String::with_capacity(name.len());
    for chunk in name.utf8_chunks() {
        key.push_str(chunk.valid());
        chunk.invalid().iter().for_each(|byte| key.push_str(&format!("%{byte:02X}")));
    }
    key
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_zarr_itself_and_backslashes_are_escaped() {
        for (file_name, shown) in [
            ("a", "a"),
            (r"a\b\", "a%5Cb%5C"),
            (".zarray", "%2Ezarray"),
            (".zmetadata", "%2Ezmetadata"),
            ("zarr.json", "zarr%2Ejson"),
            (".zarr", ".zarr"),
            ("x.zarray", "x.zarray"),
            ("100%25", "100%25"),
            ("%", "%"),
            ("a%5Cb", "a%255Cb"),
            ("a%255Cb%", "a%25255Cb%"),
            ("%2Ezarray", "%252Ezarray"),
            ("zarr%252Ejson", "zarr%25252Ejson"),
            ("%2Ezarr", "%2Ezarr"),
        ] {
            assert_eq!(escaped(file_name.as_bytes()), shown.as_bytes());
            assert_eq!(unescaped(shown.as_bytes()), file_name.as_bytes());
            assert_eq!(key(file_name.as_bytes()), shown);
        }
        assert_eq!(key(b"a\xff\\\xc3\xa9"), "a%FF%5Cé");
    }
}
