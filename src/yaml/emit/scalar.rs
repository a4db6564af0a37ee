//! Writes a scalar on one line, quoted unless it is safe unquoted in every schema of every YAML version.

use std::fmt::Write;

use data_encoding::BASE64;

use super::super::portable::is_reserved;
use super::super::text::Piece;
use super::super::{Node, Text};

/// Appends a scalar; collections are not written.
pub fn write(node: &Node, out: &mut String) {
    match node {
        Node::Null => out.push_str("null"),
        Node::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        Node::Int(digits) => out.push_str(digits),
        Node::Float(value) => float(*value, out),
        Node::Str(text) => string(text, out),
        Node::Timestamp(time) => out.push_str(time),
        Node::Binary(bytes) => {
            out.push_str("!!binary \"");
            BASE64.encode_append(bytes, out);
            out.push('"');
        }
        Node::Set(_) | Node::Seq(_) | Node::Map(_) => {}
    }
}

/// Writes the shortest digits that read back the same, in Python's layout. The exponent has a sign and the mantissa a
/// dot, without which PyYAML would read a string.
fn float(value: f64, out: &mut String) {
    if value.is_nan() {
        return out.push_str(".nan");
    }
    if value.is_infinite() {
        return out.push_str(if value > 0.0 { ".inf" } else { "-.inf" });
    }
    let scientific = format!("{value:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let dot = |text: &str| if text.contains('.') { "" } else { ".0" };
    // writing to a String cannot fail
    let _ = if (-4..16).contains(&exponent) {
        let plain = value.to_string();
        write!(out, "{plain}{}", dot(&plain))
    } else {
        write!(out, "{digits}{}e{exponent:+03}", dot(digits))
    };
}

fn string(text: &Text, out: &mut String) {
    match text.as_str() {
        Some(text) if is_plain(text) => out.push_str(text),
        Some(text) if text.chars().all(is_quotable) => {
            out.push('\'');
            out.push_str(&text.replace('\'', "''"));
            out.push('\'');
        }
        _ => double_quoted(text, out),
    }
}

/// True for words that begin with a letter and are certainly read as a string, in block and in flow style.
fn is_plain(text: &str) -> bool {
    let is_letter = |c: char| c.is_ascii_alphabetic() || !c.is_ascii() && c.is_alphabetic();
    let is_inner = |c: char| {
        is_letter(c)
            || matches!(c, '0'..='9' | ' ' | '_' | '-' | '.' | '/' | '(' | ')' | '+' | '=' | ';' | '%' | '@')
    };
    let may_be_word = text.len() <= 8 && (is_reserved(text) || matches!(text, "y" | "Y" | "n" | "N"));
    text.starts_with(is_letter)
        && !text.ends_with(' ')
        && text.chars().all(|c| is_inner(c) && is_quotable(c))
        && !may_be_word
}

/// True if the character needs no escape between quotes: printable, and not a line break in any YAML version.
fn is_quotable(c: char) -> bool {
    matches!(c, ' '..='~' | '\u{A0}'..='\u{2027}' | '\u{202A}'..='\u{FEFE}' | '\u{FF00}'..='\u{FFFD}' | '\u{10000}'..)
}

fn double_quoted(text: &Text, out: &mut String) {
    out.push('"');
    for piece in text.pieces() {
        match piece {
            Piece::Str(text) => text.chars().for_each(|c| escaped(c, out)),
            Piece::Surrogate(unit) => code(u32::from(unit), out),
        }
    }
    out.push('"');
}

fn escaped(c: char, out: &mut String) {
    match c {
        '"' => out.push_str("\\\""),
        '\\' => out.push_str("\\\\"),
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        '\0' => out.push_str("\\0"),
        _ if is_quotable(c) => out.push(c),
        _ => code(u32::from(c), out),
    }
}

fn code(point: u32, out: &mut String) {
    // writing to a String cannot fail
    let _ = match point {
        0..=0xFF => write!(out, "\\x{point:02X}"),
        0x100..=0xFFFF => write!(out, "\\u{point:04X}"),
        _ => write!(out, "\\U{point:08X}"),
    };
}
