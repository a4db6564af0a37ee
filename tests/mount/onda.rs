//! Onda's tables: every sample and every damaged file as its description says, views of signals, annotations, several
//! tables at once, and paths that lead where they should not.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use crate::kit::*;

pub fn sample(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/onda").join(name)
}

const EEG: &str = "b14d2c6d-8d84-4e46-824f-5c5d857215b4";

/// A copy of the samples to do something to.
fn copied() -> TempDir {
    let dir = scratch();
    sh(r#"cp -r "$1"/. "$2""#, &[&sample(""), &dir.path()]);
    dir
}

fn text(mount: &Mount, path: &str) -> String {
    String::from_utf8(mount.read(path).unwrap()).unwrap()
}

#[test]
fn samples() {
    for (table, with_data) in [
        ("test.onda.signal.arrow", 16),
        ("v2_batches.onda.signal.arrow", 16),
        ("v2_dict.onda.signal.arrow", 16),
        ("v2_lz4.onda.signal.arrow", 16),
        ("v2_stream.onda.signal.arrow", 16),
        ("v2_zstd_stream.onda.signal.arrow", 16),
        ("v2_extended.mylab.eeg-signal.arrow", 16),
        ("v1_legolas.onda.signal.arrow", 8),
        ("v1_integer_numbers.onda.signal.arrow", 6),
        ("plain_python.onda.signal.arrow", 6),
    ] {
        let mount = Mount::new(&sample(table));
        let (expected, data) = (sample(&format!("{table}.expected.json")), sample("samples.expected.json"));
        let found = python(&[&"check_onda.py", &mount.path, &expected, &data]);
        assert_eq!(found.trim(), with_data.to_string(), "{table}");
        assert_eq!(mount.log(), "", "{table}");
    }
}

/// What is made of signals is looked up in parts and in other forms as the signals are.
#[test]
fn views_of_signals_have_parts_other_views_and_attributes() {
    let script = r#"
import os, sys, random, numpy as np
mount, rng, count = sys.argv[1], random.Random(3), 0
for folder in "decoded", "channels", "spans":
    for at, _, files in os.walk(os.path.join(mount, ".views", folder)):
        for name in sorted(files)[:3]:
            path = os.path.join(at, name)
            stem, whole = path.removesuffix(".npy"), np.load(path)
            n = len(whole)
            for first in "...", "2:10", "::-7", "-1", f"{n - 5}:", f"{n}:", f"{rng.randrange(n)}:", ":0":
                index = first if whole.ndim == 1 or first == "..." else f"{first}, {rng.choice(['-1', '::2', '0:1', '...'])}"
                want, got = eval(f"whole[{index}]"), np.load(f"{stem}[{index}].npy")
                assert got.dtype == want.dtype and got.shape == want.shape and got.tobytes() == want.tobytes(), (path, index)
            text = np.loadtxt(f"{stem}[:40].csv", delimiter=",", ndmin=2, dtype=whole.dtype)
            assert (text == whole[:40].reshape(len(whole[:40]), -1)).all(), path
            assert open(f"{stem}.png", "rb").read(8) == b"\x89PNG\r\n\x1a\n"
            outcome = {key: os.getxattr(path, "user." + key).decode() for key in ("dtype", "shape", "format")}
            assert outcome == {"dtype": whole.dtype.str, "shape": str(list(whole.shape)), "format": "Onda"}, outcome
            assert os.getxattr(f"{stem}[:2].npy", "user.shape").decode() == str(list(whole[:2].shape))
            for wrong in f"{stem}[{n}].npy", f"{stem}[2", f"{stem}.jsonl", f"{stem}[a].png", f"{stem}.csv.csv", f"{stem}x.csv":
                assert not os.path.exists(wrong), wrong
            assert sorted(os.listdir(at)) == sorted(files) or at.count("/") == 0, at
            count += 1
print(count)
"#;
    let table = sample("test.onda.signal.arrow");
    let unit = |mount: &Mount, name: &str| {
        let script = "import os, sys\n\
            outcome = 'user.units' in os.listxattr(sys.argv[1])\n\
            print(os.getxattr(sys.argv[1], 'user.units').decode() if outcome else 'none')";
        python(&[&"-c", &script, &mount.join(name)]).trim().to_owned()
    };
    for options in [&["--xattr"][..], &["--xattr", "--as", "npy"]] {
        let mount = Mount::with(&table, options);
        assert!(python(&[&"-c", &script, &mount.path]).trim().parse::<u32>().unwrap() > 20);
        let view = format!(".views/decoded/{EEG}/eeg.npy");
        assert_eq!(unit(&mount, &view), "microvolt");
        // Stored values that are to be scaled are none of the unit.
        for stored in [format!("{EEG}/eeg"), format!(".views/channels/{EEG}/eeg/00_fp1.npy")] {
            assert_eq!(unit(&mount, &stored), "none", "{stored}");
        }
        assert_eq!(unit(&mount, "625fa5ea-dfb2-4252-b58d-1eb350fa7df6/audio"), "scalar");
        // The description of decoded values must not make readers scale them again.
        let info = |name: &str| String::from_utf8(mount.read(name).unwrap()).unwrap();
        let outcome = info(&format!(".views/decoded/{EEG}/eeg.info.txt"));
        let decoded = ["value: stored", "resolution: 1.0", "offset: 0.0", "stored: null"];
        let row = ["sample_type: float64", "sample_resolution_in_unit: 1.0", "sample_offset_in_unit: 0.0"];
        assert!(decoded.iter().chain(&row).all(|line| outcome.contains(line)), "{outcome}");
        let outcome = info(&format!(".views/info/{EEG}/eeg.info.txt"));
        assert!(outcome.contains("fma(resolution, stored, offset)"), "{outcome}");
        assert!(row.iter().all(|line| !outcome.contains(line)), "{outcome}");
        let outcome = mount.log();
        assert!(
            outcome.contains(&format!("decoded/{EEG}/")) && outcome.contains("is out of bounds"),
            "{outcome}"
        );
    }
    // In a directory of containers too.
    let dir = copied();
    std::fs::write(dir.path().join("notes.txt"), "").unwrap();
    let mount = Mount::with(
        dir.path(),
        &["--include", "*.txt", "--include", "test.onda.signal.arrow", "--include", "*.lpcm*"],
    );
    let path = format!("test.onda.signal.arrow/.views/decoded/{EEG}/eeg[:2, 0].npy");
    assert!(mount.read(path).unwrap().starts_with(b"\x93NUMPY"));
}

#[test]
fn tables_are_arrow_files_and_lines_of_json() {
    let mut rows = 0;
    for name in names(&sample(""))
        .iter()
        .filter(|name| name.ends_with("a.signal.arrow") || name.ends_with("annotation.arrow"))
    {
        let mount = Mount::new(&sample(name));
        let found = python(&[&"check_tables.py", &"onda", &mount.path, &sample(name)]);
        rows += found.trim().parse::<u64>().unwrap();
        assert_eq!(
            names(&mount.join(".views")),
            ["arrow", "channels", "csv", "decoded", "info", "jsonl", "npy", "png", "spans", "zarr"]
        );
    }
    assert!(rows > 150, "{rows}");
    // Several in one, of which two are called the same.
    let dir = scratch();
    let other = dir.path().join("test.onda.signal.arrow");
    std::fs::copy(sample("v2_stream.onda.signal.arrow"), &other).unwrap();
    let mount = Mount::with(&sample("test.onda.signal.arrow"), &[other.to_str().unwrap()]);
    let tables = names(&mount.join(".views/arrow/tables"));
    assert_eq!(tables, ["test.onda.signal.arrow", "test.onda.signal.arrow~2"]);
    let second = mount.read(".views/arrow/tables/test.onda.signal.arrow~2").unwrap();
    assert!(second == std::fs::read(sample("test.onda.signal.arrow")).unwrap());
}

#[test]
fn a_stream_that_replaces_a_dictionary_is_no_arrow_file() {
    let script = r#"
import sys, pyarrow as pa
table = pa.ipc.open_file(sys.argv[1]).read_all()
at = table.column_names.index("sensor_type")
def encoded(part):
    texts = part.column(at).cast(pa.string()).combine_chunks().dictionary_encode()
    return part.set_column(at, "sensor_type", texts)
parts = [encoded(table.slice(0, 5)), encoded(table.slice(5))]
with pa.ipc.new_stream(sys.argv[2], parts[0].schema) as out:
    for part in parts:
        out.write_table(part)
"#;
    let dir = scratch();
    let path = dir.path().join("x.onda.signal.arrow");
    python(&[&"-c", &script, &sample("test.onda.signal.arrow"), &path]);
    let mount = Mount::new(&path);
    let error = mount.read(".views/arrow/tables/x.onda.signal.arrow").unwrap_err();
    assert_eq!(error.raw_os_error(), Some(libc::EOPNOTSUPP));
    let lines = text(&mount, ".views/jsonl/tables/x.onda.signal.jsonl");
    let other = Mount::new(&sample("test.onda.signal.arrow"));
    assert_eq!(lines, text(&other, ".views/jsonl/tables/test.onda.signal.jsonl"));
}

#[test]
fn lines_of_tables_have_all_values_or_an_error() {
    let script = r#"
import sys, pyarrow as pa
table = pa.ipc.open_file(sys.argv[1]).read_all()
rows = table.num_rows
pairs = [[("k%d" % at, at) for at in range(5000)]] * rows
more = table.append_column("pairs", pa.array(pairs, pa.map_(pa.string(), pa.int64())))
more = more.append_column("list", pa.array([list(range(5000))] * rows))
offsets = pa.array([0] + [2] * rows, pa.int32()).buffers()[1]
wrong = table.append_column("wrong", pa.StringArray.from_buffers(rows, offsets, pa.py_buffer(b"\xff\xfe")))
for name, table in [("more", more), ("wrong", wrong)]:
    with pa.ipc.new_file(f"{sys.argv[2]}/{name}.onda.signal.arrow", table.schema) as out:
        out.write_table(table)
"#;
    let dir = scratch();
    python(&[&"-c", &script, &sample("test.onda.signal.arrow"), &dir.path()]);
    let mount = Mount::new(&dir.path().join("more.onda.signal.arrow"));
    let lines = text(&mount, ".views/jsonl/tables/more.onda.signal.jsonl");
    for line in lines.lines() {
        let row: serde_json::Value = serde_json::from_str(line).unwrap();
        assert_eq!(row["pairs"].as_object().unwrap().len(), 5000);
        assert_eq!(row["list"].as_array().unwrap().len(), 5000);
    }
    // If only the first items are shown, the length says so.
    let outcome = text(&mount, &format!("{EEG}/eeg.meta.yaml"));
    for what in ["pairs", "list"] {
        assert!(outcome.contains(&format!("  {what}:\n    length: 5000\n    first:\n")), "{what}");
    }
    let mount = Mount::new(&dir.path().join("wrong.onda.signal.arrow"));
    let outcome = text(&mount, &format!("{EEG}/eeg.meta.yaml"));
    let warned = "  warnings:\n  - 'row 0, column wrong: a string is not UTF-8'\n";
    assert!(outcome.contains(warned) && !outcome.contains("\n  wrong: "), "{outcome}");
    assert!(mount.read(".views/jsonl/tables/wrong.onda.signal.jsonl").is_err());
    assert!(mount.log().contains("row 0, column wrong: a string is not UTF-8"), "{}", mount.log());
}

#[test]
fn tables_without_rows() {
    for (table, holds) in [("empty.onda.signal", "signals"), ("empty.onda.annotation", "annotations")] {
        let mount = Mount::new(&sample(&format!("{table}.arrow")));
        assert_eq!(mount.names(), ["tables"]);
        let outcome = text(&mount, &format!("tables/{table}.meta.yaml"));
        assert!(outcome.contains("rows: 0\n") && outcome.contains(&format!("holds: {holds}\n")), "{outcome}");
    }
}

#[test]
fn several_tables_are_one_container() {
    let others = ["test.onda.annotation.arrow", "merged.onda.merged-annotation.arrow"].map(sample);
    let others: Vec<&str> = others.iter().map(|path| path.to_str().unwrap()).collect();
    let mount = Mount::with(&sample("test.onda.signal.arrow"), &others);
    let csv = text(&mount, &format!("{EEG}/annotations.csv"));
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!(lines[0], "id,start,stop");
    let start = |line: &&str| line.split(',').nth(1).unwrap().parse().unwrap();
    let starts: Vec<i64> = lines[1..].iter().map(start).collect();
    assert!(starts.len() > 2 && starts.is_sorted(), "{csv}");
    let nested = text(&mount, &format!("{EEG}/annotations.jsonl"));
    let first: serde_json::Value = serde_json::from_str(nested.lines().next().unwrap()).unwrap();
    assert_eq!(first["from"][0], "b14d2c6d-8d84-4e46-824f-5c5d85721501", "{first}");
    assert_eq!(names(&mount.join("tables")).len(), 3);
    assert!(names(&mount.join(".views/spans")).len() > 8);
    assert_eq!(mount.log(), "");
}

#[test]
fn columns_of_annotations_do_not_take_the_names_of_others() {
    let dir = scratch();
    let script = r#"
import os, sys
from onda_tables import *
os.chdir(sys.argv[1])
annotations("a.onda.annotation.arrow", [(1, 5, 10), (2, 3, 4)], start=[7, 8], outcome=["", None])
annotations("b.onda.annotation.arrow", [(3, 1, 2)], table=["mine"])
annotations("c.onda.annotation.arrow", [(4, 1, 2)], start=[9], tags=[["t"]])
"#;
    python(&[&"-c", &script, &dir.path()]);
    let [a, b, c] = ["a", "b", "c"].map(|name| dir.path().join(format!("{name}.onda.annotation.arrow")));
    let (recording, id) = (
        |name| format!("00000000-0000-0000-0000-000000000001/annotations.{name}"),
        |number| format!("00000000-0000-0000-0000-00000000000{number}"),
    );
    let of_a = format!("id,start,stop,start~2,outcome\n{},3,4,8,\n{},5,10,7,\"\"\n", id(2), id(1));
    assert_eq!(text(&Mount::new(&a), &recording("csv")), of_a);
    let both = text(&Mount::with(&a, &[b.to_str().unwrap()]), &recording("csv"));
    let lines: Vec<&str> = both.lines().collect();
    assert_eq!(lines[0], "id,start,stop,table~2,start~2,outcome,table");
    assert_eq!(lines[1], format!("{},1,2,mine,,,b.onda.annotation", id(3)));
    let of_c = format!("{{\"id\":\"{}\",\"start\":1,\"stop\":2,\"start~2\":9,\"tags\":[\"t\"]}}\n", id(4));
    assert_eq!(text(&Mount::new(&c), &recording("jsonl")), of_c);
}

/// What of a recording an annotation covers, as Onda.jl counts.
#[test]
fn spans_are_the_samples_of_annotations() {
    let dir = copied();
    let made = sh(
        r#""$1" "$2" "$3""#,
        &[
            &interpreter(),
            &Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/python/onda_spans.py"),
            &dir.path(),
        ],
    );
    let annotations = dir.path().join("spans.onda.annotation.arrow");
    let mount = Mount::with(&dir.path().join("test.onda.signal.arrow"), &[annotations.to_str().unwrap()]);
    let expected: serde_json::Value = serde_json::from_str(&made).unwrap();
    let expected = expected.as_object().unwrap();
    assert_eq!(names(&mount.join(".views/spans")).len(), expected.len());
    for (id, files) in expected {
        let files = files.as_object().unwrap();
        let directory = Path::new(".views/spans").join(id);
        assert_eq!(names(&mount.join(&directory)).len(), files.len(), "{id}");
        for (name, hex) in files {
            let bytes = mount.read(directory.join(name)).unwrap();
            let Some(hex) = hex.as_str() else { continue };
            let start = bytes.iter().position(|byte| *byte == b'\n').unwrap() + 1;
            let found: String = bytes[start..].iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(found, hex, "{id} {name}");
        }
    }
}

/// Tables that are refused, with the exit code and the message.
const REFUSED: &[(&str, i32, &str)] = &[
    ("empty_file", 11, "it is empty"),
    ("footer_length_huge", 12, "claims to have 2147483647 bytes"),
    ("magic_only", 12, "this one has 8 bytes in all"),
    ("missing_column_channels", 12, "the column channels is missing"),
    ("missing_column_recording", 12, "the column recording is missing"),
    ("missing_column_sample_rate", 12, "the column sample_rate is missing"),
    ("missing_column_span", 12, "the column span is missing"),
    ("not_arrow", 11, "is a ZIP file"),
    ("recording_width15", 12, "found fixed_size_binary[15]"),
    ("schema_garbage", 12, "is not a name with a version"),
    ("schema_other", 11, "not one of Onda's"),
    ("schema_v3", 1, "onda.signal@3, which is not known"),
    ("truncated_half", 12, "does not end with ARROW1"),
];

/// Those with data that cannot be had, and why as the sidecar says.
const WITHOUT_DATA: &[(&str, &str)] = &[
    ("path_dev", "it lies outside of"),
    ("path_dotdot", ""),
    ("path_is_dir", "it is a directory"),
    ("path_nul", "NUL byte"),
];

/// Those whose data fails when it is read.
const DAMAGED: &[&str] =
    &["lpcm_not_multiple", "zst_truncated", "zst_not_zstd", "zst_bad_checksum", "zst_huge_content_size"];

/// Those that are read, with what the sidecar of the signal or of the table warns of.
const READ: &[(&str, &str)] = &[
    ("channels_dot", ""),
    ("channels_duplicate", "as another before it"),
    ("channels_none", "channels is empty"),
    ("channels_null_item", "channel 1 has no name"),
    ("channels_slash_dotdot", ""),
    ("channels_uppercase", "names have small letters"),
    ("duplicate_file_path", "is the same as in row 0"),
    ("format_empty", "file_format is empty"),
    ("label_uppercase", "names have small letters"),
    ("lpcm_fewer_than_span", "the data has 2 samples"),
    ("rate_inf", "sample_rate is inf"),
    ("rate_nan", "sample_rate is NaN"),
    ("rate_zero", "sample_rate is 0"),
    ("recording_null", "recording is null"),
    ("resolution_nan", "sample_resolution_in_unit is NaN"),
    ("span_empty", "span stops at 100 ns"),
    ("span_int64", "they are taken for nanoseconds"),
    ("span_milliseconds", "they are converted"),
    ("span_null", "span is null"),
    ("span_overflow", "longer than 64 bits"),
    ("span_reversed", "span stops at 50 ns"),
    ("span_swapped_children", ""),
    ("type_case", "is not one of int8"),
    ("type_int24", "is not one of int8"),
    ("type_label_slash", "names have small letters"),
    ("zst_bomb", "the data has 67108864 samples"),
];

fn bad(name: &str) -> PathBuf {
    sample(&format!("bad/{name}.onda.signal.arrow"))
}

/// Every file below the mount, without views.
fn files(mount: &Mount) -> Vec<String> {
    let listing = sh(r#"cd "$1" && find . -type f -printf '%P\0'"#, &[&mount.path]);
    listing.split_terminator('\0').map(str::to_owned).collect()
}

fn all_sidecars(mount: &Mount) -> String {
    files(mount).iter().filter(|name| name.ends_with(".meta.yaml")).map(|name| text(mount, name)).collect()
}

#[test]
fn every_bad_table_is_in_one_of_the_lists() {
    let mut known: Vec<&str> =
        REFUSED.iter().map(|(name, ..)| *name).chain(DAMAGED.iter().copied()).collect();
    known.extend(WITHOUT_DATA.iter().chain(READ).map(|(name, _)| name));
    known.sort_unstable();
    let all = names(&sample("bad"));
    let mut all: Vec<&str> = all.iter().filter_map(|name| name.strip_suffix(".onda.signal.arrow")).collect();
    all.sort_unstable();
    assert_eq!(known, all);
}

#[test]
fn bad_tables_are_refused() {
    for (name, code, fragment) in REFUSED {
        let scratch = scratch();
        let outcome = run(program().arg(bad(name)).arg(scratch.path().join("mnt")));
        assert_eq!(outcome.code, *code, "{name}: {outcome:?}");
        assert!(outcome.err.contains(fragment) && outcome.err.lines().count() == 1, "{name}: {outcome:?}");
    }
}

#[test]
fn signals_without_data_keep_their_sidecar() {
    for (name, why) in WITHOUT_DATA {
        let mount = Mount::new(&bad(name));
        let found = files(&mount);
        assert_eq!(found, [format!("{EEG}/eeg.meta.yaml"), format!("tables/{name}.onda.signal.meta.yaml")]);
        let outcome = text(&mount, &format!("{EEG}/eeg.meta.yaml"));
        assert!(outcome.contains("noData: ") && outcome.contains(why), "{name}: {outcome}");
        assert!(names(&mount.join(format!(".views/decoded/{EEG}"))).is_empty());
    }
}

#[test]
fn damaged_data_is_an_error() {
    for name in DAMAGED {
        let mount = Mount::new(&bad(name));
        let read = mount.read(format!("{EEG}/eeg")).unwrap_err();
        assert_eq!(read.raw_os_error(), Some(5), "{name}: {read}");
        let outcome = text(&mount, &format!("{EEG}/eeg.meta.yaml"));
        // What the frame's header says is right, as far as headers go.
        assert!(outcome.contains("problem: ") || *name == "zst_bad_checksum", "{name}: {outcome}");
        assert!(mount.read(format!(".views/decoded/{EEG}/eeg.npy")).is_err(), "{name}");
        assert!(mount.read(format!(".views/channels/{EEG}/eeg/00_a.npy")).is_err(), "{name}");
        let log = mount.log();
        assert_eq!(log.matches("/eeg\"").count(), 1, "{name}: {log}");
    }
}

#[test]
fn problems_of_rows_are_reported_and_their_data_read() {
    for (name, warning) in READ.iter().filter(|(name, _)| *name != "zst_bomb") {
        let mount = Mount::new(&bad(name));
        let outcome = all_sidecars(&mount);
        assert!(outcome.contains(warning), "{name}: {outcome}");
        for file in files(&mount).iter().filter(|file| !file.ends_with(".meta.yaml")) {
            let len = if *name == "lpcm_fewer_than_span" { 8 } else { 16 };
            assert_eq!(mount.read(file).unwrap().len(), len, "{name}");
        }
    }
    let mount = Mount::new(&bad("channels_slash_dotdot"));
    assert_eq!(
        names(&mount.join(format!(".views/channels/{EEG}/eeg"))),
        ["00_..%2F..%2Fx.npy", "01_a%2Fb.npy"]
    );
    let mount = Mount::new(&bad("type_label_slash"));
    assert_eq!(names(&mount.join(format!("{EEG}/%2E%2E"))), ["x", "x.meta.yaml"]);
}

#[test]
fn a_bomb_takes_little_memory() {
    let mount = Mount::new(&bad("zst_bomb"));
    let eeg = mount.join(format!("{EEG}/eeg"));
    assert_eq!(std::fs::metadata(&eeg).unwrap().len(), 256 << 20);
    use std::os::unix::fs::FileExt;
    let mut last = [1; 5];
    std::fs::File::open(&eeg).unwrap().read_exact_at(&mut last, (256 << 20) - 5).unwrap();
    assert_eq!(last, [0; 5]);
    let status = std::fs::read_to_string(format!("/proc/{}/status", mount.daemon())).unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let peak: u64 = peak.trim().trim_end_matches(" kB").parse().unwrap();
    assert!(peak < 200 << 10, "{peak} KiB");
}

#[test]
fn paths_lead_outside_only_if_the_user_says_so() {
    let dir = copied();
    let table = dir.path().join("bad/path_dotdot.onda.signal.arrow");
    let outside = dir.path().join("outside.lpcm");
    std::fs::write(&outside, [7; 16]).unwrap();
    // A link within the directory of the table, and the data of one that stays inside.
    let inside = dir.path().join("bad/samples/ok.lpcm");
    std::fs::remove_file(&inside).unwrap();
    symlink(&outside, &inside).unwrap();
    let table_of_link = dir.path().join("bad/channels_dot.onda.signal.arrow");
    let mount = Mount::new(&table_of_link);
    assert!(text(&mount, &format!("{EEG}/eeg.meta.yaml")).contains("--follow-outside"));
    assert!(mount.read(format!("{EEG}/eeg")).is_err());
    let mount = Mount::with(&table_of_link, &["--follow-outside"]);
    assert_eq!(mount.read(format!("{EEG}/eeg")).unwrap(), [7; 16]);
    drop(mount);
    let mount = Mount::with(&table, &["--follow-outside"]);
    let there = text(&mount, &format!("{EEG}/eeg.meta.yaml"));
    assert!(!there.contains("outside of"), "{there}");
}

#[test]
fn data_that_changes_is_read_no_more() {
    let dir = copied();
    let mount = Mount::new(&dir.path().join("test.onda.signal.arrow"));
    assert_eq!(mount.read(format!("{EEG}/spo2")).unwrap().len(), 60);
    std::fs::write(dir.path().join("samples/uint8_spo2.lpcm"), [1; 61]).unwrap();
    let read = mount.read(format!(".views/decoded/{EEG}/spo2.npy")).unwrap_err();
    assert_eq!(read.raw_os_error(), Some(5), "{read}");
}

#[test]
fn random_ranges_of_all_views() {
    let mount = Mount::new(&sample("test.onda.signal.arrow"));
    let mut scatter = Scatter(7);
    for name in [
        format!("{EEG}/eeg"),
        format!("{EEG}/uint16_sensor"),
        format!(".views/decoded/{EEG}/eeg.npy"),
        format!(".views/decoded/{EEG}/int8_sensor.npy"),
        format!(".views/channels/{EEG}/eeg/03_fz.npy"),
        format!(".views/channels/{EEG}/ecg_left/01_avr.npy"),
    ] {
        let whole = mount.read(&name).unwrap();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                let seed = scatter.below(1 << 30) as u64;
                let (whole, path) = (&whole, mount.join(&name));
                scope.spawn(move || {
                    use std::os::unix::fs::FileExt;
                    let (file, mut scatter) = (std::fs::File::open(path).unwrap(), Scatter(seed));
                    for _ in 0..50 {
                        let (from, size) = scatter.range(whole.len());
                        let mut bytes = vec![0; size.min(whole.len() - from)];
                        file.read_exact_at(&mut bytes, from as u64).unwrap();
                        assert_eq!(bytes, whole[from..][..bytes.len()]);
                    }
                });
            }
        });
    }
}

#[test]
fn a_directory_of_tables_is_one_container() {
    let dir = copied();
    let set = dir.path().join("set");
    std::fs::create_dir(&set).unwrap();
    for name in ["test.onda.signal.arrow", "test.onda.annotation.arrow"] {
        std::fs::rename(dir.path().join(name), set.join(name)).unwrap();
    }
    std::fs::rename(dir.path().join("samples"), set.join("samples")).unwrap();
    let check = |mount: &Mount| {
        assert_eq!(names(&mount.join("tables")).len(), 2);
        let own = names(&mount.join(EEG));
        assert!(own.contains(&"eeg".to_owned()) && own.contains(&"annotations.csv".to_owned()), "{own:?}");
    };
    check(&Mount::new(&set));
    // With other files in it, it is shown as it is, unless the user says what it is.
    std::fs::write(set.join("notes.txt"), "x").unwrap();
    let mount = Mount::new(&set);
    assert!(mount.names().contains(&"notes.txt".to_owned()));
    let tree = mount.join(format!("test.onda.signal.arrow/{EEG}"));
    assert!(names(&tree).contains(&"eeg".to_owned()));
    drop(mount);
    check(&Mount::with(&set, &["--format", "onda"]));
}

#[test]
fn data_sets_of_before_arrow_are_recognised() {
    let dir = scratch();
    let old = dir.path().join("recordings.msgpack.zst");
    std::fs::write(&old, b"\x28\xb5\x2f\xfd").unwrap();
    let outcome = run(program().arg(&old).arg(dir.path().join("mnt")));
    assert!(outcome.code == 1 && outcome.err.contains("before 0.12"), "{outcome:?}");
    let outcome = run(program().args(["--format", "onda"]).arg(dir.path()).arg(scratch().path().join("mnt")));
    assert!(outcome.code == 1 && outcome.err.contains("upgrade_onda_dataset_to_v0_5!"), "{outcome:?}");
    // Without --format, the directory's own files are shown.
    let mount = Mount::new(dir.path());
    assert_eq!(mount.names(), ["recordings.msgpack.zst"]);
}

/// A table whose one signal says that its format is `xyzz`.
fn of_strange_format(dir: &TempDir) -> PathBuf {
    let mut bytes = std::fs::read(bad("channels_dot")).unwrap();
    let at =
        (1..bytes.len()).find(|at| bytes[*at..].starts_with(b"lpcm\0") && bytes[at - 1] != b'.').unwrap();
    bytes[at..at + 4].copy_from_slice(b"xyzz");
    let table = dir.path().join("bad/strange.onda.signal.arrow");
    std::fs::write(&table, bytes).unwrap();
    table
}

#[test]
fn formats_that_are_not_known_and_programs_for_them() {
    let dir = copied();
    let table = of_strange_format(&dir);
    let (data, sidecar, view) =
        (format!("{EEG}/eeg"), format!("{EEG}/eeg.meta.yaml"), format!(".views/decoded/{EEG}/eeg.npy"));
    let mount = Mount::new(&table);
    assert_eq!(mount.read(&data).unwrap().len(), 16);
    let outcome = text(&mount, &sidecar);
    assert!(
        outcome.contains("the format \"xyzz\" is not known here") && !outcome.contains("numpy:"),
        "{outcome}"
    );
    assert!(!mount.join(&view).exists());
    drop(mount);

    let mount = Mount::with(&table, &["--decoder", "xyzz=head -c 12"]);
    assert_eq!(mount.read(&data).unwrap(), std::fs::read(sample("bad/samples/ok.lpcm")).unwrap()[..12]);
    assert!(text(&mount, &sidecar).contains("shape: [3, 2]"));
    assert_eq!(mount.read(&view).unwrap().len() % 64, 3 * 2 * 8);
    drop(mount);

    // No whole samples, a program that fails, and one that is not there.
    for (command, outcome) in [
        ("head -c 7", "not a whole number of samples"),
        ("false", "ended with"),
        ("no-such-program", "cannot be started"),
    ] {
        let mount = Mount::with(&table, &["-o", &format!("decoder=xyzz={command}")]);
        assert!(mount.read(&data).is_err() && mount.read(&view).is_err(), "{command}");
        assert!(text(&mount, &sidecar).contains(outcome), "{command}: {}", text(&mount, &sidecar));
    }
    let scratch = scratch();
    let outcome = run(program().args(["--decoder", "nothing"]).arg(&table).arg(scratch.path().join("mnt")));
    assert_eq!(outcome.code, 2, "{outcome:?}");
}

#[test]
fn a_file_of_several_rows_is_decoded_once() {
    use std::os::unix::fs::PermissionsExt;
    let dir = copied();
    let mut bytes = std::fs::read(bad("duplicate_file_path")).unwrap();
    let at = bytes.windows(8).position(|part| part == b"lpcmlpcm").unwrap();
    bytes[at..at + 8].copy_from_slice(b"xyzzxyzz");
    let table = dir.path().join("bad/x.onda.signal.arrow");
    std::fs::write(&table, bytes).unwrap();
    let (program, runs) = (dir.path().join("decode"), dir.path().join("runs"));
    std::fs::write(&program, format!("#!/bin/sh\necho run >> {}\nexec cat\n", runs.display())).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mount = Mount::with(&table, &["--decoder", &format!("xyzz={}", program.display())]);
    let rows = || files(&mount).into_iter().filter(|file| file.starts_with(EEG) && !file.contains(".meta"));
    let whole: Vec<_> = rows().map(|file| mount.read(file).unwrap()).collect();
    assert!(whole.len() == 2 && whole[0] == whole[1], "{:?}", files(&mount));
    assert_eq!(std::fs::read_to_string(&runs).unwrap(), "run\n");
    let outcome = all_sidecars(&mount);
    let at = dir.path().canonicalize().unwrap();
    assert_eq!(
        outcome.matches(&format!("table: '{}/bad/x.onda.signal.arrow'\n", at.display())).count(),
        2,
        "{outcome}"
    );
    drop(mount);

    let mount = Mount::with(&table, &["--decoder", "xyzz=false"]);
    let damaged = files(&mount).into_iter().filter(|file| file.starts_with(EEG) && !file.contains(".meta"));
    assert_eq!(damaged.filter(|file| mount.read(file).is_err()).count(), 2);
    assert_eq!(mount.log().matches("ended with exit status").count(), 1, "{}", mount.log());
}
