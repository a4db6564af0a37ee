//! Transposes an array in memory, in tiles that fit into the processor's cache.
//!
//! A tile is transposed like a matrix: its axes before `split` index the rows, the others the columns. The elements of
//! a row are contiguous in the input, those of a column in the output; tables contain the start of each.

use std::io;

use crate::array::blocks;

/// Maximum size of a tile in bytes. As much is read as written, and both fit into a first-level cache.
const TILE: usize = 12 << 10;

/// Reorders an array of this shape, with elements of `size` bytes, from C order to F order.
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
        // With a size that the compiler knows, copying an element is a few instructions.
        1 => elements::<1>(shape, &axes, bytes, &mut out),
        2 => elements::<2>(shape, &axes, bytes, &mut out),
        4 => elements::<4>(shape, &axes, bytes, &mut out),
        8 => elements::<8>(shape, &axes, bytes, &mut out),
        16 => tiles(shape, &axes, 16, &mut |tile| tile.copy_any(bytes, &mut out, 16)),
        _ => tiles(shape, &axes, size, &mut |tile| tile.copy_any(bytes, &mut out, size)),
    };
    copied.map(|()| out).ok_or_else(|| io::Error::other("it has other bytes than its elements"))
}

fn elements<const N: usize>(shape: &[u64], axes: &[Axis], from: &[u8], to: &mut [u8]) -> Option<()> {
    let (from, to) = (from.as_chunks::<N>().0, to.as_chunks_mut::<N>().0);
    tiles(shape, axes, N, &mut |tile| tile.copy(from, to))
}

/// The length of an axis, and its strides in elements before and after.
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
fn tiles(shape: &[u64], axes: &[Axis], size: usize, copy: &mut dyn FnMut(&Tile) -> Option<()>) -> Option<()> {
    let most = (TILE / size).max(1) as u64;
    let sizes = blocks::sizes(shape, most.isqrt(), most);
    let split = split(&sizes, shape)?;
    let mut start = vec![0; shape.len()];
    let mut tile = Tile::default();
    loop {
        tile.place(axes, &start, &sizes, split)?;
        copy(&tile)?;
        if !blocks::advance(&mut start, &sizes, shape) {
            return Some(());
        }
    }
}

/// Chooses the axis at which to divide tiles of these sizes, so that rows are contiguous in the input and columns in
/// the output, and the shorter of the two is as long as possible.
fn split(sizes: &[u64], shape: &[u64]) -> Option<usize> {
    // Contiguous means, from the inside: whole axes, then one that may be partial, then axes with a single index.
    let are_neighbours = |axes: &mut dyn Iterator<Item = (&u64, &u64)>| {
        axes.skip_while(|(size, whole)| size == whole).skip(1).all(|(size, _)| *size == 1)
    };
    let both = |split: usize| {
        let ((rows, columns), (row, column)) = (sizes.split_at(split), shape.split_at(split));
        let fits = are_neighbours(&mut columns.iter().zip(column).rev())
            && are_neighbours(&mut rows.iter().zip(row));
        fits.then(|| rows.iter().product::<u64>().min(columns.iter().product()))
    };
    (0..=sizes.len()).filter(|split| both(*split).is_some()).max_by_key(|split| both(*split))
}

/// A tile. All positions are in elements.
#[derive(Default)]
struct Tile {
    lens: Vec<usize>,
    /// Its start in the input and in the output.
    from: usize,
    to: usize,
    /// The start of each row in the input and of each column in the output, relative to these.
    rows: Vec<usize>,
    columns: Vec<usize>,
}

impl Tile {
    /// Moves the tile to `start`. Most tiles have the same tables, which are kept.
    fn place(&mut self, axes: &[Axis], start: &[u64], sizes: &[u64], split: usize) -> Option<()> {
        (self.from, self.to) = (0, 0);
        let mut lens = Vec::with_capacity(axes.len());
        for (axis, (start, size)) in axes.iter().zip(start.iter().zip(sizes)) {
            let start = *start as usize;
            (self.from, self.to) = (self.from + start * axis.from, self.to + start * axis.to);
            lens.push((*size as usize).min(axis.len - start));
        }
        if lens != self.lens {
            let (row_axes, column_axes) = axes.split_at_checked(split)?;
            let (row_lens, column_lens) = lens.split_at_checked(split)?;
            let of_rows = row_lens.iter().zip(row_axes).map(|(len, axis)| (*len, axis.from));
            let of_columns = column_lens.iter().zip(column_axes).map(|(len, axis)| (*len, axis.to));
            (self.rows, self.columns) = (positions(of_rows), positions(of_columns.rev()));
            self.lens = lens;
        }
        Some(())
    }

    fn copy<const N: usize>(&self, from: &[[u8; N]], to: &mut [[u8; N]]) -> Option<()> {
        let (from, to) = (from.get(self.from..)?, to.get_mut(self.to..)?);
        let mut row = 0;
        self.copy_groups::<N, 8>(from, to, &mut row)?;
        self.copy_groups::<N, 4>(from, to, &mut row)?;
        self.copy_groups::<N, 2>(from, to, &mut row)?;
        self.copy_groups::<N, 1>(from, to, &mut row)
    }

    /// Copies rows from number `row` on, R at a time while there are R, to write R elements of a column at once.
    fn copy_groups<const N: usize, const R: usize>(
        &self,
        from: &[[u8; N]],
        to: &mut [[u8; N]],
        row: &mut usize,
    ) -> Option<()> {
        let len = self.columns.len();
        for group in self.rows.get(*row..)?.as_chunks::<R>().0 {
            let mut rows = [from; R];
            for (row, start) in rows.iter_mut().zip(group) {
                *row = from.get(*start..)?.get(..len)?;
            }
            for (number, column) in self.columns.iter().enumerate() {
                let mut items = [[0; N]; R];
                for (item, row) in items.iter_mut().zip(&rows) {
                    *item = *row.get(number)?;
                }
                // One store instead of R.
                *to.get_mut(column + *row..)?.first_chunk_mut::<R>()? = items;
            }
            *row += R;
        }
        Some(())
    }

    /// As [`Tile::copy`] for elements of any size, column by column: large elements gain nothing from several rows at
    /// once, and scattered writes cost more than scattered reads.
    #[inline(always)]
    fn copy_any(&self, from: &[u8], to: &mut [u8], size: usize) -> Option<()> {
        for (number, column) in self.columns.iter().enumerate() {
            let items = from.get((self.from + number) * size..)?;
            let places = to.get_mut((self.to + column) * size..)?.chunks_exact_mut(size);
            for (place, row) in places.zip(&self.rows) {
                place.copy_from_slice(items.get(row * size..)?.get(..size)?);
            }
        }
        Some(())
    }
}

/// The positions of all indexes for axes of these lengths and strides, the first axis fastest.
fn positions(axes: impl Iterator<Item = (usize, usize)>) -> Vec<usize> {
    axes.fold(vec![0], |inner, (len, distance)| {
        (0..len).flat_map(|index| inner.iter().map(move |at| at + index * distance)).collect()
    })
}
