//! Reads part of an array: in long runs where its elements are close together, one by one where they are far apart.
//!
//! Elements are returned in storage order; the caller must reverse axes with a negative step.

use super::{Array, Order, Slab};
use crate::Result;

/// Gaps of up to this many bytes between elements are read rather than skipped.
const GAP: u64 = 4 << 10;
/// Bytes read at once.
const WINDOW: u64 = 256 << 10;

/// Fills a buffer from an offset of the array's bytes.
pub type Read<'a> = &'a mut dyn FnMut(&mut [u8], u64) -> Result<()>;

/// Reads the elements of `slab` into `out`, which must have exactly their size; `slab` must fit the array.
pub fn fill(array: &Array, slab: &Slab, out: &mut [u8], read: Read<'_>) -> Result<()> {
    if out.is_empty() {
        return Ok(());
    }
    let plan = Plan::new(array, slab);
    let mut window = Window { bytes: Vec::new(), start: 0 };
    let mut rest = out;
    let mut outer = Odometer::new(&plan.outer);
    while let Some(cluster) = outer.next() {
        let start = plan.start + cluster;
        let mut inner = Odometer::new(&plan.inner);
        while let Some(at) = inner.next() {
            let (run, after) = rest.split_at_mut(plan.run.min(rest.len() as u64) as usize);
            window.copy(run, start + at, start + plan.extent, read)?;
            rest = after;
        }
    }
    Ok(())
}

/// The offset of the elements of `slab` in bytes, if they are contiguous and in order. `slab` must not be empty.
pub fn run(array: &Array, slab: &Slab) -> Option<u64> {
    let plan = Plan::new(array, slab);
    let is_forward = slab.axes.iter().all(|axis| axis.step > 0 || axis.count == 1);
    (is_forward && plan.outer.is_empty() && plan.inner.is_empty()).then_some(plan.start)
}

/// Positions along one axis, in bytes.
#[derive(Clone, Copy)]
struct Steps {
    distance: u64,
    count: u64,
}

/// The runs of bytes to read. Those of the inner axes form clusters of runs that are close together.
struct Plan {
    start: u64,
    run: u64,
    extent: u64,
    /// Outermost first.
    outer: Vec<Steps>,
    inner: Vec<Steps>,
}

impl Plan {
    /// Cannot overflow: all numbers are below the array's length in bytes, which fits into 64 bits.
    fn new(array: &Array, slab: &Slab) -> Plan {
        let size = u64::from(array.dtype.element.size);
        let mut plan = Plan { start: 0, run: size, extent: 0, outer: Vec::new(), inner: Vec::new() };
        let mut stride = size;
        let mut axes = Vec::new();
        let sizes = array.shape.iter().zip(&slab.axes);
        let fastest_first: Vec<_> = match array.order {
            Order::C => sizes.rev().collect(),
            Order::F => sizes.collect(),
        };
        for (size, axis) in fastest_first {
            let lowest = match axis.step {
                1.. => axis.start,
                _ => axis.start - axis.step.unsigned_abs() * (axis.count - 1),
            };
            plan.start += lowest * stride;
            let steps =
                Steps { distance: axis.step.unsigned_abs().saturating_mul(stride), count: axis.count };
            match steps {
                Steps { count: 1, .. } => {}
                Steps { distance, count } if axes.is_empty() && distance == plan.run => plan.run *= count,
                steps => axes.push(steps),
            }
            stride *= size;
        }
        plan.extent = plan.run;
        let mut near = 0;
        while let Some(steps) =
            axes.get(near).filter(|steps| steps.distance.saturating_sub(plan.extent) <= GAP)
        {
            plan.extent += steps.distance * (steps.count - 1);
            near += 1;
        }
        plan.outer = axes.split_off(near);
        plan.inner = axes;
        plan.outer.reverse();
        plan.inner.reverse();
        plan
    }
}

/// Iterates over the offsets of all combinations of positions, the last axis fastest.
struct Odometer<'a> {
    axes: &'a [Steps],
    at: Vec<u64>,
    done: bool,
}

impl<'a> Odometer<'a> {
    fn new(axes: &'a [Steps]) -> Odometer<'a> {
        Odometer { axes, at: vec![0; axes.len()], done: false }
    }

    fn next(&mut self) -> Option<u64> {
        if self.done {
            return None;
        }
        let offset = self.axes.iter().zip(&self.at).map(|(axis, at)| axis.distance * at).sum();
        self.done = true;
        for (axis, at) in self.axes.iter().zip(&mut self.at).rev() {
            *at += 1;
            if *at < axis.count {
                self.done = false;
                break;
            }
            *at = 0;
        }
        Some(offset)
    }
}

/// The bytes read last.
struct Window {
    bytes: Vec<u8>,
    start: u64,
}

impl Window {
    /// Fills `out` from `offset`, reading ahead up to `end`, the end of the cluster.
    fn copy(&mut self, out: &mut [u8], offset: u64, end: u64, read: Read<'_>) -> Result<()> {
        let len = out.len() as u64;
        if len >= WINDOW || offset + len >= end && !self.holds(offset, len) {
            return read(out, offset);
        }
        if !self.holds(offset, len) {
            self.bytes.resize((end - offset).min(WINDOW) as usize, 0);
            read(&mut self.bytes, offset)?;
            self.start = offset;
        }
        let from = (offset - self.start) as usize;
        out.copy_from_slice(self.bytes.get(from..from + out.len()).unwrap_or_default());
        Ok(())
    }

    fn holds(&self, offset: u64, len: u64) -> bool {
        offset >= self.start && offset + len <= self.start + self.bytes.len() as u64
    }
}

#[cfg(test)]
pub mod tests {
    use super::super::{Dtype, Element, Endian};
    use super::*;
    use proptest::prelude::*;

    fn bytes(len: u64) -> Vec<u8> {
        (0..len).map(|at| (at * 7 + at / 256) as u8).collect()
    }

    /// Element by element, in the order of the bytes.
    fn model(array: &Array, slab: &Slab, bytes: &[u8]) -> Vec<u8> {
        let size = u64::from(array.dtype.element.size);
        let mut axes: Vec<_> = array.shape.iter().zip(&slab.axes).collect();
        if array.order == Order::C {
            axes.reverse();
        }
        let (mut offsets, mut stride) = (vec![0], size);
        for (length, axis) in axes {
            let mut along: Vec<u64> = (0..axis.count)
                .map(|at| (axis.start as i64 + at as i64 * axis.step) as u64 * stride)
                .collect();
            along.sort_unstable();
            offsets = along.iter().flat_map(|far| offsets.iter().map(move |near| far + near)).collect();
            stride *= length;
        }
        offsets.iter().flat_map(|at| bytes[*at as usize..][..size as usize].to_vec()).collect()
    }

    fn array(shape: &[u64], order: Order, name: &str) -> Array {
        let dtype = Dtype { element: Element::from_name(name).unwrap(), endian: Endian::Little };
        Array::new(dtype, shape, order)
    }

    /// The elements read, and how many bytes and calls that took.
    fn read(array: &Array, slab: &Slab, bytes: &[u8]) -> (Vec<u8>, usize, usize) {
        let mut out = vec![0; (slab.len() * u64::from(array.dtype.element.size)) as usize];
        let (mut sum, mut calls) = (0, 0);
        fill(array, slab, &mut out, &mut |buf, at| {
            buf.copy_from_slice(&bytes[at as usize..][..buf.len()]);
            (sum, calls) = (sum + buf.len(), calls + 1);
            Ok(())
        })
        .unwrap();
        (out, sum, calls)
    }

    /// The size of an axis, and an index of it.
    pub fn axis() -> impl Strategy<Value = (u64, String)> {
        let bound = || prop::option::of(-9i64..9);
        let slice = (bound(), bound(), prop::sample::select(vec![-3i64, -2, -1, 1, 1, 1, 2, 3]));
        (1u64..8, slice, any::<bool>(), any::<prop::sample::Index>()).prop_map(|(size, slice, single, at)| {
            let text = |at: Option<i64>| at.map_or(String::new(), |at| at.to_string());
            let (start, stop, step) = slice;
            let slice = format!("{}:{}:{step}", text(start), text(stop));
            (size, if single { at.index(size as usize).to_string() } else { slice })
        })
    }

    proptest! {
        #[test]
        fn parts_are_those_of_the_whole(
            axes in prop::collection::vec(axis(), 1..5),
            f in any::<bool>(),
            name in prop::sample::select(vec!["int8", "float32", "complex128"]),
        ) {
            let shape: Vec<u64> = axes.iter().map(|(size, _)| *size).collect();
            let expression = axes.iter().map(|(_, text)| text.clone()).collect::<Vec<_>>().join(",");
            let array = array(&shape, if f { Order::F } else { Order::C }, name);
            let slab = Slab::parse(&expression, &shape).unwrap();
            let bytes = bytes(super::super::byte_len(array.dtype.element, &shape).unwrap());
            prop_assert_eq!(read(&array, &slab, &bytes).0, model(&array, &slab, &bytes));
        }
    }

    #[test]
    fn no_more_is_read_than_is_needed() {
        let shape = [40, 50, 600];
        let of_c = array(&shape, Order::C, "float32");
        let bytes = bytes(40 * 50 * 600 * 4);
        let cost = |expression: &str| {
            let slab = Slab::parse(expression, &shape).unwrap();
            let (got, sum, calls) = read(&of_c, &slab, &bytes);
            assert_eq!(got, model(&of_c, &slab, &bytes), "{expression}");
            (sum, calls)
        };
        assert_eq!(cost("3, 4, 5"), (4, 1));
        assert_eq!(cost("3, 4"), (2400, 1));
        assert_eq!(cost("3:5"), (2 * 50 * 2400, 1));
        assert_eq!(cost(":, 7, 0"), (40 * 4, 40));
        // Close together: a single window that ends with the last element.
        assert_eq!(cost("3, 4, ::2"), (599 * 4, 1));
        assert_eq!(cost("3, 4:1:-1, 100:110"), (2 * 2400 + 40, 1));
        let (sum, calls) = cost(":, :, ::3");
        assert!(sum < 40 * 50 * 2400 + 32 * 40 && calls < 25, "{sum} in {calls}");
    }
}
