//! The header of numpy's .npy files (version 1, or 2 where version 1 has no room).

use super::{Array, Dtype, Order};

/// What comes before the elements, which follow in C order.
pub fn header(dtype: Dtype, shape: &[usize]) -> Vec<u8> {
    let shape = shape.iter().map(|size| *size as u64).collect();
    described(&Array { dtype, shape, order: Order::C })
}

/// What comes before the elements of an array.
pub fn described(array: &Array) -> Vec<u8> {
    let Array { dtype, shape, order } = array;
    let sizes: String = shape.iter().map(|size| format!("{size}, ")).collect();
    let fortran = if *order == Order::F { "True" } else { "False" };
    let mut text =
        format!("{{'descr': '{dtype}', 'fortran_order': {fortran}, 'shape': ({}), }}", sizes.trim_end());
    let is_short = text.len() + 64 < usize::from(u16::MAX);
    let fixed = if is_short { 10 } else { 12 };
    // The elements begin at a multiple of 64.
    let padding = (fixed + text.len() + 1).next_multiple_of(64) - (fixed + text.len() + 1);
    text.extend(std::iter::repeat_n(' ', padding));
    text.push('\n');
    let mut header = b"\x93NUMPY".to_vec();
    match is_short {
        true => header.extend([&[1, 0][..], &(text.len() as u16).to_le_bytes()].concat()),
        false => header.extend([&[2, 0][..], &(text.len() as u32).to_le_bytes()].concat()),
    }
    header.extend(text.into_bytes());
    header
}
