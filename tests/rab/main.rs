//! The command `rab` through the built program, one file per verb.

#[path = "../mount/kit.rs"]
#[allow(dead_code, reason = "these tests mount little")]
mod kit;
#[path = "../mount/stores.rs"]
#[allow(dead_code, reason = "these tests mount little")]
mod stores;

mod add;
mod awkward;
mod cat;
mod command;
mod complete;
mod convert;
mod diff;
mod docs;
mod edit;
mod every_array;
mod ffrecord;
mod formats;
mod get;
mod info;
mod library;
mod ls;
mod mv;
mod npy_and_zip;
mod npz;
mod onda;
mod pack;
mod panics;
mod rawarray;
mod refs;
mod remote;
mod rm;
mod safetensors;
mod set;
mod terminal;
mod unpack;
mod verify;
mod views;

use std::process::Command;

pub const RAB: &str = env!("CARGO_BIN_EXE_rab");

/// Every sample of the reference writer.
pub const SAMPLES: &[&str] = &[
    "dataframe",
    "empty_arrays",
    "gzip",
    "metadata",
    "names",
    "no_datasets",
    "orders",
    "readme",
    "readme_flow",
    "readme_json",
    "types",
];

pub fn rab(arguments: &[&dyn AsRef<std::ffi::OsStr>]) -> kit::Outcome {
    kit::run(command().args(arguments))
}

/// What is kept of URLs does not mix with a user's.
pub fn command() -> Command {
    let mut command = Command::new(RAB);
    command.env("XDG_CACHE_HOME", kit::cache());
    command
}

/// As [`rab`]; the test fails unless all is well.
pub fn good(arguments: &[&dyn AsRef<std::ffi::OsStr>]) -> String {
    let outcome = rab(arguments);
    assert_eq!((outcome.code, outcome.err.as_str()), (0, ""), "{outcome:?}");
    outcome.out
}

/// A mapping of a few hundred bytes that its aliases make longer than any memory.
pub fn of_many_aliases() -> String {
    let first = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    (1..12).fold(first, |text, n| {
        text + &format!("a{n}: &a{n} [{}]\n", vec![format!("*a{}", n - 1); 10].join(", "))
    })
}

/// A container with a dataset `big` of `length` zeros, in a sparse file.
pub fn huge(length: u64) -> (tempfile::TempDir, std::path::PathBuf) {
    let (dir, file) = kit::rab(&kit::bytes_entry("big", 0, length), b"");
    let header = file.metadata().expect("a file").len();
    let grown = std::fs::OpenOptions::new().write(true).open(&file).expect("a file").set_len(header + length);
    grown.expect("a file system with sparse files");
    (dir, file)
}

/// What a correct reader sees in a sample.
pub fn expected(sample: &str) -> Vec<serde_json::Value> {
    let text = std::fs::read_to_string(kit::data(&format!("{sample}.json"))).expect("the expectations");
    serde_json::from_str(&text).expect("JSON")
}

#[test]
fn every_sample_is_here() {
    let names = kit::names(&kit::data(""));
    let rabs: Vec<_> = names.iter().filter_map(|name| name.strip_suffix(".rab")).collect();
    assert_eq!(rabs, SAMPLES);
}
