//! A part of an array as bytes: its elements in the array's own order and byte order. Reading a range of them reads no
//! more of the array than the range needs.

use std::ops::Range;
use std::sync::Arc;

use super::{Computed, Content, Units};
use crate::array::{self, Array, Order, Slab, Span, byte_len};
use crate::{Error, Result};

/// The elements of `slab`, which fits `array`, whose elements are `whole`.
pub fn hyperslab(whole: Content, array: &Array, slab: &Slab) -> Result<Content> {
    let element = array.dtype.element;
    let too_large = || Error::Other("a part of an array does not fit into 64 bits".into());
    let len = byte_len(element, &slab.shape()).ok_or_else(too_large)?;
    if let Content::Broken { error, .. } = whole {
        return Ok(Content::Broken { claimed: len, error });
    }
    if len == 0 {
        return Ok(Content::Inline(Arc::default()));
    }
    if let Some(start) = array::run(array, slab) {
        return Ok(Content::Part { whole: Arc::new(whole), range: start..start + len });
    }
    Ok(Content::Computed(Arc::new(Hyperslab { whole, array: array.clone(), slab: slab.clone(), len })))
}

struct Hyperslab {
    whole: Content,
    array: Array,
    /// It has elements.
    slab: Slab,
    len: u64,
}

impl Hyperslab {
    fn size(&self) -> u64 {
        self.array.dtype.element.size.into()
    }

    /// The axes, the one that runs slowest first.
    fn axes(&self) -> Vec<usize> {
        let all = 0..self.slab.axes.len();
        if self.array.order == Order::C { all.collect() } else { all.rev().collect() }
    }

    /// Fills `buf` with whole elements from number `first` on.
    fn elements(&self, buf: &mut [u8], first: u64) -> Result<()> {
        let end = first + buf.len() as u64 / self.size();
        let axes = self.axes();
        let mut rest = buf;
        for slab in boxes(&self.slab, &axes, first..end) {
            let (now, after) = rest.split_at_mut((slab.len() * self.size()) as usize);
            array::fill(&self.array, &slab, now, &mut |buf, offset| self.whole.fill(buf, offset))?;
            turn(now, &slab, &axes, self.size() as usize);
            rest = after;
        }
        Ok(())
    }

    /// Fills `buf`, which lies in one element, from `skip` bytes of it on.
    fn within(&self, buf: &mut [u8], number: u64, skip: u64) -> Result<()> {
        let one = boxes(&self.slab, &self.axes(), number..number + 1);
        let start = one.first().and_then(|one| array::run(&self.array, one));
        let start = start.ok_or_else(|| Error::Other("an element is in several places".into()))?;
        self.whole.fill(buf, start + skip)
    }
}

impl Computed for Hyperslab {
    fn known_len(&self) -> Option<u64> {
        Some(self.len)
    }

    fn fill(&self, buf: &mut [u8], offset: u64) -> Result<()> {
        let elements = Units { size: self.size(), len: self.len, max_chunk: u64::MAX };
        elements.fill(buf, offset, &|buf, first| self.elements(buf, first), &|buf, number, skip| {
            self.within(buf, number, skip)
        })
    }
}

/// Parts of `slab` that together are its elements in `range`, in their order.
fn boxes(slab: &Slab, axes: &[usize], range: Range<u64>) -> Vec<Slab> {
    let mut found = Vec::new();
    cut(slab.clone(), axes, range, &mut found);
    found
}

fn cut(slab: Slab, axes: &[usize], range: Range<u64>, found: &mut Vec<Slab>) {
    if range.is_empty() {
        return;
    }
    let Some((axis, inner)) = axes.split_first() else { return found.push(slab) };
    let each = count(&slab, inner);
    let (first, last) = (range.start / each, (range.end - 1) / each);
    let at = |number: u64, count: u64| narrowed(&slab, *axis, number, count);
    if first == last {
        return cut(at(first, 1), inner, range.start - first * each..range.end - first * each, found);
    }
    let whole = range.start.div_ceil(each)..range.end / each;
    if first < whole.start {
        cut(at(first, 1), inner, range.start - first * each..each, found);
    }
    if !whole.is_empty() {
        found.push(at(whole.start, whole.end - whole.start));
    }
    if last >= whole.end {
        cut(at(last, 1), inner, 0..range.end - last * each, found);
    }
}

fn count(slab: &Slab, axes: &[usize]) -> u64 {
    axes.iter().filter_map(|axis| slab.axes.get(*axis)).map(|span| span.count).product()
}

/// A range of positions of one axis.
fn narrowed(slab: &Slab, axis: usize, first: u64, count: u64) -> Slab {
    let mut slab = slab.clone();
    if let Some(span) = slab.axes.get_mut(axis) {
        // A position of the array, like all of them.
        let start = i128::from(span.start) + i128::from(first) * i128::from(span.step);
        *span = Span { start: start as u64, count, ..*span };
    }
    slab
}

/// Elements come in the order in which they lie in the array: turns those axes round that run backwards.
fn turn(bytes: &mut [u8], slab: &Slab, axes: &[usize], size: usize) {
    for (depth, axis) in axes.iter().enumerate() {
        let Some(span) = slab.axes.get(*axis).filter(|span| span.step < 0 && span.count > 1) else {
            continue;
        };
        let inner = count(slab, axes.get(depth + 1..).unwrap_or_default()) as usize * size;
        for block in bytes.chunks_exact_mut(inner * span.count as usize) {
            reverse(block, inner);
        }
    }
}

/// Turns the order of the pieces of `size` bytes round.
fn reverse(block: &mut [u8], size: usize) {
    let mut rest = block;
    while rest.len() >= 2 * size {
        let (first, after) = rest.split_at_mut(size);
        let (middle, last) = after.split_at_mut(after.len() - size);
        first.swap_with_slice(last);
        rest = middle;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::array::{AnyArray, Dtype, Element, Endian, axis};
    use proptest::prelude::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    fn array(shape: &[u64], order: Order, name: &str) -> (Array, Vec<u8>) {
        let element = Element::from_name(name).unwrap();
        let array = Array::new(Dtype { element, endian: Endian::NATIVE }, shape, order);
        let len = byte_len(element, shape).unwrap();
        (array, (0..len).map(|at| (at * 7 + at / 256) as u8).collect())
    }

    /// As the library reads it, in the order of the array.
    fn model(array: &Array, slab: &Slab, bytes: &[u8]) -> Vec<u8> {
        let part = AnyArray::read(array, slab, &mut |buf, at| {
            buf.copy_from_slice(&bytes[at as usize..][..buf.len()]);
            Ok(())
        });
        let AnyArray::Uint16(part) = part.unwrap() else { panic!() };
        let part = if array.order == Order::F { part.reversed_axes() } else { part };
        part.iter().flat_map(|element| element.to_ne_bytes()).collect()
    }

    proptest! {
        #[test]
        fn any_range_is_that_of_the_part_in_memory(
            axes in prop::collection::vec(axis(), 0..5),
            f in any::<bool>(),
            from in any::<prop::sample::Index>(),
            size in 0usize..400,
        ) {
            let shape: Vec<u64> = axes.iter().map(|(size, _)| *size).collect();
            let expression = axes.iter().map(|(_, text)| text.as_str()).chain(["..."]).collect::<Vec<_>>().join(",");
            let (array, bytes) = array(&shape, if f { Order::F } else { Order::C }, "uint16");
            let slab = Slab::parse(&expression, &shape).unwrap();
            let part = hyperslab(Content::Inline(bytes.as_slice().into()), &array, &slab).unwrap();
            let want = model(&array, &slab, &bytes);
            prop_assert_eq!(part.known_len(), Some(want.len() as u64));
            let from = from.index(want.len() + 1);
            let end = (from + size).min(want.len());
            let read = part.read(from as u64, size).unwrap();
            prop_assert_eq!(read.to_vec(), &want[from..end]);
            let all = part.read(0, want.len()).unwrap();
            prop_assert_eq!(all.to_vec(), &want[..]);
        }
    }

    #[test]
    fn what_lies_together_is_a_piece_of_the_whole() {
        for (order, expression, is_piece) in [
            (Order::C, "2:4", true),
            (Order::C, "1, 1:3", true),
            (Order::C, ":, 1", false),
            (Order::C, "2:4:-1", true),
            (Order::C, "::-1", false),
            (Order::F, ":, 1", true),
            (Order::F, ":, 1:3", true),
            (Order::F, "1", false),
            (Order::F, "...", true),
        ] {
            let (array, bytes) = array(&[5, 6], order, "uint16");
            let slab = Slab::parse(expression, &array.shape).unwrap();
            let part = hyperslab(Content::Inline(bytes.into()), &array, &slab).unwrap();
            assert_eq!(!matches!(part, Content::Computed(_)), is_piece, "{order} {expression}");
        }
    }

    /// Counts what is read of it.
    struct Counted {
        bytes: Vec<u8>,
        read: AtomicUsize,
    }

    impl Computed for Counted {
        fn known_len(&self) -> Option<u64> {
            Some(self.bytes.len() as u64)
        }
        fn fill(&self, buf: &mut [u8], offset: u64) -> Result<()> {
            self.read.fetch_add(buf.len(), Ordering::Relaxed);
            buf.copy_from_slice(&self.bytes[offset as usize..][..buf.len()]);
            Ok(())
        }
    }

    #[test]
    fn no_more_is_read_than_is_needed() {
        let shape = [64, 50, 6000];
        let (array, bytes) = array(&shape, Order::C, "uint16");
        let whole = Arc::new(Counted { bytes, read: AtomicUsize::new(0) });
        let cost = |expression: &str, range: Range<usize>| {
            let slab = Slab::parse(expression, &shape).unwrap();
            let part = hyperslab(Content::Computed(whole.clone()), &array, &slab).unwrap();
            part.read(range.start as u64, range.len()).unwrap();
            whole.read.swap(0, Ordering::Relaxed)
        };
        assert_eq!(cost(":, 7, 0", 0..128), 64 * 2);
        assert_eq!(cost(":, 7, 0", 10..12), 2);
        assert_eq!(cost("::-1, 7, 0", 9..12), 1 + 2);
        assert_eq!(cost("3, 4", 100..200), 100);
        // Where elements lie closer than a page, what is between them is read too.
        assert_eq!(cost("3, 4, ::2", 0..3000), 2 * 2999);
        assert_eq!(cost("::8, ::10, 3000:3010", 40..60), 20);
    }
}
