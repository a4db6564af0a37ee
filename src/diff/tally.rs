//! Compares elements one by one and counts the differences.

use super::{DiffCell, Options, Values};
use crate::array::{Dtype, Scalar, Times, Width};

/// The differences found so far.
#[derive(Default)]
pub struct Tally {
    pub compared: u64,
    differing: u64,
    /// The differing pair with the lowest rank, and that rank.
    first: Option<(u64, DiffCell, DiffCell)>,
    largest: Option<Scalar>,
    /// The type of the numbers, if they are dates or time spans.
    times: Option<Times>,
}

impl Tally {
    pub fn of(times: Option<Times>) -> Tally {
        Tally { times, ..Tally::default() }
    }

    /// Compares the elements in two byte strings, both with the same number of elements. `rank` returns the rank of the
    /// n-th one.
    pub fn elements(
        &mut self,
        (a, of_a): (&[u8], Dtype),
        (b, of_b): (&mut [u8], Dtype),
        options: Options,
        rank: &dyn Fn(u64) -> u64,
    ) {
        let is_same = of_a.element == of_b.element;
        if is_same && of_a.endian != of_b.endian {
            turn(b, of_b);
        }
        let of_b = if is_same { of_a } else { of_b };
        // The tolerance is in the unit of dates and spans, but their numbers count steps.
        let options = Options { atol: options.atol / self.unit().1 as f64, ..options };
        let (size, other) = (of_a.element.size as usize, of_b.element.size as usize);
        if size == 0 || other == 0 {
            return;
        }
        self.compared += (a.len() / size) as u64;
        if is_same && a == b {
            return;
        }
        for ((x, y), number) in a.chunks_exact(size).zip(b.chunks_exact(other)).zip(0..) {
            if is_same && x == y {
                continue;
            }
            let (Some(x), Some(y)) = (Scalar::from_bytes(x, of_a), Scalar::from_bytes(y, of_b)) else {
                let shown = |item: &[u8]| DiffCell::Item(item.to_vec(), None);
                self.differs(rank(number), || (shown(x), shown(y)));
                continue;
            };
            let times = self.times;
            let found = if times.is_some() && is_nat(x, y) { Some(UNKNOWN) } else { apart(x, y, options) };
            if let Some(apart) = found {
                let shown = |value| cell(value, times);
                self.differs(rank(number), || (shown(x), shown(y)));
                self.far(apart);
            }
        }
    }

    /// Records the distance of two cells.
    pub fn far(&mut self, apart: Scalar) {
        if !is_unknown(apart) {
            self.largest = Some(self.largest.map_or(apart, |most| further(most, apart)));
        }
    }

    /// The unit of the largest difference, and the number of units per step.
    fn unit(&self) -> (&'static str, u64) {
        self.times.map_or(("", 1), |times| times.unit())
    }

    /// Records two cells that differ.
    pub fn differs(&mut self, rank: u64, cells: impl FnOnce() -> (DiffCell, DiffCell)) {
        self.differing += 1;
        if self.first.as_ref().is_none_or(|(lowest, ..)| rank < *lowest) {
            let (a, b) = cells();
            self.first = Some((rank, a, b));
        }
    }

    /// The result, if anything differs; `position` converts a rank to a position.
    pub fn finish(self, position: impl FnOnce(u64) -> Vec<u64>) -> Option<Values> {
        let (unit, step) = self.unit();
        let (rank, a, b) = self.first?;
        Some(Values {
            differing: self.differing,
            compared: self.compared,
            first: position(rank),
            cells: (a, b),
            largest: self.largest.map(|largest| times(largest, step)),
            unit,
        })
    }
}

/// The unknown distance of elements that are not numbers.
pub const UNKNOWN: Scalar = Scalar::Float(f64::NAN, Width::W64);

fn is_unknown(distance: Scalar) -> bool {
    matches!(distance, Scalar::Float(number, _) if number.is_nan())
}

/// The larger of two distances.
pub fn further(a: Scalar, b: Scalar) -> Scalar {
    let is_second = match (whole(a), whole(b)) {
        (Some(a), Some(b)) => b > a,
        _ => is_unknown(a) || b.parts().0 > a.parts().0,
    };
    if is_second { b } else { a }
}

fn whole(distance: Scalar) -> Option<u128> {
    distance.try_into().ok()
}

/// Converts a distance in steps to units, with `step` units per step.
fn times(distance: Scalar, step: u64) -> Scalar {
    match whole(distance).and_then(|whole| whole.checked_mul(step.into())) {
        Some(whole) => whole.into(),
        None => Scalar::Float(distance.parts().0 * step as f64, Width::W64),
    }
}

fn cell(value: Scalar, times: Option<Times>) -> DiffCell {
    match (value, times) {
        (Scalar::Int(number), Some(times)) => DiffCell::Time(
            i64::try_from(number).map_or_else(|_| number.to_string(), |number| times.text_of(number)),
        ),
        _ => DiffCell::Number(value),
    }
}

/// True if one of them is NaT, to which tolerances do not apply.
pub fn is_nat(a: Scalar, b: Scalar) -> bool {
    [a, b].contains(&Scalar::Int(Times::NAT.into()))
}

/// Reverses the byte order of all elements.
fn turn(bytes: &mut [u8], dtype: Dtype) {
    let word = dtype.element.swapped().max(1) as usize;
    bytes.chunks_exact_mut(word).for_each(<[u8]>::reverse);
}

/// The distance of two values; None if they are equal within the tolerances.
pub fn apart(a: Scalar, b: Scalar, options: Options) -> Option<Scalar> {
    let between = |big: u128, int: i128| match u128::try_from(int) {
        Ok(int) => big.abs_diff(int),
        Err(_) => big.saturating_add(int.unsigned_abs()),
    };
    let whole = match (a, b) {
        (Scalar::Int(a), Scalar::Int(b)) => Some(a.abs_diff(b)),
        (Scalar::Int(int), Scalar::Big(big)) | (Scalar::Big(big), Scalar::Int(int)) => {
            Some(between(big, int))
        }
        (Scalar::Big(a), Scalar::Big(b)) => Some(a.abs_diff(b)),
        _ => None,
    };
    let (distance, size) = match whole {
        Some(0) => return None,
        Some(whole) => (whole as f64, b.parts().0.abs()),
        _ => {
            let ((re, im), (to_re, to_im)) = (a.parts(), b.parts());
            let same = |x: f64, y: f64| x == y || x.is_nan() && y.is_nan();
            if same(re, to_re) && same(im, to_im) {
                return None;
            }
            let none = |x: f64, y: f64| if same(x, y) { 0.0 } else { x - y };
            (none(re, to_re).hypot(none(im, to_im)), to_re.hypot(to_im))
        }
    };
    let is_near = distance.is_finite() && distance <= options.atol + options.rtol * size;
    (!is_near).then(|| whole.map_or(Scalar::Float(distance, Width::W64), Scalar::from))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::array::Width::W64;

    #[test]
    fn whole_distances_are_exact() {
        let exact = Options::default();
        let int = |number: i128| Scalar::Int(number);
        assert_eq!(apart(int(i64::MIN.into()), int(i64::MAX.into()), exact), Some(int((1 << 64) - 1)));
        assert_eq!(apart(Scalar::Big(u128::MAX), int(1), exact), Some(Scalar::Big(u128::MAX - 1)));
        assert_eq!(apart(int(-1), Scalar::Big(1 << 127), exact), Some(Scalar::Big((1 << 127) + 1)));
        assert_eq!(times(int((1 << 64) - 1), 25), int(25 * ((1 << 64) - 1)));
        assert_eq!(further(int((1 << 63) + 1), int(1 << 63)), int((1 << 63) + 1));
        assert_eq!(further(UNKNOWN, int(1)), int(1));
        assert_eq!(further(int(1), UNKNOWN), int(1));
        assert_eq!(further(Scalar::Float(0.5, W64), int(2)), int(2));
    }

    #[test]
    fn when_two_values_are_the_same() {
        let float = |value: f64| Scalar::Float(value, W64);
        let exact = Options::default();
        let same = |a, b, options| apart(a, b, options).is_none();
        assert!(same(float(f64::NAN), float(-f64::NAN), exact) && same(float(0.0), float(-0.0), exact));
        assert!(!same(float(f64::NAN), float(1.0), exact) && !same(float(1.0), float(1.0 + 1e-15), exact));
        let near = Options { rtol: 1e-3, atol: 0.0, meta: false };
        assert!(same(float(1000.5), float(1000.0), near) && !same(float(1002.0), float(1000.0), near));
        // The tolerance is relative to the second value, as in numpy.
        assert!(!same(float(0.0), float(f64::INFINITY), near));
        assert!(same(float(f64::INFINITY), float(f64::INFINITY), exact));
        let complex = |re, im| Scalar::Complex(re, im, W64);
        assert_eq!(apart(complex(3.0, 4.0), complex(0.0, 0.0), near), Some(Scalar::Float(5.0, W64)));
        assert!(same(complex(f64::NAN, 1.0), complex(f64::NAN, 1.0), exact));
        assert_eq!(
            apart(Scalar::Int(i64::MIN.into()), Scalar::Int(u64::MAX.into()), exact),
            Some(Scalar::Int(27_670_116_110_564_327_423))
        );
    }
}
