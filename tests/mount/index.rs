//! What is learned about compressed datasets outlives the mount, costs no correctness when it is wrong, and can be
//! had in memory alone. How much was decoded is read from the log of a mount that has ended.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::ZlibEncoder;
use std::io::{Read, Write};

use crate::kit::*;

const LEN: usize = 6_000_000;

fn bytes(seed: u64) -> Vec<u8> {
    let mut scatter = Scatter(seed);
    (0..LEN).map(|_| b"abcdefghijklmnopqrstuvwxyz012345"[scatter.below(32)]).collect()
}

fn zlib(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// The text "text", whose size is recorded nowhere, and the array "array".
struct Kit {
    dir: TempDir,
    file: PathBuf,
    text: Vec<u8>,
    array: Vec<u8>,
}

fn container(text: &[u8], array: &[u8]) -> (String, Vec<u8>) {
    let (first, second) = (zlib(text), zlib(array));
    let lengths = [first.len(), second.len()].map(|len| format!("byteLength: {len}"));
    let header = entry("text", &[&lengths[0], "byteOffset: 0", "compression: gzip", "type: text"])
        + &entry(
            "array",
            &[
                &lengths[1],
                &format!("byteOffset: {}", first.len()),
                "compression: gzip",
                &format!("shape: [{LEN}]"),
                "type: uint8",
            ],
        );
    (header, [first, second].concat())
}

impl Kit {
    fn new() -> Kit {
        let (text, array) = (bytes(1), bytes(2));
        let (header, stored) = container(&text, &array);
        let (dir, file) = rab(&header, &stored);
        Kit { dir, file, text, array }
    }

    fn index(&self) -> PathBuf {
        self.dir.path().join("index")
    }

    /// Does something with a mount that keeps its index here; returns how many bytes that decoded, and the log.
    fn mounted(&self, options: &[&str], work: impl FnOnce(&Mount)) -> (usize, String) {
        let index = self.index();
        let keep = ["--index-dir", index.to_str().unwrap()];
        let keep = if options.contains(&"--no-index") { &[][..] } else { &keep };
        let mount = Mount::with(&self.file, &[&["-v"], keep, options].concat());
        work(&mount);
        let log = mount.end();
        let line =
            log.lines().find_map(|line| line.split("decoded ").nth(1)?.strip_suffix(" bytes")?.parse().ok());
        (line.unwrap_or_else(|| panic!("{log}")), log)
    }

    fn reads_all(&self, mount: &Mount) {
        assert!(mount.read("text").unwrap() == self.text);
        assert!(mount.read("array").unwrap() == self.array);
    }

    fn index_file(&self) -> PathBuf {
        let files: Vec<_> = fs::read_dir(self.index()).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert_eq!(files.len(), 1, "{files:?}");
        files[0].clone()
    }

    fn reads_4_kib(&self, mount: &Mount, at: usize) {
        let mut page = vec![0; 4096];
        // Not through the page cache, or the kernel would read ahead.
        let file = {
            use std::os::unix::fs::OpenOptionsExt;
            OpenOptions::new().read(true).custom_flags(libc::O_DIRECT).open(mount.join("array")).unwrap()
        };
        file.read_exact_at(&mut page, at as u64).unwrap();
        assert!(page == self.array[at..at + 4096], "at {at}");
    }
}

#[test]
fn mounting_again_knows_sizes_and_seek_points() {
    let kit = Kit::new();
    let (decoded, _) = kit.mounted(&[], |mount| kit.reads_all(mount));
    assert!(decoded >= 2 * LEN, "{decoded}");
    let (decoded, log) = kit.mounted(&[], |mount| {
        assert_eq!(fs::metadata(mount.join("text")).unwrap().len(), LEN as u64);
    });
    assert_eq!(decoded, 0, "{log}");
    let (decoded, log) = kit.mounted(&[], |mount| kit.reads_4_kib(mount, LEN - 100_000));
    assert!(decoded < 1 << 20, "{decoded}: {log}");
    let (decoded, _) = kit.mounted(&["--no-index"], |mount| kit.reads_4_kib(mount, LEN - 100_000));
    assert!(decoded > LEN / 2, "{decoded}");
}

/// The container with one bit flipped so that the array decodes to as many bytes, of which some are others.
fn with_a_flipped_bit(kit: &Kit) -> Vec<u8> {
    let whole = fs::read(&kit.file).unwrap();
    let start = whole.len() - zlib(&kit.array).len();
    (0..)
        .find_map(|n| {
            let mut damaged = whole.clone();
            damaged[start + (whole.len() - start) / 3 + n] ^= 4;
            let mut decoded = Vec::new();
            let _ = flate2::read::DeflateDecoder::new(&damaged[start + 2..]).read_to_end(&mut decoded);
            (decoded.len() == LEN && decoded != kit.array).then_some(damaged)
        })
        .unwrap()
}

/// What is read of a damaged container, whose time is then given to the right one.
fn restored(read: impl FnOnce(&Mount)) {
    let kit = Kit::new();
    let whole = fs::read(&kit.file).unwrap();
    fs::write(&kit.file, with_a_flipped_bit(&kit)).unwrap();
    let stamp = fs::metadata(&kit.file).unwrap().modified().unwrap();
    kit.mounted(&[], read);
    fs::write(&kit.file, whole).unwrap();
    OpenOptions::new().write(true).open(&kit.file).unwrap().set_modified(stamp).unwrap();
    for _ in 0..2 {
        kit.mounted(&[], |mount| {
            (1..20).for_each(|n| kit.reads_4_kib(mount, LEN / 20 / 4096 * 4096 * n));
            kit.reads_all(mount);
        });
    }
}

#[test]
fn what_was_learned_of_a_stream_whose_end_was_not_seen_is_not_kept() {
    restored(|mount| {
        let mut most = vec![0; LEN / 4 * 3];
        fs::File::open(mount.join("array")).unwrap().read_exact_at(&mut most, 0).unwrap();
    });
}

#[test]
fn what_was_learned_of_a_damaged_stream_is_not_kept() {
    restored(|mount| assert!(mount.read("array").is_err()));
}

#[test]
fn no_index_keeps_nothing() {
    let kit = Kit::new();
    kit.mounted(&["--no-index"], |mount| kit.reads_all(mount));
    assert!(!kit.index().exists());
}

#[test]
fn a_container_that_changed_behind_its_time_is_read_as_it_is() {
    let mut kit = Kit::new();
    kit.mounted(&[], |mount| kit.reads_all(mount));
    // Of the same size, time and header; only the data differ.
    let stamp = fs::metadata(&kit.file).unwrap().modified().unwrap();
    let before = fs::read(&kit.file).unwrap();
    let mut text = kit.text.clone();
    let changed = (0..).find_map(|at| {
        text.swap(at * 64, at * 64 + 1);
        let (header, stored) = container(&text, &kit.array);
        let same = before.len() == 7 + header.len() + stored.len() && text != kit.text;
        same.then_some((header, stored))
    });
    let (header, stored) = changed.unwrap();
    write_rab(&kit.file, &header, &stored);
    OpenOptions::new().write(true).open(&kit.file).unwrap().set_modified(stamp).unwrap();
    kit.text = text;
    kit.mounted(&[], |mount| kit.reads_all(mount));
    kit.mounted(&[], |mount| kit.reads_all(mount));
}

fn spoiled(spoil: impl FnOnce(&Path)) {
    let kit = Kit::new();
    kit.mounted(&[], |mount| kit.reads_all(mount));
    spoil(&kit.index_file());
    kit.mounted(&[], |mount| {
        (1..20).for_each(|n| kit.reads_4_kib(mount, LEN / 20 / 4096 * 4096 * n));
        kit.reads_all(mount);
    });
}

#[test]
fn a_truncated_index_is_not_believed() {
    spoiled(|file| {
        let len = fs::metadata(file).unwrap().len();
        OpenOptions::new().write(true).open(file).unwrap().set_len(len / 2).unwrap();
    });
}

#[test]
fn an_index_of_garbage_is_not_believed() {
    spoiled(|file| {
        let mut scatter = Scatter(9);
        let mut content = fs::read(file).unwrap();
        content.iter_mut().skip(64).for_each(|byte| *byte ^= scatter.below(256) as u8);
        fs::write(file, content).unwrap();
    });
}

#[test]
fn flipped_bits_in_the_index_are_not_believed() {
    spoiled(|file| {
        let mut scatter = Scatter(10);
        let mut content = fs::read(file).unwrap();
        for _ in 0..20 {
            let at = scatter.below(content.len());
            content[at] ^= 1 << scatter.below(8);
        }
        fs::write(file, content).unwrap();
    });
}

#[test]
fn little_index_memory_costs_time_and_nothing_else() {
    let kit = Kit::new();
    let (_, log) = kit.mounted(&["--index-memory", "100K"], |mount| {
        kit.reads_all(mount);
        (1..20).for_each(|n| kit.reads_4_kib(mount, LEN / 20 / 4096 * 4096 * n));
    });
    let line = log.lines().find_map(|line| line.split("index: ").nth(1)).expect("a line about the index");
    let taken: u64 = line.split(' ').next().unwrap().parse().unwrap();
    assert!(taken < 200 << 10, "{line}");
}

#[test]
fn verify_first_serves_nothing_of_a_damaged_stream() {
    let array = bytes(3);
    let (header, mut stored) = container(b"outcome", &array);
    *stored.last_mut().unwrap() ^= 1;
    let (_dir, file) = rab(&header, &stored);
    let first_page = |mount: &Mount| {
        let mut page = vec![0; 4096];
        fs::File::open(mount.join("array")).unwrap().read_exact_at(&mut page, 0)
    };
    assert!(first_page(&Mount::new(&file)).is_ok());
    let mount = Mount::with(&file, &["--verify-first"]);
    assert_eq!(first_page(&mount).unwrap_err().raw_os_error(), Some(libc::EIO));
    assert_eq!(mount.read("text").unwrap(), b"outcome");
}

#[test]
fn damage_that_is_found_ahead_of_the_reader_reaches_what_was_served() {
    let array = bytes(4);
    let (header, mut stored) = container(b"outcome", &array);
    *stored.last_mut().unwrap() ^= 1;
    let (_dir, file) = rab(&header, &stored);
    let mount = Mount::new(&file);
    let open = fs::File::open(mount.join("array")).unwrap();
    let mut piece = vec![0; 1 << 16];
    // Up to shortly before the end, which decoding ahead then meets, perhaps before the last of these is read.
    for at in (0..LEN - 700_000).step_by(piece.len()) {
        let read = open.read_exact_at(&mut piece, at as u64);
        assert!(read.is_ok() || at > LEN / 2, "{read:?} at {at}");
    }
    eventually("the first page is forgotten", || open.read_exact_at(&mut piece, 0).is_err());
    assert_eq!(mount.log().lines().count(), 1, "{}", mount.log());
}
