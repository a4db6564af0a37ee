//! Arrays of one element type and shape. With the elements in the same order both are read front to back; one in C
//! and the other in F order are compared in blocks that both can read in longer runs.

use std::ops::ControlFlow;

use super::tally::Tally;
use super::{Both, Difference, Flow, Told};
use crate::array::{Array, Dtype, Endian, Order, Slab, Times};
use crate::{Error, Result};

/// Bytes of a block, and elements of its runs.
const BLOCK: u64 = 4 << 20;
const RUN: u64 = 512;

impl Both<'_> {
    /// What the numbers are times of, if they are: in `times`.
    pub fn arrays(&self, a: &Array, b: &Array, times: Option<Times>, told: Told<'_>) -> Flow {
        let tally = Tally::of(times);
        let (tally, order) = match is_one_order(a, b) {
            true => (self.streamed(a, b, tally)?, a.order),
            false => (self.in_blocks(a, b, tally)?, Order::C),
        };
        let values = tally.finish(|rank| position(rank, &a.shape, order));
        Ok(values.map_or(ControlFlow::Continue(()), |values| told(Difference::Values(values))))
    }

    fn streamed(&self, a: &Array, b: &Array, mut tally: Tally) -> Result<Tally> {
        let size = u64::from(a.dtype.element.size);
        let _ = self.side_by_side(&mut |at, x, y| {
            tally.elements((x, a.dtype), (y, b.dtype), self.options, &|number| at / size + number);
            ControlFlow::Continue(())
        })?;
        Ok(tally)
    }

    fn in_blocks(&self, a: &Array, b: &Array, mut tally: Tally) -> Result<Tally> {
        let [mut of_a, mut of_b] = self.meters();
        let native = Dtype { endian: Endian::NATIVE, ..a.dtype };
        let most = block(&a.shape, BLOCK / u64::from(b.dtype.element.size));
        let mut start = vec![0; a.shape.len()];
        let (mut x, mut y) = (Vec::new(), Vec::new());
        let mut is_last = a.shape.contains(&0);
        while !is_last {
            let counts: Vec<u64> = start
                .iter()
                .zip(&most)
                .zip(&a.shape)
                .map(|((at, most), size)| *most.min(&(size - at)))
                .collect();
            let slab = Slab::block(&start, &counts);
            for (dataset, array, bytes) in [(self.a, a, &mut x), (self.b, b, &mut y)] {
                bytes.clear();
                let written = dataset.part_as(array, &slab)?.write(Endian::NATIVE, bytes);
                written.map_err(|cause| Error::Other(cause.to_string()))?;
            }
            of_a.passed(x.len() as u64);
            of_b.passed(y.len() as u64);
            let rank = |number| {
                let inside = position(number, &counts, Order::C);
                let whole = start.iter().zip(&inside).zip(&a.shape);
                whole.fold(0, |rank, ((start, inside), size)| rank * size + start + inside)
            };
            tally.elements((&x, native), (&mut y, native), self.options, &rank);
            is_last = !advance(&mut start, &most, &a.shape);
        }
        Ok(tally)
    }
}

/// Are the elements of both in one order?
fn is_one_order(a: &Array, b: &Array) -> bool {
    a.order == b.order || a.shape.iter().filter(|size| **size > 1).count() < 2
}

/// Two arrays of dates, or of spans, of one unit and shape as the numbers that they are, whatever their byte orders and layouts,
/// and what these mean.
pub fn times(a: &Array, b: &Array) -> Option<(Array, Array, Times)> {
    let [of_a, of_b] = [a, b].map(|array| Times::of(array.record.as_deref()?));
    let (of_a, of_b) = (of_a?, of_b?);
    let is_one = of_a.is_like(&of_b) && a.shape == b.shape;
    let numbers = |array: &Array, of: Times| Array::new(of.dtype(), array.shape.clone(), array.order);
    is_one.then(|| (numbers(a, of_a), numbers(b, of_b), of_a))
}

/// The sizes of blocks of at most so many elements: long along the last axes, which are near to each other in C
/// order, and along the first ones.
fn block(shape: &[u64], most: u64) -> Vec<u64> {
    let mut sizes = vec![1; shape.len()];
    let mut grow = |axes: &mut dyn Iterator<Item = usize>, until: u64| {
        for axis in axes {
            let product: u64 = sizes.iter().product();
            if let (Some(size), Some(whole)) = (sizes.get_mut(axis), shape.get(axis)) {
                *size = (*size * (until / product).max(1)).min(*whole).max(1);
            }
        }
    };
    grow(&mut (0..shape.len()).rev(), RUN.min(most));
    grow(&mut (0..shape.len()), most);
    sizes
}

/// Goes on to the next block, the last axis fastest; false at the end.
fn advance(start: &mut [u64], sizes: &[u64], shape: &[u64]) -> bool {
    for ((at, size), whole) in start.iter_mut().zip(sizes).zip(shape).rev() {
        *at += size;
        if *at < *whole {
            return true;
        }
        *at = 0;
    }
    false
}

/// The position of the element with this rank in C or F order.
fn position(rank: u64, shape: &[u64], order: Order) -> Vec<u64> {
    let mut rest = rank;
    let mut next = |size: &u64| {
        let at = rest.checked_rem(*size).unwrap_or(0);
        rest = rest.checked_div(*size).unwrap_or(0);
        at
    };
    if order == Order::F {
        return shape.iter().map(next).collect();
    }
    let mut found: Vec<u64> = shape.iter().rev().map(&mut next).collect();
    found.reverse();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_cover_the_whole_once() {
        for shape in [vec![7, 5, 3], vec![1, 9], vec![2000, 3], vec![3, 2000], vec![40, 1, 50, 2]] {
            let sizes = block(&shape, 64);
            assert!(sizes.iter().product::<u64>() <= 64, "{shape:?}: {sizes:?}");
            let (mut start, mut covered) = (vec![0; shape.len()], 0);
            loop {
                let counts =
                    start.iter().zip(&sizes).zip(&shape).map(|((at, most), size)| *most.min(&(size - at)));
                covered += counts.product::<u64>();
                if !advance(&mut start, &sizes, &shape) {
                    break;
                }
            }
            assert_eq!(covered, shape.iter().product::<u64>());
        }
        assert_eq!(block(&[10_000, 10_000], 1 << 18), [512, 512]);
    }

    #[test]
    fn positions() {
        assert_eq!(position(7, &[2, 3, 4], Order::C), [0, 1, 3]);
        assert_eq!(position(7, &[2, 3, 4], Order::F), [1, 0, 1]);
        assert_eq!(position(0, &[], Order::C), [0; 0]);
    }
}
