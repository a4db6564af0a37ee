//! Random streams compared with their plain bytes.

use super::*;

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
