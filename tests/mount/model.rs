//! Generated containers against a plain model of the naming rules: a map from paths to bytes.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::kit::*;

/// The rules once more, in the simplest way that comes to mind.
fn path_of(name: &str, all: &[String]) -> Vec<String> {
    let mut parts = vec![String::new()];
    for (at, c) in name.char_indices() {
        let last = parts.last_mut().unwrap();
        let next = name[at + c.len_utf8()..].chars().next();
        match c {
            '/' if !last.is_empty()
                && !matches!(next, None | Some('/'))
                && !all.iter().any(|n| *n == name[..at]) =>
            {
                parts.push(String::new());
            }
            '/' => last.push_str("%2F"),
            '%' => last.push_str("%25"),
            c if c.is_ascii_control() => last.push_str(&format!("%{:02X}", c as u32)),
            c => last.push(c),
        }
    }
    for (at, part) in parts.iter_mut().enumerate() {
        match part.as_str() {
            "" => *part = "%".into(),
            "." | ".." => *part = part.replace('.', "%2E"),
            ".views" if at == 0 => *part = "%2Eviews".into(),
            _ => {}
        }
    }
    parts
}

/// Path to content, for the data files only.
fn model(datasets: &[(String, Vec<u8>)]) -> BTreeMap<String, Vec<u8>> {
    let names: Vec<String> = datasets.iter().map(|(name, _)| name.clone()).collect();
    let mut files = BTreeMap::new();
    let mut late = Vec::new();
    for (name, bytes) in datasets {
        match files.entry(path_of(name, &names).join("/")) {
            Entry::Vacant(slot) => drop(slot.insert(bytes.clone())),
            Entry::Occupied(slot) => late.push((slot.key().clone(), bytes.clone())),
        }
    }
    for (path, bytes) in late {
        let is_dir = |path: &str| files.keys().any(|k| k.starts_with(&format!("{path}/")));
        let free =
            (2..).map(|n| format!("{path}~{n}")).find(|p| !files.contains_key(p) && !is_dir(p)).unwrap();
        files.insert(free, bytes);
    }
    files
}

/// Adds the sidecars' paths.
fn with_sidecars(files: &BTreeMap<String, Vec<u8>>) -> Vec<String> {
    let taken =
        |path: &str| files.contains_key(path) || files.keys().any(|k| k.starts_with(&format!("{path}/")));
    let sidecar = |path: &String| {
        let plain = format!("{path}.meta.yaml");
        let numbered = (2..).map(|n| format!("{plain}~{n}"));
        std::iter::once(plain.clone()).chain(numbered).find(|path| !taken(path)).unwrap()
    };
    let mut all: Vec<String> = files.keys().cloned().chain(files.keys().map(sidecar)).collect();
    all.sort();
    all
}

/// Half of the datasets are compressed; names go in as JSON strings, which YAML reads the same.
fn container(datasets: &[(String, Vec<u8>)]) -> (TempDir, std::path::PathBuf) {
    use std::io::Write;
    let (mut header, mut data) = (String::new(), Vec::new());
    for (number, (name, bytes)) in datasets.iter().enumerate() {
        let mut stored = bytes.clone();
        let mut codec = vec![format!("byteOffset: {}", data.len()), "type: bytes".to_owned()];
        if number % 2 == 1 {
            let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
            encoder.write_all(bytes).unwrap();
            stored = encoder.finish().unwrap();
            codec.push("compression: gzip".into());
        }
        codec.push(format!("byteLength: {}", stored.len()));
        let codec: Vec<&str> = codec.iter().map(String::as_str).collect();
        header += &entry(&serde_json::to_string(name).unwrap().replace('\x7f', "\\x7f"), &codec);
        data.extend(stored);
    }
    rab(&header, &data)
}

fn walk(mount: &Mount) -> Vec<String> {
    let listing = sh(r#"cd "$1" && find . -type f -printf '%P\0'"#, &[&mount.path]);
    let mut all: Vec<String> = listing.split_terminator('\0').map(str::to_owned).collect();
    all.sort();
    all
}

#[test]
fn mounted_trees_equal_the_model() {
    let name = prop_oneof![
        "[ab./%~]{0,6}",
        "[ab]/[ab](/[ab])?",
        "(a|b)(\\.meta\\.yaml)?(~2)?",
        "\\.views(/x)?",
        "[\\x00-\\x1f\\x7fé漢 '\"\\\\]{1,4}",
    ];
    let bytes = prop_oneof![
        prop::collection::vec(any::<u8>(), 0..300),
        (any::<u8>(), 0usize..600_000).prop_map(|(b, n)| vec![b; n]),
    ];
    let datasets = prop::collection::vec((name, bytes), 0..25);
    let mut runner = TestRunner::new(Config { cases: 25, failure_persistence: None, ..Config::default() });
    let result = runner.run(&datasets, |datasets| {
        let (_dir, file) = container(&datasets);
        let mount = Mount::new(&file);
        let files = model(&datasets);
        prop_assert_eq!(walk(&mount), with_sidecars(&files));
        for (path, bytes) in &files {
            prop_assert!(&mount.read(path).unwrap() == bytes, "{}", path);
        }
        Ok(())
    });
    result.unwrap_or_else(|failure| panic!("{failure}"));
}
