//! Which samples a span of time covers, as Onda.jl counts: sample i (from 0) is the one at time `i / rate`, and a span
//! has the samples from that of its start through that of its last nanosecond.

use std::ops::Range;

use super::table::{Signal, Span};

/// The samples of a signal that a span of its recording covers, as far as the signal's own span reaches; None if
/// there are none. One that ends where it starts has the nanosecond after it, one that ends before has no meaning.
/// Whether so many samples are there is not asked.
pub fn samples_of(signal: &Signal, wanted: Span) -> Option<Range<u64>> {
    let own = signal.span.filter(|own| own.stop > own.start)?;
    if wanted.stop < wanted.start {
        return None;
    }
    let start = wanted.start.max(own.start);
    let stop = wanted.stop.max(wanted.start + 1).min(own.stop);
    if start >= stop {
        return None;
    }
    let first = sample_at(signal.rate?, start - own.start)?;
    let last = sample_at(signal.rate?, stop - 1 - own.start)?;
    Some(first..last.checked_add(1)?)
}

/// The sample at a time in nanoseconds since the signal's start.
pub fn sample_at(rate: f64, time: i128) -> Option<u64> {
    let is_right = rate.is_finite() && rate > 0.0 && time >= 0;
    is_right
        .then(|| (time as f64 / 1e9 * rate).floor())
        .filter(|sample| *sample < 9e18)
        .map(|sample| sample as u64)
}

/// The number of samples that a row's span has room for.
pub fn from_span(signal: &Signal) -> Option<u64> {
    let (span, rate) = (signal.span?, signal.rate.filter(|rate| rate.is_finite() && *rate > 0.0)?);
    let duration = i64::try_from(span.stop - span.start).ok().filter(|duration| *duration > 0)?;
    Some((duration as f64 / 1e9 * rate).floor() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(rate: f64, own: (i128, i128), wanted: (i128, i128)) -> Option<Range<u64>> {
        let span = |(start, stop)| Span { start, stop };
        let signal = Signal { span: Some(span(own)), rate: Some(rate), ..Signal::default() };
        samples_of(&signal, span(wanted))
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
