//! The transposition of an array in memory, in tiles that fit into the processor's cache.

use std::io;

use crate::array::blocks;

/// Bytes of a tile, at most: as many are read as written, and both fit into a first-level cache.
const TILE: usize = 12 << 10;

/// The elements, of `size` bytes each, of an array of this shape in C order, with the first axis fastest.
pub fn reversed(bytes: &[u8], shape: &[u64], size: u64) -> io::Result<Vec<u8>> {
    let mut out = vec![0; bytes.len()];
    let size = size as usize;
    let (axes, count) = axes(shape);
    if count.checked_mul(size) != Some(bytes.len()) {
        return Err(io::Error::other("it has other bytes than its elements"));
    }
    if bytes.is_empty() {
        return Ok(out);
    }
    let copied = match size {
        // With a size that the compiler knows copying an element is a few instructions.
        1 => tiles(shape, &axes, 1, bytes, &mut out),
        2 => tiles(shape, &axes, 2, bytes, &mut out),
        4 => tiles(shape, &axes, 4, bytes, &mut out),
        8 => tiles(shape, &axes, 8, bytes, &mut out),
        16 => tiles(shape, &axes, 16, bytes, &mut out),
        size => tiles(shape, &axes, size, bytes, &mut out),
    };
    copied.map(|()| out).ok_or_else(|| io::Error::other("it has other bytes than its elements"))
}

/// A length, and how many elements apart the indexes of an axis are before and after.
#[derive(Clone, Copy)]
struct Axis {
    len: usize,
    from: usize,
    to: usize,
}

/// The axes, and the number of elements.
fn axes(shape: &[u64]) -> (Vec<Axis>, usize) {
    let mut to = 1;
    let mut axes: Vec<Axis> = shape.iter().map(|len| Axis { len: *len as usize, from: 0, to: 0 }).collect();
    for axis in &mut axes {
        axis.to = to;
        to *= axis.len;
    }
    let mut from = 1;
    for axis in axes.iter_mut().rev() {
        axis.from = from;
        from *= axis.len;
    }
    (axes, from)
}

/// Copies all tiles; None if something is out of bounds.
#[inline(always)]
fn tiles(shape: &[u64], axes: &[Axis], size: usize, from: &[u8], to: &mut [u8]) -> Option<()> {
    let most = (TILE / size).max(1) as u64;
    let sizes = blocks::sizes(shape, most.isqrt(), most);
    let mut start = vec![0; shape.len()];
    loop {
        let (mut a, mut b, mut tile) = (0, 0, Vec::with_capacity(axes.len()));
        for (axis, (start, len)) in axes.iter().zip(start.iter().zip(&sizes)) {
            let start = *start as usize;
            (a, b) = (a + start * axis.from, b + start * axis.to);
            tile.push(Axis { len: (*len as usize).min(axis.len - start), ..*axis });
        }
        copy(tile, from.get(a * size..)?, to.get_mut(b * size..)?, size)?;
        if !blocks::advance(&mut start, &sizes, shape) {
            return Some(());
        }
    }
}

/// Copies a tile in runs along its longest axis.
#[inline(always)]
fn copy(mut outer: Vec<Axis>, from: &[u8], to: &mut [u8], size: usize) -> Option<()> {
    let longest = outer.iter().enumerate().max_by_key(|(_, axis)| axis.len).map(|(number, _)| number);
    let run = longest.map_or(Axis { len: 1, from: 1, to: 1 }, |longest| outer.remove(longest));
    let mut index = vec![0; outer.len()];
    let (mut a, mut b) = (0, 0);
    loop {
        let items = from.get(a * size..)?.chunks(run.from * size);
        let places = to.get_mut(b * size..)?.chunks_mut(run.to * size);
        for (item, place) in items.zip(places).take(run.len) {
            place.get_mut(..size)?.copy_from_slice(item.get(..size)?);
        }
        let mut is_last = true;
        for (axis, index) in outer.iter().zip(&mut index).rev() {
            *index += 1;
            (a, b) = (a + axis.from, b + axis.to);
            if *index < axis.len {
                is_last = false;
                break;
            }
            (a, b) = (a - axis.len * axis.from, b - axis.len * axis.to);
            *index = 0;
        }
        if is_last {
            return Some(());
        }
    }
}
