//! Elements that are no numbers as text, in the way of Python: bytes as `b'..'`, records as tuples.

use super::numbers;
use crate::array::{Cell, Times};
use crate::{Endian, Field, Record, Scalar};

/// One element.
pub fn text(item: &[u8], record: Option<&Record>) -> String {
    let Some(record) = record else { return bytes(item) };
    if let Some(times) = Times::of(record)
        && let Some(time) = times.text(item)
    {
        return if times.is_number(&time) { time } else { format!("'{time}'") };
    }
    let field = |field: &Field| {
        let size = field.cell.size() as usize;
        let all = item.get(field.offset as usize..).and_then(|rest| rest.get(..field.size() as usize));
        let cells = |at| all.and_then(|all| all.get(at * size..)?.get(..size)).unwrap_or_default();
        match field.repeat {
            None => cell(cells(0), field.cell),
            Some(count) => {
                let cells = (0..count as usize).map(|at| cell(cells(at), field.cell));
                format!("[{}]", cells.collect::<Vec<_>>().join(", "))
            }
        }
    };
    let fields: Vec<String> = record.fields().iter().map(field).collect();
    match fields.as_slice() {
        [one] if record.is_plain() => one.clone(),
        [one] => format!("({one},)"),
        many => format!("({})", many.join(", ")),
    }
}

fn cell(item: &[u8], cell: Cell) -> String {
    match cell {
        Cell::Number(dtype) => Scalar::from_bytes(item, dtype).map_or_else(String::new, numbers::alone),
        Cell::Text(_) => bytes(without_nuls(item)),
        Cell::Unicode(_, endian) => unicode(item, endian),
        Cell::Void(_) => bytes(item),
    }
}

/// Those that fill up.
fn without_nuls(item: &[u8]) -> &[u8] {
    let end = item.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    item.get(..end).unwrap_or_default()
}

fn unicode(item: &[u8], endian: Endian) -> String {
    let (chars, _) = item.as_chunks::<4>();
    let code = |bytes: &[u8; 4]| match endian {
        Endian::Little => u32::from_le_bytes(*bytes),
        Endian::Big => u32::from_be_bytes(*bytes),
    };
    let text: String = chars.iter().map(|c| char::from_u32(code(c)).unwrap_or('\u{fffd}')).collect();
    format!("'{}'", text.trim_end_matches('\0').escape_debug().to_string().replace("\\\"", "\""))
}

fn bytes(item: &[u8]) -> String {
    format!("b'{}'", item.escape_ascii().to_string().replace("\\\"", "\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_python_writes_them() {
        let record = |text: &str| Record::parse(text, Endian::Little).unwrap();
        assert_eq!(text(b"a\0\"'", None), "b'a\\x00\"\\''");
        assert_eq!(text(b"ab\0", Some(&record("S3"))), "b'ab'");
        assert_eq!(text(b"ab\0\x02\x01", Some(&record("S3,u2"))), "(b'ab', 258)");
        assert_eq!(text(b"\x01\x02\x03", Some(&record("3u1"))), "([1, 2, 3],)");
        assert_eq!(text(b"\0\0\0a\0\0\0\0\x01", Some(&record(">U2,?"))), "('a', True)");
    }
}
