//! Many readers of compressed datasets at once, and what users do with them: each gets its own bytes, in
//! time, and the sizes of a listing are exact.

use std::fs::File;
use std::io::Write;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::PathBuf;

use flate2::Compression;
use flate2::write::ZlibEncoder;

use crate::kit::*;

/// Lines with their number in them: compressible, and different everywhere.
fn text(seed: usize, len: usize) -> Vec<u8> {
    let lines = (0..).flat_map(|n: usize| format!("{seed} {n} {:x}\n", n * (seed + 77)).into_bytes());
    lines.take(len).collect()
}

fn zlib(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// A container of these bytes as compressed datasets: each of type text, whose size nobody tells, if its
/// name begins with `t`, else an array.
fn container(datasets: &[(String, Vec<u8>)]) -> (TempDir, PathBuf) {
    let (mut header, mut data) = (String::new(), Vec::new());
    for (name, plain) in datasets {
        let stored = zlib(plain);
        let lines = [
            format!("byteLength: {}", stored.len()),
            format!("byteOffset: {}", data.len()),
            "compression: gzip".to_owned(),
            format!("shape: [{}]", plain.len()),
            format!("type: {}", if name.starts_with('t') { "text" } else { "uint8" }),
        ];
        header += &entry(name, &lines.each_ref().map(String::as_str));
        data.extend(stored);
    }
    rab(&header, &data)
}

#[test]
fn sixteen_readers_at_random_get_their_bytes_in_time() {
    let name = |n: usize| format!("{} {n}", ["text", "array"][n % 2]);
    let datasets: Vec<_> = (0..6).map(|n| (name(n), text(n, (n + 1) * 700_001))).collect();
    let (_dir, file) = container(&datasets);
    let mount = Mount::with(&file, &["--cache-size", "2M"]);
    let reader = |number: u64| {
        let mut scatter = Scatter(number);
        // Past the kernel's cache, so that the daemon sees every request.
        let open = |name| File::options().read(true).custom_flags(libc::O_DIRECT).open(mount.join(name));
        for _ in 0..40 {
            let (name, plain) = &datasets[scatter.below(datasets.len())];
            let (from, size) = scatter.range(plain.len());
            let mut got = vec![0; size.min(plain.len() - from)];
            open(name).unwrap().read_exact_at(&mut got, from as u64).unwrap();
            assert!(got == plain[from..from + got.len()], "{name} from {from} size {size}");
        }
    };
    within(&mount, || {
        std::thread::scope(|scope| {
            (0..16).for_each(|number| drop(scope.spawn(move || reader(number))));
        });
    });
}

#[test]
fn a_reader_at_the_front_and_one_at_the_back_get_their_bytes() {
    for name in ["array", "text"] {
        let plain = text(1, 12_000_001);
        let (_dir, file) = container(&[(name.to_owned(), plain.clone())]);
        let mount = Mount::with(&file, &["--cache-size", "2M"]);
        let read = |pieces: &mut dyn Iterator<Item = usize>| {
            let file = File::open(mount.join(name)).unwrap();
            for from in pieces {
                let mut got = vec![0; 100_000.min(plain.len() - from)];
                file.read_exact_at(&mut got, from as u64).unwrap();
                assert!(got == plain[from..from + got.len()], "{name} from {from}");
            }
        };
        let (front, back) = (0..plain.len() / 2, plain.len() / 2..plain.len());
        within(&mount, || {
            std::thread::scope(|scope| {
                scope.spawn(|| read(&mut front.step_by(100_000)));
                scope.spawn(|| read(&mut back.step_by(100_000)));
            });
        });
    }
}

/// Fifty compressed texts of different lengths.
fn texts() -> Vec<(String, Vec<u8>)> {
    (0..50).map(|n| (format!("t{n}"), text(n, n * n * 601))).collect()
}

/// The sizes of the datasets in the output of `ls -l`, by name.
fn listed(output: &str) -> Vec<(String, usize)> {
    let lines = output.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let files = lines.filter(|words| words.len() > 8 && !words[8].ends_with(".meta.yaml"));
    let mut sizes: Vec<_> = files.map(|words| (words[8].to_owned(), words[4].parse().unwrap())).collect();
    sizes.sort();
    sizes
}

#[test]
fn a_listing_has_the_exact_sizes_of_texts_also_when_there_are_two_at_once() {
    let texts = texts();
    let mut sizes: Vec<_> = texts.iter().map(|(name, plain)| (name.clone(), plain.len())).collect();
    sizes.sort();
    let (_dir, file) = container(&texts);
    let one = Mount::new(&file);
    let list = |mount: &Mount| assert_eq!(listed(&sh(r#"ls -l "$1""#, &[&mount.path])), sizes);
    within(&one, || list(&one));
    let two = Mount::new(&file);
    within(&two, || {
        std::thread::scope(|scope| {
            scope.spawn(|| list(&two));
            scope.spawn(|| list(&two));
        });
    });
}

#[test]
fn a_stat_of_texts_in_any_order_has_the_exact_size() {
    let texts = texts();
    let (_dir, file) = container(&texts);
    let script = r#"
import os, sys
folder, step = sys.argv[1], int(sys.argv[2])
for n in range(50):
    n = n * step % 50
    size = os.stat(os.path.join(folder, f"t{n}")).st_size
    assert size == n * n * 601, (n, size)
    assert size == len(open(os.path.join(folder, f"t{n}"), "rb").read())
"#;
    for step in ["1", "49", "7"] {
        let mount = Mount::new(&file);
        within(&mount, || drop(python(&[&"-c", &script, &mount.path, &step])));
    }
}

#[test]
fn tail_dd_and_slices_of_a_map_are_right_at_once() {
    let numbers: Vec<u8> = (0..3_000_000u32).flat_map(|n| (n ^ (n >> 3)).to_le_bytes()).collect();
    let (dir, file) = container(&[("array".into(), numbers.clone()), ("text".into(), numbers.clone())]);
    let plain = dir.path().join("plain");
    std::fs::write(&plain, &numbers).unwrap();
    for name in ["array", "text"] {
        for script in [
            r#"cmp <(tail -c 5000 "$1") <(tail -c 5000 "$2")"#,
            r#"cmp <(dd if="$1" bs=4K skip=1234 count=7) <(dd if="$2" bs=4K skip=1234 count=7)"#,
            r#"cmp <(dd if="$1" bs=999 skip=12000) <(dd if="$2" bs=999 skip=12000)"#,
            r#"cmp <(tail -c +6000001 "$1" | head -c 3) <(tail -c +6000001 "$2" | head -c 3)"#,
            r#"cmp "$1" "$2""#,
        ] {
            let mount = Mount::with(&file, &["--cache-size", "2M"]);
            within(&mount, || drop(sh(script, &[&mount.join(name), &plain])));
        }
        let script = r#"
import sys
import numpy as np
mounted, plain = (np.memmap(path, mode="r", dtype="<u4").reshape(-1, 1000) for path in sys.argv[1:])
for part in (np.s_[-1], np.s_[::-7, 3], np.s_[1500:1600, 900:], np.s_[5], np.s_[::250]):
    assert np.array_equal(mounted[part], plain[part]), part
"#;
        let mount = Mount::with(&file, &["--cache-size", "2M"]);
        within(&mount, || drop(python(&[&"-c", &script, &mount.join(name), &plain])));
    }
}
