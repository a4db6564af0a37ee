//! The sidecar of a dataset: its header entry (name, metadata, codecMeta and whatever else it has), for
//! arrays followed by numpy's description and a line to paste. Where the entry's text loads by itself to
//! the same values in YAML 1.1 and 1.2 it is served as it stands in the header, moved to the left margin;
//! otherwise a text of the same values is written.

use super::records::EntryText;
use crate::array::Array;
use crate::yaml::{self, Node};

/// The bytes of the sidecar file of a dataset whose file is called `file_name`.
pub fn build(entry: &EntryText, array: Option<&Array>, file_name: &[u8]) -> Vec<u8> {
    let mut out = match entry.own {
        Some(column) => yaml::dedent(&entry.text, column),
        None => {
            let mut written = String::new();
            yaml::write(&entry.node, 0, &mut written);
            written
        }
    };
    if let Some(array) = array {
        let Parts { before, after } = Parts::new(array, has_own_description(&entry.node));
        out.extend([before, python_literal(file_name), after]);
    }
    out.into_bytes()
}

/// The entry has a key `numpy` of its own, so ours is left out.
pub fn has_own_description(node: &Node) -> bool {
    node.get("numpy").is_some()
}

/// What is added for an array, before and after the name of its file.
pub struct Parts {
    before: String,
    after: String,
}

impl Parts {
    pub fn new(array: &Array, has_own: bool) -> Parts {
        let Array { dtype, shape, order } = array;
        let sizes = shape.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
        let mapping = match has_own {
            true => String::new(),
            false => format!("numpy:\n  dtype: '{dtype}'\n  shape: [{sizes}]\n  order: {order}\n"),
        };
        let tuple = if shape.len() == 1 { format!("({sizes},)") } else { format!("({sizes})") };
        let array = format!("dtype=\"{dtype}\", shape={tuple}, order=\"{order}\")");
        if shape.contains(&0) {
            // A file without bytes cannot be mapped.
            let before = format!("{mapping}# np.empty({array}  # ");
            return Parts { before, after: " has no bytes to map\n".into() };
        }
        Parts { before: format!("{mapping}# np.memmap("), after: format!(", mode=\"r\", {array}\n") }
    }

    /// The length without the name.
    pub fn len(&self) -> usize {
        self.before.len() + self.after.len()
    }
}

/// The length of [`python_literal`].
pub fn literal_len(name: &[u8]) -> usize {
    let is_simple = name.iter().all(|b| matches!(b, b' '..=b'~') && !matches!(b, b'"' | b'\\'));
    if is_simple { name.len() + 2 } else { python_literal(name).len() }
}

/// A Python string literal; characters that YAML does not allow in a comment, or that would end it or
/// disguise it, are escaped.
fn python_literal(name: &[u8]) -> String {
    let mut out = String::from("\"");
    for c in String::from_utf8_lossy(name).chars() {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::array::{Dtype, Element, Endian, Order};

    fn line(shape: &[u64], name: &str) -> String {
        let dtype = Dtype { element: Element::from_name("int16").unwrap(), endian: Endian::Little };
        let array = Array { dtype, shape: shape.into(), order: Order::F };
        let Parts { before, after } = Parts::new(&array, true);
        assert_eq!(literal_len(name.as_bytes()), python_literal(name.as_bytes()).len());
        before + &python_literal(name.as_bytes()) + &after
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
