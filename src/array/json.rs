//! Elements as JSON. What JSON has no form for is an object with one key that says what it is: `__float__` (nan, inf,
//! -inf), `__complex__` (real and imaginary part), `__bytes_hex__`.

use std::io;

use super::{AnyArray, Scalar};

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

/// All of an array, in lists inside each other.
pub fn write(array: &AnyArray, to: &mut dyn io::Write) -> io::Result<()> {
    let mut cells: Vec<Vec<u8>> = Vec::new();
    let mut add = |write: &mut dyn FnMut(&mut Vec<u8>)| {
        let mut cell = Vec::new();
        write(&mut cell);
        cells.push(cell);
    };
    match array {
        AnyArray::Opaque(opaque) => opaque.items().for_each(|item| add(&mut |cell| hex(item, cell))),
        array => array.scalars().into_iter().for_each(|number| add(&mut |cell| scalar(number, cell))),
    }
    nested(array.shape(), &mut cells.iter(), to)
}

fn nested<'c>(
    shape: &[usize],
    cells: &mut impl Iterator<Item = &'c Vec<u8>>,
    to: &mut dyn io::Write,
) -> io::Result<()> {
    let Some((size, inner)) = shape.split_first() else {
        return cells.next().map_or(Ok(()), |cell| to.write_all(cell));
    };
    to.write_all(b"[")?;
    for at in 0..*size {
        if at > 0 {
            to.write_all(b",")?;
        }
        nested(inner, cells, to)?;
    }
    to.write_all(b"]")
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
