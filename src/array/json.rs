//! Writes elements as JSON. Values without a JSON form become an object with one key: `__float__` (nan, inf, -inf),
//! `__complex__` (real and imaginary part), `__bytes_hex__` (bytes that are not UTF-8, and invalid characters). Text
//! and dates become strings; records become objects.

use std::io;

use super::meaning::{Part, elements};
use super::names::distinct;
use super::{AnyArray, Cell, Endian, Meaning, Record, Scalar, Times, to_utf8, trimmed};

/// A number or bool.
pub fn scalar(number: Scalar, out: &mut Vec<u8>) {
    match number {
        Scalar::Bool(value) => out.extend(if value { &b"true"[..] } else { b"false" }),
        Scalar::Int(value) => out.extend(value.to_string().into_bytes()),
        Scalar::Big(value) => out.extend(value.to_string().into_bytes()),
        Scalar::Float(value, _) => float(value, out),
        Scalar::Complex(real, imaginary, _) => {
            out.extend(b"{\"__complex__\":[");
            float(real, out);
            out.push(b',');
            float(imaginary, out);
            out.extend(b"]}");
        }
    }
}

/// Writes the fewest digits that read back as this number.
pub fn float(value: f64, out: &mut Vec<u8>) {
    let name = match value {
        _ if value.is_nan() => "nan",
        f64::INFINITY => "inf",
        f64::NEG_INFINITY => "-inf",
        _ => return out.extend(format!("{value:?}").into_bytes()),
    };
    out.extend(format!("{{\"__float__\":\"{name}\"}}").into_bytes());
}

/// Writes bytes in hexadecimal.
pub fn hex(bytes: &[u8], out: &mut Vec<u8>) {
    out.extend(b"{\"__bytes_hex__\":\"");
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    out.extend(bytes.iter().flat_map(|b| [DIGITS[usize::from(b >> 4)], DIGITS[usize::from(b & 15)]]));
    out.extend(b"\"}");
}

/// An eight-byte date or time span. Spans are written as numbers.
pub fn time(times: Times, item: &[u8], out: &mut Vec<u8>) {
    match times.text(item) {
        Some(text) if times.is_number(&text) => out.extend(text.into_bytes()),
        Some(text) => string(&text, out),
        None => hex(item, out),
    }
}

pub fn string(text: &str, out: &mut Vec<u8>) {
    out.extend(serde_json::Value::from(text).to_string().into_bytes());
}

/// How to write non-numeric elements.
enum Of {
    Cell(Cell),
    Times(Times),
    Bytes,
    Fields(Vec<Field>),
    /// Nested lists of this shape.
    List(Vec<u64>, Box<Of>),
}

struct Field {
    /// The text before the value: a brace or comma, the name and a colon.
    key: Vec<u8>,
    part: Part,
    of: Of,
}

impl Of {
    fn record(record: Option<&Record>) -> Of {
        record.map_or(Of::Bytes, |record| Of::meaning(Meaning::of(record)))
    }

    fn meaning(meaning: Meaning) -> Of {
        match meaning {
            Meaning::Cell(cell) => Of::Cell(cell),
            Meaning::Times(times) => Of::Times(times),
            Meaning::Other(..) => Of::Bytes,
            Meaning::List(shape, of) => Of::List(shape, Of::meaning(*of).into()),
            Meaning::Fields(parts) => {
                let names = distinct(parts.iter().map(|part| part.name.as_str()));
                Of::Fields(parts.into_iter().zip(names).enumerate().map(Field::new).collect())
            }
        }
    }

    fn write(&self, item: &[u8], out: &mut Vec<u8>) {
        match self {
            Of::Cell(Cell::Number(dtype)) => match Scalar::from_bytes(item, *dtype) {
                Some(number) => scalar(number, out),
                None => hex(item, out),
            },
            Of::Cell(Cell::Text(_)) => text(trimmed(item), out),
            Of::Cell(Cell::Unicode(_, endian)) => unicode(item, *endian, out),
            Of::Times(times) => time(*times, item, out),
            Of::Cell(Cell::Void(_)) | Of::Bytes => hex(item, out),
            Of::Fields(fields) if fields.is_empty() => out.extend(b"{}"),
            Of::Fields(fields) => {
                for Field { key, part, of } in fields {
                    out.extend(key);
                    of.write(part.of_item(item), out);
                }
                out.push(b'}');
            }
            Of::List(shape, of) => list(shape, item, of, out),
        }
    }

    /// Bytes that names take in each element, at least.
    fn around(&self) -> u64 {
        match self {
            Of::Fields(fields) => fields.iter().fold(0, |sum: u64, field| sum.saturating_add(field.around())),
            Of::List(shape, of) => shape.iter().fold(of.around(), |all, size| all.saturating_mul(*size)),
            _ => 0,
        }
    }
}

impl Field {
    fn new((place, (part, name)): (usize, (Part, String))) -> Field {
        let mut key = vec![if place == 0 { b'{' } else { b',' }];
        string(&name, &mut key);
        key.push(b':');
        let of = Of::meaning(part.of.clone());
        Field { key, part, of }
    }

    fn around(&self) -> u64 {
        (self.key.len() as u64).saturating_add(self.of.around())
    }
}

fn list(shape: &[u64], item: &[u8], of: &Of, out: &mut Vec<u8>) {
    let Some((size, inner)) = shape.split_first() else { return of.write(item, out) };
    out.push(b'[');
    for (place, item) in elements(&[*size], item).enumerate() {
        if place > 0 {
            out.push(b',');
        }
        list(inner, item, of, out);
    }
    out.push(b']');
}

/// One non-numeric element; raw bytes if its meaning is unknown.
pub fn item(item: &[u8], meaning: Option<&Meaning>) -> Vec<u8> {
    let mut out = Vec::new();
    meaning.map_or(Of::Bytes, |meaning| Of::meaning(meaning.clone())).write(item, &mut out);
    out
}

/// UTF-8 as a string, anything else as bytes.
pub fn text(bytes: &[u8], out: &mut Vec<u8>) {
    match std::str::from_utf8(bytes) {
        Ok(text) => string(text, out),
        Err(_) => hex(bytes, out),
    }
}

/// UTF-32 as a string, or as bytes if a character is invalid.
pub fn unicode(item: &[u8], endian: Endian, out: &mut Vec<u8>) {
    let mut bytes = item.to_vec();
    match to_utf8(&mut bytes, endian) {
        Some(()) => text(trimmed(&bytes), out),
        None => hex(item, out),
    }
}

/// Maximum number of lists written for an array without elements.
pub const MAX_EMPTY: u64 = 1 << 24;

/// Writes an array as nested lists; its elements arrive in parts, in C order.
pub struct Lists {
    shape: Vec<u64>,
    /// Position of the next element.
    at: Vec<u64>,
    /// For non-numeric elements.
    of: Of,
}

impl Lists {
    /// `record` describes non-numeric elements, if they are known.
    pub fn new(shape: Vec<u64>, record: Option<&Record>) -> Lists {
        Lists { at: vec![0; shape.len()], shape, of: Of::record(record) }
    }

    /// Bytes that names take in each element, at least.
    pub fn around(&self) -> u64 {
        self.of.around()
    }

    /// Writes the next elements.
    pub fn add(&mut self, array: &AnyArray, to: &mut dyn io::Write) -> io::Result<()> {
        let mut text = Vec::new();
        let mut add = |write: &dyn Fn(&Of, &mut Vec<u8>)| {
            text.clear();
            self.open(&mut text);
            write(&self.of, &mut text);
            self.close(&mut text);
            to.write_all(&text)
        };
        match array {
            AnyArray::Opaque(opaque) => {
                opaque.items().try_for_each(|item| add(&|of, text| of.write(item, text)))
            }
            array => array.try_each(&mut |number| add(&|_, text| scalar(number, text))),
        }
    }

    /// Writes the brackets and comma before an element.
    fn open(&self, text: &mut Vec<u8>) {
        let begin = self.at.iter().rev().take_while(|at| **at == 0).count();
        if begin < self.at.len() {
            text.push(b',');
        }
        text.extend(std::iter::repeat_n(b'[', begin));
    }

    /// Writes the brackets after an element.
    fn close(&mut self, text: &mut Vec<u8>) {
        for (at, size) in self.at.iter_mut().zip(&self.shape).rev() {
            *at += 1;
            if *at < *size {
                break;
            }
            *at = 0;
            text.push(b']');
        }
    }

    /// True if an array without elements (with a 0 in its shape) would need more than [`MAX_EMPTY`] lists. A header can
    /// claim any number of them, as they take no bytes in the file.
    pub fn are_too_many(shape: &[u64]) -> bool {
        let outer = shape.iter().take_while(|size| **size > 0);
        outer.fold(1, |product: u64, size| product.saturating_mul(*size)) > MAX_EMPTY
    }

    /// Writes the lists of an array without elements.
    pub fn empty(shape: &[u64], to: &mut dyn io::Write) -> io::Result<()> {
        let Some((size, inner)) = shape.split_first() else { return Ok(()) };
        to.write_all(b"[")?;
        for at in 0..*size {
            if at > 0 {
                to.write_all(b",")?;
            }
            Lists::empty(inner, to)?;
        }
        to.write_all(b"]")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::array::Width;

    fn text(number: Scalar) -> String {
        let mut out = Vec::new();
        scalar(number, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn lists_are_the_same_in_whatever_parts_their_elements_come() {
        use crate::array::{Array, Dtype, Element, Order, Slab};
        let dtype = Dtype { element: Element::from_name("uint8").unwrap(), endian: crate::Endian::Little };
        let array = Array::new(dtype, [2, 1, 3], Order::C);
        let read = |slab: &Slab| {
            AnyArray::read(&array, slab, &mut |buf, at| {
                buf.iter_mut().zip(at as u8..).for_each(|(byte, value)| *byte = value);
                Ok(())
            })
            .unwrap()
        };
        let slab = Slab::parse("::-1, 0, :", &[2, 1, 3]).unwrap();
        for most in [1, 2, 3, 4, 100] {
            let (mut lists, mut out) = (Lists::new(slab.shape(), None), Vec::new());
            slab.blocks(most).for_each(|part| lists.add(&read(&part), &mut out).unwrap());
            assert_eq!(String::from_utf8(out).unwrap(), "[[3,4,5],[0,1,2]]", "{most}");
        }
        let mut out = Vec::new();
        Lists::empty(&[2, 0, 7], &mut out).unwrap();
        assert_eq!(out, b"[[],[]]");
        assert!(
            !Lists::are_too_many(&[1 << 12, 1 << 12, 0, u64::MAX]) && !Lists::are_too_many(&[0, 1 << 62])
        );
        assert!(Lists::are_too_many(&[1 << 62, 0]) && Lists::are_too_many(&[u64::MAX, u64::MAX, 0]));
    }

    #[test]
    fn texts_are_strings_and_what_is_none_is_bytes() {
        let written = |of: &str, item: &[u8]| {
            let record = Record::parse(of, crate::Endian::Little).unwrap();
            let mut out = Vec::new();
            Of::record(Some(&record)).write(item, &mut out);
            String::from_utf8(out).unwrap()
        };
        assert_eq!(written("S5", b"a\0\"\0\0"), r#""a\u0000\"""#);
        assert_eq!(written("S3", "\u{e9}\0".as_bytes()), "\"\u{e9}\"");
        assert_eq!(written("S4", b"a\xff\0\0"), r#"{"__bytes_hex__":"61ff"}"#);
        assert_eq!(written("<U2", &[0, 0xf6, 1, 0, 0, 0, 0, 0]), "\"\u{1f600}\"");
        assert_eq!(written(">U2", &[0, 0, 0, 65, 0, 0, 0, 66]), r#""AB""#);
        assert_eq!(written("<U1", &[0, 0xd8, 0, 0]), r#"{"__bytes_hex__":"00d80000"}"#);
    }

    #[test]
    fn records_are_objects() {
        let written = |text: &str, item: &[u8]| {
            let record = Record::foreign(text, item.len() as u64).unwrap();
            let mut out = Vec::new();
            Of::record(Some(&record)).write(item, &mut out);
            String::from_utf8(out).unwrap()
        };
        let named = Record::parse("S1,2<u2,", Endian::Little).unwrap();
        let mut out = Vec::new();
        Of::record(Some(&named)).write(b"a\x01\0\0\x01", &mut out);
        assert_eq!(out, br#"{"f0":"a","f1":[1,256]}"#);
        assert_eq!(
            written(
                "[('in', [('d', '<M8[D]'), ('', '|V1')]), ('\"', '|u1', (2, 2)), ('f', '>f2'), ('l', '<f10')]",
                b"\x01\0\0\0\0\0\0\0x\x01\x02\x03\x04\x7e\0\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a"
            ),
            r#"{"in":{"d":"1970-01-02"},"\"":[[1,2],[3,4]],"f":{"__float__":"nan"},"l":{"__bytes_hex__":"0102030405060708090a"}}"#
        );
        assert_eq!(
            written("[('a', '|b1'), ('a', '|V1')]", b"\x01\x02"),
            r#"{"a":true,"a~2":{"__bytes_hex__":"02"}}"#
        );
        assert_eq!(written("[('', '|V2')]", b"ab"), "{}");
        assert_eq!(written("[(('a title', 'b'), '|i1')]", b"\xff"), r#"{"b":-1}"#);
    }

    #[test]
    fn numbers_and_what_json_has_no_form_for() {
        assert_eq!(text(Scalar::Float(f64::from(0.1f32), Width::W32)), "0.10000000149011612");
        assert_eq!(text(Scalar::Float(1.0, Width::W64)), "1.0");
        assert_eq!(text(Scalar::Float(f64::NEG_INFINITY, Width::W64)), r#"{"__float__":"-inf"}"#);
        assert_eq!(
            text(Scalar::Complex(-0.0, f64::NAN, Width::W64)),
            r#"{"__complex__":[-0.0,{"__float__":"nan"}]}"#
        );
        assert_eq!(text(Scalar::Int(-5)), "-5");
    }
}
