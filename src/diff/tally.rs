//! Elements compared one by one, and what is counted of those that differ.

use super::{Cell, Options, Values};
use crate::array::{Dtype, Scalar, Times};

/// What was found so far.
#[derive(Default)]
pub struct Tally {
    pub compared: u64,
    differing: u64,
    /// With its rank; the lowest one counts.
    first: Option<(u64, Cell, Cell)>,
    largest: Option<f64>,
    /// What the numbers mean, if they are times.
    times: Option<Times>,
}

impl Tally {
    pub fn of(times: Option<Times>) -> Tally {
        Tally { times, ..Tally::default() }
    }

    /// Compares elements of two byte strings of the same number of them. `rank` tells that of the n-th one.
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
        // What may be between two is in the unit of times, and their numbers are steps.
        let options = Options { atol: options.atol / self.unit().1, ..options };
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
                let shown = |item: &[u8]| Cell::Text(item.escape_ascii().to_string());
                self.differs(rank(number), || (shown(x), shown(y)));
                continue;
            };
            let times = self.times;
            let found = if times.is_some() && is_nat(x, y) { Some(f64::NAN) } else { apart(x, y, options) };
            if let Some(apart) = found {
                let shown = |value| cell(value, times);
                self.differs(rank(number), || (shown(x), shown(y)));
                if !apart.is_nan() {
                    self.largest = Some(self.largest.map_or(apart, |most| most.max(apart)));
                }
            }
        }
    }

    /// That of the largest difference, and how many of it a step has.
    fn unit(&self) -> (&'static str, f64) {
        self.times.map_or(("", 1.0), |times| times.unit())
    }

    /// Notes two cells that differ.
    pub fn differs(&mut self, rank: u64, cells: impl FnOnce() -> (Cell, Cell)) {
        self.differing += 1;
        if self.first.as_ref().is_none_or(|(lowest, ..)| rank < *lowest) {
            let (a, b) = cells();
            self.first = Some((rank, a, b));
        }
    }

    /// What is to be told, if anything; `position` is that of a rank.
    pub fn finish(self, position: impl FnOnce(u64) -> Vec<u64>) -> Option<Values> {
        let (unit, step) = self.unit();
        let (rank, a, b) = self.first?;
        Some(Values {
            differing: self.differing,
            compared: self.compared,
            first: position(rank),
            cells: (a, b),
            largest: self.largest.map(|largest| largest * step),
            unit,
        })
    }
}

fn cell(value: Scalar, times: Option<Times>) -> Cell {
    match (value, times) {
        (Scalar::Int(number), Some(times)) => {
            Cell::Time(i64::try_from(number).map_or_else(|_| number.to_string(), |number| times.said(number)))
        }
        _ => Cell::Number(value),
    }
}

/// Is one of them no time? It is near to nothing.
fn is_nat(a: Scalar, b: Scalar) -> bool {
    [a, b].contains(&Scalar::Int(Times::NAT.into()))
}

/// Turns the byte order of all elements round.
fn turn(bytes: &mut [u8], dtype: Dtype) {
    let word = dtype.element.swapped().max(1) as usize;
    bytes.chunks_exact_mut(word).for_each(<[u8]>::reverse);
}

/// How far two values are apart; None if they are the same, or near enough.
fn apart(a: Scalar, b: Scalar, options: Options) -> Option<f64> {
    let (distance, size) = match (a, b) {
        (Scalar::Int(a), Scalar::Int(b)) => {
            if a == b {
                return None;
            }
            (a.abs_diff(b) as f64, (b as f64).abs())
        }
        (Scalar::Int(a), Scalar::Big(b)) => (b.saturating_sub(a.max(0) as u128) as f64, b as f64),
        (Scalar::Big(a), Scalar::Int(b)) => (a.saturating_sub(b.max(0) as u128) as f64, b as f64),
        (Scalar::Big(a), Scalar::Big(b)) => {
            if a == b {
                return None;
            }
            (a.abs_diff(b) as f64, b as f64)
        }
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
    (!is_near).then_some(distance)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::array::Width::W64;

    #[test]
    fn when_two_values_are_the_same() {
        let float = |value: f64| Scalar::Float(value, W64);
        let exact = Options::default();
        let same = |a, b, options| apart(a, b, options).is_none();
        assert!(same(float(f64::NAN), float(-f64::NAN), exact) && same(float(0.0), float(-0.0), exact));
        assert!(!same(float(f64::NAN), float(1.0), exact) && !same(float(1.0), float(1.0 + 1e-15), exact));
        let near = Options { rtol: 1e-3, atol: 0.0, meta: false };
        assert!(same(float(1000.5), float(1000.0), near) && !same(float(1002.0), float(1000.0), near));
        // The second one counts, as in numpy.
        assert!(!same(float(0.0), float(f64::INFINITY), near));
        assert!(same(float(f64::INFINITY), float(f64::INFINITY), exact));
        let complex = |re, im| Scalar::Complex(re, im, W64);
        assert_eq!(apart(complex(3.0, 4.0), complex(0.0, 0.0), near), Some(5.0));
        assert!(same(complex(f64::NAN, 1.0), complex(f64::NAN, 1.0), exact));
        assert_eq!(
            apart(Scalar::Int(i64::MIN.into()), Scalar::Int(u64::MAX.into()), exact),
            Some(27670116110564327423.0)
        );
    }
}
