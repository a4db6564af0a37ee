//! `rab::Editor` against a simple model (a list of named datasets), and on files that no correct writer makes.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use proptest::prelude::*;
use rab::{Archive, Compression, Editor, Error, Value, Writer};

use crate::kit::{bytes_entry, data, entry, rab as write, scratch, write_rab};
use crate::{SAMPLES, good};

#[derive(Clone, Debug, PartialEq)]
struct Dataset {
    name: String,
    metadata: Value,
    bytes: Vec<u8>,
}

#[derive(Clone, Debug)]
enum Step {
    Add(Dataset, bool),
    Replace(prop::sample::Index, Dataset, bool),
    Remove(prop::sample::Index),
    Rename(prop::sample::Index, String),
    Describe(prop::sample::Index, Value),
    /// What is refused must leave no trace.
    Refused(prop::sample::Index),
}

fn names() -> impl Strategy<Value = String> {
    prop_oneof!["[a-e]", Just("yes".into()), Just("12".into()), Just("a\nb".into()), "\\PC{0,3}"]
}

fn metadata() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        ("[a-c]", any::<i64>()).prop_map(|(key, value)| Value::map([(key, value.into())])),
        Just(Value::map([
            ("a", vec![Value::from("=")].into()),
            ("time", Value::Timestamp("2020-01-02".into()))
        ])),
    ]
}

fn dataset() -> impl Strategy<Value = Dataset> {
    let len = prop_oneof![4 => 0usize..2000, 1 => 300_000usize..1_500_000];
    (names(), metadata(), len, any::<u8>()).prop_map(|(name, metadata, len, seed)| {
        let bytes = (0..len).map(|n| (n as u8 / 3) ^ seed).collect();
        Dataset { name, metadata, bytes }
    })
}

fn step() -> impl Strategy<Value = Step> {
    let at = any::<prop::sample::Index>;
    prop_oneof![
        3 => (dataset(), any::<bool>()).prop_map(|(dataset, zlib)| Step::Add(dataset, zlib)),
        2 => (at(), dataset(), any::<bool>()).prop_map(|(at, dataset, zlib)| Step::Replace(at, dataset, zlib)),
        2 => at().prop_map(Step::Remove),
        2 => (at(), names()).prop_map(|(at, name)| Step::Rename(at, name)),
        2 => (at(), metadata()).prop_map(|(at, metadata)| Step::Describe(at, metadata)),
        1 => at().prop_map(Step::Refused),
    ]
}

fn level(zlib: bool) -> Compression {
    if zlib { Compression::ZlibIfSmaller(1) } else { Compression::None }
}

/// Does a step with the editor and with the model, which must agree on whether it can be done.
fn apply(editor: &mut Editor, model: &mut Vec<Dataset>, step: Step) {
    let taken = |model: &[Dataset], name: &str| model.iter().any(|dataset| dataset.name == name);
    let pick =
        |model: &[Dataset], at: prop::sample::Index| (!model.is_empty()).then(|| at.index(model.len()));
    match step {
        Step::Add(dataset, zlib) => {
            let add = editor.add(dataset.name.as_str()).metadata(dataset.metadata.clone());
            let done = add.compression(level(zlib)).bytes(dataset.bytes.as_slice());
            assert_eq!(done.is_ok(), !taken(model, &dataset.name));
            done.is_ok().then(|| model.push(dataset));
        }
        Step::Replace(at, dataset, zlib) => {
            let Some(at) = pick(model, at) else { return };
            let add = editor.replace(&model[at].name).unwrap().compression(level(zlib));
            // With or without metadata of its own.
            let own = dataset.metadata != Value::Null;
            let add = if own { add.metadata(dataset.metadata.clone()) } else { add };
            add.bytes(dataset.bytes.as_slice()).unwrap();
            let metadata = if own { dataset.metadata } else { model[at].metadata.clone() };
            model[at] = Dataset { name: model[at].name.clone(), metadata, bytes: dataset.bytes };
        }
        Step::Remove(at) => {
            let Some(at) = pick(model, at) else { return };
            editor.remove(&model[at].name).unwrap();
            assert!(!editor.has(&model.remove(at).name));
        }
        Step::Rename(at, to) => {
            let Some(at) = pick(model, at) else { return };
            let done = editor.rename(&model[at].name, to.as_str());
            assert_eq!(done.is_ok(), model[at].name == to || !taken(model, &to));
            done.is_ok().then(|| model[at].name = to);
        }
        Step::Describe(at, metadata) => {
            let Some(at) = pick(model, at) else { return };
            editor.set_metadata(&model[at].name, metadata.clone()).unwrap();
            assert_eq!(editor.metadata(&model[at].name).unwrap(), metadata);
            model[at].metadata = metadata;
        }
        Step::Refused(at) => {
            assert!(matches!(editor.remove("no such"), Err(Error::NoDataset { .. })));
            assert!(editor.add("refused").text_from(&b"a\xff"[..]).is_err());
            let Some(at) = pick(model, at) else { return };
            assert!(editor.replace(&model[at].name).unwrap().text_from(&b"\xff"[..]).is_err());
            assert!(editor.set_metadata(&model[at].name, 5.into()).is_err());
            let _not_given_any_data = editor.replace(&model[at].name).unwrap();
        }
    }
}

fn found(path: &Path) -> Vec<Dataset> {
    let archive = Archive::open(path).unwrap();
    let datasets = (0..archive.len()).map(|number| {
        let dataset = archive.dataset_at(number).unwrap();
        dataset.verify(&|_| ()).unwrap();
        let metadata = Value::from(&**dataset.metadata());
        Dataset {
            name: archive.names().nth(number).unwrap().into(),
            metadata,
            bytes: dataset.bytes().unwrap(),
        }
    });
    datasets.collect()
}

fn create(path: &Path, datasets: &[Dataset]) {
    let mut writer = Writer::create(path).unwrap();
    for (number, Dataset { name, metadata, bytes }) in datasets.iter().enumerate() {
        let add = writer.add(name.as_str()).metadata(metadata.clone()).compression(level(number % 2 == 0));
        add.bytes(bytes.as_slice()).unwrap();
    }
    writer.finish().unwrap();
}

#[test]
fn any_edit_is_that_of_the_model() {
    let dir = scratch();
    let path = dir.path().join("x.rab");
    let cases = (prop::collection::vec(dataset(), 0..6), prop::collection::vec(step(), 0..8));
    let config = ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() };
    let mut runner = proptest::test_runner::TestRunner::new(config);
    let result = runner.run(&cases, |(mut model, steps)| {
        let mut names = std::collections::HashSet::new();
        model.retain(|dataset| names.insert(dataset.name.clone()));
        create(&path, &model);
        let mut editor = Editor::open(&path).unwrap().jobs(2);
        for step in steps {
            apply(&mut editor, &mut model, step);
        }
        editor.finish().unwrap();
        prop_assert_eq!(found(&path), model);
        prop_assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
        Ok(())
    });
    result.unwrap_or_else(|failure| panic!("{failure}"));
}

/// What `rab info --json` tells of all datasets, but for where their bytes are.
fn listing(path: &Path) -> Vec<serde_json::Value> {
    let out = good(&[&"info", &"--json", &path, &"*"]);
    let mut all: Vec<serde_json::Value> =
        out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for info in &mut all {
        info.as_object_mut().unwrap().remove("offset");
        info["codecMeta"].as_object_mut().unwrap().remove("byteOffset");
    }
    all
}

#[test]
fn samples_of_every_kind_stay_as_they_are() {
    let dir = scratch();
    for sample in SAMPLES.iter().filter(|sample| **sample != "no_datasets") {
        let (old, path) = (data(&format!("{sample}.rab")), dir.path().join("x.rab"));
        fs::copy(&old, &path).unwrap();
        let mut editor = Editor::open(&path).unwrap();
        let first = Archive::open(&old).unwrap().raw_name(0).to_vec();
        editor.add("new").text("text").unwrap();
        editor.remove(&first).unwrap();
        editor.finish().unwrap();
        let (mut before, after) = (listing(&old), listing(&path));
        before.remove(0);
        assert_eq!(after.len(), before.len() + 1, "{sample}");
        assert_eq!(after[..before.len()], before, "{sample}");
        let (old, new) = (Archive::open(&old).unwrap(), Archive::open(&path).unwrap());
        for number in 0..before.len() {
            let (old, new) = (old.dataset_at(number + 1).unwrap(), new.dataset_at(number).unwrap());
            let stored = |dataset: &rab::Dataset<'_>| {
                let mut bytes = Vec::new();
                let each = &mut |piece: &[u8]| {
                    bytes.extend_from_slice(piece);
                    std::ops::ControlFlow::Continue(())
                };
                dataset.stored_pieces(each).map(|()| bytes).unwrap()
            };
            assert!(stored(&old) == stored(&new), "{sample} {number}");
        }
    }
}

#[test]
fn a_file_without_datasets() {
    let dir = scratch();
    let path = dir.path().join("x.rab");
    fs::copy(data("no_datasets.rab"), &path).unwrap();
    let mut editor = Editor::open(&path).unwrap();
    editor.add("a").text("1").unwrap();
    editor.finish().unwrap();
    assert_eq!(good(&[&"ls", &path]), "a\n");
    let mut editor = Editor::open(&path).unwrap();
    editor.remove("a").unwrap();
    editor.finish().unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"rab\x05\0\0\0\n[]\n\n");
}

#[test]
fn what_is_not_known_is_kept() {
    let codec = ["byteLength: 2", "byteOffset: 1", "future: {x: [1, '2']}", "type: bytes"];
    let header = "- also: &a {k: 'yes'}\n".to_owned()
        + &entry("x", &codec).replacen("- ", "  ", 1)
        + "- also: *a\n"
        + &bytes_entry("y", 0, 1).replacen("- ", "  ", 1).replace("metadata: {}", "metadata: *a");
    let (_dir, path) = write(&header, b"012");
    let mut editor = Editor::open(&path).unwrap();
    editor.rename("x", "z").unwrap();
    editor.replace("y").unwrap().text("new").unwrap();
    editor.finish().unwrap();
    let text = String::from_utf8(fs::read(&path).unwrap().split_off(8)).unwrap();
    let first = "- also:\n    k: 'yes'\n  codecMeta:\n    byteLength: 2\n    byteOffset: 0\n    future:\n      x:\n      - 1\n      - '2'\n    type: bytes\n  metadata: {}\n  name: z\n";
    assert!(text.starts_with(first), "{text}");
    assert!(
        text.contains("  metadata:\n    k: 'yes'\n") && text.matches("also:\n    k: 'yes'\n").count() == 2,
        "{text}"
    );
    assert!(text.ends_with("\n\n12new"), "{text}");
}

#[test]
fn shared_bytes_of_the_old_file() {
    let header =
        bytes_entry("a", 5, 4) + &bytes_entry("b", 2, 5) + &bytes_entry("c", 5, 4) + &bytes_entry("d", 0, 1);
    let (_dir, path) = write(&header, b"0123456789");
    let mut editor = Editor::open(&path).unwrap();
    editor.add("e").text("new").unwrap();
    editor.finish().unwrap();
    for (name, bytes) in [("a", "5678"), ("b", "23456"), ("c", "5678"), ("d", "0"), ("e", "new")] {
        assert_eq!(good(&[&"cat", &path, &name]), bytes, "{name}");
    }
    assert!(fs::read(&path).unwrap().ends_with(b"\n23456780new"));
}

#[test]
fn damaged_datasets_can_only_go() {
    let beyond = bytes_entry("beyond", 1, 99);
    let odd = entry("odd", &["byteLength: 1", "byteOffset: 0", "compression: lzma", "type: bytes"]);
    let (_dir, path) = write(&(bytes_entry("a", 0, 1) + &beyond + &odd + &bytes_entry("b", 1, 1)), b"ab");
    let before = fs::read(&path).unwrap();
    let mut editor = Editor::open(&path).unwrap();
    editor.remove("a").unwrap();
    let error = editor.finish().unwrap_err();
    let outcome = error.to_string();
    assert!(outcome.contains("dataset \"beyond\": it ends at byte ") && error.exit_code() == 12, "{outcome}");
    assert!(outcome.ends_with("; it cannot be carried over, only removed or replaced"), "{outcome}");
    assert_eq!(fs::read(&path).unwrap(), before);

    let mut editor = Editor::open(&path).unwrap();
    editor.remove("beyond").unwrap();
    editor.replace("odd").unwrap().text("even").unwrap();
    editor.finish().unwrap();
    assert_eq!(good(&[&"cat", &path, &"*"]), "aevenb");
    good(&[&"verify", &path]);
}

#[test]
fn of_datasets_of_one_name_the_first_is_meant() {
    let header = bytes_entry("a", 0, 1) + &bytes_entry("a", 1, 1) + &bytes_entry("a", 2, 1);
    let (_dir, path) = write(&header, b"123");
    let mut editor = Editor::open(&path).unwrap();
    editor.rename("a", "b").unwrap();
    editor.remove("a").unwrap();
    assert!(editor.rename("b", "a").is_err() && editor.has("a"));
    editor.finish().unwrap();
    assert_eq!((good(&[&"ls", &path]), good(&[&"cat", &path, &"*"])), ("b\na\n".into(), "13".into()));
}

#[test]
fn a_file_that_changes_meanwhile_is_left_alone() {
    let (dir, path) = write(&bytes_entry("a", 0, 1), b"1");
    let mut editor = Editor::open(&path).unwrap();
    editor.add("b").text("2").unwrap();
    let other = dir.path().join("other");
    write_rab(&other, &bytes_entry("c", 0, 1), b"3");
    fs::rename(&other, &path).unwrap();
    assert!(matches!(editor.finish(), Err(Error::Changed { .. })));
    assert_eq!(good(&[&"cat", &path, &"c"]), "3");

    let editor = Editor::open(&path).unwrap();
    let longer = [fs::read(&path).unwrap(), b"?".to_vec()].concat();
    fs::write(&path, &longer).unwrap();
    assert!(matches!(editor.finish(), Err(Error::Changed { .. })));
    assert_eq!(fs::read(&path).unwrap(), longer);
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
}

#[test]
fn one_editor_at_a_time() {
    let (_dir, path) = write(&bytes_entry("a", 0, 1), b"1");
    let editor = Editor::open(&path).unwrap();
    let outcome = Editor::open(&path).err().unwrap().to_string();
    assert!(
        outcome.ends_with("it is being edited by another program; try again when that is done"),
        "{outcome}"
    );
    drop(editor);
    Editor::open(&path).unwrap();
}

#[test]
fn mode_and_owner_stay() {
    let (_dir, path) = write(&bytes_entry("a", 0, 1), b"1");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    // Only root may, and then it must be kept.
    let given = std::os::unix::fs::chown(&path, Some(12_345), Some(54_321)).is_ok();
    let mut editor = Editor::open(&path).unwrap();
    editor.rename("a", "b").unwrap();
    editor.finish().unwrap();
    let meta = fs::metadata(&path).unwrap();
    assert_eq!(meta.mode() & 0o7777, 0o640);
    assert!(!given || (meta.uid(), meta.gid()) == (12_345, 54_321));
}
