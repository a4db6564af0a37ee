//! Whatever is done to the files and the directory, what is got was put for that range of that container, and
//! the next mount can keep things again.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::{FileExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime};

use proptest::prelude::*;
use tempfile::TempDir;
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use super::layout::{HEAD, HEADER, MAX_PAYLOAD};
use super::{IndexFile, IndexStore, Key};

const KEY: Key =
    Key { len: 1 << 40, seconds: 1_700_000_000, nanoseconds: 123_456_789, header_hash: 1 << 100 };
const LIMIT: u64 = 1 << 30;

/// A cache directory of a test's own.
struct Kit {
    parent: TempDir,
}

impl Kit {
    fn new() -> Kit {
        Kit { parent: TempDir::with_prefix("rab-test-").unwrap() }
    }

    fn directory(&self) -> PathBuf {
        self.parent.path().join("cache/rab-mount")
    }

    fn with_limit(&self, limit: u64, key: Key) -> IndexFile {
        IndexStore::new(self.directory(), limit).open(key)
    }

    /// As a new mount opens it.
    fn open(&self) -> IndexFile {
        self.with_limit(LIMIT, KEY)
    }

    fn path(&self) -> PathBuf {
        self.directory().join(KEY.file_name())
    }

    fn len(&self) -> u64 {
        fs::metadata(self.path()).unwrap().len()
    }

    /// Puts a file of these bytes where the index is.
    fn plant(&self, bytes: &[u8]) {
        fs::create_dir_all(self.directory()).unwrap();
        fs::write(self.path(), bytes).unwrap();
        fs::set_permissions(self.path(), Permissions::from_mode(0o600)).unwrap();
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.directory()).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// Nothing is believed of what is there, and it is made anew by the first put.
    fn is_made_anew(&self, what: &str) {
        let index = self.open();
        assert_eq!(index.get(0, 10), None, "{what}");
        assert!(complained(&index), "{what}");
        index.put(0, 10, b"new");
        assert_eq!(index.get(0, 10).as_deref(), Some(&b"new"[..]), "{what}");
        drop(index);
        let index = self.open();
        assert_eq!(index.get(0, 10).as_deref(), Some(&b"new"[..]), "{what}");
        assert!(!complained(&index), "{what}");
    }

    /// Nothing is believed, nor kept.
    fn is_of_no_use(&self, index: &IndexFile, what: &str) {
        assert_eq!(index.get(0, 10), None, "{what}");
        index.put(0, 10, b"new");
        assert_eq!(index.get(0, 10), None, "{what}");
        assert!(complained(index), "{what}");
    }
}

fn complained(index: &IndexFile) -> bool {
    index.complained.load(Ordering::Relaxed)
}

fn other(number: u64) -> Key {
    Key { len: KEY.len + number, ..KEY }
}

/// The payload of record `n` of a sample, for the range `n..n + 10`.
fn payload(n: u64) -> Vec<u8> {
    (0..n * 7 % 40).map(|i| (i * 31 + n) as u8).collect()
}

/// A file of a few records, and where each one ends.
fn sample() -> (Vec<u8>, Vec<u64>) {
    let kit = Kit::new();
    let index = kit.open();
    let ends = (0..5).map(|n| {
        index.put(n, n + 10, &payload(n));
        kit.len()
    });
    let ends = ends.collect();
    (fs::read(kit.path()).unwrap(), ends)
}

/// A record whose checksums are right, whatever it says.
fn forged(at: u64, length: u32, start: u64, end: u64, payload: &[u8]) -> Vec<u8> {
    let mut bytes = b"RREC".to_vec();
    bytes.extend(length.to_le_bytes());
    for number in [start, end, xxh3_64(payload)] {
        bytes.extend(number.to_le_bytes());
    }
    bytes.extend(xxh3_64_with_seed(&bytes, KEY.seed().wrapping_add(at)).to_le_bytes());
    bytes.extend(payload);
    bytes
}

// What it is for.

#[test]
fn what_was_put_is_got_by_this_mount_and_the_next() {
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
fn a_file_of_many_dead_bytes_is_written_anew() {
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
fn many_threads_put_and_get_while_the_file_is_written_anew() {
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

// Damage.

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
fn records_that_lie_with_right_checksums_are_not_believed() {
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
    // The same, told truthfully, is believed.
    let kit = Kit::new();
    kit.plant(&[KEY.header(), forged(at, 100, 0, 10, &long)].concat());
    assert_eq!(kit.open().get(0, 10), Some(long));
}

#[test]
fn a_length_over_the_limit_is_not_believed_of_a_file_that_has_it_either() {
    let kit = Kit::new();
    kit.plant(&[KEY.header(), forged(HEADER as u64, MAX_PAYLOAD + 1, 0, 10, b"")].concat());
    let sparse = File::options().write(true).open(kit.path()).unwrap();
    sparse.set_len(2 * u64::from(MAX_PAYLOAD)).unwrap();
    kit.open().put(20, 30, b"x");
    assert!(kit.len() < 1000, "it was no record, so it is cut off");
}

#[test]
fn a_payload_of_another_length_than_its_head_says_is_not_believed() {
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
fn ranges_and_payloads_that_cannot_be_are_not_kept() {
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
    let version_2 = {
        let mut header = KEY.header();
        header[8] = 2;
        let checksum = xxh3_64(&header[..HEADER - 8]);
        header[HEADER - 8..].copy_from_slice(&checksum.to_le_bytes());
        header
    };
    let record = forged(HEADER as u64, 3, 0, 10, b"old");
    for (what, header) in [
        ("empty", vec![]),
        ("cut", KEY.header()[..60].to_vec()),
        ("another version", version_2),
        ("another container", other(1).header()),
        ("a text", vec![b'x'; 1000]),
    ] {
        let kit = Kit::new();
        let whole = if header.len() == HEADER { [header, record.clone()].concat() } else { header };
        kit.plant(&whole);
        kit.is_made_anew(what);
    }
}

// Strangers.

#[test]
fn files_that_others_may_have_written_are_made_anew() {
    let good = [KEY.header(), forged(HEADER as u64, 3, 0, 10, b"old")].concat();
    let kit = Kit::new();
    let elsewhere = kit.parent.path().join("elsewhere");
    fs::write(&elsewhere, &good).unwrap();
    let change = |what: &str, how: &dyn Fn(&Path)| {
        kit.plant(&good);
        assert!(kit.open().get(0, 10).is_some());
        how(&kit.path());
        kit.is_made_anew(what);
        fs::remove_file(kit.path()).unwrap();
    };
    let mode = |path: &Path, mode| fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    change("writable for the group", &|path| mode(path, 0o620));
    change("writable for all", &|path| mode(path, 0o602));
    change("a symbolic link", &|path| {
        fs::remove_file(path).unwrap();
        symlink(&elsewhere, path).unwrap();
    });
    change("a pipe", &|path| {
        fs::remove_file(path).unwrap();
        nix::unistd::mkfifo(path, nix::sys::stat::Mode::S_IRUSR).unwrap();
    });
    if nix::unistd::geteuid().is_root() {
        change("another user's", &|path| std::os::unix::fs::chown(path, Some(65534), None).unwrap());
    }
    assert_eq!(fs::read(&elsewhere).unwrap(), good, "what the link leads to is not touched");
}

#[test]
fn a_directory_in_the_place_of_the_file() {
    let kit = Kit::new();
    fs::create_dir_all(kit.path().join("full")).unwrap();
    kit.is_of_no_use(&kit.open(), "a directory");
    assert_eq!(kit.names(), [KEY.file_name()], "no temporary file is left");
}

#[test]
fn a_directory_that_others_may_write_to_is_not_used() {
    let kit = Kit::new();
    kit.open().put(0, 10, b"old");
    let mode = |mode| fs::set_permissions(kit.directory(), Permissions::from_mode(mode)).unwrap();
    for bits in [0o777, 0o1777, 0o770, 0o702] {
        mode(bits);
        kit.is_of_no_use(&kit.open(), &format!("{bits:o}"));
    }
    mode(0o755);
    assert_eq!(kit.open().get(0, 10).as_deref(), Some(&b"old"[..]));
    let link = kit.parent.path().join("link");
    symlink(kit.directory(), &link).unwrap();
    kit.is_of_no_use(&IndexStore::new(link, LIMIT).open(KEY), "a symbolic link");
    if nix::unistd::geteuid().is_root() {
        std::os::unix::fs::chown(kit.directory(), Some(65534), None).unwrap();
        kit.is_of_no_use(&kit.open(), "another user's");
    }
}

#[test]
fn where_nothing_can_be_created_nothing_is_kept() {
    let kit = Kit::new();
    let file = kit.parent.path().join("file");
    File::create(&file).unwrap();
    for directory in ["/proc/rab-mount".into(), "/dev/null".into(), file.join("cache"), file] {
        let index = IndexStore::new(directory.clone(), LIMIT).open(KEY);
        kit.is_of_no_use(&index, &directory.display().to_string());
    }
}

// The limit.

/// Makes a file of about 300 KB that was used so long ago.
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
fn what_was_used_longest_ago_goes_first() {
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
    // A lower limit begins anew.
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

// Anything.

/// As a child that was forked for another reason holds it, until its exec.
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

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn garbage_is_not_believed(
        garbage in prop::collection::vec(any::<u8>(), 0..9000),
        with_header: bool,
        with_magic: bool,
    ) {
        let kit = Kit::new();
        let header = if with_header { KEY.header() } else { Vec::new() };
        let magic: &[u8] = if with_magic { b"RREC" } else { b"" };
        kit.plant(&[&header, magic, &garbage].concat());
        let index = kit.open();
        prop_assert_eq!(index.get(0, 10), None);
        prop_assert!(complained(&index) || with_header);
        index.put(0, 10, &garbage);
        prop_assert_eq!(index.get(0, 10), Some(garbage.clone()));
        drop(index);
        prop_assert_eq!(kit.open().get(0, 10), Some(garbage));
    }

    /// A mount's life and accidents between mounts: what is got is one of those that were put for the range,
    /// and the last one as long as there was no accident.
    #[test]
    fn what_is_got_was_put(steps in prop::collection::vec(step(), 1..60)) {
        let kit = Kit::new();
        let mut put: Vec<Vec<Vec<u8>>> = vec![Vec::new(); 6];
        let mut index = kit.open();
        let mut accident = false;
        for step in steps {
            match step {
                Step::Put(range, payload) => {
                    index.put(range as u64, 6, &payload);
                    put[range].push(payload);
                }
                Step::Mount => index = { drop(index); kit.open() },
                Step::Damage(how) => if let Ok(mut bytes) = fs::read(kit.path()) {
                    how.apply(&mut bytes);
                    kit.plant(&bytes);
                    accident = true;
                    index = { drop(index); kit.open() };
                },
            }
            for (range, put) in put.iter().enumerate() {
                match index.get(range as u64, 6) {
                    Some(got) => prop_assert!(put.contains(&got)),
                    None => prop_assert!(put.is_empty() || accident),
                }
                if !accident {
                    prop_assert_eq!(index.get(range as u64, 6), put.last().cloned());
                }
            }
        }
    }
}

#[derive(Clone, Debug)]
enum Step {
    Put(usize, Vec<u8>),
    Mount,
    Damage(Damage),
}

#[derive(Clone, Debug)]
enum Damage {
    Flip(prop::sample::Index, u8),
    Cut(prop::sample::Index),
    /// Bytes of one place stand at another one too.
    Repeat(prop::sample::Index, prop::sample::Index, usize),
    Append(Vec<u8>),
}

impl Damage {
    fn apply(self, bytes: &mut Vec<u8>) {
        match self {
            _ if bytes.is_empty() => {}
            Damage::Flip(at, bits) => *at.get_mut(bytes) ^= bits,
            Damage::Cut(at) => bytes.truncate(at.index(bytes.len())),
            Damage::Repeat(from, to, len) => {
                let (from, to) = (from.index(bytes.len()), to.index(bytes.len()));
                let len = len.min(bytes.len() - from.max(to));
                bytes.copy_within(from..from + len, to);
            }
            Damage::Append(more) => bytes.extend(more),
        }
    }
}

fn step() -> impl Strategy<Value = Step> {
    let bytes = |most: usize| prop::collection::vec(any::<u8>(), 0..most);
    let damage = prop_oneof![
        (any::<prop::sample::Index>(), 1u8..).prop_map(|(at, bits)| Damage::Flip(at, bits)),
        any::<prop::sample::Index>().prop_map(Damage::Cut),
        (any::<prop::sample::Index>(), any::<prop::sample::Index>(), 1usize..500)
            .prop_map(|(from, to, len)| Damage::Repeat(from, to, len)),
        bytes(200).prop_map(Damage::Append),
    ];
    prop_oneof![
        6 => (0usize..6, bytes(300)).prop_map(|(range, payload)| Step::Put(range, payload)),
        2 => Just(Step::Mount),
        1 => damage.prop_map(Step::Damage),
    ]
}
