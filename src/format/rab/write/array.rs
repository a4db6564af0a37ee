//! Arrays of any layout as bytes in C or F order. An array whose memory already has the stored layout is read in
//! place, any other a piece at a time.

use std::io::Read;

use bytemuck::NoUninit;
use half::f16;
use ndarray::{ArrayView, Dimension};
use num_complex::Complex;

use crate::array::{Array, Dtype, Element, Endian, Kind, Order};
use crate::format::writer::input::Pieces;

/// Items per piece.
const PIECE: usize = 16 << 10;

/// Element types that a RAB file can hold.
pub trait Item: NoUninit + sealed::Sealed {
    const ELEMENT: Element;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! items {
    ($($type:ty => $kind:ident;)*) => {
        $(impl sealed::Sealed for $type {}
        impl Item for $type {
            const ELEMENT: Element = Element { kind: Kind::$kind, size: size_of::<$type>() as u32 };
        })*
    };
}

items! {
    bool => Bool;
    i8 => Int;
    i16 => Int;
    i32 => Int;
    i64 => Int;
    u8 => Uint;
    u16 => Uint;
    u32 => Uint;
    u64 => Uint;
    f16 => Float;
    f32 => Float;
    f64 => Float;
    Complex<f32> => Complex;
    Complex<f64> => Complex;
}

pub fn describe<T: Item, D: Dimension>(view: &ArrayView<'_, T, D>, order: Order, endian: Endian) -> Array {
    let dtype = Dtype { element: T::ELEMENT, endian };
    Array::new(dtype, view.shape().iter().map(|size| *size as u64).collect::<Vec<_>>(), order)
}

/// The bytes of an array.
pub fn reader<'a, T: Item, D: Dimension>(
    view: ArrayView<'a, T, D>,
    order: Order,
    endian: Endian,
) -> Box<dyn Read + 'a> {
    // F order is the C order of the transposed array.
    let view = if order == Order::F { view.into_dyn().reversed_axes() } else { view.into_dyn() };
    let word = if T::ELEMENT.kind == Kind::Complex { size_of::<T>() / 2 } else { size_of::<T>() };
    let is_swapped = word > 1 && endian != Endian::NATIVE;
    if let Some(items) = view.to_slice().filter(|_| !is_swapped) {
        return Box::new(bytemuck::cast_slice(items));
    }
    let mut items = view.into_iter();
    Box::new(Pieces::new(move |piece: &mut Vec<u8>| {
        items.by_ref().take(PIECE).for_each(|item| piece.extend_from_slice(bytemuck::bytes_of(item)));
        if is_swapped {
            piece.chunks_exact_mut(word).for_each(<[u8]>::reverse);
        }
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::{Array3, ArrayViewD, s};

    fn bytes<T: Item>(view: ArrayViewD<'_, T>, order: Order, endian: Endian) -> Vec<u8> {
        let mut bytes = Vec::new();
        reader(view, order, endian).read_to_end(&mut bytes).unwrap();
        bytes
    }

    #[test]
    fn every_layout_in_both_orders() {
        let array = Array3::from_shape_fn((2, 3, 4), |(i, j, k)| (i * 100 + j * 10 + k) as i32);
        let fortran = {
            let mut made = Array3::zeros(ndarray::ShapeBuilder::f((2, 3, 4)));
            made.assign(&array);
            made
        };
        let scalar = ndarray::arr0(7).into_dyn();
        let views = [
            array.view().into_dyn(),
            fortran.view().into_dyn(),
            array.t().into_dyn(),
            array.slice(s![.., ..;2, 1..]).into_dyn(),
            array.slice(s![..;-1, .., ..;-2]).into_dyn(),
            array.slice(s![.., 1..1, ..]).into_dyn(),
            scalar.view(),
        ];
        for view in views {
            let flat =
                |view: ArrayViewD<'_, i32>| view.iter().flat_map(|n| n.to_le_bytes()).collect::<Vec<_>>();
            assert_eq!(bytes(view.clone(), Order::C, Endian::Little), flat(view.clone()));
            assert_eq!(bytes(view.clone(), Order::F, Endian::Little), flat(view.clone().reversed_axes()));
            let big: Vec<u8> = view.iter().flat_map(|n| n.to_be_bytes()).collect();
            assert_eq!(bytes(view, Order::C, Endian::Big), big);
        }
    }

    #[test]
    fn both_parts_of_a_complex_number_are_swapped() {
        let array = ndarray::arr1(&[Complex::new(1.0f32, 2.0)]).into_dyn();
        let big = [1.0f32.to_be_bytes(), 2.0f32.to_be_bytes()].concat();
        assert_eq!(bytes(array.view(), Order::C, Endian::Big), big);
        assert_eq!(bytes(ndarray::arr1(&[true, false]).into_dyn().view(), Order::C, Endian::Big), [1, 0]);
    }
}
