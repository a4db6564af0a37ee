//! The serialized form of an index, saved for the next mount. Little-endian:
//!
//! | bytes | |
//! |---|---|
//! | 8, 8 | decoded length, offset in the container where the stream's trailer ends |
//! | 16 | the first 8 bytes of the stream, and the last 8 of its trailer (its checksum) |
//! | 4 + 4 n | number of blocks, and the checksum of each |
//! | 4 | number of seek points, and for each: |
//! | 8, 8, 8 | its position, its offset in the container, where its member begins |
//! | 4, 1, 1 | checksum, bits, wrapper (0 zlib, 1 gzip, 2 none) |
//! | 0 or 4 | without a wrapper, the CRC-32 stored in the container |
//! | 4, 4, n | window: its length before it was deflated, or all ones if it is not; number of bytes; the bytes |
//!
//! Invariant: a record whose numbers contradict each other or the stream is rejected whole.

use std::ops::Range;

use super::super::BLOCK;
use super::super::inflate::Point;
use super::super::window::{MAX_BYTES, Window};
use super::super::wrapper::Wrapper;
use super::Known;

/// Distinguishes streams at the same place in two versions of a container.
pub type Ends = [u8; 16];

const NOT_DEFLATED: u32 = u32::MAX;
/// Upper bound on decoded bytes per stored byte; deflate reaches 1032.
const MAX_EXPANSION: u64 = 1100;

pub fn encode(known: &Known, ends: &Ends) -> Vec<u8> {
    let mut out = Vec::with_capacity(known.bytes as usize + 64);
    out.extend(known.len.unwrap_or(0).to_le_bytes());
    out.extend(known.trailer.unwrap_or(0).to_le_bytes());
    out.extend(ends);
    out.extend((known.checks.len() as u32).to_le_bytes());
    known.checks.iter().for_each(|check| out.extend(check.to_le_bytes()));
    out.extend((known.points.len() as u32).to_le_bytes());
    known.points.iter().for_each(|point| encode_point(point, &mut out));
    out
}

fn encode_point(point: &Point, out: &mut Vec<u8>) {
    for number in [point.position, point.stored, point.member] {
        out.extend(number.to_le_bytes());
    }
    out.extend(point.check.to_le_bytes());
    match point.wrapper {
        Wrapper::Zlib => out.extend([point.bits, 0]),
        Wrapper::Gzip => out.extend([point.bits, 1]),
        Wrapper::Bare { crc } => {
            out.extend([point.bits, 2]);
            out.extend(crc.to_le_bytes());
        }
    }
    let (len, bytes) = match &point.window {
        Window::Runs(bytes) => (NOT_DEFLATED, bytes),
        Window::Deflated { len, bytes } => (*len, bytes),
    };
    out.extend(len.to_le_bytes());
    out.extend((bytes.len() as u32).to_le_bytes());
    out.extend(&bytes[..]);
}

/// Decodes the record of the stream in `stored`, whose decoded length is `expected` where known; `ends` reads its
/// current bytes. None if the record belongs to another stream or is inconsistent.
pub fn decode(
    record: &[u8],
    stored: &Range<u64>,
    expected: Option<u64>,
    ends: impl FnOnce(u64) -> Option<Ends>,
) -> Option<Known> {
    let mut record = Reader(record);
    let (len, trailer) = (record.u64()?, record.u64()?);
    if record.take(16)? != ends(trailer)? {
        return None;
    }
    let count = record.u32()? as usize;
    let checks: Vec<u32> = record.take(count.checked_mul(4)?)?.chunks_exact(4).map(number).collect();
    let count = record.u32()?;
    let mut points: Vec<Point> = Vec::new();
    for _ in 0..count {
        let point = record.point()?;
        let last = points.last().map_or(0, |point| point.position);
        if point.position <= last || !fits(&point, stored) {
            return None;
        }
        points.push(point);
    }
    let (len, trailer) = (Some(len), Some(trailer));
    let known = Known { points, checks, len, trailer, is_loaded: true, ..Known::default() };
    (record.0.is_empty() && agrees(&known, stored, expected)).then_some(known)
}

fn fits(point: &Point, stored: &Range<u64>) -> bool {
    point.member <= point.position
        && point.bits < 8
        && point.stored > stored.start
        && point.stored <= stored.end
        && match &point.window {
            Window::Runs(bytes) => bytes.len() <= MAX_BYTES,
            Window::Deflated { len, bytes } => *len as usize <= MAX_BYTES && bytes.len() <= 2 * MAX_BYTES,
        }
}

/// Are the length, the number of blocks and the points consistent?
fn agrees(known: &Known, stored: &Range<u64>, expected: Option<u64>) -> bool {
    let len = known.len.unwrap_or(0);
    let max_len = (stored.end - stored.start).saturating_mul(MAX_EXPANSION);
    len <= max_len
        && expected.is_none_or(|expected| expected == len)
        && len.div_ceil(BLOCK) == known.checks.len() as u64
        && known.points.last().is_none_or(|point| point.position <= len)
}

fn number(bytes: &[u8]) -> u32 {
    bytes.try_into().map_or(0, u32::from_le_bytes)
}

/// The unread rest of a record.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn u32(&mut self) -> Option<u32> {
        self.take(4).map(number)
    }

    fn u64(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.take(8)?.try_into().ok()?))
    }

    fn point(&mut self) -> Option<Point> {
        let [position, stored, member] = [self.u64()?, self.u64()?, self.u64()?];
        let check = self.u32()?;
        let &[bits, wrapper] = self.take(2)? else { return None };
        let wrapper = match wrapper {
            0 => Wrapper::Zlib,
            1 => Wrapper::Gzip,
            2 => Wrapper::Bare { crc: self.u32()? },
            _ => return None,
        };
        let (len, count) = (self.u32()?, self.u32()?);
        let bytes = self.take(count as usize)?;
        let window = match len {
            NOT_DEFLATED => Window::Runs(bytes.into()),
            len => Window::Deflated { len, bytes: bytes.into() },
        };
        Some(Point { position, stored, bits, wrapper, member, check, window })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sample() -> (Known, Range<u64>) {
        let point = |position: u64, window| Point {
            position,
            stored: 100 + position / 2,
            bits: 3,
            wrapper: if position == 500_000 { Wrapper::Bare { crc: 99 } } else { Wrapper::Zlib },
            member: 0,
            check: 77,
            window,
        };
        let points = vec![
            point(200_000, Window::new(&[7; 3000], &[true; 3000])),
            point(500_000, Window::empty()),
            point(700_000, Window::Deflated { len: 9, bytes: [1, 2, 3].into() }),
        ];
        let known = Known {
            points,
            checks: (0..25).collect(),
            len: Some(25 * BLOCK),
            trailer: Some(890_000),
            ..Known::default()
        };
        (known, 90..900_000)
    }

    fn ends(byte: u8) -> impl FnOnce(u64) -> Option<Ends> {
        move |_| Some([byte; 16])
    }

    #[test]
    fn round_trip() {
        let (known, stored) = sample();
        let record = encode(&known, &[5; 16]);
        let back = decode(&record, &stored, None, ends(5)).unwrap();
        assert_eq!(encode(&back, &[5; 16]), record);
        assert!(back.is_loaded);
        assert!(decode(&record, &stored, None, ends(6)).is_none(), "another stream");
        assert!(decode(&record, &stored, Some(25 * BLOCK - 1), ends(5)).is_none(), "another length");
        assert!(decode(&record, &(90..300_000), None, ends(5)).is_none(), "points behind the end");
        for cut in 0..record.len() {
            assert!(decode(&record[..cut], &stored, None, ends(5)).is_none(), "cut at {cut}");
        }
        assert!(decode(&[&record[..], b"x"].concat(), &stored, None, ends(5)).is_none(), "too long");
    }

    proptest! {
        #[test]
        fn invalid_records_do_not_panic(at in 0usize..1000, byte: u8, garbage in prop::collection::vec(any::<u8>(), 0..200)) {
            let (known, stored) = sample();
            let mut record = encode(&known, &[5; 16]);
            let at = at % record.len();
            record[at] ^= byte;
            let _ = decode(&record, &stored, Some(25 * BLOCK), ends(5));
            let _ = decode(&garbage, &stored, None, ends(5));
        }
    }
}
