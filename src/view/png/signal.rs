//! Signals as curves: in each column of pixels from the least to the greatest value of its time, one channel below the
//! other, each with a scale of its own. Of a long time only parts are read.

use super::plan::{Layout, Plan};
use crate::Result;
use crate::array::{AnyArray, Array, Slab, Span};
use crate::content::Content;

/// Number of values, of all channels together, that are sampled for a column, and number of places.
const VALUES: u64 = 4096;
const PLACES: u64 = 4;

const PAPER: u8 = 255;
const RULE: u8 = 215;
const INK: u8 = 40;

pub struct Signal<'a> {
    pub array: &'a Array,
    pub elements: &'a Content,
    pub lead: &'a [Span],
    pub channels: u64,
    pub samples: u64,
    pub layout: Layout,
}

/// The values at one column of pixels, from the least to the greatest; none if there are no numbers.
type Reach = Option<(f64, f64)>;

impl Signal<'_> {
    pub fn pixels(&self, plan: &Plan) -> Result<Vec<u8>> {
        let (width, height) = (plan.width as usize, plan.height as usize);
        let mut pixels = vec![PAPER; width * height];
        let strip = height / self.channels as usize;
        let columns = self.columns(width)?;
        for (channel, strip) in pixels.chunks_exact_mut(strip * width).enumerate() {
            let reaches = columns.iter().map(|reaches| reaches.get(channel).copied().flatten());
            draw(strip, width, &reaches.collect::<Vec<_>>());
        }
        Ok(pixels)
    }

    /// For each column of pixels the reach of each channel.
    fn columns(&self, width: usize) -> Result<Vec<Vec<Reach>>> {
        if self.samples <= width as u64 {
            return self.lines(width);
        }
        let edge = |column: usize| (self.samples as u128 * column as u128 / width as u128) as u64;
        (0..width).map(|column| self.reaches(edge(column), edge(column + 1))).collect()
    }

    /// Of some time, or of parts of it.
    fn reaches(&self, start: u64, end: u64) -> Result<Vec<Reach>> {
        let most = (VALUES / self.channels).max(PLACES);
        let len = end - start;
        if len <= most {
            return Ok(self.values(start, len)?.iter().map(|values| reach(values)).collect());
        }
        let mut all = vec![None; self.channels as usize];
        let count = most / PLACES;
        for place in 0..PLACES {
            let at = start + (len - count) / (PLACES - 1) * place;
            for (all, values) in all.iter_mut().zip(self.values(at, count)?) {
                *all = joined(*all, reach(&values));
            }
        }
        Ok(all)
    }

    /// Fewer samples than pixels: lines from one to the next.
    fn lines(&self, width: usize) -> Result<Vec<Vec<Reach>>> {
        let channels = self.values(0, self.samples)?;
        let last = (self.samples - 1) as f64;
        let step = last / (width - 1) as f64;
        let value = |values: &[f64], column: usize| {
            let at = step * column.min(width - 1) as f64;
            let (before, part) = (values.get(at as usize)?, at.fract());
            let after = values.get(at as usize + 1).filter(|_| part > 0.0).unwrap_or(before);
            // One by itself is a dot.
            let nearest = if part < 0.5 { before } else { after };
            let dot = if part.min(1.0 - part) <= step / 2.0 { *nearest } else { f64::NAN };
            let line = before * (1.0 - part) + after * part;
            [line, dot].into_iter().find(|value| value.is_finite())
        };
        let at = |values: &Vec<f64>, column| {
            let (here, next) = (value(values, column)?, value(values, column + 1));
            let next = next.unwrap_or(here);
            Some((here.min(next), here.max(next)))
        };
        Ok((0..width).map(|column| channels.iter().map(|values| at(values, column)).collect()).collect())
    }

    /// The values of each channel from a time on.
    fn values(&self, start: u64, count: u64) -> Result<Vec<Vec<f64>>> {
        let time = Span { start, step: 1, count, single: false };
        let channels = Span { start: 0, step: 1, count: self.channels, single: false };
        let last = match self.layout {
            Layout::Only => vec![time],
            Layout::Last => vec![channels, time],
            Layout::BeforeLast => vec![time, channels],
        };
        let slab = Slab { axes: self.lead.iter().cloned().chain(last).collect() };
        let part = AnyArray::read(self.array, &slab, &mut |buf, at| self.elements.fill(buf, at))?;
        let (values, channels) = (part.sizes(), self.channels as usize);
        Ok(match self.layout {
            Layout::BeforeLast => {
                (0..channels).map(|at| values.iter().skip(at).step_by(channels).copied().collect()).collect()
            }
            _ => values.chunks(count.max(1) as usize).map(<[f64]>::to_vec).collect(),
        })
    }
}

fn reach(values: &[f64]) -> Reach {
    let finite = values.iter().filter(|value| value.is_finite());
    finite.fold(None, |all, value| joined(all, Some((*value, *value))))
}

fn joined(a: Reach, b: Reach) -> Reach {
    match (a, b) {
        (Some(a), Some(b)) => Some((a.0.min(b.0), a.1.max(b.1))),
        (a, b) => a.or(b),
    }
}

/// Draws a channel: a line at zero, and the curve.
fn draw(strip: &mut [u8], width: usize, columns: &[Reach]) {
    let height = strip.len() / width;
    let Some((least, most)) = columns.iter().fold(None, |all, reach| joined(all, *reach)) else { return };
    let half = (most / 2.0 - least / 2.0).max(f64::MIN_POSITIVE);
    let (top, room) = ((height / 20) as f64, (height - 1 - 2 * (height / 20)) as f64);
    let row = |value: f64| {
        let part = if most > least { (most / 2.0 - value / 2.0) / half } else { 0.5 };
        (top + part * room).round() as usize
    };
    if least <= 0.0 && most >= 0.0 {
        let start = row(0.0) * width;
        strip.iter_mut().skip(start).take(width).for_each(|pixel| *pixel = RULE);
    }
    let mut before: Reach = None;
    for (column, reach) in columns.iter().enumerate() {
        // A curve has no gaps.
        let Some((low, high)) = *reach else {
            before = None;
            continue;
        };
        let (low, high) = before.map_or((low, high), |(least, most)| (low.min(most), high.max(least)));
        before = *reach;
        let pixels = strip.iter_mut().skip(column).step_by(width);
        pixels.skip(row(high)).take(row(low) - row(high) + 1).for_each(|pixel| *pixel = INK);
    }
}
