//! Truncated or changed files.

use super::*;

#[test]
fn a_file_cut_anywhere_keeps_its_whole_records_and_takes_new_ones() {
    let (bytes, ends) = sample();
    for cut in 0..bytes.len() {
        let kit = Kit::new();
        kit.plant(&bytes[..cut]);
        let index = kit.open();
        let check = |index: &IndexFile| {
            for (n, end) in (0..).zip(&ends) {
                let expected = (*end <= cut as u64).then(|| payload(n));
                assert_eq!(index.get(n, n + 10), expected, "cut at {cut}");
            }
        };
        check(&index);
        let is_whole = cut == HEADER || ends.contains(&(cut as u64));
        assert_eq!(complained(&index), !is_whole, "cut at {cut}");
        index.put(50, 60, b"behind");
        check(&index);
        drop(index);
        let index = kit.open();
        check(&index);
        assert_eq!(index.get(50, 60).as_deref(), Some(&b"behind"[..]), "cut at {cut}");
        assert!(!complained(&index), "cut at {cut}");
    }
}

#[test]
fn a_file_with_any_bit_turned_gives_nothing_else() {
    let (bytes, _) = sample();
    let kit = Kit::new();
    for at in 0..bytes.len() {
        for bit in 0..8 {
            let mut bytes = bytes.clone();
            bytes[at] ^= 1 << bit;
            kit.plant(&bytes);
            let index = kit.open();
            let wrong = (0..5).filter(|n| index.get(*n, n + 10).as_ref() != Some(&payload(*n)));
            assert!(wrong.clone().count() > 0 && complained(&index), "bit {bit} of byte {at}");
            assert!(wrong.into_iter().all(|n| index.get(n, n + 10).is_none()), "bit {bit} of byte {at}");
        }
    }
}

#[test]
fn a_damaged_payload_is_put_again() {
    let (mut bytes, ends) = sample();
    bytes[ends[1] as usize - 1] ^= 1;
    let kit = Kit::new();
    kit.plant(&bytes);
    let index = kit.open();
    assert_eq!(index.get(1, 11), None);
    index.put(1, 11, b"again");
    drop(index);
    let index = kit.open();
    assert_eq!(index.get(1, 11).as_deref(), Some(&b"again"[..]));
    assert!((2..5).all(|n| index.get(n, n + 10) == Some(payload(n))));
}

#[test]
fn false_records_with_right_checksums_are_ignored() {
    let at = HEADER as u64;
    let long = vec![7; 100];
    for (what, record) in [
        ("a length over the limit", forged(at, MAX_PAYLOAD + 1, 0, 10, &long)),
        ("the longest length", forged(at, u32::MAX, 0, 10, &long)),
        ("a length beyond the file", forged(at, 101, 0, 10, &long)),
        ("an end beyond the container", forged(at, 100, 0, KEY.len + 1, &long)),
        ("the largest end", forged(at, 100, u64::MAX - 1, u64::MAX, &long)),
        ("an end before the start", forged(at, 100, 10, 0, &long)),
        ("an empty range", forged(at, 100, 10, 10, &long)),
        ("another place in the file", forged(at + 8, 100, 0, 10, &long)),
        ("another container", {
            let mut record = forged(at, 100, 0, 10, &long);
            let seed = other(1).seed().wrapping_add(at);
            let checksum = xxh3_64_with_seed(&record[..HEAD - 8], seed);
            record[HEAD - 8..HEAD].copy_from_slice(&checksum.to_le_bytes());
            record
        }),
    ] {
        let kit = Kit::new();
        kit.plant(&[KEY.header(), record].concat());
        let index = kit.open();
        for (start, end) in [(0, 10), (0, KEY.len + 1), (u64::MAX - 1, u64::MAX), (10, 0), (10, 10)] {
            assert_eq!(index.get(start, end), None, "{what}");
        }
        assert!(complained(&index), "{what}");
        index.put(0, 10, b"new");
        assert_eq!(kit.open().get(0, 10).as_deref(), Some(&b"new"[..]), "{what}");
    }
    // The same record with true values is accepted.
    let kit = Kit::new();
    kit.plant(&[KEY.header(), forged(at, 100, 0, 10, &long)].concat());
    assert_eq!(kit.open().get(0, 10), Some(long));
}

#[test]
fn a_length_over_the_limit_is_ignored_even_if_the_file_is_that_long() {
    let kit = Kit::new();
    kit.plant(&[KEY.header(), forged(HEADER as u64, MAX_PAYLOAD + 1, 0, 10, b"")].concat());
    let sparse = File::options().write(true).open(kit.path()).unwrap();
    sparse.set_len(2 * u64::from(MAX_PAYLOAD)).unwrap();
    kit.open().put(20, 30, b"x");
    assert!(kit.len() < 1000, "it was no record, so it is cut off");
}

#[test]
fn a_payload_of_the_wrong_length_is_ignored() {
    let kit = Kit::new();
    kit.plant(&[KEY.header(), forged(HEADER as u64, 99, 0, 10, &[7; 100])].concat());
    assert_eq!(kit.open().get(0, 10), None);
}

#[test]
fn a_file_cut_or_changed_while_it_is_open_gives_nothing_else() {
    let (bytes, ends) = sample();
    let kit = Kit::new();
    kit.plant(&bytes);
    let index = kit.open();
    assert!(index.get(1, 11).is_some());
    fs::OpenOptions::new().write(true).open(kit.path()).unwrap().set_len(ends[2] - 1).unwrap();
    assert_eq!((index.get(1, 11), index.get(2, 12), index.get(4, 14)), (Some(payload(1)), None, None));
    // Another record where one was: its checksums are right, its range is not.
    let file = fs::OpenOptions::new().write(true).open(kit.path()).unwrap();
    file.write_all_at(&forged(ends[0], 7, 90, 99, &payload(1)), ends[0]).unwrap();
    assert_eq!(index.get(1, 11), None);
}

#[test]
fn impossible_ranges_and_payloads_are_not_stored() {
    let kit = Kit::new();
    let index = kit.open();
    for (start, end) in [(10, 10), (10, 0), (0, KEY.len + 1)] {
        index.put(start, end, b"x");
        assert_eq!(index.get(start, end), None);
    }
    index.put(0, 10, &vec![0; MAX_PAYLOAD as usize + 1]);
    assert!(index.get(0, 10).is_none() && complained(&index));
    assert!(!kit.directory().exists());
}

#[test]
fn headers_that_are_not_ours() {
    let version_1 = {
        let mut header = KEY.header();
        header[8] = 1;
        let checksum = xxh3_64(&header[..HEADER - 8]);
        header[HEADER - 8..].copy_from_slice(&checksum.to_le_bytes());
        header
    };
    let record = forged(HEADER as u64, 3, 0, 10, b"old");
    for (what, header) in [
        ("empty", vec![]),
        ("cut", KEY.header()[..60].to_vec()),
        ("an older version", version_1),
        ("another container", other(1).header()),
        ("a text", vec![b'x'; 1000]),
    ] {
        let kit = Kit::new();
        let whole = if header.len() == HEADER { [header, record.clone()].concat() } else { header };
        kit.plant(&whole);
        kit.is_made_again(what);
    }
}
