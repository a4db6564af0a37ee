//! Compressed streams of every kind that zlib can make (tests/python/gzip_family.py), read through the
//! mount in every way: at random, from the front, backwards, with and without the kernel's cache. What is
//! read equals the plain bytes, or, if the stream is damaged, reading it whole fails.

use std::fs::File;
use std::io::Write;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::{GzEncoder, ZlibEncoder};

use crate::kit::*;

/// A container, and what each of its datasets decodes to.
struct Family {
    file: PathBuf,
    plain: Vec<(String, Vec<u8>)>,
    _dir: TempDir,
}

impl Family {
    fn new(kind: &str) -> Family {
        let dir = scratch();
        python(&[&"gzip_family.py", &kind, &dir.path()]);
        let plain = dir.path().join("plain");
        let read = |name: String| (name.clone(), std::fs::read(plain.join(name)).unwrap());
        let plain: Vec<_> = names(&plain).into_iter().map(read).collect();
        Family { file: dir.path().join("family.rab"), plain, _dir: dir }
    }

    /// Each way on mounts of its own, so that none finds what another left in a cache.
    fn reads_the_same_in_every_way(&self, reads: usize) {
        for options in [["--cache-size", "2M"].as_slice(), &[]] {
            let on_its_own = |read: &dyn Fn(&Mount)| {
                let mount = Mount::with(&self.file, options);
                within(&mount, || read(&mount));
            };
            on_its_own(&|mount| at_random(self, mount, reads));
            on_its_own(&|mount| from_the_front(self, mount));
            on_its_own(&|mount| backwards(self, mount));
        }
    }
}

/// Four readers, of which two pass by the kernel's cache: their requests arrive as they are made, while
/// those of the others are rounded to pages and read ahead of.
fn at_random(family: &Family, mount: &Mount, reads: usize) {
    std::thread::scope(|scope| {
        for reader in 0..4 {
            scope.spawn(move || {
                let mut scatter = Scatter(reader as u64);
                for number in 0..family.plain.len() {
                    let (name, plain) = &family.plain[(number + reader * 7) % family.plain.len()];
                    let file = open(&mount.join(name), reader % 2 == 0);
                    for _ in 0..reads {
                        let (from, size) = scatter.range(plain.len());
                        equals(&file, plain, from, size, name);
                    }
                }
            });
        }
    });
}

fn from_the_front(family: &Family, mount: &Mount) {
    for (name, plain) in &family.plain {
        assert!(&mount.read(name).unwrap() == plain, "{name}");
    }
}

fn backwards(family: &Family, mount: &Mount) {
    for (name, plain) in &family.plain {
        let file = open(&mount.join(name), false);
        let piece = plain.len() / 16 + 1;
        for from in (0..plain.len()).step_by(piece).rev() {
            equals(&file, plain, from, piece, name);
        }
    }
}

fn open(path: &Path, past_the_cache: bool) -> File {
    let flags = if past_the_cache { libc::O_DIRECT } else { 0 };
    File::options().read(true).custom_flags(flags).open(path).unwrap()
}

/// Reading `size` bytes at `from` gives what is there, up to the end.
fn equals(file: &File, plain: &[u8], from: usize, size: usize, name: &str) {
    let want = &plain[from..plain.len().min(from + size)];
    let mut got = vec![0; size];
    let count = file.read_at(&mut got, from as u64).unwrap();
    assert!(&got[..count] == want, "{name}: {count} bytes from {from} of {size}");
}

#[test]
fn the_samples_read_the_same_in_every_way() {
    Family::new("samples").reads_the_same_in_every_way(40);
}

#[test]
fn every_level_strategy_window_and_flush_reads_the_same_in_every_way() {
    Family::new("settings").reads_the_same_in_every_way(5);
}

#[test]
fn gzip_of_many_members_reads_the_same_in_every_way() {
    Family::new("members").reads_the_same_in_every_way(12);
}

#[test]
fn streams_of_every_length_read_the_same_in_every_way() {
    Family::new("lengths").reads_the_same_in_every_way(8);
}

#[test]
fn streams_of_64_mib_read_the_same_in_every_way() {
    Family::new("long").reads_the_same_in_every_way(6);
}

/// Bytes that compress a little and differ everywhere.
fn sample(len: usize) -> Vec<u8> {
    let mut scatter = Scatter(9);
    (0..len).map(|_| scatter.below(64) as u8).collect()
}

fn zlib(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// A container of the streams `stored` that decode to `len` bytes, called x0, x1, ...: arrays, and each one
/// that `is_text` names a text, whose size nobody tells.
fn container(stored: &[Vec<u8>], len: usize, is_text: impl Fn(usize) -> bool) -> (TempDir, PathBuf) {
    let (mut header, mut offset) = (String::new(), 0);
    for (number, stream) in stored.iter().enumerate() {
        let lines = [
            format!("byteLength: {}", stream.len()),
            format!("byteOffset: {offset}"),
            "compression: gzip".to_owned(),
            format!("shape: [{len}]"),
            format!("type: {}", if is_text(number) { "text" } else { "uint8" }),
        ];
        header += &entry(&format!("x{number}"), &lines.each_ref().map(String::as_str));
        offset += stream.len();
    }
    rab(&header, &stored.concat())
}

/// The stream with a bit flipped, or cut short.
fn damaged(good: &[u8], scatter: &mut Scatter) -> Vec<u8> {
    let mut stored = good.to_vec();
    let at = scatter.below(stored.len());
    match scatter.below(5) {
        0 => stored.truncate(at),
        _ => stored[at] ^= 1 << scatter.below(8),
    }
    stored
}

#[test]
fn damage_and_odd_reads_before_never_let_a_whole_read_give_other_bytes() {
    let plain = sample(1_300_003);
    let mut scatter = Scatter(5);
    let good = [zlib(&plain), gzip(&plain)];
    let stored: Vec<_> = (0..120).map(|number| damaged(&good[number % 2], &mut scatter)).collect();
    let (_dir, file) = container(&stored, plain.len(), |number| number % 8 > 5);
    let mount = Mount::with(&file, &["--cache-size", "2M"]);
    let mut failed = 0;
    for number in 0..stored.len() {
        let name = format!("x{number}");
        for _ in 0..scatter.below(5) {
            let (from, size) = scatter.range(plain.len());
            let Ok(file) = File::open(mount.join(&name)) else { continue };
            let _ = file.read_at(&mut vec![0; size], from as u64);
        }
        match mount.read(&name) {
            Ok(read) => assert!(read == plain, "{name} reads other bytes"),
            Err(error) => failed += usize::from(error.raw_os_error() == Some(libc::EIO)),
        }
    }
    assert!(failed > 100, "only {failed} of them failed");
}
