//! Describes an array for numpy: a YAML mapping for programs, and a line of code to paste.

use super::npy::{Literal, descr, parse_literal};
use super::{Array, Order};

/// The array that such a mapping describes; None if its element type is not supported. The error says what is wrong
/// with the type.
pub fn array(dtype: &str, shape: &[u64], order: Order) -> Result<Option<Array>, String> {
    let literal = match dtype.starts_with('[') {
        true => parse_literal(dtype)?,
        false => Literal::Str(dtype.into()),
    };
    Ok(descr(&literal)?.array(shape, order))
}

/// The text that describes an array, before and after the name of its file.
pub struct Parts {
    before: String,
    after: String,
}

impl Parts {
    pub fn of(array: &Array, has_own: bool) -> Parts {
        Parts::new(&array.numpy_type(), &array.shape, array.order, has_own)
    }

    /// `dtype` is a type string, or for structures a list in Python syntax; `has_own` leaves out the mapping `numpy`
    /// because there is already a key of that name.
    pub fn new(dtype: &str, shape: &[u64], order: Order, has_own: bool) -> Parts {
        let sizes = shape.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
        let mapping = match has_own {
            true => String::new(),
            false => {
                let quoted = dtype.replace('\'', "''");
                format!("numpy:\n  dtype: '{quoted}'\n  shape: [{sizes}]\n  order: {order}\n")
            }
        };
        let tuple = if shape.len() == 1 { format!("({sizes},)") } else { format!("({sizes})") };
        let quote = if dtype.starts_with('[') { "" } else { "\"" };
        let array = format!("dtype={quote}{dtype}{quote}, shape={tuple}, order=\"{order}\")");
        if shape.contains(&0) {
            // An empty file cannot be mapped.
            let before = format!("{mapping}# np.empty({array}  # ");
            return Parts { before, after: " has no bytes to map\n".into() };
        }
        Parts { before: format!("{mapping}# np.memmap("), after: format!(", mode=\"r\", {array}\n") }
    }

    /// The whole text for an array in the file `file_name`.
    pub fn text(&self, file_name: &[u8]) -> String {
        [&self.before, python_literal(&String::from_utf8_lossy(file_name)).as_str(), &self.after].concat()
    }

    /// The length of the text without the file name.
    pub fn len(&self) -> usize {
        self.before.len() + self.after.len()
    }
}

/// The length of [`python_literal`].
pub fn literal_len(name: &[u8]) -> usize {
    let is_simple = name.iter().all(|b| matches!(b, b' '..=b'~') && !matches!(b, b'"' | b'\\'));
    if is_simple { name.len() + 2 } else { python_literal(&String::from_utf8_lossy(name)).len() }
}

/// A Python string literal; characters that YAML does not allow in a comment, or that would end it or
/// disguise it, are escaped.
pub fn python_literal(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\0'..='\x1f' | '\x7f'..='\u{a0}' => out.push_str(&format!("\\x{:02x}", c as u32)),
            '\u{ad}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{feff}'
            | '\u{fffe}'
            | '\u{ffff}' => out.push_str(&format!("\\u{:04x}", c as u32)),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// A string as Python's `repr()` shows it.
pub fn python_repr(text: &str) -> String {
    python_repr_of(&text.chars().map(u32::from).collect::<Vec<_>>())
}

/// As [`python_repr`] for code points; invalid ones are escaped.
pub fn python_repr_of(codes: &[u32]) -> String {
    let has = |quote: char| codes.contains(&quote.into());
    let quote = if has('\'') && !has('"') { '"' } else { '\'' };
    let mut text = String::from(quote);
    for code in codes {
        match char::from_u32(*code) {
            Some('\n') => text.push_str("\\n"),
            Some('\r') => text.push_str("\\r"),
            Some('\t') => text.push_str("\\t"),
            Some(c) if c == quote || c == '\\' => text.extend(['\\', c]),
            Some(c) if is_printable(c) => text.push(c),
            _ if *code < 0x100 => text.push_str(&format!("\\x{code:02x}")),
            _ if *code < 0x1_0000 => text.push_str(&format!("\\u{code:04x}")),
            _ => text.push_str(&format!("\\U{code:08x}")),
        }
    }
    text.push(quote);
    text
}

/// Tests the character after another one, because `escape_debug` escapes a combining mark that comes first.
fn is_printable(c: char) -> bool {
    matches!(c, ' '..='~') || (c > '~' && ['a', c].iter().collect::<String>().escape_debug().count() == 2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::array::{Dtype, Element, Endian};

    fn line(shape: &[u64], name: &str) -> String {
        let dtype = Dtype { element: Element::from_name("int16").unwrap(), endian: Endian::Little };
        let array = Array::new(dtype, shape, Order::F);
        let parts = Parts::of(&array, true);
        assert_eq!(parts.len() + literal_len(name.as_bytes()), parts.text(name.as_bytes()).len());
        parts.text(name.as_bytes())
    }

    #[test]
    fn the_line_to_paste() {
        let want = "# np.memmap(\"NAME\", mode=\"r\", dtype=\"<i2\", shape=(2, 3, 4), order=\"F\")\n";
        assert_eq!(line(&[2, 3, 4], "NAME"), want);
        assert!(line(&[7], "a").contains("shape=(7,)"));
        assert!(line(&[], "a").contains("shape=()"));
        let empty = "# np.empty(dtype=\"<i2\", shape=(0, 3), order=\"F\")  # \"a\" has no bytes to map\n";
        assert_eq!(line(&[0, 3], "a"), empty);
    }

    #[test]
    fn names_are_python_literals_that_stay_on_the_line() {
        assert!(line(&[1], "q\"s\\ \u{85}\u{2028}\u{202e}é").contains(r#""q\"s\\ \x85\u2028\u202eé""#));
    }
}
