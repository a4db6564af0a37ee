//! Member names: UTF-8 if their flag is set, else code page 437, as in Python.

use std::borrow::Cow;

/// Flag: the name is UTF-8.
pub const UTF8: u16 = 1 << 11;

/// Code page 437 from 0x80 on.
const UPPER: &str = "ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜ¢£¥₧ƒáíóúñÑªº¿⌐¬½¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐└┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u{a0}";

/// A member's name as text.
pub fn decode(raw: &[u8], flags: u16) -> Cow<'_, str> {
    match std::str::from_utf8(raw) {
        Ok(text) if flags & UTF8 != 0 || raw.is_ascii() => Cow::Borrowed(text),
        _ => raw.iter().map(|byte| character(*byte)).collect(),
    }
}

fn character(byte: u8) -> char {
    let upper = byte.checked_sub(0x80).and_then(|at| UPPER.chars().nth(at.into()));
    upper.unwrap_or(char::from(byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_character_sets() {
        assert_eq!(UPPER.chars().count(), 128);
        assert_eq!(decode("é".as_bytes(), UTF8), "é");
        assert_eq!(decode(b"\x82", 0), "é");
        assert_eq!(decode(b"\xff~", UTF8), "\u{a0}~");
    }
}
