//! `.views/info`: what `rab info` prints, of every dataset of every format.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::kit::{Mount, Outcome, bytes_entry, entry, rab as container, run};

fn rab(arguments: &[&dyn AsRef<std::ffi::OsStr>]) -> Outcome {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rab"));
    run(command.args(arguments.iter().map(|argument| argument.as_ref())))
}

/// The texts of all files below; each must have the length that stat reported before.
fn texts(dir: &Path, found: &mut Vec<String>) {
    for name in std::fs::read_dir(dir).unwrap() {
        let path = name.unwrap().path();
        if path.is_dir() {
            texts(&path, found);
            continue;
        }
        assert!(path.as_os_str().to_string_lossy().ends_with(".info.txt"), "{path:?}");
        let size = std::fs::metadata(&path).unwrap().size();
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text.len() as u64, size);
        found.push(text);
    }
}

fn samples() -> Vec<PathBuf> {
    let all = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let folders = [
        "rab",
        "rawarray/c",
        "rawarray/quirks",
        "ffrecord",
        "npz",
        "onda",
        "awkward",
        "safetensors",
        "npy",
        "zip",
    ];
    let files = folders.iter().flat_map(|folder| std::fs::read_dir(all.join(folder)).unwrap());
    let is_container = |path: &PathBuf| {
        let kinds = ["rab", "ra", "ffr", "npz", "arrow", "awkd", "safetensors", "npy", "zip", "ozx"];
        path.extension().is_some_and(|kind| kinds.iter().any(|other| kind == *other))
    };
    files.map(|file| file.unwrap().path()).filter(is_container).collect()
}

#[test]
fn every_dataset_of_every_format_has_what_rab_info_prints() {
    let mut count = 0;
    for sample in samples() {
        let outcome = rab(&[&"info", &sample, &"*"]);
        if outcome.code != 0 {
            continue;
        }
        let mut want: Vec<_> = format!("\n{}", outcome.out).split("\n---\n").map(str::to_owned).collect();
        // A signal without data has no file, and is in no view.
        want.retain(|text| !text.contains("\n  noData: "));
        want.iter_mut().for_each(|text| *text = format!("{}\n", text.trim_matches('\n')));
        let mount = Mount::new(&sample);
        let mut found = Vec::new();
        texts(&mount.join(".views/info"), &mut found);
        want.sort();
        found.sort();
        let first = found.iter().zip(&want).find(|(found, want)| found != want);
        assert!(found == want, "{sample:?}: {} and {}: {first:#?}", found.len(), want.len());
        count += found.len();
    }
    assert!(count > 2000, "{count}");
}

#[test]
fn a_dataset_that_makes_no_sense_says_why() {
    let bad = ["byteLength: 4", "byteOffset: 4", "type: bytes"];
    let header = format!("\n{}{}\n", entry("x/bad", &bad), bytes_entry("good", 0, 4));
    let (_dir, file) = container(&header, b"data");
    let mount = Mount::with(&file, &["--as", "info"]);
    for (name, path) in [("x/bad", "x/bad.info.txt"), ("good", "good.info.txt")] {
        let outcome = rab(&[&"info", &file, &name]);
        assert_eq!(mount.read(path).unwrap(), outcome.out.as_bytes());
        assert_eq!(outcome.out.contains("problem: "), name == "x/bad", "{}", outcome.out);
        let cat = rab(&[&"cat", &file, &name, &"--as", &"info"]);
        assert_eq!((cat.code, cat.out), (0, outcome.out));
    }
    assert!(
        mount.names().contains(&"good.info.txt".to_owned()) && !mount.names().contains(&"good".to_owned())
    );
}
