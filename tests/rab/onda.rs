//! Onda's tables through `rab` and the library: lists, parts by channel and time, what is against the rules, and what
//! they become.

mod rows;

use std::path::{Path, PathBuf};

use rab::{AnyArray, Archive};
use serde_json::Value;

use crate::kit::{interpreter, names, python, scratch, sh, try_sh};
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
    let outcome = good(&[&"info", &table(), &"*/ecg_left"]);
    assert!(outcome.contains("samplesFromSpan: 400\n") && outcome.contains("unit: microvolt\n"), "{outcome}");
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
    assert_eq!(part("'f3', 0s:10ms", &[]), part("0:3, 1", &[]));
    assert_eq!(part("fp1, 0", &["--decoded"]).trim(), "8195.35");
    assert_eq!(part("0:2", &["--decoded"]).lines().next().unwrap().matches('.').count(), 6);
    let wrong = rab(&[&"get", &table(), &format!("{EEG}[c3, 1s:2s]")]);
    assert!(wrong.code == 2 && wrong.err.contains("its channels are fp1, f3, "), "{wrong:?}");
    // Files of views have the same parts.
    let file = [&"get" as &dyn AsRef<std::ffi::OsStr>, &"--as", &"npy", &table()];
    let of = |index: &str| good(&[file[0], file[1], file[2], file[3], &format!("{EEG}[{index}]")]);
    assert_eq!(of("f3, 1s:1.1s, "), of("256:282, 1"));

    let archive = Archive::open(table()).unwrap();
    let decoded = archive.dataset(EEG).unwrap().decoded().unwrap();
    assert_eq!((decoded.kind(), decoded.known_len()), ("float64", Some(512 * 6 * 8)));
    let AnyArray::Float64(values) = decoded.slice("f3, 0s:10ms").unwrap() else { panic!() };
    assert_eq!(values.shape(), [3]);
    assert_eq!(values[[0]], 0.25f64.mul_add(-25700.0, 3.6));
    let same = archive.dataset("625fa5ea-dfb2-4252-b58d-1eb350fa7df6/audio").unwrap();
    assert!(matches!(same.decoded().unwrap().slice("0").unwrap(), AnyArray::Float32(_)));
    assert!(archive.dataset("tables/test.onda.signal.meta.yaml").unwrap().decoded().is_err());
}

#[test]
fn a_decoder_that_is_missing_or_fails_is_reported() {
    let dir = scratch();
    let file = dir.path().join("x.onda.signal.arrow");
    let script = "
import sys, gzip, pyarrow as pa
table = pa.ipc.open_file(sys.argv[1]).read_all().slice(0, 1)
for name, value in ('file_path', 'x.gz'), ('file_format', 'gz'):
    at = table.column_names.index(name)
    table = table.set_column(at, table.schema.field(at), pa.array([value], table.schema.field(at).type))
with pa.ipc.new_file(sys.argv[2] + '/x.onda.signal.arrow', table.schema) as out:
    out.write_table(table)
open(sys.argv[2] + '/x.gz', 'wb').write(gzip.compress(bytes(range(12))))
";
    python(&[&"-c", &script, &table(), &dir.path()]);
    let with = |verb: &str, decoder: &str| rab(&[&verb, &"--decoder", &decoder, &file, &"*/eeg"]);
    assert_eq!(with("get", "gz=gzip -dc").out.trim(), "[[ 256  770 1284 1798 2312 2826]]");
    for (decoder, code, why) in [
        ("other=cat", 1, "(--decoder names a program for it)"),
        ("gz=false", 12, "the decoder \"false\" ended with exit status: 1"),
        ("gz=head -c5", 12, "its data has 5 bytes, not a whole number of samples"),
    ] {
        let outcome = with("get", decoder);
        assert!(outcome.code == code && outcome.err.contains(why), "{decoder}: {outcome:?}");
    }
    // What it wrote, and not what it read.
    let outcome = with("cat", "gz=printf 01234");
    assert!(outcome.code == 12 && outcome.out == "01234", "{outcome:?}");
}

/// One Ctrl-C is enough, whatever the program waits for.
#[test]
fn a_silent_decoder_does_not_hold_up_the_end() {
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::process::ExitStatusExt;
    let dir = scratch();
    let to = |name: &str| dir.path().join(name);
    of_rows(&to("x.onda.signal.arrow"), "{'file_path': ['x'], 'file_format': ['gz']}");
    std::fs::write(to("x"), [7; 12]).unwrap();
    let script = format!("#!/bin/sh\n: > {}\nexec sleep 1000\n", to("started").display());
    std::fs::write(to("decode"), script).unwrap();
    std::fs::set_permissions(to("decode"), std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut convert = std::process::Command::new(RAB);
    convert.arg("convert").arg("--decoder").arg(format!("gz={}", to("decode").display()));
    let mut child = convert.arg(to("x.onda.signal.arrow")).arg(to("out.rab")).spawn().unwrap();
    crate::kit::eventually("the decoder runs", || to("started").exists());
    let id = nix::unistd::Pid::from_raw(child.id() as i32);
    crate::kit::kill(id, crate::kit::Signal::SIGINT).unwrap();
    assert_eq!(child.wait().unwrap().signal(), Some(2));
    assert!(!to("out.rab").exists());
}

/// A table of the first signal's row, as often as there are values, with these in some columns, or in columns behind
/// the others.
fn of_rows(table: &Path, columns: &str) {
    let script = "
import sys, pyarrow as pa
columns = eval(sys.argv[3])
count = len(next(iter(columns.values())))
table = pa.ipc.open_file(sys.argv[1]).read_all().take([0] * count)
for name, values in columns.items():
    at = table.schema.get_field_index(name)
    if at < 0:
        table = table.append_column(name, values)
    else:
        table = table.set_column(at, table.schema.field(at), pa.array(values, table.schema.field(at).type))
with pa.ipc.new_file(sys.argv[2], table.schema) as out:
    out.write_table(table)
";
    python(&[&"-c", &script, &self::table(), &table, &columns]);
}

#[test]
fn a_file_of_several_rows_is_decoded_once() {
    use std::os::unix::fs::PermissionsExt;
    let dir = scratch();
    let to = |name: &str| dir.path().join(name);
    let rows =
        "{'file_path': ['x', 'x', './x', 'y'], 'file_format': ['gz'] * 4, 'sensor_label': list('abcd')}";
    of_rows(&to("x.onda.signal.arrow"), rows);
    std::fs::write(to("x"), [7; 6 * 2 * 512]).unwrap();
    std::fs::copy(to("x"), to("y")).unwrap();
    let script = format!("#!/bin/sh\necho run >> {}\nexec cat\n", to("runs").display());
    std::fs::write(to("decode"), script).unwrap();
    std::fs::set_permissions(to("decode"), std::fs::Permissions::from_mode(0o755)).unwrap();
    let decoder = format!("gz={}", to("decode").display());
    let outcome = rab(&[&"verify", &"--decoder", &decoder, &to("x.onda.signal.arrow")]);
    // Nothing is wrong but what the rows have in common.
    assert!(outcome.code == 12 && outcome.out.contains("is the same as in row 0"), "{outcome:?}");
    assert!(!outcome.out.contains("the data has"), "{outcome:?}");
    assert_eq!(std::fs::read_to_string(to("runs")).unwrap(), "run\nrun\n");
}

#[test]
fn damage_of_a_file_of_several_rows_is_reported_with_each() {
    let dir = scratch();
    let to = |name: &str| dir.path().join(name);
    let table = to("x.onda.signal.arrow");
    of_rows(&table, "{'file_path': ['x'] * 3, 'file_format': ['lpcm.zst'] * 3, 'sensor_label': list('abc')}");
    std::fs::write(to("x"), "no zstd").unwrap();
    let outcome = rab(&[&"verify", &table]);
    for (number, label) in ["a", "b", "c"].iter().enumerate() {
        let line = format!("/{label}\": row {number} of {}", table.display());
        assert_eq!(outcome.out.matches(&line).count(), 1, "{line}: {outcome:?}");
    }
    assert!(rab(&[&"cat", &table, &"*/c"]).err.contains(": row 2 of "));
}

/// As channels of amplifiers often are.
#[test]
fn channels_that_are_called_as_numbers_are_named_in_quotes() {
    let dir = scratch();
    let table = dir.path().join("x.onda.signal.arrow");
    let script = "
import sys, json, numpy as np
np.save(sys.argv[1] + '/eeg.npy', np.arange(12, dtype='<i2').reshape(4, 3))
json.dump({'recording': '00000000-0000-0000-0000-000000000001', 'sample_unit': 'volt', 'sample_rate': 1,
    'channels': ['1', 'c/', '1s']}, open(sys.argv[1] + '/row.json', 'w'))
";
    python(&[&"-c", &script, &dir.path()]);
    let (eeg, row) = (dir.path().join("eeg.npy"), dir.path().join("row.json"));
    good(&[&"pack", &table, &eeg, &"--meta", &row, &"--name", &"00000000-0000-0000-0000-000000000001/eeg"]);
    // A name that others write.
    let mut bytes = std::fs::read(&table).unwrap();
    let at = bytes.windows(5).position(|part| part == b"1c/1s").unwrap();
    bytes[at + 2] = b']';
    std::fs::write(&table, bytes).unwrap();
    let get = |index: &str| rab(&[&"get", &table, &format!("*/eeg[{index}]")]);
    for (index, values, note) in [
        ("\"1\", 0s:4s", "[0 3 6 9]", ""),
        ("'1s', 2", "8", ""),
        ("\"c]\", 1:3", "[4 7]", ""),
        (
            "1, 0s:4s",
            "[ 1  4  7 10]",
            "note: 1 is an index here; the channel that is called so is \"1\", in quotes\n",
        ),
        ("1s", "[[3 4 5]]", "note: 1s is a time here; the channel that is called so is \"1s\", in quotes\n"),
    ] {
        let outcome = get(index);
        assert_eq!((outcome.out.trim(), outcome.err.as_str()), (values, note), "{index}");
    }
    let wrong = get("\"3\", 0");
    assert!(
        wrong.code == 2 && wrong.err.contains("no channel is called \"3\"; its channels are 1, c], 1s"),
        "{wrong:?}"
    );
}

/// 512 samples at 256 a second.
#[test]
fn times_past_the_end_are_cut_or_refused() {
    let get = |index: &str| rab(&[&"get", &"--as", &"raw", &table(), &format!("{EEG}[{index}]")]);
    let cut = get("f3, 1.9s:1h");
    let note = "note: \"1.9s:1h\" reaches past the end, and is cut there: there are 512 samples, 2 s\n";
    assert!(cut.code == 0 && cut.err == note, "{cut:?}");
    assert_eq!(cut.out, get("486:512, 1").out);
    assert_eq!(get("f3, 0s:2s").err, "");
    let past = get("f3, 2s:3s");
    assert!(past.code == 2 && past.out.is_empty(), "{past:?}");
    assert!(past.err.contains("\"2s:3s\" begins past the end: there are 512 samples, 2 s"), "{past:?}");
}

#[test]
fn rules_by_row() {
    let whole = rab(&[&"verify", &sample("v1_integer_numbers.onda.signal.arrow")]);
    assert!(whole.code == 0 && whole.out.contains("ok: 7 datasets"), "{whole:?}");
    assert_eq!(rab(&[&"verify", &sample("plain_python.onda.signal.arrow")]).code, 0);
    for (name, code, fragment) in [
        ("rate_zero", 12, "row 0: sample_rate is 0"),
        ("channels_duplicate", 12, "row 0: channel 1 is called \"a\""),
        ("duplicate_file_path", 12, "row 1: file_path \"samples/ok.lpcm\" is the same as in row 0"),
        ("span_overflow", 12, "row 0: span starts at -9223372036854775808 ns"),
        ("lpcm_fewer_than_span", 12, "row 0: the data has 2 samples"),
        ("lpcm_not_multiple", 12, "its data has 14 bytes"),
        ("zst_bad_checksum", 12, "checksum"),
        ("span_milliseconds", 12, "they are converted"),
        ("path_is_dir", 10, "it is a directory"),
        ("schema_v3", 1, "onda.signal@3"),
        ("schema_other", 11, "not one of Onda's"),
        ("channels_dot", 0, "ok"),
    ] {
        let outcome = rab(&[&"verify", &sample(&format!("bad/{name}.onda.signal.arrow"))]);
        let text = format!("{}{}", outcome.out, outcome.err);
        assert!(outcome.code == code && text.contains(fragment), "{name}: {outcome:?}");
    }
    // The user may say that it is one.
    let forced = rab(&[&"ls", &"--format", &"onda", &sample("bad/schema_other.onda.signal.arrow")]);
    assert!(forced.code == 0 && forced.out.contains(EEG), "{forced:?}");
}

/// Where it was looked for, and the row that says so.
#[test]
fn missing_or_damaged_samples_are_reported_with_their_row() {
    let dir = scratch();
    let file = dir.path().join("x.onda.signal.arrow");
    std::fs::copy(table(), &file).unwrap();
    for argument in [&file, dir.path()] {
        let outcome = rab(&[&"verify", &argument]);
        let (dir, file) = (dir.path().display(), file.display());
        let missing = format!(
            "{dir}/samples/missing.lpcm: dataset \"b14d2c6d-8d84-4e46-824f-5c5d857215b4/missing_file\": row 21 of {file}: cannot be read: No such file"
        );
        let remote = format!(
            "{file}: dataset \"b14d2c6d-8d84-4e46-824f-5c5d857215b4/web\": row 18: cannot be read: https://"
        );
        assert!(
            outcome.code == 10 && outcome.err.contains(&missing) && outcome.err.contains(&remote),
            "{outcome:?}"
        );
    }
    for (name, fragment) in [
        ("zst_truncated", "/truncated.lpcm.zst: dataset"),
        ("lpcm_not_multiple", "/not_multiple.lpcm: dataset"),
    ] {
        let file = sample(&format!("bad/{name}.onda.signal.arrow"));
        let outcome = rab(&[&"verify", &file]);
        let row = format!("eeg\": row 0 of {}: ", file.display());
        assert!(outcome.out.contains(fragment) && outcome.out.contains(&row), "{outcome:?}");
    }
}

#[test]
fn what_is_no_array_says_why() {
    let samples = [
        ("bad/zst_truncated.onda.signal.arrow", 12, "the zstd stream ends early"),
        ("bad/path_is_dir.onda.signal.arrow", 10, "it is a directory"),
        ("bad/type_int24.onda.signal.arrow", 12, "arrow: sample_type \"int24\" is not one of"),
        ("bad/format_empty.onda.signal.arrow", 12, "arrow: file_format is empty"),
        ("bad/lpcm_not_multiple.onda.signal.arrow", 12, "its data has 14 bytes"),
    ];
    let ways: [&[&str]; 4] =
        [&["*/eeg"], &["*/eeg[0]", "--as", "npy"], &["*/eeg[a]"], &["--decoded", "*/eeg"]];
    for (name, code, why) in samples {
        for way in ways {
            let mut arguments: Vec<std::ffi::OsString> = vec!["get".into(), sample(name).into()];
            arguments.extend(way.iter().map(std::ffi::OsString::from));
            let arguments: Vec<_> =
                arguments.iter().map(|argument| argument as &dyn AsRef<std::ffi::OsStr>).collect();
            let outcome = rab(&arguments);
            assert!(outcome.code == code && outcome.err.contains(why), "{name} {way:?}: {outcome:?}");
        }
    }
}

#[test]
fn signals_become_other_files() {
    let dir = scratch();
    let to = |name: &str| dir.path().join(name);
    // What these formats have no place for is named.
    for (out, name) in [("x.npy", EEG), ("x.ra", "*/ecg_left")] {
        let outcome = rab(&[&"convert", &table(), &to(out), &name]);
        assert!(outcome.code == 0 && outcome.err.starts_with("note: "), "{outcome:?}");
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

/// Which has no bytes of a fixed number, and stores texts and bytes as views.
#[test]
fn tables_of_polars() {
    for name in ["test.onda.signal.arrow", "test.onda.annotation.arrow"] {
        let dir = scratch();
        std::os::unix::fs::symlink(sample("samples"), dir.path().join("samples")).unwrap();
        let to = |name: &str| dir.path().join(name);
        std::fs::copy(sample(name), to("own.arrow")).unwrap();
        written(&to("own.arrow"), &to("own.new.arrow"));
        python(&[&"make_onda_polars.py", &to("own.arrow"), &dir.path()]);
        let listed = |file: &str| good(&[&"ls", &"-l", &"--follow-outside", &to(file)]);
        // The table and its metadata are called as the file is.
        let without_table =
            |listed: &str| listed.lines().rev().skip(2).map(str::to_owned).collect::<Vec<_>>();
        let own = without_table(&listed("own.arrow"));
        assert!(own.len() > 2, "{own:?}");
        for file in ["view.arrow", "zstd.arrow", "stream.arrow", "large.arrow", "runs.arrow"] {
            assert_eq!(without_table(&listed(file)), own, "{file}");
            let new = to(&format!("new.{file}"));
            written(&to(file), &new);
            let same = "import sys, pyarrow.ipc as i\n\
                a, b = (i.open_file(p).read_all() for p in sys.argv[1:3])\n\
                assert a.schema == b.schema and a.equals(b), (a.schema, b.schema)";
            sh(r#""$1" -c "$2" "$3" "$4""#, &[&interpreter(), &same, &to("own.new.arrow"), &new]);
        }
        let outcome = rab(&[&"verify", &to("view.arrow")]);
        let warned = "column recording: binary_view where Onda has fixed_size_binary[16]";
        assert!(outcome.code == 12 && outcome.out.contains(warned), "{outcome:?}");
        let outcome = rab(&[&"verify", &to("short.arrow")]);
        let wrong = "row 0: column recording: a UUID has 16 bytes, this has 15";
        assert!(outcome.code == 12 && outcome.out.contains(wrong), "{outcome:?}");
    }
}

/// Of 1.0 to 1.20: the values of their messages' metadata are where others do not have them.
#[test]
fn tables_of_old_polars() {
    for name in ["1.0.0", "1.0.0_stream"] {
        let table = sample(&format!("polars/{name}.onda.signal.arrow"));
        let get = |of: &str| good(&[&"get", &table, &of]);
        assert_eq!(get("*/eeg[:, c4]").trim(), "[2 4]", "{name}");
        assert_eq!(get("*/ecg[0s:1s]").trim(), "[[1]\n [2]]", "{name}");
        let dir = scratch();
        let copy = dir.path().join("copy.arrow");
        let view = format!("tables/{name}.onda.signal");
        sh(r#""$1" cat --as arrow "$2" "$3" >"$4""#, &[&RAB, &table, &view, &copy]);
        let script = "
import sys, pyarrow.ipc as i
table = i.open_file(sys.argv[1]).read_all()
assert table['sensor_label'].to_pylist() == ['eeg', 'ecg'] and table['sample_rate'].to_pylist() == [1, 2], table
";
        python(&[&"-c", &script, &copy]);
    }
}

/// As `unpack` does.
#[test]
fn what_is_there_is_converted_and_the_rest_named() {
    let dir = scratch();
    let to = |name: &str| dir.path().join(name);
    for out in ["x.rab", "x.npz"] {
        let outcome = rab(&[&"convert", &table(), &to(out)]);
        let named = outcome.err.lines().filter(|line| line.starts_with("rab: ")).count();
        assert!(outcome.code == 10 && named == 7 && outcome.err.contains("web\": row 18: "), "{outcome:?}");
        let listed = good(&[&"ls", &to(out)]);
        assert!(listed.lines().count() == 17 && !listed.contains("missing_file"), "{listed}");
        assert_eq!(good(&[&"get", &to(out), &EEG]), good(&[&"get", &table(), &EEG]));
    }
    for out in ["none.rab", "none.npy"] {
        let outcome = rab(&[&"convert", &table(), &to(out), &"*/web"]);
        assert!(outcome.code == 10 && outcome.err.contains("nothing is left to write"), "{outcome:?}");
        assert!(!to(out).exists());
    }
    // Damage ends it, as it does of every container.
    let outcome = rab(&[&"convert", &sample("bad/zst_truncated.onda.signal.arrow"), &to("damaged.rab")]);
    assert!(outcome.code == 12 && !to("damaged.rab").exists(), "{outcome:?}");
}

#[test]
fn unpacked_as_it_is_mounted() {
    let dir = scratch();
    let out = dir.path().join("out");
    let outcome = rab(&[&"unpack", &table(), &out]);
    assert_eq!(outcome.code, 10, "some data is not there: {outcome:?}");
    assert!(outcome.err.contains("s3://") && outcome.err.contains("missing.lpcm"), "{outcome:?}");
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
    // A note mentions the other files that a mount would show.
    std::fs::create_dir(dir.path().join("samples")).unwrap();
    std::fs::write(dir.path().join("z.txt"), "x").unwrap();
    std::fs::write(dir.path().join("README.txt"), "x").unwrap();
    let outcome = rab(&[&"ls", &dir.path()]);
    assert!(outcome.code == 0 && outcome.out == listed, "{outcome:?}");
    let note = "also holds README.txt; its 2 files together are read as Onda here, while rab-mount shows the directory as it is";
    assert!(outcome.err.starts_with("note: ") && outcome.err.contains(note), "{outcome:?}");
    let asked = rab(&[&"ls", &"--format", &"onda", &dir.path()]);
    assert!(asked.code == 0 && asked.out == listed && asked.err.is_empty(), "{asked:?}");
}

#[test]
fn directories_of_before_arrow_say_what_upgrades_them() {
    let dir = scratch();
    std::fs::write(dir.path().join("recordings.msgpack.zst"), b"\x28\xb5\x2f\xfd").unwrap();
    std::fs::create_dir(dir.path().join("samples")).unwrap();
    for arguments in [vec!["ls"], vec!["verify", "--format", "onda"]] {
        let mut arguments: Vec<&dyn AsRef<std::ffi::OsStr>> =
            arguments.iter().map(|argument| argument as &dyn AsRef<std::ffi::OsStr>).collect();
        let path = dir.path();
        arguments.push(&path);
        let outcome = rab(&arguments);
        assert_eq!(outcome.code, 1, "{outcome:?}");
        assert!(outcome.err.contains("before 0.12") && outcome.err.contains("Onda.jl 0.13"), "{outcome:?}");
    }
    // As any other directory without containers.
    std::fs::remove_file(dir.path().join("recordings.msgpack.zst")).unwrap();
    let outcome = rab(&[&"ls", &dir.path()]);
    assert!(outcome.code == 10 && outcome.err.contains("name a file in it, mount it"), "{outcome:?}");
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
    let outcome = rab(&[&"convert", &"-f", &old, &new]);
    assert!(outcome.code == 0 && outcome.err.lines().all(|line| line.starts_with("note: ")), "{outcome:?}");
    assert!(!outcome.err.contains("rab convert"), "it speaks of itself: {outcome:?}");
}

#[test]
fn tables_are_rewritten() {
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

/// Of merged annotations `from` is Onda's: its ids are written as those of `id`, and have to be there.
#[test]
fn what_annotations_were_merged_from_is_ondas() {
    let dir = scratch();
    let to = |name: &str| dir.path().join(name);
    let script = "
import sys, pyarrow as pa
ids = [bytes([at] * 6 + [64, 0, 128] + [at] * 7) for at in range(4)]
edges = pa.struct([('start', pa.duration('ns')), ('stop', pa.duration('ns'))])
def write(name, kind, sources, **more):
    count = len(sources)
    table = pa.table({'recording': pa.array(ids[:1] * count, kind), 'id': pa.array(ids[:count], kind),
        'span': pa.array([{'start': 0, 'stop': 1}] * count, edges), 'from': pa.array(sources, pa.list_(kind)), **more})
    table = table.replace_schema_metadata({'legolas_schema_qualified': 'onda.merged-annotation@1>onda.annotation@1'})
    with pa.ipc.new_file(sys.argv[1] + '/' + name, table.schema) as out:
        out.write_table(table)
sources = [[ids[3]], [ids[1], ids[2]]]
write('fixed.arrow', pa.binary(16), sources, more=pa.array([1, 2]))
write('binary.arrow', pa.binary(), sources, more=pa.array([1, 2]))
write('wrong.arrow', pa.binary(16), [[], None, [ids[3], None]])
write('short.arrow', pa.binary(), [[ids[3]], [ids[3][1:]]])
";
    python(&[&"-c", &script, &dir.path()]);
    for file in ["fixed.arrow", "binary.arrow"] {
        let new = to(&format!("new.{file}"));
        written(&to(file), &new);
        let script = "
import sys, pyarrow as pa
old, new, ours = (pa.ipc.open_file(path).read_all() for path in sys.argv[1:4])
names = new.column_names
assert names == ['recording', 'id', 'span', 'from', 'more'], names
assert new.schema.field('from').equals(ours.schema.field('from'), check_metadata=True), (new.schema, ours.schema)
turned = [[id[::-1] for id in ids] for ids in old['from'].to_pylist()]
assert new['from'].to_pylist() == turned and new['more'].equals(old['more']), new
assert new['id'].to_pylist() == [id[::-1] for id in old['id'].to_pylist()], new
";
        python(&[&"-c", &script, &to(file), &new, &sample("merged.onda.merged-annotation.arrow")]);
        // They are shown as the ids are, whatever their type says.
        let recording = "00000000-0000-4000-8000-000000000000";
        for table in [&to(file), &new] {
            let outcome = good(&[&"cat", table, &format!("{recording}/annotations.jsonl")]);
            let from =
                r#""from":["01010101-0101-4000-8001-010101010101","02020202-0202-4000-8002-020202020202"]"#;
            assert!(outcome.contains(from), "{outcome}");
        }
        assert_eq!(rab(&[&"verify", &new]).code, 0);
    }
    for (file, rows) in [
        (
            "wrong.arrow",
            &["row 0: from is empty", "row 1: from is null", "row 2: from has a null as value 1"][..],
        ),
        ("short.arrow", &["row 1: column from: a UUID has 16 bytes, this has 15"]),
        ("binary.arrow", &["column from: list<", "(rab convert writes it so)"]),
    ] {
        let outcome = rab(&[&"verify", &to(file)]);
        assert!(outcome.code == 12 && rows.iter().all(|row| outcome.out.contains(row)), "{outcome:?}");
    }
    let outcome = rab(&[&"convert", &to("wrong.arrow"), &to("none.arrow")]);
    assert!(
        outcome.code == 12 && outcome.err.contains("row 0: from is empty; only rows that keep"),
        "{outcome:?}"
    );
}

#[test]
fn samples_of_a_rewritten_table_stay_where_they_are() {
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
        let outcome = rab(&[&"convert", &table, &new]);
        assert!(outcome.code == 0 && outcome.err.contains(note), "{outcome:?}");
        assert_eq!(outcome.err.is_empty(), note.is_empty(), "{outcome:?}");
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
fn what_is_against_the_rules_is_not_rewritten() {
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
        let outcome = rab(&[&"convert", &sample(&format!("bad/{name}.onda.signal.arrow")), &new]);
        assert!(outcome.code == 12 && outcome.err.contains(fragment), "{name}: {outcome:?}");
        assert_eq!(names(dir.path()), Vec::<String>::new(), "{name}");
    }
    let outcome = rab(&[&"convert", &sample("bad/span_milliseconds.onda.signal.arrow"), &new]);
    assert!(outcome.code == 0 && outcome.err.contains("they are converted"), "{outcome:?}");
    let there = rab(&[&"convert", &table(), &new]);
    assert!(there.code == 1 && there.err.contains("--force"), "{there:?}");
    for arguments in [[table(), new.clone(), "tables/*".into()], ["-f".into(), new.clone(), new.clone()]] {
        let [one, two, three] = &arguments;
        assert_eq!(rab(&[&"convert", one, two, three, &"-f"]).code, 2, "{arguments:?}");
    }
}

#[test]
fn some_rows_are_rewritten() {
    let dir = scratch();
    let dir = dir.path();
    std::fs::create_dir(dir.join("custom")).unwrap();
    let custom = dir.join("custom/all.arrow");
    python(&[&"make_onda_custom.py", &custom, &"9"]);
    let read = "import sys, pyarrow.ipc as i\na, b = (i.open_file(p).read_all() for p in sys.argv[1:3])\n\
        rows = [int(row) for row in sys.argv[3].split()]\nassert b.num_rows == len(rows), b\n\
        a = a.drop_columns(['channels', 'recording']).take(rows)\n\
        assert [repr(b[n].to_pylist()) for n in a.column_names] == [repr(c.to_pylist()) for c in a.columns], b";
    let whole = dir.join("custom/whole.arrow");
    written(&custom, &whole);
    // Each once and in the order of the table, whatever is named first.
    let some = dir.join("custom/some.arrow");
    let outcome = rab(&[&"convert", &custom, &some, &"*/kind_7", &"*/kind_[17]", &"*/kind_4"]);
    assert_eq!(outcome.code, 0, "{outcome:?}");
    sh(r#""$1" -c "$2" "$3" "$4" "1 4 7""#, &[&interpreter(), &read, &whole, &some]);
    assert_eq!(names_of(&some), ["kind_1", "kind_4", "kind_7"]);

    // The annotations of one recording.
    let annotations = dir.join("some.onda.annotation.arrow");
    let id = EEG.split('/').next().unwrap();
    let outcome = rab(&[
        &"convert",
        &sample("test.onda.annotation.arrow"),
        &annotations,
        &format!("{id}/annotations.csv"),
    ]);
    assert_eq!(outcome.code, 0, "{outcome:?}");
    let of = |table: &Path| good(&[&"cat", &table, &format!("{id}/annotations.csv")]);
    assert_eq!(of(&annotations), of(&sample("test.onda.annotation.arrow")));
    assert_eq!(good(&[&"ls", &annotations]).lines().count(), 2);
    let none = rab(&[&"convert", &custom, &dir.join("none.arrow"), &"tables/*"]);
    assert!(none.code == 2 && none.err.contains("no row of the table is selected"), "{none:?}");
    assert!(!dir.join("none.arrow").exists());
}

/// The labels of a table's signals.
fn names_of(table: &Path) -> Vec<String> {
    let listed = good(&[&"ls", &table]);
    let names = listed.lines().filter(|name| !name.starts_with("tables/"));
    names.map(|name| name.rsplit('/').next().unwrap().to_owned()).collect()
}

#[test]
fn arrays_become_signals() {
    let dir = scratch();
    python(&[&"check_onda_packed.py", &RAB, &dir.path(), &sample("v2_extended.mylab.eeg-signal.arrow")]);
    let table = dir.path().join("none.arrow");
    let outcome = rab(&[&"pack", &table, &sample("samples.expected.json")]);
    assert!(
        outcome.code == 1 && outcome.err.contains("this dataset is not one") && !table.exists(),
        "{outcome:?}"
    );
}

/// What a table stores is not encoded a second time.
#[test]
fn signals_come_back_from_another_format() {
    let dir = scratch();
    let (old, rab_file) = (sample("v1_integer_numbers.onda.signal.arrow"), dir.path().join("x.rab"));
    let new = dir.path().join("new.onda.signal.arrow");
    for (from, to) in [(&old, &rab_file), (&rab_file, &new)] {
        let outcome = rab(&[&"convert", from, to]);
        assert_eq!(outcome.code, 0, "{outcome:?}");
    }
    let differences = rab(&[&"diff", &old, &new]).out;
    let of_new_names = ["file_path", "tables/", "metadata: kind", "metadata: sensor_"];
    let wrong: Vec<_> =
        differences.lines().filter(|line| !of_new_names.iter().any(|name| line.contains(name))).collect();
    assert!(wrong.is_empty(), "{wrong:?}");
}

/// Two pieces of one sensor, in a table of Onda 0.5 or of today, with columns that are called as keys of pack's.
fn pieces(table: &Path, is_old: bool) {
    let script = "
import os, sys, numpy as np, pyarrow as pa
table, is_old = sys.argv[1], sys.argv[2] == 'true'
for number in 0, 1:
    np.arange(20 * number, 20 * number + 20, dtype='<i2').tofile(os.path.dirname(table) + '/%d.lpcm' % number)
edges = pa.struct([('start', pa.duration('ns')), ('stop', pa.duration('ns'))])
spans = [{'start': 10**9 * at, 'stop': 10**9 * (at + 1)} for at in (5, 12)]
labels = {'kind': ['eeg'] * 2} if is_old else {'sensor_type': ['eeg'] * 2, 'sensor_label': ['head'] * 2, 'kind': ['a', 'b']}
columns = {
    'recording': pa.array([bytes(15) + b'1'] * 2, pa.binary(16)), 'file_path': ['0.lpcm', '1.lpcm'],
    'file_format': ['lpcm'] * 2, 'span': pa.array(spans, edges), **labels, 'channels': [['a', 'b']] * 2,
    'sample_unit': ['uv'] * 2, 'sample_resolution_in_unit': [0.5] * 2, 'sample_offset_in_unit': [1.0] * 2,
    'sample_type': ['int16'] * 2, 'sample_rate': [10.0] * 2, 'encoded': [False, True], 'start': [7, 8]}
schema = 'onda.signal@%d>onda.samples-info@%d' % (2 - is_old, 2 - is_old)
table = pa.table(columns).replace_schema_metadata({'legolas_schema_qualified': schema})
with pa.ipc.new_file(sys.argv[1], table.schema) as out:
    out.write_table(table)
";
    python(&[&"-c", &script, &table, &is_old.to_string()]);
}

/// What a row says is Onda's or the user's own, whatever pack calls so; a piece is called as its sensor.
#[test]
fn rows_become_the_same_rows() {
    for is_old in [false, true] {
        let dir = scratch();
        let to = |name: &str| dir.path().join(name);
        let (old, packed, converted) = (to("old.arrow"), to("packed.arrow"), to("converted.arrow"));
        pieces(&old, is_old);
        good(&[&"unpack", &old, &to("files"), &"*/*@*"]);
        good(&[&"pack", &packed, &to("files")]);
        good(&[&"convert", &old, &to("x.rab"), &"*/*@*"]);
        good(&[&"convert", &to("x.rab"), &converted]);
        let script = "
import sys, pyarrow as pa
same = ['recording', 'span', 'channels', 'sample_rate', 'encoded', 'start']
labels = {'kind': ['sensor_type', 'sensor_label']} if sys.argv[3] == 'true' else {
    key: [key] for key in ('kind', 'sensor_type', 'sensor_label')}
def rows(path):
    table = pa.ipc.open_file(path).read_all()
    uuid = table.schema.field('recording').metadata or {}
    order = -1 if b'JuliaLang.UUID' in uuid.values() else 1
    return [{**row, 'recording': row['recording'][::order]} for row in table.to_pylist()]
old, new = rows(sys.argv[1]), rows(sys.argv[2])
assert len(new) == 2 and ('kind' in new[0]) == (sys.argv[3] == 'false'), new
for one, other in zip(old, new):
    assert [one[key] for key in same] == [other[key] for key in same], (one, other)
    for key, become in labels.items():
        assert all(other[name] == one[key] for name in become), (one, other)
";
        for new in [&packed, &converted] {
            python(&[&"-c", &script, &old, new, &is_old.to_string()]);
            for start in [5, 12] {
                let label = if is_old { "eeg" } else { "head" };
                let name = format!("*/{label}@{start}000000000");
                let samples = |table| good(&[&"get", table, &name]);
                assert_eq!(samples(&old), samples(new), "{name} of {new:?}");
            }
        }
    }
}

/// Two tables with columns of many types, the second called before the first, and annotations.
fn typed(dir: &Path) {
    let script = "
import datetime, sys, numpy as np, pyarrow as pa
dir = sys.argv[1]
for row in range(6):
    np.arange(row, row + 6, dtype='<i2').tofile(dir + '/%d.lpcm' % row)
edges = pa.struct([('start', pa.duration('ns')), ('stop', pa.duration('ns'))])
when = [datetime.datetime(1969, 12, 31, 23, 59, 59, 250000), None, datetime.datetime(2024, 2, 29, 1, 2, 3)]
own = {
    'i8': pa.array([-128, None, 127], pa.int8()), 'i16': pa.array([1, 2, 3], pa.int16()),
    'i32': pa.array([None, -5, 2**31 - 1], pa.int32()), 'i64': pa.array([-2**63, 0, 2**63 - 1], pa.int64()),
    'u8': pa.array([0, 255, 1], pa.uint8()), 'u32': pa.array([2**32 - 1, 0, None], pa.uint32()),
    'u64': pa.array([2**64 - 1, None, 0], pa.uint64()), 'f32': pa.array([0.1, None, float('-inf')], pa.float32()),
    'f64': pa.array([0.1, 2.0, None], pa.float64()), 'yes': pa.array([True, None, False]),
    'day': pa.array([datetime.date(1900, 2, 28), None, datetime.date(2024, 2, 29)], pa.date32()),
    'day64': pa.array([datetime.date(1, 1, 1), None, datetime.date(9999, 12, 31)], pa.date64()),
    'utc': pa.array(when, pa.timestamp('us', 'UTC')), 'local': pa.array(when, pa.timestamp('ms')),
    'took': pa.array([-7, None, 7], pa.duration('ms')), 'word': pa.array(['a', None, '']).dictionary_encode()}
def table(path, rows, own):
    count = len(rows)
    spans = [{'start': 10**9 * row, 'stop': 10**9 * row + 3 * 10**8} for row in rows]
    columns = {
        'recording': pa.array([bytes(15) + b'1'] * count, pa.binary(16)), 'file_path': ['%d.lpcm' % row for row in rows],
        'file_format': ['lpcm'] * count, 'span': pa.array(spans, edges), 'sensor_type': ['eeg'] * count,
        'sensor_label': ['l%d' % row for row in rows], 'channels': [['a', 'b']] * count, 'sample_unit': ['uv'] * count,
        'sample_resolution_in_unit': [0.5] * count, 'sample_offset_in_unit': [1.0] * count,
        'sample_type': ['int16'] * count, 'sample_rate': [10.0] * count, **own}
    made = pa.table(columns).replace_schema_metadata({'legolas_schema_qualified': 'onda.signal@2>onda.samples-info@2'})
    with pa.ipc.new_file(dir + '/' + path, made.schema) as out:
        out.write_table(made)
table('z.onda.signal.arrow', [5, 3, 4], own)
wider = {
    'i8': pa.array([300, -400], pa.int16()), 'u8': pa.array([-1, 1], pa.int8()), 'f32': pa.array([0.1, 0.2], pa.float64()),
    'local': pa.array([when[0].replace(microsecond=1), None], pa.timestamp('us')),
    'day': pa.array([datetime.date(1, 1, 1), None], pa.date64())}
table('a.onda.signal.arrow', [2, 0], wider)
spans = pa.array([{'start': 0, 'stop': 10}] * 2, edges)
ids = pa.array([bytes(15) + b'1', bytes(15) + b'2'], pa.binary(16))
made = pa.table({'recording': ids, 'id': ids, 'span': spans})
made = made.replace_schema_metadata({'legolas_schema_qualified': 'onda.annotation@1'})
with pa.ipc.new_file(dir + '/b.onda.annotation.arrow', made.schema) as out:
    out.write_table(made)
";
    python(&[&"-c", &script, &dir]);
}

/// In the order of the tables and then of their rows, with the types of their columns, without the annotations.
#[test]
fn several_unpacked_tables_become_one() {
    let dir = scratch();
    typed(dir.path());
    let to = |name: &str| dir.path().join(name);
    let (first, second) = (to("z.onda.signal.arrow"), to("a.onda.signal.arrow"));
    let annotations = to("b.onda.annotation.arrow");
    good(&[&"unpack", &first, &to("files"), &"--and", &second, &"--and", &annotations]);
    let new = to("new.onda.signal.arrow");
    let outcome = rab(&[&"pack", &new, &to("files")]);
    assert_eq!(outcome.code, 0, "{outcome:?}");
    let refusals =
        outcome.err.lines().filter(|line| line.contains("annotations.csv: skipped, like all annotations"));
    assert!(refusals.count() == 1 && outcome.err.contains("rab convert rewrites it"), "{outcome:?}");
    assert_eq!(outcome.err.lines().filter(|line| line.contains("/tables/")).count(), 3, "{outcome:?}");
    assert_eq!(outcome.err.lines().count(), 4, "{outcome:?}");
    let script = "
import sys, pyarrow as pa
old, other, new = (pa.ipc.open_file(path).read_all() for path in sys.argv[1:])
wider = {
    'i8': pa.int16(), 'u8': pa.int64(), 'f32': pa.float64(), 'local': pa.timestamp('us'), 'day': pa.date64(),
    'word': pa.string()}
assert new.column('sensor_label').to_pylist() == ['l5', 'l3', 'l4', 'l2', 'l0'], new.column('sensor_label')
for name in old.column_names[12:]:
    want, got = old.column(name), new.column(name)
    assert got.type == wider.get(name, want.type), (name, got.type, want.type)
    more = other.column(name).to_pylist() if name in other.column_names else [None, None]
    want = want.to_pylist()
    assert got.to_pylist() == want + more, (name, got, want)
";
    python(&[&"-c", &script, &first, &second, &new]);
    // A day that is none is no reason to leave it out.
    let sidecar = to("files/00000000-0000-0000-0000-000000000031/l5.meta.yaml");
    let text = std::fs::read_to_string(&sidecar).unwrap();
    std::fs::write(&sidecar, text.replace("1900-02-28", "the day after")).unwrap();
    let outcome = rab(&[&"pack", &to("none.onda.signal.arrow"), &to("files")]);
    let wanted = outcome.err.contains("/l5") && outcome.err.contains("its day is of the type date32");
    assert!(outcome.code == 1 && wanted && !to("none.onda.signal.arrow").exists(), "{outcome:?}");
    // Several tables cannot be rewritten at once; the error says what to do instead.
    let outcome = rab(&[&"convert", &first, &"--and", &second, &to("other.onda.signal.arrow")]);
    let wanted =
        outcome.err.contains("z.onda.signal.arrow") && outcome.err.contains("rab unpack them and rab pack");
    assert!(outcome.code == 2 && wanted, "{outcome:?}");
}

/// What is too much for us is nothing wrong with the file.
#[test]
fn limits_are_no_damage() {
    let dir = scratch();
    typed(dir.path());
    let to = |name: &str| dir.path().join(name);
    good(&[&"unpack", &to("a.onda.signal.arrow"), &to("files"), &"*/l2"]);
    good(&[&"pack", &to("x.arrow"), &to("files"), &"--compress"]);
    let names = sh(r#"cd "$1" && ls x.*.zst"#, &[&dir.path()]);
    // A frame that needs a window of 256 MiB.
    std::fs::write(to(names.trim()), [0x28, 0xb5, 0x2f, 0xfd, 0, 18 << 3, 1, 0, 0]).unwrap();
    let words: [&[&dyn AsRef<std::ffi::OsStr>]; 4] = [
        &[&"cat", &to("x.arrow"), &"*/l2"],
        &[&"get", &to("x.arrow"), &"*/l2"],
        &[&"verify", &to("x.arrow")],
        &[&"unpack", &to("x.arrow"), &to("out")],
    ];
    for words in words {
        let outcome = rab(words);
        let is_told = [outcome.out.as_str(), &outcome.err]
            .concat()
            .contains("268435456 bytes of memory (its window), and the limit is 134217728");
        assert!(outcome.code == 1 && is_told, "{} {outcome:?}", words[0].as_ref().display());
    }
}

#[test]
fn rows_are_compressed_where_that_is_asked_for() {
    let dir = scratch();
    typed(dir.path());
    let to = |name: &str| dir.path().join(name);
    good(&[&"unpack", &to("a.onda.signal.arrow"), &to("files")]);
    let formats = |table: &str| {
        let script =
            "import sys, pyarrow as pa; print(*pa.ipc.open_file(sys.argv[1]).read_all()['file_format'])";
        python(&[&"-c", &script, &to(table)])
    };
    for (table, options, format) in [("x.arrow", &[][..], "lpcm"), ("y.arrow", &["--compress"], "lpcm.zst")] {
        let mut words: Vec<&dyn AsRef<std::ffi::OsStr>> = vec![&"pack"];
        let (table_path, files) = (to(table), to("files"));
        words.extend([&table_path as &dyn AsRef<std::ffi::OsStr>, &files]);
        words.extend(options.iter().map(|option| option as &dyn AsRef<std::ffi::OsStr>));
        let outcome = rab(&words);
        assert!(outcome.code == 0 && !outcome.err.contains("compressed"), "{outcome:?}");
        assert_eq!(formats(table).trim(), format!("{format} {format}"));
        assert_eq!(
            good(&[&"get", &to(table), &"*/l2"]),
            good(&[&"get", &to("a.onda.signal.arrow"), &"*/l2"])
        );
    }
    // A format given by the user is kept, with a note.
    let meta = "{channels: [a, b], sample_unit: uv, sample_rate: 10, file_format: lpcm, \
                recording: 00000000-0000-4000-8000-000000000001}";
    std::fs::write(to("meta.yaml"), meta).unwrap();
    python(&[
        &"-c",
        &"import sys, numpy as np; np.save(sys.argv[1], np.arange(6, dtype='<i2').reshape(3, 2))",
        &to("n.npy"),
    ]);
    let outcome = rab(&[&"pack", &to("w.arrow"), &to("n.npy"), &"--meta", &to("meta.yaml"), &"--compress"]);
    assert!(
        outcome.code == 0
            && outcome.err.contains("it is not compressed: its metadata says file_format: lpcm"),
        "{outcome:?}"
    );
    assert_eq!(formats("w.arrow").trim(), "lpcm");
}

#[test]
fn samples_of_rows_are_stored_as_it_is_asked_for() {
    let dir = scratch();
    let to = |name: &str| dir.path().join(name);
    std::os::unix::fs::symlink(sample("samples"), to("samples")).unwrap();
    good(&[&"unpack", &sample("test.onda.signal.arrow"), &to("files"), &"*/ecg_left", &"*/eeg"]);
    let format = |option: &[&str]| {
        let (table, files) = (to("x.arrow"), to("files"));
        let words: [&dyn AsRef<std::ffi::OsStr>; 4] = [&"pack", &"-f", &table, &files];
        let options = option.iter().map(|option| option as &dyn AsRef<std::ffi::OsStr>);
        let outcome = rab(&words.into_iter().chain(options).collect::<Vec<_>>());
        assert!(outcome.code == 0 && !outcome.err.contains("compressed"), "{outcome:?}");
        let script = "import sys, pyarrow as pa\n\
            print(*(row['file_format'] for row in pa.ipc.open_file(sys.argv[1]).read_all().to_pylist()))";
        assert_eq!(good(&[&"get", &table, &"*/ecg_left"]), good(&[&"get", &self::table(), &"*/ecg_left"]));
        python(&[&"-c", &script, &table]).trim().to_owned()
    };
    assert_eq!(format(&[]), "lpcm lpcm.zst");
    assert_eq!(format(&["--compress"]), "lpcm.zst lpcm.zst");
    assert_eq!(format(&["--compress=none"]), "lpcm lpcm");
    // A file format given by the user is kept, with a note.
    let meta = "{channels: [a], sample_unit: uv, sample_rate: 10, file_format: lpcm.zst, \
                recording: 00000000-0000-4000-8000-000000000001}";
    std::fs::write(to("meta.yaml"), meta).unwrap();
    python(&[&"-c", &"import sys, numpy as np; np.save(sys.argv[1], np.arange(6))", &to("n.npy")]);
    let outcome =
        rab(&[&"pack", &to("w.arrow"), &to("n.npy"), &"--meta", &to("meta.yaml"), &"--compress=none"]);
    let note = "it is compressed: its metadata says file_format: lpcm.zst";
    assert!(outcome.code == 0 && outcome.err.contains(note), "{outcome:?}");
}

/// Of 512 samples at 256 a second.
#[test]
fn a_row_keeps_its_span() {
    let dir = scratch();
    let to = |name: &str| dir.path().join(name);
    good(&[&"unpack", &table(), &to("files"), &EEG]);
    let sidecar = to("files").join(format!("{EEG}.meta.yaml"));
    let whole = std::fs::read_to_string(&sidecar).unwrap();
    assert!(whole.contains("    stop: 12000000000\n"), "{whole}");
    let packed = |stop: &str| {
        std::fs::write(&sidecar, whole.replace("stop: 12000000000", &format!("stop: {stop}"))).unwrap();
        rab(&[&"pack", &"-f", &to("x.arrow"), &to("files")])
    };
    let stops = [("12000000000", ""), ("12500000000", "640"), ("9223372036854775807", "2361183238874")];
    for (stop, samples) in stops {
        let outcome = packed(stop);
        let note = "the data has 512 samples, but its span and sample_rate say ";
        assert_eq!(outcome.err.contains(&format!("{note}{samples}: the span stays")), !samples.is_empty());
        assert!(outcome.code == 0 && outcome.err.contains(note) != samples.is_empty(), "{outcome:?}");
        assert!(good(&[&"info", &to("x.arrow"), &EEG]).contains(&format!("    stop: {stop}\n")));
    }
    for (stop, why) in [
        ("-5", "span stops at -5 ns, and starts at 10000000000 ns"),
        ("9223372036854775808", "its span must have start and stop"),
        ("soon", "its span must have start and stop"),
        ("null", "its span must have start and stop"),
    ] {
        let outcome = packed(stop);
        assert!(outcome.code == 1 && outcome.err.contains(why), "{outcome:?}");
        assert!(outcome.err.contains(&format!("(it is described by {})", sidecar.display())), "{outcome:?}");
    }
}

#[test]
fn a_kind_of_the_users_own_is_of_any_type() {
    let dir = scratch();
    let to = |name: &str| dir.path().join(name);
    std::os::unix::fs::symlink(sample("samples"), to("samples")).unwrap();
    let columns = "{'sensor_label': list('abc'), 'kind': pa.array([1, None, -128], pa.int8())}";
    of_rows(&to("x.arrow"), columns);
    let info = good(&[&"info", &"--follow-outside", &to("x.arrow"), &"*/c"]);
    assert!(info.contains("  kind: -128\n") && info.contains("    kind: int8\n"), "{info}");
    good(&[&"unpack", &"--follow-outside", &to("x.arrow"), &to("files"), &"*/?"]);
    good(&[&"pack", &to("y.arrow"), &to("files")]);
    assert_eq!(rab(&[&"convert", &to("x.arrow"), &to("z.arrow")]).code, 0);
    for table in ["y.arrow", "z.arrow"] {
        let script = "import sys, pyarrow as pa; print(pa.ipc.open_file(sys.argv[1]).read_all()['kind'].combine_chunks())";
        let kinds = python(&[&"-c", &script, &to(table)]);
        assert_eq!(kinds.split_whitespace().collect::<String>(), "[1,null,-128]", "{table}");
        let types =
            "import sys, pyarrow as pa; print(pa.ipc.open_file(sys.argv[1]).schema.field('kind').type)";
        assert_eq!(python(&[&"-c", &types, &to(table)]).trim(), "int8", "{table}");
    }
}

/// A sidecar without samples is neither here nor there.
#[test]
fn sidecars_of_samples_that_are_missing_are_left_out() {
    let dir = scratch();
    let to = |name: &str| dir.path().join(name);
    assert_eq!(rab(&[&"unpack", &table(), &to("files"), &EEG, &"*/missing_file"]).code, 10);
    let outcome = rab(&[&"pack", &to("x.arrow"), &to("files")]);
    let lines: Vec<_> = outcome.err.lines().filter(|line| line.contains("missing_file")).collect();
    assert!(outcome.code == 0 && lines.iter().any(|line| line.contains("skipped")), "{outcome:?}");
    assert!(!outcome.err.contains("taken for a file"), "{outcome:?}");
}

/// However it was called.
#[test]
fn the_place_of_a_table_is_its_whole_path() {
    let dir = scratch();
    let to = |name: &str| dir.path().join(name);
    std::fs::create_dir(to("d")).unwrap();
    of_rows(&to("d/x.arrow"), "{'file_path': ['none.lpcm']}");
    let script = r#"cd "$2" && "$1" info d/x.arrow '*/eeg' && "$1" unpack d/../d/x.arrow out; cat out/*/eeg.meta.yaml"#;
    let outcome = try_sh(script, &[&RAB, &dir.path()]).out;
    let at = dir.path().canonicalize().unwrap();
    for name in ["table: '", "path: '"] {
        let file = if name.starts_with('t') { "x.arrow" } else { "none.lpcm" };
        let line = format!("{name}{}/d/{file}'\n", at.display());
        assert_eq!(outcome.matches(&line).count(), 2, "{line} {outcome}");
    }
}

/// Its `kind` becomes the columns of these names.
#[test]
fn old_rows_with_columns_that_are_called_as_new_ones_are_refused() {
    let dir = scratch();
    let (samples, row) = (dir.path().join("x.npy"), dir.path().join("row.json"));
    python(&[&"-c", &"import sys, numpy; numpy.save(sys.argv[1], numpy.zeros((2, 1)))", &samples]);
    let outcome = r#"{"file_path": "x", "kind": "eeg", "sensor_label": "b", "recording": "00000000-0000-0000-0000-000000000001",
        "channels": ["a"], "sample_unit": "uv", "sample_rate": 1}"#;
    std::fs::write(&row, outcome).unwrap();
    let outcome = rab(&[&"pack", &dir.path().join("x.arrow"), &samples, &"--meta", &row]);
    let why = "its sensor_label clashes with the column that its kind becomes: rename it";
    assert!(outcome.code == 1 && outcome.err.contains(why), "{outcome:?}");
}

/// Where a table lies says nothing of it.
#[test]
fn the_same_table_elsewhere_is_not_different() {
    let dir = scratch();
    let elsewhere = dir.path().join("test.onda.annotation.arrow");
    std::fs::copy(sample("test.onda.annotation.arrow"), &elsewhere).unwrap();
    let outcome = rab(&[&"diff", &sample("test.onda.annotation.arrow"), &elsewhere]);
    assert_eq!((outcome.code, outcome.out.as_str()), (0, ""), "{outcome:?}");
}

/// Nothing shows that it is one of Onda's, so nothing is reported as damaged.
#[test]
fn an_arrow_file_of_others_that_cannot_be_read_is_no_container() {
    let dir = scratch();
    let script = "
import sys, pyarrow as pa
def write(name, metadata, change):
    table = pa.table({'a': ['x'] * 100}).replace_schema_metadata(metadata)
    with pa.ipc.new_file(sys.argv[1] + name, table.schema) as out:
        out.write_table(table)
    raw = bytearray(open(sys.argv[1] + name, 'rb').read())
    change(raw)
    open(sys.argv[1] + name, 'wb').write(raw)
def footer(raw):
    start = len(raw) - 10 - int.from_bytes(raw[-10:-6], 'little')
    raw[start:start + 4] = b'\\xff' * 4
def batch(raw):
    raw[len(raw) // 2 - 8:len(raw) // 2] = b'\\xff' * 8
write('/footer.arrow', {}, footer)
write('/batch.arrow', {}, batch)
write('/cut.arrow', {}, lambda raw: raw.__delitem__(slice(200, None)))
write('/own.arrow', {'legolas_schema_qualified': 'onda.annotation@1'}, footer)
write('/x.onda.annotation.arrow', {}, footer)
";
    python(&[&"-c", &script, &dir.path()]);
    for (name, code) in [("footer", 11), ("batch", 11), ("cut", 11), ("own", 12), ("x.onda.annotation", 12)] {
        let outcome = rab(&[&"verify", &dir.path().join(format!("{name}.arrow"))]);
        assert!(outcome.code == code, "{name}: {outcome:?}");
        assert_eq!(
            outcome.err.contains("is an Arrow file, but not an Onda table: "),
            code == 11,
            "{outcome:?}"
        );
    }
}

/// A value that cannot be read is no text that says so.
#[test]
fn a_damaged_column_of_the_users_own_is_reported_with_its_row() {
    let dir = scratch();
    let file = dir.path().join("x.onda.annotation.arrow");
    let script = "
import sys, pyarrow as pa
table = pa.ipc.open_file(sys.argv[1]).read_all()
texts = pa.array(['fine', 'mangled'] + ['more'] * (len(table) - 2))
table = table.append_column('remark', texts)
with pa.ipc.new_file(sys.argv[2], table.schema) as out:
    out.write_table(table)
raw = open(sys.argv[2], 'rb').read()
open(sys.argv[2], 'wb').write(raw.replace(b'mangled', b'm\\xffngled'))
";
    python(&[&"-c", &script, &sample("test.onda.annotation.arrow"), &file]);
    let outcome = rab(&[&"verify", &file]);
    assert!(
        outcome.code == 12 && outcome.out.contains("row 1, column remark: a string is not UTF-8"),
        "{outcome:?}"
    );
    let lines: Vec<_> = texts_of(&file).into_iter().map(|name| rab(&[&"cat", &file, &name])).collect();
    assert_eq!(
        lines.iter().filter(|outcome| outcome.err.contains("row 1, column remark")).count(),
        1,
        "{lines:?}"
    );
    assert!(lines.iter().all(|outcome| !outcome.out.contains("cannot be read")), "{lines:?}");
}

/// The datasets with annotations.
fn texts_of(file: &Path) -> Vec<String> {
    let listed: Vec<Value> = serde_json::from_str(&good(&[&"ls", &"--json", &file])).unwrap();
    let names = listed.iter().map(|dataset| dataset["name"].as_str().unwrap().to_owned());
    names.filter(|name| name.ends_with("annotations.csv")).collect()
}

#[test]
fn rows_and_columns_of_tables_are_printed() {
    let table = table();
    let get = |what: &str| good(&[&"get", &table, &what]);
    let rows = good(&[&"get", &table, &"tables/test.onda.signal", &"--json"]);
    let rows: Vec<Value> = serde_json::from_str(&rows).unwrap();
    let line = |row: usize| {
        let text = |name: &str| rows[row][name].as_str().unwrap();
        format!("{},{}\n", text("sensor_type"), text("recording"))
    };
    let want = format!("sensor_type,recording\n{}{}", line(1), line(2));
    assert_eq!(get("tables/test.onda.signal[sensor_type, recording, 1:3]"), want);
    let turned = get("tables/test.onda.signal[1, recording, sensor_type]");
    assert_eq!(
        turned.lines().nth(1).and_then(|line| line.split_once(',')),
        line(1).trim().split_once(',').map(|(a, b)| (b, a))
    );
    let arrow = "import io, sys, pyarrow.ipc as ipc; print(ipc.open_file(io.BytesIO(open(sys.argv[1], 'rb').read())).read_all().column_names)";
    let dir = scratch();
    let out = dir.path().join("x.arrow");
    sh(r#""$1" get "$2" 'tables/test.onda.signal[channels, 0]' --as arrow > "$3""#, &[&RAB, &table, &out]);
    assert_eq!(python(&[&"-c", &arrow, &out]), "['channels']\n");
    let outcome = rab(&[&"get", &table, &"tables/test.onda.sginal"]);
    assert!(
        outcome.code == 3 && outcome.err.contains("did you mean \"tables/test.onda.signal\""),
        "{outcome:?}"
    );
    assert!(good(&[&"info", &table]).contains("\n- tables/test.onda.signal\n"));
}
