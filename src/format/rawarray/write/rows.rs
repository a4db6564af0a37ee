//! An array's bytes as they are stored: the last axis fastest, and little-endian.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::array::{AnyArray, Array, Dtype, Endian, Order, Slab};
use crate::error::Place;
use crate::format::writer::input;
use crate::{Error, Result};

/// So many bytes are put in another order at once, if a row of the first axis is not longer.
const MAX_PIECE: u64 = 32 << 20;

/// Writes all of `data`, which has the shape and order of `array`; each `swapped` bytes of it are in reverse, if those
/// are more than 1. A temporary file that is needed for it is in `directory`.
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

/// The first axis is fastest in `data`: it is put into a file, and read a few rows at a time.
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
    let at_once = (MAX_PIECE / (len / count.max(1)).max(1)).clamp(1, count);
    for first in (0..count).step_by(at_once as usize) {
        let end = count.min(first + at_once);
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
