//! Converts time spans to sample ranges like Onda.jl: sample i (from 0) is at time `i / rate`, and a span covers the
//! samples from that at its start through that at its last nanosecond.

use std::ops::Range;

use super::table::{Signal, Span};

/// The samples covered by a span of the signal's recording, clipped to the signal's own span; None if there are none.
/// An empty span counts as one nanosecond long; one that ends before it starts covers nothing. The data may have fewer
/// samples than this says.
pub fn samples_of(signal: &Signal, span: Span) -> Option<Range<u64>> {
    let signal_span = signal.span.filter(|signal_span| signal_span.stop > signal_span.start)?;
    if span.stop < span.start {
        return None;
    }
    let start = span.start.max(signal_span.start);
    let stop = span.stop.max(span.start + 1).min(signal_span.stop);
    if start >= stop {
        return None;
    }
    let first = sample_at(signal.rate?, start - signal_span.start)?;
    let last = sample_at(signal.rate?, stop - 1 - signal_span.start)?;
    Some(first..last.checked_add(1)?)
}

/// The sample at a time in nanoseconds since the signal's start.
pub fn sample_at(rate: f64, time: i128) -> Option<u64> {
    let is_valid = rate.is_finite() && rate > 0.0 && time >= 0;
    is_valid
        .then(|| (time as f64 / 1e9 * rate).floor())
        .filter(|sample| *sample < 9e18)
        .map(|sample| sample as u64)
}

/// The number of samples according to a row's span and rate.
pub fn from_span(signal: &Signal) -> Option<u64> {
    let (span, rate) = (signal.span?, signal.rate.filter(|rate| rate.is_finite() && *rate > 0.0)?);
    let duration = i64::try_from(span.stop - span.start).ok().filter(|duration| *duration > 0)?;
    Some((duration as f64 / 1e9 * rate).floor() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(rate: f64, signal_span: (i128, i128), requested: (i128, i128)) -> Option<Range<u64>> {
        let span = |(start, stop)| Span { start, stop };
        let signal = Signal { span: Some(span(signal_span)), rate: Some(rate), ..Signal::default() };
        samples_of(&signal, span(requested))
    }

    #[test]
    fn samples_of_spans() {
        const S: i128 = 1_000_000_000;
        assert_eq!(samples(100.0, (10 * S, 20 * S), (11 * S, 12 * S)), Some(100..200));
        assert_eq!(samples(100.0, (10 * S, 20 * S), (0, 10 * S + 1)), Some(0..1));
        assert_eq!(samples(100.0, (10 * S, 20 * S), (0, 10 * S)), None);
        assert_eq!(samples(100.0, (10 * S, 20 * S), (19 * S, 99 * S)), Some(900..1000));
        assert_eq!(samples(0.5, (0, 20 * S), (3 * S, 3 * S)), Some(1..2));
        assert_eq!(samples(128.3, (0, 3_117_692_908), (0, 3_117_692_908)), Some(0..400));
        assert_eq!(samples(1.0, (0, 20 * S), (5 * S, S)), None);
        assert_eq!(samples(1.0, (0, 20 * S), (5 * S, 5 * S - 1)), None);
        assert_eq!(samples(f64::NAN, (0, S), (0, S)), None);
        assert_eq!(samples(1.0, (S, 0), (0, S)), None);
    }
}
