//! An array in memory with any element type. It keeps the container's layout (C or F order) and has the machine's byte
//! order.

use std::io;

use bytemuck::Zeroable;
use half::{bf16, f16};
use ndarray::{ArrayD, Axis, IxDyn, ShapeBuilder, concatenate};
use num_complex::Complex;

use super::float8::{E4m3fn, E4m3fnuz, E5m2, E5m2fnuz, E8m0fnu};
use super::slab::{self, Read};
use super::{Array, Dtype, Element, Endian, Float8, Kind, Opaque, Order, Scalar, Slab};
use crate::{Error, Result};

macro_rules! any_array {
    ($($variant:ident($type:ty) $kind:pat, $size:literal;)*) => {
        /// An [`ndarray`] array with any element type that a container can have.
        #[derive(Clone, Debug, PartialEq)]
        pub enum AnyArray {
            Bool(ArrayD<bool>),
            $($variant(ArrayD<$type>),)*
            /// Non-numeric elements.
            Opaque(Opaque),
        }

        /// Evaluates one expression for a typed array, whatever its type, and another for opaque elements.
        macro_rules! with_array {
            ($any:expr, $inside:ident => $result:expr, $opaque:ident => $other:expr) => {
                match $any {
                    AnyArray::Bool($inside) => $result,
                    $(AnyArray::$variant($inside) => $result,)*
                    AnyArray::Opaque($opaque) => $other,
                }
            };
        }

        impl AnyArray {
            /// Reads a part of an array.
            pub(crate) fn read(array: &Array, slab: &Slab, read: Read<'_>) -> Result<AnyArray> {
                let Element { kind, size } = array.dtype.element;
                match (kind, size) {
                    $(($kind, $size) => part(array, slab, read).map(AnyArray::$variant),)*
                    (Kind::Bool, 1) => {
                        part::<u8>(array, slab, read).map(|bytes| AnyArray::Bool(bytes.mapv(|byte| byte != 0)))
                    }
                    _ => Opaque::read(array, slab, read).map(AnyArray::Opaque),
                }
            }

            /// A one-dimensional array; None if the type cannot represent one of the values.
            pub(crate) fn from_scalars(element: Element, values: &[Scalar]) -> Option<AnyArray> {
                Some(match (element.kind, element.size) {
                    $(($kind, $size) => AnyArray::$variant(converted(values)?),)*
                    (Kind::Bool, 1) => AnyArray::Bool(converted(values)?),
                    _ => return None,
                })
            }

            /// Concatenates two arrays of the same type along an axis.
            pub(crate) fn join(axis: usize, first: &AnyArray, second: &AnyArray) -> Result<AnyArray> {
                match (first, second) {
                    (AnyArray::Bool(a), AnyArray::Bool(b)) => joined(axis, a, b).map(AnyArray::Bool),
                    $((AnyArray::$variant(a), AnyArray::$variant(b)) => joined(axis, a, b).map(AnyArray::$variant),)*
                    (AnyArray::Opaque(a), AnyArray::Opaque(b)) => a.join(axis, b).map(AnyArray::Opaque),
                    _ => Err(Error::Other("arrays of two types cannot be joined".into())),
                }
            }
        }
    };
}

any_array! {
    Int8(i8) Kind::Int, 1;
    Int16(i16) Kind::Int, 2;
    Int32(i32) Kind::Int, 4;
    Int64(i64) Kind::Int, 8;
    Int128(i128) Kind::Int, 16;
    Uint8(u8) Kind::Uint, 1;
    Uint16(u16) Kind::Uint, 2;
    Uint32(u32) Kind::Uint, 4;
    Uint64(u64) Kind::Uint, 8;
    Uint128(u128) Kind::Uint, 16;
    Float8E4m3fn(E4m3fn) Kind::Float8(Float8::E4m3fn), 1;
    Float8E5m2(E5m2) Kind::Float8(Float8::E5m2), 1;
    Float8E8m0fnu(E8m0fnu) Kind::Float8(Float8::E8m0fnu), 1;
    Float8E4m3fnuz(E4m3fnuz) Kind::Float8(Float8::E4m3fnuz), 1;
    Float8E5m2fnuz(E5m2fnuz) Kind::Float8(Float8::E5m2fnuz), 1;
    Bfloat16(bf16) Kind::Bfloat, 2;
    Float16(f16) Kind::Float, 2;
    Float32(f32) Kind::Float, 4;
    Float64(f64) Kind::Float, 8;
    Complex32(Complex<f16>) Kind::Complex, 4;
    Complex64(Complex<f32>) Kind::Complex, 8;
    Complex128(Complex<f64>) Kind::Complex, 16;
}

impl AnyArray {
    pub fn shape(&self) -> &[usize] {
        with_array!(self, array => array.shape(), opaque => opaque.shape())
    }

    pub fn len(&self) -> usize {
        self.shape().iter().product()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All elements in C order; empty for opaque elements.
    pub fn scalars(&self) -> Vec<Scalar> {
        with_array!(self, array => array.iter().map(|item| Scalar::from(*item)).collect(), _opaque => Vec::new())
    }

    /// Calls `each` for every element in C order until it fails; does nothing for opaque elements.
    pub(crate) fn try_each(&self, each: &mut dyn FnMut(Scalar) -> io::Result<()>) -> io::Result<()> {
        with_array!(self, array => array.iter().try_for_each(|item| each(Scalar::from(*item))), _opaque => Ok(()))
    }

    /// All elements in C order as f64 (complex numbers as their absolute values); empty for opaque elements.
    pub(crate) fn sizes(&self) -> Vec<f64> {
        let size = |item: Scalar| match item {
            Scalar::Bool(yes) => f64::from(u8::from(yes)),
            Scalar::Int(whole) => whole as f64,
            Scalar::Big(whole) => whole as f64,
            Scalar::Float(number, _) => number,
            Scalar::Complex(real, imaginary, _) => real.hypot(imaginary),
        };
        with_array!(self, array => array.iter().map(|item| size(Scalar::from(*item))).collect(), _opaque => Vec::new())
    }

    /// Writes all elements in C order and in this byte order.
    pub fn write(&self, endian: Endian, to: &mut dyn io::Write) -> io::Result<()> {
        use AnyArray::{Complex32, Complex64, Complex128};
        let part = if let Complex32(_) | Complex64(_) | Complex128(_) = self { 2 } else { 1 };
        with_array!(self, array => array.iter().try_for_each(|item| {
            let native = bytemuck::bytes_of(item);
            if endian == Endian::NATIVE {
                return to.write_all(native);
            }
            native.chunks(native.len() / part).try_for_each(|bytes| {
                let turned: Vec<u8> = bytes.iter().rev().copied().collect();
                to.write_all(&turned)
            })
        }), opaque => opaque.write(to))
    }
}

fn part<T: bytemuck::Pod>(array: &Array, slab: &Slab, read: Read<'_>) -> Result<ArrayD<T>> {
    let mut items = room::<T>(slab.len())?;
    let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut items);
    slab::fill(array, slab, bytes, read)?;
    to_native(array.dtype, bytes);
    let counts = slab.axes.iter().map(|axis| axis.count as usize).collect::<Vec<_>>();
    let shape = IxDyn(&counts).set_f(array.order == Order::F);
    let found = ArrayD::from_shape_vec(shape, items)
        .map_err(|problem| Error::Other(format!("the array cannot be made: {problem}")))?;
    Ok(finished(found, slab))
}

/// Reverses axes with a negative step and removes those selected by a single number.
pub(super) fn finished<T>(mut found: ArrayD<T>, slab: &Slab) -> ArrayD<T> {
    for (number, axis) in slab.axes.iter().enumerate().rev() {
        if axis.step < 0 {
            found.invert_axis(Axis(number));
        }
        if axis.single {
            found = found.index_axis_move(Axis(number), 0);
        }
    }
    found
}

fn converted<T: TryFrom<Scalar>>(values: &[Scalar]) -> Option<ArrayD<T>> {
    let items = values.iter().map(|value| T::try_from(*value).ok()).collect::<Option<Vec<T>>>()?;
    ArrayD::from_shape_vec(IxDyn(&[items.len()]), items).ok()
}

pub(super) fn room<T: Zeroable + Clone>(len: u64) -> Result<Vec<T>> {
    let mut items = Vec::new();
    let count = usize::try_from(len).ok().filter(|count| items.try_reserve_exact(*count).is_ok());
    let count = count.ok_or_else(|| Error::Other(format!("{len} elements do not fit into memory")))?;
    items.resize(count, T::zeroed());
    Ok(items)
}

/// Converts elements in place to the machine's byte order.
pub(crate) fn to_native(dtype: Dtype, bytes: &mut [u8]) {
    let part = dtype.element.swapped() as usize;
    if dtype.endian != Endian::NATIVE && part > 1 {
        bytes.chunks_exact_mut(part).for_each(<[u8]>::reverse);
    }
}

pub(super) fn joined<T: Clone>(axis: usize, first: &ArrayD<T>, second: &ArrayD<T>) -> Result<ArrayD<T>> {
    concatenate(Axis(axis), &[first.view(), second.view()])
        .map_err(|problem| Error::Other(format!("the arrays cannot be joined: {problem}")))
}
