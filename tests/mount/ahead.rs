//! Small files that reach the page cache before they are read, reads without it, and where requests are answered: none
//! of these changes a byte.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::time::Duration;

use crate::kit::*;

/// Lengths around those of pages and of what is pushed.
const LENGTHS: [usize; 10] = [1, 10, 4095, 4096, 4097, 0, 9000, 300, 65_536, 65_537];

/// A RAB file with `count` datasets, of which each has the bytes `byte`.
fn many(path: &Path, count: usize, byte: u8) {
    let contents: Vec<Vec<u8>> = (0..count).map(|n| vec![byte; LENGTHS[n % LENGTHS.len()]]).collect();
    let names: Vec<String> = (0..count).map(|n| format!("signal {n:04}")).collect();
    write_bytes(path, &names, &contents);
}

fn write_bytes(path: &Path, names: &[String], contents: &[Vec<u8>]) {
    let mut offset = 0;
    let entry = |(name, bytes): (&String, &Vec<u8>)| {
        offset += bytes.len() as u64;
        bytes_entry(name, offset - bytes.len() as u64, bytes.len() as u64)
    };
    let header: String = names.iter().zip(contents).map(entry).collect();
    write_rab(path, &header, &contents.concat());
}

/// Is the first page of a file in the page cache?
fn is_resident(path: &Path) -> bool {
    let file = File::open(path).unwrap();
    // SAFETY: the map is of one page, used here only, and mincore writes one byte for it.
    unsafe {
        let page =
            libc::mmap(std::ptr::null_mut(), 1, libc::PROT_READ, libc::MAP_SHARED, file.as_raw_fd(), 0);
        assert_ne!(page, libc::MAP_FAILED, "{}", std::io::Error::last_os_error());
        let mut resident = 0u8;
        assert_eq!(libc::mincore(page, 1, &mut resident), 0, "{}", std::io::Error::last_os_error());
        libc::munmap(page, 1);
        resident & 1 == 1
    }
}

fn read_in_order(mount: &Mount, wanted: impl Fn(&str) -> bool) -> Vec<(String, Vec<u8>)> {
    let names = sh(r#"ls -U "$1""#, &[&mount.path]);
    let names = names.lines().filter(|name| wanted(name));
    names.map(|name| (name.to_owned(), mount.read(name).unwrap())).collect()
}

#[test]
fn what_follows_files_that_are_read_in_order_is_in_the_page_cache() {
    let dir = scratch();
    let file = dir.path().join("many.rab");
    many(&file, 400, 7);
    for (options, is_pushed) in [(&[][..], true), (&["--no-push"], false)] {
        for suffix in ["", ".meta.yaml"] {
            let mount = Mount::with(&file, options);
            let path = |n: usize| mount.path.join(format!("signal {n:04}{suffix}"));
            sh(r#"ls -l "$1""#, &[&mount.path]);
            (0..4).for_each(|n| drop(std::fs::read(path(n)).unwrap()));
            match is_pushed {
                true => eventually("the next file is pushed", || is_resident(&path(6))),
                false => assert!(!is_resident(&path(6))),
            }
            // No more than a few before the program goes on.
            assert!(!is_resident(&path(40)));
        }
    }
}

#[test]
fn files_are_the_same_in_every_way_of_reading() {
    let dir = scratch();
    let (file, plain) = (dir.path().join("many.rab"), dir.path().join("plain"));
    let contents: Vec<Vec<u8>> = (0..300)
        .map(|n| (0..LENGTHS[n % LENGTHS.len()]).map(|at| (at * 7 + n) as u8).collect())
        .chain([(0..3_000_000).map(|at: u32| (at / 5) as u8).collect()])
        .collect();
    let names: Vec<String> = (0..contents.len()).map(|n| format!("signal {n:04}")).collect();
    write_bytes(&file, &names, &contents);
    std::fs::write(&plain, &contents[300]).unwrap();
    for options in [
        &[][..],
        &["--no-push"],
        &["--no-follow"],
        &["--direct-io", "0"],
        &["--direct-io", "off"],
        &["--direct-io", "1M", "--no-push", "--no-follow"],
        &["--threads", "1"],
        &["--threads", "7", "--direct-io", "4K"],
    ] {
        let mount = Mount::with(&file, options);
        // Again: what was pushed, what was read, and what is left.
        for _ in 0..2 {
            let files = read_in_order(&mount, |name| !name.ends_with(".meta.yaml") && !name.starts_with('.'));
            assert_eq!(files.len(), contents.len());
            for ((name, got), want) in files.iter().zip(&contents) {
                assert!(got == want, "{options:?}: {name}");
            }
        }
        let sidecars = read_in_order(&mount, |name| name.ends_with(".meta.yaml"));
        assert!(
            sidecars.len() == contents.len() && sidecars.iter().all(|(_, text)| text.starts_with(b"codec")),
            "{sidecars:?}"
        );
        let large = mount.path.join("signal 0300");
        check_any_range(&large, 200);
        sh(r#"cmp "$1" "$2" && dd if="$1" bs=64K iflag=direct status=none | cmp - "$2""#, &[&large, &plain]);
        let same = "import sys, numpy as np\n\
                    a, b = np.memmap(sys.argv[1], 'u1', 'r'), np.fromfile(sys.argv[2], 'u1')\n\
                    assert (a == b).all() and (np.fromfile(sys.argv[1], 'u1') == b).all()";
        python(&[&"-c", &same, &large, &plain]);
    }
}

#[test]
fn large_arrays_are_kept_only_once_in_memory() {
    let dir = scratch();
    let file = dir.path().join("large.rab");
    write_bytes(&file, &["large".into()], &[vec![9; 4 << 20]]);
    for (size, is_cached) in [("1M", false), ("5M", true), ("off", true)] {
        let mount = Mount::with(&file, &["--direct-io", size]);
        sh(r#"cp "$1/large" "$2""#, &[&mount.path, &dir.path().join("copy")]);
        assert_eq!(is_resident(&mount.path.join("large")), is_cached, "{size}");
    }
}

#[test]
fn a_damaged_file_is_not_pushed() {
    let dir = scratch();
    let file = dir.path().join("damaged.npz");
    let write = "import sys, zipfile, numpy as np\n\
        arrays = {f'x{n:02}': np.arange(n, n + 500) for n in range(60)}\n\
        np.savez_compressed(sys.argv[1], **arrays)\n\
        with zipfile.ZipFile(sys.argv[1]) as z: members = z.infolist()\n\
        with open(sys.argv[1], 'r+b') as f:\n\
        \x20   for member in members[10::20]:\n\
        \x20       f.seek(member.header_offset + 30 + len(member.filename) + member.compress_size // 2)\n\
        \x20       byte = f.read(1)[0]; f.seek(-1, 1); f.write(bytes([byte ^ 0x10]))";
    python(&[&"-c", &write, &file]);
    let mount = Mount::new(&file);
    for _ in 0..3 {
        sh(r#"ls -lU "$1""#, &[&mount.path]);
        for n in 0..60 {
            let want: Vec<u8> = (n..n + 500u64).flat_map(u64::to_le_bytes).collect();
            match mount.read(format!("x{n:02}")) {
                Ok(got) => assert!(got == want && n % 20 != 10, "{n}"),
                Err(error) => assert_eq!((error.raw_os_error(), n % 20), (Some(libc::EIO), 10), "{n}"),
            }
        }
    }
}

/// Number of reads in the race; RAB_TEST_READS has another.
fn reads() -> usize {
    std::env::var("RAB_TEST_READS").map_or(20_000, |count| count.parse().unwrap())
}

#[test]
fn files_of_replaced_containers_are_of_one_version() {
    let dir = scratch();
    let folder = dir.path().join("folder");
    std::fs::create_dir(&folder).unwrap();
    let write = |container: usize, version: u8| {
        let part = dir.path().join(format!("{container}.part"));
        many(&part, 40, version);
        std::fs::rename(&part, folder.join(format!("{container}.rab"))).unwrap();
    };
    (0..4).for_each(|container| write(container, 1));
    let mount = Mount::with(&folder, &["--refresh", "0.05", "--threads", "4"]);
    let (is_done, newest) = (AtomicBool::new(false), AtomicU8::new(1));
    let reader = |seed| {
        let (mut scatter, mut good) = (Scatter(seed), 0);
        for _ in 0..reads() / 3 / 40 {
            let container = mount.path.join(format!("{}.rab", scatter.below(4)));
            let Ok(entries) = std::fs::read_dir(&container) else { continue };
            let all: Vec<_> = entries.flatten().collect();
            for entry in &all {
                // Looked up anew, as most programs do.
                let _ = entry.metadata();
            }
            for entry in all {
                let name = entry.file_name().into_string().unwrap();
                let Some(number) =
                    name.strip_prefix("signal ").and_then(|number| number.parse::<usize>().ok())
                else {
                    continue;
                };
                // A container that was replaced just now is an error, never bytes of two versions.
                let Ok(bytes) = std::fs::read(entry.path()) else { continue };
                let version = bytes.first().copied().unwrap_or(1);
                assert!(
                    version <= newest.load(Ordering::SeqCst) && bytes.iter().all(|byte| *byte == version)
                );
                assert_eq!(bytes.len(), LENGTHS[number % LENGTHS.len()], "{name}");
                good += 1;
            }
        }
        good
    };
    let good: usize = std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut scatter = Scatter(5);
            for version in (2..=250).cycle() {
                if is_done.load(Ordering::SeqCst) {
                    break;
                }
                newest.fetch_max(version, Ordering::SeqCst);
                write(scatter.below(4), version);
                std::thread::sleep(Duration::from_millis(20));
            }
        });
        let readers: Vec<_> = (0..3).map(|seed| scope.spawn(move || reader(seed))).collect();
        let good = readers.into_iter().map(|reader| reader.join().unwrap()).sum();
        is_done.store(true, Ordering::SeqCst);
        good
    });
    assert!(good > reads() / 4, "{good} reads were answered");
    // What is there in the end is seen in the end.
    (0..4).for_each(|container| write(container, 251));
    eventually("the last version is seen", || {
        (0..4).all(|container| {
            mount.read(format!("{container}.rab/signal 0001")).is_ok_and(|bytes| bytes == [251; 10])
        })
    });
}

/// Programs that read the same or neighbouring small files at the same time wait for nothing but their answers.
#[test]
fn many_readers_of_small_files_are_all_answered() {
    let dir = scratch();
    let folder = dir.path().join("folder");
    std::fs::create_dir(&folder).unwrap();
    let contents = |len: usize| (0..600).map(|n| vec![n as u8; len]).collect::<Vec<_>>();
    let names: Vec<String> = (0..600).map(|n| format!("signal {n:04}")).collect();
    write_bytes(&folder.join("0.rab"), &names, &contents(9000));
    write_bytes(&folder.join("1.rab"), &names, &contents(30_000));
    let script = r#"import os, sys, threading
folder, first, step = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
for container in "01":
    names = sorted(n for n in os.listdir(f"{folder}/{container}.rab") if n.startswith("signal") and "." not in n)
    for n in range(first, len(names), step):
        with open(f"{folder}/{container}.rab/{names[n]}", "rb") as f:
            data = f.read()
        assert data == bytes([n % 256]) * (9000 if container == "0" else 30000), names[n]"#;
    for round in 0..6 {
        let options: &[&str] = if round % 2 == 0 { &[] } else { &["--threads", "1"] };
        let mount = Mount::with(&folder, options);
        // Every fourth file each, and then all of them together.
        let together = r#"
            run() { timeout -s KILL 60 "$1" -c "$2" "$3" "$4" "$5" || echo stuck; }
            for n in 0 1 2 3; do run "$1" "$2" "$3" "$n" 4 & done; wait
            for n in 0 1 2 3 4 5; do run "$1" "$2" "$3" 0 1 & done; wait"#;
        assert_eq!(sh(together, &[&interpreter(), &script, &mount.path]), "", "{options:?}");
    }
}

/// A container that changes while its files are being handed over to the kernel.
#[test]
fn a_change_while_files_are_read_keeps_nobody_waiting() {
    let dir = scratch();
    let file = dir.path().join("many.rab");
    let names: Vec<String> = (0..600).map(|n| format!("signal {n:04}")).collect();
    let contents: Vec<_> = (0..600).map(|n| vec![n as u8; 20_000]).collect();
    let script = r#"import os, sys, time
folder, first = sys.argv[1], int(sys.argv[2])
end = time.time() + 1.5
names = [f"{folder}/signal {n:04}" for n in range(first, 600, 4)]
while time.time() < end:
    for name in names:
        try:
            f = os.open(name, 0)
            data = os.read(f, 70000)
            os.posix_fadvise(f, 0, 0, 4)
            os.close(f)
        except OSError:
            continue
        assert data == bytes([int(name[-4:]) % 256]) * 20000, name"#;
    for _ in 0..4 {
        write_bytes(&file, &names, &contents);
        let mount = Mount::new(&file);
        sh(r#"ls -l "$1""#, &[&mount.path]);
        let together = r#"
            for n in 0 1 2 3; do timeout -s KILL 60 "$1" -c "$2" "$3" "$n" || echo stuck & done
            sleep 0.5; touch "$4"; wait"#;
        assert_eq!(sh(together, &[&interpreter(), &script, &mount.path, &file]), "");
    }
}
