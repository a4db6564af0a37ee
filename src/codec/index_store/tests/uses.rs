//! What the store is for.

use super::*;

#[test]
fn what_was_put_is_returned_in_this_mount_and_the_next() {
    let kit = Kit::new();
    let index = kit.open();
    assert_eq!(index.get(5, 9), None);
    assert!(!kit.directory().exists(), "asking creates nothing");
    index.put(5, 9, b"seek points");
    index.put(9, 12, b"");
    let large: Vec<u8> = (0..3_000_000u32).map(|i| (i >> 3) as u8).collect();
    index.put(20, 21, &large);
    index.put(5, 9, b"more seek points");
    let check = |index: &IndexFile| {
        assert_eq!(index.get(5, 9).as_deref(), Some(&b"more seek points"[..]));
        assert_eq!(index.get(9, 12).as_deref(), Some(&b""[..]));
        assert!(index.get(20, 21).as_ref() == Some(&large));
        assert_eq!((index.get(5, 10), index.get(4, 9), index.get(21, 22)), (None, None, None));
        assert!(!complained(index));
    };
    check(&index);
    drop(index);
    check(&kit.open());
}

#[test]
fn only_the_owner_may_look() {
    let kit = Kit::new();
    kit.open().put(0, 10, b"x");
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
    assert_eq!((mode(&kit.directory()), mode(&kit.path())), (0o700, 0o600));
    assert_eq!(kit.names(), [KEY.file_name()]);
}

#[test]
fn every_part_of_the_key_counts() {
    let kit = Kit::new();
    kit.open().put(0, 10, b"x");
    for key in [
        Key { len: KEY.len + 1, ..KEY },
        Key { seconds: KEY.seconds + 1, ..KEY },
        Key { nanoseconds: KEY.nanoseconds + 1, ..KEY },
        Key { header_hash: KEY.header_hash + 1, ..KEY },
    ] {
        assert_eq!(kit.with_limit(LIMIT, key).get(0, 10), None);
        // Also under the name of the other.
        let path = kit.directory().join(key.file_name());
        fs::copy(kit.path(), &path).unwrap();
        let index = kit.with_limit(LIMIT, key);
        assert_eq!(index.get(0, 10), None);
        assert!(complained(&index));
    }
    assert!(kit.open().get(0, 10).is_some());
}

#[test]
fn a_file_with_many_dead_bytes_is_rewritten() {
    let kit = Kit::new();
    let index = kit.open();
    index.put(0, 1, b"stays");
    for n in 0..20 {
        index.put(1, 2, &vec![n; 300_000]);
        assert!(kit.len() < 3_000_000);
        assert!(index.get(1, 2) == Some(vec![n; 300_000]) && index.get(0, 1).as_deref() == Some(b"stays"));
    }
    assert_eq!(kit.names().len(), 1);
    // The lock has moved to the new file.
    let second = kit.open();
    second.put(0, 1, b"lost");
    drop(index);
    let index = kit.open();
    assert!(index.get(1, 2) == Some(vec![19; 300_000]) && index.get(0, 1).as_deref() == Some(b"stays"));
}

#[test]
fn one_mount_writes_and_others_read() {
    let kit = Kit::new();
    kit.open().put(0, 1, b"before");
    let (first, second) = (kit.open(), kit.open());
    first.put(1, 2, b"first");
    second.put(2, 3, b"second");
    second.put(1, 2, b"second");
    assert_eq!(second.get(0, 1).as_deref(), Some(&b"before"[..]));
    assert_eq!((second.get(2, 3), complained(&second)), (None, false));
    drop(first);
    let third = kit.open();
    third.put(2, 3, b"third");
    for (start, bytes) in [(0, &b"before"[..]), (1, b"first"), (2, b"third")] {
        assert_eq!(third.get(start, start + 1).as_deref(), Some(bytes));
        assert_eq!(kit.open().get(start, start + 1).as_deref(), Some(bytes));
    }
}

#[test]
fn a_mount_that_looked_earlier_appends_behind_what_came_since() {
    let kit = Kit::new();
    kit.open().put(0, 1, b"a");
    let early = kit.open();
    assert!(early.get(0, 1).is_some());
    kit.open().put(1, 2, b"b");
    early.put(2, 3, b"c");
    let index = kit.open();
    for (start, bytes) in [(0, b"a"), (1, b"b"), (2, b"c")] {
        assert_eq!(index.get(start, start + 1).as_deref(), Some(&bytes[..]));
        assert_eq!(early.get(start, start + 1).as_deref(), Some(&bytes[..]));
    }
}

#[test]
fn many_threads_put_and_get_while_the_file_is_rewritten() {
    let kit = Kit::new();
    let index = kit.open();
    let of = |thread: u64, round: u64| vec![(thread * 16 + round) as u8; 100_000];
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let index = &index;
            scope.spawn(move || {
                for round in 0..12 {
                    index.put(thread, thread + 1, &of(thread, round));
                    assert!(index.get(thread, thread + 1) == Some(of(thread, round)));
                    if let Some(theirs) = index.get((thread + 1) % 8, (thread + 1) % 8 + 1) {
                        assert!((0..12).any(|round| theirs == of((thread + 1) % 8, round)));
                    }
                }
            });
        }
    });
    assert!(!complained(&index));
    assert!(kit.len() < 8 * 12 * 100_000);
    drop(index);
    let index = kit.open();
    assert!((0..8).all(|thread| index.get(thread, thread + 1) == Some(of(thread, 11))));
}

/// A child forked for another reason holds the file until its exec.
#[test]
fn the_next_mount_writes_though_a_child_still_has_the_file() {
    let kit = Kit::new();
    let index = kit.open();
    index.put(0, 10, b"first");
    let inherited = index.written().unwrap().try_clone().unwrap();
    drop(index);
    let index = kit.open();
    index.put(0, 10, b"second");
    assert_eq!(index.get(0, 10).as_deref(), Some(&b"second"[..]));
    drop(inherited);
}
