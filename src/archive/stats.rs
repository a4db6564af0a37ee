//! Minimum, maximum, mean and counts of an array in one pass over its bytes, which need not fit into memory.
//! Whole numbers are added exactly; floating-point numbers piece by piece, so that errors do not pile up.

use std::ops::ControlFlow;

use super::Dataset;
use crate::Result;
use crate::array::{Dtype, Element, Kind, float, int, narrow};

/// A minimum or maximum: whole numbers exactly.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Extreme {
    Int(i128),
    Float(f64),
}

/// What the values of an array are like. NaNs are counted and otherwise left out; complex numbers have no
/// minimum and maximum, and their mean is that of the real and of the imaginary parts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stats {
    pub count: u64,
    pub min: Option<Extreme>,
    pub max: Option<Extreme>,
    /// Of complex numbers the real part.
    pub mean: Option<f64>,
    /// Of complex numbers the imaginary part.
    pub imaginary_mean: Option<f64>,
    pub nans: u64,
    pub zeros: u64,
}

impl Dataset<'_> {
    /// Is it an array of numbers of up to 64 bits (complex ones of 128)?
    pub fn has_stats(&self) -> bool {
        self.description().array.as_ref().is_some_and(|array| can_be_summed(array.dtype))
    }

    /// Computes statistics in one pass over the array.
    ///
    /// # Errors
    /// If the dataset is not an array of numbers of up to 64 bits, is damaged or cannot be read.
    pub fn stats(&self) -> Result<Stats> {
        let array = self.description().array.as_ref();
        let array = array.filter(|array| can_be_summed(array.dtype));
        let array = array.ok_or_else(|| {
            self.other(&format!("is {}, not an array of numbers of up to 64 bits", self.kind()))
        })?;
        let mut sums = Sums::default();
        let size = array.dtype.element.size as usize;
        // Elements do not end where pieces do.
        let mut rest: Vec<u8> = Vec::new();
        self.pieces(&mut |piece| {
            let (head, body) =
                piece.split_at(if rest.is_empty() { 0 } else { (size - rest.len()).min(piece.len()) });
            rest.extend_from_slice(head);
            if rest.len() == size {
                sums.add(&rest, array.dtype);
                rest.clear();
            }
            let whole = body.len() - body.len() % size;
            let (whole, tail) = body.split_at(whole);
            sums.add(whole, array.dtype);
            rest.extend_from_slice(tail);
            ControlFlow::Continue(())
        })?;
        Ok(sums.finish(array.dtype))
    }
}

#[derive(Default)]
struct Sums {
    stats: Stats,
    whole: i128,
    real: f64,
    imaginary: f64,
}

impl Sums {
    fn add(&mut self, bytes: &[u8], dtype: Dtype) {
        let size = dtype.element.size as usize;
        match dtype.element.kind {
            Kind::Bool => bytes.iter().for_each(|byte| self.int(i128::from(*byte != 0))),
            Kind::Int | Kind::Uint => bytes.chunks_exact(size).for_each(|item| self.int(int(item, dtype))),
            Kind::Float => {
                self.floats(bytes.chunks_exact(size).map(|item| (float(item, dtype.endian), 0.0)), false)
            }
            Kind::Bfloat | Kind::Float8(_) => {
                let narrow = bytes.chunks_exact(size).map(|item| (narrow(item, dtype).into(), 0.0));
                self.floats(narrow, false);
            }
            Kind::Opaque => {}
            Kind::Complex => {
                let parts = bytes.chunks_exact(size).map(|item| {
                    let (real, imaginary) = item.split_at(size / 2);
                    (float(real, dtype.endian), float(imaginary, dtype.endian))
                });
                self.floats(parts, true);
            }
        }
    }

    fn int(&mut self, value: i128) {
        let stats = &mut self.stats;
        stats.count += 1;
        stats.zeros += u64::from(value == 0);
        // i128 has room for 2^63 numbers of 64 bits.
        self.whole += value;
        if !matches!(stats.min, Some(Extreme::Int(min)) if min <= value) {
            stats.min = Some(Extreme::Int(value));
        }
        if !matches!(stats.max, Some(Extreme::Int(max)) if max >= value) {
            stats.max = Some(Extreme::Int(value));
        }
    }

    fn floats(&mut self, values: impl Iterator<Item = (f64, f64)>, complex: bool) {
        let (mut real, mut imaginary) = (0.0, 0.0);
        let stats = &mut self.stats;
        for value in values {
            stats.count += 1;
            if value.0.is_nan() || value.1.is_nan() {
                stats.nans += 1;
                continue;
            }
            stats.zeros += u64::from(value == (0.0, 0.0));
            real += value.0;
            imaginary += value.1;
            if !complex && !matches!(stats.min, Some(Extreme::Float(min)) if min <= value.0) {
                stats.min = Some(Extreme::Float(value.0));
            }
            if !complex && !matches!(stats.max, Some(Extreme::Float(max)) if max >= value.0) {
                stats.max = Some(Extreme::Float(value.0));
            }
        }
        self.real += real;
        self.imaginary += imaginary;
    }

    fn finish(mut self, dtype: Dtype) -> Stats {
        let valid = (self.stats.count - self.stats.nans) as f64;
        if valid > 0.0 {
            self.stats.mean = Some(match dtype.element.kind {
                kind if kind.is_float() || kind == Kind::Complex => self.real / valid,
                _ => self.whole as f64 / valid,
            });
            if dtype.element.kind == Kind::Complex {
                self.stats.imaginary_mean = Some(self.imaginary / valid);
            }
        }
        self.stats
    }
}

/// Sums of whole numbers are exact, which those of 128 bits cannot be.
fn can_be_summed(dtype: Dtype) -> bool {
    let Element { kind, size } = dtype.element;
    kind != Kind::Opaque && (size <= 8 || kind == Kind::Complex)
}
