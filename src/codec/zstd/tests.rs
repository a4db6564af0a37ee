use std::sync::atomic::Ordering;

use ::zstd::zstd_safe::{CCtx, CParameter, compress_bound};
use proptest::prelude::*;

use super::*;
use crate::codec::Limits;
use crate::source::memory::MemorySource;

/// Bytes that compress a little and differ everywhere.
fn sample(len: usize, seed: u32) -> Vec<u8> {
    let mut state = seed.wrapping_mul(77).wrapping_add(1);
    let mut next = || {
        state = state.wrapping_mul(1664525).wrapping_add(1013904223);
        (state >> 24) as u8 & 0x3f
    };
    (0..len).map(|_| next()).collect()
}

#[derive(Clone, Copy, Debug)]
struct Options {
    level: i32,
    checksum: bool,
    content_size: bool,
}

const PLAIN: Options = Options { level: 1, checksum: false, content_size: true };
const CHECKED: Options = Options { level: 1, checksum: true, content_size: true };
const UNSIZED: Options = Options { level: 1, checksum: true, content_size: false };

fn compress(bytes: &[u8], options: Options, more: &[CParameter]) -> Vec<u8> {
    let mut context = CCtx::create();
    for parameter in [
        CParameter::CompressionLevel(options.level),
        CParameter::ChecksumFlag(options.checksum),
        CParameter::ContentSizeFlag(options.content_size),
    ]
    .iter()
    .chain(more)
    {
        context.set_parameter(*parameter).unwrap();
    }
    let mut stored = Vec::with_capacity(compress_bound(bytes.len()));
    context.compress2(&mut stored, bytes).unwrap();
    stored
}

fn frame(bytes: &[u8], options: Options) -> Vec<u8> {
    compress(bytes, options, &[])
}

fn skippable(magic: u32, content: &[u8]) -> Vec<u8> {
    [&magic.to_le_bytes(), &(content.len() as u32).to_le_bytes(), content].concat()
}

fn skip(len: usize) -> Vec<u8> {
    skippable(0x184d_2a53, &vec![0x28; len])
}

/// The seek table for frames of these stored and decoded sizes.
fn seek_table(sizes: &[(usize, usize)], checksums: bool) -> Vec<u8> {
    let mut content = Vec::new();
    for (stored, decoded) in sizes {
        content.extend((*stored as u32).to_le_bytes());
        content.extend((*decoded as u32).to_le_bytes());
        content.extend(if checksums { &[7u8; 4][..] } else { &[] });
    }
    content.extend((sizes.len() as u32).to_le_bytes());
    content.push(if checksums { 0x80 } else { 0 });
    content.extend(0x8f92_eab1u32.to_le_bytes());
    skippable(0x184d_2a5e, &content)
}

struct Kit {
    stream: ZstdStream,
    source: Arc<MemorySource>,
}

fn open_with(stored: Vec<u8>, expected: Option<usize>, cache: u64, spill: u64) -> Kit {
    let source = Arc::new(MemorySource { bytes: stored, ..MemorySource::default() });
    let engine =
        Arc::new(Engine::with(Limits { cache, index: 0, spill: Some(spill), verify_first: false }, None));
    let range = 0..source.len();
    let place = source.place().dataset("x");
    let stream = ZstdStream::new(engine, source.clone(), range, expected.map(|n| n as u64), place);
    Kit { stream, source }
}

fn open(stored: Vec<u8>, expected: Option<usize>) -> Kit {
    open_with(stored, expected, 64 << 20, 64 << 20)
}

impl Kit {
    fn read(&self, offset: usize, len: usize) -> Result<Vec<u8>> {
        let mut bytes = vec![0; len];
        self.stream.read_exact_at(&mut bytes, offset as u64)?;
        Ok(bytes)
    }

    fn whole(&self) -> Result<Vec<u8>> {
        let len = self.stream.len()? as usize;
        self.read(0, len)
    }

    /// As `cat` would read it: piece by piece from the front.
    fn sequentially(&self) -> Result<Vec<u8>> {
        let len = self.stream.len()? as usize;
        let mut all = Vec::new();
        while all.len() < len {
            all.extend(self.read(all.len(), (128 << 10).min(len - all.len()))?);
        }
        Ok(all)
    }

    fn bytes_fetched(&self) -> usize {
        self.source.read.load(Ordering::Relaxed) as usize
    }
}

const BIG: usize = 3_000_001;

#[test]
fn every_kind_of_stream_is_read() {
    let bytes = sample(BIG, 0);
    let (a, rest) = bytes.split_at(1 << 20);
    let (b, c) = rest.split_at(7);
    for options in [PLAIN, CHECKED, UNSIZED, Options { checksum: false, ..UNSIZED }] {
        let one = frame(&bytes, options);
        let several = [
            skip(0),
            frame(a, options),
            frame(b"", options),
            skip(9),
            frame(b, options),
            frame(c, options),
            skip(5000),
        ];
        for stored in [one, several.concat()] {
            for expected in [None, Some(BIG)] {
                let kit = open(stored.clone(), expected);
                assert_eq!(kit.stream.known_len(), expected.map(|len| len as u64));
                assert!(kit.whole().unwrap() == bytes);
                assert_eq!(kit.stream.known_len(), Some(BIG as u64));
                assert!(!kit.stream.is_damaged());
                assert!(kit.read((1 << 20) - 2, 12).unwrap() == bytes[(1 << 20) - 2..][..12]);
            }
        }
    }
    assert_eq!(open(skip(3), None).stream.len().unwrap(), 0);
    assert_eq!(open(frame(b"", UNSIZED), None).stream.len().unwrap(), 0);
    assert!(open(Vec::new(), None).stream.len().is_err());
}

#[test]
fn recorded_lengths_are_known_without_decoding() {
    let bytes = sample(BIG, 1);
    let stored = [frame(&bytes, CHECKED), frame(b"abc", CHECKED)].concat();
    let kit = open(stored.clone(), None);
    assert_eq!(kit.stream.len().unwrap(), BIG as u64 + 3);
    assert!(kit.bytes_fetched() < stored.len() / 4, "{}", kit.bytes_fetched());
    assert_eq!(kit.read(BIG, 3).unwrap(), b"abc");
    assert!(kit.bytes_fetched() < stored.len() / 4);
    assert_eq!(kit.stream.read_cached(2, BIG as u64 + 1).unwrap().unwrap(), b"bc");
    assert!(kit.stream.read_cached(2, BIG as u64 - 1).unwrap().is_none());
}

#[test]
fn a_frame_is_decoded_once_for_all_readers() {
    let bytes = sample(BIG, 2);
    let both = [&bytes[..], &bytes[..500_000]].concat();
    let stored = [frame(&bytes, UNSIZED), frame(&bytes[..500_000], UNSIZED)].concat();
    let large = (frame(&bytes, UNSIZED), bytes);
    // In the smaller cache there is no room for all of the large frame: it is read from the spill.
    for ((stored, all), cache) in [((stored, both), 4 << 20), (large, 2 << 20)] {
        for expected in [None, Some(all.len())] {
            let kit = open_with(stored.clone(), expected, cache, 64 << 20);
            std::thread::scope(|scope| {
                for _ in 0..6 {
                    scope.spawn(|| assert!(kit.sequentially().unwrap() == all));
                }
            });
            assert!(
                kit.bytes_fetched() < stored.len() * 5 / 4,
                "{} of {}",
                kit.bytes_fetched(),
                stored.len()
            );
        }
    }
}

#[test]
fn many_frames_in_a_small_spill_by_several_threads() {
    let parts: Vec<Vec<u8>> = (0..10).map(|n| sample((1 << 20) + 1 + 30_000 * n, n as u32)).collect();
    let stored: Vec<u8> = parts.iter().flat_map(|part| frame(part, UNSIZED)).collect();
    let all = parts.concat();
    // Three frames fit.
    let kit = open_with(stored, None, 2 << 20, 4 << 20);
    std::thread::scope(|scope| {
        for thread in 0..4usize {
            let (kit, all) = (&kit, &all);
            scope.spawn(move || {
                for step in 0..25 {
                    let at = (thread * 7919 + step * 1_234_567) % (all.len() - 300_000);
                    assert!(kit.read(at, 300_000).unwrap() == all[at..][..300_000]);
                }
            });
        }
    });
}

#[test]
fn a_frame_larger_than_the_spill_is_an_error_that_names_the_option() {
    let bytes = sample(BIG, 3);
    for options in [PLAIN, UNSIZED] {
        let stored = [frame(&bytes, options), frame(&bytes[..10], PLAIN)].concat();
        let kit = open_with(stored, Some(BIG + 10), 64 << 20, 2 << 20);
        for _ in 0..2 {
            let said = kit.read(0, 10).unwrap_err().to_string();
            assert!(said.contains("--spill-size") && said.contains("2097152"), "{said}");
        }
        assert!(kit.bytes_fetched() < 4 * BIG / 3);
        if options.content_size {
            assert_eq!(kit.read(BIG, 10).unwrap(), bytes[..10]);
        }
    }
}

#[test]
fn a_damaged_frame_fails_alone() {
    let bytes = sample(900_000, 4);
    let frames: Vec<_> = bytes.chunks(300_000).map(|part| frame(part, CHECKED)).collect();
    let mut stored = frames.concat();
    stored[frames[0].len() + frames[1].len() - 1] ^= 1;
    let kit = open(stored, None);
    assert!(kit.read(0, 300_000).unwrap() == bytes[..300_000]);
    assert!(kit.read(600_000, 300_000).unwrap() == bytes[600_000..]);
    let said = kit.read(299_999, 2).unwrap_err().to_string();
    assert!(said.contains("memory") && said.contains("checksum"), "{said}");
    assert!(kit.stream.is_damaged() && kit.whole().is_err());
    assert!(kit.stream.read_cached(1, 300_000).is_err());
    assert!(kit.stream.read_cached(1, 1).unwrap().is_some());
}

#[test]
fn a_wrong_expected_length_condemns_everything() {
    let bytes = sample(400_000, 5);
    for options in [CHECKED, UNSIZED] {
        for expected in [1, 399_999, 400_001, 800_000] {
            let kit =
                open([frame(&bytes[..7], options), frame(&bytes[7..], options)].concat(), Some(expected));
            let said = kit.sequentially().unwrap_err().to_string();
            assert!(said.contains("its description needs") || said.contains("nothing decodes"), "{said}");
            assert!(kit.read(0, 1).is_err());
        }
    }
}

#[test]
fn the_seek_table_tells_lengths() {
    let bytes = sample(BIG, 6);
    for checksums in [false, true] {
        let frames: Vec<_> = bytes.chunks(1 << 20).map(|part| frame(part, UNSIZED)).collect();
        let sizes: Vec<_> =
            frames.iter().zip(bytes.chunks(1 << 20)).map(|(f, b)| (f.len(), b.len())).collect();
        let stored = [frames.concat(), seek_table(&sizes, checksums)].concat();
        let kit = open(stored.clone(), None);
        assert_eq!(kit.stream.len().unwrap(), BIG as u64);
        assert!(kit.bytes_fetched() < stored.len() / 4);
        assert!(kit.whole().unwrap() == bytes);
        // Two of them in one stream: the table does not cover the first.
        assert!(
            open([&stored[..], &stored[..]].concat(), None).whole().unwrap()
                == [&bytes[..], &bytes[..]].concat()
        );
        // A table tells where to go on after damaged headers: here of the second frame's first block.
        let mut damaged = stored;
        damaged[frames[0].len() + 6..][..3].fill(0xff);
        let kit = open(damaged, None);
        assert!(kit.read(2 << 20, BIG - (2 << 20)).unwrap() == bytes[2 << 20..]);
        assert!(kit.read(0, 1 << 20).unwrap() == bytes[..1 << 20]);
        assert!(kit.read(1 << 20, 1).is_err());
    }
}

#[test]
fn a_wrong_seek_table_never_gives_wrong_bytes() {
    let bytes = sample(200_000, 7);
    for options in [CHECKED, UNSIZED] {
        let frames = [frame(&bytes[..100_000], options), frame(&bytes[100_000..], options)];
        let [a, b] = [frames[0].len(), frames[1].len()];
        // Without a content size in the header, a wrong decoded size is found out when the frame is decoded.
        for sizes in [[(a, 99_999), (b, 100_001)], [(a, 100_001), (b, 99_999)]] {
            let kit = open([frames.concat(), seek_table(&sizes, false)].concat(), None);
            match options.content_size {
                true => assert!(kit.whole().unwrap() == bytes),
                false => {
                    let said = kit.whole().unwrap_err().to_string();
                    assert!(said.contains("seek table"), "{said}");
                    assert!(kit.read(0, 1).is_err() && kit.read(150_000, 1).is_err());
                }
            }
        }
        // These cannot be, so they are not believed.
        for sizes in
            [[(a - 1, 100_000), (b + 1, 100_000)], [(a, 9_999_999), (b, 100_000)], [(a + b, 200_000), (0, 0)]]
        {
            let kit = open([frames.concat(), seek_table(&sizes, false)].concat(), None);
            assert!(kit.whole().unwrap() == bytes, "{sizes:?}");
        }
    }
}

#[test]
fn a_frame_that_is_said_to_be_empty_is_looked_at() {
    let frame = frame(b"x", UNSIZED);
    let table = seek_table(&[(frame.len(), 0)], false);
    assert_eq!(open([frame, table].concat(), None).whole().unwrap(), b"x");
    let mut sized = super::tests::frame(b"x", CHECKED);
    assert_eq!(sized[5], 1);
    sized[5] = 0;
    assert!(open(sized, None).whole().is_err());
}

#[test]
fn what_cannot_be_decoded_is_named() {
    let bytes = sample(1000, 8);
    let good = frame(&bytes, CHECKED);
    let mut dictionary = good.clone();
    // Descriptor: single segment, content size of 2 bytes, a dictionary number of 1 byte after it.
    dictionary[4] |= 1;
    dictionary.insert(5, 9);
    let window = [&[0x28, 0xb5, 0x2f, 0xfd, 0, 18 << 3][..], &[1, 0, 0]].concat();
    let legacy = [&[0x27, 0xb5, 0x2f, 0xfd][..], &good[4..]].concat();
    let other = b"GIF89a and so on".to_vec();
    for (stored, part) in [
        (dictionary, "dictionary 9"),
        (window, "268435456 bytes of memory"),
        (legacy, "legacy"),
        (other, "not a zstd frame"),
        ([good.clone(), b"\0\0\0\0".to_vec()].concat(), "not a zstd frame"),
    ] {
        let said = open(stored, None).whole().unwrap_err().to_string();
        assert!(said.contains(part) && said.starts_with("memory: dataset \"x\": at byte "), "{said}");
    }
    // A window that is just permitted.
    let most = [&[0x28, 0xb5, 0x2f, 0xfd, 0, 17 << 3][..], &[1, 0, 0]].concat();
    assert_eq!(open(most, None).stream.len().unwrap(), 0);
}

#[test]
fn a_header_that_claims_more_than_its_blocks_hold_is_not_believed() {
    let mut stored = frame(&sample(100_000, 9), CHECKED);
    assert_eq!(stored[4] >> 6, 2);
    stored[8] = 0x7f;
    let said = open(stored, None).stream.len().unwrap_err().to_string();
    assert!(said.contains("its blocks hold at most"), "{said}");
}

#[test]
fn a_changed_source_is_an_error_and_no_damage() {
    let bytes = sample(BIG, 10);
    let kit = open(frame(&bytes, CHECKED), None);
    assert!(kit.read(0, 10).is_ok());
    kit.source.changed.store(true, Ordering::Relaxed);
    assert!(matches!(kit.read(0, 10), Err(Error::Changed { .. })));
    assert!(matches!(kit.stream.read_cached(10, 0), Err(Error::Changed { .. })));
    let kit = open(frame(&bytes, CHECKED), Some(BIG));
    kit.source.changed.store(true, Ordering::Relaxed);
    assert!(matches!(kit.read(0, 10), Err(Error::Changed { .. })));
    assert!(!kit.stream.is_damaged());
    kit.source.changed.store(false, Ordering::Relaxed);
    assert!(kit.whole().unwrap() == bytes);
    // What is wrong with bytes that are not those of the container is not its damage.
    let mut stored = frame(&bytes, CHECKED);
    let last = stored.len() - 1;
    stored[last] ^= 1;
    let kit = open(stored, None);
    kit.stream.len().unwrap();
    kit.source.changed.store(true, Ordering::Relaxed);
    assert!(matches!(kit.read(0, 10), Err(Error::Changed { .. })));
    assert!(!kit.stream.is_damaged());
}

#[test]
fn a_frame_has_to_end_where_its_range_does() {
    let bytes = sample(1000, 13);
    for options in [PLAIN, CHECKED] {
        let len = frame(&bytes, options).len() as u64;
        let kit = open([frame(&bytes, options), skip(50)].concat(), None);
        let source: Arc<dyn Source> = kit.source.clone();
        let decode = |end| {
            let (place, spill) = (source.place(), &kit.stream.engine.spill);
            Job { source: &source, stored: 0..end, len: None, place: &place, spill, key: (0, 0) }.run()
        };
        assert_eq!(decode(len).unwrap().len(), 1000);
        for end in (0..len + 50).filter(|end| *end != len) {
            assert!(decode(end).is_err(), "{end} of {len}");
        }
    }
}

#[test]
fn truncated_anywhere_it_is_an_error_or_whole_frames() {
    let bytes = sample(3000, 11);
    for options in [PLAIN, CHECKED, UNSIZED] {
        let frames: Vec<_> = bytes.chunks(1000).map(|part| frame(part, options)).collect();
        let stored = [frames[0].clone(), skip(20), frames[1].clone(), frames[2].clone()].concat();
        let second = frames[0].len() + 28 + frames[1].len();
        // Where the stream may end: after a frame, or after the skippable one.
        let ends = [(frames[0].len(), 1000), (frames[0].len() + 28, 1000), (second, 2000)];
        for cut in 0..stored.len() {
            let found = open(stored[..cut].to_vec(), None).whole();
            match ends.iter().find(|(end, _)| *end == cut) {
                Some((_, len)) => assert!(found.unwrap() == bytes[..*len]),
                None => assert!(found.is_err(), "{cut}"),
            }
            let kit = open(stored[..cut].to_vec(), Some(3000));
            assert!(kit.whole().is_err());
            // Where the length is told, what is whole is served, unless frames are missing altogether.
            let is_end = ends.iter().any(|(end, _)| *end == cut);
            if cut >= frames[0].len() && !is_end {
                assert!(open(stored[..cut].to_vec(), Some(3000)).read(0, 1000).unwrap() == bytes[..1000]);
            }
        }
    }
}

#[derive(Clone, Debug)]
struct Part {
    bytes: Vec<u8>,
    options: Options,
    skip: Option<usize>,
}

fn part() -> impl Strategy<Value = Part> {
    let len = prop_oneof![Just(0), Just(1), 2usize..3000, 100_000usize..400_000, (1usize << 20) - 2..3 << 20];
    let options = (-3i32..6, any::<bool>(), any::<bool>());
    (len, any::<u32>(), any::<bool>(), options, prop::option::of(0usize..9000)).prop_map(
        |(len, seed, is_flat, (level, checksum, content_size), skip)| Part {
            bytes: if is_flat { vec![seed as u8; len] } else { sample(len, seed) },
            options: Options { level, checksum, content_size },
            skip,
        },
    )
}

/// How a seek table is wrong, if there is one.
#[derive(Clone, Debug)]
enum Seek {
    No,
    Right,
    Wrong(usize, i32),
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 50, ..ProptestConfig::default() })]

    #[test]
    fn reads_are_the_plain_bytes(
        parts in prop::collection::vec(part(), 0..6),
        seek in prop_oneof![Just(Seek::No), Just(Seek::Right), (any::<usize>(), -3i32..4).prop_map(|(n, by)| Seek::Wrong(n, by))],
        tells in any::<bool>(),
        places in prop::collection::vec((any::<prop::sample::Index>(), 1usize..400_000), 1..12),
    ) {
        let (mut stored, mut plain, mut sizes) = (skip(1), Vec::<u8>::new(), vec![(9, 0)]);
        for part in &parts {
            let frame = frame(&part.bytes, part.options);
            sizes.push((frame.len(), part.bytes.len()));
            stored.extend(frame);
            plain.extend(&part.bytes);
            if let Some(len) = part.skip {
                stored.extend(skip(len));
                sizes.push((len + 8, 0));
            }
        }
        if let Seek::Wrong(number, by) = seek {
            let at = number % sizes.len();
            sizes[at].1 = sizes[at].1.wrapping_add_signed(by as isize);
        }
        if !matches!(seek, Seek::No) {
            stored.extend(seek_table(&sizes, false));
        }
        let may_fail = matches!(seek, Seek::Wrong(_, by) if by != 0);
        let kit = open_with(stored, tells.then_some(plain.len()), 2 << 20, 6 << 20);
        if !may_fail {
            for (index, len) in &places {
                let from = index.index(plain.len() + 1);
                let to = (from + len).min(plain.len());
                prop_assert!(kit.read(from, to - from).unwrap() == plain[from..to]);
                if let Some(cached) = kit.stream.read_cached(to - from, from as u64).unwrap() {
                    prop_assert!(cached == plain[from..to]);
                }
            }
        }
        match kit.sequentially() {
            Ok(found) => prop_assert!(found == plain),
            Err(error) => prop_assert!(may_fail, "{error}"),
        }
    }

    #[test]
    fn flipped_bits_never_give_other_bytes(
        cuts in prop::collection::vec(prop_oneof![0usize..4, 1usize..4000], 1..4),
        content_size in any::<bool>(),
        tells in any::<bool>(),
        flips in prop::collection::vec(any::<prop::sample::Index>(), 1..4),
    ) {
        let plain = sample(cuts.iter().sum(), 12);
        let (mut stored, mut sizes, mut at) = (Vec::new(), Vec::new(), 0);
        for len in cuts {
            let frame = frame(&plain[at..][..len], Options { content_size, ..CHECKED });
            sizes.push((frame.len(), len));
            stored.extend(frame);
            at += len;
        }
        stored.extend(seek_table(&sizes, false));
        for flip in flips {
            let bit = flip.index(stored.len() * 8);
            stored[bit / 8] ^= 1 << (bit % 8);
        }
        if let Ok(found) = open(stored, tells.then_some(plain.len())).whole() {
            prop_assert!(found == plain);
        }
    }
}
