//! How the elements of an array are cut into chunks, each a range of its bytes: one piece of the axis that runs slowest
//! where a chunk of about [`USUAL`] bytes can be cut, all of those that run faster, and one place of those that run
//! slower. All chunks of an array have the same size: where none divides the axis, the last chunk on it has bytes
//! behind its elements that mean nothing, as Zarr wants it.

use std::ops::Range;

use crate::array::{Array, Order};

const USUAL: u64 = 4 << 20;
/// A size that divides an axis may be this.
const FIT: Range<u64> = 1 << 20..(8 << 20) + 1;

pub struct Layout {
    /// In index order, as all lists of axes here.
    sizes: Box<[u64]>,
    /// Elements of a chunk; at least 1.
    chunk: Box<[u64]>,
    order: Order,
    /// Bytes of an element.
    element: u64,
}

impl Layout {
    /// None if the number of bytes exceeds 64 bits, or elements have no bytes.
    pub fn of(array: &Array) -> Option<Layout> {
        Layout::with(array, cut)
    }

    /// All of it as one chunk.
    pub fn whole(array: &Array) -> Option<Layout> {
        Layout::with(array, |slow, _| whole(slow))
    }

    /// `chunk` is given the sizes from the axis on that runs slowest, and so gives a chunk's.
    fn with(array: &Array, chunk: impl Fn(&[u64], u64) -> Vec<u64>) -> Option<Layout> {
        let element = Some(u64::from(array.dtype.element.size)).filter(|size| *size > 0)?;
        // Of an array without elements, too.
        let all = array.shape.iter().try_fold(element, |bytes, size| bytes.checked_mul((*size).max(1)))?;
        // The last chunk may reach beyond.
        all.checked_add(FIT.end)?;
        let turned = |sizes: &[u64]| -> Box<[u64]> {
            match array.order {
                Order::C => sizes.into(),
                Order::F => sizes.iter().rev().copied().collect(),
            }
        };
        let chunk = turned(&chunk(&turned(&array.shape), element));
        Some(Layout { sizes: array.shape.clone(), chunk, order: array.order, element })
    }

    /// Elements of a chunk on each axis.
    pub fn chunk(&self) -> &[u64] {
        &self.chunk
    }

    /// Bytes of a chunk.
    pub fn chunk_len(&self) -> u64 {
        self.chunk.iter().product::<u64>() * self.element
    }

    /// How many chunks there are; none of an array without elements.
    pub fn count(&self) -> u64 {
        self.axes().map(|axis| self.count_on(axis)).product()
    }

    /// The bytes of the array that a chunk has; fewer than its length if the rest of it means nothing.
    pub fn range(&self, number: u64) -> Range<u64> {
        let (mut rest, mut inner) = (number, self.element);
        let mut range = 0..self.element;
        // From the axis that runs fastest on. Only one of them is cut into pieces with more than one place.
        for axis in self.axes_from_fastest() {
            let (size, chunk, count) = (self.sizes[axis], self.chunk[axis], self.count_on(axis));
            let first = (rest % count) * chunk;
            let last = (first + chunk).min(size) - 1;
            range = range.start + first * inner..range.end + last * inner;
            (rest, inner) = (rest / count, inner * size);
        }
        range
    }

    /// The number of the chunk with this name.
    pub fn find(&self, name: &str) -> Option<u64> {
        let mut places = name.split('.');
        if self.sizes.is_empty() {
            return (name == "0").then_some(0);
        }
        let mut number = vec![0; self.sizes.len()];
        for axis in self.axes() {
            let text = places.next()?;
            let place: u64 = text.parse().ok()?;
            // Not `+1` or `01`.
            let is_one = place < self.count_on(axis) && text == place.to_string();
            number[axis] = Some(place).filter(|_| is_one)?;
        }
        let slow_first: Vec<usize> = self.axes_from_fastest().rev().collect();
        let found = slow_first.into_iter().fold(0, |sum, axis| sum * self.count_on(axis) + number[axis]);
        places.next().is_none().then_some(found)
    }

    /// The name of a chunk: its places on all axes.
    pub fn name(&self, number: u64) -> String {
        let (mut rest, mut places) = (number, vec![0; self.sizes.len().max(1)]);
        for axis in self.axes_from_fastest() {
            places[axis] = rest % self.count_on(axis);
            rest /= self.count_on(axis);
        }
        places.iter().map(u64::to_string).collect::<Vec<_>>().join(".")
    }

    fn count_on(&self, axis: usize) -> u64 {
        self.sizes[axis].div_ceil(self.chunk[axis])
    }

    fn axes(&self) -> Range<usize> {
        0..self.sizes.len()
    }

    fn axes_from_fastest(&self) -> impl DoubleEndedIterator<Item = usize> {
        let last = self.sizes.len();
        self.axes().map(move |axis| if self.order == Order::C { last - 1 - axis } else { axis })
    }
}

/// Is it the name of a chunk of some array?
pub fn is_name(name: &[u8]) -> bool {
    name.split(|byte| *byte == b'.').all(|place| !place.is_empty() && place.iter().all(u8::is_ascii_digit))
}

/// Sizes of a chunk of an array with these sizes, both from the axis on that runs slowest.
fn cut(sizes: &[u64], element: u64) -> Vec<u64> {
    let mut chunk = whole(sizes);
    for at in 0..chunk.len() {
        let inner = chunk.iter().skip(at + 1).product::<u64>() * element;
        let size = chunk[at];
        if size * inner < FIT.end {
            break;
        }
        chunk[at] = if inner < FIT.end { piece(size, inner) } else { 1 };
        if chunk[at] > 1 {
            break;
        }
    }
    chunk
}

/// Sizes must not be 0.
fn whole(sizes: &[u64]) -> Vec<u64> {
    sizes.iter().map(|size| (*size).max(1)).collect()
}

/// How many of `size` places of `inner` bytes a chunk has: of those that divide `size` and fit, the nearest to what
/// is usual; else the usual.
fn piece(size: u64, inner: u64) -> u64 {
    let usual = (USUAL / inner).max(1);
    let fits = FIT.start.div_ceil(inner).max(1)..=(FIT.end - 1) / inner;
    let counts = size.div_ceil(*fits.end())..=size / fits.start();
    let divides = |piece: &u64| size.is_multiple_of(*piece) && fits.contains(piece);
    // Whichever are fewer.
    let found = if fits.end() - fits.start() < counts.end().saturating_sub(*counts.start()) {
        nearest(fits.clone().filter(divides), usual)
    } else {
        let exact = |count: &u64| size.is_multiple_of(*count);
        nearest(counts.filter(exact).map(|count| size / count).filter(divides), usual)
    };
    found.unwrap_or(usual)
}

fn nearest(pieces: impl Iterator<Item = u64>, usual: u64) -> Option<u64> {
    pieces.min_by(|a, b| {
        let ratio = |piece: u64| (piece as f64 / usual as f64).ln().abs();
        ratio(*a).total_cmp(&ratio(*b))
    })
}

#[cfg(test)]
mod tests;
