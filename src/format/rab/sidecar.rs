//! The sidecar of a dataset: its header entry (name, metadata, codecMeta and whatever else it has), for
//! arrays followed by numpy's description and a line to paste. Where the entry's text loads by itself to
//! the same values in YAML 1.1 and 1.2 it is served as it stands in the header, moved to the left margin,
//! read again when it is asked for; otherwise a text of the same values was written when the header was
//! parsed, and is kept.

use std::ops::Range;

use crate::array::Array;
use crate::source::Source;
use crate::yaml::{self, Item};
use crate::{Error, Result};

pub struct Sidecar {
    text: Text,
    /// The entry has a key `numpy` of its own, so ours is left out.
    has_numpy: bool,
}

enum Text {
    /// The entry's own text in the file, without `indent` spaces at the start of each line.
    Own {
        range: Range<u64>,
        indent: u32,
        len: u64,
    },
    Written(Box<str>),
}

impl Sidecar {
    /// `header` is the file offset of the header text that `item` is from.
    pub fn new(item: Item, text: &str, header: u64) -> Sidecar {
        let has_numpy = item.node.get("numpy").is_some();
        let own = item.portable.and_then(|indent| {
            let entry = text.get(item.span.clone())?;
            let range = header + item.span.start as u64..header + item.span.end as u64;
            let len = yaml::dedented_len(entry, indent) as u64;
            Some(Text::Own { range, indent: u32::try_from(indent).ok()?, len })
        });
        let text = own.unwrap_or_else(|| {
            let mut written = String::new();
            yaml::write(&item.node, 0, &mut written);
            Text::Written(written.into())
        });
        Sidecar { text, has_numpy }
    }

    /// Length without building it.
    pub fn len(&self, array: Option<&Array>, file_name: &[u8]) -> u64 {
        let own = match &self.text {
            Text::Own { len, .. } => *len,
            Text::Written(text) => text.len() as u64,
        };
        own + self.description(array, file_name).len() as u64
    }

    /// The bytes of the sidecar file.
    pub fn build(&self, source: &dyn Source, array: Option<&Array>, file_name: &[u8]) -> Result<Vec<u8>> {
        let mut out = match &self.text {
            Text::Own { range, indent, .. } => own_text(source, range.clone(), *indent as usize)?,
            Text::Written(text) => text.to_string(),
        };
        out.push_str(&self.description(array, file_name));
        Ok(out.into_bytes())
    }

    fn description(&self, array: Option<&Array>, file_name: &[u8]) -> String {
        let Some(array) = array else { return String::new() };
        let Array { dtype, shape, order } = array;
        let mapping = if self.has_numpy {
            String::new()
        } else {
            let sizes = shape.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
            format!("numpy:\n  dtype: '{dtype}'\n  shape: [{sizes}]\n  order: {order}\n")
        };
        format!("{mapping}# {}\n", numpy_line(array, file_name))
    }
}

fn own_text(source: &dyn Source, range: Range<u64>, indent: usize) -> Result<String> {
    let start = range.start;
    String::from_utf8(source.read_range(range)?)
        .map(|text| yaml::dedent(&text, indent))
        .map_err(|_| Error::damaged(source.place().at(start), "the header is not UTF-8 any more"))
}

/// The line to paste into Python; a file without bytes cannot be mapped.
fn numpy_line(array: &Array, file_name: &[u8]) -> String {
    let Array { dtype, shape, order } = array;
    let shape = match shape.as_ref() {
        [one] => format!("({one},)"),
        sizes => format!("({})", sizes.iter().map(u64::to_string).collect::<Vec<_>>().join(", ")),
    };
    if array.shape.contains(&0) {
        return format!("np.empty(dtype=\"{dtype}\", shape={shape}, order=\"{order}\")");
    }
    let name = python_literal(file_name);
    format!("np.memmap({name}, mode=\"r\", dtype=\"{dtype}\", shape={shape}, order=\"{order}\")")
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
        numpy_line(&Array { dtype, shape: shape.into(), order: Order::F }, name.as_bytes())
    }

    #[test]
    fn the_line_to_paste() {
        let want = r#"np.memmap("NAME", mode="r", dtype="<i2", shape=(2, 3, 4), order="F")"#;
        assert_eq!(line(&[2, 3, 4], "NAME"), want);
        assert!(line(&[7], "a").contains("shape=(7,)"));
        assert!(line(&[], "a").contains("shape=()"));
        assert!(line(&[0, 3], "a").starts_with("np.empty("));
    }

    #[test]
    fn names_are_python_literals_that_stay_on_the_line() {
        assert!(line(&[1], "q\"s\\ \u{85}\u{2028}\u{202e}é").contains(r#""q\"s\\ \x85\u2028\u202eé""#));
    }
}
