//! What `rab unpack` writes is what a mount shows, of every sample and as every kind.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::kit::*;

const KINDS: [&str; 7] = ["npy", "zarr", "csv", "arrow", "jsonl", "png", "info"];

/// Files and links below a directory, by their paths in it.
fn files(root: &Path) -> BTreeSet<PathBuf> {
    let (mut found, mut left) = (BTreeSet::new(), vec![root.to_owned()]);
    while let Some(dir) = left.pop() {
        for entry in std::fs::read_dir(&dir).unwrap() {
            let entry = entry.unwrap();
            match entry.file_type().unwrap().is_dir() {
                true => left.push(entry.path()),
                false => drop(found.insert(entry.path().strip_prefix(root).unwrap().to_owned())),
            }
        }
    }
    found
}

/// What a file or link is; None if it cannot be read.
fn content(path: &Path) -> Option<Vec<u8>> {
    match std::fs::read_link(path) {
        Ok(target) => Some(target.into_os_string().into_encoded_bytes()),
        Err(_) => std::fs::read(path).ok(),
    }
}

/// Compares, and returns how many files were the same.
fn compare(mounted: &Path, unpacked: &Path, what: &str, is_whole: bool) -> usize {
    let (shown, written) = (files(mounted), files(unpacked));
    assert_eq!(written.difference(&shown).next(), None, "{what}: unpack alone has it");
    for path in shown.difference(&written) {
        // A store that is not whole is not announced.
        let announces = path.ends_with(".zarray") || path.ends_with(".zmetadata");
        let is_unreadable = content(&mounted.join(path)).is_none();
        assert!(!is_whole && (is_unreadable || announces), "{what}: the mount alone has {}", path.display());
    }
    for path in &written {
        let same = content(&mounted.join(path)) == content(&unpacked.join(path));
        assert!(same, "{what}: {} is not the same", path.display());
    }
    written.len()
}

fn compared(format: &str) {
    let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(format);
    let dir = scratch();
    let mut count = 0;
    for kind in std::iter::once(None).chain(KINDS.map(Some)) {
        let options: Vec<&str> = kind.iter().flat_map(|kind| ["--as", kind]).collect();
        let mount = Mount::with(&samples, &[&["--only-containers"], &options[..]].concat());
        for name in names(&mount.path).into_iter().filter(|name| samples.join(name).is_file()) {
            let shown = mount.join(&name);
            if shown.join("ERROR.txt").exists() {
                continue;
            }
            let (what, to) = (format!("{name} as {kind:?}"), dir.path().join("to"));
            let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_rab"));
            let outcome = run(command.arg("unpack").arg(samples.join(&name)).arg(&to).args(&options));
            std::fs::create_dir_all(&to).unwrap();
            count += compare(&shown, &to, &what, outcome.code == 0);
            std::fs::remove_dir_all(&to).unwrap();
        }
    }
    assert!(count > 20, "{format}: {count}");
}

#[test]
fn of_rab_npz_and_rawarray() {
    ["rab", "npz", "rawarray/rust", "rawarray/quirks"].into_iter().for_each(compared);
}

#[test]
fn of_ffrecord() {
    compared("ffrecord");
}

#[test]
fn of_onda() {
    compared("onda");
}

#[test]
fn of_safetensors_and_zip() {
    ["safetensors", "zip"].into_iter().for_each(compared);
}

#[test]
fn of_awkward() {
    compared("awkward");
}
