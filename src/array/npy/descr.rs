//! The element types of .npy files: one type string (`<f4`, `|S3`, `<M8[ns]`), or a list of fields.

use super::super::numpy::python_literal;
use super::super::{Array, Cell, Dtype, Element, Endian, Kind, Order, Record};
use super::literal::Literal;

/// An element type of a .npy header.
#[derive(Clone, Debug, PartialEq)]
pub struct Descr {
    /// In Python syntax: a type string without quotes, or a list of tuples.
    pub text: String,
    /// Size of an element in bytes.
    pub size: u64,
    /// Set for numbers that a [`crate::AnyArray`] can hold.
    pub dtype: Option<Dtype>,
    /// Set for text, bytes, and structures of these and numbers; other types are not taken apart.
    pub record: Option<Record>,
    /// The elements contain Python objects, which are stored as a pickle.
    pub has_objects: bool,
}

impl Descr {
    fn new(text: String, size: u64) -> Descr {
        Descr { text, size, dtype: None, record: None, has_objects: false }
    }

    /// The type as a single value, if it is one.
    fn cell(&self) -> Option<Cell> {
        self.dtype.map(Cell::Number).or_else(|| self.record.as_ref()?.cell())
    }

    /// An array with this element type; None for objects, and for types that are valid only within fields.
    pub fn array(&self, shape: &[u64], order: Order) -> Option<Array> {
        if let Some(dtype) = self.dtype {
            return Some(Array::new(dtype, shape, order));
        }
        if self.has_objects || self.text.starts_with('(') {
            return None;
        }
        let record = self.record.clone().or_else(|| Record::foreign(&self.text, self.size));
        // A header could claim any number of elements without bytes.
        let record = record.filter(|record| record.size() > 0)?;
        let element = Element { kind: Kind::Opaque, size: u32::try_from(record.size()).ok()? };
        let array = Array::new(Dtype { element, endian: Endian::Little }, shape, order);
        Some(Array { record: Some(record.into()), ..array })
    }
}

/// Interprets a type; the error says what is wrong with it.
pub fn descr(literal: &Literal) -> Result<Descr, String> {
    match literal {
        Literal::Str(text) => simple(text),
        Literal::List(fields) => structure(fields),
        // A subarray type (a type with a shape), valid only within fields.
        Literal::Tuple(pair) => match pair.as_slice() {
            [of, sizes] => {
                let inner = descr(of)?;
                let size = times(inner.size, sizes)?;
                let text = tuple(&[quoted(&inner), shown(sizes)]);
                Ok(Descr { has_objects: inner.has_objects, ..Descr::new(text, size) })
            }
            _ => Err("a type is a tuple of other than two items".into()),
        },
        _ => Err("its descr is neither a string nor a list of fields".into()),
    }
}

fn simple(text: &str) -> Result<Descr, String> {
    let unknown = || format!("its element type {text:?} is not known");
    let bare = text.strip_prefix(['<', '>', '|', '=']).unwrap_or(text);
    let mut chars = bare.chars();
    let kind = chars.next().ok_or_else(unknown)?;
    let (digits, unit) = match chars.as_str().split_once('[') {
        Some((digits, unit)) => (digits, Some(unit)),
        None => (chars.as_str(), None),
    };
    if matches!(kind, 'O' | 'T') && digits.bytes().all(|b| b.is_ascii_digit()) && unit.is_none() {
        return Ok(Descr { has_objects: true, ..Descr::new(text.into(), 0) });
    }
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err(unknown());
    }
    let count: u64 = digits.parse().map_err(|_| unknown())?;
    let is_unit = |unit: &str| {
        unit.strip_suffix(']')
            .is_some_and(|unit| unit.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'/'))
    };
    let (size, known) = match (kind, count) {
        ('b', 1) => (1, Some(Kind::Bool)),
        ('i', 1 | 2 | 4 | 8) => (count, Some(Kind::Int)),
        ('u', 1 | 2 | 4 | 8) => (count, Some(Kind::Uint)),
        ('f', 2 | 4 | 8) => (count, Some(Kind::Float)),
        ('c', 8 | 16) => (count, Some(Kind::Complex)),
        // Extended precision, whose size depends on the machine.
        ('f', 10 | 12 | 16) | ('c', 20 | 24 | 32) => (count, None),
        ('U', _) => (count.checked_mul(4).ok_or_else(unknown)?, None),
        ('S' | 'a' | 'V', _) => (count, None),
        ('M' | 'm', 8) if unit.is_none_or(is_unit) => (8, None),
        _ => return Err(unknown()),
    };
    if unit.is_some() && !matches!(kind, 'M' | 'm') {
        return Err(unknown());
    }
    let endian = if text.starts_with('>') { Endian::Big } else { Endian::Little };
    let dtype = known.map(|kind| Dtype { element: Element { kind, size: size as u32 }, endian });
    let record = u32::try_from(count).ok().and_then(|count| match kind {
        'S' | 'a' => Record::plain(Cell::Text(count)),
        'U' => Record::plain(Cell::Unicode(count, endian)),
        'V' => Record::plain(Cell::Void(count)),
        _ => None,
    });
    Ok(Descr { dtype, record, ..Descr::new(text.into(), size) })
}

fn structure(fields: &[Literal]) -> Result<Descr, String> {
    let mut whole = Descr::new(String::new(), 0);
    let mut texts = Vec::with_capacity(fields.len());
    let mut simple = Some(Vec::with_capacity(fields.len()));
    for (number, field) in (1..).zip(fields) {
        let Parts { text, size, has_objects, simple: one } =
            self::field(field).map_err(|problem| format!("its field {number}: {problem}"))?;
        whole.size = whole.size.checked_add(size).ok_or_else(too_large)?;
        whole.has_objects |= has_objects;
        texts.push(text);
        match (&mut simple, one) {
            (Some(all), Some(one)) => all.push(one),
            _ => simple = None,
        }
    }
    whole.text = format!("[{}]", texts.join(", "));
    whole.record = simple.and_then(Record::of_fields);
    Ok(whole)
}

/// A parsed field.
struct Parts {
    text: String,
    size: u64,
    has_objects: bool,
    /// Name, cell and repeat count, unless the field is nested, titled or has several axes.
    simple: Option<(String, Cell, Option<u64>)>,
}

/// Parses a tuple of name (or title and name), type and optional shape.
fn field(field: &Literal) -> Result<Parts, String> {
    let Literal::Tuple(parts) = field else { return Err("it is not a tuple".into()) };
    let (name, of, sizes) = match parts.as_slice() {
        [name, of] => (name, of, None),
        [name, of, sizes] => (name, of, Some(sizes)),
        _ => return Err("it has neither two nor three items".into()),
    };
    let is_text = |name: &Literal| matches!(name, Literal::Str(_));
    match name {
        name if is_text(name) => {}
        Literal::Tuple(names) if names.iter().all(is_text) => {}
        _ => return Err("its name is not a string".into()),
    }
    let inner = descr(of)?;
    let size = sizes.map_or(Ok(inner.size), |sizes| times(inner.size, sizes))?;
    let texts = [Some(shown(name)), Some(quoted(&inner)), sizes.map(shown)];
    let text = tuple(&texts.into_iter().flatten().collect::<Vec<_>>());
    let simple = match (name, inner.cell(), sizes.map(only_size)) {
        (Literal::Str(name), Some(cell), None) => Some((name.clone(), cell, None)),
        (Literal::Str(name), Some(cell), Some(Some(count))) => Some((name.clone(), cell, Some(count))),
        _ => None,
    };
    Ok(Parts { text, size, has_objects: inner.has_objects, simple })
}

/// The size of a one-dimensional shape.
fn only_size(shape: &Literal) -> Option<u64> {
    match shape {
        Literal::Tuple(sizes) => match sizes.as_slice() {
            [Literal::Int(size)] => u64::try_from(*size).ok(),
            _ => None,
        },
        _ => None,
    }
}

fn times(size: u64, shape: &Literal) -> Result<u64, String> {
    let sizes = match shape {
        Literal::Tuple(sizes) => sizes.as_slice(),
        one => std::slice::from_ref(one),
    };
    sizes.iter().try_fold(size, |product, size| match size {
        Literal::Int(size) => {
            let size = u64::try_from(*size).map_err(|_| "a shape has a size that is negative".to_owned())?;
            product.checked_mul(size).ok_or_else(too_large)
        }
        _ => Err("a shape has a size that is not a number".into()),
    })
}

fn too_large() -> String {
    "an element takes more bytes than any file has".into()
}

fn quoted(descr: &Descr) -> String {
    let is_literal = descr.text.starts_with(['[', '(']);
    if is_literal { descr.text.clone() } else { python_literal(&descr.text) }
}

fn tuple(parts: &[String]) -> String {
    format!("({})", parts.join(", "))
}

fn shown(literal: &Literal) -> String {
    let all = |items: &[Literal]| items.iter().map(shown).collect::<Vec<_>>().join(", ");
    match literal {
        Literal::Str(text) => python_literal(text),
        Literal::Int(number) => number.to_string(),
        Literal::Tuple(items) if items.len() == 1 => format!("({},)", all(items)),
        Literal::Tuple(items) => format!("({})", all(items)),
        Literal::List(items) => format!("[{}]", all(items)),
        Literal::Bool(_) | Literal::None | Literal::Dict(_) => "None".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::literal::parse;
    use super::*;

    fn of(text: &str) -> Result<(String, u64, bool), String> {
        descr(&parse(text).unwrap()).map(|found| (found.text, found.size, found.has_objects))
    }

    #[test]
    fn type_strings() {
        for (text, size) in [
            ("<f4", 4),
            (">c16", 16),
            ("|b1", 1),
            ("<U5", 20),
            ("|S3", 3),
            ("|V7", 7),
            ("<M8[ns]", 8),
            ("<m8[25us]", 8),
            ("i4", 4),
            ("<f16", 16),
            ("<U0", 0),
        ] {
            assert_eq!(of(&format!("'{text}'")), Ok((text.into(), size, false)));
        }
        assert_eq!(of("'|O'").map(|found| found.2), Ok(true));
        assert_eq!(simple("<U0").unwrap().array(&[u64::MAX], Order::C), None);
        assert!(simple(">i2").unwrap().dtype.is_some_and(|dtype| dtype.to_string() == ">i2"));
        for text in [
            "",
            "<",
            "<f3",
            "<f",
            "<q8",
            "<i4[ns]",
            "<M8[ns",
            "<M8[n\"]",
            "<U99999999999999999999",
            "<U9999999999999999999",
            "f4 ",
            "\u{e9}1",
        ] {
            assert!(simple(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn every_type_with_bytes_has_arrays_that_are_called_as_it_is() {
        let array = |text: &str| descr(&parse(text).unwrap()).unwrap().array(&[3], Order::F);
        for text in [
            "'>M8[s]'",
            "'<m8'",
            "'<f16'",
            "'>c32'",
            r#"[("x", [("y", "<i2")]), ("z", "<f4", (2, 2))]"#,
            r#"[("day", "<M8[D]"), (("title", "z"), "|V3")]"#,
        ] {
            let found = array(text).unwrap();
            assert_eq!((found.descr(), found.order, &*found.shape), (text.into(), Order::F, &[3][..]));
            let size = descr(&parse(text).unwrap()).unwrap().size;
            assert_eq!(u64::from(found.dtype.element.size), size, "{text}");
        }
        let nothing = ["'|O'", "[('x', [('y', '|O')]), ('z', '<M8[s]')]", "[]", "[('x', '<M8[s]', (0,))]"];
        for text in nothing.into_iter().chain(["('<f4', (2,))", "[('x', '<c32', (4294967295,))]"]) {
            assert_eq!(array(text), None, "{text}");
        }
    }

    #[test]
    fn structures() {
        let text =
            "[('x', '<f4'), ('y\"', [('a', '|u1', (2,)), ('b', '<U2')], (3, 2)), (('title', 'z'), '>i2')]";
        let want =
            r#"[("x", "<f4"), ("y\"", [("a", "|u1", (2,)), ("b", "<U2")], (3, 2)), (("title", "z"), ">i2")]"#;
        assert_eq!(of(text), Ok((want.into(), 4 + 6 * 10 + 2, false)));
        assert_eq!(of("[('x', '<f4'), ('y', '|O')]").map(|found| found.2), Ok(true));
        assert_eq!(of("[('x', ('<f4', (2, 2)))]").map(|found| found.1), Ok(16));
        for text in [
            "[('x',)]",
            "[(1, '<f4')]",
            "['<f4']",
            "[('x', '<f4', 'y')]",
            "[('x', '<f4', (-1,))]",
            "7",
            "{}",
            "[('x', '<f8', (4294967296, 4294967296))]",
        ] {
            assert!(of(text).is_err(), "{text}");
        }
    }
}
