//! Rows of which something is strange.

use std::path::PathBuf;

use crate::kit::{TempDir, python, scratch};
use crate::{good, rab};

/// A directory with what a script in the words of `onda_tables.py` makes there.
fn made(script: &str) -> TempDir {
    let dir = scratch();
    let script = format!("import os, sys\nfrom onda_tables import *\nos.chdir(sys.argv[1])\n{script}");
    python(&[&"-c", &script, &dir.path()]);
    dir
}

fn in_dir(dir: &TempDir) -> impl Fn(&str) -> PathBuf + '_ {
    move |name| dir.path().join(name)
}

/// Onda.jl does not compare them, and others round them otherwise.
#[test]
fn one_sample_more_or_less_than_the_span_has_is_no_damage() {
    let dir = made(
        "
for label in 'right', 'less', 'more', 'far':
    samples(label + '.lpcm', 20)
rows = [row('right', 20), row('less', 20, stop=19 * S // 10), row('more', 20, stop=21 * S // 10)]
signals('x.arrow', rows)
signals('far.arrow', [row('far', 20, stop=22 * S // 10)])
",
    );
    let to = in_dir(&dir);
    let doubts: Vec<_> = [(1, "less", 19), (2, "more", 21)]
        .map(|(row, label, stated)| {
            format!(
                "warning: {}: dataset \"00000000-0000-0000-0000-000000000001/{label}\": row {row}: the data \
                 has 20 samples, but its span and sample_rate say {stated}",
                to("x.arrow").display()
            )
        })
        .into();
    let (table, files, out) = (to("x.arrow"), to("files"), to("x.rab"));
    for (verb, to) in [("verify", None), ("unpack", Some(&files)), ("convert", Some(&out))] {
        let mut words: Vec<&dyn AsRef<std::ffi::OsStr>> = vec![&verb, &table];
        words.extend(to.map(|to| to as &dyn AsRef<std::ffi::OsStr>));
        let outcome = rab(&words);
        let warnings: Vec<_> = outcome.err.lines().filter(|line| line.starts_with("warning: ")).collect();
        assert_eq!(
            (outcome.code, warnings),
            (0, doubts.iter().map(String::as_str).collect()),
            "{verb}: {outcome:?}"
        );
    }
    assert!(good(&[&"verify", &"-q", &to("x.arrow")]).is_empty());
    assert!(good(&[&"info", &to("x.arrow"), &"*/less"]).contains("its span and sample_rate say 19"));
    let outcome = rab(&[&"verify", &to("far.arrow")]);
    assert!(outcome.code == 12 && outcome.out.contains("row 0: the data has 20 samples"), "{outcome:?}");
}

/// Equal ends are the nanosecond after them, as in Onda.jl.
#[test]
fn a_range_of_time_that_ends_where_it_begins_is_one_sample() {
    let dir = made("samples('eeg.lpcm', 20)\nsignals('x.arrow', [row('eeg', 20)])");
    let get = |index: &str| rab(&[&"get", &in_dir(&dir)("x.arrow"), &format!("*/eeg[{index}]")]);
    assert_eq!(get("0.1s:0.1s").out.trim(), "[[2 3]]");
    let outcome = get("1s:0.5s");
    assert!(outcome.code == 2 && outcome.err.contains("\"1s:0.5s\" ends before it begins"), "{outcome:?}");
}

#[test]
fn notes_about_rows_are_about_the_chosen_ones() {
    let dir = made(
        "
samples('a.lpcm', 20)
labels = {'one': 'a', 'two': 'a', 'three': 'b', 'four': 'b'}
signals('x.arrow', [row(label, 20, file_path=file + '.lpcm') for label, file in labels.items()])
",
    );
    let to = in_dir(&dir);
    let notes = |out: &str, globs: &[&str]| {
        let (table, out) = (to("x.arrow"), to(out));
        let mut words: Vec<&dyn AsRef<std::ffi::OsStr>> = vec![&"convert", &table, &out];
        words.extend(globs.iter().map(|glob| glob as &dyn AsRef<std::ffi::OsStr>));
        let outcome = rab(&words);
        assert_eq!(outcome.code, 0, "{outcome:?}");
        outcome.err
    };
    assert_eq!(notes("none.arrow", &["*/one", "*/four"]), "");
    let note = |out: &str, row: u64, file: &str, first: u64| {
        let out = to(out);
        format!(
            "note: {}: row {row}: file_path \"{file}.lpcm\" is the same as in row {first}\n",
            out.display()
        )
    };
    assert_eq!(notes("some.arrow", &["*/two", "*/three", "*/four"]), note("some.arrow", 2, "b", 1));
    let both = [note("all.arrow", 1, "a", 0), note("all.arrow", 3, "b", 2)].concat();
    assert_eq!(notes("all.arrow", &[]), both);
}

#[test]
fn what_info_says_of_decoded_values_is_of_them() {
    let dir = made("samples('eeg.lpcm', 20)\nsignals('x.arrow', [row('eeg', 20)])");
    let info = |options: &[&str]| {
        let table = in_dir(&dir)("x.arrow");
        let mut words: Vec<&dyn AsRef<std::ffi::OsStr>> = vec![&"get", &"--as", &"info", &table];
        words.extend(options.iter().map(|option| option as &dyn AsRef<std::ffi::OsStr>));
        good(&words)
    };
    for index in ["*/eeg", "*/eeg[0:2]"] {
        let outcome = info(&[index, "--decoded"]);
        for of_them in
            ["type: float64", "sample_type: float64", "sample_resolution_in_unit: 1.0", "offset: 0.0"]
        {
            assert!(outcome.contains(of_them), "{index}: {of_them}: {outcome}");
        }
        assert!(!outcome.contains("int16") && !outcome.contains("fma("), "{index}: {outcome}");
    }
    assert!(info(&["*/eeg[0:2]"]).contains("sample_type: int16"));
}

/// Their span is the nanosecond that Onda.jl makes of none.
#[test]
fn signals_without_a_sample_are_packed() {
    let dir = made(
        "
samples('eeg.lpcm', 0)
signals('x.arrow', [row('eeg', 0, stop=1)])
np.save('ecg.npy', np.zeros((0, 2), '<i2'))
open('row.yaml', 'w').write('{channels: [a, b], sample_unit: volt, sample_rate: 10, recording: %s}' % ('0' * 8 + '-0000' * 3 + '-' + '0' * 12))
",
    );
    let to = in_dir(&dir);
    good(&[&"unpack", &to("x.arrow"), &to("files")]);
    let outcome = rab(&[&"pack", &to("again.arrow"), &to("files")]);
    assert_eq!(outcome.code, 0, "{outcome:?}");
    for compress in [false, true] {
        let out = to(if compress { "new.zst.arrow" } else { "new.arrow" });
        let (npy, row) = (to("ecg.npy"), to("row.yaml"));
        let mut words: Vec<&dyn AsRef<std::ffi::OsStr>> = vec![&"pack", &out, &npy, &"--meta", &row];
        if compress {
            words.push(&"--compress");
        }
        good(&words);
        good(&[&"verify", &out]);
        let outcome = good(&[&"info", &out, &"*/ecg"]);
        assert!(outcome.contains("stop: 1\n") && outcome.contains("samples: 0\n"), "{outcome}");
    }
    assert!(good(&[&"info", &to("again.arrow"), &"*/eeg"]).contains("stop: 1\n"));
}

#[test]
fn rates_that_no_span_can_tell_are_not_packed() {
    let dir = made(
        "
np.save('ecg.npy', np.zeros((10, 1), '<i2'))
for rate in '1.0e+300', '1.0e-300':
    open(rate, 'w').write('{channels: [a], sample_unit: volt, sample_rate: %s, recording: %s}' % (rate, '0' * 8 + '-0000' * 3 + '-' + '0' * 12))
",
    );
    let to = in_dir(&dir);
    for (rate, why) in [
        ("1.0e+300", "its sample_rate is 1e300, which is too high"),
        ("1.0e-300", "10 samples at 1e-300 a second from 0 ns on do not fit into 64 bits"),
    ] {
        let outcome = rab(&[&"pack", &to("x.arrow"), &to("ecg.npy"), &"--meta", &to(rate)]);
        assert!(outcome.code != 0 && outcome.err.contains(why), "{outcome:?}");
    }
}

#[test]
fn a_table_is_no_file_of_samples_of_its_own() {
    let dir = made("signals('x.arrow', [row('eeg', 20, file_path='./x.arrow')])");
    let table = in_dir(&dir)("x.arrow");
    let outcome = rab(&[&"verify", &table]);
    assert!(outcome.code == 10 && outcome.err.contains("it is the container itself"), "{outcome:?}");
    assert!(good(&[&"info", &table, &"*/eeg"]).contains("noData: "));
}
