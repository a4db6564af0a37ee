//! Converts arrays between C and F order. An array that does not fit into memory is read once, sequentially, in boxes
//! that are transposed one by one and written to a temporary file. The result is then assembled box by box; each box of
//! the file contributes a single contiguous stretch to each of them. Memory use is one box, or one element if larger.

mod tiles;

use std::fs::File;
use std::io::{self, Cursor, Read, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;

use self::tiles::reversed;
use crate::array::{Array, Order, byte_len};

/// Size of a box in bytes, for small arrays and for arrays of several terabytes.
const MAX_BOX: u64 = 12 << 20;
const MAX_LARGE_BOX: u64 = 256 << 20;

/// Approximate length in bytes, for large arrays, of the stretch that two boxes have in common.
const STRETCH: u64 = 16 << 10;

/// Returns the array if it must be converted. With a single axis, or without bytes, both orders are the same.
pub fn needed(array: &Array, order: Order) -> Option<Array> {
    let axes = array.shape.iter().filter(|size| **size != 1).count();
    let has_bytes = array.dtype.element.size > 0 && !array.shape.contains(&0);
    (array.order != order && axes > 1 && has_bytes).then(|| array.clone())
}

/// Reads the elements of `array` from `input` and returns them in the other order.
pub fn turned(input: &mut dyn Read, array: &Array, scratch: &Path) -> io::Result<Box<dyn Read>> {
    let len = byte_len(array.dtype.element, &array.shape).unwrap_or(u64::MAX);
    with_boxes(input, array, scratch, box_len(len))
}

/// Boxes grow with the array, because otherwise large arrays would consist of many short stretches: a terabyte in boxes
/// of 12 MiB has 80,000 boxes and 7 billion stretches of 150 bytes.
fn box_len(len: u64) -> u64 {
    len.saturating_mul(STRETCH).isqrt().clamp(MAX_BOX, MAX_LARGE_BOX)
}

fn with_boxes(input: &mut dyn Read, array: &Array, scratch: &Path, most: u64) -> io::Result<Box<dyn Read>> {
    // An array in F order has the same bytes as the transposed array in C order.
    let mut shape = array.shape.to_vec();
    if array.order == Order::F {
        shape.reverse();
    }
    let size = u64::from(array.dtype.element.size);
    let len = byte_len(array.dtype.element, &shape).unwrap_or(u64::MAX);
    if len <= most {
        let whole = Part { start: vec![0; shape.len()], size: shape };
        let bytes = read(input, len)?;
        check_end(input)?;
        return Ok(Box::new(Cursor::new(reversed(&bytes, &whole.size, size)?)));
    }
    let mut file = tempfile::tempfile_in(scratch)?;
    // One by one, since the input may be shorter than the shape claims.
    let mut boxes: Vec<Part> = Vec::new();
    for one in self::boxes(&shape, most / size) {
        let bytes = read(input, one.count() * size)?;
        file.write_all(&reversed(&bytes, &one.size, size)?)?;
        boxes.push(one);
    }
    check_end(input)?;
    shape.reverse();
    let results = self::boxes(&shape, most / size).map(|mut one| {
        one.start.reverse();
        one.size.reverse();
        one
    });
    Ok(Box::new(Turned { file, boxes, size, results, ready: Cursor::default() }))
}

/// Reads the next `len` bytes. Memory grows with the bytes actually read, since a header may claim any size.
fn read(input: &mut dyn Read, len: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(len.min(MAX_BOX) as usize);
    match input.take(len).read_to_end(&mut bytes)? as u64 == len {
        true => Ok(bytes),
        false => Err(io::Error::other("it has fewer bytes than its elements")),
    }
}

fn check_end(input: &mut dyn Read) -> io::Result<()> {
    match input.read(&mut [0])? {
        0 => Ok(()),
        _ => Err(io::Error::other("it has more bytes than its elements")),
    }
}

/// Indexes from `start` on, `size` along each axis.
#[derive(Clone, Debug, PartialEq)]
struct Part {
    start: Vec<u64>,
    size: Vec<u64>,
}

impl Part {
    fn count(&self) -> u64 {
        self.size.iter().product()
    }

    fn intersection(&self, other: &Part) -> Option<Part> {
        let mut both = Part { start: Vec::new(), size: Vec::new() };
        let sides = self.start.iter().zip(&self.size).zip(other.start.iter().zip(&other.size));
        for ((a, a_size), (b, b_size)) in sides {
            let (start, end) = ((*a).max(*b), (a + a_size).min(b + b_size));
            both.start.push(start);
            both.size.push(end.checked_sub(start).filter(|size| *size > 0)?);
        }
        Some(both)
    }

    /// The position of the index `at` among the box's elements, the first axis fastest.
    fn position(&self, at: &[u64]) -> u64 {
        let axes = at.iter().zip(&self.start).zip(&self.size).rev();
        axes.fold(0, |sum, ((at, start), size)| sum * size + (at - start))
    }
}

/// Divides an array into boxes of at most `most` elements that are contiguous in C order.
fn boxes(shape: &[u64], most: u64) -> impl Iterator<Item = Part> + use<> {
    let shape = shape.to_vec();
    // A box contains the axes after `split` whole, and `step` indexes along `split`.
    let (mut split, mut inner) = (shape.len() - 1, 1u64);
    while split > 0 && shape.get(split).is_some_and(|size| size.saturating_mul(inner) <= most) {
        inner *= shape.get(split).copied().unwrap_or(1);
        split -= 1;
    }
    let along = shape.get(split).copied().unwrap_or(1);
    let step = (most / inner).clamp(1, along.max(1));
    let mut next = Some(vec![0; shape.len()]);
    std::iter::from_fn(move || {
        let start = next.take()?;
        let mut size = vec![1; shape.len()];
        size.get_mut(split + 1..)?.copy_from_slice(shape.get(split + 1..)?);
        *size.get_mut(split)? = step.min(along - start.get(split)?);
        let mut after = start.clone();
        *after.get_mut(split)? += step;
        // Carry, as in addition.
        for axis in (0..=split).rev() {
            if after.get(axis)? < shape.get(axis)? {
                next = Some(after);
                break;
            }
            if axis > 0 {
                *after.get_mut(axis)? = 0;
                *after.get_mut(axis - 1)? += 1;
            }
        }
        Some(Part { start, size })
    })
}

/// Reads the result box by box.
struct Turned<I> {
    file: File,
    /// The boxes of the file, in order; the first axis is fastest in each.
    boxes: Vec<Part>,
    size: u64,
    results: I,
    ready: Cursor<Vec<u8>>,
}

impl<I: Iterator<Item = Part>> Turned<I> {
    fn gather(&self, result: &Part, out: &mut [u8]) -> io::Result<()> {
        let (mut begin, mut part) = (0, Vec::new());
        for one in &self.boxes {
            if let Some(both) = one.intersection(result) {
                part.resize((both.count() * self.size) as usize, 0);
                let at = begin + one.position(&both.start);
                self.file.read_exact_at(&mut part, at * self.size)?;
                scatter(&part, &both, result, self.size, out)
                    .ok_or_else(|| io::Error::other("a box is too small"))?;
            }
            begin += one.count();
        }
        Ok(())
    }
}

/// Copies the elements of `part` to their positions in `whole`, in runs along the first axis.
fn scatter(bytes: &[u8], part: &Part, whole: &Part, size: u64, out: &mut [u8]) -> Option<()> {
    let run = (part.size.first()? * size) as usize;
    let mut at = part.start.clone();
    for piece in bytes.chunks_exact(run) {
        let to = (whole.position(&at) * size) as usize;
        out.get_mut(to..to + run)?.copy_from_slice(piece);
        for axis in 1..at.len() {
            *at.get_mut(axis)? += 1;
            if at.get(axis)? < &(part.start.get(axis)? + part.size.get(axis)?) {
                break;
            }
            *at.get_mut(axis)? = *part.start.get(axis)?;
        }
    }
    Some(())
}

impl<I: Iterator<Item = Part>> Read for Turned<I> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let is_used_up = self.ready.position() == self.ready.get_ref().len() as u64;
        if is_used_up && let Some(result) = self.results.next() {
            let mut bytes = std::mem::take(self.ready.get_mut());
            bytes.resize((result.count() * self.size) as usize, 0);
            self.gather(&result, &mut bytes)?;
            self.ready = Cursor::new(bytes);
        }
        self.ready.read(into)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::array::{Dtype, Element, Endian, Kind};

    fn check(shape: &[u64], size: u32, order: Order, most: u64) {
        let element = Element { kind: Kind::Opaque, size };
        let array = Array::new(Dtype { element, endian: Endian::Little }, shape, order);
        let len = byte_len(element, shape).unwrap() as usize;
        let bytes: Vec<u8> = (0..len).map(|n| (n * 7 + n / 251 + (n >> 16)) as u8).collect();
        let mut out = Vec::new();
        let mut input = bytes.as_slice();
        with_boxes(&mut input, &array, Path::new("."), most).unwrap().read_to_end(&mut out).unwrap();
        // Index by index.
        let size = size as usize;
        let c_shape: Vec<u64> =
            if order == Order::F { shape.iter().rev().copied().collect() } else { shape.to_vec() };
        let whole = Part { start: vec![0; shape.len()], size: c_shape };
        let mut expected = vec![0; len];
        let mut at = vec![0; shape.len()];
        for item in bytes.chunks(size) {
            let to = whole.position(&at) as usize * size;
            expected[to..to + size].copy_from_slice(item);
            for axis in (0..at.len()).rev() {
                at[axis] += 1;
                if at[axis] < whole.size[axis] {
                    break;
                }
                at[axis] = 0;
            }
        }
        assert!(out == expected, "{shape:?} {size} {order} {most}");
    }

    #[test]
    fn every_shape_in_boxes_of_every_size() {
        let shapes: [&[u64]; 8] =
            [&[5, 7], &[2, 3, 4], &[1, 9, 1, 5], &[40, 3], &[3, 40], &[2, 2, 2, 2, 3], &[0, 4], &[11, 1, 13]];
        for shape in shapes {
            for size in [1, 2, 3, 4, 5, 8, 12, 16, 17, 20, 32, 33, 48, 130] {
                // Some of these boxes are smaller than an element.
                for most in [16, 48, 100, 1000, 1 << 20] {
                    check(shape, size, Order::C, most);
                    check(shape, size, Order::F, most);
                }
            }
        }
    }

    #[test]
    fn large_boxes_are_turned_in_tiles() {
        for shape in [
            &[300, 200][..],
            &[2, 5000, 3],
            &[3, 50, 50, 2],
            &[9000, 5],
            &[7, 4000],
            &[20, 30, 25],
            &[130, 3, 140],
            &[2; 14],
        ] {
            for size in [1, 2, 3, 4, 8, 16, 20] {
                check(shape, size, Order::C, 1 << 30);
                check(shape, size, Order::F, 1 << 20);
            }
        }
    }

    #[test]
    fn stretches_of_large_arrays_are_long() {
        for len in (20..43).map(|bits| 1u64 << bits) {
            let boxes = len.div_ceil(box_len(len));
            // Rounding may make it slightly shorter.
            assert!(boxes == 1 || box_len(len) / boxes >= STRETCH - 100, "{len}");
        }
        assert_eq!((box_len(0), box_len(8 << 30), box_len(u64::MAX)), (MAX_BOX, MAX_BOX, MAX_LARGE_BOX));
    }

    #[test]
    fn what_has_no_bytes_is_not_turned() {
        let dtype = |size| Dtype { element: Element { kind: Kind::Opaque, size }, endian: Endian::Little };
        let is_turned =
            |size, shape: &[u64]| needed(&Array::new(dtype(size), shape, Order::C), Order::F).is_some();
        assert!(is_turned(3, &[2, 2]));
        assert!(
            !is_turned(0, &[2, 2])
                && !is_turned(3, &[2, 0])
                && !is_turned(3, &[1, 9, 1])
                && !is_turned(3, &[])
        );
    }

    #[test]
    fn too_few_and_too_many_bytes() {
        let element = Element::from_name("uint8").unwrap();
        let dtype = Dtype { element, endian: Endian::Little };
        let array = Array::new(dtype, [4, 5], Order::C);
        for (len, most) in [(19, 100), (21, 100), (19, 8), (21, 8)] {
            assert!(with_boxes(&mut vec![1; len].as_slice(), &array, Path::new("."), most).is_err());
        }
        // As claimed by a member of an archive.
        let array = Array { shape: [1 << 31, 1 << 32].into(), ..array };
        let message = |array: &Array| {
            turned(&mut vec![1; 100].as_slice(), array, Path::new(".")).err().unwrap().to_string()
        };
        assert!(message(&array).contains("fewer bytes"));
        let element = Element { kind: Kind::Opaque, size: u32::MAX };
        let array = Array { dtype: Dtype { element, ..dtype }, shape: [3, u64::MAX].into(), ..array };
        assert!(message(&array).contains("fewer bytes"));
    }
}
