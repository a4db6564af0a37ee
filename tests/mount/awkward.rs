//! Awkward Array 0.x: every sample against what the reference made of it, and files that are not what they claim.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::kit::*;
use crate::parallel::eight_readers_of;

const RAB: &str = env!("CARGO_BIN_EXE_rab");

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/awkward").join(name)
}

fn samples() -> Vec<String> {
    names(&file("")).into_iter().filter(|name| name.ends_with(".awkd")).collect()
}

#[test]
fn every_sample_is_what_the_reference_made_of_it() {
    let names = samples();
    assert!(names.len() > 60);
    for name in names {
        let mount = Mount::new(&file(&name));
        let sample = name.strip_suffix(".awkd").unwrap();
        python(&[&"check_awkward.py", &mount.path, &file("expected.json"), &sample, &file(&name)]);
        assert_eq!(mount.err, "", "{name}");
        let log = mount.end();
        assert_eq!(log, "", "{name}");
    }
}

#[test]
fn any_range_from_eight_readers() {
    for name in
        ["comp_default_big_int", "legacy_awkward_0.5.0", "jagged_table_fromiter", "comp_lz4block", "strings"]
    {
        eight_readers_of(&file(&format!("{name}.awkd")), &[]);
    }
    eight_readers_of(&file("comp_default_big_int.awkd"), &["--cache-size", "1", "--threads", "1"]);
}

#[test]
fn structures_texts_and_dates_are_arrays_of_numpys() {
    let script = r#"
import os, sys, json
import numpy as np
values = {
    "flat_structured": np.array([(1, 1.5, b"ab"), (2, 2.5, b"cde")], [("x", "<i4"), ("y", "<f8"), ("s", "S3")]),
    "flat_structured_nested": np.array([((1, 2), (1, 2)), ((3, 4), (3, 4))],
                                       [("p", [("a", "<i2"), ("b", ">i4")]), ("v", "<f4", (2,))]),
    "flat_U": np.array(["ab", "cdé"], "<U3"),
    "flat_datetime64": np.array(["2020-01-01", "1999-12-31"], "M8[ns]"),
}
for name, want in values.items():
    view = f"{sys.argv[1]}/{name}.awkd/.views/npy/data"
    for part, of in [("", want), ("[1:]", want[1:]), ("[::-1]", want[::-1]), ("[-1]", want[-1, ...])]:
        got = np.load(f"{view}{part}.npy")
        assert got.dtype == of.dtype and got.shape == of.shape and got.tobytes() == of.tobytes(), (name, part, got)
    file = f"{sys.argv[1]}/{name}.awkd/data"
    assert os.getxattr(file, "user.shape") == b"[2]" and os.getxattr(file, "user.dtype"), name
"#;
    let mount = Mount::with(&file(""), &["--xattr"]);
    python(&[&"-c", &script, &mount.path]);
    assert_eq!(names(&mount.join("flat_datetime64.awkd/.views/csv")), ["data.csv"]);
    assert_eq!(names(&mount.join("flat_structured.awkd/.views/csv")), ["data.csv"]);
    let lines = mount.read("flat_datetime64.awkd/.views/jsonl/.jsonl").unwrap();
    assert_eq!(lines, b"\"2020-01-01T00:00:00.000000000\"\n\"1999-12-31T00:00:00.000000000\"\n");
    assert_eq!(mount.log(), "");
}

/// Files that the format derives are beside the datasets in views; `--as` and the command line have both, too.
#[test]
fn json_lines_of_arrays_and_of_records_are_side_by_side() {
    let (structured, tuples) = (file("flat_structured.awkd"), "{\"__tuple__\":[1,1.5,");
    let (plain, shown) = (Mount::new(&structured), Mount::with(&structured, &["--as", "jsonl"]));
    assert_eq!(names(&plain.join(".views/jsonl")), [".jsonl", "data.jsonl"]);
    assert_eq!(names(&shown.path)[..2], [".jsonl", "data.jsonl"]);
    for (name, dataset, want) in [(".jsonl", "", tuples), ("data.jsonl", "data", "{\"x\":1,\"y\":1.5,")] {
        let text = plain.read(format!(".views/jsonl/{name}")).unwrap();
        assert!(text.starts_with(want.as_bytes()), "{name}");
        assert_eq!(shown.read(name).unwrap(), text);
        let outcome = run(Command::new(RAB).arg("cat").arg(&structured).arg(dataset).args(["--as", "jsonl"]));
        assert_eq!(outcome.out.as_bytes(), text, "{outcome:?}");
    }
    let part = plain.read(".views/jsonl/data[1:].jsonl").unwrap();
    assert_eq!(part, b"{\"x\":2,\"y\":2.5,\"s\":\"cde\"}\n");
}

#[test]
fn items_by_an_index_are_json_lines() {
    let sample = file("multi_names.awkd");
    let (plain, shown) = (Mount::new(&sample), Mount::with(&sample, &["--as", "jsonl"]));
    for (part, want) in [
        ("tab[0:1]", "{\"x\":1,\"s\":\"a\"}\n"),
        ("tab[::-1]", "{\"x\":2,\"s\":\"b\"}\n{\"x\":1,\"s\":\"a\"}\n"),
        ("tab[-1]", "{\"x\":2,\"s\":\"b\"}\n"),
        ("one[1:]", "[]\n[3.3]\n"),
        ("two[1::2]", "1\n3\n"),
        ("two[4:]", ""),
    ] {
        assert_eq!(plain.read(format!(".views/jsonl/{part}.jsonl")).unwrap(), want.as_bytes(), "{part}");
        assert_eq!(shown.read(format!("{part}.jsonl")).unwrap(), want.as_bytes(), "{part}");
        let outcome = run(Command::new(RAB).arg("get").arg(&sample).arg(part).args(["--as", "jsonl"]));
        assert_eq!((outcome.code, &*outcome.out), (0, want), "{outcome:?}");
    }
    for (part, problem) in [
        ("tab[2]", "dataset \"tab\": [2]: index 2 is out of bounds (0 to 2) for axis 0"),
        ("one[0,1]", "dataset \"one\": [0,1]: the index has 2 axes, the array 1"),
    ] {
        let error = plain.read(format!(".views/jsonl/{part}.jsonl")).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(2), "{part}");
        let problem = format!("{}: {problem}", sample.display());
        assert!(plain.log().contains(&problem), "{}", plain.log());
        let outcome = run(Command::new(RAB).arg("get").arg(&sample).arg(part).args(["--as", "jsonl"]));
        assert!(outcome.code == 2 && outcome.err.contains(&problem), "{outcome:?}");
    }
    // Of a directory of containers, and of the array without a name.
    let dir = scratch();
    std::fs::copy(file("jagged.awkd"), dir.path().join("jagged.awkd")).unwrap();
    let mount = Mount::new(dir.path());
    assert_eq!(mount.read(".views/jsonl/jagged.awkd/[1:].jsonl").unwrap(), b"[]\n[4.4,5.5]\n");
    assert_eq!(mount.read("jagged.awkd/.views/jsonl/[:1].jsonl").unwrap(), b"[1.1,2.2,3.3]\n");
}

#[test]
fn the_tree_of_an_array() {
    let mount = Mount::new(&file("multi_names.awkd"));
    assert_eq!(mount.names(), ["one", "tab", "two"]);
    let one = names(&mount.join("one"));
    let want = ["content", "counts", "counts.meta.yaml", "meta.yaml", "offsets", "offsets.meta.yaml"];
    assert_eq!(one[..6], want);
    assert_eq!(names(&mount.join("one/content")), ["data", "data.meta.yaml", "meta.yaml"]);
    assert_eq!(names(&mount.join("tab/columns")), ["s", "x"]);
    let outcome = sh("cd $1 && ls -a && cat .views/jsonl/tab.jsonl", &[&mount.path]);
    assert!(
        outcome.ends_with("two\n{\"x\":1,\"s\":\"a\"}\n{\"x\":2,\"s\":\"b\"}\n")
            && !outcome.contains(".views"),
        "{outcome}"
    );
    let info = String::from_utf8(mount.read("one/offsets.meta.yaml").unwrap()).unwrap();
    assert!(info.contains("computed: true") && info.contains("dtype: '<i8'"), "{info}");
}

#[test]
fn what_is_shared_is_a_link_and_a_circle_is_none() {
    let mount = Mount::new(&file("shared_buffer_ref.awkd"));
    assert_eq!(std::fs::read_link(mount.join("columns/b")).unwrap(), Path::new("a"));
    assert_eq!(mount.read("columns/b/data").unwrap(), mount.read("columns/a/data").unwrap());
    let size = std::fs::symlink_metadata(mount.join("columns/b")).unwrap().len();
    assert_eq!(size, 1);

    let mount = Mount::new(&file("cyclic_reference.awkd"));
    assert!(!mount.join("content/content").exists());
    let meta = String::from_utf8(mount.read("meta.yaml").unwrap()).unwrap();
    assert!(meta.contains("circles:\n- in: content\n  contains: content\n"), "{meta}");
    assert!(!mount.join(".views/jsonl/.jsonl").exists());
}

#[test]
fn what_is_refused_is_named_and_the_rest_is_there() {
    let mount = Mount::new(&file("object_fraction.awkd"));
    assert_eq!(mount.read("content/data").unwrap().len(), 24);
    let meta = String::from_utf8(mount.read("meta.yaml").unwrap()).unwrap();
    assert!(meta.contains("generator: fractions.Fraction") && meta.contains("made by code"), "{meta}");
    let mount = Mount::new(&file("virtual_typed_key.awkd"));
    assert_eq!(mount.names(), ["meta.yaml"]);
    let meta = String::from_utf8(mount.read("meta.yaml").unwrap()).unwrap();
    assert!(meta.contains("class: VirtualArray") && meta.contains("persistentkey"), "{meta}");
}

#[test]
fn hostile_files_mount_or_say_why_not_and_escape_nowhere() {
    let refused = ["zip_empty.awkd", "zip_truncated.awkd"];
    for name in names(&file("bad")) {
        if refused.contains(&name.as_str()) {
            let dir = scratch();
            let outcome = run(program().arg(file("bad").join(&name)).arg(dir.path().join("mnt")));
            assert_eq!(outcome.code, 12, "{name}: {outcome:?}");
            continue;
        }
        let mount = Mount::new(&file("bad").join(&name));
        // Every file is read, also those of the views; none hangs.
        let read = "cd $1; find . .views -type f -print0 | xargs -0 -n1 timeout 20 cat >/dev/null; test $? -ne 124; find . .views -type l";
        let outcome = try_sh(read, &[&mount.path]);
        assert_eq!((outcome.code, outcome.out.as_str()), (0, ""), "{name}: {outcome:?}");
    }
    let mount = Mount::new(&file("bad/zip_slip_names.awkd"));
    assert_eq!(mount.names(), ["%2E%2E"]);
    assert_eq!(mount.read("%2E%2E/%2E%2E/evil/data").unwrap().len(), 8);
    assert_eq!(mount.read(".views/blobs/../../%2E%2E/%2E%2E/evil/data").unwrap().len(), 8);
    let mount = Mount::new(&file("bad/zip_dup_members.awkd"));
    assert_eq!(mount.read("data").unwrap(), 2u64.to_le_bytes());
}

#[test]
fn in_a_directory_of_containers_links_lead_to_their_own() {
    let dir = scratch();
    for name in ["shared_buffer_ref.awkd", "jagged.awkd"] {
        std::fs::copy(file(name), dir.path().join(name)).unwrap();
    }
    let mount = Mount::new(dir.path());
    let at = "shared_buffer_ref.awkd/columns";
    assert_eq!(std::fs::read_link(mount.join(at).join("b")).unwrap(), Path::new("a"));
    assert_eq!(mount.read(format!("{at}/b/data")).unwrap().len(), 40);
    assert_eq!(mount.read("jagged.awkd/.views/jsonl/.jsonl").unwrap(), b"[1.1,2.2,3.3]\n[]\n[4.4,5.5]\n");
}

#[test]
fn a_directory_with_an_array_without_a_name_is_that_array() {
    let dir = scratch();
    let script = "import sys, zipfile; zipfile.ZipFile(sys.argv[1]).extractall(sys.argv[2])";
    python(&[&"-c", &script, &file("jagged.awkd"), &dir.path()]);
    let mount = Mount::new(dir.path());
    assert_eq!(mount.read(".views/jsonl/.jsonl").unwrap(), b"[1.1,2.2,3.3]\n[]\n[4.4,5.5]\n");
    assert_eq!(mount.read("content/data").unwrap().len(), 40);
}

#[test]
fn what_asks_for_too_much_is_refused_and_nothing_is_empty_instead() {
    let dir = scratch();
    python(&[&"-c", &include_str!("../rab/awkward/hostile.py"), &dir.path()]);
    let mount = Mount::new(&dir.path().join("deep.awkd"));
    assert_eq!(mount.names(), ["meta.yaml"]);
    let meta = String::from_utf8(mount.read("meta.yaml").unwrap()).unwrap();
    assert!(meta.contains("bytes of paths of its parts, which is the limit"), "{meta:.1000}");
    let mount = Mount::new(&dir.path().join("column.awkd"));
    let meta = String::from_utf8(mount.read("meta.yaml").unwrap()).unwrap();
    assert!(meta.contains("its column \"b\": system is an unknown call"), "{meta}");
    assert!(!meta.contains("length: 0"), "{meta}");
    assert_eq!(mount.read("columns/a/data").unwrap(), [0; 8]);
}

/// As long as what is stored is worth, however much a part claims to have.
#[test]
fn json_lines_of_strings_that_all_are_the_same_end() {
    let dir = scratch();
    python(&[&"-c", &include_str!("../rab/awkward/hostile.py"), &dir.path()]);
    for name in ["lines", "itself"] {
        let mount = Mount::new(&dir.path().join(format!("{name}.awkd")));
        let outcome = try_sh("timeout 120 head -c 1 $1", &[&mount.join(".views/jsonl/.jsonl")]);
        assert!(outcome.code == 1 && outcome.err.contains("Operation not supported"), "{outcome:?}");
        let log = mount.log();
        assert_eq!(
            log.matches("which is the limit; reads of it as JSON lines give that error").count(),
            1,
            "{log}"
        );
    }
}

/// Nothing that could be taken for an array without items.
#[test]
fn json_lines_of_what_is_damaged_are_an_error() {
    for name in ["jagged_float_counts", "jagged_fewer_stops", "bitmask_short", "missing_blob"] {
        let mount = Mount::new(&file(&format!("bad/{name}.awkd")));
        let error = mount.read(".views/jsonl/.jsonl").unwrap_err();
        assert_eq!(error.raw_os_error(), Some(5), "{name}: {error}");
        assert!(mount.log().contains("reads of it as JSON lines give that error"), "{name}: {}", mount.log());
    }
    // Behind the items that come before the damage.
    let dir = scratch();
    let path = dir.path().join("past.awkd");
    python(&[&"-c", &PAST, &path]);
    let mount = Mount::new(&path);
    let outcome = try_sh("head -c 50000 $1 | tail -c 11", &[&mount.join(".views/jsonl/.jsonl")]);
    let lines: String = (0..300_000).map(|at| format!("[{at}]\n")).collect();
    assert_eq!(outcome.out, lines[49_989..50_000]);
    let error = mount.read(".views/jsonl/.jsonl").unwrap_err();
    assert_eq!(error.raw_os_error(), Some(5));
    assert!(
        mount.log().contains("list 300000 ends at 300002, but its content has 300001 items; reads"),
        "{}",
        mount.log()
    );
    // And so are numbers that follow from others.
    let mount = Mount::new(&file("bad/jagged_stop_before_start.awkd"));
    assert!(mount.read("counts").is_err() && mount.read("counts").is_err());
    assert_eq!(mount.log().matches("list 0 goes from 2 to 1; its counts give that error").count(), 1);
    let mount = Mount::new(&file("bad/virtual_bomb.awkd"));
    assert!(mount.read(".views/jsonl/.jsonl").is_err_and(|error| error.raw_os_error() == Some(2)));
}

/// Lists of one item, the last of which are not there.
const PAST: &str = r#"
import json, sys, zipfile
def flat(member, count):
    return {"call": ["awkward0", "numpy", "frombuffer"], "args": [{"read": member}, {"dtype": "int32"}, {"json": count}]}
numbers = lambda start, end: b"".join(at.to_bytes(4, "little") for at in range(start, end))
with zipfile.ZipFile(sys.argv[1], "w") as to:
    to.writestr("a", numbers(0, 300_001))
    to.writestr("b", numbers(1, 300_001) + (300_002).to_bytes(4, "little"))
    schema = {"call": ["awkward0", "JaggedArray"], "args": [flat("a", 300_001), flat("b", 300_001), flat("a", 300_001)]}
    to.writestr(".json", json.dumps({"awkward0": "0.15.5", "schema": schema}))
"#;
