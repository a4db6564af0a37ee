use super::*;
use crate::array::{Endian, Order};
use crate::view::kit::{about, array, read, represent};

/// Width, height, bytes of a pixel, and the pixels; the file is read strictly.
fn picture(name: &str, shape: &[u64], order: Order, bytes: &[u8]) -> (usize, usize, usize, Vec<u8>) {
    let about = about(Some(array(name, Endian::Little, shape, order)), None);
    let file = read(&represent(&Png, about, bytes).unwrap());
    let (signature, mut rest) = file.split_at(8);
    assert_eq!(signature, b"\x89PNG\r\n\x1a\n");
    let mut chunks = Vec::new();
    while !rest.is_empty() {
        let len = u32::from_be_bytes(rest[..4].try_into().unwrap()) as usize;
        let (chunk, after) = rest.split_at(len + 12);
        let crc = crate::codec::crc32(0, &chunk[4..len + 8]);
        assert_eq!(crc.to_be_bytes(), chunk[len + 8..]);
        chunks.push((chunk[4..8].to_vec(), chunk[8..len + 8].to_vec()));
        rest = after;
    }
    let names: Vec<_> = chunks.iter().map(|(name, _)| &name[..]).collect();
    assert_eq!(names, [b"IHDR", b"IDAT", b"IEND"]);
    let header = &chunks[0].1;
    let size = |at: usize| u32::from_be_bytes(header[at..at + 4].try_into().unwrap()) as usize;
    let pixel = [(0, 1), (2, 3), (6, 4)].into_iter().find(|(kind, _)| *kind == header[9]).unwrap().1;
    let mut lines = Vec::new();
    let mut decoder = flate2::read::ZlibDecoder::new(&chunks[1].1[..]);
    std::io::Read::read_to_end(&mut decoder, &mut lines).unwrap();
    let (width, height) = (size(0), size(4));
    assert_eq!(lines.len(), height * (width * pixel + 1));
    let pixels = lines.chunks(width * pixel + 1).flat_map(|line| {
        assert_eq!(line[0], 0);
        line[1..].to_vec()
    });
    (width, height, pixel, pixels.collect())
}

fn le(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

#[test]
fn greys_go_from_black_to_white() {
    let nan = f32::NAN;
    let bytes = le(&[0.0, 1.0, 2.0, nan, f32::INFINITY, f32::NEG_INFINITY]);
    assert_eq!(picture("float32", &[2, 3], Order::C, &bytes), (3, 2, 1, vec![0, 128, 255, 0, 255, 0]));
    assert_eq!(picture("float32", &[3, 2], Order::F, &bytes), (2, 3, 1, vec![0, 0, 128, 255, 255, 0]));
    // All the same, nothing, and numbers that are too far apart for their difference.
    assert_eq!(picture("uint8", &[2, 1], Order::C, &[7, 7]).3, [128, 128]);
    assert_eq!(picture("float32", &[1, 2], Order::C, &le(&[nan, nan])).3, [0, 0]);
    assert_eq!(picture("float32", &[], Order::C, &le(&[7.0])), (1, 1, 1, vec![128]));
    let far = [f64::MIN, f64::MAX, 0.0].iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<_>>();
    assert_eq!(picture("float64", &[3, 1], Order::C, &far).3, [0, 255, 128]);
    // Few of another value are seen.
    let mut mask = vec![0; 400];
    mask[7] = 1;
    assert_eq!(picture("bool", &[20, 20], Order::C, &mask).3[6..9], [0, 255, 0]);
    // One percent is darker than black.
    let mut many: Vec<f32> = (0..1000).map(|value| value as f32).collect();
    many[0] = -1e9;
    let greys = picture("float32", &[25, 40], Order::C, &le(&many)).3;
    assert_eq!((greys[0], greys[9], greys[990]), (0, 0, 255));
    assert!(greys[499].abs_diff(127) < 2);
}

#[test]
fn colours_are_as_they_are() {
    let bytes: Vec<u8> = (0..24).collect();
    assert_eq!(picture("uint8", &[2, 4, 3], Order::C, &bytes), (4, 2, 3, bytes.clone()));
    assert_eq!(picture("uint8", &[2, 3, 4], Order::C, &bytes), (3, 2, 4, bytes.clone()));
    // The middle one of a film.
    assert_eq!(picture("uint8", &[2, 2, 2, 3], Order::C, &bytes), (2, 2, 3, bytes[12..].to_vec()));
}

#[test]
fn the_middle_of_more_axes() {
    let bytes: Vec<u8> = (0..24).collect();
    let (width, height, _, greys) = picture("int8", &[3, 2, 4], Order::C, &bytes);
    assert_eq!((width, height, greys.first(), greys.last()), (4, 2, Some(&0), Some(&255)));
    // Only the middle one of three goes down.
    let bytes: Vec<u8> = (0..8).chain((0..8).rev()).chain(0..8).collect();
    let greys = picture("int8", &[3, 2, 4], Order::C, &bytes).3;
    assert_eq!((greys[0], greys[7]), (255, 0));
    assert_eq!(picture("uint8", &[1, 5, 2, 2], Order::C, &bytes[..20]).3.len(), 4);
}

#[test]
fn large_ones_are_sampled() {
    let bytes: Vec<u8> = (0..4000 * 1000u32).map(|at| ((at / 1000 + at % 1000) % 251) as u8).collect();
    let (width, height, _, greys) = picture("uint8", &[4000, 1000], Order::C, &bytes);
    assert_eq!((width, height), (334, 1334));
    let turned = picture("uint8", &[1000, 4000], Order::F, &bytes);
    assert_eq!((turned.0, turned.1), (1334, 334));
    assert_eq!(turned.3[1334], greys[1]);
    // A short axis keeps its pixels.
    let plan = Plan::of(&array("uint8", Endian::Little, &[16_000, 300], Order::C)).unwrap();
    assert_eq!((plan.width, plan.height), (300, 1600));
}

#[test]
fn signals_are_curves() {
    let samples: Vec<f32> = (0..100_000).map(|at| (at as f32 / 8000.0).sin()).collect();
    let (width, height, _, pixels) = picture("float32", &[100_000], Order::C, &le(&samples));
    assert_eq!((width, height), (1600, 400));
    // The curve is in every column, and high where the sine is.
    let top = |column: usize| (0..400).find(|row| pixels[row * 1600 + column] == 40);
    assert!((0..1600).all(|column| top(column).is_some()));
    assert!(top(201).unwrap() < 30 && top(603).unwrap() > 370);
    let pictures = [([4, 25_000], Order::C), ([25_000, 4], Order::F)].map(|(shape, order)| {
        let (_, height, _, pixels) = picture("float32", &shape, order, &le(&samples));
        let strips: Vec<_> = pixels.chunks(400 * 1600).map(|strip| strip.contains(&40)).collect();
        assert_eq!((height, strips), (1600, vec![true; 4]));
        pixels
    });
    // Whatever the layout, and each channel by itself.
    assert!(pictures[0] == pictures[1]);
    let strips: std::collections::HashSet<_> = pictures[0].chunks(400 * 1600).collect();
    assert_eq!(strips.len(), 4);
}

#[test]
fn few_channels_are_a_signal_sooner_than_many() {
    for (shape, is_signal) in
        [([512, 6], true), ([77, 1], true), ([512, 32], true), ([512, 33], false), ([95, 6], false)]
    {
        let plan = Plan::of(&array("uint8", Endian::Little, &shape, Order::C)).unwrap();
        assert_eq!(plan.width == 1600, is_signal, "{shape:?}");
    }
}

#[test]
fn short_signals_are_lines_and_nan_is_a_gap() {
    let nan = f32::NAN;
    let pixels = picture("float32", &[5], Order::C, &le(&[0.0, 1.0, nan, 1.0, f32::INFINITY])).3;
    let has = |column: usize| (0..400).any(|row| pixels[row * 1600 + column] == 40);
    assert!(has(0) && has(200) && has(399) && !has(600) && !has(1000) && has(1199));
    // Behind a gap a curve begins anew.
    let pixels = picture("float32", &[5], Order::C, &le(&[0.0, 1.0, nan, 0.0, 1.0])).3;
    let ink = |column: usize| (0..400).filter(|row| pixels[row * 1600 + column] == 40).count();
    let after = (800..1600).find(|column| ink(*column) > 0).unwrap();
    assert!(ink(600) == 0 && ink(after) < 20, "{after}: {}", ink(after));
    for values in [&[1.0][..], &[nan, nan], &[2.0, 2.0], &[f32::MIN, f32::MAX]] {
        assert_eq!(picture("float32", &[values.len() as u64], Order::C, &le(values)).3.len(), 1600 * 400);
    }
}

#[test]
fn nothing_has_no_picture() {
    for (name, shape) in [("uint8", &[0][..]), ("float32", &[3, 0])] {
        assert!(!Png.shows(&about(Some(array(name, Endian::Little, shape, Order::C)), None)));
    }
    let vast = array("uint8", Endian::Little, &[u64::MAX, u64::MAX], Order::C);
    assert!(
        Plan::of(&vast)
            .is_some_and(|plan| plan.width as u64 <= MAX_PIXELS && plan.height as u64 <= MAX_PIXELS)
    );
}

/// Damaged; counts who reads it.
struct Damaged(std::sync::atomic::AtomicU64);

impl crate::content::Computed for Damaged {
    fn known_len(&self) -> Option<u64> {
        Some(6)
    }
    fn fill(&self, _: &mut [u8], _: u64) -> Result<()> {
        self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        Err(crate::Error::damaged(crate::error::Place::default(), "it is damaged"))
    }
    fn read_if_ready(&self, _: std::ops::Range<u64>) -> Result<Option<crate::content::Bytes>> {
        Ok(None)
    }
}

#[test]
fn damage_is_looked_for_once() {
    let damaged = std::sync::Arc::new(Damaged(Default::default()));
    let about = about(Some(array("uint8", Endian::Little, &[2, 3], Order::C)), None);
    let of = crate::view::kit::dataset(about, Content::Computed(damaged.clone()));
    let Representation::File(picture) = Png.represent(&of).unwrap() else { panic!("it is a file") };
    let reads = [(); 3].map(|()| {
        assert!(picture.read(0, 10).err().unwrap().to_string().contains("it is damaged"));
        damaged.0.load(std::sync::atomic::Ordering::Relaxed)
    });
    assert!(reads[0] > 0 && reads == [reads[0]; 3], "{reads:?}");
}
