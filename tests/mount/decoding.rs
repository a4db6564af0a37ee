//! Compressed datasets through the mount: damage is an error and never other bytes, the cache is bounded,
//! readers share the work.

use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use flate2::Compression;
use flate2::write::ZlibEncoder;

use crate::kit::*;

fn zlib(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// int32 values that count: compressible, and different everywhere.
fn counting(values: usize) -> Vec<u8> {
    (0..values as u32).flat_map(|n| (n ^ (n >> 3)).to_le_bytes()).collect()
}

/// A container with the gzip array "x" of `values` int32 stored as `stored`, and a plain dataset "other".
fn container(stored: &[u8], values: usize) -> (TempDir, PathBuf) {
    let len = stored.len();
    let x = entry(
        "x",
        &[
            &format!("byteLength: {len}"),
            "byteOffset: 5",
            "byteOrder: C",
            "compression: gzip",
            "endianness: little",
            &format!("shape: [{values}]"),
            "type: int32",
        ],
    );
    rab(&(bytes_entry("other", 0, 5) + &x), &[b"other", stored].concat())
}

const BIG: usize = 1_500_000;

fn reads_of_the_damaged(mount: &Mount) {
    assert_eq!(mount.read("x").unwrap_err().raw_os_error(), Some(libc::EIO));
    for script in [r#"cat "$1""#, r#"dd if="$1" bs=1M status=none"#, r#"cp "$1" /dev/null"#, r#"md5sum "$1""#]
    {
        let outcome = try_sh(&format!("{script} > /dev/null"), &[&mount.join("x")]);
        assert!(outcome.code != 0 && outcome.err.contains("Input/output error"), "{script}: {outcome:?}");
    }
    assert_eq!(mount.read("other").unwrap(), b"other");
    assert!(mount.read("x.meta.yaml").unwrap().ends_with(b"\n"));
    let log = mount.log();
    assert_eq!(log.lines().count(), 1, "{log}");
    assert!(log.contains("test.rab") && log.contains("dataset \"x\"") && log.contains("at byte"), "{log}");
}

#[test]
fn a_long_stream_that_ends_early_is_served_up_to_there() {
    let bytes = counting(BIG);
    let stored = zlib(&bytes);
    let (_dir, file) = container(&stored[..stored.len() / 2], BIG);
    let mount = Mount::new(&file);
    let open = std::fs::File::open(mount.join("x")).unwrap();
    let mut page = vec![0; 4096];
    let mut good = 0;
    while open.read_exact_at(&mut page, good as u64).is_ok() {
        assert_eq!(page, bytes[good..good + 4096]);
        good += 4096;
    }
    assert!(good > bytes.len() / 3, "only {good} bytes were served");
    reads_of_the_damaged(&mount);
}

#[test]
fn a_long_stream_with_a_wrong_checksum_never_reads_whole() {
    let mut stored = zlib(&counting(BIG));
    *stored.last_mut().unwrap() ^= 0x80;
    let (_dir, file) = container(&stored, BIG);
    let mount = Mount::new(&file);
    // Served before the end was seen, and then not any more, from no cache either.
    let open = std::fs::File::open(mount.join("x")).unwrap();
    open.read_exact_at(&mut [0; 5], 0).unwrap();
    reads_of_the_damaged(&mount);
    eventually("the kernel has forgotten the pages", || open.read_exact_at(&mut [0; 5], 0).is_err());
}

#[test]
fn a_length_other_than_the_shape_says_never_reads_whole() {
    for values in [BIG - 1, BIG + 1, 1000, 10] {
        let (_dir, file) = container(&zlib(&counting(BIG)), values);
        reads_of_the_damaged(&Mount::new(&file));
    }
    let (_dir, file) = container(&zlib(&counting(BIG / 2)), BIG);
    reads_of_the_damaged(&Mount::new(&file));
}

#[test]
fn short_streams_serve_nothing_before_they_are_verified() {
    let mut stored = zlib(&counting(200_000));
    *stored.last_mut().unwrap() ^= 1;
    let (_dir, file) = container(&stored, 200_000);
    let mount = Mount::new(&file);
    let open = std::fs::File::open(mount.join("x")).unwrap();
    assert_eq!(open.read_exact_at(&mut [0], 0).unwrap_err().raw_os_error(), Some(libc::EIO));
    reads_of_the_damaged(&mount);
}

#[test]
fn damage_anywhere_never_gives_other_bytes() {
    let bytes = counting(20_000);
    let good = zlib(&bytes);
    let headers: Vec<String> = (0..60)
        .map(|n| {
            entry(
                &format!("x{n}"),
                &[
                    &format!("byteLength: {}", good.len()),
                    &format!("byteOffset: {}", n * good.len()),
                    "compression: gzip",
                    if n % 2 == 0 { "type: text" } else { "type: int32" },
                    "shape: [20000]",
                ],
            )
        })
        .collect();
    let mut data = Vec::new();
    for n in 0..60usize {
        let mut stored = good.clone();
        let at = n * stored.len() / 60;
        stored[at] ^= 1 << (n % 8);
        data.extend(stored);
    }
    let (_dir, file) = rab(&headers.concat(), &data);
    let mount = Mount::new(&file);
    for n in 0..60 {
        if let Ok(read) = mount.read(format!("x{n}")) {
            assert!(read == bytes, "x{n} reads other bytes");
        }
    }
    assert!(mount.log().lines().count() >= 50);
}

/// A number from a file of the daemon's in /proc.
fn of_daemon(mount: &Mount, file: &str, label: &str) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{}/{file}", mount.daemon())).unwrap();
    let line = text.lines().find(|line| line.starts_with(label)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// The most that was ever resident, in bytes.
fn resident(mount: &Mount) -> u64 {
    of_daemon(mount, "status", "VmHWM:") << 10
}

#[test]
fn reading_from_the_front_decodes_once() {
    let bytes = counting(4 << 20);
    let stored = zlib(&bytes);
    let (_dir, file) = container(&stored, 4 << 20);
    let mount = Mount::with(&file, &["--cache-size", "2M"]);
    let before = of_daemon(&mount, "io", "rchar:");
    assert!(mount.read("x").unwrap() == bytes);
    let fetched = of_daemon(&mount, "io", "rchar:") - before;
    // What is read beside the stream are the requests of the kernel.
    assert!(fetched < stored.len() as u64 * 3 / 2, "{fetched} bytes were read, {} are stored", stored.len());
}

#[test]
fn many_small_streams_take_no_memory() {
    let stored = zlib(&counting(100));
    let number = 8000;
    let header: String = (0..number)
        .map(|n| {
            let length = format!("byteLength: {}", stored.len());
            entry(&format!("x{n}"), &[&length, "byteOffset: 0", "compression: gzip", "type: text"])
        })
        .collect();
    let (_dir, file) = rab(&header, &stored);
    let mount = Mount::with(&file, &["--cache-size", "2M"]);
    std::thread::scope(|scope| {
        for part in 0..4 {
            let mount = &mount;
            scope.spawn(move || {
                for n in (part..number).step_by(4) {
                    assert_eq!(mount.read(format!("x{n}")).unwrap().len(), 400);
                    assert!(mount.read(format!("x{n}.meta.yaml")).is_ok());
                }
            });
        }
    });
    let used = resident(&mount);
    assert!(used < 40 << 20, "{} MiB", used >> 20);
}

#[test]
fn memory_stays_within_the_cache_size_and_64_mib() {
    let bytes = counting(6 << 20);
    let stored = zlib(&bytes);
    let header: String = (0..12)
        .map(|n| {
            entry(
                &format!("x{n}"),
                &[
                    &format!("byteLength: {}", stored.len()),
                    "byteOffset: 0",
                    "compression: gzip",
                    "shape: [6291456]",
                    if n % 4 == 0 { "type: text" } else { "type: int32" },
                ],
            )
        })
        .collect();
    let (_dir, file) = rab(&header, &stored);
    let mount = Mount::with(&file, &["--cache-size", "8M"]);
    std::thread::scope(|scope| {
        for n in 0..12 {
            let (mount, bytes) = (&mount, &bytes);
            scope.spawn(move || assert!(&mount.read(format!("x{n}")).unwrap() == bytes));
        }
    });
    let used = resident(&mount);
    assert!(used < (8 + 64) << 20, "{} MiB", used >> 20);
}

#[test]
fn a_text_larger_than_the_cache_takes_no_more_than_the_cache() {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
    let piece = vec![0; 1 << 20];
    (0..768).for_each(|_| encoder.write_all(&piece).unwrap());
    let stored = encoder.finish().unwrap();
    let length = format!("byteLength: {}", stored.len());
    let (_dir, file) =
        rab(&entry("t", &[&length, "byteOffset: 0", "compression: gzip", "type: text"]), &stored);
    let mount = Mount::with(&file, &["--cache-size", "192M"]);
    assert_eq!(sh(r#"wc -c < "$1""#, &[&mount.join("t")]).trim(), "805306368");
    sh(r#"md5sum "$1""#, &[&mount.join("t")]);
    let used = resident(&mount);
    assert!(used < (192 + 64) << 20, "{} MiB", used >> 20);
}

#[test]
fn a_slow_decode_does_not_hold_up_listings_and_other_reads() {
    // Gigabytes that take seconds to decode, from a stream of megabytes.
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
    let piece = vec![0; 1 << 20];
    (0..3072).for_each(|_| encoder.write_all(&piece).unwrap());
    let stored = encoder.finish().unwrap();
    let slow = |name: &str| {
        entry(
            name,
            &[&format!("byteLength: {}", stored.len()), "byteOffset: 5", "compression: gzip", "type: text"],
        )
    };
    let header = bytes_entry("other", 0, 5) + &slow("a") + &slow("b") + &slow("c");
    let (_dir, file) = rab(&header, &[b"other".as_slice(), &stored].concat());
    let mount = Mount::with(&file, &["--cache-size", "4M"]);
    let finished = std::sync::atomic::AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for name in ["a", "b", "c"] {
            let (mount, finished) = (&mount, &finished);
            scope.spawn(move || {
                assert_eq!(std::fs::metadata(mount.join(name)).unwrap().len(), 3 << 30);
                finished.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
            });
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
        assert_eq!(mount.read("other").unwrap(), b"other");
        assert_eq!(mount.names().len(), 8);
        assert_eq!(
            finished.load(std::sync::atomic::Ordering::SeqCst),
            0,
            "the streams were too short to tell"
        );
    });
}

#[test]
fn many_readers_of_one_stream_hold_up_no_other() {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
    let piece = vec![0; 1 << 20];
    (0..3072).for_each(|_| encoder.write_all(&piece).unwrap());
    let slow = encoder.finish().unwrap();
    let quick = zlib(b"quick");
    let text = |name: &str, offset: usize, length: usize| {
        let lines = [format!("byteLength: {length}"), format!("byteOffset: {offset}")];
        entry(name, &[&lines[0], &lines[1], "compression: gzip", "type: text"])
    };
    let header = text("quick", 0, quick.len()) + &text("slow", quick.len(), slow.len());
    let (_dir, file) = rab(&header, &[quick, slow].concat());
    let mount = Mount::with(&file, &["--cache-size", "4M"]);
    let finished = std::sync::atomic::AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| {
                assert_eq!(std::fs::metadata(mount.join("slow")).unwrap().len(), 3 << 30);
                finished.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
            });
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
        assert_eq!(mount.read("quick").unwrap(), b"quick");
        assert_eq!(finished.load(std::sync::atomic::Ordering::SeqCst), 0, "the stream was too short to tell");
    });
}
