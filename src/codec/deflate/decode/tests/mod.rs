//! Our decoder against that of zlib-rs: the same bytes, boundaries, ends and errors, whatever the pieces in which the
//! stream comes, and wherever decoding begins.

mod oracle;
mod streams;

use self::oracle::{Decoded, End};
use self::streams::{Rng, Writer};
use super::*;

/// No stream of the tests decodes to more.
const MAX: usize = 4 << 20;

/// Our decoding in random pieces, or at once.
fn ours(decoder: &mut Decoder, input: &[u8], skip: u32, window: &[u8], mut rng: Option<&mut Rng>) -> Decoded {
    let mut found = Decoded::default();
    let (mut at, mut given) = (usize::from(skip > 0), 0);
    let (bits, byte) = if skip > 0 { (8 - skip as u8, input[0]) } else { (0, 0) };
    decoder.resume(bits, byte, window);
    let mut room = vec![0; 70_000];
    let most = |rng: &mut Option<&mut Rng>, end: usize| rng.as_mut().map_or(end, |rng| 1 + rng.small(end));
    loop {
        // What was not consumed comes again, with more.
        let rest = input.len() - at;
        given = (given + most(&mut rng, rest)).min(rest);
        let len = most(&mut rng, room.len());
        let stop = rng.as_mut().is_none_or(|rng| !rng.one_in(8));
        let step = decoder.step(&input[at..at + given], given == rest, &mut room[..len], stop);
        at += step.consumed;
        given -= step.consumed;
        found.bytes.extend(&room[..step.produced]);
        match step.at {
            Ok(At::Boundary { bits }) => {
                assert!(stop);
                found.boundaries.push((found.bytes.len(), at, bits));
                let all = [window, &found.bytes].concat();
                assert!(*decoder.window() == all[all.len().saturating_sub(WINDOW)..]);
            }
            Ok(At::End) => found.end = End::At(at),
            Err(why) => found.end = End::Wrong(why.to_owned()),
            Ok(At::Inside) if at + given < input.len() || step.produced + step.consumed > 0 => continue,
            Ok(At::Inside) => {}
        }
        if !matches!(step.at, Ok(At::Boundary { .. })) {
            return found;
        }
    }
}

/// zlib-rs replaces some of its messages by another before anybody sees them.
fn agree(ours: &End, theirs: &End) -> bool {
    let is_replaced = *theirs == End::Wrong("repeated call with bad state".to_owned());
    if is_replaced { matches!(ours, End::Wrong(_)) } else { ours == theirs }
}

/// Compares; of the boundaries only those at which we were to stop.
fn same(ours: &Decoded, theirs: &Decoded, what: &str) {
    assert!(agree(&ours.end, &theirs.end), "{what}: {:?} and {:?}", ours.end, theirs.end);
    let equal = ours.bytes.iter().zip(&theirs.bytes).take_while(|(a, b)| a == b).count();
    assert!(
        ours.bytes == theirs.bytes,
        "{what}: {} and {} bytes, {equal} equal",
        ours.bytes.len(),
        theirs.bytes.len()
    );
    assert!(ours.boundaries.iter().all(|boundary| theirs.boundaries.contains(boundary)), "{what}");
}

/// Decodes a stream in every way.
fn compare(decoder: &mut Decoder, stream: &[u8], rng: &mut Rng, what: &str) {
    let theirs = oracle::decode(stream, 0, &[], MAX);
    let whole = ours(decoder, stream, 0, &[], None);
    same(&whole, &theirs, what);
    assert_eq!(whole.boundaries, theirs.boundaries, "{what}");
    same(&ours(decoder, stream, 0, &[], Some(rng)), &theirs, &format!("{what}, in pieces"));
    let Some((position, at, bits)) = theirs.boundaries.get(rng.below(theirs.boundaries.len())).copied()
    else {
        return;
    };
    let (window, after) = theirs.bytes.split_at(position);
    let window = &window[position.saturating_sub(WINDOW)..];
    let from = at - usize::from(bits > 0);
    let skip = (8 - u32::from(bits)) % 8;
    let resumed = ours(decoder, &stream[from..], skip, window, Some(rng));
    assert!(resumed.bytes == after, "{what}, from byte {position}");
    let end = match theirs.end {
        End::At(end) => End::At(end - from),
        end => end,
    };
    assert!(agree(&resumed.end, &end), "{what}, from byte {position}");
}

/// How many streams: `RAB_TEST_INFLATE=1000000` takes minutes in a release build.
fn number() -> u64 {
    std::env::var("RAB_TEST_INFLATE").map_or(1_000, |number| number.parse().unwrap())
}

#[test]
fn streams_decode_as_with_zlib_rs() {
    let mut decoder = Decoder::new();
    for seed in 0..number() {
        let mut rng = Rng(seed);
        let stream = streams::any(&mut rng);
        compare(&mut decoder, &stream, &mut rng, &format!("stream {seed}"));
    }
}

#[test]
fn a_stream_cut_anywhere_gives_all_bytes_that_are_there() {
    let mut decoder = Decoder::new();
    for seed in 0..3 {
        let mut rng = Rng(seed);
        let bytes = streams::sample(&mut rng, 3_000);
        let stream = oracle::encode(&[(&bytes, 0)], 6, [0, 2, 4][seed as usize]);
        for len in 0..stream.len() {
            let theirs = oracle::decode(&stream[..len], 0, &[], MAX);
            same(
                &ours(&mut decoder, &stream[..len], 0, &[], None),
                &theirs,
                &format!("{seed}, cut at {len}"),
            );
        }
    }
}

#[test]
fn streams_begin_at_any_bit() {
    let mut decoder = Decoder::new();
    for seed in 0..number() / 20 {
        let mut rng = Rng(seed);
        let window = streams::sample(&mut rng, 40_000);
        let stream = streams::compressed(&mut rng);
        for skip in 0..8 {
            let mut shifted = Writer::default();
            shifted.bits(rng.next(), skip);
            stream.iter().for_each(|byte| shifted.bits((*byte).into(), 8));
            let (input, window) =
                (&shifted.bytes, &window[window.len() - rng.small(window.len()).min(WINDOW)..]);
            let theirs = oracle::decode(input, skip, window, MAX);
            same(
                &ours(&mut decoder, input, skip, window, Some(&mut rng)),
                &theirs,
                &format!("{seed}, bit {skip}"),
            );
        }
    }
}

/// A match of three bytes at this distance, in a block with the fixed codes.
fn far(distance: u64) -> Vec<u8> {
    let mut out = Writer::default();
    out.bits(0b011, 3);
    // Length 3 is symbol 257, whose code is 0000001, first bit first.
    out.bits(0b1000000, 7);
    // The last symbol of distances is 29, 11101, for 24,577 and more.
    out.bits(0b10111, 5);
    out.bits(distance - 24_577, 13);
    out.bits(0, 7);
    out.bytes
}

#[test]
fn matches_reach_as_far_as_there_are_bytes() {
    let mut decoder = Decoder::new();
    let history: Vec<u8> = (0..WINDOW).map(|at| (at % 253) as u8).collect();
    // With bytes behind it the block is decoded by the loop, else symbol by symbol.
    for behind in [0, 100] {
        let stream = [far(32_768), vec![0; behind]].concat();
        let mut decode = |window: &[u8]| ours(&mut decoder, &stream, 0, window, None);
        assert_eq!(decode(&history).bytes, history[..3]);
        let short = decode(&history[1..]);
        assert_eq!((short.bytes.len(), short.end), (0, End::Wrong("invalid distance too far back".into())));
        assert_eq!(decode(&[]).end, End::Wrong("invalid distance too far back".into()));
    }
}

/// The loop decodes more than there is room for: nothing of it is lost, and the end is told only after it.
#[test]
fn blocks_end_between_reads_of_one_byte() {
    let mut decoder = Decoder::new();
    let bytes = streams::sample(&mut Rng(1), 5_000);
    let pieces: Vec<(&[u8], i32)> = bytes.chunks(7).map(|piece| (piece, 3)).collect();
    let stream = oracle::encode(&pieces, 9, 0);
    let theirs = oracle::decode(&stream, 0, &[], MAX);
    decoder.reset();
    let (mut at, mut found, mut boundaries) = (0, Vec::<u8>::new(), Vec::new());
    loop {
        let mut room = [0];
        let step = decoder.step(&stream[at..], true, &mut room, true);
        at += step.consumed;
        found.extend(&room[..step.produced]);
        match step.at.unwrap() {
            At::Boundary { bits } => boundaries.push((found.len(), at, bits)),
            At::Inside => {}
            At::End => break,
        }
    }
    assert!(found == bytes && boundaries == theirs.boundaries && theirs.end == End::At(at));
}

/// Two windows of bytes that differ at each place and together tell which it is.
fn markers() -> [Vec<u8>; 2] {
    let low = |place: usize| place as u8;
    [
        (0..WINDOW).map(low).collect(),
        (0..WINDOW).map(|place| low(place).wrapping_add(1 + (place >> 8) as u8)).collect(),
    ]
}

#[test]
fn references_are_those_that_decoding_twice_finds() {
    let mut decoder = Decoder::new();
    let markers = markers();
    let mut count = 0;
    for seed in 0..number() {
        let mut rng = Rng(seed);
        let stream = streams::any(&mut rng);
        let [low, high] = [0, 1].map(|n| oracle::decode(&stream, 0, &markers[n], MAX).bytes);
        let mut used = vec![false; WINDOW];
        for (low, high) in low.iter().zip(&high).filter(|(low, high)| low != high) {
            used[usize::from(high.wrapping_sub(*low).wrapping_sub(1)) << 8 | usize::from(*low)] = true;
        }
        decoder.resume(0, 0, &markers[0]);
        decoder.track();
        let (mut at, mut room) = (0, vec![0; 1 + rng.small(100_000)]);
        loop {
            let step = decoder.step(&stream[at..], true, &mut room, true);
            at += step.consumed;
            let is_over = !matches!(step.at, Ok(At::Inside | At::Boundary { .. }));
            if is_over || step.consumed + step.produced == 0 && !matches!(step.at, Ok(At::Boundary { .. })) {
                break;
            }
        }
        assert!(decoder.tracked() == used, "stream {seed}");
        count += used.iter().filter(|used| **used).count();
    }
    assert!(count > 0);
}
