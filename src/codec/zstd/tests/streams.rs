//! All kinds of valid streams, and what is decoded for a read.

use super::*;

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
            let message = kit.read(0, 10).unwrap_err().to_string();
            assert!(
                message.contains("--spill-size") && message.contains("TMPDIR") && message.contains("2097152"),
                "{message}"
            );
        }
        assert!(kit.bytes_fetched() < 4 * BIG / 3);
        if options.content_size {
            assert_eq!(kit.read(BIG, 10).unwrap(), bytes[..10]);
        }
    }
}

#[test]
fn lengths_come_from_the_seek_table() {
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
        // A table shows where to continue after damaged headers: here of the second frame's first block.
        let mut damaged = stored;
        damaged[frames[0].len() + 6..][..3].fill(0xff);
        let kit = open(damaged, None);
        assert!(kit.read(2 << 20, BIG - (2 << 20)).unwrap() == bytes[2 << 20..]);
        assert!(kit.read(0, 1 << 20).unwrap() == bytes[..1 << 20]);
        assert!(kit.read(1 << 20, 1).is_err());
    }
}
