//! Onda's tables through `rab` and the library: lists, parts by channel and time, what is against the rules, and what
//! they become.

use std::path::{Path, PathBuf};

use rab::{AnyArray, Archive};
use serde_json::Value;

use crate::kit::{names, python, scratch, sh};
use crate::{RAB, good, rab};

fn sample(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/onda").join(name)
}

fn table() -> PathBuf {
    sample("test.onda.signal.arrow")
}

const EEG: &str = "b14d2c6d-8d84-4e46-824f-5c5d857215b4/eeg";

#[test]
fn lists() {
    let listed: Vec<Value> = serde_json::from_str(&good(&[&"ls", &"--json", &table()])).unwrap();
    assert_eq!(listed.len(), 24);
    assert_eq!((&listed[0]["name"], &listed[0]["type"]), (&EEG.into(), &"int16".into()));
    assert_eq!(listed[0]["shape"], serde_json::json!([512, 6]));
    assert!(good(&[&"info", &table()]).contains("format: Onda\n"));
    let said = good(&[&"info", &table(), &"*/ecg_left"]);
    assert!(said.contains("samplesFromSpan: 400\n") && said.contains("unit: microvolt\n"), "{said}");
    let annotations = good(&[&"cat", &sample("test.onda.annotation.arrow"), &"*/annotations.csv"]);
    assert!(annotations.starts_with("id,start,stop\n"), "{annotations}");
    let absent = rab(&[&"cat", &table(), &"*/missing_file"]);
    assert!(absent.code == 10 && absent.err.contains("samples/missing.lpcm"), "{absent:?}");
}

#[test]
fn parts_by_channel_and_time() {
    let part = |index: &str, options: &[&str]| {
        let name = format!("{EEG}[{index}]");
        let mut arguments: Vec<&dyn AsRef<std::ffi::OsStr>> = vec![&"get"];
        let (table, options) = (table(), options.to_vec());
        arguments.extend(options.iter().map(|option| option as &dyn AsRef<std::ffi::OsStr>));
        arguments.extend([&table as &dyn AsRef<std::ffi::OsStr>, &name]);
        good(&arguments)
    };
    assert_eq!(part("f3, 0s:10ms", &[]), part("0:3, 1", &[]));
    assert_eq!(part("1s:1.1s, f8", &[]), part("256:282, 5", &[]));
    assert_eq!(part("fz", &[]), part(":, 3", &[]));
    assert_eq!(part("fp1, 0", &["--decoded"]).trim(), "8195.35");
    assert_eq!(part("0:2", &["--decoded"]).lines().next().unwrap().matches('.').count(), 6);
    let wrong = rab(&[&"get", &table(), &format!("{EEG}[c3, 1s:2s]")]);
    assert_eq!(wrong.code, 2, "{wrong:?}");

    let archive = Archive::open(table()).unwrap();
    let decoded = archive.dataset(EEG).unwrap().decoded().unwrap();
    let AnyArray::Float64(values) = decoded.slice("f3, 0s:10ms").unwrap() else { panic!() };
    assert_eq!(values.shape(), [3]);
    assert_eq!(values[[0]], 0.25f64.mul_add(-25700.0, 3.6));
    let same = archive.dataset("625fa5ea-dfb2-4252-b58d-1eb350fa7df6/audio").unwrap();
    assert!(matches!(same.decoded().unwrap().slice("0").unwrap(), AnyArray::Float32(_)));
    assert!(archive.dataset("tables/test.onda.signal.meta.yaml").unwrap().decoded().is_err());
}

#[test]
fn rules_by_row() {
    let whole = rab(&[&"verify", &sample("v1_integer_numbers.onda.signal.arrow")]);
    assert!(whole.code == 0 && whole.out.contains("ok: datasets: 7"), "{whole:?}");
    assert_eq!(rab(&[&"verify", &sample("plain_python.onda.signal.arrow")]).code, 0);
    for (name, code, fragment) in [
        ("rate_zero", 12, "row 0: sample_rate is 0"),
        ("channels_duplicate", 12, "row 0: channel 1 is called \"a\""),
        ("duplicate_file_path", 12, "row 1: file_path \"samples/ok.lpcm\" is that of row 0 too"),
        ("span_overflow", 12, "row 0: span starts at -9223372036854775808 ns"),
        ("lpcm_fewer_than_span", 12, "row 0: the data has 2 samples"),
        ("lpcm_not_multiple", 12, "its data has 14 bytes"),
        ("zst_bad_checksum", 12, "checksum"),
        ("span_milliseconds", 12, "they are converted"),
        ("path_is_dir", 10, "it is a directory"),
        ("schema_v3", 1, "onda.signal@3"),
        ("schema_other", 11, "none of Onda's"),
        ("channels_dot", 0, "ok"),
    ] {
        let said = rab(&[&"verify", &sample(&format!("bad/{name}.onda.signal.arrow"))]);
        let text = format!("{}{}", said.out, said.err);
        assert!(said.code == code && text.contains(fragment), "{name}: {said:?}");
    }
    // The user may say that it is one.
    let forced = rab(&[&"ls", &"--format", &"onda", &sample("bad/schema_other.onda.signal.arrow")]);
    assert!(forced.code == 0 && forced.out.contains(EEG), "{forced:?}");
}

#[test]
fn signals_become_other_files() {
    let dir = scratch();
    let to = |name: &str| dir.path().join(name);
    // What these formats have no place for is named.
    for (out, name) in [("x.npy", EEG), ("x.ra", "*/ecg_left")] {
        let said = rab(&[&"convert", &table(), &to(out), &name]);
        assert!(said.code == 0 && said.err.starts_with("note: "), "{said:?}");
    }
    good(&[&"convert", &table(), &to("x.rab"), &"*/eeg", &"*/ecg_left", &"*/resp*"]);
    assert_eq!(
        good(&[&"get", &to("x.rab"), &format!("{EEG}[3]")]),
        good(&[&"get", &table(), &format!("{EEG}[3]")])
    );
    assert_eq!(good(&[&"ls", &to("x.rab")]).lines().count(), 4);
    let shape =
        "import sys, numpy as np; a = np.load(sys.argv[1]); assert a.shape == (512, 6) and a.dtype == '<i2'";
    sh(r#""$1" -c "$2" "$3""#, &[&interpreter(), &shape, &to("x.npy")]);
}

fn interpreter() -> PathBuf {
    std::env::var_os("RAB_TEST_PYTHON").map_or("python3".into(), PathBuf::from)
}

#[test]
fn unpacked_as_it_is_mounted() {
    let dir = scratch();
    let out = dir.path().join("out");
    let said = rab(&[&"unpack", &table(), &out]);
    assert_eq!(said.code, 10, "some data is not there: {said:?}");
    assert!(said.err.contains("s3://") && said.err.contains("missing.lpcm"), "{said:?}");
    let own = names(&out.join("625fa5ea-dfb2-4252-b58d-1eb350fa7df6"));
    assert!(own.contains(&"resp@0".to_owned()) && own.contains(&"audio_s3.meta.yaml".to_owned()), "{own:?}");
    assert!(!own.contains(&"audio_s3".to_owned()), "{own:?}");
    assert_eq!(
        std::fs::read(out.join(EEG)).unwrap(),
        std::fs::read(sample("samples/int16_eeg.lpcm")).unwrap()
    );
    let whole =
        good(&[&"unpack", &sample("v1_integer_numbers.onda.signal.arrow"), &dir.path().join("whole")]);
    assert_eq!(whole, "");
}

#[test]
fn equal_tables_are_not_different() {
    let one = sample("v2_lz4.onda.signal.arrow");
    let same = rab(&[
        &"diff",
        &sample("v1_integer_numbers.onda.signal.arrow"),
        &sample("v1_integer_numbers.onda.signal.arrow"),
    ]);
    assert_eq!(same.code, 0, "{same:?}");
    assert_ne!(rab(&[&"diff", &one, &sample("v1_integer_numbers.onda.signal.arrow")]).code, 0);
}

#[test]
fn several_tables_and_directories() {
    let both = [&"ls" as &dyn AsRef<std::ffi::OsStr>, &"--and"];
    let (annotations, table) = (sample("test.onda.annotation.arrow"), table());
    let listed = good(&[both[0], both[1], &annotations, &table]);
    assert!(listed.contains("annotations.csv\n") && listed.contains(EEG), "{listed}");
    let dir = scratch();
    std::fs::copy(&table, dir.path().join("a.onda.signal.arrow")).unwrap();
    std::fs::copy(&annotations, dir.path().join("b.onda.annotation.arrow")).unwrap();
    let listed = good(&[&"ls", &dir.path()]);
    assert!(listed.contains("annotations.csv\n") && listed.contains(EEG), "{listed}");
}

const REWRITTEN: [&str; 14] = [
    "annotation_custom.example.my-annotation.arrow",
    "annotation_stream.onda.annotation.arrow",
    "empty.onda.annotation.arrow",
    "empty.onda.signal.arrow",
    "merged.onda.merged-annotation.arrow",
    "plain_python.onda.signal.arrow",
    "test.onda.signal.arrow",
    "v1_integer_numbers.onda.signal.arrow",
    "v1_legolas.onda.signal.arrow",
    "v2_batches.onda.signal.arrow",
    "v2_dict.onda.signal.arrow",
    "v2_extended.mylab.eeg-signal.arrow",
    "v2_lz4.onda.signal.arrow",
    "v2_zstd_stream.onda.signal.arrow",
];

/// With notes.
fn written(old: &Path, new: &Path) {
    let said = rab(&[&"convert", &"-f", &old, &new]);
    assert!(said.code == 0 && said.err.lines().all(|line| line.starts_with("note: ")), "{said:?}");
}

#[test]
fn tables_are_written_anew() {
    let dir = scratch();
    for name in REWRITTEN {
        let new = dir.path().join(name);
        written(&sample(name), &new);
        let back = sh(r#"realpath --relative-to="$1" "$2""#, &[&dir.path(), &sample(name).parent().unwrap()]);
        python(&[&"check_onda_rewritten.py", &sample(name), &new, &back.trim()]);
        // What was written is canonical already.
        let again = dir.path().join("again.arrow");
        written(&new, &again);
        assert_eq!(std::fs::read(&again).unwrap(), std::fs::read(&new).unwrap(), "{name}");
    }
    for rows in ["2", "9", "700"] {
        let (old, new) = (dir.path().join("all.arrow"), dir.path().join("new.arrow"));
        python(&[&"make_onda_custom.py", &old, &rows]);
        written(&old, &new);
        python(&[&"check_onda_rewritten.py", &old, &new, &""]);
    }
}

#[test]
fn samples_of_a_table_written_anew_stay_where_they_are() {
    let dir = scratch();
    let old = dir.path().join("old");
    sh(r#"cp -r "$1" "$2""#, &[&sample(""), &old]);
    let (table, eeg) = (old.join("v1_integer_numbers.onda.signal.arrow"), "*/eeg*");
    let before = good(&[&"ls", &"--json", &table]);
    std::fs::create_dir(dir.path().join("new")).unwrap();
    for (out, note, is_outside) in [
        ("old/new.onda.signal.arrow", "", false),
        ("new.onda.signal.arrow", "6 paths lead to old now\n", false),
        ("new/new.onda.signal.arrow", "6 paths lead to ../old now, outside", true),
    ] {
        let new = dir.path().join(out);
        let said = rab(&[&"convert", &table, &new]);
        assert!(said.code == 0 && said.err.contains(note), "{said:?}");
        assert_eq!(said.err.is_empty(), note.is_empty(), "{said:?}");
        assert_eq!(rab(&[&"verify", &new]).code, if is_outside { 10 } else { 0 });
        let after: Value =
            serde_json::from_str(&good(&[&"ls", &"--json", &"--follow-outside", &new])).unwrap();
        let before: Value = serde_json::from_str(&before).unwrap();
        for (before, after) in before.as_array().unwrap().iter().zip(after.as_array().unwrap()).take(6) {
            assert_eq!((&before["name"], &before["shape"]), (&after["name"], &after["shape"]));
        }
        assert_eq!(good(&[&"cat", &"--follow-outside", &new, &eeg]), good(&[&"cat", &table, &eeg]), "{out}");
    }
}

#[test]
fn what_is_against_the_rules_is_not_written_anew() {
    let dir = scratch();
    let new = dir.path().join("new.onda.signal.arrow");
    for (name, fragment) in [
        ("channels_duplicate", "row 0: channel 1 is called \"a\""),
        ("label_uppercase", "row 0: sensor_label \"EEG 1\""),
        ("rate_nan", "row 0: sample_rate is NaN"),
        ("recording_null", "row 0: recording is null"),
        ("span_overflow", "row 0: span starts at"),
        ("truncated_half", "does not end with ARROW1"),
    ] {
        let said = rab(&[&"convert", &sample(&format!("bad/{name}.onda.signal.arrow")), &new]);
        assert!(said.code == 12 && said.err.contains(fragment), "{name}: {said:?}");
        assert_eq!(names(dir.path()), Vec::<String>::new(), "{name}");
    }
    let said = rab(&[&"convert", &sample("bad/span_milliseconds.onda.signal.arrow"), &new]);
    assert!(said.code == 0 && said.err.contains("they are converted"), "{said:?}");
    let there = rab(&[&"convert", &table(), &new]);
    assert!(there.code == 2 && there.err.contains("--force"), "{there:?}");
    for arguments in [[table(), new.clone(), EEG.into()], ["-f".into(), new.clone(), new.clone()]] {
        let [one, two, three] = &arguments;
        assert_eq!(rab(&[&"convert", one, two, three, &"-f"]).code, 2, "{arguments:?}");
    }
}

#[test]
fn arrays_become_signals() {
    let dir = scratch();
    python(&[&"check_onda_packed.py", &RAB, &dir.path()]);
    let table = dir.path().join("none.arrow");
    let said = rab(&[&"pack", &table, &sample("samples.expected.json")]);
    assert!(said.code == 1 && said.err.contains("the dataset is none") && !table.exists(), "{said:?}");
}
