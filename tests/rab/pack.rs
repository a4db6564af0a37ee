//! `rab pack`: what becomes of files, what comes back of a mounted tree, and what is refused without a trace.

use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use nix::unistd::Pid;
use serde_json::Value;

use crate::kit::{Mount, Outcome, Signal, data, eventually, kill, names, python, run, scratch, sh, try_sh};
use crate::{RAB, SAMPLES, good, of_many_aliases, rab};

/// The datasets as `rab ls --json` tells them.
fn listed(file: &Path) -> Vec<Value> {
    serde_json::from_str(&good(&[&"ls", &"--json", &file])).unwrap()
}

/// Names and types.
fn types(file: &Path) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    listed(file).iter().map(|dataset| (text(&dataset["name"]), text(&dataset["type"]))).collect()
}

fn info(file: &Path, name: &str) -> Value {
    serde_json::from_str(&good(&[&"info", &"--json", &file, &name])).unwrap()
}

/// A directory with these files in it.
fn folder(files: &[(&str, &[u8])]) -> tempfile::TempDir {
    let dir = scratch();
    for (name, bytes) in files {
        let path = dir.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
    dir
}

/// Fails with this code and these words, and leaves nothing.
fn refused(code: i32, words: &[&str], arguments: &[&dyn AsRef<OsStr>]) -> Outcome {
    let work = scratch();
    let out = work.path().join("out.rab");
    let outcome = rab(&[&[&"pack" as &dyn AsRef<OsStr>, &out], arguments].concat());
    assert_eq!((outcome.code, outcome.out.as_str()), (code, ""), "{outcome:?}");
    for word in words {
        assert!(outcome.err.contains(word), "{word} is not in {}", outcome.err);
    }
    assert!(names(work.path()).is_empty(), "{:?}", names(work.path()));
    outcome
}

#[test]
fn samples_come_back_from_their_mounted_trees() {
    for sample in SAMPLES {
        let work = scratch();
        let (tree, out) = (work.path().join("tree"), work.path().join("out.rab"));
        let original = data(&format!("{sample}.rab"));
        let mount = Mount::new(&original);
        sh(r#"cp -r "$1" "$2""#, &[&mount.path, &tree]);
        mount.end();
        good(&[&"pack", &out, &tree]);
        let count = python(&[&"check_repacked.py", &original, &out]);
        assert_eq!(count.trim().parse(), Ok(listed(&original).len()), "{sample}");
    }
}

#[test]
fn parts_of_a_tree_and_files_beside_it() {
    let work = scratch();
    let (tree, out) = (work.path().join("tree"), work.path().join("out.rab"));
    let mount = Mount::new(&data("names.rab"));
    sh(r#"cp -r "$1" "$2" && chmod -R u+w "$2""#, &[&mount.path, &tree]);
    mount.end();
    // Without its neighbour, `a%2Fb` would be a directory of another name.
    sh(r#"cd "$1" && rm a a.meta.yaml && echo new > added.txt && printf 1 > b%"#, &[&tree]);
    good(&[&"pack", &out, &tree]);
    let all = types(&out);
    let before = types(&data("names.rab"));
    let kept: Vec<_> = before.into_iter().filter(|(name, _)| name != "a").collect();
    assert_eq!(all[..kept.len()], kept);
    let added = [("added.txt".to_owned(), "bytes".to_owned()), ("b%".to_owned(), "bytes".to_owned())];
    assert_eq!(all[kept.len()..], added);
    // Files given by themselves find their sidecars too.
    good(&[
        &"pack",
        &"--force",
        &out,
        &tree.join("plain.meta.yaml~2"),
        &tree.join("plain"),
        &tree.join("added.txt"),
    ]);
    assert_eq!(types(&out), [("plain".to_owned(), "text".to_owned()), added[0].clone()]);
}

/// What is unpacked of the formats whose sidecars say what numpy needs.
#[test]
fn sidecars_of_other_formats() {
    let dir = scratch();
    let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    for (sample, parts, extension) in [
        ("npz/small.npz", &["grid", "names", "points", "packed/*", "notes.txt"][..], "npz"),
        ("awkward/jagged_triple.awkd", &[][..], "awkd"),
        ("awkward/flat_3d_f32.awkd", &["data"][..], "rab"),
        ("onda/v1_integer_numbers.onda.signal.arrow", &[][..], "onda.signal.arrow"),
    ] {
        let (original, stem) = (samples.join(sample), sample.replace('/', " "));
        let (tree, out) = (dir.path().join(&stem), dir.path().join(format!("{stem} again.{extension}")));
        let mut arguments: Vec<&dyn AsRef<OsStr>> = vec![&"unpack", &original, &tree];
        arguments.extend(parts.iter().map(|part| part as &dyn AsRef<OsStr>));
        good(&arguments);
        let outcome = rab(&[&"pack", &out, &tree]);
        assert_eq!(outcome.code, 0, "{sample}: {outcome:?}");
        let differences = rab(&[&"diff", &original, &out]);
        let of_arrays = |line: &&str| {
            !["meta.yaml", "data: metadata", "file_path", "kind", "sensor_", "things"]
                .iter()
                .any(|other| line.contains(other))
        };
        let wrong: Vec<_> = differences.out.lines().filter(of_arrays).collect();
        assert!(wrong.is_empty() && !differences.err.contains("cannot"), "{sample}: {differences:?}");
    }
}

#[test]
fn sidecars_of_nothing_and_of_what_no_container_has() {
    let numpy = |dtype: &str, shape: &str| {
        format!("name: x\nnumpy: {{dtype: '{dtype}', shape: {shape}, order: C}}\n")
    };
    let dir = folder(&[
        ("x", b"12345678"),
        ("x.meta.yaml", numpy("|O", "[1]").as_bytes()),
        ("gone.meta.yaml", numpy("<f8", "[1]").replace("x", "gone").as_bytes()),
        ("own.meta.yaml", b"name: own\nnumpy: {version: 2}\n"),
    ]);
    let out = dir.path().with_extension("rab");
    let outcome = rab(&[&"pack", &out, &dir.path()]);
    assert!(
        outcome.code == 0 && outcome.err.contains("x.meta.yaml: describes elements that no"),
        "{outcome:?}"
    );
    assert!(outcome.err.contains("gone.meta.yaml: is the sidecar of a file that is missing"), "{outcome:?}");
    let kept = [("x", "bytes"), ("gone.meta.yaml", "bytes"), ("own.meta.yaml", "bytes")]
        .map(|(name, kind)| (name.to_owned(), kind.to_owned()));
    assert_eq!(types(&out), kept);
    // What only numpy knows is its array again in its own archives, and nowhere else.
    fs::write(dir.path().join("x.meta.yaml"), numpy("<M8[ns]", "[1]")).unwrap();
    fs::remove_file(&out).unwrap();
    let outcome = rab(&[&"pack", &out, &dir.path()]);
    assert!(outcome.code == 0 && outcome.err.contains("/x: RAB has no type <M8[ns]: "), "{outcome:?}");
    assert_eq!(types(&out), kept);
    let npz = out.with_extension("npz");
    let outcome = rab(&[&"pack", &npz, &dir.path()]);
    assert!(outcome.code == 0 && !outcome.err.contains("/x"), "{outcome:?}");
    assert_eq!(types(&npz)[0], ("x".to_owned(), "<M8[ns]".to_owned()));
    for (dtype, shape, problem) in [
        ("<f8", "[2]", "x.meta.yaml: describes 16 bytes, "),
        (
            "<f8",
            "[4294967296, 4294967296]",
            "x.meta.yaml: its numpy: its shape [4294967296, 4294967296] does not fit",
        ),
        ("<f8", "[-1]", "x.meta.yaml: its numpy: its shape has a size"),
        ("<q9", "[1]", "x.meta.yaml: its numpy: its element type \"<q9\" is not known"),
    ] {
        fs::write(dir.path().join("x.meta.yaml"), numpy(dtype, shape)).unwrap();
        refused(1, &[problem], &[&dir.path()]);
    }
}

#[test]
fn sidecars_that_fit_nothing_or_contradict() {
    let array = "codecMeta: {type: int16, shape: [2, 2], byteOrder: C, endianness: little}\nname: x\n";
    let dir = folder(&[
        ("x", b"12345678"),
        ("x.meta.yaml", array.as_bytes()),
        ("y", b"1"),
        ("y.meta.yaml", array.as_bytes()),
    ]);
    let out = dir.path().with_extension("rab");
    let outcome = rab(&[&"pack", &out, &dir.path()]);
    assert_eq!(outcome.code, 0, "{outcome:?}");
    assert!(
        outcome.err.contains("y.meta.yaml: looks like the sidecar of \"x\", whose file is not called \"y\""),
        "{outcome:?}"
    );
    assert_eq!(
        types(&out).iter().map(|(name, kind)| format!("{name} {kind}")).collect::<Vec<_>>(),
        ["x int16", "y bytes", "y.meta.yaml bytes"]
    );
    fs::remove_file(&out).unwrap();

    fs::write(dir.path().join("x"), "1234567").unwrap();
    refused(1, &["x.meta.yaml: describes 8 bytes, ", "/x has 7"], &[&dir.path()]);
    fs::write(dir.path().join("x.meta.yaml"), "codecMeta: {type: float128, shape: [1]}\nname: x\n").unwrap();
    refused(1, &["x.meta.yaml: its codecMeta: its type \"float128\" is not known"], &[&dir.path()]);

    let bomb = of_many_aliases().replace('a', "  a").replace("*  a", "*a").replace("&  a", "&a");
    let text = format!("codecMeta: {{type: bytes}}\nname: x\nmetadata:\n{bomb}");
    fs::write(dir.path().join("x.meta.yaml"), text).unwrap();
    let outcome = rab(&[&"pack", &out, &dir.path()]);
    assert!(
        outcome.code == 0 && outcome.err.contains("x.meta.yaml: looks like a sidecar, but cannot be read"),
        "{outcome:?}"
    );
}

/// Compares every array with what numpy saved.
const COMPARE: &str = r#"
import io, json, subprocess, sys
import numpy as np
program, path, order, expected = sys.argv[1], sys.argv[2], sys.argv[3], json.loads(sys.argv[4])
raw = open(path, "rb").read()
infos = [json.loads(l) for l in subprocess.check_output([program, "info", "--json", path, "*"]).splitlines()]
assert sorted(i["name"] for i in infos) == sorted(expected)
for i in infos:
    kind, shape, was, logical = expected[i["name"]]
    assert (i["dtype"], i["shape"]) == (kind, shape), i
    assert i["order"] == (was if order == "-" else order), i
    data = raw[i["offset"]:i["offset"] + i["stored"]]
    a = np.frombuffer(data, i["dtype"]).reshape(shape, order=i["order"])
    assert a.tobytes().hex() == logical, i["name"]
    got = np.load(io.BytesIO(subprocess.check_output([program, "get", path, i["name"], "--as", "npy"])))
    assert (got.dtype, got.shape, got.tobytes()) == (a.dtype, a.shape, a.tobytes()), i["name"]
print(len(infos))
"#;

#[test]
fn arrays_of_every_type_and_layout_in_both_orders() {
    let work = scratch();
    let (tree, out, script) = (work.path().join("t"), work.path().join("out.rab"), work.path().join("c.py"));
    fs::create_dir(&tree).unwrap();
    let expected = work.path().join("expected.json");
    fs::write(&expected, python(&[&"make_arrays.py", &tree])).unwrap();
    fs::write(&script, COMPARE.replace("json.loads(sys.argv[4])", "json.load(open(sys.argv[4]))")).unwrap();
    for order in ["-", "C", "F"] {
        let wanted = [&"--order" as &dyn AsRef<OsStr>, &order];
        let options: &[&dyn AsRef<OsStr>] = if order == "-" { &[] } else { &wanted };
        good(&[&[&"pack" as &dyn AsRef<OsStr>, &"-f", &out, &tree], options].concat());
        assert_eq!(python(&[&script, &RAB, &out, &order, &expected]).trim(), "50");
    }
}

#[test]
fn members_of_npz() {
    let work = scratch();
    let make = "import numpy as np, sys; a = np.arange(200000).reshape(400, 500); \
                np.savez(sys.argv[1] + '/x.npz', a=a, b=a.T.astype('>f4')); \
                np.savez_compressed(sys.argv[1] + '/y.npz', **{'g/a': a, 'b': np.array(True)})";
    python(&[&"-c", &make, &work.path()]);
    let (x, y, out) = (work.path().join("x.npz"), work.path().join("y.npz"), work.path().join("out.rab"));
    good(&[&"pack", &out, &x, &y]);
    let found: Vec<_> = types(&out).into_iter().map(|(name, kind)| format!("{name} {kind}")).collect();
    assert_eq!(found, ["x/a int64", "x/b float32", "y/g/a int64", "y/b bool"]);
    assert_eq!(info(&out, "x/b")["dtype"], ">f4");
    assert_eq!(info(&out, "x/b")["order"], "F");
    assert_eq!(good(&[&"get", &out, &"y/g/a[399, 499]"]), "199999\n");
    assert_eq!(good(&[&"get", &out, &"x/b[499, 399]"]), "199999.0\n");
    good(&[&"pack", &"-f", &out, &x, &"--name", &"run"]);
    assert_eq!(types(&out)[0].0, "run/a");

    // Stored members have no other check than their CRC.
    let mut bytes = fs::read(&x).unwrap();
    bytes[300_000] ^= 1;
    fs::write(&x, bytes).unwrap();
    refused(12, &["x.npz: member \"a.npy\" cannot be read", "hecksum"], &[&x]);
    let mut bytes = fs::read(&y).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle..middle + 100].fill(0xff);
    fs::write(&y, bytes).unwrap();
    refused(12, &["y.npz: member \"g/a.npy\" cannot be read"], &[&y]);
    let make =
        "import sys, zipfile; zipfile.ZipFile(sys.argv[1], 'w', zipfile.ZIP_BZIP2).writestr('a.npy', b'x')";
    python(&[&"-c", &make, &x]);
    refused(1, &["x.npz: member \"a.npy\" cannot be read: its compression is bzip2"], &[&x]);
    fs::write(&x, b"PK\x03\x04").unwrap();
    refused(12, &["x.npz: cannot be read as a .npz file"], &[&x]);
}

#[test]
fn dataframes() {
    let csv = "id,big,x,ok,name\n1,-5,0.5,True,a\n2,70000,,False,\n3,0,NA,true,\"é, \"\"q\"\"\"\n";
    let dir = folder(&[("t.csv", csv.as_bytes()), ("sub/u.CSV", b"a,b\n1,x\n2,y\n")]);
    let out = dir.path().with_extension("rab");
    good(&[&"pack", &out, &dir.path(), &"--dataframe", &"--compress"]);
    let nan = serde_json::json!({"float": "nan"});
    let int = |n: i64| serde_json::json!({"int": n.to_string()});
    let text = |t: &str| {
        let hex: String = t.bytes().map(|byte| format!("{byte:02x}")).collect();
        serde_json::json!({"str": hex})
    };
    let half = serde_json::json!({"float": "3fe0000000000000"});
    let table = serde_json::json!([
        ["id", "uint8", "int64", [int(1), int(2), int(3)]],
        ["big", "int32", "int64", [int(-5), int(70000), int(0)]],
        ["x", "float64", "float64", [half, nan, nan]],
        ["ok", "uint8", "bool", [true, false, true]],
        ["name", "text", "text", [text("a"), text(""), text("é, \"q\"")]],
    ]);
    let small = serde_json::json!([
        ["a", "uint8", "int64", [int(1), int(2)]],
        ["b", "text", "text", [text("x"), text("y")]],
    ]);
    let expected = serde_json::json!([
        {"name": text("sub/u"), "type": "dataframe", "compression": "gzip", "value": small, "metadata": null},
        {"name": text("t"), "type": "dataframe", "value": table},
    ]);
    let file = dir.path().join("expected.json");
    fs::write(&file, expected.to_string()).unwrap();
    assert_eq!(python(&[&"check_written.py", &out, &file]).trim(), "2");
    fs::remove_file(&out).unwrap();

    fs::write(dir.path().join("t.csv"), "a,b\n1,2\n3\n").unwrap();
    refused(1, &["t.csv: line 3: it has 1 cells, the first line has 2"], &[&dir.path(), &"--dataframe"]);
}

#[test]
fn objects_texts_and_bytes() {
    let files: &[(&str, &[u8])] = &[
        ("c.json", b"{\"a\":\t1}"),
        ("notes.txt", "é\n".as_bytes()),
        ("s.yaml", b"when: 2020-01-02\n"),
        ("t.csv", b"a\n"),
    ];
    let dir = folder(files);
    let out = dir.path().with_extension("rab");
    let shown = |options: &[&dyn AsRef<OsStr>]| {
        good(&[&[&"pack" as &dyn AsRef<OsStr>, &"-f", &out, &dir.path()], options].concat());
        types(&out).into_iter().map(|(name, kind)| format!("{name} {kind}")).collect::<Vec<_>>()
    };
    assert_eq!(shown(&[]), ["c.json bytes", "notes.txt bytes", "s.yaml bytes", "t.csv bytes"]);
    let all = ["c object", "notes.txt text", "s object", "t.csv text"];
    assert_eq!(shown(&[&"--objects", &"--text"]), all);
    for (file, (name, _)) in files.iter().zip(types(&out)) {
        let want = if name == "c" { b"a: 1\n" } else { file.1 };
        assert_eq!(good(&[&"cat", &out, &name]).as_bytes(), want);
    }
    fs::remove_file(&out).unwrap();
    fs::write(dir.path().join("s.yaml"), "a: [1").unwrap();
    refused(1, &["s.yaml: is not an object: "], &[&dir.path(), &"--objects"]);
}

#[test]
fn what_should_be_text_and_is_not_utf8_is_bytes() {
    let dir = folder(&[("notes.txt", b"ab\xFFc")]);
    let to = |name: &str| dir.path().join(name);
    let note = "notes.txt: its text is not UTF-8 at byte 2: it is written as bytes";
    let bytes = |out: &Path, name: &str| {
        assert!(!good(&[&"info", &out, &name]).contains("type: text"));
        sh(r#""$1" cat "$2" "$3" | od -An -tx1"#, &[&RAB, &out, &name]).trim().to_owned()
    };
    for out in ["x.rab", "x.npz", "x.ra"] {
        let outcome = rab(&[&"pack", &"--text", &to(out), &to("notes.txt")]);
        assert!(outcome.code == 0 && outcome.err.contains(note), "{out}: {outcome:?}");
        assert_eq!(bytes(&to(out), "*"), "61 62 ff 63", "{out}");
    }
    // In the place of what is there, of standard input, and of what a sidecar says.
    for force in [&["--force"][..], &["--force", "--name", "new"]] {
        let (out, notes) = (to("x.rab"), to("notes.txt"));
        let words: [&dyn AsRef<OsStr>; 4] = [&"add", &"--text", &out, &notes];
        let options = force.iter().map(|option| option as &dyn AsRef<OsStr>);
        let outcome = rab(&words.into_iter().chain(options).collect::<Vec<_>>());
        assert!(outcome.code == 0 && outcome.err.contains(note), "{outcome:?}");
    }
    assert_eq!(types(&to("x.rab")), [("notes.txt".into(), "bytes".into()), ("new".into(), "bytes".into())]);
    let piped = r#"cat "$3" | "$1" pack --text "$2" -"#;
    let outcome = try_sh(piped, &[&RAB, &to("in.rab"), &to("notes.txt")]);
    assert!(
        outcome.code == 0 && outcome.err.contains("standard input: its text is not UTF-8"),
        "{outcome:?}"
    );
    assert_eq!(bytes(&to("in.rab"), "stdin"), "61 62 ff 63");
    fs::write(to("good.txt"), "good").unwrap();
    good(&[&"pack", &"--text", &to("good.rab"), &to("good.txt")]);
    good(&[&"unpack", &to("good.rab"), &to("files")]);
    fs::write(to("files/good.txt"), b"\xFF").unwrap();
    let outcome = rab(&[&"pack", &to("bad.rab"), &to("files")]);
    assert!(
        outcome.code == 0 && outcome.err.contains("good.txt: its text is not UTF-8 at byte 0"),
        "{outcome:?}"
    );
    assert_eq!(bytes(&to("bad.rab"), "*"), "ff");
}

#[test]
fn standard_input_names_and_metadata() {
    let dir = folder(&[("m.yaml", b"unit: mV\nwhen: 2020-01-02\n"), ("bad.yaml", b"- 1\n"), ("x", b"12")]);
    let out = dir.path().join("out.rab");
    sh(r#"printf hello | "$1" pack "$2" -"#, &[&RAB, &out]);
    assert_eq!(types(&out), [("stdin".to_owned(), "bytes".to_owned())]);
    sh(
        r#"printf hello | "$1" pack -f "$2" - --name 'a/ b' --text --meta "$3""#,
        &[&RAB, &out, &dir.path().join("m.yaml")],
    );
    assert_eq!(types(&out), [("a/ b".to_owned(), "text".to_owned())]);
    assert_eq!(info(&out, "a/ b")["metadata"], serde_json::json!({"unit": "mV", "when": "2020-01-02"}));
    assert_eq!(good(&[&"cat", &out, &"a/ b"]), "hello");
    let x = dir.path().join("x");
    refused(1, &["bad.yaml: is not a mapping"], &[&x, &"--meta", &dir.path().join("bad.yaml")]);
    let bomb = dir.path().join("bomb.yaml");
    fs::write(&bomb, of_many_aliases()).unwrap();
    refused(
        12,
        &["bomb.yaml: takes more than 64 MiB once its aliases are written out"],
        &[&x, &"--meta", &bomb],
    );
    refused(2, &["--name is for a single input"], &[&x, &x, &"--name", &"y"]);
    refused(2, &["--name is for a single input"], &[&dir.path(), &"--name", &"y"]);
}

#[test]
fn the_same_file_whatever_the_number_of_jobs() {
    let zeros = vec![0; 3 << 20];
    let mut state = 1u64;
    let noise: Vec<u8> = (0..700_000)
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 56) as u8
        })
        .collect();
    let dir = folder(&[("zeros", &zeros), ("sub/noise", &noise), ("empty", b"")]);
    let (one, many) = (dir.path().with_extension("1.rab"), dir.path().with_extension("2.rab"));
    for options in ["--compress", "--compress=1", "--compress-if-smaller"] {
        good(&[&"pack", &"-f", &one, &dir.path(), &options, &"--jobs", &"1"]);
        good(&[&"pack", &"-f", &many, &dir.path(), &options, &"--jobs", &"3"]);
        assert!(fs::read(&one).unwrap() == fs::read(&many).unwrap(), "{options}");
        good(&[&"verify", &"-q", &one]);
    }
    let packed: Vec<_> = listed(&one).iter().map(|dataset| dataset["compression"].clone()).collect();
    assert_eq!(packed, [Value::Null, Value::Null, "gzip".into()], "empty, noise, zeros");
    for file in [one, many] {
        fs::remove_file(file).unwrap();
    }
}

#[test]
fn what_was_compressed_is_so_again_by_default() {
    let dir = scratch();
    let (tree, packed) = (dir.path().join("tree"), dir.path().join("packed.rab"));
    good(&[&"unpack", &data("gzip.rab"), &tree]);
    let compressed = |options: &[&dyn AsRef<std::ffi::OsStr>]| {
        good(&[&[&"pack" as &dyn AsRef<_>, &"-f", &packed, &tree], options].concat());
        listed(&packed).iter().filter(|dataset| dataset["compression"] == "gzip").count()
    };
    let (as_before, all) = (compressed(&[]), compressed(&[&"--compress"]));
    assert!(0 < as_before && as_before < all, "{as_before} {all}");
    for none in ["--compress=0", "--compress=none"] {
        assert_eq!((compressed(&[&none]), compressed(&[&none, &"--compress-if-smaller"])), (0, 0));
    }
    refused(2, &["a level is from 0 to 9, or none"], &[&tree, &"--compress=10"]);
}

#[test]
fn inputs_that_change_meanwhile_are_not_packed() {
    let dir = scratch();
    // When it has read more than a pipe holds, all is planned.
    let script = r#"cd "$2"; mkfifo fifo; echo old > notes.txt
        "$1" pack x.rab - notes.txt < fifo & exec 3> fifo
        head -c 1000000 /dev/zero >&3; echo changed > notes.txt; exec 3>&-; wait $!"#;
    let outcome = try_sh(script, &[&RAB, &dir.path()]);
    assert!(
        outcome.code == 1 && outcome.err.contains("notes.txt: changed while it was packed"),
        "{outcome:?}"
    );
    assert_eq!(names(dir.path()), ["fifo", "notes.txt"]);
}

/// Without /proc a new file has a name from its beginning.
#[test]
fn nothing_is_left_when_it_is_stopped() {
    let dir = scratch();
    let script = r#"unshare -rm sh -c '
        mount -t tmpfs none /proc; mkfifo "$2/fifo"; echo old > "$2/x.rab"
        "$1" pack "$2/x.rab" -f - < "$2/fifo" & exec 3> "$2/fifo"
        head -c 1000000 /dev/zero >&3; ls -A "$2" | grep -c tmp
        kill -TERM $!; head -c 1000000 /dev/zero >&3 2>/dev/null; exec 3>&-; wait $!; echo $?' sh "$@""#;
    let outcome = try_sh(script, &[&RAB, &dir.path()]);
    assert_eq!(outcome.out, "1\n143\n", "{outcome:?}");
    assert_eq!(fs::read(dir.path().join("x.rab")).unwrap(), b"old\n");
    assert_eq!(names(dir.path()), ["fifo", "x.rab"]);
}

/// A producer may be silent for hours; one signal is enough all the same.
#[test]
fn a_signal_ends_what_waits_for_a_silent_pipe() {
    let cases: [(&[&str], Signal); 7] = [
        (&["pack", "out.ffr", "-", "--records", "lines"], Signal::SIGINT),
        (&["pack", "out.ffr", "-", "--records", "length32"], Signal::SIGTERM),
        // Nobody has opened its other end.
        (&["pack", "out.ffr", "fifo", "--records", "lines"], Signal::SIGINT),
        (&["pack", "out.rab", "-", "--name", "x"], Signal::SIGINT),
        (&["pack", "out.npz", "-", "--text"], Signal::SIGTERM),
        (&["add", "old.rab", "-"], Signal::SIGHUP),
        (&["add", "old.rab", "-", "--text"], Signal::SIGINT),
    ];
    for (arguments, signal) in cases {
        let dir = scratch();
        sh(r#"mkfifo "$1/fifo""#, &[&dir.path()]);
        let old = dir.path().join("old.rab");
        fs::copy(data("readme.rab"), &old).unwrap();
        let mut command = Command::new(RAB);
        let mut child = command
            .args(arguments)
            .current_dir(&dir)
            .stdin(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut pipe = child.stdin.take().unwrap();
        pipe.write_all(b"\x01\0\0\0\n").unwrap();
        let files = format!("/proc/{}/fd", child.id());
        let is_fifo = |file: fs::DirEntry| fs::read_link(file.path()).is_ok_and(|to| to.ends_with("fifo"));
        eventually("it waits for its input", || match arguments.contains(&"fifo") {
            true => fs::read_dir(&files).unwrap().flatten().any(is_fifo),
            false => rustix::io::ioctl_fionread(&pipe).unwrap() == 0,
        });
        kill(Pid::from_raw(child.id() as i32), signal).unwrap();
        let mut status = None;
        for _ in 0..200 {
            status = child.try_wait().unwrap();
            if status.is_some() {
                break;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        child.kill().unwrap();
        assert_eq!(status.and_then(|status| status.signal()), Some(signal as i32), "{arguments:?}");
        assert_eq!(names(dir.path()), ["fifo", "old.rab"], "{arguments:?}");
        assert_eq!(fs::read(&old).unwrap(), fs::read(data("readme.rab")).unwrap());
    }
}

/// Its writer comes late.
#[test]
fn a_fifo_is_read_to_its_end() {
    let dir = scratch();
    let script = r#"cd "$2"; mkfifo fifo; "$1" pack out.ffr fifo --lines & sleep 0.3
        (echo one; sleep 0.3; echo two) > fifo; wait $! && "$1" cat out.ffr 'records/*'"#;
    assert_eq!(sh(script, &[&RAB, &dir.path()]), "onetwo");
}

#[test]
fn arrays_without_elements_have_any_shape() {
    let mut npy = b"\x93NUMPY\x01\0\x76\0".to_vec();
    let shape = "{'descr': '<f8', 'fortran_order': False, 'shape': (4294967296, 4294967296, 0), }";
    npy.extend(format!("{shape:117}\n").bytes());
    let dir = folder(&[("x.npy", &npy)]);
    let out = dir.path().join("out.rab");
    good(&[&"pack", &out, &dir.path().join("x.npy"), &"--order", &"F"]);
    assert_eq!(
        (&info(&out, "x")["shape"][0], &info(&out, "x")["order"]),
        (&4294967296u64.into(), &"F".into())
    );
}

#[test]
fn arrays_that_are_none() {
    let work = scratch();
    let make = r#"
import numpy as np, sys, os
def save(name, a): np.save(os.path.join(sys.argv[1], name), a, allow_pickle=True)
save("object", np.array([1, "x"], dtype=object))
save("none", np.zeros(2, "V0"))
save("cut", np.arange(100))
"#;
    python(&[&"-c", &make, &work.path()]);
    let at = |name: &str| work.path().join(format!("{name}.npy"));
    for (name, words) in [("object", "is an array of Python objects"), ("none", "a.astype(\"float64\")")] {
        refused(1, &[&format!("{name}.npy: "), words], &[&at(name)]);
    }
    let whole = fs::read(at("cut")).unwrap();
    fs::write(at("cut"), &whole[..whole.len() - 1]).unwrap();
    refused(
        12,
        &["cut.npy: is cut short: it has 799 bytes of elements, its .npy header needs 800"],
        &[&at("cut")],
    );
    fs::write(at("cut"), [&whole[..], b"x"].concat()).unwrap();
    refused(12, &["cut.npy: has 1 byte after its array"], &[&at("cut")]);
    fs::write(at("cut"), "hello, world").unwrap();
    refused(1, &["cut.npy: is not a .npy file"], &[&at("cut")]);
    // One bad file among good ones.
    refused(1, &["cut.npy"], &[&data("readme.rab"), &at("cut")]);
}

/// As in a .npz archive: unchanged if the container supports the type, otherwise as bytes, with a note.
#[test]
fn arrays_of_what_only_numpy_understands() {
    let work = scratch();
    let make = r#"
import numpy as np, sys, os
save = lambda name, a: np.save(os.path.join(sys.argv[1], name), a)
save("texts", np.array(["abc", "d"]))
save("fields", np.asfortranarray(np.ones((2, 3), [("a", "i4"), ("b", ">f8", (2,))])))
save("dates", np.array([["2020-01-02", "NaT"], ["1969-01-01", "2021-01-01"]], ">M8[D]"))
save("spans", np.array([1, "NaT"], "m8[25ms]"))
save("long", np.ones(2, np.longdouble))
np.savez(os.path.join(sys.argv[1], "all"), **{n[:-4]: np.load(os.path.join(sys.argv[1], n)) for n in os.listdir(sys.argv[1])})
"#;
    python(&[&"-c", &make, &work.path()]);
    let names = ["texts", "fields", "dates", "spans", "long"];
    let at = names.map(|name| work.path().join(format!("{name}.npy")));
    let [npz, packed, turned, plain] =
        ["all.npz", "new.npz", "f.npz", "new.rab"].map(|name| work.path().join(name));
    let pack = |out: &PathBuf, options: &[&str]| {
        let mut words: Vec<&dyn AsRef<OsStr>> = vec![&"pack", out];
        words.extend(at.iter().map(|path| path as &dyn AsRef<OsStr>));
        words.extend(options.iter().map(|option| option as &dyn AsRef<OsStr>));
        rab(&words)
    };
    for (out, options) in [(&packed, &[][..]), (&turned, &["--order", "F"])] {
        let outcome = pack(out, options);
        assert_eq!((outcome.code, outcome.err.as_str()), (0, ""), "{outcome:?}");
    }
    let same = r#"
import sys, numpy as np
a, b, f = (np.load(path) for path in sys.argv[1:])
for name in a.files:
    for other in b, f:
        assert a[name].dtype == other[name].dtype and a[name].shape == other[name].shape, name
        assert a[name].tobytes() == other[name].tobytes(), name
    assert a[name].ndim < 2 or f[name].flags.f_contiguous, name
"#;
    python(&[&"-c", &same, &npz, &packed, &turned]);
    let outcome = pack(&plain, &[]);
    assert_eq!(
        (outcome.code, outcome.err.matches("RAB has no type").count()),
        (0, names.len()),
        "{outcome:?}"
    );
}

#[test]
fn names_that_clash() {
    let dir = folder(&[("a", b"1"), ("other/a", b"2")]);
    python(&[
        &"-c",
        &"import numpy as np, sys; np.save(sys.argv[1], np.arange(3))",
        &dir.path().join("a.npy"),
    ]);
    refused(1, &["/a and ", "/a.npy would both become the dataset \"a\""], &[&dir.path()]);
    refused(
        1,
        &["would both become the dataset \"a\""],
        &[&dir.path().join("a"), &dir.path().join("other/a")],
    );
}

#[test]
fn inputs_that_are_no_files() {
    refused(10, &["/nowhere: cannot be opened"], &[&"/nowhere"]);
    refused(1, &["/dev/null: is not a regular file"], &[&"/dev/null"]);
    let dir = folder(&[("d/x", b"1")]);
    let odd = dir.path().join(OsStr::from_bytes(b"\xFF"));
    fs::write(&odd, "").unwrap();
    refused(1, &["its name is not UTF-8: rename it"], &[&dir.path()]);
    fs::remove_file(odd).unwrap();
    symlink("/etc/passwd", dir.path().join("out-link")).unwrap();
    symlink("d/x", dir.path().join("link")).unwrap();
    sh(r#"mkfifo "$1""#, &[&dir.path().join("fifo")]);
    let out = dir.path().join("new.rab");
    let outcome = rab(&[&"pack", &out, &dir.path()]);
    assert_eq!(outcome.code, 0, "{outcome:?}");
    assert_eq!(outcome.err.lines().count(), 2, "{outcome:?}");
    assert!(outcome.err.contains("out-link: is a symbolic link that leads out of the directory: skipped"));
    assert!(outcome.err.contains("fifo: is neither a file nor a directory: skipped"));
    let found: Vec<_> = types(&out).into_iter().map(|(name, _)| name).collect();
    assert_eq!(found, ["d/x", "link"], "not the container itself");
}

#[test]
fn targets() {
    let dir = folder(&[("x", b"1"), ("in/y", b"2")]);
    let (out, x) = (dir.path().join("out.rab"), dir.path().join("x"));
    let fails = |code, words: &str, arguments: &[&dyn AsRef<OsStr>]| {
        let outcome = rab(arguments);
        assert_eq!(outcome.code, code, "{outcome:?}");
        assert!(outcome.err.contains(words), "{outcome:?}");
    };
    good(&[&"pack", &out, &x]);
    let before = fs::read(&out).unwrap();
    fails(1, "out.rab: exists: --force replaces it", &[&"pack", &out, &dir.path().join("in")]);
    fails(2, "out.rab: is both an input and the output", &[&"pack", &"-f", &out, &dir.path()]);
    let folder = dir.path().join("dir.rab");
    fs::create_dir(&folder).unwrap();
    fails(1, "dir.rab: cannot be written: is a directory", &[&"pack", &"-f", &folder, &x]);
    fails(
        2,
        "x.zip: cannot write .zip files: choose one of .npz, ",
        &[&"pack", &dir.path().join("x.zip"), &x],
    );
    fails(1, "none/x.rab: cannot be written", &[&"pack", &dir.path().join("none/x.rab"), &x]);
    assert_eq!(fs::read(&out).unwrap(), before);
    sh(r#"chmod a-w "$1""#, &[&out]);
    fails(1, "out.rab: cannot be written: it is read-only", &[&"pack", &"-f", &out, &x]);
    sh(r#"chmod u+w "$1""#, &[&out]);
    good(&[&"pack", &"-f", &out, &dir.path().join("in")]);
    assert_eq!(types(&out)[0].0, "y");
    assert_eq!(names(dir.path()), ["dir.rab", "in", "out.rab", "x"]);
}

#[test]
fn a_target_that_appears_meanwhile_stays() {
    let dir = scratch();
    let out = dir.path().join("out.rab");
    // More than a pipe holds: by then it reads.
    let script = r#"{ head -c 1000000 /dev/zero; echo mine > "$2"; } | "$1" pack "$2" - $3"#;
    let outcome = try_sh(script, &[&RAB, &out, &""]);
    assert!(
        outcome.code == 1 && outcome.err.contains("out.rab: cannot be written: File exists"),
        "{outcome:?}"
    );
    assert_eq!(fs::read_to_string(&out).unwrap(), "mine\n");
    good(&[&"pack", &"-f", &out, &"/etc/passwd"]);
    assert_eq!(try_sh(script, &[&RAB, &out, &"-f"]).code, 0);
    assert_eq!((types(&out)[0].0.as_str(), names(dir.path()).len()), ("stdin", 1));
}

#[test]
fn a_disk_that_is_full() {
    let dir = folder(&[("x", &vec![7; 3 << 20])]);
    let small = dir.path().join("small");
    fs::create_dir(&small).unwrap();
    sh(r#"mount -t tmpfs -o size=1M none "$1""#, &[&small]);
    let out: PathBuf = small.join("out.rab");
    fs::write(&out, "what was there before").unwrap();
    let outcome = run(Command::new(RAB).args([
        OsStr::new("pack"),
        OsStr::new("-f"),
        out.as_os_str(),
        dir.path().join("x").as_os_str(),
    ]));
    let left = (fs::read_to_string(&out).unwrap(), names(&small));
    try_sh(r#"umount "$1""#, &[&small]);
    assert_eq!(outcome.code, 1, "{outcome:?}");
    assert!(outcome.err.contains("cannot be written: No space left on device"), "{outcome:?}");
    assert_eq!(left, ("what was there before".to_owned(), vec!["out.rab".to_owned()]));
}

#[test]
fn json_is_read_as_json_and_stored_as_yaml() {
    let dir = scratch();
    let at = |name: &str| dir.path().join(name);
    std::fs::write(at("x.json"), r#"{"rate":1e-05,"big":1e+20,"s":"\ud83e\udd8f","yes":"no"}"#).unwrap();
    std::fs::write(at("t.txt"), "t").unwrap();
    good(&[&"pack", &at("out.rab"), &at("x.json"), &at("t.txt"), &"--objects", &"--meta", &at("x.json")]);
    let want = "rate: 1.0e-05\nbig: 1.0e+20\ns: '🦏'\n'yes': 'no'\n";
    assert_eq!(good(&[&"cat", &at("out.rab"), &"x"]), want);
    let about = good(&[&"info", &"--json", &at("out.rab"), &"t.txt"]);
    let about: serde_json::Value = serde_json::from_str(&about).unwrap();
    assert_eq!(about["metadata"]["rate"].as_f64(), Some(1e-5));
    good(&[&"set", &at("out.rab"), &"x", &"--meta", &at("x.json")]);
    assert!(good(&[&"info", &at("out.rab"), &"x"]).contains("\n  rate: 1.0e-05\n"));
}

#[test]
fn a_quote_that_is_never_closed_swallows_no_rows() {
    let dir = scratch();
    let at = |name: &str| dir.path().join(name);
    std::fs::write(at("open.csv"), "id,note\n1,ok\n2,\"bad\n3,ok\n").unwrap();
    let outcome = rab(&[&"pack", &at("out.rab"), &at("open.csv"), &"--dataframe"]);
    assert!(outcome.code == 1 && outcome.err.contains("open.csv: line 3: a quote"), "{outcome:?}");
    assert!(!at("out.rab").exists());
    std::fs::write(at("closed.csv"), "id,note\n1,\"o\nk\"\n2,\"a \"\"b\"\"\"\n").unwrap();
    good(&[&"pack", &at("out.rab"), &at("closed.csv"), &"--dataframe"]);
}

#[test]
fn datasets_without_bytes_come_back_in_their_order() {
    let dir = tempfile::tempdir().unwrap();
    let (file, files, again) =
        (dir.path().join("x.rab"), dir.path().join("files"), dir.path().join("again.rab"));
    let order = ["z", "a", "full", "y/z", "y/b", "m", "last", "k", "c"];
    let mut writer = rab::Writer::create(&file).unwrap();
    for name in order {
        writer.add(name).text(if matches!(name, "full" | "last") { "text" } else { "" }).unwrap();
    }
    writer.finish().unwrap();
    good(&[&"unpack", &file, &files]);
    good(&[&"pack", &again, &files]);
    assert_eq!(good(&[&"ls", &again]).lines().collect::<Vec<_>>(), order);
    let sidecar = |name: &str| fs::read_to_string(files.join(format!("{name}.meta.yaml"))).unwrap();
    assert!(sidecar("y/b").contains("\nnumber: 4\n") && !sidecar("full").contains("number"));
    // An entry's own key stays what it is.
    let entry = "- number: 7\n  name: x\n  codecMeta: {byteLength: 0, byteOffset: 0, type: bytes}\n";
    crate::kit::write_rab(&file, entry, b"");
    good(&[&"unpack", &"--force", &file, &files]);
    assert_eq!(sidecar("x").matches("number").count(), 1);
}

/// Names that are no Unicode are printed as every verb takes them.
#[test]
fn messages_name_datasets_as_they_can_be_typed() {
    let printed = "a%ED%A0%80";
    let entry = crate::kit::bytes_entry("NAME", 0, 1).replace("name: NAME", r#"name: "a\ud800""#);
    let (dir, file) = crate::kit::rab(&entry, b"?");
    let to = |name: &str| dir.path().join(name);
    assert_eq!(good(&[&"ls", &file]), format!("{printed}\n"));
    let outcome = rab(&[&"convert", &file, &to("x.ra")]);
    assert!(
        outcome.code == 0 && outcome.err.contains(&format!("dataset {printed:?}: its name is not kept")),
        "{outcome:?}"
    );
    for tree in ["one", "two"] {
        good(&[&"unpack", &file, &to(tree)]);
    }
    let outcome = rab(&[&"pack", &to("new.rab"), &to("one"), &to("two")]);
    assert!(outcome.err.contains(&format!("would both become the dataset {printed:?}")), "{outcome:?}");
    let outcome = rab(&[&"add", &file, &to("one")]);
    assert!(outcome.err.contains(&format!("already has a dataset {printed:?}")), "{outcome:?}");
    // A sidecar of another file.
    let data = names(&to("one")).into_iter().find(|name| !name.ends_with(".meta.yaml")).unwrap();
    fs::rename(to("one").join(&data), to("one/other")).unwrap();
    fs::rename(to("one").join(format!("{data}.meta.yaml")), to("one/other.meta.yaml")).unwrap();
    let outcome = rab(&[&"pack", &to("new.rab"), &to("one")]);
    assert!(outcome.err.contains(&format!("looks like the sidecar of {printed:?}")), "{outcome:?}");
}
