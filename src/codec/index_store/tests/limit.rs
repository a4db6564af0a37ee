//! The limit on all files together.

use super::*;

/// Creates a file of about 300 KB, last used `seconds_ago`.
fn used(kit: &Kit, number: u64, seconds_ago: u64) -> PathBuf {
    kit.with_limit(LIMIT, other(number)).put(0, 10, &[1; 300_000]);
    let path = kit.directory().join(other(number).file_name());
    set_age(&path, seconds_ago);
    path
}

fn set_age(path: &Path, seconds: u64) {
    let file = File::options().write(true).open(path).unwrap();
    file.set_modified(SystemTime::now() - Duration::from_secs(seconds)).unwrap();
}

#[test]
fn the_least_recently_used_file_goes_first() {
    let kit = Kit::new();
    let [oldest, old, reused, newer] =
        [(1, 400), (2, 300), (3, 200), (4, 100)].map(|(n, age)| used(&kit, n, age));
    let stranger = kit.directory().join("photos.idx");
    fs::write(&stranger, vec![0; 2_000_000]).unwrap();
    set_age(&stranger, 100_000);
    set_age(&reused, 500);
    assert!(kit.with_limit(LIMIT, other(3)).get(0, 10).is_some(), "now it is the newest");
    let there = || [&oldest, &old, &reused, &newer].map(|path| path.exists());
    let index = kit.with_limit(1_000_000, KEY);
    index.put(0, 10, b"x");
    assert_eq!(there(), [false, true, true, true], "when a file is first written to");
    index.put(10, 20, &[0; 600_000]);
    assert_eq!(there(), [false, true, true, true], "not before it has grown by a megabyte");
    let index = kit.with_limit(2_200_000, other(9));
    index.put(0, 10, &[0; 1_100_000]);
    assert_eq!(there(), [false, false, true, false], "when it has grown");
    assert!(stranger.exists(), "other files are none of ours");
}

#[test]
fn a_file_that_is_being_written_is_not_dropped() {
    let kit = Kit::new();
    let busy = kit.with_limit(LIMIT, other(1));
    busy.put(0, 10, &[1; 300_000]);
    let path = kit.directory().join(other(1).file_name());
    set_age(&path, 1000);
    let idle = used(&kit, 2, 10);
    kit.with_limit(400_000, KEY).put(0, 10, &[0; 300_000]);
    assert!(path.exists() && !idle.exists());
    assert_eq!(busy.get(0, 10), Some(vec![1; 300_000]));
}

#[test]
fn at_the_limit_nothing_more_is_kept() {
    let kit = Kit::new();
    let index = kit.with_limit(1000, KEY);
    for n in 0..10 {
        index.put(n, n + 1, &[n as u8; 160]);
    }
    assert!(complained(&index) && kit.len() <= 1000);
    assert_eq!((index.get(3, 4), index.get(4, 5)), (Some(vec![3; 160]), None));
    drop(index);
    let next = kit.with_limit(1000, KEY);
    assert_eq!((next.get(3, 4), next.get(9, 10)), (Some(vec![3; 160]), None));
    drop(next);
    // With a lower limit, the file starts empty.
    kit.with_limit(500, KEY).put(3, 4, b"x");
    let next = kit.open();
    assert_eq!((next.get(3, 4).as_deref(), next.get(2, 3)), (Some(&b"x"[..]), None));
}

#[test]
fn others_that_fill_the_limit_leave_no_room() {
    let kit = Kit::new();
    let busy = kit.with_limit(LIMIT, other(1));
    busy.put(0, 10, &[1; 3_000_000]);
    let index = kit.with_limit(4_000_000, KEY);
    for n in 0..10 {
        index.put(n, n + 1, &[n as u8; 600_000]);
    }
    assert!(complained(&index) && kit.len() < 2_000_000);
    assert!(index.get(0, 1).is_some() && index.get(9, 10).is_none());
}

#[test]
fn left_over_files_are_removed_when_they_are_old() {
    let kit = Kit::new();
    kit.open().put(0, 10, b"x");
    let names = [
        format!("{}.123-4.tmp", other(1).file_name()),
        format!("{}.9-0.tmp", KEY.file_name()),
        "thesis.tmp".into(),
        format!("{}.draft.tmp", KEY.file_name()),
    ];
    for (name, age) in names.iter().zip([4000, 3000, 100_000, 100_000]) {
        let path = kit.directory().join(name);
        fs::write(&path, "x").unwrap();
        set_age(&path, age);
    }
    kit.open().put(0, 10, b"x");
    let there = names.map(|name| kit.directory().join(name).exists());
    assert_eq!(there, [false, true, true, true]);
}
