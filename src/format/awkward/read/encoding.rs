//! String encodings under their Python names, and decoding. Each string is decoded by itself, and invalid input
//! becomes U+FFFD, as in Python's `bytes.decode(encoding, errors="replace")`.

use std::borrow::Cow;

use crate::array::Endian;
use crate::error::shortened;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// Not text: the values are bytes.
    Bytes,
    Ascii,
    Latin1,
    Utf8,
    /// A leading byte order mark is not part of the text.
    Utf8Sig,
    /// Without a fixed byte order, that of the byte order mark (which is not part of the text), or else little-endian.
    Utf16(Option<Endian>),
    Utf32(Option<Endian>),
    /// An encoding that is not supported, by name. Nothing is decoded.
    Unknown(Box<str>),
}

use Encoding::{Ascii, Bytes, Latin1, Unknown, Utf8, Utf8Sig, Utf16, Utf32};

impl Encoding {
    pub fn named(name: &str) -> Encoding {
        match normalized(name).as_str() {
            "utf_8" | "u8" | "utf" | "utf8" | "utf8_ucs2" | "utf8_ucs4" | "cp65001" => Utf8,
            "utf_8_sig" => Utf8Sig,
            "ascii" | "646" | "ansi_x3.4_1968" | "ansi_x3_4_1968" | "ansi_x3.4_1986" | "cp367"
            | "csascii" | "ibm367" | "iso646_us" | "iso_646.irv_1991" | "iso_ir_6" | "us" | "us_ascii" => {
                Ascii
            }
            "latin_1" | "8859" | "cp819" | "csisolatin1" | "ibm819" | "iso8859" | "iso8859_1"
            | "iso_8859_1" | "iso_8859_1_1987" | "iso_ir_100" | "l1" | "latin" | "latin1" => Latin1,
            "utf_16" | "u16" | "utf16" => Utf16(None),
            "utf_16_le" | "unicodelittleunmarked" | "utf_16le" => Utf16(Some(Endian::Little)),
            "utf_16_be" | "unicodebigunmarked" | "utf_16be" => Utf16(Some(Endian::Big)),
            "utf_32" | "u32" | "utf32" => Utf32(None),
            "utf_32_le" | "utf_32le" => Utf32(Some(Endian::Little)),
            "utf_32_be" | "utf_32be" => Utf32(Some(Endian::Big)),
            _ => Unknown(shortened(name).into()),
        }
    }

    /// None for bytes.
    pub fn name(&self) -> Option<&str> {
        Some(match self {
            Bytes => return None,
            Ascii => "ascii",
            Latin1 => "latin-1",
            Utf8 => "utf-8",
            Utf8Sig => "utf-8-sig",
            Utf16(None) => "utf-16",
            Utf16(Some(Endian::Little)) => "utf-16-le",
            Utf16(Some(Endian::Big)) => "utf-16-be",
            Utf32(None) => "utf-32",
            Utf32(Some(Endian::Little)) => "utf-32-le",
            Utf32(Some(Endian::Big)) => "utf-32-be",
            Unknown(name) => name,
        })
    }

    /// Are the bytes already UTF-8?
    pub fn is_utf8(&self) -> bool {
        matches!(self, Utf8 | Ascii)
    }

    /// The text of a string; None for bytes and unknown encodings.
    pub fn decode<'b>(&self, bytes: &'b [u8]) -> Option<Cow<'b, str>> {
        Some(match self {
            Bytes | Unknown(_) => return None,
            Utf8 => String::from_utf8_lossy(bytes),
            Utf8Sig => String::from_utf8_lossy(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes)),
            Latin1 => bytes.iter().map(|byte| char::from(*byte)).collect(),
            Ascii => {
                bytes.iter().map(|byte| if byte.is_ascii() { char::from(*byte) } else { WRONG }).collect()
            }
            Utf16(endian) => utf16(bytes, *endian).into(),
            Utf32(endian) => utf32(bytes, *endian).into(),
        })
    }
}

const WRONG: char = char::REPLACEMENT_CHARACTER;

/// Compares names as Python does: a run of anything but letters, digits and dots becomes one `_`, and is dropped at
/// either end.
fn normalized(name: &str) -> String {
    let mut normal = String::new();
    let mut is_between = false;
    for character in name.chars() {
        if character.is_alphanumeric() || character == '.' {
            if std::mem::take(&mut is_between) && !normal.is_empty() {
                normal.push('_');
            }
            normal.push(character.to_ascii_lowercase());
        } else {
            is_between = true;
        }
    }
    normal
}

/// The byte order, and the bytes after a byte order mark.
fn marked<'b>(bytes: &'b [u8], endian: Option<Endian>, little: &[u8], big: &[u8]) -> (Endian, &'b [u8]) {
    if let Some(endian) = endian {
        return (endian, bytes);
    }
    match (bytes.strip_prefix(little), bytes.strip_prefix(big)) {
        (Some(rest), _) => (Endian::Little, rest),
        (None, Some(rest)) => (Endian::Big, rest),
        (None, None) => (Endian::Little, bytes),
    }
}

fn utf16(bytes: &[u8], endian: Option<Endian>) -> String {
    let (endian, bytes) = marked(bytes, endian, b"\xff\xfe", b"\xfe\xff");
    let unit = |pair: [u8; 2]| match endian {
        Endian::Little => u16::from_le_bytes(pair),
        Endian::Big => u16::from_be_bytes(pair),
    };
    let (pairs, rest) = bytes.as_chunks();
    let mut text = String::new();
    let mut is_cut = !rest.is_empty();
    let mut units = pairs.iter().map(|pair| unit(*pair)).peekable();
    while let Some(first) = units.next() {
        let second = units.peek().copied();
        match (first, second) {
            // The low surrogate is missing, with everything after it.
            (0xd800..0xdc00, None) => is_cut = true,
            (0xd800..0xdc00, Some(second @ 0xdc00..0xe000)) => {
                units.next();
                text.extend(char::decode_utf16([first, second]).map(|both| both.unwrap_or(WRONG)));
            }
            _ => text.push(char::from_u32(first.into()).unwrap_or(WRONG)),
        }
    }
    text.extend(is_cut.then_some(WRONG));
    text
}

fn utf32(bytes: &[u8], endian: Option<Endian>) -> String {
    let (endian, bytes) = marked(bytes, endian, b"\xff\xfe\0\0", b"\0\0\xfe\xff");
    let code = |four: [u8; 4]| match endian {
        Endian::Little => u32::from_le_bytes(four),
        Endian::Big => u32::from_be_bytes(four),
    };
    let (codes, rest) = bytes.as_chunks();
    let cut = (!rest.is_empty()).then_some(WRONG);
    codes.iter().map(|four| char::from_u32(code(*four)).unwrap_or(WRONG)).chain(cut).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_match_python() {
        for (names, want) in [
            (&["UTF-8", "utf8", "U8", "UTF_8", "utf 8", "utf--8 ", "cp65001"][..], Utf8),
            (&["ascii", "US-ASCII", "646", "ANSI_X3.4-1968"], Ascii),
            (&["latin-1", "Latin 1", "L1", "iso8859-1", "ISO_8859-1:1987", "iso_8859-1", "cp819"], Latin1),
            (&["utf-8-sig", "UTF_8_SIG"], Utf8Sig),
            (&["utf-16", "U16", "utf16"], Utf16(None)),
            (&["utf-16le", "UTF-16-LE"], Utf16(Some(Endian::Little))),
            (&["utf-16-be"], Utf16(Some(Endian::Big))),
            (&["utf32"], Utf32(None)),
            (&["utf-32le", "utf_32_le"], Utf32(Some(Endian::Little))),
            (&["utf-32-be"], Utf32(Some(Endian::Big))),
        ] {
            names.iter().for_each(|name| assert_eq!(Encoding::named(name), want, "{name}"));
            assert_eq!(Encoding::named(want.name().unwrap()), want);
        }
        // Python lacks these names, or uses them for another encoding.
        for name in ["utf.8", "utf8-sig", "utf16le", "", "cp1252", "rot13", "koi8-r"] {
            assert_eq!(Encoding::named(name), Unknown(name.into()));
        }
    }

    /// Expected values from Python's decode(encoding, "replace").
    #[test]
    fn decoding_matches_python() {
        for (name, bytes, want) in [
            ("utf-16", &b"\xff\xfea\0"[..], "a"),
            ("utf-16", b"\xfe\xff\0a", "a"),
            ("utf-16", b"\xff\xfe\xff\xfea\0", "\u{feff}a"),
            ("utf-16", b"a\0b\0", "ab"),
            ("utf-16", b"", ""),
            ("utf-16", b"\xff", "\u{fffd}"),
            ("utf-16-le", b"\xff\xfea\0", "\u{feff}a"),
            ("utf-16-le", b"a\0\0\xd8", "a\u{fffd}"),
            ("utf-16-le", b"\0\xd8a\0", "\u{fffd}a"),
            ("utf-16-le", b"\0\xdca\0", "\u{fffd}a"),
            ("utf-16-le", b"\0\xd8a", "\u{fffd}"),
            ("utf-16-le", b"\0\xd8\0\xdca", "\u{10000}\u{fffd}"),
            ("utf-16-le", b"\0\xd8\0\xd8\0\xdc", "\u{fffd}\u{10000}"),
            ("utf-16-be", b"\xd8\0\xdc\0\xfe\xff", "\u{10000}\u{feff}"),
            ("utf-32", b"\xff\xfe\0\0a\0\0\0", "a"),
            ("utf-32", b"\0\0\xfe\xff\0\0\0a", "a"),
            ("utf-32", b"\xff\xfe", "\u{fffd}"),
            ("utf-32-le", b"a\0\0\0bcd", "a\u{fffd}"),
            ("utf-32-le", b"\0\xd8\0\0\0\0\x11\0a\0\0\0", "\u{fffd}\u{fffd}a"),
            ("utf-32-be", b"\0\x01\0\0\xff\xff\xff\xff", "\u{10000}\u{fffd}"),
            ("utf-8-sig", b"\xef\xbb\xbf\xef\xbb\xbfa", "\u{feff}a"),
            ("utf-8-sig", b"\xef\xbba\xff", "\u{fffd}a\u{fffd}"),
            ("utf-8", b"\xef\xbb\xbfa", "\u{feff}a"),
            ("ascii", b"a\xff\xfe", "a\u{fffd}\u{fffd}"),
            ("latin-1", b"a\xff", "aÿ"),
        ] {
            assert_eq!(Encoding::named(name).decode(bytes).unwrap(), want, "{name} {bytes:?}");
        }
        assert_eq!((Bytes.decode(b"a"), Encoding::named("rot13").decode(b"a")), (None, None));
    }
}
