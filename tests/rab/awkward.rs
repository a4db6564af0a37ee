//! The verbs on Awkward Array 0.x.

mod back;
mod hostile;

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{good, kit, rab};

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/awkward").join(name)
}

/// What the reference's `tolist` gives, by sample and array.
fn expected() -> serde_json::Value {
    serde_json::from_str(&std::fs::read_to_string(file("expected.json")).unwrap()).unwrap()
}

/// Objects that the reference made of values: we show what it made them of.
fn has_objects(value: &serde_json::Value) -> bool {
    value.to_string().contains("__repr__")
}

#[test]
fn get_gives_what_the_reference_gives() {
    let expected = expected();
    let mut compared = 0;
    for (sample, arrays) in expected.as_object().unwrap() {
        // The reference reads it as something else than was saved, and dates of nanoseconds as numbers.
        if matches!(&**sample, "flat_structured_padded" | "flat_datetime64") {
            continue;
        }
        for (name, array) in arrays.as_object().unwrap() {
            let path = file(&format!("{sample}.awkd"));
            let want = &array["tolist"];
            if has_objects(want) {
                continue;
            }
            let found: serde_json::Value =
                serde_json::from_str(&good(&[&"get", &path, &name, &"--json"])).unwrap();
            assert_eq!(&found, want, "{sample} {name}");
            if let Some(last) = want.as_array().unwrap().last() {
                let item = format!("{name}[-1]");
                let found: serde_json::Value =
                    serde_json::from_str(&good(&[&"get", &path, &item, &"--json"])).unwrap();
                assert_eq!(&found, last, "{sample} {item}");
            }
            compared += 1;
        }
    }
    assert!(compared > 60);
    let lorentz = good(&[&"get", &file("uproot3_lorentz_jagged.awkd"), &"[2]"]);
    assert_eq!(lorentz, "[{\"pt\":30.0,\"eta\":0.3,\"phi\":3.0,\"mass\":0.5}]\n");
    assert_eq!(good(&[&"get", &file("multi_names.awkd"), &"one[::2]"]), "[[1.1,2.2],\n[3.3]]\n");
    assert_eq!(good(&[&"get", &file("multi_names.awkd"), &"tab/columns/s[1]"]), "\"b\"\n");
    assert_eq!(good(&[&"get", &file("flat_fortran_2d.awkd"), &"[1, ::-1]"]), "[5 4 3]\n");
    assert_eq!(good(&[&"get", &file("flat_fortran_2d.awkd"), &"[1, ::-1]", &"--json"]), "[5,4,3]\n");
}

#[test]
fn what_is_in_it() {
    let names = good(&[&"ls", &file("multi_names.awkd")]);
    assert!(names.starts_with("one/meta.yaml\none/counts\none/offsets\none/starts\none/stops\none/content/meta.yaml\none/content/data\n"), "{names}");
    assert!(
        good(&[&"ls", &"-l", &file("multi_names.awkd")])
            .contains("int64      (4,)                       32           32  two/data\n")
    );
    assert_eq!(good(&[&"cat", &file("multi_names.awkd"), &"two"]).len(), 32);
    let info = good(&[&"info", &file("multi_names.awkd"), &"two"]);
    for line in ["name: two/data", "type: int64", "member: two-0.raw"] {
        assert!(info.contains(line), "{line:?} is not in {info}");
    }
    assert!(good(&[&"info", &file("jagged.awkd")]).contains("format: Awkward"));
    let meta = good(&[&"cat", &file("jagged.awkd"), &"meta.yaml"]);
    assert!(
        meta.contains("type: '[0, 3) -> [0, inf) -> float64'")
            || meta.contains("type: \"[0, 3) -> [0, inf) -> float64\""),
        "{meta}"
    );
}

const COLUMNS: &str = r#"
import json, sys, zipfile
def flat(dtype, count=3):
    return {"call": ["awkward0", "numpy", "frombuffer"], "args": [{"read": "zeros"}, {"dtype": dtype}, {"json": count}]}
def table(**pairs):
    return {"call": ["awkward0", "Table", "frompairs"], "args": [{"pairs": list(pairs.items())}, {"json": 0}]}
jagged = {"call": ["awkward0", "JaggedArray", "fromcounts"], "args": [flat("int64"), flat("float64", 0)]}
fields = [["p", [["a", "int16"], ["bc", ">i4"]]], ["vec", ["float32", [2]]]]
inner = table(a=flat("int32"), wide=jagged)
schema = table(x=flat("float64"), **{"it's long": inner, "é": flat(fields), "when": flat(">M8[ns]")})
with zipfile.ZipFile(sys.argv[1], "w") as to:
    to.writestr("zeros", bytes(42))
    to.writestr(".json", json.dumps({"awkward0": "0.15.5", "schema": schema}))
"#;

/// As awkward0 0.15.5 prints the type of this table.
#[test]
fn types_of_columns_are_shown_as_the_library_shows_them() {
    let dir = kit::scratch();
    let [from, meta] = ["columns.awkd", "meta.yaml"].map(|name| dir.path().join(name));
    kit::python(&[&"-c", &COLUMNS, &from]);
    std::fs::write(&meta, good(&[&"cat", &from, &"meta.yaml"])).unwrap();
    let read = "import sys, yaml; print(yaml.safe_load(open(sys.argv[1], encoding='utf-8'))['type'])";
    let want = r#"
[0, 3) -> 'x'         -> float64
          "it's long" -> 'a'    -> int32
                         'wide' -> [0, inf) -> float64
          'é'         -> 'p'   -> [('a', '<i2'), ('bc', '>i4')]
                         'vec' -> ('<f4', (2,))
          'when'      -> >M8[ns]
"#;
    assert_eq!(kit::python(&[&"-c", &read, &meta]).trim_end(), want.trim());
}

#[test]
fn what_only_numpy_knows_is_an_array_of_it_and_prints_as_before() {
    let at = |name: &str| file(&format!("flat_{name}.awkd"));
    let dates = "[\"2020-01-01T00:00:00.000000000\",\n\"1999-12-31T00:00:00.000000000\"]\n";
    assert_eq!(good(&[&"get", &at("datetime64"), &"data"]), dates);
    assert_eq!(good(&[&"get", &at("U"), &"data[1]"]), "\"cdé\"\n");
    let nested = r#"[("p", [("a", "<i2"), ("b", ">i4")]), ("v", "<f4", (2,))]"#;
    for (name, descr, size) in
        [("datetime64", "'<M8[ns]'", 16), ("U", "'<U3'", 24), ("structured_nested", nested, 28)]
    {
        let dir = kit::scratch();
        let [npy, part] = ["data.npy", "part.npy"].map(|name| dir.path().join(name));
        for (path, arguments) in [(&npy, ["cat", "data"]), (&part, ["get", "data[::-1]"])] {
            let outcome = kit::run(
                Command::new("bash")
                    .args(["-c", "\"$1\" \"$2\" \"$3\" \"$4\" --as npy > \"$5\"", "bash"])
                    .args([env!("CARGO_BIN_EXE_rab"), arguments[0]])
                    .arg(at(name))
                    .arg(arguments[1])
                    .arg(path),
            );
            assert_eq!((outcome.code, outcome.err.as_str()), (0, ""), "{outcome:?}");
        }
        let [whole, part] = [npy, part].map(|path| std::fs::read(path).unwrap());
        let head = format!("{{'descr': {descr}, 'fortran_order': False, 'shape': (2,), }}");
        assert!(whole[10..].starts_with(head.as_bytes()), "{}", whole.escape_ascii());
        let turn = |bytes: &[u8]| [&bytes[size / 2..], &bytes[..size / 2]].concat();
        assert_eq!(turn(&whole[whole.len() - size..]), part[part.len() - size..]);
        let info = good(&[&"info", &at(name), &"data"]);
        assert!(info.contains("shape:\n- 2\n") && info.contains("\ndtype: "), "{info}");
    }
}

/// Exit codes: 0 what the reference loads, 1 what is refused for what it is, 12 damage and what contradicts itself.
#[test]
fn verify_tells_the_good_from_the_bad() {
    for name in kit::names(&file("")).iter().filter(|name| name.ends_with(".awkd")) {
        let refused = name.starts_with("virtual_") || name.starts_with("object_");
        let want = if refused {
            1
        } else if name == "flat_structured_padded.awkd" {
            12
        } else {
            0
        };
        let outcome = rab(&[&"verify", &file(name)]);
        assert_eq!(outcome.code, want, "{name}: {outcome:?}");
    }
    let loads = [
        "blob_long",
        "blob_unaligned",
        "negative_length",
        "sparse_huge",
        "string_bad_utf8",
        "zip_slip_names",
        "zlib_trailing",
        "cycle_tolist",
    ];
    // Two of them are over a limit.
    let refused = [
        "call_builtins_eval",
        "call_topython",
        "deep_nesting",
        "dtype_huge_shape",
        "function_eval",
        "python_pickle",
        "virtual_bomb",
    ];
    let mut seen = 0;
    for name in kit::names(&file("bad")) {
        let stem = name.strip_suffix(".awkd").unwrap();
        let want = if loads.contains(&stem) {
            0
        } else if refused.contains(&stem) {
            1
        } else {
            12
        };
        seen += usize::from(want < 12);
        // An address space of 1 GB, and no more time than anybody would wait.
        let outcome = kit::run(
            Command::new("bash")
                .arg("-c")
                .arg("ulimit -v 1000000; timeout 20 \"$0\" verify \"$1\"")
                .arg(env!("CARGO_BIN_EXE_rab"))
                .arg(file("bad").join(&name)),
        );
        assert_eq!(outcome.code, want, "{name}: {outcome:?}");
        assert!(want == 0 || !outcome.out.is_empty() || !outcome.err.is_empty(), "{name}");
    }
    assert_eq!(seen, loads.len() + refused.len());
}

/// The ZIP file records a sum of a schema as of all else: an item less would look as if it had never been there.
#[test]
fn a_schema_that_was_changed_is_damage() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.awkd");
    let mut bytes = std::fs::read(file("multi_names.awkd")).unwrap();
    let count = b"\"int64\"}, {\"json\": 4";
    let at = bytes.windows(count.len()).position(|window| window == count).unwrap();
    bytes[at + count.len() - 1] = b'3';
    std::fs::write(&path, bytes).unwrap();
    for verb in ["verify", "get"] {
        let name: &[&dyn AsRef<std::ffi::OsStr>] = if verb == "get" { &[&"two"] } else { &[] };
        let outcome = rab(&[&[&verb as &dyn AsRef<std::ffi::OsStr>, &path], name].concat());
        assert_eq!(outcome.code, 12, "{verb}: {outcome:?}");
        assert!(format!("{outcome:?}").contains("the schema's CRC-32 is"), "{verb}: {outcome:?}");
    }
    assert_eq!(
        good(&[&"get", &path, &"one[0]", &"--json"]),
        good(&[&"get", &file("multi_names.awkd"), &"one[0]", &"--json"])
    );
}

/// Output is not called whole where verify disagrees, and each problem is reported once.
#[test]
fn unpack_and_convert_end_as_verify_does() {
    let dir = kit::scratch();
    let truncated = dir.path().join("counts_truncated.awkd");
    kit::python(&[&"-c", &TRUNCATED, &truncated]);
    let all = |below: &str| {
        let names = kit::names(&file(below)).into_iter().filter(|name| name.ends_with(".awkd"));
        names.map(|name| file(below).join(name)).collect::<Vec<_>>()
    };
    let mut codes = [0; 13];
    for path in [all(""), all("bad"), vec![truncated]].concat() {
        let verified = rab(&[&"verify", &path]);
        let (files, other) = (dir.path().join("files"), dir.path().join("other.rab"));
        let unpacked = rab(&[&"unpack", &"-f", &path, &files]);
        let converted = rab(&[&"convert", &"-f", &path, &other]);
        assert_eq!(unpacked.code, verified.code, "{path:?}: {unpacked:?}");
        assert_eq!(converted.code, verified.code, "{path:?}: {converted:?}");
        codes[verified.code as usize] += 1;
        let _ = std::fs::remove_dir_all(files);
        if verified.code == 0 {
            assert_eq!(unpacked.err, "", "{path:?}");
            continue;
        }
        let problem =
            |outcome: &str| outcome.lines().next().unwrap().rsplit("awkd: ").next().unwrap().to_owned();
        let found = verified.out.clone() + &verified.err;
        let what = problem(&found);
        // A summary comes behind what was not checked.
        assert_eq!(found.lines().count(), if verified.code == 1 { 2 } else { 1 }, "{path:?}: {found}");
        for outcome in [&found, &unpacked.err, &converted.err] {
            assert!(outcome == &found || outcome.lines().count() == 1, "{path:?}: {outcome}");
            // Of a member that is not there the array is named, or its file.
            assert!(outcome.contains(&what) || what.contains("x/data"), "{path:?}: {outcome}, not {what}");
        }
    }
    assert!(codes[0] > 50 && codes[1] > 7 && codes[12] > 25, "{codes:?}");
}

/// Lists of several dimensions, which offsets cannot tell of, and arrays in F order.
#[test]
fn dimensions_are_kept_through_other_formats() {
    let dir = kit::scratch();
    let at = |name: &str| dir.path().join(name);
    let from = file("jagged_counts_2d.awkd");
    good(&[&"convert", &from, &at("lists.rab")]);
    assert_eq!(good(&[&"get", &at("lists.rab"), &"starts"]), good(&[&"get", &from, &"starts"]));
    assert!(!good(&[&"ls", &at("lists.rab")]).contains("offsets"));
    rab(&[&"convert", &at("lists.rab"), &at("lists.awkd")]);
    assert_eq!(good(&[&"get", &at("lists.awkd"), &"", &"--json"]), good(&[&"get", &from, &"", &"--json"]));

    let script = "import sys, numpy as np
f = lambda a: np.asfortranarray(a)
np.savez(sys.argv[1] + '/f.npz', d=f(np.arange(3).reshape(3, 1)), e=f(np.zeros((0, 2))), a=f(np.arange(24.).reshape(2, 3, 4)), b=f(np.arange(6, dtype='>u2').reshape(3, 2)), c=np.arange(4.))
np.save(sys.argv[1] + '/a.npy', f(np.arange(24.).reshape(2, 3, 4)))";
    kit::python(&[&"-c", &script, &dir.path()]);
    good(&[&"convert", &at("f.npz"), &at("f.rab")]);
    for name in ["f.npz", "f.rab"] {
        let outcome = rab(&[&"convert", &"-f", &at(name), &at("f.awkd")]);
        let lost = outcome.err.matches("its F order is not kept").count();
        assert_eq!((outcome.code, lost), (0, 2), "{outcome:?}");
        good(&[&"verify", &at("f.awkd")]);
        for array in ["a", "b", "c", "d", "e"] {
            let [found, want] = ["f.awkd", name].map(|file| good(&[&"get", &at(file), &array, &"--json"]));
            assert_eq!(found, want, "{name} {array}");
        }
    }
    let want = good(&[&"get", &at("f.npz"), &"a", &"--json"]);
    for words in [["pack", "p.awkd", "a.npy"], ["convert", "a.npy", "c.awkd"]] {
        let words = [words[0].into(), at(words[1]), at(words[2])];
        assert_eq!(rab(&[&words[0], &words[1], &words[2]]).code, 0);
        let to = if words[0].as_os_str() == "pack" { &words[1] } else { &words[2] };
        assert_eq!(good(&[&"get", to, &"a", &"--json"]), want);
    }
}

#[test]
fn members_are_compressed_where_it_is_asked_for() {
    let dir = kit::scratch();
    let at = |name: &str| dir.path().join(name);
    let script = "import sys, os, numpy as np
for place in ['counts', 'bounds']: os.makedirs(sys.argv[1] + f'/in/{place}')
save = lambda name, array: np.save(sys.argv[1] + f'/in/{name}.npy', array)
save('flat', np.arange(100000) // 1000)
save('counts/counts', np.arange(10000) % 3)
save('counts/content', np.arange(9999.) // 100)
save('bounds/starts', np.arange(0, 20000, 2).reshape(5000, 2))
save('bounds/stops', np.arange(1, 20001, 2).reshape(5000, 2))
save('bounds/content', np.arange(20000, dtype='u1'))";
    kit::python(&[&"-c", &script, &dir.path()]);
    good(&[&"pack", &at("plain.awkd"), &at("in")]);
    good(&[&"pack", &"--compress", &at("small.awkd"), &at("in")]);
    good(&[&"pack", &"--compress-if-smaller", &at("smaller.awkd"), &at("in")]);
    good(&[&"pack", &"--compress", &at("small.rab"), &at("in")]);
    // What was compressed is so again, and the same as if it were asked for.
    good(&[&"convert", &at("small.rab"), &at("again.awkd")]);
    let len = |name: &str| std::fs::metadata(at(name)).unwrap().len();
    for name in ["small.awkd", "smaller.awkd", "again.awkd"] {
        assert!(len(name) < len("plain.awkd") - 800_000, "{name}: {} of {}", len(name), len("plain.awkd"));
        good(&[&"verify", &at(name)]);
        for array in ["flat", "counts", "bounds", "counts/offsets[-3:]", "bounds/stops"] {
            let [found, want] =
                [name, "plain.awkd"].map(|file| good(&[&"get", &at(file), &array, &"--json"]));
            assert_eq!(found, want, "{name} {array}");
        }
        let long = good(&[&"info", &at(name), &"bounds/starts"]);
        assert!(long.contains("length: 80000\n") && long.contains("stored: 80000\n"), "{long}");
    }
    assert!(good(&[&"info", &at("small.awkd"), &"flat"]).contains("compression: deflate"));
}

#[test]
fn what_comes_before_damage_is_printed() {
    let dir = kit::scratch();
    let path = dir.path().join("x.awkd");
    kit::python(&[&"-c", &PAST, &path]);
    let outcome = rab(&[&"cat", &path, &"x", &"--as", &"jsonl"]);
    let good_lines: String = (0..9000).map(|at| format!("[{at}]\n")).collect();
    assert!(outcome.code == 12 && outcome.out == good_lines, "{} {}", outcome.err, outcome.out.len());
    assert!(
        outcome.err.contains("list 9000 ends at 10001, but its content has 10000 items"),
        "{}",
        outcome.err
    );
    let json = rab(&[&"get", &path, &"x", &"--json"]);
    assert!(
        json.code == 12 && json.err == outcome.err && json.out.lines().count() == 9000,
        "{} {}",
        json.err,
        json.out.len()
    );
    // No file stands for what is not whole.
    let out = dir.path().join("out");
    let outcome = rab(&[&"unpack", &path, &out, &"--as", &"jsonl"]);
    assert!(outcome.code == 12 && !out.join("x.jsonl").exists(), "{outcome:?}");
}

const PAST: &str = r#"
import json, sys, zipfile, numpy as np
def flat(member):
    return {"call": ["awkward0", "numpy", "frombuffer"], "args": [{"read": member}, {"dtype": "int64"}, {"json": 10000}]}
stops = np.arange(1, 10001)
starts = np.arange(10000)
stops[9000] = 10001
with zipfile.ZipFile(sys.argv[1], "w") as to:
    for name, array in [("a", starts), ("b", stops), ("c", np.arange(10000))]: to.writestr("x-" + name, array.tobytes())
    to.writestr("x.json", json.dumps({"awkward0": "0.15.5", "prefix": "x-", "schema": {
        "call": ["awkward0", "JaggedArray"], "args": [flat("a"), flat("b"), flat("c")]}}))
"#;

#[test]
fn text_that_is_not_utf8_is_written_as_bytes() {
    let dir = kit::scratch();
    let from = file("bad/string_bad_utf8.awkd");
    for name in ["x.rab", "x.npz"] {
        let out = dir.path().join(name);
        let outcome = rab(&[&"convert", &from, &out]);
        let note = "dataset \"text\": its text is not UTF-8 at byte 0: it is written as bytes";
        assert!(outcome.code == 0 && outcome.err.contains(note), "{outcome:?}");
        let bytes = |file: &Path| {
            kit::run(
                Command::new("sh").args(["-c", "\"$0\" cat \"$1\" text | od -tx1", crate::RAB]).arg(file),
            )
        };
        assert_eq!(bytes(&out).out, bytes(&from).out);
        assert!(good(&[&"ls", &"-l", &out, &"text"]).contains("bytes "));
        assert_eq!(good(&[&"get", &out, &"counts"]), good(&[&"get", &from, &"counts"]));
        good(&[&"verify", &out]);
    }
}

/// Also those that are escaped as files, and in the order that they had.
#[test]
fn names_and_their_order_come_back() {
    let dir = kit::scratch();
    let at = |name: &str| dir.path().join(name);
    kit::python(&[&"-c", &NAMES, &dir.path()]);
    for kind in ["npz", "awkd"] {
        let (from, files, to) = (at(&format!("from.{kind}")), at(kind), at(&format!("to.{kind}")));
        good(&[&"unpack", &from, &files]);
        let outcome = rab(&[&"pack", &to, &files]);
        assert!(outcome.code == 0 && !outcome.err.contains("looks like"), "{outcome:?}");
        let names = good(&[&"ls", &from]);
        assert_eq!(good(&[&"ls", &to]), names);
        let outcome = rab(&[&"diff", &from, &to]);
        assert!(outcome.out.lines().all(|line| line.contains("/meta.yaml: object: ")), "{outcome:?}");
        for name in ["../up", "a%b", "x~2", "q/"] {
            assert!(names.contains(&format!("\n{name}")), "{names}");
        }
    }
    let (from, rab_file, back) = (at("from.awkd"), at("x.rab"), at("back.awkd"));
    rab(&[&"convert", &from, &rab_file]);
    rab(&[&"convert", &rab_file, &back]);
    assert_eq!(good(&[&"ls", &back]), good(&[&"ls", &from]));
    // By its name, and by the path of its file.
    for name in ["a%b", "a%25b", "a%b/meta.yaml", "a%25b/meta.yaml"] {
        assert_eq!(good(&[&"get", &from, &name]), "[[1,2],\n[3]]\n", "{name}");
    }
    assert_eq!(good(&[&"get", &from, &"a%25b/content/data"]), "[1 2 3]\n");
    assert!(
        good(&[&"cat", &from, &"a%b/content/meta.yaml"])
            .starts_with("name: a%b/content\nclass: numpy.ndarray\n")
    );
    // A name wins over the path of another file, and none is there twice.
    let columns = at("columns.awkd");
    assert!(good(&[&"verify", &columns]).contains(": ok: 17 datasets,"));
    for (name, item) in [("a%b", 0), ("a%25b", 1), ("%25", 2), ("%", 4), ("a%2525b", 1), ("%2525", 2)] {
        for part in ["", "/data"] {
            let found = good(&[&"get", &columns, &format!("columns/{name}{part}")]);
            assert_eq!(found, format!("[{item}]\n"), "{name}{part}");
        }
    }
    let (files, to) = (at("columns"), at("columns.rab"));
    good(&[&"unpack", &columns, &files]);
    rab(&[&"convert", &columns, &to]);
    assert_eq!(good(&[&"ls", &to]), good(&[&"ls", &columns]));
    // The description of an array is that of the array with this name.
    let meta = at("awkd/a%25b/meta.yaml");
    let text = std::fs::read_to_string(&meta).unwrap();
    std::fs::write(&meta, text.replace("class: JaggedArray", "class: Table")).unwrap();
    let outcome = rab(&[&"pack", &"-f", &at("to.awkd"), &at("awkd")]);
    assert!(outcome.code == 1 && outcome.err.contains("the array is of the class Table"), "{outcome:?}");
    std::fs::write(&meta, text.replace("[0, 2)", "[0, 7)")).unwrap();
    let outcome = rab(&[&"pack", &"-f", &at("to.awkd"), &at("awkd")]);
    assert!(outcome.code == 1 && outcome.err.contains("meta.yaml says that it is [0, 7)"), "{outcome:?}");
}

const NAMES: &str = r#"
import json, sys, zipfile, numpy as np
names = ["z", "a%b", "..", "x\ny", "p/q", "p", "../up", "//s", "m" * 300, "%2F", "é", ".views", "x~2", "q/"]
def flat(member, dtype, count):
    return {"call": ["awkward0", "numpy", "frombuffer"], "args": [{"read": member}, {"dtype": dtype}, {"json": count}]}
np.savez(sys.argv[1] + "/from.npz", **{name: np.arange(3) + at for at, name in enumerate(names)})
with zipfile.ZipFile(sys.argv[1] + "/from.awkd", "w") as to:
    for at, name in enumerate(names):
        to.writestr(f"{name}-0.raw", (np.arange(3) + at).tobytes())
        to.writestr(f"{name}-1.raw", np.array([2, 1]).tobytes())
        schema = flat("0.raw", "int64", 3)
        if at % 2:
            schema = {"call": ["awkward0", "JaggedArray", "fromcounts"], "args": [flat("1.raw", "int64", 2), schema]}
        to.writestr(f"{name}.json", json.dumps({"awkward0": "0.15.5", "schema": schema, "prefix": name + "-"}))
with zipfile.ZipFile(sys.argv[1] + "/columns.awkd", "w") as to:
    pairs = []
    for at, name in enumerate(["a%b", "a%25b", "%25", "e", "%", "..", "c/d", "c"]):
        to.writestr(f"{at}.raw", np.array([at]).tobytes())
        pairs.append([name, flat(f"{at}.raw", "int64", 1)])
    schema = {"call": ["awkward0", "Table", "frompairs"], "args": [{"pairs": pairs}, {"json": 0}]}
    to.writestr(".json", json.dumps({"awkward0": "0.15.5", "schema": schema}))
"#;

/// An array with a name that is something else's is called by the paths of its files as a whole, and stays whole in
/// other containers.
#[test]
fn an_array_is_under_one_name() {
    let dir = kit::scratch();
    let at = |name: &str| dir.path().join(name);
    let by_path = |name: &str| name.starts_with("x%2Fcontent/");
    for first in ["x", "x/content"] {
        let from = at("from.awkd");
        kit::python(&[&"-c", &CLASH, &from, &first]);
        let names = good(&[&"ls", &from]);
        assert_eq!(names.lines().filter(|name| by_path(name)).count(), 12, "{names}");
        assert_eq!(names.lines().filter(|name| name.starts_with("x/")).count(), 12, "{names}");
        // Called `x%2Fcontent` itself.
        assert_eq!(names.lines().filter(|name| name.starts_with("x%252Fcontent/")).count(), 2, "{names}");
        for (name, values) in [
            ("x", "[[[1],[2]],[]]"),
            ("x/content", "[[1],[2]]"),
            ("x/content/content", "[1,2]"),
            ("x%2Fcontent", "[[[3]],[[4]]]"),
            ("x%2Fcontent/content", "[[3],[4]]"),
            ("x%252Fcontent", "[5]"),
        ] {
            assert_eq!(
                good(&[&"get", &from, &name, &"--json"]).replace(",\n", ","),
                format!("{values}\n"),
                "{name}"
            );
        }
        let outcome = rab(&[&"get", &from, &"x/content/content/counts"]);
        assert!(outcome.code != 0 && outcome.err.contains("no dataset"), "{outcome:?}");
        let (files, packed, other, back) = (at("files"), at("packed.rab"), at("other.rab"), at("back.awkd"));
        good(&[&"unpack", &"-f", &from, &files]);
        let outcome = rab(&[&"pack", &"-f", &packed, &files]);
        assert!(outcome.code == 0 && outcome.err.is_empty(), "{outcome:?}");
        good(&[&"convert", &"-f", &from, &other]);
        let outcome = rab(&[&"diff", &packed, &other]);
        assert!(outcome.out.lines().all(|line| line.contains("meta.yaml: ")), "{outcome:?}");
        for input in [&files, &other] {
            let verb = if input == &files { "pack" } else { "convert" };
            let outcome = match verb {
                "pack" => rab(&[&verb, &"-f", &back, input]),
                _ => rab(&[&verb, &"-f", input, &back]),
            };
            assert_eq!(outcome.code, 0, "{outcome:?}");
            let values = |file: &Path| good(&[&"get", &file, &"x%2Fcontent"]);
            assert_eq!(values(&back), "[[[3]],\n[[4]]]\n");
        }
        std::fs::remove_dir_all(files).unwrap();
    }
}

/// Arrays `x` and `x/content` of lists of lists, the one that is named first, and one called `x%2Fcontent`.
const CLASH: &str = r#"
import json, struct, sys, zipfile
def flat(member, count):
    return {"call": ["awkward0", "numpy", "frombuffer"], "args": [{"read": member}, {"dtype": "int64"}, {"json": count}]}
def lists(counts, content):
    return {"call": ["awkward0", "JaggedArray", "fromcounts"], "args": [counts, content]}
arrays = {"x": ([2, 0], [1, 1], [1, 2]), "x/content": ([1, 1], [1, 1], [3, 4])}
with zipfile.ZipFile(sys.argv[1], "w") as to:
    def add(name, schema, *members):
        for at, numbers in enumerate(members):
            to.writestr(f"{name}-{at}", struct.pack(f"<{len(numbers)}q", *numbers))
        to.writestr(f"{name}.json", json.dumps({"awkward0": "0.15.5", "schema": schema, "prefix": name + "-"}))
    for name in sorted(arrays, reverse=sys.argv[2] != "x"):
        add(name, lists(flat("0", 2), lists(flat("1", 2), flat("2", 2))), *arrays[name])
    add("x%2Fcontent", flat("0", 1), [5])
"#;

/// A jagged array whose counts are compressed, and end early.
const TRUNCATED: &str = r#"
import json, sys, zipfile, zlib
def flat(read, count):
    return {"call": ["awkward0", "numpy", "frombuffer"], "args": [read, {"dtype": "int64"}, {"json": count}]}
counts = {"call": ["zlib", "decompress"], "args": [{"read": "c"}]}
with zipfile.ZipFile(sys.argv[1], "w") as to:
    to.writestr("c", zlib.compress(b"\1\0\0\0\0\0\0\0" * 100, 0)[:500])
    to.writestr("d", bytes(800))
    schema = {"call": ["awkward0", "JaggedArray", "fromcounts"], "args": [flat(counts, 100), flat({"read": "d"}, 100)]}
    to.writestr(".json", json.dumps({"awkward0": "0.15.5", "schema": schema}))
"#;

#[test]
fn problems_are_reported() {
    for (name, problem) in [
        ("id_duplicate", "dataset \"meta.yaml\": the id 1 is given twice"),
        ("table_dup_columns", "two columns are called"),
        ("zip_dup_members", "there are two members"),
        ("two_keys", "two meanings, \"call\" and \"json\""),
        ("json_nan", "NaN and Infinity are not JSON (byte 38)"),
        ("json_dup_keys", "the key \"read\" comes twice"),
        ("no_signature", "neither the key \"awkward0\" nor \"awkward\""),
        ("no_schema", "no key \"schema\""),
        ("missing_blob", "there is no member \"7.raw\""),
        ("wrong_prefix", "there is no member \"y-0.raw\""),
        ("absolute_escape", "there is no member \"../../etc/passwd\""),
        ("call_topython", "would run code"),
        ("python_pickle", "Python pickle"),
        ("deep_nesting", "deeper than 640 levels, which is the limit"),
        ("lz4_bad_prefix", "claims to have 2147483647 bytes, but 16 are needed"),
        ("dtype_huge_shape", "more than 1073741824 bytes, which is the limit"),
        ("jagged_counts_overflow", "do not fit into 63 bits"),
        ("jagged_negative_start", "goes from -1 to"),
        ("index_out_of_range", "item 1 has the index 9, but there are 2"),
        ("union_fewer_values", "which has 2"),
        ("bitmask_short", "its mask has 8 bits, its content 10 items"),
        ("ref_cycle_direct", "refers to itself"),
        ("unknown_kwargs", "keyword arguments"),
        ("jagged_fewer_stops", "2 starts and only 1 stops"),
        ("jagged_float_counts", "are float64, not whole numbers"),
        ("zip_truncated", "no ZIP directory"),
        ("zip_empty", "no arrays"),
    ] {
        let outcome = rab(&[&"verify", &file("bad").join(format!("{name}.awkd"))]);
        assert!((outcome.out.clone() + &outcome.err).contains(problem), "{name}: {outcome:?}");
    }
    let outcome = rab(&[&"get", &file("bad/cycle_tolist.awkd"), &"[0]", &"--json"]);
    assert_eq!(outcome.code, 1, "{outcome:?}");
    assert!(outcome.err.contains("nested deeper than 128 levels, which is the limit"), "{outcome:?}");
}

/// What awkward0 writes of StringArray([], [], []), and what it reads besides where nothing is stored.
/// Python's zipfile cuts names there, so the array would have another one.
#[test]
fn a_nul_in_a_name_is_refused() {
    let dir = kit::scratch();
    let (files, out) = (dir.path().join("files"), dir.path().join("out.awkd"));
    good(&[&"unpack", &file("multi_names.awkd"), &files]);
    std::fs::remove_dir_all(files.join("tab")).unwrap();
    let meta = files.join("two/meta.yaml");
    let text = std::fs::read_to_string(&meta).unwrap();
    std::fs::write(&meta, text.replace("array: two\n", "array: \"t\\0o\"\n")).unwrap();
    let outcome = rab(&[&"pack", &out, &files]);
    assert!(outcome.code == 1 && outcome.err.contains("its name has a NUL"), "{outcome:?}");
    assert!(!out.exists());
}

#[test]
fn what_is_empty_is_so_whatever_it_is_of() {
    let dir = kit::scratch();
    kit::python(&[&"-c", &NOTHING, &dir.path()]);
    for (name, want) in [
        ("strings", "[]"),
        ("strings_jagged", "[]"),
        ("texts", "[\"\",\n\"\"]"),
        ("masked", "[]"),
        ("bits", "[]"),
        ("offsets", "[]"),
    ] {
        let path = dir.path().join(format!("{name}.awkd"));
        good(&[&"verify", &path]);
        assert_eq!(good(&[&"get", &path, &"", &"--json"]).trim_end(), want, "{name}");
    }
    for name in ["counts", "index"] {
        let outcome = rab(&[&"verify", &dir.path().join(format!("{name}.awkd"))]);
        assert!(outcome.code == 12 && outcome.out.contains("are float64, not whole numbers"), "{outcome:?}");
    }
}

const NOTHING: &str = r#"
import json, sys, zipfile
def flat(of, count=0):
    return {"call": ["awkward0", "numpy", "frombuffer"], "args": [{"read": "zeros"}, {"dtype": of}, {"json": count}]}
def call(*names): return lambda *arguments: {"call": ["awkward0", *names], "args": list(arguments)}
none, ints, utf8 = flat("float64"), flat("int64"), {"json": "utf-8"}
strings = call("StringArray")(ints, ints, none, utf8)
for name, schema in {
    "strings": strings,
    "strings_jagged": call("JaggedArray")(ints, ints, strings),
    "texts": call("StringArray", "fromcounts")(flat("int64", 2), none, utf8),
    "masked": call("MaskedArray")(none, ints, {"json": True}),
    "bits": call("BitMaskedArray")(none, ints, {"json": True}, {"json": True}),
    "offsets": call("JaggedArray", "fromoffsets")(ints, flat("int64", 2)),
    "counts": call("JaggedArray", "fromcounts")(none, flat("int64", 2)),
    "index": call("IndexedArray")(none, flat("int64", 2)),
}.items():
    with zipfile.ZipFile(f"{sys.argv[1]}/{name}.awkd", "w") as to:
        to.writestr("zeros", bytes(16))
        to.writestr(".json", json.dumps({"awkward0": "0.15.5", "schema": schema}))
"#;

/// Of an encoding that is not known only the texts are refused.
#[test]
fn strings_of_encodings() {
    let dir = kit::scratch();
    kit::python(&[&"-c", &ENCODED, &dir.path()]);
    for name in ["U8", "us-ascii", "iso8859-1", "utf-8-sig", "utf-16", "utf-16-be", "utf-32-le", "UTF32"] {
        let path = dir.path().join(format!("{name}.awkd"));
        good(&[&"verify", &path]);
        assert_eq!(
            good(&[&"get", &path, &"", &"--json"]),
            "[{\"x\":0,\"s\":\"a\"},\n{\"x\":0,\"s\":\"bc\"}]\n",
            "{name}"
        );
    }
    let path = dir.path().join("rot13.awkd");
    let parts = good(&[&"ls", &path]);
    let has = |name: &str| parts.lines().any(|line| line.ends_with(name));
    assert!(has("columns/s/bytes") && has("columns/s/offsets") && !has("columns/s/text"), "{parts}");
    assert_eq!(good(&[&"cat", &path, &"columns/s/bytes"]), "nop");
    assert_eq!(good(&[&"get", &path, &"columns/s/offsets"]), "[0 1 3]\n");
    assert_eq!(good(&[&"get", &path, &"columns/x"]), "[0 0]\n");
    let problem = "its strings are in the encoding \"rot13\", which is not known; their bytes are readable";
    for outcome in [
        rab(&[&"get", &path, &"", &"--json"]),
        rab(&[&"get", &path, &"columns/s[0]"]),
        rab(&[&"verify", &path]),
    ] {
        assert!(outcome.code == 1 && (outcome.out.clone() + &outcome.err).contains(problem), "{outcome:?}");
    }
    assert!(good(&[&"cat", &path, &"meta.yaml"]).contains(problem));
    assert_eq!(rab(&[&"cat", &path, &"", &"--as", &"jsonl"]).code, 2);
}

const ENCODED: &str = r#"
import json, sys, zipfile
def flat(member, of, count):
    return {"call": ["awkward0", "numpy", "frombuffer"], "args": [{"read": member}, {"dtype": of}, {"json": count}]}
for name in ["U8", "us-ascii", "iso8859-1", "utf-8-sig", "utf-16", "utf-16-be", "utf-32-le", "UTF32", "rot13"]:
    texts = [b"n", b"op"] if name == "rot13" else [text.encode(name) for text in ["a", "bc"]]
    counts, content = [len(text) for text in texts], b"".join(texts)
    strings = {"call": ["awkward0", "StringArray", "fromcounts"], "args": [
        flat("counts", "int64", 2), flat("bytes", "uint8", len(content)), {"json": name}]}
    table = {"call": ["awkward0", "Table", "frompairs"], "args": [
        {"pairs": [["x", flat("zeros", "int64", 2)], ["s", strings]]}, {"json": 0}]}
    with zipfile.ZipFile(f"{sys.argv[1]}/{name}.awkd", "w") as to:
        to.writestr("counts", b"".join(count.to_bytes(8, "little") for count in counts))
        to.writestr("bytes", content)
        to.writestr("zeros", bytes(16))
        to.writestr(".json", json.dumps({"awkward0": "0.15.5", "schema": table}))
"#;

/// Whatever a few bytes claim: all of it is refused by the limit that JSON lines have, a part is there.
#[test]
fn items_without_end_are_refused_before_one_is_printed() {
    let dir = kit::scratch();
    let empty = dir.path().join("empty.awkd");
    kit::python(&[&"-c", &EMPTY, &empty]);
    let huge = file("bad/sparse_huge.awkd");
    for (path, name) in [(&huge, ""), (&huge, "[1:]"), (&empty, "v"), (&empty, "s"), (&empty, "t")] {
        for json in [&["--json"][..], &[]] {
            let outcome = kit::run(
                Command::new("timeout")
                    .arg("60")
                    .arg(crate::RAB)
                    .args(["get"])
                    .arg(path)
                    .arg(name)
                    .args(json),
            );
            assert_eq!((outcome.code, &*outcome.out), (1, ""), "{name}: {outcome:?}");
            let limit = "as JSON it takes more than 67108864 bytes, which is the limit: take a part";
            assert!(outcome.err.contains(limit), "{name}: {outcome:?}");
        }
    }
    let sparse = "[1152921504606846970:]";
    assert_eq!(good(&[&"get", &huge, &sparse, &"--json"]), "[0,\n0,\n0,\n0,\n0,\n0]\n");
    assert_eq!(good(&[&"get", &huge, &"[3:5]", &"--json"]), "[0,\n0]\n");
    assert_eq!(good(&[&"get", &huge, &"[5]"]), "0\n");
    assert_eq!(good(&[&"get", &empty, &"v[-2:]"]), "[{\"__bytes_hex__\":\"\"},\n{\"__bytes_hex__\":\"\"}]\n");
    // Few items may be long, and are refused when they are: of 2 Mi texts no more is printed than the limit.
    let outcome = rab(&[&"get", &empty, &"t[:2097152]", &"--json"]);
    assert!(
        outcome.code == 1 && outcome.out.len() <= 64 << 20 && outcome.out.starts_with("[{"),
        "{}",
        outcome.err
    );
}

/// Arrays of 2^40 items of no bytes; those of t are long as JSON.
const EMPTY: &str = r#"
import json, sys, zipfile
def flat(dtype):
    return {"call": ["awkward0", "numpy", "frombuffer"], "args": [{"read": "a"}, {"dtype": dtype}, {"json": 1 << 40}]}
with zipfile.ZipFile(sys.argv[1], "w") as to:
    to.writestr("a", b"")
    for name, dtype in [("v", "|V0"), ("s", [["x", ["int8", [0]]]]), ("t", [["x", ["|V0", [4]]]])]:
        to.writestr(f"{name}.json", json.dumps({"awkward0": "0.15.5", "schema": flat(dtype)}))
"#;

#[test]
fn unpack_writes_what_a_mount_shows() {
    let dir = kit::scratch();
    let out = dir.path().join("out");
    good(&[&"unpack", &file("shared_buffer_ref.awkd"), &out]);
    assert_eq!(std::fs::read_link(out.join("columns/b")).unwrap(), Path::new("a"));
    assert_eq!(std::fs::read(out.join("columns/b/data")).unwrap().len(), 40);
    assert!(std::fs::read_to_string(out.join("meta.yaml")).unwrap().contains("class: Table"));
}

#[test]
fn convert_keeps_flat_and_jagged_arrays() {
    let dir = kit::scratch();
    let out = dir.path().join("out.rab");
    good(&[&"convert", &file("multi_names.awkd"), &out]);
    assert_eq!(good(&[&"get", &out, &"one/offsets"]), "[0 2 2 3]\n");
    assert_eq!(good(&[&"get", &out, &"one/content/data"]), "[1.1 2.2 3.3]\n");
    assert_eq!(good(&[&"get", &out, &"two/data"]), "[0 1 2 3]\n");
    assert!(good(&[&"cat", &out, &"one/meta.yaml"]).contains("class: JaggedArray"));
}

/// Items by offsets: lists of them.
fn lists(items: &[serde_json::Value], offsets: &serde_json::Value) -> Vec<serde_json::Value> {
    let at = |offset: &serde_json::Value| offset.as_u64().unwrap() as usize;
    let offsets = offsets.as_array().unwrap();
    assert_eq!(at(offsets.last().unwrap()), items.len());
    offsets.windows(2).map(|pair| items[at(&pair[0])..at(&pair[1])].to_vec().into()).collect()
}

/// Also those that starts and stops tell, which may be anywhere in the content.
#[test]
fn convert_makes_offsets_and_content_of_jagged_arrays() {
    let dir = kit::scratch();
    let out = dir.path().join("out.rab");
    let array = |name: &str| -> serde_json::Value {
        serde_json::from_str(&good(&[&"get", &out, &name, &"--json"])).unwrap()
    };
    for name in ["starts_stops", "masked_select", "empty", "sliced"] {
        let sample = format!("jagged_{name}");
        good(&[&"convert", &"--force", &file(&format!("{sample}.awkd")), &out]);
        let names = good(&[&"ls", &out]);
        assert!(name == "sliced" || !names.contains("starts"), "{names}");
        let found = lists(array("content/data").as_array().unwrap(), &array("offsets"));
        let want = expected()[&sample][""]["tolist"].clone();
        assert_eq!(serde_json::Value::from(found), want, "{sample}");
    }

    kit::python(&[&"-c", &SCATTERED, &dir.path()]);
    let want: serde_json::Value =
        serde_json::from_slice(&std::fs::read(dir.path().join("want.json")).unwrap()).unwrap();
    let made = dir.path().join("made.awkd");
    assert_eq!(
        serde_json::from_str::<serde_json::Value>(&good(&[&"get", &made, &"", &"--json"])).unwrap(),
        want
    );
    good(&[&"convert", &"--force", &made, &out]);
    let (x, s) = ("content/content/columns/x/data", "content/content/columns/s");
    let bytes = array(&format!("{s}/bytes"));
    let text = |list: serde_json::Value| -> serde_json::Value {
        let bytes = list.as_array().unwrap().iter().map(|byte| byte.as_u64().unwrap() as u8).collect();
        String::from_utf8(bytes).unwrap().into()
    };
    let texts = lists(bytes.as_array().unwrap(), &array(&format!("{s}/offsets"))).into_iter().map(text);
    let rows = array(x).as_array().unwrap().clone().into_iter().zip(texts);
    let rows: Vec<_> = rows.map(|(x, s)| serde_json::json!({"x": x, "s": s})).collect();
    let inner = lists(&rows, &array("content/offsets"));
    assert_eq!(serde_json::Value::from(lists(&inner, &array("offsets"))), want);
    // Parts of it are where they are in the whole.
    assert_eq!(
        array(&format!("{x}[-3:]")).as_array().unwrap()[..],
        array(x).as_array().unwrap()[rows.len() - 3..]
    );
}

/// Lists of lists of rows, with gaps and overlaps on both levels, and more of them than are looked at together.
const SCATTERED: &str = r#"
import json, random, struct, sys, zipfile
def call(*names, args):
    return {"call": ["awkward0", *names], "args": args}
def flat(member, dtype, count):
    return call("numpy", "frombuffer", args=[{"read": member}, {"dtype": dtype}, {"json": count}])
random.seed(7)
rows = [{"x": [at + .5, .5 - at], "s": "é" * (at % 3)} for at in range(5000)]
def lists(count, of, longest):
    starts = [random.randrange(of - longest) for _ in range(count)]
    return starts, [start + random.choice([0, 0, 1, random.randrange(longest)]) for start in starts]
inner, outer = lists(4000, 5000, 9), lists(2500, 4000, 7)
pack = lambda kind, values: struct.pack(f"<{len(values)}{kind}", *values)
texts = [row["s"].encode() for row in rows]
table = call("Table", "frompairs", args=[{"pairs": [
    ["x", flat("x", ["float64", [2]], 5000)],
    ["s", call("StringArray", "fromcounts", args=[flat("c", "int64", 5000), flat("t", "uint8", sum(map(len, texts))), {"json": "utf-8"}])],
]}, {"json": 0}])
schema = call("JaggedArray", args=[flat("a", "int32", 2500), flat("b", "int32", 2500),
    call("JaggedArray", args=[flat("d", "int64", 4000), flat("e", "int64", 4000), table])])
with zipfile.ZipFile(sys.argv[1] + "/made.awkd", "w") as to:
    to.writestr("a", pack("i", outer[0])), to.writestr("b", pack("i", outer[1]))
    to.writestr("d", pack("q", inner[0])), to.writestr("e", pack("q", inner[1]))
    to.writestr("x", pack("d", [x for row in rows for x in row["x"]]))
    to.writestr("c", pack("q", list(map(len, texts)))), to.writestr("t", b"".join(texts))
    to.writestr(".json", json.dumps({"awkward0": "0.15.5", "schema": schema}))
inner = [rows[a:b] for a, b in zip(*inner)]
json.dump([inner[a:b] for a, b in zip(*outer)], open(sys.argv[1] + "/want.json", "w"))
"#;

#[test]
fn equal_containers_have_no_difference() {
    good(&[&"diff", &file("jagged.awkd"), &file("jagged.awkd")]);
    let outcome = rab(&[&"diff", &file("sparse.awkd"), &file("sparse_default7.awkd")]);
    assert_eq!(outcome.code, 1, "{outcome:?}");
}

/// The blobs and schemas of a container as files.
fn unzipped(name: &str, to: &Path) {
    let script = "import sys, zipfile; zipfile.ZipFile(sys.argv[1]).extractall(sys.argv[2])";
    kit::python(&[&"-c", &script, &file(name), &to]);
}

#[test]
fn a_directory_of_blobs_and_schemas_is_a_container() {
    let dir = kit::scratch();
    unzipped("multi_names.awkd", dir.path());
    assert_eq!(good(&[&"get", &dir.path(), &"one[0]"]), "[1.1,2.2]\n");
    assert_eq!(good(&[&"get", &dir.path(), &"two"]), "[0 1 2 3]\n");
    good(&[&"verify", &dir.path()]);
    assert_eq!(good(&[&"get", &dir.path().join("tab.json"), &"tab[1]"]), "{\"x\":2,\"s\":\"b\"}\n");
    // An array without a name, alone and beside others.
    let dir = kit::scratch();
    unzipped("jagged.awkd", dir.path());
    assert_eq!(good(&[&"get", &dir.path(), &"[0]"]), "[1.1,2.2,3.3]\n");
    assert!(good(&[&"ls", &dir.path()]).ends_with("content/data\n"));
    good(&[&"verify", &dir.path()]);
    unzipped("named_single.awkd", dir.path());
    let names = good(&[&"ls", &dir.path()]);
    assert!(names.contains("%/content/data\n"), "{names}");
    // Blobs with names of their own are no obstacle where the format is given.
    let dir = kit::scratch();
    unzipped("custom_delimiter.awkd", dir.path());
    assert_eq!(good(&[&"get", &dir.path(), &"x", &"--format", &"awkward"]), "[[1],\n[2,3]]\n");
    // What a schema names is not looked for outside, nor does a link lead there.
    let dir = kit::scratch();
    unzipped("bad/absolute_escape.awkd", dir.path());
    let outcome = rab(&[&"verify", &dir.path().join(".json")]);
    assert_eq!(outcome.code, 12, "{outcome:?}");
    assert!(outcome.out.contains("there is no member \"../../etc/passwd\""), "{outcome:?}");
    let dir = kit::scratch();
    unzipped("flat_uint8.awkd", dir.path());
    std::fs::remove_file(dir.path().join("0.raw")).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", dir.path().join("0.raw")).unwrap();
    let outcome = rab(&[&"get", &dir.path().join(".json"), &""]);
    assert!(
        outcome.code == 12 && outcome.err.contains("outside of the container's directory (--follow-outside"),
        "{outcome:?}"
    );
    // Of several schemas the one is named whose array it is.
    let dir = kit::scratch();
    unzipped("multi_names.awkd", dir.path());
    std::fs::write(dir.path().join("two-0.raw"), "short").unwrap();
    let outcome = rab(&[&"get", &dir.path(), &"two"]);
    let want = format!("{}: dataset \"two/data\": 4 elements", dir.path().join("two.json").display());
    assert!(outcome.code == 12 && outcome.err.contains(&want), "{outcome:?}");
    let outcome = rab(&[&"verify", &dir.path()]);
    assert!(outcome.code == 12 && outcome.out.contains(&want), "{outcome:?}");
}

#[test]
fn pack_and_convert_write_what_reads_back() {
    let dir = kit::scratch();
    let arrays = dir.path().join("arrays");
    let script = "import sys, os, numpy as np
d = sys.argv[1]
os.makedirs(d + '/j/content/content')
np.save(d + '/j/counts.npy', np.array([2, 0]))
np.save(d + '/j/content/offsets.npy', np.array([0, 1, 3]))
np.save(d + '/j/content/content/data.npy', np.arange(6.).reshape(3, 2))
np.save(d + '/flat.npy', np.arange(3, dtype='>i2'))";
    kit::python(&[&"-c", &script, &arrays]);
    let out = dir.path().join("out.awkd");
    good(&[&"pack", &out, &arrays]);
    good(&[&"verify", &out]);
    let names = good(&[&"ls", &out]);
    let before = names.lines().find_map(|name| name.strip_suffix("flat/data")).unwrap();
    assert_eq!(good(&[&"get", &out, &format!("{before}j")]), "[[[[0.0,1.0]],[[2.0,3.0],[4.0,5.0]]],\n[]]\n");
    assert_eq!(good(&[&"get", &out, &format!("{before}flat")]), "[0 1 2]\n");

    // With what follows from the counts left out.
    for (name, array) in [
        ("jagged", ""),
        ("comp_context_counts_only", "j"),
        ("jagged_sliced", ""),
        ("jagged_starts_stops", ""),
    ] {
        let (from, to) = (file(&format!("{name}.awkd")), dir.path().join(format!("{name}.awkd")));
        let outcome = rab(&[&"convert", &from, &to]);
        assert_eq!(outcome.code, 0, "{name}: {outcome:?}");
        assert_eq!(
            good(&[&"get", &to, &array, &"--json"]),
            good(&[&"get", &from, &array, &"--json"]),
            "{name}"
        );
        good(&[&"verify", &to]);
    }

    // Lists that need more than there is are not written.
    let script = "import sys, numpy as np; np.save(sys.argv[1] + '/j/counts.npy', np.array([2, 5]))";
    kit::python(&[&"-c", &script, &arrays]);
    let outcome = rab(&[&"pack", &dir.path().join("bad.awkd"), &arrays]);
    assert_eq!(outcome.code, 1, "{outcome:?}");
    assert!(outcome.err.contains("need 7 items, but its content has 2"), "{outcome:?}");
    assert!(!dir.path().join("bad.awkd").exists());
}

/// Data that a container has under two names is written once, and a note mentions the other name.
#[test]
fn other_names_of_a_part_are_noted_where_they_are_left_out() {
    let dir = kit::scratch();
    let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/awkward");
    let outcome = rab(&[&"convert", &samples.join("shared_buffer_ref.awkd"), &dir.path().join("x.rab")]);
    assert!(
        outcome.code == 0 && outcome.err.contains("\"columns/b\" is a link to \"a\", and is not copied"),
        "{outcome:?}"
    );
}

/// With the counts that are shown beside where lists begin and end; of several dimensions, and without a name.
#[test]
fn what_is_unpacked_of_lists_anywhere_is_packed_again() {
    let dir = kit::scratch();
    let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/awkward");
    for name in [
        "jagged_starts_stops.awkd",
        "jagged_masked_select.awkd",
        "jagged_counts_2d.awkd",
        "flat_fortran_2d.awkd",
    ] {
        let (from, folder, to) = (samples.join(name), dir.path().join("folder"), dir.path().join(name));
        let _ = std::fs::remove_dir_all(&folder);
        for arguments in [[&"unpack" as &dyn AsRef<std::ffi::OsStr>, &from, &folder], [&"pack", &to, &folder]]
        {
            let outcome = rab(&arguments);
            assert_eq!(outcome.code, 0, "{outcome:?}");
        }
        let items = |file: &Path| good(&[&"get", &"--json", &file, &""]);
        assert_eq!(items(&from), items(&to), "{name}");
    }
}

/// Whatever class they are of, and what they share.
#[test]
fn from_awkd_to_awkd_every_array_is_kept() {
    let dir = kit::scratch();
    let to = dir.path().join("to.awkd");
    for name in
        ["table_nested", "masked", "union_fromtags", "shared_buffer_ref", "cyclic_reference", "comp_true_all"]
    {
        let from = file(&format!("{name}.awkd"));
        good(&[&"convert", &"--force", &from, &to]);
        good(&[&"diff", &from, &to]);
    }
    let from = file("virtual_numpy_arange.awkd");
    let outcome = rab(&[&"convert", &"--force", &from, &to]);
    assert!(outcome.code == 1 && outcome.err.contains("made by code"), "{outcome:?}");
    assert_eq!(good(&[&"cat", &to, &"meta.yaml"]), good(&[&"cat", &from, &"meta.yaml"]));

    // An array of which something is named is kept as a whole, and others are not.
    let from = file("multi_names.awkd");
    let outcome = rab(&[&"convert", &"--force", &from, &to, &"tab/columns/s/*", &"two"]);
    assert!(outcome.code == 0 && outcome.err.contains("array \"tab\" is written whole"), "{outcome:?}");
    assert!(!outcome.err.contains("\"two\""), "{outcome:?}");
    let names = good(&[&"ls", &to]);
    assert!(names.contains("two/data") && !names.contains("one"), "{names}");
    assert_eq!(good(&[&"get", &to, &"tab"]), good(&[&"get", &from, &"tab"]));

    // Damaged data is not rewritten, and no output file remains.
    let damaged = dir.path().join("damaged.awkd");
    let mut bytes = std::fs::read(file("flat_float64.awkd")).unwrap();
    let at = bytes.windows(5).position(|name| name == b"0.raw").unwrap() + 9;
    bytes[at] ^= 1;
    std::fs::write(&damaged, bytes).unwrap();
    for damaged in [damaged, file("bad/jagged_stop_before_start.awkd"), file("bad/zlib_truncated.awkd")] {
        let to = dir.path().join("not.awkd");
        let outcome = rab(&[&"convert", &damaged, &to]);
        assert!(outcome.code == 12 && !to.exists(), "{outcome:?}");
    }
}

/// What verify calls damage is named even if it can be read; nothing unsafe is copied, and nothing false is reported.
#[test]
fn oddities_are_noted_when_they_are_rewritten() {
    let dir = kit::scratch();
    let at = |name: &str| dir.path().join(name);
    let to = at("to.awkd");
    for (name, problem) in [
        ("id_duplicate", "the id 1 is given twice"),
        ("table_dup_columns", "two columns are called"),
        ("zip_dup_members", "the last is written"),
    ] {
        let outcome = rab(&[&"convert", &"--force", &file(&format!("bad/{name}.awkd")), &to]);
        assert!(outcome.code == 12 && outcome.err.contains(problem), "{outcome:?}");
    }
    // As verify does; also where a part alone is named, as the array is written whole.
    let all = |below: &str| {
        let names = kit::names(&file(below)).into_iter().filter(|name| name.ends_with(".awkd"));
        names.map(|name| file(below).join(name)).collect::<Vec<_>>()
    };
    for path in [all(""), all("bad")].concat() {
        let (verified, outcome) = (rab(&[&"verify", &path]), rab(&[&"convert", &"-f", &path, &to]));
        assert_eq!(outcome.code, verified.code, "{path:?}: {outcome:?}, {verified:?}");
    }
    let part = good(&[&"ls", &file("bad/id_duplicate.awkd")]).lines().last().unwrap().to_owned();
    let outcome = rab(&[&"convert", &"-f", &file("bad/id_duplicate.awkd"), &to, &part]);
    assert!(outcome.code == 12 && outcome.err.contains("the id 1 is given twice"), "{outcome:?}");
    let script = "import sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as old, zipfile.ZipFile(sys.argv[2], 'w', zipfile.ZIP_DEFLATED) as new:
    for name in old.namelist(): new.writestr(name, old.read(name))
    for name in ['../../out', '/abs', 'a/../../b', 'c\\\\..\\\\d', 'beside/it']: new.writestr(name, b'x')";
    kit::python(&[&"-c", &script, &file("flat_float64.awkd"), &at("escape.awkd")]);
    let outcome = rab(&[&"convert", &"--force", &at("escape.awkd"), &to, &"--compress=0"]);
    assert!(
        outcome.code == 0 && outcome.err.contains("the member \"../../out\" is not copied"),
        "{outcome:?}"
    );
    assert!(
        outcome.err.contains("what is compressed stays compressed")
            && !outcome.err.contains("not compressed"),
        "{outcome:?}"
    );
    let script = "import sys, zipfile; print(sorted(zipfile.ZipFile(sys.argv[1]).namelist()))";
    let names = kit::python(&[&"-c", &script, &to]);
    assert!(names.contains("beside/it") && names.contains(".json"), "{names}");
    assert!(!["out", "abs", "b'", "d'"].iter().any(|name| names.contains(name)), "{names}");
    // What an array reads is kept, whatever it is called.
    good(&[&"convert", &"--force", &file("bad/zip_slip_names.awkd"), &to]);
    assert!(kit::python(&[&"-c", &script, &to]).contains("../../evil.raw"));
}

/// What verify would call damage is not written.
#[test]
fn starts_and_stops_of_lists_that_are_not_there_are_refused() {
    let dir = kit::scratch();
    let script = "import sys, os, numpy as np
for name, starts, stops in [('long', [0, 1], [1, 9]), ('fall', [0, 3], [1, 2]), ('less', [0, 0], [1, -1]),
                            ('more', [0], [1, 9]),
                            ('good', [2, 9], [3, 9]), ('many', [0] * 9000, [1] * 8999 + [4])]:
    os.makedirs(f'{sys.argv[1]}/{name}/x')
    for part, numbers in [('starts', starts), ('stops', stops), ('content', [7, 8, 9])]:
        np.save(f'{sys.argv[1]}/{name}/x/{part}.npy', np.array(numbers))";
    kit::python(&[&"-c", &script, &dir.path()]);
    let to = dir.path().join("to.awkd");
    for (name, problem) in [
        ("long", "the lists of \"x\": list 1 ends at 9, but its content has 3 items"),
        ("fall", "list 1 goes from 3 to 2"),
        ("less", "list 1 goes from 0 to -1"),
        ("more", "stop 1, which no start has, is 9, but its content has 3 items"),
        ("many", "list 8999 ends at 4, but its content has 3 items"),
    ] {
        let outcome = rab(&[&"pack", &to, &dir.path().join(name)]);
        assert!(outcome.code == 1 && outcome.err.contains(problem) && !to.exists(), "{name}: {outcome:?}");
    }
    good(&[&"pack", &to, &dir.path().join("good")]);
    good(&[&"verify", &to]);
}

/// However much a dataset that is called so decodes to.
#[test]
fn a_long_meta_yaml_is_refused() {
    let dir = kit::scratch();
    let (long, packed, to) =
        (dir.path().join("meta.yaml"), dir.path().join("x.rab"), dir.path().join("to.awkd"));
    std::fs::write(&long, format!("{{class: JaggedArray, refused: [{}1]}}", "1,".repeat(1 << 20))).unwrap();
    good(&[&"pack", &packed, &long]);
    let outcome = rab(&[&"convert", &packed, &to]);
    let problem = "a meta.yaml has more than 1048576 bytes, which is the limit";
    assert!(outcome.code == 1 && outcome.err.contains(problem) && !to.exists(), "{outcome:?}");
}

/// Classes that are not written from files and from other containers, by what meta.yaml tells of them.
#[test]
fn what_cannot_be_written_is_refused_by_name() {
    let dir = kit::scratch();
    let at = |name: &str| dir.path().join(name);
    let to = at("to.awkd");
    for (name, problem) in [
        ("shared_buffer_ref", "dataset \"meta.yaml\": cannot be written: the array is of the class Table"),
        ("masked", "the array is of the class MaskedArray"),
        ("chunked", "the array is of the class ChunkedArray"),
        ("jagged_table", "dataset \"content/meta.yaml\": cannot be written: the array is of the class Table"),
        ("virtual_numpy_arange", "not all of the array (VirtualArray) is there: its values are made by code"),
        ("strings", "cannot be written"),
    ] {
        let (from, folder, other) = (file(&format!("{name}.awkd")), at(name), at("other.rab"));
        let want = i32::from(name == "virtual_numpy_arange");
        for words in [[&"unpack" as &dyn AsRef<std::ffi::OsStr>, &from, &folder], [&"convert", &from, &other]]
        {
            assert_eq!(rab(&[words[0], &"--force", words[1], words[2]]).code, want, "{name}");
        }
        for words in [[&"pack" as &dyn AsRef<std::ffi::OsStr>, &to, &folder], [&"convert", &other, &to]] {
            let outcome = rab(&words);
            assert!(
                outcome.code == 1 && outcome.err.contains(problem) && !to.exists(),
                "{name}: {outcome:?}"
            );
        }
    }
    // What is beside the elements of an array belongs to nothing.
    let script = "import sys, os, numpy as np
os.makedirs(sys.argv[1] + '/beside/x')
for name in ['data', 'counts']: np.save(sys.argv[1] + f'/beside/x/{name}.npy', np.arange(3))
os.makedirs(sys.argv[1] + '/none')";
    kit::python(&[&"-c", &script, &dir.path()]);
    let outcome = rab(&[&"pack", &to, &at("beside")]);
    assert!(
        outcome.code == 1 && outcome.err.contains("\"x/counts\" is not part of array \"x\""),
        "{outcome:?}"
    );
    let outcome = rab(&[&"pack", &to, &at("none")]);
    assert!(outcome.code != 0 && !to.exists(), "{outcome:?}");
}

#[test]
fn links_are_listed() {
    let shared = file("shared_buffer_ref.awkd");
    assert!(good(&[&"ls", &shared]).ends_with("\ncolumns/b -> a\n"));
    assert!(good(&[&"ls", &"-l", &shared, &"*/b"]).ends_with("-  columns/b -> a\n"));
    let listed: serde_json::Value = serde_json::from_str(&good(&[&"ls", &"--json", &shared])).unwrap();
    let want = serde_json::json!({"name": "columns/b", "type": "link", "target": "a"});
    assert_eq!(listed.as_array().unwrap().last(), Some(&want));
    assert_eq!(rab(&[&"ls", &shared, &"columns/c"]).code, 3);
    // And are followed.
    for (verb, more) in
        [("get", ""), ("get", "[1:]"), ("cat", ""), ("info", ""), ("get", "/data"), ("cat", "/data")]
    {
        let [by_link, itself] =
            ["b", "a"].map(|name| rab(&[&verb, &shared, &format!("columns/{name}{more}")]));
        assert_eq!((by_link.code, &by_link.out), (0, &itself.out), "{verb} {more}: {by_link:?}");
    }
    assert!(good(&[&"info", &shared, &"columns/b"]).contains("name: columns/a/data"));
    // By the name, and by the path.
    let dir = kit::scratch();
    let linked = dir.path().join("linked.awkd");
    kit::python(&[&"-c", &LINK, &linked]);
    assert!(good(&[&"ls", &linked]).ends_with("x/columns/b%25 -> a\n"));
    for name in ["b%", "b%25", "b%/data"] {
        assert_eq!(good(&[&"get", &linked, &format!("x/columns/{name}")]), "[7]\n", "{name}");
    }
    let missing = rab(&[&"get", &shared, &"columns/b/nothing"]);
    assert!(missing.code == 3 && missing.err.contains("no dataset \"columns/b/nothing\""), "{missing:?}");
}

/// A table whose column `b%` is its column `a`; an array of a given number of empty lists; dates and spans without a
/// unit.
const LINK: &str = r#"
import json, struct, sys, zipfile
def flat(dtype, count, more={}):
    return {"call": ["awkward0", "numpy", "frombuffer"], "args": [{"read": "0"}, {"dtype": dtype}, {"json": count}], **more}
columns = {"call": ["awkward0", "Table", "frompairs"], "args": [{"pairs": [["a", flat("int64", 1, {"id": 1})], ["b%", {"ref": 1}]]}, {"json": 0}]}
with zipfile.ZipFile(sys.argv[1], "w") as to:
    to.writestr("0", struct.pack("<q", 7))
    arrays = {"date": flat("datetime64", 1), "span": flat("timedelta64", 1), "big": flat(["int8", [0]], 1 << 60), "x": columns}
    for name, schema in arrays.items():
        to.writestr(f"{name}.json", json.dumps({"awkward0": "0.15.5", "schema": schema}))
"#;

/// Numbers of no unit are what they are, and what is refused has a file.
#[test]
fn times_without_a_unit_and_lists_without_end() {
    let dir = kit::scratch();
    let (from, to) = (dir.path().join("x.awkd"), dir.path().join("x.npz"));
    kit::python(&[&"-c", &LINK, &from]);
    good(&[&"verify", &from]);
    assert_eq!(rab(&[&"convert", &from, &to, &"date/data", &"span/data"]).code, 0);
    let script = "import sys, numpy as np; a = np.load(sys.argv[1]); assert all(b.view('i8') == [7] for b in a.values()); print([(str(b.dtype), 7) for b in a.values()])";
    let found = kit::python(&[&"-c", &script, &to]);
    assert!(found.contains("'datetime64', ") && found.contains("'timedelta64', "), "{found}");
    let outcome = rab(&[&"get", &"--json", &from, &"big"]);
    assert!(
        outcome.code == 1 && outcome.err.contains("x.awkd: dataset \"big/data\": the shape"),
        "{outcome:?}"
    );
    for name in ["date", "span"] {
        assert_eq!(good(&[&"get", &from, &name, &"--json"]), "[{\"__bytes_hex__\":\"0700000000000000\"}]\n");
    }
}

/// Each is named for what is wrong with it; `repeated` is what the reference reads too.
const INDEXES: &str = r#"
import json, struct, sys, zipfile
def call(name, *args):
    return {"call": ["awkward0", name], "args": list(args)}
def flat(member, count):
    return {"call": ["awkward0", "numpy", "frombuffer"], "args": [{"read": member}, {"dtype": "int64"}, {"json": count}]}
def write(name, index, schema):
    with zipfile.ZipFile(f"{sys.argv[1]}/{name}.awkd", "w") as to:
        to.writestr("i", struct.pack(f"<{len(index)}q", *index))
        to.writestr("c", struct.pack(f"<{len(index)}q", *range(10, 10 + len(index))))
        to.writestr("x.json", json.dumps({"awkward0": "0.15.5", "schema": schema(flat("i", len(index)), flat("c", len(index)))}))
def sparse(length):
    return lambda index, content: call("SparseArray", {"json": length}, index, content, {"json": None})
write("unsorted", [3, 1, 2], sparse(5))
# What is wrong is far behind the item that is read first.
write("unsorted_late", [*range(3000), 7], sparse(4000))
write("repeated", [1, 1, 2], sparse(5))
write("outside", [1, 9], sparse(5))
write("negative_sparse", [-1, 2], sparse(5))
write("negative", [0, 1, -1, 2], lambda index, content: call("IndexedArray", index, content))
"#;

/// No zero stands where a value is, and no item where none is: all ways of reading its values say what is wrong.
#[test]
fn an_index_that_makes_no_sense_is_damage_however_it_is_read() {
    let dir = kit::scratch();
    kit::python(&[&"-c", &INDEXES, &dir.path()]);
    for (name, item, problem) in [
        ("unsorted", "x[0]", "number 1 of its index is 1, after 3"),
        ("unsorted_late", "x[3500]", "number 3000 of its index is 7, after 2999"),
        ("outside", "x[0]", "number 1 of its index is 9"),
        ("negative_sparse", "x[0]", "number 0 of its index is -1"),
        ("negative", "x[2]", "item 2 has the index -1, but there are 4"),
    ] {
        let path = dir.path().join(format!("{name}.awkd"));
        let views = dir.path().join(format!("{name}.views"));
        let outcome = [
            rab(&[&"verify", &path]),
            rab(&[&"get", &path, &"x", &"--json"]),
            rab(&[&"get", &path, &item]),
            rab(&[&"cat", &"--as", &"jsonl", &path, &"x"]),
            rab(&[&"unpack", &"--as", &"jsonl", &path, &views]),
        ];
        for outcome in outcome {
            assert_eq!(outcome.code, 12, "{name}: {outcome:?}");
            assert!((outcome.out.clone() + &outcome.err).contains(problem), "{name}: {outcome:?}");
            let is_verify = outcome.out.contains(problem);
            assert!(
                is_verify || name == "negative" || ["", "["].contains(&&*outcome.out),
                "{name}: {outcome:?}"
            );
        }
    }
    let path = dir.path().join("repeated.awkd");
    good(&[&"verify", &path]);
    assert_eq!(good(&[&"get", &path, &"x", &"--json"]), "[0,\n10,\n12,\n0,\n0]\n");
}
