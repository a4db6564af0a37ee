//! Eight-bit floating-point types, named as in ml_dtypes. Every value is exactly representable as a float32.
//!
//! | type | bits (sign, exponent, mantissa) | bias | infinity | NaN |
//! |---|---|---|---|---|
//! | `float8_e4m3fn` | 1, 4, 3 | 7 | none | `0x7f`, `0xff` |
//! | `float8_e5m2` | 1, 5, 2: the upper half of a float16 | 15 | yes | as IEEE 754 |
//! | `float8_e8m0fnu` | 0, 8, 0: a power of two | 127 | none | `0xff` |
//! | `float8_e4m3fnuz` | 1, 4, 3; no negative zero | 8 | none | `0x80` |
//! | `float8_e5m2fnuz` | 1, 5, 2; no negative zero | 16 | none | `0x80` |

use bytemuck::{Pod, Zeroable};
use half::f16;

use super::{Scalar, Width};

/// An eight-bit floating-point type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Float8 {
    E4m3fn,
    E5m2,
    E8m0fnu,
    E4m3fnuz,
    E5m2fnuz,
}

impl Float8 {
    pub fn name(self) -> &'static str {
        match self {
            Float8::E4m3fn => "float8_e4m3fn",
            Float8::E5m2 => "float8_e5m2",
            Float8::E8m0fnu => "float8_e8m0fnu",
            Float8::E4m3fnuz => "float8_e4m3fnuz",
            Float8::E5m2fnuz => "float8_e5m2fnuz",
        }
    }

    /// Decodes the bits.
    pub fn value(self, bits: u8) -> f32 {
        match (self, bits) {
            (Float8::E4m3fn, 0x7f | 0xff) | (Float8::E8m0fnu, 0xff) => f32::NAN,
            (Float8::E4m3fnuz | Float8::E5m2fnuz, 0x80) => f32::NAN,
            (Float8::E5m2, _) => f16::from_bits(u16::from(bits) << 8).to_f32(),
            (Float8::E8m0fnu, _) => power_of_two(i32::from(bits) - 127),
            (Float8::E4m3fn, _) => finite(bits, 3, 7),
            (Float8::E4m3fnuz, _) => finite(bits, 3, 8),
            (Float8::E5m2fnuz, _) => finite(bits, 2, 16),
        }
    }

    /// The nearest finite value; ties go to the even mantissa.
    pub fn nearest(self, value: f64) -> f64 {
        let distance = |bits: &u8| (f64::from(self.value(*bits)) - value).abs();
        let finite = (0..=u8::MAX).filter(|bits| self.value(*bits).is_finite());
        let nearest = finite.min_by(|a, b| distance(a).total_cmp(&distance(b)).then((a & 1).cmp(&(b & 1))));
        nearest.map_or(f64::NAN, |bits| self.value(bits).into())
    }
}

fn finite(bits: u8, mantissa_bits: i32, bias: i32) -> f32 {
    let exponent = i32::from(bits & 0x7f) >> mantissa_bits;
    let mantissa = i32::from(bits) & ((1 << mantissa_bits) - 1);
    let implicit = if exponent == 0 { 0 } else { 1 << mantissa_bits };
    let size = (mantissa | implicit) as f32 * power_of_two(exponent.max(1) - bias - mantissa_bits);
    if bits & 0x80 == 0 { size } else { -size }
}

/// `exponent` is from -127, whose power is subnormal, to 127.
fn power_of_two(exponent: i32) -> f32 {
    let bits = if exponent == -127 { 1 << 22 } else { ((exponent + 127) as u32) << 23 };
    f32::from_bits(bits)
}

/// An in-memory type with the bits of a [`Float8`].
pub trait Eight: Pod {
    const OF: Float8;
}

macro_rules! types {
    ($($type:ident)*) => { $(
        #[doc = concat!("An element of [`Float8::", stringify!($type), "`]: its bits.")]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
        #[repr(transparent)]
        pub struct $type(pub u8);

        impl Eight for $type {
            const OF: Float8 = Float8::$type;
        }

        impl $type {
            pub fn to_f32(self) -> f32 {
                Float8::$type.value(self.0)
            }
        }

        impl From<$type> for Scalar {
            fn from(value: $type) -> Scalar {
                Scalar::Float(value.to_f32().into(), Width::W8(Float8::$type))
            }
        }

        /// Succeeds only for values that the type represents exactly.
        impl TryFrom<Scalar> for $type {
            type Error = Scalar;

            fn try_from(value: Scalar) -> Result<$type, Scalar> {
                let Scalar::Float(number, _) = value else { return Err(value) };
                let is_it = |bits: &u8| f64::from(Float8::$type.value(*bits)).to_bits() == number.to_bits();
                (0..=u8::MAX).find(is_it).map($type).ok_or(value)
            }
        }
    )* };
}

types!(E4m3fn E5m2 E8m0fnu E4m3fnuz E5m2fnuz);

#[cfg(test)]
mod tests {
    use super::*;

    /// Values as in ml_dtypes.
    #[test]
    fn values_at_the_edges() {
        for (of, bits, value) in [
            (Float8::E4m3fn, 0x01, 2f32.powi(-9)),
            (Float8::E4m3fn, 0x08, 2f32.powi(-6)),
            (Float8::E4m3fn, 0x7e, 448.0),
            (Float8::E4m3fn, 0xb8, -1.0),
            (Float8::E5m2, 0x01, 2f32.powi(-16)),
            (Float8::E5m2, 0x7b, 57344.0),
            (Float8::E5m2, 0xfc, f32::NEG_INFINITY),
            (Float8::E8m0fnu, 0x00, 2f32.powi(-127)),
            (Float8::E8m0fnu, 0xfe, 2f32.powi(127)),
            (Float8::E4m3fnuz, 0x7f, 240.0),
            (Float8::E4m3fnuz, 0x01, 2f32.powi(-10)),
            (Float8::E5m2fnuz, 0x7f, 57344.0),
            (Float8::E5m2fnuz, 0x01, 2f32.powi(-17)),
        ] {
            assert_eq!(of.value(bits), value, "{of:?} {bits:#x}");
        }
        for (of, nans) in [
            (Float8::E4m3fn, &[0x7f, 0xff][..]),
            (Float8::E5m2, &[0x7d, 0x7e, 0x7f, 0xfd, 0xfe, 0xff]),
            (Float8::E8m0fnu, &[0xff]),
            (Float8::E4m3fnuz, &[0x80]),
            (Float8::E5m2fnuz, &[0x80]),
        ] {
            let found: Vec<u8> = (0..=u8::MAX).filter(|bits| of.value(*bits).is_nan()).collect();
            assert_eq!(found, nans, "{of:?}");
        }
        assert!(E4m3fn(0x80).to_f32().is_sign_negative());
    }

    #[test]
    fn the_nearest_value() {
        assert_eq!(Float8::E4m3fn.nearest(17.0), 16.0);
        assert_eq!(Float8::E4m3fn.nearest(19.0), 20.0);
        assert_eq!(Float8::E4m3fn.nearest(1e9), 448.0);
        assert_eq!(E4m3fn::try_from(Scalar::Float(448.0, Width::W64)), Ok(E4m3fn(0x7e)));
        assert!(E4m3fn::try_from(Scalar::Float(447.0, Width::W64)).is_err());
    }
}
