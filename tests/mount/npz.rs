//! NPZ archives as numpy and zipfile write them, against what numpy reads; and those that are not what they claim.

use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use crate::kit::*;
use crate::parallel::eight_readers_of;

/// The archives, made once.
fn made(name: &str) -> PathBuf {
    static MADE: LazyLock<PathBuf> = LazyLock::new(|| {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("npz");
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        python(&[&"npz.py", &"make", &path]);
        path
    });
    MADE.join(name)
}

fn check(name: &str, options: &[&str]) {
    let mount = Mount::with(&made(name), options);
    python(&[&"npz.py", &"check", &mount.path, &made(name)]);
    assert_eq!((mount.err.as_str(), mount.log().as_str()), ("", ""), "{name}");
}

#[test]
fn every_kind_of_array() {
    check("stored.npz", &[]);
    check("deflated.npz", &[]);
    check("deflated.npz", &["--verify-first"]);
}

#[test]
fn every_kind_of_archive() {
    for name in [
        "nothing.npz",
        "odd.npz",
        "no_extension",
        "prefix.npz",
        "shifted.npz",
        "descriptors.npz",
        "descriptors_stored.npz",
    ] {
        check(name, &[]);
    }
}

#[test]
fn dates_and_structures_have_parts_and_attributes_too() {
    for name in ["stored.npz", "deflated.npz"] {
        let mount = Mount::with(&made(name), &["--xattr"]);
        let count: usize = python(&[&"check_slices.py", &mount.path, &"6"]).trim().parse().unwrap();
        assert!(count > 150, "{name}: {count}");
        python(&[&"npz.py", &"xattrs", &mount.path, &made(name)]);
        // Only what knows numpy's types shows them.
        for kind in ["csv", "jsonl", "arrow", "png"] {
            let others = match kind {
                "csv" => &["longdouble", "structure"][..],
                _ => &["dates", "spans", "longdouble", "structure"],
            };
            let of_other_types = |shown: &String| others.iter().any(|other| shown.starts_with(other));
            let shown = names(&mount.join(format!(".views/{kind}")));
            assert!(!shown.iter().any(of_other_types), "{kind}: {shown:?}");
        }
        assert_eq!(mount.log(), "");
    }
}

#[test]
fn any_range_from_eight_readers() {
    eight_readers_of(&made("stored.npz"), &[]);
    eight_readers_of(&made("deflated.npz"), &[]);
    eight_readers_of(&made("deflated.npz"), &["--cache-size", "1", "--threads", "1"]);
}

#[test]
fn what_was_learned_is_kept_for_the_next_mount() {
    let index = scratch();
    let options = ["-v", "--index-dir", index.path().to_str().unwrap()];
    let decoded = |log: &str| -> u64 {
        let line = log.lines().find_map(|line| line.split("decoded ").nth(1)).unwrap();
        line.split(' ').next().unwrap().parse().unwrap()
    };
    let mut last = Vec::new();
    let counts: Vec<u64> = (0..2)
        .map(|_| {
            let mount = Mount::with(&made("deflated.npz"), &options);
            let file = std::fs::File::open(mount.join("large")).unwrap();
            let mut end = vec![0; 1000];
            std::os::unix::fs::FileExt::read_exact_at(&file, &mut end, 3_199_000).unwrap();
            assert!(last.is_empty() || last == end);
            last = end;
            drop(file);
            decoded(&mount.end())
        })
        .collect();
    assert!(counts[1] < counts[0] / 3, "{counts:?}");
}

#[test]
fn many_members() {
    let mount = Mount::new(&made("many.npz"));
    assert_eq!(names(&mount.path).len(), 132_000);
    assert_eq!(mount.read("65999").unwrap(), [0, 1, 2, 3]);
    assert_eq!(std::fs::metadata(mount.join("00000")).unwrap().len(), 4);
}

#[test]
fn two_of_one_name_are_both_there() {
    let mount = Mount::new(&made("twice.npz"));
    assert_eq!(mount.read("same").unwrap(), [0]);
    assert_eq!(mount.read("same~2").unwrap(), [0, 1]);
    assert_eq!(mount.read("same~3").unwrap(), [0, 1, 2]);
}

#[test]
fn what_is_not_read_is_listed_and_says_why() {
    let mount = Mount::new(&made("other.npz"));
    let side = |name: &str| String::from_utf8(mount.read(format!("{name}.meta.yaml")).unwrap()).unwrap();
    for (name, why) in
        [("bzip2", "compression is bzip2"), ("lzma", "compression is lzma"), ("secret", "encrypted")]
    {
        assert_eq!(mount.read(name).unwrap_err().raw_os_error(), Some(libc::EOPNOTSUPP), "{name}");
        assert!(side(name).contains("problem: ") && side(name).contains(why), "{}", side(name));
    }
    assert_eq!(mount.read("good").unwrap().len(), 8000);
    assert_eq!(mount.log(), "");
}

/// A copy of a made archive with other bytes at some places; `find` gives the place in its bytes.
fn changed(name: &str, find: impl Fn(&[u8]) -> usize, bytes: &[u8]) -> (TempDir, PathBuf) {
    let dir = scratch();
    let path = dir.path().join("bad.npz");
    let whole = std::fs::read(made(name)).unwrap();
    let mut file = std::fs::File::create(&path).unwrap();
    file.write_all(&whole).unwrap();
    file.seek(SeekFrom::Start(find(&whole) as u64)).unwrap();
    file.write_all(bytes).unwrap();
    (dir, path)
}

fn place(whole: &[u8], wanted: &[u8]) -> usize {
    whole.windows(wanted.len()).position(|window| window == wanted).unwrap()
}

fn last_place(whole: &[u8], wanted: &[u8]) -> usize {
    whole.windows(wanted.len()).rposition(|window| window == wanted).unwrap()
}

/// `v1` is damaged so, and nothing else.
fn one_is_bad(name: &str, find: impl Fn(&[u8]) -> usize, bytes: &[u8], problem: &str) {
    let (_dir, path) = changed(name, find, bytes);
    let mount = Mount::new(&path);
    assert_eq!(mount.read("v1").unwrap_err().raw_os_error(), Some(libc::EIO), "{problem}");
    assert!(std::fs::metadata(mount.join("v1")).unwrap().len() > 0);
    assert!(mount.read("v1.meta.yaml").is_ok());
    assert_eq!(mount.read("notes.txt").unwrap(), "é plain\n".repeat(50).as_bytes());
    assert_eq!(mount.read("sub/x").unwrap().len(), 400_000);
    let log = mount.log();
    assert!(
        log.contains(problem) && log.contains("bad.npz: dataset \"v1\""),
        "{problem:?} is not in {log:?}"
    );
    assert_eq!(log.lines().count(), 1, "{log}");
}

#[test]
fn damaged_members_leave_the_others() {
    // In the directory, then in the local header, then in the data.
    let directory = |at: usize| move |whole: &[u8]| last_place(whole, b"v1.npy") - 46 + at;
    let local = |at: usize| move |whole: &[u8]| place(whole, b"v1.npy") - 30 + at;
    one_is_bad("odd.npz", directory(16), b"\0\0\0\0", "CRC-32 or size");
    one_is_bad("descriptors.npz", directory(16), b"\0\0\0\0", "incorrect data check");
    one_is_bad("odd.npz", directory(20), b"\xff\xff\0\0", "reach into what follows");
    one_is_bad("descriptors.npz", directory(24), b"\xff\xff\xff\0", "cannot decode");
    one_is_bad("odd.npz", directory(10), b"\0", "another compression");
    one_is_bad("odd.npz", local(0), b"QK", "no local header");
    one_is_bad("odd.npz", local(30), b"w", "another name");
    one_is_bad("odd.npz", local(300), b"\xff\xff\xff", "damaged");
    one_is_bad("no_extension", local(36), b"\x94", "not as a .npy file");
    one_is_bad("no_extension", |whole| place(whole, b"(1000,)") + 1, b"2", "its description needs");
    one_is_bad("no_extension", |whole| place(whole, b"<i8"), b"<q8", "\"<q8\" is not known");
}

#[test]
fn archives_that_are_cut_off_are_refused() {
    let dir = scratch();
    let whole = std::fs::read(made("odd.npz")).unwrap();
    let path = dir.path().join("cut.npz");
    for len in [30, 500, whole.len() / 2, whole.len() - 1100, whole.len() - 1] {
        std::fs::write(&path, &whole[..len]).unwrap();
        let outcome = run(program().arg(&path).arg(dir.path().join("mnt")));
        assert_eq!(outcome.code, 12, "{len}: {outcome:?}");
        assert!(outcome.err.contains("ZIP directory") && outcome.err.lines().count() == 1, "{outcome:?}");
    }
    std::fs::write(&path, "text").unwrap();
    assert_eq!(run(program().arg(&path).arg(dir.path().join("mnt"))).code, 11);
}
