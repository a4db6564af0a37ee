//! The header of numpy's .npy files. Reads versions 1 to 3; writes version 1, or 2 if the header is too long for it,
//! or 3 if it is not ASCII.

mod descr;
mod literal;
mod plain;
mod read;

use std::fmt::Display;

pub use descr::descr;
pub use literal::{Literal, parse as parse_literal};
pub use plain::{Refused, parse};
pub use read::{FIXED, Header, MAGIC, OBJECTS, Problem};

use super::{Array, Order};

/// The header for an array.
pub fn described(array: &Array) -> Vec<u8> {
    header(&array.descr(), array.order, &array.shape)
}

/// A header for elements of the type `descr`, a Python literal.
pub fn header(descr: &str, order: Order, shape: &[impl Display]) -> Vec<u8> {
    header_before(64, descr, order, shape)
}

/// As [`header`], padded to a multiple of `boundary` bytes, itself a multiple of 64.
pub fn header_before(boundary: usize, descr: &str, order: Order, shape: &[impl Display]) -> Vec<u8> {
    let sizes: String = shape.iter().map(|size| format!("{size}, ")).collect();
    let is_fortran = if order == Order::F { "True" } else { "False" };
    let mut text =
        format!("{{'descr': {descr}, 'fortran_order': {is_fortran}, 'shape': ({}), }}", sizes.trim_end());
    let is_short = text.len() + boundary < usize::from(u16::MAX);
    let version = if !text.is_ascii() { 3 } else { 2 - u8::from(is_short) };
    let fixed = if version == 1 { 10 } else { 12 };
    let padding = (fixed + text.len() + 1).next_multiple_of(boundary) - (fixed + text.len() + 1);
    text.extend(std::iter::repeat_n(' ', padding));
    text.push('\n');
    let mut header = b"\x93NUMPY".to_vec();
    header.extend([version, 0]);
    match version {
        1 => header.extend((text.len() as u16).to_le_bytes()),
        _ => header.extend((text.len() as u32).to_le_bytes()),
    }
    header.extend(text.into_bytes());
    header
}
