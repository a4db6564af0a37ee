//! Part of an array as grey levels, or as the colours it holds.

use super::plan::Plan;
use crate::Error;
use crate::Result;
use crate::array::{AnyArray, Array, Endian, Slab};
use crate::content::Content;

/// Of a hundred values as many are darker than black, and brighter than white.
const CUT: usize = 1;

pub fn pixels(array: &Array, elements: &Content, slab: &Slab, plan: &Plan) -> Result<Vec<u8>> {
    let part = AnyArray::read(array, slab, &mut |buf, at| elements.fill(buf, at))?;
    if plan.channels == 1 {
        return Ok(greys(&part.sizes()));
    }
    let mut colours = Vec::with_capacity(part.len());
    part.write(Endian::NATIVE, &mut colours).map_err(|error| Error::Other(error.to_string()))?;
    Ok(colours)
}

fn greys(values: &[f64]) -> Vec<u8> {
    let (black, white) = limits(values);
    // Halves, because the difference of two numbers can be too large for one.
    let scale = 255.0 / (white / 2.0 - black / 2.0);
    let grey = |value: &f64| match value {
        value if value.is_nan() => 0,
        value if black == white => {
            if *value > white {
                255
            } else if *value < black {
                0
            } else {
                128
            }
        }
        // Casts end at 0 and 255.
        value => ((value / 2.0 - black / 2.0) * scale).round() as u8,
    };
    values.iter().map(grey).collect()
}

/// What is black and what is white: percentiles, or the extremes where those are the same.
fn limits(values: &[f64]) -> (f64, f64) {
    let mut finite: Vec<f64> = values.iter().copied().filter(|value| value.is_finite()).collect();
    let Some(last) = finite.len().checked_sub(1) else { return (0.0, 0.0) };
    let mut at = |place: usize| *finite.select_nth_unstable_by(place, f64::total_cmp).1;
    let cut = last * CUT / 100;
    let (black, white) = (at(cut), at(last - cut));
    if black < white { (black, white) } else { (at(0), at(last)) }
}
