//! Decodes text of pickle protocol 0 (Python's raw-unicode-escape): each byte is a Latin-1 character, and `\\u` with
//! four hexadecimal digits or `\\U` with eight is the character with that number.

/// As UTF-8, which may contain surrogates; None if an escape is not valid.
pub fn decode(line: &[u8]) -> Option<Vec<u8>> {
    let mut text = Vec::with_capacity(line.len());
    let mut rest = line;
    while let Some((first, after)) = rest.split_first() {
        let digits = match (first, after.first()) {
            (b'\\', Some(b'u')) => 4,
            (b'\\', Some(b'U')) => 8,
            _ => 0,
        };
        let (number, after) = match digits {
            0 => (u32::from(*first), after),
            _ => {
                let (hex, after) = after.get(1..)?.split_at_checked(digits)?;
                (hexadecimal(hex)?, after)
            }
        };
        push(&mut text, number)?;
        rest = after;
    }
    Some(text)
}

fn hexadecimal(digits: &[u8]) -> Option<u32> {
    let digit = |byte: &u8| char::from(*byte).to_digit(16);
    digits.iter().try_fold(0u32, |number, byte| Some(number << 4 | digit(byte)?))
}

fn push(text: &mut Vec<u8>, number: u32) -> Option<()> {
    match char::from_u32(number) {
        Some(character) => text.extend(character.encode_utf8(&mut [0; 4]).as_bytes()),
        None if (0xD800..0xE000).contains(&number) => {
            text.extend([0xED, 0x80 | (number >> 6 & 0x3F) as u8, 0x80 | (number & 0x3F) as u8]);
        }
        None => return None,
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latin_1_and_escapes() {
        let text = |line: &[u8]| decode(line).map(|text| String::from_utf8_lossy(&text).into_owned());
        assert_eq!(text(b"caf\xe9 \\u6f22\\U0001f98f\\u005cn \\x").as_deref(), Some("café 漢🦏\\n \\x"));
        assert_eq!(decode(b"latin\\udce9"), Some(b"latin\xed\xb3\xa9".to_vec()));
        for line in [&b"\\u12"[..], b"\\u12g4", b"\\U00110000", b"\\U0001f98", b"a\\u"] {
            assert_eq!(decode(line), None, "{}", line.escape_ascii());
        }
        assert_eq!(text(b"").as_deref(), Some(""));
    }
}
