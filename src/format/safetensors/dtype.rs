//! Element types.

use crate::array::{Element, Float8, Kind};

#[derive(Debug, PartialEq)]
pub struct Type {
    /// Name in headers.
    pub name: &'static str,
    /// Name in numpy, or else in the package ml_dtypes.
    pub numpy: &'static str,
    pub bits: u64,
    /// None for elements smaller than a byte; these are served as packed bytes.
    pub element: Option<Element>,
}

impl Type {
    pub fn named(name: &str) -> Option<&'static Type> {
        TYPES.iter().find(|of| of.name == name)
    }

    pub fn of(element: Element) -> Option<&'static Type> {
        TYPES.iter().find(|of| of.element == Some(element))
    }

    /// How to interpret types that numpy lacks.
    pub fn note(&self) -> Option<String> {
        let Type { numpy, bits, .. } = self;
        match self.element {
            None => Some(format!(
                "its elements have {bits} bits, several to a byte, which arrays here cannot have: it is \
                 read as plain bytes, for ml_dtypes.{numpy}"
            )),
            Some(element) if element.name().is_none() => {
                Some(format!("numpy has no {numpy} by itself: np.memmap(...).view(ml_dtypes.{numpy})"))
            }
            Some(_) => None,
        }
    }
}

pub static U8: &Type = &TYPES[9];

static TYPES: [Type; 22] = [
    whole("F64", "float64", Kind::Float, 8),
    whole("F32", "float32", Kind::Float, 4),
    whole("F16", "float16", Kind::Float, 2),
    whole("BF16", "bfloat16", Kind::Bfloat, 2),
    whole("C64", "complex64", Kind::Complex, 8),
    whole("I64", "int64", Kind::Int, 8),
    whole("I32", "int32", Kind::Int, 4),
    whole("I16", "int16", Kind::Int, 2),
    whole("I8", "int8", Kind::Int, 1),
    whole("U8", "uint8", Kind::Uint, 1),
    whole("U16", "uint16", Kind::Uint, 2),
    whole("U32", "uint32", Kind::Uint, 4),
    whole("U64", "uint64", Kind::Uint, 8),
    whole("BOOL", "bool", Kind::Bool, 1),
    whole("F8_E4M3", "float8_e4m3fn", Kind::Float8(Float8::E4m3fn), 1),
    whole("F8_E5M2", "float8_e5m2", Kind::Float8(Float8::E5m2), 1),
    whole("F8_E8M0", "float8_e8m0fnu", Kind::Float8(Float8::E8m0fnu), 1),
    whole("F8_E4M3FNUZ", "float8_e4m3fnuz", Kind::Float8(Float8::E4m3fnuz), 1),
    whole("F8_E5M2FNUZ", "float8_e5m2fnuz", Kind::Float8(Float8::E5m2fnuz), 1),
    packed("F6_E2M3", "float6_e2m3fn", 6),
    packed("F6_E3M2", "float6_e3m2fn", 6),
    packed("F4", "float4_e2m1fn", 4),
];

const fn whole(name: &'static str, numpy: &'static str, kind: Kind, size: u32) -> Type {
    Type { name, numpy, bits: 8 * size as u64, element: Some(Element { kind, size }) }
}

const fn packed(name: &'static str, numpy: &'static str, bits: u64) -> Type {
    Type { name, numpy, bits, element: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_found_by_name_and_by_element() {
        for of in &TYPES {
            assert_eq!(Type::named(of.name), Some(of));
            if let Some(element) = of.element {
                assert_eq!(Type::of(element), Some(of));
                assert_eq!(of.bits, 8 * u64::from(element.size));
                assert!(element.name().is_none_or(|name| name == of.numpy), "{}", of.name);
            }
        }
        assert_eq!((U8.name, Type::named("F33")), ("U8", None));
    }
}
