//! Which part of an array is shown, and how large the picture is.

use super::MAX_PIXELS;
use crate::array::text::Texts;
use crate::array::{Array, Element, Kind, Slab, Span};

/// Maximum number of channels of a signal, and minimum ratio of samples to channels: a picture that is as long as that
/// has more lines than a signal of few channels.
const SIGNALS: [(u64, u64); 2] = [(256, 100), (32, 16)];
/// Pixels of a short axis that are left when a long one is sampled.
const SHORT: u64 = 256;
/// The height of one channel at most.
const STRIP: u64 = 400;

pub struct Plan {
    pub width: u32,
    pub height: u32,
    /// Bytes of a pixel.
    pub channels: u32,
    pub what: Picture,
}

pub enum Picture {
    /// The part of the array that is the picture; its last axis is the colours if there are any.
    Image(Slab),
    /// For each channel a strip. `lead` is what is before the last axes.
    Signal { lead: Vec<Span>, channels: u64, samples: u64, layout: Layout },
}

/// Where the axis of time is.
#[derive(Clone, Copy, PartialEq)]
pub enum Layout {
    Only,
    /// Channels are the axis before it.
    Last,
    /// Channels are the last axis.
    BeforeLast,
}

impl Plan {
    /// None for an array without elements, or of elements that are no numbers.
    pub fn of(array: &Array) -> Option<Plan> {
        Texts::of(array.dtype.element)?;
        let shape = &*array.shape;
        if shape.contains(&0) {
            return None;
        }
        match *shape {
            [] => Some(Plan {
                width: 1,
                height: 1,
                channels: 1,
                what: Picture::Image(Slab { axes: Vec::new() }),
            }),
            [samples] => Some(signal(Vec::new(), 1, samples, Layout::Only)),
            [.., height, width, colours] if array.dtype.element == BYTE && matches!(colours, 3 | 4) => {
                let mut plan = image(middle(shape, 3), height, width);
                if let Picture::Image(slab) = &mut plan.what {
                    slab.axes.push(whole(colours, 1));
                }
                Some(Plan { channels: colours as u32, ..plan })
            }
            [.., height, width] => Some(match is_signal(height, width) {
                false => image(middle(shape, 2), height, width),
                true if height < width => signal(middle(shape, 2), height, width, Layout::Last),
                true => signal(middle(shape, 2), width, height, Layout::BeforeLast),
            }),
        }
    }

    /// Bytes of a line of pixels.
    pub fn line(&self) -> usize {
        self.width as usize * self.channels as usize
    }
}

const BYTE: Element = Element { kind: Kind::Uint, size: 1 };

fn is_signal(height: u64, width: u64) -> bool {
    let (short, long) = (height.min(width), height.max(width));
    SIGNALS.iter().any(|(most, times)| short <= *most && long / times >= short)
}

/// The middle of all axes but the last ones.
fn middle(shape: &[u64], last: usize) -> Vec<Span> {
    let lead = shape.iter().take(shape.len() - last);
    lead.map(|size| Span { start: size / 2, step: 1, count: 1, single: true }).collect()
}

/// Every `step`th of an axis.
fn whole(size: u64, step: u64) -> Span {
    Span { start: 0, step: step as i64, count: size.div_ceil(step), single: false }
}

fn image(mut axes: Vec<Span>, height: u64, width: u64) -> Plan {
    let step = height.max(width).div_ceil(MAX_PIXELS);
    let step = |size: u64| step.min((size / SHORT).max(1)).max(size.div_ceil(MAX_PIXELS));
    let (rows, columns) = (whole(height, step(height)), whole(width, step(width)));
    let (height, width) = (rows.count as u32, columns.count as u32);
    axes.extend([rows, columns]);
    Plan { width, height, channels: 1, what: Picture::Image(Slab { axes }) }
}

fn signal(lead: Vec<Span>, channels: u64, samples: u64, layout: Layout) -> Plan {
    let strip = (MAX_PIXELS / channels).min(STRIP);
    let (width, height) = (MAX_PIXELS as u32, (channels * strip) as u32);
    Plan { width, height, channels: 1, what: Picture::Signal { lead, channels, samples, layout } }
}
