//! One element of an array, for who does not care which of the many types it has.

use half::{bf16, f16};
use num_complex::Complex;

/// An element. Floating-point numbers are widened without loss; the width says how many of their digits mean
/// something.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scalar {
    Bool(bool),
    Int(i128),
    /// A whole number that [`Scalar::Int`] has no room for.
    Big(u128),
    Float(f64, Width),
    Complex(f64, f64, Width),
}

/// The bits of a floating-point number, or of the part of a complex one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// 16 with the exponent of 32.
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
