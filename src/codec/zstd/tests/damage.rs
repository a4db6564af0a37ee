//! Streams that are truncated, changed or make false claims.

use std::sync::atomic::AtomicBool;

use super::*;

#[test]
fn a_damaged_frame_fails_alone() {
    let bytes = sample(900_000, 4);
    let frames: Vec<_> = bytes.chunks(300_000).map(|part| frame(part, CHECKED)).collect();
    let mut stored = frames.concat();
    stored[frames[0].len() + frames[1].len() - 1] ^= 1;
    let kit = open(stored, None);
    assert!(kit.read(0, 300_000).unwrap() == bytes[..300_000]);
    assert!(kit.read(600_000, 300_000).unwrap() == bytes[600_000..]);
    let message = kit.read(299_999, 2).unwrap_err().to_string();
    assert!(message.contains("memory") && message.contains("checksum"), "{message}");
    assert!(kit.stream.is_damaged() && kit.whole().is_err());
    assert!(kit.stream.read_cached(1, 300_000).is_err());
    assert!(kit.stream.read_cached(1, 1).unwrap().is_some());
}

#[test]
fn a_wrong_expected_length_marks_everything_corrupt() {
    let bytes = sample(400_000, 5);
    for options in [CHECKED, UNSIZED] {
        for expected in [1, 399_999, 400_001, 800_000] {
            let kit =
                open([frame(&bytes[..7], options), frame(&bytes[7..], options)].concat(), Some(expected));
            let message = kit.sequentially().unwrap_err().to_string();
            assert!(
                message.contains("its description needs") || message.contains("nothing decodes"),
                "{message}"
            );
            assert!(kit.read(0, 1).is_err());
        }
    }
}

#[test]
fn a_wrong_seek_table_never_gives_wrong_bytes() {
    let bytes = sample(200_000, 7);
    for options in [CHECKED, UNSIZED] {
        let frames = [frame(&bytes[..100_000], options), frame(&bytes[100_000..], options)];
        let [a, b] = [frames[0].len(), frames[1].len()];
        // Without a content size in the header, a wrong decoded size is detected when the frame is decoded.
        for sizes in [[(a, 99_999), (b, 100_001)], [(a, 100_001), (b, 99_999)]] {
            let kit = open([frames.concat(), seek_table(&sizes, false)].concat(), None);
            match options.content_size {
                true => assert!(kit.whole().unwrap() == bytes),
                false => {
                    let message = kit.whole().unwrap_err().to_string();
                    assert!(message.contains("seek table"), "{message}");
                    assert!(kit.read(0, 1).is_err() && kit.read(150_000, 1).is_err());
                }
            }
        }
        // These are impossible, so they are ignored.
        for sizes in
            [[(a - 1, 100_000), (b + 1, 100_000)], [(a, 9_999_999), (b, 100_000)], [(a + b, 200_000), (0, 0)]]
        {
            let kit = open([frames.concat(), seek_table(&sizes, false)].concat(), None);
            assert!(kit.whole().unwrap() == bytes, "{sizes:?}");
        }
    }
}

#[test]
fn a_frame_declared_empty_is_verified() {
    let frame = frame(b"x", UNSIZED);
    let table = seek_table(&[(frame.len(), 0)], false);
    assert_eq!(open([frame, table].concat(), None).whole().unwrap(), b"x");
    let mut sized = super::tests::frame(b"x", CHECKED);
    assert_eq!(sized[5], 1);
    sized[5] = 0;
    assert!(open(sized, None).whole().is_err());
}

#[test]
fn unsupported_frames_are_reported() {
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
        let message = open(stored, None).whole().unwrap_err().to_string();
        assert!(
            message.contains(part) && message.starts_with("memory: dataset \"x\": at byte "),
            "{message}"
        );
    }
    // The largest permitted window.
    let most = [&[0x28, 0xb5, 0x2f, 0xfd, 0, 17 << 3][..], &[1, 0, 0]].concat();
    assert_eq!(open(most, None).stream.len().unwrap(), 0);
}

#[test]
fn a_header_that_claims_more_than_its_blocks_hold_is_rejected() {
    let mut stored = frame(&sample(100_000, 9), CHECKED);
    assert_eq!(stored[4] >> 6, 2);
    stored[8] = 0x7f;
    let message = open(stored, None).stream.len().unwrap_err().to_string();
    assert!(message.contains("its blocks hold at most"), "{message}");
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
    // Faults in bytes of a changed container are not damage.
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
fn truncation_gives_an_error_or_whole_frames() {
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
            // With a declared length, whole frames are served unless others are missing altogether.
            let is_end = ends.iter().any(|(end, _)| *end == cut);
            if cut >= frames[0].len() && !is_end {
                assert!(open(stored[..cut].to_vec(), Some(3000)).read(0, 1000).unwrap() == bytes[..1000]);
            }
        }
    }
}

/// Polls the state while `read` runs: no total other than `right` may appear, even briefly.
fn watched(kit: &Kit, right: Option<u64>, read: impl FnOnce()) {
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let watching = scope.spawn(|| {
            while !is_done.load(Ordering::Relaxed) {
                let total = kit.stream.state.lock().total();
                assert!(total.is_none() || total == right, "{total:?} for {right:?}");
            }
        });
        read();
        is_done.store(true, Ordering::Relaxed);
        watching.join().unwrap();
    });
}

#[test]
fn a_wrong_total_is_never_seen() {
    for round in 0..3000 {
        let (content, options) = (sample(20, round), if round % 2 == 0 { CHECKED } else { UNSIZED });
        let frames = [frame(&content[..7], options), frame(&content[7..], options)].concat();
        let cut = open([&frames[..], b"cut"].concat(), None);
        watched(&cut, None, || assert!(cut.stream.len().is_err()));
        let other = open(frames.clone(), Some(21));
        watched(&other, None, || assert!(other.read(20, 1).is_err()));
        let right = open(frames, None);
        watched(&right, Some(20), || assert!(right.read(0, 20).unwrap() == content));
    }
}
