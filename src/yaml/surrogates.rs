//! Support for lone surrogates. PyYAML writes one as `"\uD800"` and reads it back, but our parser refuses that escape.
//! Text with such escapes is therefore parsed from a copy in which the `D` is an `E` (`"\uE800"`, a private-use
//! character of the same length, so that offsets stay the same), and the resulting strings are mapped back.

use std::borrow::Cow;

use libyaml_safer::ScalarStyle;

use super::{Problem, Text};

/// The text to parse; [`Cow::Owned`] if it contained surrogates.
pub(super) fn hide(text: &str) -> Cow<'_, str> {
    if has_escape(text) { Cow::Owned(swap_letters(text, escapes(text, b'D'))) } else { Cow::Borrowed(text) }
}

/// Undoes [`hide`] in the value of a scalar. `source` is the scalar in the original text, beginning at byte `offset`.
pub(super) fn restore(value: Text, style: ScalarStyle, source: &str, offset: usize) -> Result<Text, Problem> {
    if !has_escape(source) {
        return Ok(value);
    }
    if let Some(at) = first_stand_in(source) {
        let what = "a string holds both surrogates and private-use characters U+E800 to U+EFFF, which is not supported";
        return Err(Problem::new(offset + at, what));
    }
    Ok(match style {
        ScalarStyle::DoubleQuoted => restore_characters(&value.lossy()),
        _ => restore_letters(&value.lossy()).into(),
    })
}

fn has_escape(text: &str) -> bool {
    escapes(text, b'D').next().is_some()
}

/// Restores a double-quoted scalar, in which stand-ins become surrogates again.
fn restore_characters(value: &str) -> Text {
    Text::from_code_points(
        value.chars().map(|c| if is_stand_in(c) { u32::from(c) - 0x1000 } else { u32::from(c) }),
    )
}

/// Restores a scalar of any other style, where the escape is literal text: only its letter is changed back.
fn restore_letters(value: &str) -> String {
    swap_letters(value, escapes(value, b'E'))
}

fn is_stand_in(c: char) -> bool {
    ('\u{E800}'..='\u{EFFF}').contains(&c)
}

fn first_stand_in(text: &str) -> Option<usize> {
    let raw = text.char_indices().find(|(_, c)| is_stand_in(*c)).map(|(offset, _)| offset);
    let long =
        || text.match_indices("\\U0000").map(|(at, _)| at).find(|at| is_code(text.as_bytes(), at + 6, b'E'));
    raw.or_else(|| escapes(text, b'E').next()).or_else(long)
}

/// Offsets of `\uD8xx` to `\uDFxx` (or, with `E`, `\uE8xx` to `\uEFxx`) whose backslash is not itself escaped.
fn escapes(text: &str, letter: u8) -> impl Iterator<Item = usize> {
    let bytes = text.as_bytes();
    let even_before = |at: usize| {
        let before = bytes.get(..at).unwrap_or_default();
        before.iter().rev().take_while(|b| **b == b'\\').count() % 2 == 0
    };
    text.match_indices("\\u")
        .map(|(at, _)| at)
        .filter(move |at| is_code(bytes, at + 2, letter) && even_before(*at))
}

fn is_code(bytes: &[u8], at: usize, letter: u8) -> bool {
    let Some([first, second, rest @ ..]) = bytes.get(at..).and_then(|code| code.get(..4)) else {
        return false;
    };
    first.eq_ignore_ascii_case(&letter)
        && matches!(second, b'8' | b'9' | b'a'..=b'f' | b'A'..=b'F')
        && rest.iter().all(u8::is_ascii_hexdigit)
}

/// Swaps D and E in each escape; they differ only in the last bit, in either case.
fn swap_letters(text: &str, escapes: impl Iterator<Item = usize>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut copied = 0;
    for at in escapes {
        let letter = at + 2;
        let Some((before, code)) = text.get(copied..letter).zip(text.as_bytes().get(letter)) else { break };
        out.push_str(before);
        out.push(char::from(code ^ 1));
        copied = letter + 1;
    }
    out.push_str(text.get(copied..).unwrap_or_default());
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_trip() {
        let text = r#"["\uD83e\udd8f", "\\uD800", '\uD800 \\udcff', "\\\uDC00"]"#;
        let hidden = hide(text);
        assert_eq!(hidden, r#"["\uE83e\ued8f", "\\uD800", '\uE800 \\udcff', "\\\uEC00"]"#);
        assert_eq!(restore_letters(r"\uE800 \\udcff \ued8f"), r"\uD800 \\udcff \udd8f");
        assert_eq!(restore_characters("\u{E83E}\u{ED8F}x").as_str(), Some("🦏x"));
        assert_eq!(restore_characters("\u{E83E}").as_bytes(), b"\xED\xA0\xBE");
    }

    #[test]
    fn private_use_beside_surrogates() {
        let restored = |source: &str| restore(Text::from("\u{E801}"), ScalarStyle::DoubleQuoted, source, 7);
        assert_eq!(restored("'\u{E801}'"), Ok(Text::from("\u{E801}")));
        for source in ["\"\\uD800\u{E801}\"", r#""\uD800\ue8ff""#, r#""\uD800\U0000e8ff""#] {
            let problem = restored(source).unwrap_err();
            assert!(problem.what.contains("private-use") && problem.offset == 14, "{problem}");
        }
    }
}
