//! Resolves scalars to values: PyYAML's implicit resolvers for plain scalars, its constructors for tagged ones. A value
//! that does not fit its tag, or a date that does not exist, stays a string.

mod number;
mod time;

pub use number::is_plain_number;
pub use time::canonical as timestamp;

use super::{Node, Text};

const STANDARD: &str = "tag:yaml.org,2002:";

/// Shortens a tag: removes `tag:yaml.org,2002:`, and maps `python/` tags to equivalent standard ones. Keeps `!`, which
/// makes PyYAML resolve a scalar of any style as if it were plain. Other tags become empty.
pub(super) fn short_tag(tag: &str) -> &str {
    match tag.strip_prefix(STANDARD).unwrap_or("") {
        "" if tag == "!" => "!",
        "python/none" => "null",
        "python/bool" => "bool",
        "python/int" | "python/long" => "int",
        "python/float" => "float",
        "python/str" | "python/unicode" => "str",
        "python/bytes" => "binary",
        other => other,
    }
}

/// Resolves an untagged plain scalar.
pub(super) fn plain(value: &str) -> Node {
    let scalar = match value.as_bytes().first() {
        None | Some(b'~' | b'n' | b'N' | b'y' | b'Y' | b't' | b'T' | b'f' | b'F' | b'o' | b'O') => {
            word(value)
        }
        Some(b'-' | b'+' | b'.' | b'0'..=b'9') => number::implicit_float(value)
            .or_else(|| number::implicit_int(value))
            .or_else(|| implicit_time(value)),
        _ => None,
    };
    scalar.unwrap_or_else(|| Node::text(value))
}

/// Resolves a scalar with an explicit tag in short form, see [`short_tag`].
pub(super) fn tagged(tag: &str, value: &str) -> Node {
    let scalar = match tag {
        "!" => Some(plain(value)),
        "null" => Some(Node::Null),
        "bool" => boolean(&value.to_ascii_lowercase()),
        "int" => number::int(value),
        "float" => number::float(value).map(Node::Float),
        "timestamp" => time::canonical(value).map(Node::Timestamp),
        "binary" => base64(value.as_bytes()).map(|bytes| Node::Binary(bytes.into())),
        _ => None,
    };
    scalar.unwrap_or_else(|| Node::Str(Text::from(value)))
}

/// True if the tag is known and the scalar fits it, so that [`tagged`] returns a value of that type.
pub(super) fn fits(tag: &str, value: &str) -> bool {
    matches!(tag, "!" | "str") || !matches!(tagged(tag, value), Node::Str(_))
}

fn word(value: &str) -> Option<Node> {
    if matches!(value, "" | "~" | "null" | "Null" | "NULL") {
        return Some(Node::Null);
    }
    let lower = value.to_ascii_lowercase();
    let has_known_case = value == lower
        || value == value.to_ascii_uppercase()
        || value.chars().skip(1).eq(lower.chars().skip(1))
            && value.starts_with(|c: char| c.is_ascii_uppercase());
    boolean(&lower).filter(|_| has_known_case)
}

fn boolean(lower: &str) -> Option<Node> {
    match lower {
        "yes" | "true" | "on" => Some(Node::Bool(true)),
        "no" | "false" | "off" => Some(Node::Bool(false)),
        _ => None,
    }
}

/// Without a tag, a date needs two-digit months and days.
fn implicit_time(value: &str) -> Option<Node> {
    let canonical = time::canonical(value)?;
    let is_short_date = canonical.len() == 10 && value.len() != 10;
    (!is_short_date).then_some(Node::Timestamp(canonical))
}

/// As Python's `binascii.a2b_base64`: skips characters outside the alphabet.
fn base64(text: &[u8]) -> Option<Vec<u8>> {
    if !text.is_ascii() {
        return None;
    }
    let mut out = Vec::with_capacity(text.len() / 4 * 3);
    let (mut bits, mut quad, mut pads) = (0u32, 0u8, 0u8);
    for byte in text {
        let six = match byte {
            b'=' => {
                pads = pads.saturating_add(1);
                if quad >= 2 && quad.saturating_add(pads) >= 4 {
                    return Some(out);
                }
                continue;
            }
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => continue,
        };
        pads = 0;
        bits = (bits << 6 | u32::from(six)) & 0xFFFF;
        quad = (quad + 1) % 4;
        match quad {
            1 => {}
            2 => out.push((bits >> 4) as u8),
            3 => out.push((bits >> 2) as u8),
            _ => out.push(bits as u8),
        }
    }
    (quad == 0).then_some(out)
}

#[cfg(test)]
mod tests;
