//! `NAME.png`: something to look at, of at most [`MAX_PIXELS`] pixels in each direction. What is larger is sampled, not
//! read whole (a compressed dataset is decoded up to the last sample). The pixels are stored without compression, so
//! that the length is known before they are made.
//!
//! - Two axes: rows and columns in greys, from black at the 1st to white at the 99th percentile of what is shown.
//! - Three axes, the last one of 3 or 4, of bytes: colours as they are.
//! - No axis: one grey pixel.
//! - More axes: what is in the middle of the first ones.
//! - One axis, or signals (of two axes one at least a hundred times as long as the other): for each pixel along the
//!   time the least and the greatest value.
//!
//! NaN is black or a gap, infinities are at the ends of the scale. Complex numbers are shown by absolute value.

mod encode;
mod image;
mod kept;
mod plan;
mod signal;
#[cfg(test)]
mod tests;

use self::kept::Rendered;
use self::plan::Plan;
use super::{Dataset, Representation, View};
use crate::Result;
use crate::content::Content;
use crate::tree::Description;

/// Pixels along an axis at most.
const MAX_PIXELS: u64 = 1600;

pub struct Png;

impl View for Png {
    fn kind(&self) -> &'static str {
        "png"
    }

    fn extension(&self) -> &'static str {
        ".png"
    }

    /// What has no elements has no picture.
    fn shows(&self, about: &Description) -> bool {
        about.array.as_ref().is_some_and(|array| Plan::of(array).is_some())
    }

    fn represent(&self, dataset: &Dataset) -> Result<Representation> {
        let array = dataset.about().array.as_ref();
        let plan = array.and_then(|array| Some((array, Plan::of(array)?)));
        let (array, plan) = plan.ok_or(crate::Error::NotFound)?;
        Ok(Representation::File(match dataset.elements(array)? {
            broken @ Content::Broken { .. } => broken,
            elements => Rendered::content(array.clone(), elements, plan),
        }))
    }
}
