//! Numbers as text: the shortest that reads back as the same value, within a maximum width that depends only on the
//! type.
//!
//! | type | widest | for example |
//! |---|---|---|
//! | bool | 1 | `1` |
//! | int 8, 16, 32, 64, 128 | 4, 6, 11, 20, 40 | `-128` |
//! | uint 8, 16, 32, 64, 128 | 3, 5, 10, 20, 39 | `255` |
//! | float 8 | widest of its 256 numbers | `-0.002` |
//! | float 16, bfloat 16 | 11, 16 | `-0.00012195`, `-1000000000000.0` |
//! | float 32, 64 | 16, 24 | `-0.0000010000001`, `-2.2250738585072014e-308` |
//! | complex of two floats of width w | 2 w + 1 | `0.5-2.0j` |
//!
//! Floats always have a point or an exponent, so that they are not taken for integers, or are `nan`, `inf` or `-inf`.
//! They also survive parsing as a double first, which is how numpy parses all floats. Complex numbers have the form
//! that Python and `numpy.loadtxt` read.

use std::sync::OnceLock;

use bytemuck::{AnyBitPattern, pod_read_unaligned};
use half::{bf16, f16};

use super::float8::{E4m3fn, E4m3fnuz, E5m2, E5m2fnuz, E8m0fnu, Eight};
use super::{Element, Float8, Kind, Width};

/// Calls back with the text of each element.
type Each = fn(&[u8], &mut dyn FnMut(&[u8]));

/// Formats the elements of a type.
#[derive(Clone, Copy)]
pub struct Texts {
    /// Maximum length of a text, in bytes.
    pub width: usize,
    /// Size of an element in bytes.
    pub size: usize,
    each: Each,
}

impl Texts {
    /// None for non-numeric types.
    pub fn of(element: Element) -> Option<Texts> {
        let size = element.size as usize;
        let (width, each): (usize, Each) = match (element.kind, size) {
            (Kind::Bool, 1) => (1, |items, each| bools(items, [b"0", b"1"], each)),
            (Kind::Int, 1) => (4, whole::<i8>),
            (Kind::Int, 2) => (6, whole::<i16>),
            (Kind::Int, 4) => (11, whole::<i32>),
            (Kind::Int, 8) => (20, whole::<i64>),
            (Kind::Int, 16) => (40, whole::<i128>),
            (Kind::Uint, 1) => (3, whole::<u8>),
            (Kind::Uint, 2) => (5, whole::<u16>),
            (Kind::Uint, 4) => (10, whole::<u32>),
            (Kind::Uint, 8) => (20, whole::<u64>),
            (Kind::Uint, 16) => (39, whole::<u128>),
            (Kind::Float8(of), 1) => (eight(of).widest, eights(of)),
            (Kind::Bfloat, 2) => (BF16, floats::<bf16>),
            (Kind::Float, 2) => (F16, floats::<f16>),
            (Kind::Float, 4) => (F32, floats::<f32>),
            (Kind::Float, 8) => (F64, floats::<f64>),
            (Kind::Complex, 4) => (2 * F16 + 1, pairs::<f16>),
            (Kind::Complex, 8) => (2 * F32 + 1, pairs::<f32>),
            (Kind::Complex, 16) => (2 * F64 + 1, pairs::<f64>),
            _ => return None,
        };
        Some(Texts { width, size, each })
    }

    /// Bytes as booleans in Python's spelling, `False` and `True`.
    pub fn of_truth() -> Texts {
        Texts { width: 5, size: 1, each: |items, each| bools(items, [b"False", b"True"], each) }
    }

    /// Calls `each` with the text of every element; `items` is in the machine's byte order.
    pub fn each(&self, items: &[u8], each: &mut dyn FnMut(&[u8])) {
        (self.each)(items, each);
    }
}

const F16: usize = 11;
const BF16: usize = 16;
const F32: usize = 16;
const F64: usize = 24;

fn bools(items: &[u8], [no, yes]: [&[u8]; 2], each: &mut dyn FnMut(&[u8])) {
    for item in items {
        each(if *item == 0 { no } else { yes });
    }
}

fn whole<T: itoa::Integer + AnyBitPattern>(items: &[u8], each: &mut dyn FnMut(&[u8])) {
    let mut room = itoa::Buffer::new();
    for item in items.chunks_exact(size_of::<T>()) {
        each(room.format(pod_read_unaligned::<T>(item)).as_bytes());
    }
}

fn floats<T: Float>(items: &[u8], each: &mut dyn FnMut(&[u8])) {
    let mut room = zmij::Buffer::new();
    for item in items.chunks_exact(size_of::<T>()) {
        each(pod_read_unaligned::<T>(item).text(&mut room).as_bytes());
    }
}

/// The simplest numbers (see [`simplest`]) of an 8-bit type.
struct Eights {
    values: Vec<f32>,
    widest: usize,
}

fn eight(of: Float8) -> &'static Eights {
    static ALL: [OnceLock<Eights>; 5] = [const { OnceLock::new() }; 5];
    ALL[of as usize].get_or_init(|| {
        let simplest = |bits| simplest(of.value(bits).into(), Width::W8(of)) as f32;
        let values: Vec<f32> = (0..=u8::MAX).map(simplest).collect();
        let len = |value: &f32| value.text(&mut zmij::Buffer::new()).len();
        // Room for infinity in CSV, which is written as a number larger than any float.
        let widest = values.iter().map(len).fold("-1.0e+999".len(), usize::max);
        Eights { values, widest }
    })
}

fn eights(of: Float8) -> Each {
    fn of_type<T: Eight>(items: &[u8], each: &mut dyn FnMut(&[u8])) {
        let mut room = zmij::Buffer::new();
        let values = items.iter().filter_map(|bits| eight(T::OF).values.get(usize::from(*bits)));
        values.for_each(|value| each(value.text(&mut room).as_bytes()));
    }
    match of {
        Float8::E4m3fn => of_type::<E4m3fn>,
        Float8::E5m2 => of_type::<E5m2>,
        Float8::E8m0fnu => of_type::<E8m0fnu>,
        Float8::E4m3fnuz => of_type::<E4m3fnuz>,
        Float8::E5m2fnuz => of_type::<E5m2fnuz>,
    }
}

fn pairs<T: Float>(items: &[u8], each: &mut dyn FnMut(&[u8])) {
    let (mut room, mut pair) = (zmij::Buffer::new(), Vec::with_capacity(2 * F64 + 1));
    for item in items.chunks_exact(2 * size_of::<T>()) {
        let (real, imaginary) = item.split_at(size_of::<T>());
        pair.clear();
        pair.extend_from_slice(pod_read_unaligned::<T>(real).text(&mut room).as_bytes());
        let text = pod_read_unaligned::<T>(imaginary).text(&mut room);
        if !text.starts_with('-') {
            pair.push(b'+');
        }
        pair.extend_from_slice(text.as_bytes());
        pair.push(b'j');
        each(&pair);
    }
}

trait Float: AnyBitPattern {
    fn text(self, room: &mut zmij::Buffer) -> &str;
}

macro_rules! floats {
    ($($type:ident($value:ident, $room:ident) $text:expr)*) => { $(impl Float for $type {
        #[inline]
        fn text(self, $room: &mut zmij::Buffer) -> &str {
            let $value = self;
            if $value.is_nan() {
                "nan"
            } else if $value.is_infinite() {
                if $value.is_sign_negative() { "-inf" } else { "inf" }
            } else {
                $text
            }
        }
    })* };
}

floats! {
    f64(value, room) room.format_finite(value)
    f32(value, room) match value.to_bits() {
        // The only f32 values whose shortest digits, parsed as a double and then rounded, give a neighbour.
        0x15ae_43fd => "7.0385307e-26",
        0x95ae_43fd => "-7.0385307e-26",
        _ => room.format_finite(value),
    }
    f16(value, room) {
        static ALL: OnceLock<Vec<f32>> = OnceLock::new();
        let simplest = |bits| simplest(f16::from_bits(bits).to_f64(), Width::W16);
        room.format_finite(short(&ALL, value.to_bits(), simplest))
    }
    bf16(value, room) {
        static ALL: OnceLock<Vec<f32>> = OnceLock::new();
        let simplest = |bits| simplest(bf16::from_bits(bits).to_f64(), Width::Bfloat);
        room.format_finite(short(&ALL, value.to_bits(), simplest))
    }
}

/// The simplest number for these 16 bits; the table of all is computed once.
fn short(all: &OnceLock<Vec<f32>>, bits: u16, simplest: fn(u16) -> f64) -> f32 {
    let all = all.get_or_init(|| (0..=u16::MAX).map(|bits| simplest(bits) as f32).collect());
    all.get(usize::from(bits)).copied().unwrap_or(f32::NAN)
}

/// The f64 whose shortest digits are the fewest that distinguish `value` from its neighbours of this width.
pub fn simplest(value: f64, width: Width) -> f64 {
    match width {
        Width::W64 => value,
        Width::W32 => (value as f32).to_string().parse().unwrap_or(value),
        Width::W8(of) => nearby(value, 3, |near| of.nearest(near)),
        Width::W16 => nearby(value, 5, |near| {
            nearest(near, f16::from_f64(near).to_bits(), |bits| f16::from_bits(bits).to_f64())
        }),
        Width::Bfloat => nearby(value, 4, |near| {
            nearest(near, bf16::from_f64(near).to_bits(), |bits| bf16::from_bits(bits).to_f64())
        }),
    }
}

/// The 16-bit number nearest to `value`: `guess` or one of its neighbours. The crate's own conversion ignores the low
/// bits of a double, and so rounds values close to a tie the wrong way.
fn nearest(value: f64, guess: u16, number: impl Fn(u16) -> f64) -> f64 {
    if !number(guess).is_finite() {
        return number(guess);
    }
    let beside = [guess, guess.wrapping_sub(1), guess.wrapping_add(1)];
    let numbers =
        beside.map(|bits| (number(bits), bits)).into_iter().filter(|(number, _)| number.is_finite());
    let nearest = numbers.min_by(|(a, a_bits), (b, b_bits)| {
        let by_distance = (a - value).abs().total_cmp(&(b - value).abs());
        by_distance.then((a_bits & 1).cmp(&(b_bits & 1)))
    });
    nearest.map_or(value, |(number, _)| number)
}

/// The number with the fewest digits, at most `digits`, that `stored` rounds to `value`.
fn nearby(value: f64, digits: usize, stored: impl Fn(f64) -> f64) -> f64 {
    let short = (0..digits).filter_map(|behind| format!("{value:.behind$e}").parse().ok());
    short.into_iter().find(|near| stored(*near) == value).unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(name: &str, items: &[u8]) -> Vec<String> {
        let texts = Texts::of(Element::from_name(name).unwrap()).unwrap();
        written(texts, items)
    }

    fn written(texts: Texts, items: &[u8]) -> Vec<String> {
        let mut all = Vec::new();
        texts.each(items, &mut |text| {
            assert!(text.len() <= texts.width, "{}", String::from_utf8_lossy(text));
            all.push(String::from_utf8(text.to_vec()).unwrap());
        });
        all
    }

    fn widest(all: &[String]) -> usize {
        all.iter().map(String::len).max().unwrap()
    }

    fn of<T: bytemuck::NoUninit>(items: &[T]) -> &[u8] {
        bytemuck::cast_slice(items)
    }

    #[test]
    fn whole_numbers_are_as_wide_as_stated() {
        for kind in [Kind::Int, Kind::Uint] {
            for size in [1, 2, 4, 8, 16] {
                let texts = Texts::of(Element { kind, size }).unwrap();
                let extremes = [[0u8; 16], [0xff; 16], (1u128 << (8 * size - 1)).to_le_bytes()];
                let items: Vec<u8> =
                    extremes.iter().flat_map(|item| item[..size as usize].to_vec()).collect();
                assert_eq!(widest(&written(texts, &items)), texts.width, "{kind:?} {size}");
            }
        }
        assert_eq!(texts("int8", &[0x80, 5]), ["-128", "5"]);
        assert_eq!(texts("bool", &[0, 1, 7]), ["0", "1", "1"]);
        assert_eq!(written(Texts::of_truth(), &[0, 2]), ["False", "True"]);
    }

    #[test]
    fn every_float_of_16_bits_reads_back() {
        let all: Vec<u16> = (0..=u16::MAX).collect();
        let found = texts("float16", of(&all));
        assert_eq!(widest(&found), F16, "{:?}", found.iter().max_by_key(|text| text.len()));
        check(&found, |bits| f16::from_bits(bits).to_f64());
        let found = written(Texts::of(Element { kind: Kind::Bfloat, size: 2 }).unwrap(), of(&all));
        assert_eq!(widest(&found), BF16, "{:?}", found.iter().max_by_key(|text| text.len()));
        check(&found, |bits| bf16::from_bits(bits).to_f64());
    }

    /// Each text must be nearer to its own number than to its neighbours; ties go to the even one.
    fn check(texts: &[String], number: fn(u16) -> f64) {
        for (bits, text) in (0..=u16::MAX).zip(texts) {
            let (value, read) = (number(bits), text.parse::<f64>().unwrap());
            if !value.is_finite() || value == 0.0 {
                assert!(value.is_nan() && read.is_nan() || read == value, "{value} {text}");
                continue;
            }
            let (inner, outer) = (number(bits - 1).abs(), number(bits + 1).abs());
            let outer = if outer.is_finite() { outer } else { 2.0 * value.abs() - inner };
            let (low, high) = ((value.abs() + inner) / 2.0, (value.abs() + outer) / 2.0);
            let (read, is_even) = (read * value.signum(), bits & 1 == 0);
            assert!(low < read && read < high || is_even && (read == low || read == high), "{value} {text}");
        }
    }

    #[test]
    fn every_float_of_8_bits_reads_back() {
        let all: Vec<u8> = (0..=u8::MAX).collect();
        for of in [Float8::E4m3fn, Float8::E5m2, Float8::E8m0fnu, Float8::E4m3fnuz, Float8::E5m2fnuz] {
            let texts = Texts::of(Element { kind: Kind::Float8(of), size: 1 }).unwrap();
            let found = written(texts, &all);
            assert!(widest(&found) == texts.width || texts.width == 9, "{of:?}");
            for (bits, text) in all.iter().zip(&found) {
                let (value, read) = (of.value(*bits), text.parse::<f64>().unwrap());
                let is_same =
                    if read.is_finite() { of.nearest(read) as f32 == value } else { read as f32 == value };
                assert!(is_same || value.is_nan() && read.is_nan(), "{of:?} {value} {text}");
            }
        }
    }

    #[test]
    fn floats_are_short_and_at_most_as_wide_as_stated() {
        let values = [0.1f32, 1.0, -0.0, 1e16, 3.4028235e38, f32::NAN, f32::NEG_INFINITY, f32::INFINITY];
        let want = ["0.1", "1.0", "-0.0", "1e+16", "3.4028235e+38", "nan", "-inf", "inf"];
        assert_eq!(texts("float32", of(&values)), want);
        // The widest values, found by exhaustive search.
        assert_eq!(widest(&texts("float32", of(&[-1.0000001e-6f32]))), F32);
        assert_eq!(widest(&texts("float64", of(&[-f64::MIN_POSITIVE]))), F64);
    }

    #[test]
    fn floats_read_back_through_doubles() {
        let (mut seed, mut all) = (1u32, vec![0x15ae_43fd_u32, 0x95ae_43fd]);
        for _ in 0..100_000 {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            all.push(seed);
        }
        for (bits, text) in all.iter().zip(texts("float32", of(&all))) {
            let (value, read) = (f32::from_bits(*bits), text.parse::<f64>().unwrap() as f32);
            assert!(value.is_nan() && read.is_nan() || read.to_bits() == *bits, "{value} {text}");
            assert!(value.is_nan() || text.parse::<f32>().unwrap().to_bits() == *bits, "{value} {text}");
        }
    }

    #[test]
    fn complex_numbers_are_pythons() {
        let values = [[0.5f64, -2.0], [-0.0, 1e300], [f64::NAN, f64::INFINITY], [1.0, f64::NEG_INFINITY]];
        let want = ["0.5-2.0j", "-0.0+1e+300j", "nan+infj", "1.0-infj"];
        assert_eq!(texts("complex128", of(&values)), want);
        let widest = [[-f64::MIN_POSITIVE; 2]];
        assert_eq!(texts("complex128", of(&widest))[0].len(), 2 * F64 + 1);
    }
}
