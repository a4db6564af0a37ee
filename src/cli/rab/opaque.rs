//! Formats non-numeric elements in Python syntax: bytes as `b'..'`, records as tuples.

use super::numbers;
use crate::array::meaning::elements;
use crate::array::{Cell, Meaning, numpy, trimmed};
use crate::{Endian, Scalar};

/// Formats an element; without a meaning, as bytes.
pub fn text(item: &[u8], meaning: Option<&Meaning>) -> String {
    match meaning {
        Some(Meaning::Cell(of)) => cell(item, *of),
        Some(Meaning::Times(times)) => match times.text(item) {
            Some(time) if times.is_number(&time) => time,
            Some(time) => format!("'{time}'"),
            None => bytes(item),
        },
        Some(Meaning::Fields(parts)) => {
            let fields: Vec<String> =
                parts.iter().map(|part| text(part.of_item(item), Some(&part.of))).collect();
            match fields.as_slice() {
                [one] => format!("({one},)"),
                many => format!("({})", many.join(", ")),
            }
        }
        Some(Meaning::List(shape, of)) => list(shape, item, of),
        Some(Meaning::Other(..)) | None => bytes(item),
    }
}

fn list(shape: &[u64], item: &[u8], of: &Meaning) -> String {
    let Some((size, inner)) = shape.split_first() else { return text(item, Some(of)) };
    let items = elements(&[*size], item).map(|item| list(inner, item, of));
    format!("[{}]", items.collect::<Vec<_>>().join(", "))
}

fn cell(item: &[u8], cell: Cell) -> String {
    match cell {
        Cell::Number(dtype) => Scalar::from_bytes(item, dtype).map_or_else(String::new, numbers::alone),
        Cell::Text(_) => bytes(trimmed(item)),
        Cell::Unicode(_, endian) => unicode(item, endian),
        Cell::Void(_) => bytes(item),
    }
}

/// Formats UTF-32 text without its NUL padding.
fn unicode(item: &[u8], endian: Endian) -> String {
    let (chars, _) = item.as_chunks::<4>();
    let code = |bytes: &[u8; 4]| match endian {
        Endian::Little => u32::from_le_bytes(*bytes),
        Endian::Big => u32::from_be_bytes(*bytes),
    };
    let codes: Vec<u32> = chars.iter().map(code).collect();
    let end = codes.iter().rposition(|code| *code != 0).map_or(0, |last| last + 1);
    let codes = codes.get(..end).unwrap_or_default();
    numpy::python_repr_of(codes)
}

fn bytes(item: &[u8]) -> String {
    let quote = if item.contains(&b'\'') && !item.contains(&b'"') { '"' } else { '\'' };
    let mut text = format!("b{quote}");
    for byte in item {
        match char::from(*byte) {
            c @ ('\'' | '"') if c != quote => text.push(c),
            _ => text.extend(byte.escape_ascii().map(char::from)),
        }
    }
    text.push(quote);
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Record;

    fn text(item: &[u8], record: Option<&Record>) -> String {
        super::text(item, record.map(Meaning::of).as_ref())
    }

    #[test]
    fn as_python_writes_them() {
        let record = |text: &str| Record::parse(text, Endian::Little).unwrap();
        assert_eq!(text(b"a\0\"'", None), "b'a\\x00\"\\''");
        assert_eq!(text(b"it's", None), "b\"it's\"");
        let unicode = |text: &str| {
            let item: Vec<u8> = text.chars().flat_map(|c| (c as u32).to_le_bytes()).collect();
            self::text(&item, Some(&record(&format!("<U{}", item.len() / 4))))
        };
        assert_eq!(unicode("a\0b\0\0"), r"'a\x00b'");
        assert_eq!(unicode("it's \\\n"), r#""it's \\\n""#);
        assert_eq!(
            unicode("'\"\u{301}e\u{301}\u{a0}\u{202e}\u{1f600}\u{e0001}"),
            "'\\'\"\u{301}e\u{301}\\xa0\\u202e\u{1f600}\\U000e0001'"
        );
        assert_eq!(text(&[0, 0xd8, 0, 0], Some(&record("<U1"))), r"'\ud800'");
        let padded =
            Record::of_fields([("a".into(), Cell::Void(1), None), (String::new(), Cell::Void(2), None)]);
        assert_eq!(text(b"x\0\0", padded.as_ref()), "(b'x',)");
        assert_eq!(text(b"ab\0", Some(&record("S3"))), "b'ab'");
        assert_eq!(text(b"ab\0\x02\x01", Some(&record("S3,u2"))), "(b'ab', 258)");
        assert_eq!(text(b"\x01\x02\x03", Some(&record("3u1"))), "([1, 2, 3],)");
        assert_eq!(text(b"\0\0\0a\0\0\0\0\x01", Some(&record(">U2,?"))), "('a', True)");
        let foreign = |text: &str| Record::foreign(text, 14).unwrap();
        let nested =
            foreign("[('in', [('d', '<M8[D]'), ('', '|V1')]), ('l', '|u1', (2, 2)), ('b', '<f16', (0,))]");
        assert_eq!(
            text(b"\x01\0\0\0\0\0\0\0x\x01\x02\x03\x04", Some(&nested)),
            "(('1970-01-02',), [[1, 2], [3, 4]], b'')"
        );
    }
}
