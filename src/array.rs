//! Array descriptions: element type, byte order, shape and layout (the bytes themselves are a
//! [`crate::content::Content`]). Also reads parts of arrays, selected by numpy's basic indexing, into memory.

mod any;
pub(crate) mod blocks;
mod cells;
mod columns;
mod float8;
mod index;
pub mod json;
pub(crate) mod meaning;
pub mod names;
pub mod npy;
pub mod numpy;
mod opaque;
mod record;
mod scalar;
mod slab;
pub mod text;
pub(crate) mod times;

use std::fmt;
use std::sync::Arc;

pub use any::AnyArray;
pub(crate) use any::to_native;
pub(crate) use cells::{to_utf8, trimmed};
pub(crate) use columns::select;
pub use float8::{E4m3fn, E4m3fnuz, E5m2, E5m2fnuz, E8m0fnu, Float8};
pub(crate) use index::Span;
pub use index::{Slab, Term, indexed, is_index, quoted, terms};
pub(crate) use meaning::Meaning;
pub use opaque::Opaque;
pub use record::{Cell, Field, Record};
pub use scalar::{Scalar, Width};
pub(crate) use scalar::{float, int, narrow};
#[cfg(test)]
pub use slab::tests::axis;
pub(crate) use slab::{fill, run};
pub(crate) use times::Times;

/// The kind of an array's elements. numpy has all but the last three; it treats those, and numbers of sizes it lacks,
/// as raw bytes (`|V2`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Bool,
    Int,
    Uint,
    Float,
    Complex,
    /// The upper half of a float32.
    Bfloat,
    Float8(Float8),
    /// Bytes of unknown meaning, or described by the array's [`Record`].
    Opaque,
}

impl Kind {
    /// True for real floating-point numbers of any width.
    pub fn is_float(self) -> bool {
        matches!(self, Kind::Float | Kind::Bfloat | Kind::Float8(_))
    }
}

/// An element type: kind and size in bytes. A complex128 is [`Kind::Complex`] with a size of 16.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Element {
    pub kind: Kind,
    pub size: u32,
}

impl Element {
    /// The type with this numpy name (`float32`, `bool`, ...); `None` for names that no supported container uses.
    pub fn from_name(name: &str) -> Option<Element> {
        let (kind, size) = match name {
            "bool" => (Kind::Bool, 1),
            "int8" => (Kind::Int, 1),
            "int16" => (Kind::Int, 2),
            "int32" => (Kind::Int, 4),
            "int64" => (Kind::Int, 8),
            "uint8" => (Kind::Uint, 1),
            "uint16" => (Kind::Uint, 2),
            "uint32" => (Kind::Uint, 4),
            "uint64" => (Kind::Uint, 8),
            "float16" => (Kind::Float, 2),
            "float32" => (Kind::Float, 4),
            "float64" => (Kind::Float, 8),
            "complex64" => (Kind::Complex, 8),
            "complex128" => (Kind::Complex, 16),
            _ => return None,
        };
        Some(Element { kind, size })
    }

    /// The first type that holds all integers from `least` to `most`, tried in the order of RAB's Python writer.
    pub fn narrowest(least: i128, most: i128) -> Option<Element> {
        let types = [
            (Kind::Uint, 1),
            (Kind::Int, 1),
            (Kind::Uint, 2),
            (Kind::Int, 2),
            (Kind::Uint, 4),
            (Kind::Int, 4),
            (Kind::Uint, 8),
            (Kind::Int, 8),
        ];
        let fits = |(kind, size): &(Kind, u32)| {
            let bits = 8 * size;
            match kind {
                Kind::Int => -(1i128 << (bits - 1)) <= least && most < 1i128 << (bits - 1),
                _ => 0 <= least && most < 1i128 << bits,
            }
        };
        types.into_iter().find(fits).map(|(kind, size)| Element { kind, size })
    }

    /// Number of bytes that are reversed together when the byte order changes; a complex number is two such units.
    pub fn swapped(self) -> u32 {
        match self.kind {
            Kind::Complex => self.size / 2,
            Kind::Opaque => 1,
            _ => self.size,
        }
    }

    /// The inverse of [`Element::from_name`].
    pub fn name(self) -> Option<&'static str> {
        Some(match (self.kind, self.size) {
            (Kind::Bool, 1) => "bool",
            (Kind::Int, 1) => "int8",
            (Kind::Int, 2) => "int16",
            (Kind::Int, 4) => "int32",
            (Kind::Int, 8) => "int64",
            (Kind::Uint, 1) => "uint8",
            (Kind::Uint, 2) => "uint16",
            (Kind::Uint, 4) => "uint32",
            (Kind::Uint, 8) => "uint64",
            (Kind::Float, 2) => "float16",
            (Kind::Float, 4) => "float32",
            (Kind::Float, 8) => "float64",
            (Kind::Complex, 8) => "complex64",
            (Kind::Complex, 16) => "complex128",
            _ => return None,
        })
    }

    /// The name in the Python package ml_dtypes, for types that numpy lacks.
    pub fn ml_name(self) -> Option<&'static str> {
        match self.kind {
            Kind::Bfloat => Some("bfloat16"),
            Kind::Float8(of) => Some(of.name()),
            _ => None,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Endian {
    Little,
    Big,
}

impl Endian {
    /// The machine's byte order.
    pub const NATIVE: Endian = if cfg!(target_endian = "big") { Endian::Big } else { Endian::Little };
}

/// Layout of the elements: `C` has the last index running fastest, `F` the first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    C,
    F,
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if *self == Order::C { "C" } else { "F" })
    }
}

/// An element type with its byte order. Displays as numpy's type string: `<i2`, `>f8`, `|b1`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Dtype {
    pub element: Element,
    pub endian: Endian,
}

impl fmt::Display for Dtype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Element { kind, size } = self.element;
        let order = match (size, self.endian) {
            (1, _) => '|',
            (_, Endian::Little) => '<',
            (_, Endian::Big) => '>',
        };
        let kind = match kind {
            _ if self.element.name().is_none() => return write!(f, "|V{size}"),
            Kind::Bool => 'b',
            Kind::Int => 'i',
            Kind::Uint => 'u',
            Kind::Float => 'f',
            Kind::Complex => 'c',
            Kind::Bfloat | Kind::Float8(_) | Kind::Opaque => 'V',
        };
        write!(f, "{order}{kind}{size}")
    }
}

/// An N-dimensional array; `shape` has the sizes in index order, empty for a scalar.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Array {
    pub dtype: Dtype,
    pub shape: Box<[u64]>,
    pub order: Order,
    /// The fields of opaque elements, if known.
    pub record: Option<Arc<Record>>,
}

impl Array {
    /// An array of numbers, or of opaque elements without known fields.
    pub fn new(dtype: Dtype, shape: impl Into<Box<[u64]>>, order: Order) -> Array {
        Array { dtype, shape: shape.into(), order, record: None }
    }

    /// The type as a numpy dtype string: `<f8`, `|V16`, `S12,<u4`.
    pub fn numpy_type(&self) -> String {
        self.record.as_ref().map_or_else(|| self.dtype.to_string(), |record| record.to_string())
    }

    /// The value of `descr` in a .npy header: `'<f8'`, or a list of fields.
    pub fn descr(&self) -> String {
        self.record.as_ref().map_or_else(|| format!("'{}'", self.dtype), |record| record.descr())
    }

    /// A note for the user if a .npy file does not preserve the element type.
    pub fn lost_in_npy(&self) -> Option<String> {
        let name = self.dtype.element.ml_name()?;
        Some(format!(
            "its type {name} is not kept: numpy has {}, as .view(ml_dtypes.{name}) reads it",
            self.dtype
        ))
    }
}

/// numpy's limit. RawArray headers with more axes can still be read: their length grows with the number of axes.
pub const MAX_AXES: usize = 64;

/// Refuses shapes with more than [`MAX_AXES`] axes.
pub fn check_axes(count: usize) -> Result<(), String> {
    match count > MAX_AXES {
        true => Err(format!("it has {count} axes, and the limit is {MAX_AXES}")),
        false => Ok(()),
    }
}

/// The size of an array of this shape in bytes; `None` if it does not fit into 64 bits.
pub fn byte_len(element: Element, shape: &[u64]) -> Option<u64> {
    if shape.contains(&0) {
        return Some(0);
    }
    shape.iter().try_fold(u64::from(element.size), |product, size| product.checked_mul(*size))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dtypes_are_written_as_numpy_does() {
        let dtype = |name, endian| Dtype { element: Element::from_name(name).unwrap(), endian }.to_string();
        assert_eq!(dtype("int16", Endian::Little), "<i2");
        assert_eq!(dtype("complex128", Endian::Big), ">c16");
        assert_eq!(dtype("bool", Endian::Big), "|b1");
        let other = |kind, size| Dtype { element: Element { kind, size }, endian: Endian::Big }.to_string();
        assert_eq!(
            other(Kind::Int, 16) + &other(Kind::Bfloat, 2) + &other(Kind::Opaque, 300),
            "|V16|V2|V300"
        );
        assert_eq!(other(Kind::Complex, 4), "|V4");
        assert_eq!(Element::from_name("float128"), None);
        for name in ["bool", "int8", "uint16", "int32", "uint64", "float16", "complex64", "complex128"] {
            assert_eq!(Element::from_name(name).unwrap().name(), Some(name));
        }
    }

    #[test]
    fn lengths_are_checked() {
        let element = Element::from_name("float64").unwrap();
        assert_eq!(byte_len(element, &[]), Some(8));
        assert_eq!(byte_len(element, &[3, 4]), Some(96));
        assert_eq!(byte_len(element, &[u64::MAX, 0]), Some(0));
        assert_eq!(byte_len(element, &[u64::MAX, 2]), None);
    }
}
