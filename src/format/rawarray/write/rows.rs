//! Writes an array's elements in storage order: C order, little-endian.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::array::{AnyArray, Array, Dtype, Endian, Order, Slab};
use crate::error::Place;
use crate::format::writer::input;
use crate::{Error, Result};

/// Bytes transposed at a time (at least one row along the first axis).
const CHUNK: u64 = 32 << 20;

/// Writes `data`, which has the shape and order of `array`. If `swapped` is more than 1, each group of that many bytes
/// is reversed. Temporary files are created in `directory`.
pub fn write(
    array: &Array,
    swapped: usize,
    data: &mut dyn Read,
    to: &mut dyn Write,
    directory: &Path,
) -> io::Result<()> {
    let has_order = array.shape.iter().filter(|size| **size != 1).count() > 1;
    let has_bytes = array.dtype.element.size > 0 && !array.shape.contains(&0);
    match array.order == Order::F && has_order && has_bytes {
        true => rows(array, swapped, data, to, directory),
        false => input::swapped(swapped, data, to),
    }
}

/// Transposes Fortran-order data by copying it to a temporary file and reading it a few rows at a time.
fn rows(
    array: &Array,
    swapped: usize,
    data: &mut dyn Read,
    to: &mut dyn Write,
    directory: &Path,
) -> io::Result<()> {
    let mut file = tempfile::tempfile_in(directory)?;
    input::swapped(swapped, data, &mut file)?;
    let len = file.stream_position()?;
    file.seek(SeekFrom::Start(0))?;
    let array = &Array { dtype: Dtype { endian: Endian::Little, ..array.dtype }, ..array.clone() };
    let count = array.shape.first().copied().unwrap_or(1);
    let step = (CHUNK / (len / count.max(1)).max(1)).clamp(1, count);
    for first in (0..count).step_by(step as usize) {
        let end = count.min(first + step);
        let slab = Slab::parse(&format!("{first}:{end}"), &array.shape).map_err(io::Error::other)?;
        let part = part(array, &slab, &file).map_err(io::Error::other)?;
        part.write(Endian::Little, to)?;
    }
    Ok(())
}

fn part(array: &Array, slab: &Slab, file: &File) -> Result<AnyArray> {
    AnyArray::read(array, slab, &mut |buf, offset| {
        file.read_exact_at(buf, offset).map_err(|cause| Error::read(Place::default(), cause))
    })
}
