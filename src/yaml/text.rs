//! Text in WTF-8: UTF-8, except that a lone surrogate is encoded in three bytes like any other code point in its range.
//! Python strings can contain lone surrogates, Rust's cannot. A high surrogate followed by a low one is always stored
//! as the one character that they form.

use std::borrow::Cow;
use std::fmt;

#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Text(Box<[u8]>);

/// A part of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Piece<'t> {
    Str(&'t str),
    Surrogate(u16),
}

impl Text {
    /// Joins surrogates that form a pair.
    pub(super) fn from_code_points(points: impl Iterator<Item = u32>) -> Text {
        let mut bytes = Vec::new();
        let mut high = None;
        for point in points {
            let pair = high.take().and_then(|high| join(high, point));
            match pair {
                Some(character) => {
                    bytes.truncate(bytes.len().saturating_sub(3));
                    push_char(&mut bytes, character);
                }
                None => push_point(&mut bytes, point),
            }
            high = Some(point).filter(|p| (0xD800..0xDC00).contains(p));
        }
        Text(bytes.into())
    }

    /// From WTF-8; None if the bytes are invalid. Surrogate pairs, which WTF-8 forbids, are accepted and joined.
    pub fn from_wtf8(bytes: &[u8]) -> Option<Text> {
        if let Ok(text) = std::str::from_utf8(bytes) {
            return Some(Text::from(text));
        }
        let points = Text(bytes.into()).pieces().fold(Vec::new(), |mut points, piece| {
            match piece {
                Piece::Str(text) => points.extend(text.chars().map(u32::from)),
                Piece::Surrogate(unit) => points.push(unit.into()),
            }
            points
        });
        let mut same = Vec::with_capacity(bytes.len());
        points.iter().for_each(|point| push_point(&mut same, *point));
        (same == bytes).then(|| Text::from_code_points(points.into_iter()))
    }

    pub fn as_str(&self) -> Option<&str> {
        std::str::from_utf8(&self.0).ok()
    }

    /// The text in WTF-8.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The text with U+FFFD in place of every lone surrogate.
    pub fn lossy(&self) -> Cow<'_, str> {
        if let Some(text) = self.as_str() {
            return Cow::Borrowed(text);
        }
        let owned = self.pieces().fold(String::new(), |mut out, piece| {
            match piece {
                Piece::Str(text) => out.push_str(text),
                Piece::Surrogate(_) => out.push(char::REPLACEMENT_CHARACTER),
            }
            out
        });
        Cow::Owned(owned)
    }

    pub(super) fn pieces(&self) -> impl Iterator<Item = Piece<'_>> {
        let mut rest: &[u8] = &self.0;
        std::iter::from_fn(move || {
            let valid = match std::str::from_utf8(rest) {
                Ok(text) => text.len(),
                Err(error) => error.valid_up_to(),
            };
            if valid > 0 {
                let (text, after) = rest.split_at(valid);
                rest = after;
                return std::str::from_utf8(text).ok().map(Piece::Str);
            }
            let (&[_, second, third], after) = rest.split_first_chunk::<3>()?;
            rest = after;
            Some(Piece::Surrogate(0xD000 | u16::from(second & 0x3F) << 6 | u16::from(third & 0x3F)))
        })
    }
}

fn join(high: u32, low: u32) -> Option<char> {
    let low = low.checked_sub(0xDC00).filter(|low| *low < 0x400)?;
    char::from_u32(0x10000 + ((high - 0xD800) << 10) + low)
}

fn push_char(bytes: &mut Vec<u8>, character: char) {
    bytes.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
}

fn push_point(bytes: &mut Vec<u8>, point: u32) {
    match char::from_u32(point) {
        Some(character) => push_char(bytes, character),
        None if point <= 0xFFFF => {
            bytes.extend([0xED, 0x80 | (point >> 6 & 0x3F) as u8, 0x80 | (point & 0x3F) as u8]);
        }
        None => push_char(bytes, char::REPLACEMENT_CHARACTER),
    }
}

impl From<String> for Text {
    fn from(text: String) -> Text {
        Text(text.into_bytes().into())
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Text {
        Text(text.as_bytes().into())
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.as_str() {
            Some(text) => fmt::Debug::fmt(text, f),
            None => write!(f, "lossy {:?}", self.lossy()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn surrogates() {
        let text = Text::from_code_points([0x61, 0xD83E, 0xDD8F, 0xDC00, 0xD800, 0x62].into_iter());
        assert_eq!(text.as_str(), None);
        assert_eq!(text.lossy(), "a🦏\u{FFFD}\u{FFFD}b");
        let pieces: Vec<_> = text.pieces().collect();
        let expected =
            [Piece::Str("a🦏"), Piece::Surrogate(0xDC00), Piece::Surrogate(0xD800), Piece::Str("b")];
        assert_eq!(pieces, expected);
        assert_eq!(text.as_bytes(), b"a\xF0\x9F\xA6\x8F\xED\xB0\x80\xED\xA0\x80b");
        assert_eq!(Text::from_wtf8(text.as_bytes()), Some(text));
        assert_eq!(Text::from_wtf8(b"\xED\xA0\xBE\xED\xB6\x8F"), Some(Text::from("🦏")));
        for bad in
            [&b"a\xFF"[..], b"\xC3", b"\xED\xA0", b"\xFFab", b"a\xC3\x28z", b"\xED\xA0\xBE\xED\xB6\x8F\xFFab"]
        {
            assert_eq!(Text::from_wtf8(bad), None, "{}", bad.escape_ascii());
        }
    }
}
