//! Records: elements made of fields, in numpy's comma syntax: `S12,u4,8f8` is twelve bytes of text, an unsigned integer
//! and eight floating-point numbers.

use std::fmt;

use super::numpy::python_literal;
use super::{Dtype, Element, Endian, Kind};

/// Limits on the size and the number of fields of an element.
const MAX_BYTES: u64 = u32::MAX as u64;
const MAX_FIELDS: usize = 1 << 12;

/// The structure of an opaque element.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Record {
    fields: Vec<Field>,
    /// A single unnamed value.
    is_plain: bool,
    /// numpy's type string of a type that no [`Cell`] describes.
    text: Option<Box<str>>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Field {
    /// `f0`, `f1`, ... by default, as in numpy.
    pub name: String,
    pub cell: Cell,
    /// The number of consecutive cells; None for a single one without a count.
    pub repeat: Option<u64>,
    /// Offset in the element, in bytes.
    pub offset: u64,
}

/// One value of a field.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cell {
    Number(Dtype),
    /// NUL-padded bytes; the size in bytes.
    Text(u32),
    /// NUL-padded UTF-32; the number of characters.
    Unicode(u32, Endian),
    Void(u32),
}

impl Cell {
    /// Size in bytes.
    pub fn size(self) -> u64 {
        match self {
            Cell::Number(dtype) => dtype.element.size.into(),
            Cell::Text(size) | Cell::Void(size) => size.into(),
            Cell::Unicode(count, _) => 4 * u64::from(count),
        }
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cell::Number(dtype) => dtype.fmt(f),
            Cell::Text(size) => write!(f, "S{size}"),
            Cell::Unicode(count, Endian::Little) => write!(f, "<U{count}"),
            Cell::Unicode(count, Endian::Big) => write!(f, ">U{count}"),
            Cell::Void(size) => write!(f, "V{size}"),
        }
    }
}

impl Field {
    /// Size in bytes, all repetitions together.
    pub fn size(&self) -> u64 {
        self.cell.size() * self.repeat.unwrap_or(1)
    }
}

impl Record {
    /// Parses numpy's comma syntax; types without a byte order get `endian`. The error says what is wrong with it.
    pub fn parse(text: &str, endian: Endian) -> Result<Record, String> {
        let list = text.trim();
        let items = list.strip_suffix(',').unwrap_or(list);
        let mut record = Record { fields: Vec::new(), is_plain: false, text: None };
        let mut offset = 0;
        for item in items.split(',') {
            if record.fields.len() == MAX_FIELDS {
                return Err(format!("the limit is {MAX_FIELDS} fields"));
            }
            let (cell, repeat) = cell(item.trim(), endian)?;
            let field = Field { name: format!("f{}", record.fields.len()), cell, repeat, offset };
            let size = cell.size().checked_mul(repeat.unwrap_or(1)).filter(|size| *size <= MAX_BYTES);
            offset += size.ok_or_else(|| format!("{item:?} takes more than {MAX_BYTES} bytes"))?;
            record.fields.push(field);
        }
        record.is_plain = items == list && matches!(record.fields.as_slice(), [Field { repeat: None, .. }]);
        Ok(record)
    }

    /// A record of contiguous named fields; None if there are too many, or they are too large.
    pub fn of_fields(fields: impl IntoIterator<Item = (String, Cell, Option<u64>)>) -> Option<Record> {
        let mut record = Record { fields: Vec::new(), is_plain: false, text: None };
        let mut offset = 0u64;
        for (name, cell, repeat) in fields {
            let field = Field { name, cell, repeat, offset };
            let size = cell.size().checked_mul(repeat.unwrap_or(1))?;
            offset = offset.checked_add(size).filter(|end| *end <= MAX_BYTES)?;
            record.fields.push(field);
        }
        (record.fields.len() <= MAX_FIELDS).then_some(record)
    }

    /// A single unnamed value.
    pub fn plain(cell: Cell) -> Option<Record> {
        let record = Record::of_fields([("f0".into(), cell, None)])?;
        Some(Record { is_plain: true, ..record })
    }

    /// `size` bytes that only numpy's type string describes (dates, nested fields): `text` is in Python syntax, a list
    /// if the type has fields. Code that ignores the text sees one void value.
    pub fn foreign(text: &str, size: u64) -> Option<Record> {
        let record = Record::plain(Cell::Void(u32::try_from(size).ok()?))?;
        Some(Record { text: Some(text.into()), ..record })
    }

    /// numpy's type string, if nothing else describes the bytes.
    pub fn foreign_type(&self) -> Option<&str> {
        self.text.as_deref()
    }

    pub fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// Size in bytes.
    pub fn size(&self) -> u64 {
        self.fields.iter().map(Field::size).sum()
    }

    /// True for a single unnamed value.
    pub fn is_plain(&self) -> bool {
        self.is_plain
    }

    /// The single unnamed value.
    pub(crate) fn cell(&self) -> Option<Cell> {
        self.fields.first().filter(|_| self.is_plain).map(|field| field.cell)
    }

    /// The type of a single unnamed number.
    pub fn number(&self) -> Option<Dtype> {
        match self.fields.as_slice() {
            [Field { cell: Cell::Number(dtype), .. }] if self.is_plain => Some(*dtype),
            _ => None,
        }
    }

    /// The value of `descr` in a .npy header.
    pub fn descr(&self) -> String {
        if self.text.as_ref().is_some_and(|text| text.starts_with('[')) {
            return self.to_string();
        }
        if self.is_plain {
            return format!("'{self}'");
        }
        let field = |field: &Field| {
            let repeat = field.repeat.map_or(String::new(), |count| format!(", ({count},)"));
            format!("({}, '{}'{repeat})", quoted(&field.name), field.cell)
        };
        format!("[{}]", self.fields.iter().map(field).collect::<Vec<_>>().join(", "))
    }
}

/// numpy's comma syntax with byte orders, or numpy's type string if the syntax cannot express the type.
impl fmt::Display for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(text) = &self.text {
            return f.write_str(text);
        }
        for (place, field) in self.fields.iter().enumerate() {
            let comma = if place > 0 { "," } else { "" };
            let repeat = field.repeat.map_or(String::new(), |count| count.to_string());
            write!(f, "{comma}{repeat}{}", field.cell)?;
        }
        if self.fields.len() == 1 && !self.is_plain { f.write_str(",") } else { Ok(()) }
    }
}

/// A Python string literal: in single quotes if it is simple, otherwise with special characters escaped.
fn quoted(name: &str) -> String {
    let is_simple = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if is_simple { format!("'{name}'") } else { python_literal(name) }
}

/// Parses `8f8`, `<u4`, `8<f8`, `S12`, `float32`, `?`.
fn cell(text: &str, default: Endian) -> Result<(Cell, Option<u64>), String> {
    let unknown = || {
        format!(
            "{text:?} is not a type that is understood: use numpy's, as in 'S12,u4,8f8' (types b1, i1 to \
             i8, u1 to u8, f2 to f8, c8, c16, S, U and V)"
        )
    };
    let (first, rest) = order(text);
    let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (count, rest) = rest.split_at(digits);
    let (second, name) = order(rest);
    let repeat = if count.is_empty() { None } else { Some(count.parse().map_err(|_| unknown())?) };
    let endian = match second.or(first) {
        Some('<') => Endian::Little,
        Some('>') => Endian::Big,
        Some('=') => Endian::NATIVE,
        _ => default,
    };
    let sized = |letters: &[char]| name.strip_prefix(letters).and_then(|size| size.parse::<u32>().ok());
    let cell = match (sized(&['S', 'a']), sized(&['U']), sized(&['V'])) {
        (Some(size), ..) => Cell::Text(size),
        (_, Some(count), _) => Cell::Unicode(count, endian),
        (.., Some(size)) => Cell::Void(size),
        _ => {
            let element = number(name).ok_or_else(unknown)?;
            // A single byte has no byte order.
            let endian = if element.size == 1 { Endian::Little } else { endian };
            Cell::Number(Dtype { element, endian })
        }
    };
    Ok((cell, repeat))
}

fn order(text: &str) -> (Option<char>, &str) {
    let first = text.chars().next().filter(|c| matches!(c, '<' | '>' | '=' | '|'));
    (first, text.get(first.map_or(0, char::len_utf8)..).unwrap_or_default())
}

fn number(name: &str) -> Option<Element> {
    let letter = |kind, size: &str| {
        let element = Element { kind, size: size.parse().ok()? };
        element.name().map(|_| element)
    };
    let lettered = match name.split_at_checked(1)? {
        ("?", "") => Some(Element { kind: Kind::Bool, size: 1 }),
        ("b", "1") => letter(Kind::Bool, "1"),
        ("i", size) => letter(Kind::Int, size),
        ("u", size) => letter(Kind::Uint, size),
        ("f", size) => letter(Kind::Float, size),
        ("c", size) => letter(Kind::Complex, size),
        _ => None,
    };
    lettered.or_else(|| Element::from_name(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Record {
        Record::parse(text, Endian::Little).unwrap()
    }

    #[test]
    fn numpys_comma_syntax() {
        let record = parsed("S12, u4 ,8f8");
        assert_eq!((record.size(), record.to_string().as_str()), (80, "S12,<u4,8<f8"));
        assert_eq!(record.descr(), "[('f0', 'S12'), ('f1', '<u4'), ('f2', '<f8', (8,))]");
        let offsets: Vec<u64> = record.fields().iter().map(|field| field.offset).collect();
        assert_eq!(offsets, [0, 12, 16]);
        assert_eq!(parsed(">i2,3>f4,=u8,|u1,?").to_string(), ">i2,3>f4,<u8,|u1,|b1");
        assert_eq!(Record::parse("U3,<U2,float32", Endian::Big).unwrap().to_string(), ">U3,<U2,>f4");
        assert_eq!((parsed("S5").descr(), parsed("S5,").descr()), ("'S5'".into(), "[('f0', 'S5')]".into()));
        assert_eq!((parsed("4u2").to_string(), parsed("4u2").size()), ("4<u2,".into(), 8));
        assert_eq!(parsed(&parsed("4u2").to_string()), Record { is_plain: false, ..parsed("4u2") });
        assert_eq!(parsed("f4").number().unwrap().to_string(), "<f4");
        assert_eq!(parsed("f4,").number(), None);
    }

    #[test]
    fn fields_with_names() {
        let number = Cell::Number(parsed("<f4").number().unwrap());
        let fields = [("x".into(), number, None), ("a \"é\\".into(), Cell::Text(3), Some(2))];
        let record = Record::of_fields(fields).unwrap();
        assert_eq!(record.descr(), r#"[('x', '<f4'), ("a \"é\\", 'S3', (2,))]"#);
        assert_eq!(
            (record.size(), record.fields()[1].offset, record.to_string().as_str()),
            (10, 4, "<f4,2S3")
        );
        assert_eq!(
            Record::plain(Cell::Unicode(5, Endian::Big)),
            Some(Record::parse(">U5", Endian::Big).unwrap())
        );
        assert_eq!(Record::of_fields([("x".into(), Cell::Void(u32::MAX), Some(2))]), None);
        assert_eq!(Record::of_fields((0..5000).map(|n| (n.to_string(), Cell::Void(1), None))), None);
    }

    #[test]
    fn what_only_numpys_text_tells() {
        let date = Record::foreign(">M8[s]", 8).unwrap();
        assert_eq!(
            (date.to_string().as_str(), date.descr().as_str(), date.size()),
            (">M8[s]", "'>M8[s]'", 8)
        );
        let text = r#"[("x", [("y", "<i2")]), ("z", "<f4", (2, 2))]"#;
        let nested = Record::foreign(text, 18).unwrap();
        assert_eq!((nested.to_string().as_str(), nested.descr().as_str(), nested.size()), (text, text, 18));
        assert_eq!((nested.number(), nested.is_plain(), date == nested), (None, true, false));
        assert_eq!(Record::foreign(text, 1 << 32), None);
    }

    #[test]
    fn what_is_not_understood() {
        for text in
            ["", "u4,,f8", "q", "f3", "i16", "S", "Sx", "-1f8", "(2,3)f8", "99999999999999999999u1", "é"]
        {
            assert!(Record::parse(text, Endian::Little).unwrap_err().contains("is not a type"), "{text}");
        }
        for text in ["4294967296u1", "18446744073709551615f8", "U4294967295"] {
            assert!(Record::parse(text, Endian::Little).unwrap_err().contains("takes more than"), "{text}");
        }
        assert!(Record::parse(&"u1,".repeat(5000), Endian::Little).unwrap_err().contains("4096 fields"));
    }
}
