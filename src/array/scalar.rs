//! A single numeric element, for callers that do not depend on its type.

use half::{bf16, f16};
use num_complex::Complex;

use super::{Dtype, Element, Endian, Float8, Kind};

/// A numeric element. Floating-point numbers are widened without loss; the width says how many of their digits are
/// significant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scalar {
    Bool(bool),
    Int(i128),
    /// An integer too large for [`Scalar::Int`].
    Big(u128),
    Float(f64, Width),
    Complex(f64, f64, Width),
}

impl Scalar {
    /// Decodes an element; `item` must have the size of its type. None if the type is opaque.
    pub(crate) fn from_bytes(item: &[u8], dtype: Dtype) -> Option<Scalar> {
        let Dtype { element: Element { kind, size }, endian } = dtype;
        let width = |bytes| match bytes {
            2 => Width::W16,
            4 => Width::W32,
            _ => Width::W64,
        };
        Some(match kind {
            Kind::Bool => Scalar::Bool(item.iter().any(|byte| *byte != 0)),
            Kind::Uint if size == 16 => u128::from_le_bytes(little(item, endian)).into(),
            Kind::Int | Kind::Uint => Scalar::Int(int(item, dtype)),
            Kind::Bfloat => Scalar::Float(narrow(item, dtype).into(), Width::Bfloat),
            Kind::Float8(of) => Scalar::Float(narrow(item, dtype).into(), Width::W8(of)),
            Kind::Opaque => return None,
            Kind::Float => Scalar::Float(float(item, endian), width(size)),
            Kind::Complex => {
                let (real, imaginary) = item.split_at(item.len() / 2);
                Scalar::Complex(float(real, endian), float(imaginary, endian), width(size / 2))
            }
        })
    }

    /// The real and the imaginary part, rounded to f64.
    pub(crate) fn parts(self) -> (f64, f64) {
        match self {
            Scalar::Bool(yes) => (f64::from(u8::from(yes)), 0.0),
            Scalar::Int(whole) => (whole as f64, 0.0),
            Scalar::Big(whole) => (whole as f64, 0.0),
            Scalar::Float(number, _) => (number, 0.0),
            Scalar::Complex(real, imaginary, _) => (real, imaginary),
        }
    }
}

/// The width of a floating-point number, or of each part of a complex number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    W8(Float8),
    /// 16 bits with the exponent range of 32.
    Bfloat,
    W16,
    W32,
    W64,
}

impl From<bool> for Scalar {
    fn from(value: bool) -> Scalar {
        Scalar::Bool(value)
    }
}

macro_rules! ints {
    ($($type:ty)*) => { $(
        impl From<$type> for Scalar {
            fn from(value: $type) -> Scalar {
                Scalar::Int(value.into())
            }
        }

        impl TryFrom<Scalar> for $type {
            type Error = Scalar;

            fn try_from(value: Scalar) -> Result<$type, Scalar> {
                match value {
                    Scalar::Int(whole) => whole.try_into().map_err(|_| value),
                    Scalar::Bool(yes) => Ok(yes.into()),
                    _ => Err(value),
                }
            }
        }
    )* };
}

macro_rules! floats {
    ($($type:ty: $from:expr,)*) => { $(impl TryFrom<Scalar> for $type {
        type Error = Scalar;

        fn try_from(value: Scalar) -> Result<$type, Scalar> {
            match value {
                Scalar::Float(number, _) => Ok($from(number)),
                Scalar::Int(whole) => Ok($from(whole as f64)),
                _ => Err(value),
            }
        }
    })* };
}

macro_rules! complexes {
    ($($part:ty: $from:expr,)*) => { $(impl TryFrom<Scalar> for Complex<$part> {
        type Error = Scalar;

        fn try_from(value: Scalar) -> Result<Complex<$part>, Scalar> {
            match value {
                Scalar::Complex(real, imaginary, _) => Ok(Complex::new($from(real), $from(imaginary))),
                _ => Err(value),
            }
        }
    })* };
}

floats! {
    bf16: bf16::from_f64,
    f16: f16::from_f64,
    f32: |number| number as f32,
    f64: |number| number,
}

complexes! {
    f16: f16::from_f64,
    f32: |number| number as f32,
    f64: |number| number,
}

impl TryFrom<Scalar> for bool {
    type Error = Scalar;

    fn try_from(value: Scalar) -> Result<bool, Scalar> {
        match value {
            Scalar::Bool(yes) => Ok(yes),
            Scalar::Int(whole) => Ok(whole != 0),
            _ => Err(value),
        }
    }
}

ints!(i8 i16 i32 i64 i128 u8 u16 u32 u64);

impl From<u128> for Scalar {
    fn from(value: u128) -> Scalar {
        i128::try_from(value).map_or(Scalar::Big(value), Scalar::Int)
    }
}

impl TryFrom<Scalar> for u128 {
    type Error = Scalar;

    fn try_from(value: Scalar) -> Result<u128, Scalar> {
        match value {
            Scalar::Big(whole) => Ok(whole),
            Scalar::Int(whole) => whole.try_into().map_err(|_| value),
            Scalar::Bool(yes) => Ok(yes.into()),
            _ => Err(value),
        }
    }
}

impl From<bf16> for Scalar {
    fn from(value: bf16) -> Scalar {
        Scalar::Float(value.to_f64(), Width::Bfloat)
    }
}

impl From<Complex<f16>> for Scalar {
    fn from(value: Complex<f16>) -> Scalar {
        Scalar::Complex(value.re.to_f64(), value.im.to_f64(), Width::W16)
    }
}

impl From<f16> for Scalar {
    fn from(value: f16) -> Scalar {
        Scalar::Float(value.to_f64(), Width::W16)
    }
}

impl From<f32> for Scalar {
    fn from(value: f32) -> Scalar {
        Scalar::Float(value.into(), Width::W32)
    }
}

impl From<f64> for Scalar {
    fn from(value: f64) -> Scalar {
        Scalar::Float(value, Width::W64)
    }
}

impl From<Complex<f32>> for Scalar {
    fn from(value: Complex<f32>) -> Scalar {
        Scalar::Complex(value.re.into(), value.im.into(), Width::W32)
    }
}

impl From<Complex<f64>> for Scalar {
    fn from(value: Complex<f64>) -> Scalar {
        Scalar::Complex(value.re, value.im, Width::W64)
    }
}

/// The bytes of one value in little-endian order, padded with zeros.
fn little<const N: usize>(item: &[u8], endian: Endian) -> [u8; N] {
    let mut bytes = [0; N];
    match endian {
        Endian::Little => bytes.iter_mut().zip(item).for_each(|(to, from)| *to = *from),
        Endian::Big => bytes.iter_mut().zip(item.iter().rev()).for_each(|(to, from)| *to = *from),
    }
    bytes
}

/// Decodes an integer of any type but the 16-byte unsigned one.
pub(crate) fn int(item: &[u8], dtype: Dtype) -> i128 {
    if dtype.element.size == 16 {
        return i128::from_le_bytes(little(item, dtype.endian));
    }
    let bits = u64::from_le_bytes(little(item, dtype.endian));
    if dtype.element.kind == Kind::Uint {
        return bits.into();
    }
    let unused = 64 - 8 * dtype.element.size.clamp(1, 8);
    (((bits << unused) as i64) >> unused).into()
}

/// Decodes a floating-point number of a type that numpy lacks.
pub(crate) fn narrow(item: &[u8], dtype: Dtype) -> f32 {
    match dtype.element.kind {
        Kind::Float8(of) => item.first().map_or(0.0, |bits| of.value(*bits)),
        _ => bf16::from_le_bytes(little(item, dtype.endian)).to_f32(),
    }
}

/// Decodes a floating-point number.
pub(crate) fn float(item: &[u8], endian: Endian) -> f64 {
    match item.len() {
        2 => f16::from_le_bytes(little(item, endian)).to_f64(),
        4 => f32::from_le_bytes(little(item, endian)).into(),
        _ => f64::from_le_bytes(little(item, endian)),
    }
}
