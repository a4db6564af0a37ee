//! Encodes values in a signal's unit like Onda.jl: `(x - offset) / resolution`; for integer types rounded half to even
//! and clamped to the type's range, with NaN as its maximum.

use std::io::{self, Read, Write};

use super::super::views::computed::Scale;
use crate::array::{Dtype, Element, Endian, Kind};

/// True if samples can be encoded from this type.
pub fn is_number(element: Element) -> bool {
    match element.kind {
        Kind::Int | Kind::Uint => matches!(element.size, 1 | 2 | 4 | 8),
        Kind::Float => matches!(element.size, 2 | 4 | 8),
        _ => false,
    }
}

/// Copies and encodes values. With the identity scale they are only clamped to the range of the new type.
pub fn copy(
    mut from: impl Read,
    dtype: Dtype,
    to: &mut dyn Write,
    element: Element,
    scale: Scale,
) -> io::Result<()> {
    let size = dtype.element.size as usize;
    let (mut values, mut encoded) = (Vec::new(), Vec::new());
    loop {
        values.clear();
        encoded.clear();
        let count = from.by_ref().take((size << 13) as u64).read_to_end(&mut values)?;
        if count == 0 {
            return Ok(());
        }
        if dtype.endian == Endian::Big {
            values.chunks_exact_mut(size).for_each(<[u8]>::reverse);
        }
        if dtype.element == element && scale.is_identity() {
            to.write_all(&values)?;
            continue;
        }
        for value in values.chunks_exact(size) {
            encode(value, dtype.element, element, scale, &mut encoded);
        }
        to.write_all(&encoded)?;
    }
}

enum Value {
    Int(i128),
    Float(f64),
}

/// Encodes one little-endian value.
fn encode(bytes: &[u8], from: Element, to: Element, scale: Scale, out: &mut Vec<u8>) {
    let value = match (value(bytes, from), scale.is_identity()) {
        (value, true) => value,
        (Value::Int(int), false) => Value::Float((int as f64 - scale.offset) / scale.resolution),
        (Value::Float(float), false) => Value::Float((float - scale.offset) / scale.resolution),
    };
    match (to.kind, to.size) {
        (Kind::Float, 4) => out.extend(float(&value, |int| int as f32, |float| float as f32).to_le_bytes()),
        (Kind::Float, _) => out.extend(float(&value, |int| int as f64, |float| float).to_le_bytes()),
        (kind, size) => {
            let is_signed = kind == Kind::Int;
            let bits = 8 * size;
            let (min, max) = match is_signed {
                true => (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1),
                false => (0, (1i128 << bits) - 1),
            };
            let int = match value {
                Value::Int(int) => int,
                Value::Float(float) if float.is_nan() => max,
                // The cast saturates; i128 covers every type's range.
                Value::Float(float) => float.round_ties_even() as i128,
            };
            let bytes = int.clamp(min, max).to_le_bytes();
            out.extend(bytes.get(..size as usize).unwrap_or_default());
        }
    }
}

fn float<T>(value: &Value, of_int: impl Fn(i128) -> T, of_float: impl Fn(f64) -> T) -> T {
    match value {
        Value::Int(int) => of_int(*int),
        Value::Float(float) => of_float(*float),
    }
}

fn value(bytes: &[u8], element: Element) -> Value {
    let mut wide = [0; 16];
    for (to, from) in wide.iter_mut().zip(bytes) {
        *to = *from;
    }
    let bits = u128::from_le_bytes(wide);
    match (element.kind, element.size) {
        (Kind::Float, 2) => Value::Float(half::f16::from_bits(bits as u16).to_f64()),
        (Kind::Float, 4) => Value::Float(f32::from_bits(bits as u32).into()),
        (Kind::Float, _) => Value::Float(f64::from_bits(bits as u64)),
        (Kind::Int, size) => {
            let unused = 128 - 8 * size;
            Value::Int(((bits << unused) as i128) >> unused)
        }
        _ => Value::Int(bits as i128),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoded(values: &[f64], to: &str, resolution: f64, offset: f64) -> Vec<u8> {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_be_bytes()).collect();
        let element = Element::from_name("float64").unwrap();
        let (mut out, dtype) = (Vec::new(), Dtype { element, endian: Endian::Big });
        let to = Element::from_name(to).unwrap();
        copy(bytes.as_slice(), dtype, &mut out, to, Scale { resolution, offset }).unwrap();
        out
    }

    #[test]
    fn rounds_half_to_even_saturates_and_maps_nan_to_the_maximum() {
        let values = [0.5, 1.5, 2.5, -0.5, 1e9, -1e9, f64::NAN, f64::INFINITY, f64::NEG_INFINITY];
        let int8: Vec<i8> = encoded(&values, "int8", 1.0, 0.0).iter().map(|byte| *byte as i8).collect();
        assert_eq!(int8, [0, 2, 2, 0, 127, -128, 127, 127, -128]);
        assert_eq!(encoded(&values, "uint8", 1.0, 0.0), [0, 2, 2, 0, 255, 0, 255, 255, 0]);
        assert_eq!(encoded(&[f64::NAN, 1e30], "int64", 1.0, 0.0), [i64::MAX.to_le_bytes(); 2].concat());
        assert_eq!(encoded(&[1e30, -1.0], "uint64", 0.5, 0.0), [[255; 8], [0; 8]].concat());
        assert_eq!(encoded(&[3.6 - 0.25 * 100.0], "int16", 0.25, 3.6), (-100i16).to_le_bytes());
        assert_eq!(encoded(&[1e300], "float32", 1.0, 0.0), f32::INFINITY.to_le_bytes());
        assert_eq!(encoded(&[0.3], "float32", 0.1, 0.0), ((0.3 / 0.1) as f32).to_le_bytes());
    }

    #[test]
    fn integers_stay_exact() {
        let from = Dtype { element: Element::from_name("int64").unwrap(), endian: Endian::Little };
        let identity = Scale { resolution: 1.0, offset: 0.0 };
        for (to, expected) in [("uint64", (1u64 << 62) + 1), ("int64", (1 << 62) + 1), ("int32", 0x7fff_ffff)]
        {
            let (mut out, to) = (Vec::new(), Element::from_name(to).unwrap());
            let bytes = ((1i64 << 62) + 1).to_le_bytes();
            copy(bytes.as_slice(), from, &mut out, to, identity).unwrap();
            assert_eq!(out, expected.to_le_bytes()[..to.size as usize]);
        }
    }
}
