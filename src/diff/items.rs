//! Compares non-numeric elements by value: text, dates, and structures field by field.

use std::sync::Arc;

use super::tally::{Tally, UNKNOWN, apart, further, is_nat};
use super::{DiffCell, Options};
use crate::array::meaning::elements;
use crate::array::{self, Array, Meaning, Record, Scalar};

/// The type of an array's non-numeric elements.
pub struct Items {
    record: Arc<Record>,
    meaning: Arc<Meaning>,
    size: usize,
}

impl Items {
    /// None if the type is unknown.
    pub fn of(array: &Array) -> Option<Items> {
        let record = array.record.clone()?;
        Some(Items { meaning: Meaning::of(&record).into(), record, size: array.dtype.element.size as usize })
    }

    pub fn are_like(&self, other: &Items) -> bool {
        self.meaning.is_like(&other.meaning)
    }

    /// The type, with the names of the fields.
    pub fn name(&self) -> String {
        if self.record.is_plain() { self.record.to_string() } else { self.record.descr() }
    }

    fn cell(&self, item: &[u8]) -> DiffCell {
        DiffCell::Item(item.to_vec(), Some(self.meaning.clone()))
    }
}

impl Tally {
    /// Compares the elements in two byte strings, both with the same number of elements. `rank` returns the rank of the
    /// n-th one.
    pub fn items(
        &mut self,
        [of_a, of_b]: &[Items; 2],
        [a, b]: [&[u8]; 2],
        options: Options,
        rank: &dyn Fn(u64) -> u64,
    ) {
        let is_same = of_a.meaning == of_b.meaning;
        self.compared += (a.len() / of_a.size.max(1)) as u64;
        if is_same && a == b {
            return;
        }
        let pairs = a.chunks_exact(of_a.size.max(1)).zip(b.chunks_exact(of_b.size.max(1)));
        for ((x, y), number) in pairs.zip(0..).filter(|((x, y), _)| !is_same || x != y) {
            if let Some(distance) = differs((&of_a.meaning, x), (&of_b.meaning, y), options) {
                self.differs(rank(number), || (of_a.cell(x), of_b.cell(y)));
                self.far(distance);
            }
        }
    }
}

/// The bytes of an element, and their meaning.
type Item<'i> = (&'i Meaning, &'i [u8]);

/// None if two elements of equivalent types are equal; otherwise the largest distance of their numbers, [`UNKNOWN`] if
/// there is none.
fn differs(a: Item<'_>, b: Item<'_>, options: Options) -> Option<Scalar> {
    let bytes = |x: &[u8], y: &[u8]| (x != y).then_some(UNKNOWN);
    match (a, b) {
        ((Meaning::Cell(of_x), x), (Meaning::Cell(of_y), y)) => match (*of_x, *of_y) {
            (array::Cell::Number(of_x), array::Cell::Number(of_y)) => {
                match (Scalar::from_bytes(x, of_x), Scalar::from_bytes(y, of_y)) {
                    (Some(x), Some(y)) => apart(x, y, options),
                    _ => bytes(x, y),
                }
            }
            (array::Cell::Unicode(_, of_x), array::Cell::Unicode(_, of_y)) if of_x != of_y => {
                let (x, y) = (x.chunks_exact(4), y.chunks_exact(4));
                let is_same = x.zip(y).all(|(x, y)| x.iter().eq(y.iter().rev()));
                (!is_same).then_some(UNKNOWN)
            }
            _ => bytes(x, y),
        },
        ((Meaning::Times(of_x), x), (Meaning::Times(of_y), y)) => {
            match (Scalar::from_bytes(x, of_x.dtype()), Scalar::from_bytes(y, of_y.dtype())) {
                (Some(x), Some(y)) if is_nat(x, y) => (x != y).then_some(UNKNOWN),
                // No distance, because its unit would apply to this field only.
                (Some(x), Some(y)) => {
                    let options = Options { atol: options.atol / of_x.unit().1 as f64, ..options };
                    apart(x, y, options).map(|_| UNKNOWN)
                }
                _ => bytes(x, y),
            }
        }
        ((Meaning::Fields(of_x), x), (Meaning::Fields(of_y), y)) => {
            let pairs = of_x.iter().zip(of_y);
            let found = pairs.map(|(p, q)| differs((&p.of, p.of_item(x)), (&q.of, q.of_item(y)), options));
            found.flatten().reduce(further)
        }
        ((Meaning::List(shape, of_x), x), (Meaning::List(_, of_y), y)) => {
            let pairs = elements(shape, x).zip(elements(shape, y));
            pairs.filter_map(|(x, y)| differs((of_x, x), (of_y, y), options)).reduce(further)
        }
        ((_, x), (_, y)) => bytes(x, y),
    }
}
