//! Compares arrays of equal element type and shape. Arrays with the same element order are read sequentially; C and F
//! order are compared in blocks that both can read in long runs.

use std::ops::ControlFlow;

use super::items::Items;
use super::tally::Tally;
use super::{Both, Difference, Emit, Flow};
use crate::array::{Array, Dtype, Endian, Order, Slab, Times, blocks};
use crate::{Error, Result};

/// Size of a block in bytes, and length of its runs in elements.
const BLOCK: u64 = 4 << 20;
const RUN: u64 = 512;

/// How to compare elements.
pub enum Elements {
    /// Numbers, or dates or time spans.
    Numbers(Option<Times>),
    Items([Items; 2]),
}

impl Both<'_> {
    /// Compares arrays of non-numeric elements with known structure.
    pub fn of_items(&self, a: &Array, b: &Array, emit: Emit<'_>) -> Flow {
        if let Some((a, b, times)) = times(a, b) {
            return self.arrays(&a, &b, Elements::Numbers(Some(times)), emit);
        }
        match (Items::of(a), Items::of(b)) {
            (Some(x), Some(y)) if x.are_like(&y) => self.arrays(a, b, Elements::Items([x, y]), emit),
            (Some(x), Some(y)) => Ok(emit(Difference::Type(x.name(), y.name()))),
            _ => Ok(emit(Difference::Type(a.numpy_type(), b.numpy_type()))),
        }
    }

    pub fn arrays(&self, a: &Array, b: &Array, elements: Elements, emit: Emit<'_>) -> Flow {
        if a.shape != b.shape {
            return Ok(emit(Difference::Shape(a.shape.to_vec(), b.shape.to_vec())));
        }
        let (tally, order) = match is_one_order(a, b) && a.dtype.element == b.dtype.element {
            true => (self.streamed(a, b, &elements)?, a.order),
            false => (self.in_blocks(a, b, &elements)?, Order::C),
        };
        let values = tally.finish(|rank| position(rank, &a.shape, order));
        Ok(values.map_or(ControlFlow::Continue(()), |values| emit(Difference::Values(values))))
    }

    fn streamed(&self, a: &Array, b: &Array, elements: &Elements) -> Result<Tally> {
        let mut tally = elements.tally();
        let size = a.dtype.element.size;
        let _ = self.side_by_side(size as usize, &mut |at, x, y| {
            let rank = |number| at / u64::from(size) + number;
            match elements {
                Elements::Numbers(_) => tally.elements((x, a.dtype), (y, b.dtype), self.options, &rank),
                Elements::Items(items) => tally.items(items, [x, y], self.options, &rank),
            }
            ControlFlow::Continue(())
        })?;
        Ok(tally)
    }

    fn in_blocks(&self, a: &Array, b: &Array, elements: &Elements) -> Result<Tally> {
        let mut tally = elements.tally();
        let [mut of_a, mut of_b] = self.meters();
        let native = Dtype { endian: Endian::NATIVE, ..a.dtype };
        let size = a.dtype.element.size.max(b.dtype.element.size);
        self.check_width(size as usize)?;
        let most = blocks::sizes(&a.shape, RUN, BLOCK / u64::from(size.max(1)));
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
            match elements {
                Elements::Numbers(_) => {
                    tally.elements((&x, native), (&mut y, native), self.options, &rank);
                }
                Elements::Items(items) => tally.items(items, [&x, &y], self.options, &rank),
            }
            is_last = !blocks::advance(&mut start, &most, &a.shape);
        }
        Ok(tally)
    }
}

impl Elements {
    fn tally(&self) -> Tally {
        Tally::of(if let Elements::Numbers(times) = self { *times } else { None })
    }
}

/// True if both arrays have their elements in the same order.
fn is_one_order(a: &Array, b: &Array) -> bool {
    a.order == b.order || a.shape.iter().filter(|size| **size > 1).count() < 2
}

/// Converts two arrays of dates, or of time spans, with the same unit to arrays of integers, whatever their byte order
/// and layout; also returns the type.
fn times(a: &Array, b: &Array) -> Option<(Array, Array, Times)> {
    let [of_a, of_b] = [a, b].map(|array| Times::of(array.record.as_deref()?));
    let (of_a, of_b) = (of_a?, of_b?);
    let numbers = |array: &Array, of: Times| Array::new(of.dtype(), array.shape.clone(), array.order);
    of_a.is_like(&of_b).then(|| (numbers(a, of_a), numbers(b, of_b), of_a))
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
    fn positions() {
        assert_eq!(position(7, &[2, 3, 4], Order::C), [0, 1, 3]);
        assert_eq!(position(7, &[2, 3, 4], Order::F), [1, 0, 1]);
        assert_eq!(position(0, &[], Order::C), [0; 0]);
    }
}
