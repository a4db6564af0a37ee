//! Elements as JSON. What JSON has no form for is an object with one key that says what it is: `__float__` (nan, inf,
//! -inf), `__complex__` (real and imaginary part), `__bytes_hex__`. Texts and dates are texts; bytes that are no UTF-8,
//! and characters that are none, are `__bytes_hex__`.

use std::io;

use super::{AnyArray, Cell, Record, Scalar, Times, to_utf8, trimmed};

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

/// With the fewest digits that mean this number.
pub fn float(value: f64, out: &mut Vec<u8>) {
    let name = match value {
        _ if value.is_nan() => "nan",
        f64::INFINITY => "inf",
        f64::NEG_INFINITY => "-inf",
        _ => return out.extend(format!("{value:?}").into_bytes()),
    };
    out.extend(format!("{{\"__float__\":\"{name}\"}}").into_bytes());
}

/// Bytes in hexadecimal digits.
pub fn hex(bytes: &[u8], out: &mut Vec<u8>) {
    out.extend(b"{\"__bytes_hex__\":\"");
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    out.extend(bytes.iter().flat_map(|b| [DIGITS[usize::from(b >> 4)], DIGITS[usize::from(b & 15)]]));
    out.extend(b"\"}");
}

/// A date or span of time, of eight bytes. Spans are numbers.
pub fn time(times: Times, item: &[u8], out: &mut Vec<u8>) {
    match times.text(item) {
        Some(text) if times.is_number(&text) => out.extend(text.into_bytes()),
        Some(text) => string(&text, out),
        None => hex(item, out),
    }
}

fn string(text: &str, out: &mut Vec<u8>) {
    out.extend(serde_json::Value::from(text).to_string().into_bytes());
}

/// What elements are that are no numbers.
#[derive(Clone, Copy)]
enum Of {
    Times(Times),
    Text(Cell),
    Bytes,
}

impl Of {
    fn record(record: Option<&Record>) -> Of {
        let times = || record.and_then(Times::of).map(Of::Times);
        match record.and_then(Record::cell) {
            Some(cell @ (Cell::Text(_) | Cell::Unicode(..))) => Of::Text(cell),
            _ => times().unwrap_or(Of::Bytes),
        }
    }

    fn write(self, item: &[u8], out: &mut Vec<u8>) {
        match self {
            Of::Times(times) => time(times, item, out),
            Of::Text(cell) => {
                let mut bytes = item.to_vec();
                let is_text = match cell {
                    Cell::Unicode(_, endian) => to_utf8(&mut bytes, endian).is_some(),
                    _ => true,
                };
                match std::str::from_utf8(trimmed(&bytes)).ok().filter(|_| is_text) {
                    Some(text) => string(text, out),
                    None if is_text => hex(trimmed(item), out),
                    None => hex(item, out),
                }
            }
            Of::Bytes => hex(item, out),
        }
    }
}

/// Lists without an element at most.
pub const MOST_EMPTY: u64 = 1 << 24;

/// An array in lists inside each other, whose elements come in parts, the last axis fastest.
pub struct Lists {
    shape: Vec<u64>,
    /// Where the next element is.
    at: Vec<u64>,
}

impl Lists {
    pub fn new(shape: Vec<u64>) -> Lists {
        Lists { at: vec![0; shape.len()], shape }
    }

    /// The next elements.
    pub fn add(&mut self, array: &AnyArray, to: &mut dyn io::Write) -> io::Result<()> {
        let mut text = Vec::new();
        let mut add = |write: &dyn Fn(&mut Vec<u8>)| {
            text.clear();
            self.open(&mut text);
            write(&mut text);
            self.close(&mut text);
            to.write_all(&text)
        };
        match array {
            AnyArray::Opaque(opaque) => {
                let of = Of::record(opaque.record());
                opaque.items().try_for_each(|item| add(&|text| of.write(item, text)))
            }
            array => array.try_each(&mut |number| add(&|text| scalar(number, text))),
        }
    }

    /// What is before an element.
    fn open(&self, text: &mut Vec<u8>) {
        let begin = self.at.iter().rev().take_while(|at| **at == 0).count();
        if begin < self.at.len() {
            text.push(b',');
        }
        text.extend(std::iter::repeat_n(b'[', begin));
    }

    /// What is behind it.
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

    /// Has an array without elements, whose shape has a 0, more lists than are written? A claim that no byte stands behind.
    pub fn are_too_many(shape: &[u64]) -> bool {
        let outer = shape.iter().take_while(|size| **size > 0);
        outer.fold(1, |product: u64, size| product.saturating_mul(*size)) > MOST_EMPTY
    }

    /// The lists of an array without elements.
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
            let (mut lists, mut out) = (Lists::new(slab.shape()), Vec::new());
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
        assert_eq!(written("S1,", b"a"), r#"{"__bytes_hex__":"61"}"#);
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
