//! `--as KIND`: datasets in the form of a view, without a mount.

use std::path::Path;
use std::process::{Command, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::kit::{data, entry, eventually, python, rab as container, scratch};
use crate::{RAB, good, rab};

/// The error for arguments that are refused.
fn refused(arguments: &[&dyn AsRef<std::ffi::OsStr>]) -> String {
    let outcome = rab(arguments);
    assert_eq!((outcome.code, outcome.out.as_str()), (2, ""), "{outcome:?}");
    outcome.err
}

#[test]
fn numpy_reads_what_cat_and_get_print() {
    let script = r#"
import io, subprocess, sys
import numpy as np
rab, path = sys.argv[1:]
load = lambda *words: np.load(io.BytesIO(subprocess.check_output([rab, *words, "--as", "npy"])))
whole = load("cat", path, "my second array")
assert whole.shape == (5, 3) and whole[2, 0] == 1006, whole
assert np.array_equal(load("get", path, "my second array"), whole)
assert np.array_equal(load("get", path, "my second array[::-2, 1]"), whole[::-2, 1])
"#;
    python(&[&"-c", &script, &RAB, &data("readme.rab")]);
    let table = "import io,subprocess,sys,numpy as np; a=np.load(io.BytesIO(subprocess.check_output([sys.argv[1],'get',sys.argv[2],'table','--as','npy']))); assert a.shape == (50,) and a['count'][1] == 993, a";
    python(&[&"-c", &table, &RAB, &data("dataframe.rab")]);
}

#[test]
fn datasets_that_a_view_does_not_show_are_refused_with_the_reason() {
    let file = data("readme.rab");
    let outcome = refused(&[&"cat", &file, &"Some text", &"--as", &"npy"]);
    assert!(outcome.contains("is text, which cannot be shown as npy"), "{outcome}");
    let outcome = refused(&[&"get", &file, &"my second array[9]", &"--as", &"npy"]);
    assert!(outcome.contains("index 9 is out of bounds"), "{outcome}");
    let outcome = refused(&[&"cat", &file, &"Some text", &"--as", &"tiff"]);
    assert!(outcome.contains("npy"), "{outcome}");
    // With the file; of a table also what it can be had as.
    let outcome = rab(&[&"get", &data("dataframe.rab"), &"table[0:2]", &"--as", &"raw"]).err;
    let want =
        "dataframe.rab: dataset \"table\": is a table: use --as npy, --as csv, --as arrow or --as jsonl";
    assert!(outcome.contains(want), "{outcome}");
    let of_none = sample("npz/small.npz");
    let outcome = refused(&[&"get", &of_none, &"grid[0, 0]", &"--as", &"csv"]);
    assert!(
        outcome.contains("small.npz: dataset \"grid\": ") && outcome.contains("of shape [], which"),
        "{outcome}"
    );
    let jagged = sample("awkward/multi_names.awkd");
    for (what, want) in [
        ("one[0,1]", "multi_names.awkd: dataset \"one/meta.yaml\": the index has 2 axes, the array 1"),
        ("one[5]", "multi_names.awkd: dataset \"one/meta.yaml\": index 5 is out of bounds (0 to 3)"),
    ] {
        let outcome = refused(&[&"get", &jagged, &what]);
        assert!(outcome.contains(want), "{outcome}");
    }
    // What would be shown but for its size is refused with that reason.
    let dir = scratch();
    let wide = dir.path().join("x.npz");
    python(&[
        &"-c",
        &"import sys, numpy as np; np.savez_compressed(sys.argv[1], w=np.zeros((2, 300_000), 'S1'), k=np.zeros(10**6, 'u1').view([('k' * 2000, 'u1')]))",
        &wide,
    ]);
    let around = "as text its 1000000 rows have more than 1073741824 bytes around their values";
    for (what, kind, problem) in [
        ("w", "csv", "a row can be more than 1048576 bytes of text"),
        ("w[:, :290000]", "csv", "a row can be more than 1048576 bytes of text"),
        ("k", "jsonl", around),
    ] {
        let outcome = rab(&[&"get", &wide, &what, &"--as", &kind]);
        let want = format!("which cannot be shown as {kind}: {problem}");
        assert!(outcome.code == 1 && outcome.out.is_empty() && outcome.err.contains(&want), "{outcome:?}");
    }
    good(&[&"get", &wide, &"w[:, :1000]", &"--as", &"csv"]);
    assert_eq!(good(&[&"get", &wide, &"k[:10]", &"--as", &"jsonl"]).lines().count(), 10);
    good(&[&"get", &wide, &"k", &"--as", &"csv"]);
}

#[test]
fn an_invalid_text_is_bytes_or_reported_with_its_file() {
    let column = "columnInfo: [{encodingType: text, key: t, maxByteSize: 2, originalType: text}]";
    let codec = ["byteLength: 4", "byteOffset: 0", column, "rows: 2", "type: dataframe"];
    let (_dir, file) = container(&format!("\n{}\n", entry("some table", &codec)), b"ok\xff\xff");
    let lines = "{\"t\":\"ok\"}\n{\"t\":{\"__bytes_hex__\":\"ffff\"}}\n";
    assert_eq!(good(&[&"cat", &file, &"some table", &"--as", &"jsonl"]), lines);
    good(&[&"verify", &file]);
    let outcome = rab(&[&"cat", &file, &"some table", &"--as", &"arrow"]);
    let want = format!("{}: dataset \"some table\": row 1 of column \"t\" is not Unicode", file.display());
    assert!(outcome.code == 1 && outcome.err.contains(&want), "{outcome:?}");
    // Characters that are none.
    let dir = scratch();
    let npz = dir.path().join("x.npz");
    let script = "import sys, numpy as np; u = np.frombuffer(bytes([0, 216, 0, 0]), '<U1'); \
        s = np.array([(u[0], 7)], [('u', '<U1'), ('n', 'u1')]); np.savez(sys.argv[1], s=s, u=u)";
    python(&[&"-c", &script, &npz]);
    good(&[&"verify", &npz]);
    let hex = "{\"__bytes_hex__\":\"00d80000\"}";
    assert_eq!(good(&[&"cat", &npz, &"s", &"--as", &"jsonl"]), format!("{{\"u\":{hex},\"n\":7}}\n"));
    assert_eq!(good(&[&"get", &npz, &"s", &"--json"]), format!("[{{\"u\":{hex},\"n\":7}}]\n"));
    for (name, problem) in [("s", "row 0 of column \"u\" is not Unicode"), ("u", "row 0 is not Unicode")] {
        let outcome = rab(&[&"cat", &npz, &name, &"--as", &"csv"]);
        assert!(outcome.code == 1 && outcome.err.contains(problem), "{outcome:?}");
    }
}

#[test]
fn unpack_writes_views_where_there_are_some() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("out");
    good(&[&"unpack", &data("readme.rab"), &out, &"--as", &"npy"]);
    let there = |name: &str| out.join(name).is_file();
    assert!(there("my second array.npy") && !there("my second array") && there("Some text"));
    assert!(there("my second array.meta.yaml"));
    let script = "import sys, numpy as np; assert np.load(sys.argv[1], mmap_mode='r').shape == (5, 3)";
    python(&[&"-c", &script, &out.join("my second array.npy")]);
}

#[test]
fn unpack_writes_zarr_stores() {
    let dir = scratch();
    let at = |name: &str| dir.path().join(name);
    std::fs::create_dir(at("made")).unwrap();
    python(&[&"zarr_stores.py", &"make", &at("made")]);
    for (name, count) in [("large.rab", 9), ("odd.rab", 28), ("small.rab", 7), ("deflated.npz", 2)] {
        let (file, raw, store) = (at("made").join(name), at(&format!("{name}.raw")), at(name));
        good(&[&"unpack", &file, &raw]);
        good(&[&"unpack", &file, &store, &"--as", &"zarr"]);
        let found = python(&[&"zarr_stores.py", &"listed", &store, &raw]);
        assert_eq!(found.trim(), count.to_string(), "{name}");
    }
    // Some of them, and the store says so.
    let (file, raw, store) = (at("made").join("odd.rab"), at("some.raw"), at("some"));
    good(&[&"unpack", &file, &raw, &"dir/*"]);
    good(&[&"unpack", &file, &store, &"dir/*", &"--as", &"zarr", &"--no-meta"]);
    assert_eq!(python(&[&"zarr_stores.py", &"listed", &store, &raw]).trim(), "5");
    let outcome = rab(&[&"unpack", &file, &store, &"dir/*", &"--as", &"zarr"]);
    assert!(
        outcome.code == 1 && outcome.err.contains("some/.zgroup: cannot be written: it exists: --force"),
        "{outcome:?}"
    );
    for verb in ["cat", "get"] {
        let outcome = refused(&[&verb, &file, &"dir/in", &"--as", &"zarr"]);
        assert!(outcome.contains("rab unpack FILE DIR --as zarr"), "{outcome}");
    }
}

/// The container's own stream is the chunk of an array that has but one: it is looked at before anybody has all of it.
#[test]
fn a_damaged_stream_is_no_whole_chunk() {
    let script = r#"
import sys, zlib, numpy as np
packed = bytearray(zlib.compress(np.random.default_rng(5).bytes(400_000)))
for path, hurt in (sys.argv[1], 0), (sys.argv[2], 1):
    packed[300_000] ^= hurt
    text = f"""
- codecMeta: {{byteLength: {len(packed)}, byteOffset: 0, byteOrder: C, compression: gzip, decodedLength: 400000,
    endianness: little, shape: [100000], type: float32}}
  metadata: {{}}
  name: x
""".encode()
    open(path, "wb").write(b"rab" + len(text).to_bytes(4, "little") + text + packed)
"#;
    let dir = scratch();
    let [good, bad, store] = ["good.rab", "bad.rab", "store"].map(|name| dir.path().join(name));
    python(&[&"-c", &script, &good, &bad]);
    let outcome = rab(&[&"unpack", &good, &store, &"--as", &"zarr"]);
    assert!(outcome.code == 0 && store.join("x/.zarray").is_file(), "{outcome:?}");
    let raw = std::fs::read(&good).unwrap();
    assert!(raw.ends_with(&std::fs::read(store.join("x/0")).unwrap()), "it is the stream as it is stored");
    let outcome = rab(&[&"unpack", &bad, &store, &"--as", &"zarr", &"--force"]);
    assert!(outcome.code == 12 && outcome.err.contains("dataset \"x\""), "{outcome:?}");
    assert!(!store.join("x/.zarray").exists() && !store.join(".zmetadata").exists());
    let mount = crate::kit::Mount::new(&bad);
    let read = mount.read(".views/zarr/x/0");
    assert_eq!(read.unwrap_err().raw_os_error(), Some(libc::EIO));
}

/// To programs a chunk that is missing is zeros, so an array that is not whole must not look like one.
#[test]
fn a_store_shows_no_array_that_is_not_whole() {
    // Three chunks, of which two cannot be decoded.
    let script = r#"
import sys, zlib, numpy as np
whole = np.random.default_rng(3).bytes(12 << 20)
packed = zlib.compress(whole, 1)
header = lambda n: f"""
- codecMeta: {{byteLength: 40, byteOffset: 0, byteOrder: C, endianness: little, shape: [10], type: float32}}
  metadata: {{}}
  name: dir/good
- codecMeta: {{byteLength: {n}, byteOffset: 40, byteOrder: C, compression: gzip, decodedLength: {12 << 20},
    endianness: little, shape: [{3 << 20}], type: float32}}
  metadata: {{}}
  name: dir/bad
""".encode()
for path, data in (sys.argv[1], packed), (sys.argv[2], packed[:5 << 20] + bytes(1000)):
    text = header(len(data))
    open(path, "wb").write(b"rab" + len(text).to_bytes(4, "little") + text + bytes([7] * 40) + data)
"#;
    let dir = scratch();
    let [good, bad, store] = ["good.rab", "bad.rab", "store"].map(|name| dir.path().join(name));
    python(&[&"-c", &script, &good, &bad]);
    let there = |name: &str| store.join(name).is_file();
    let check = |is_whole: bool, outcome: crate::kit::Outcome| {
        let code = if is_whole { 0 } else { 12 };
        assert!(outcome.code == code && there("dir/good/.zarray") && there("dir/bad/0"), "{outcome:?}");
        assert_eq!((there("dir/bad/.zarray"), there(".zmetadata")), (is_whole, is_whole), "{outcome:?}");
        for name in [
            "store/dir/bad: is incomplete, so .zarray",
            "dataset \"dir/bad\"",
            "store: is incomplete, so .zmetadata",
        ] {
            // Whatever the number of chunks that cannot be read.
            assert_eq!(outcome.err.matches(name).count(), usize::from(!is_whole), "{outcome:?}");
        }
    };
    check(true, rab(&[&"unpack", &good, &store, &"--as", &"zarr"]));
    // What is there from before announces nothing any more.
    check(false, rab(&[&"unpack", &bad, &store, &"--as", &"zarr", &"--force"]));
    let script = r#"
import sys, zarr
store = zarr.open_group(sys.argv[1], mode="r")
assert store["dir/good"][...].tobytes() == bytes([7] * 40)
try:
    store["dir/bad"][...]
except Exception:
    pass
else:
    raise SystemExit("it has data")
"#;
    python(&[&"-c", &script, &store]);
    check(true, rab(&[&"unpack", &good, &store, &"--as", &"zarr", &"--force"]));
}

/// Whatever is wrong, the exit code says what, and no array that lacks something looks like one.
#[test]
fn unpacking_a_store_ends_with_the_code_of_what_is_wrong() {
    let script = r#"
import os, sys, numpy as np
os.chdir(sys.argv[1])
a, o = np.random.default_rng(4).random(400), np.array([{}, 1], object)
np.savez("good.npz", a=a)
np.savez("refused.npz", a=a, o=o)
def damage(name, **arrays):
    np.savez_compressed(name, **arrays)
    data = bytearray(open(name, "rb").read())
    # In the elements of the first, which cannot be made much shorter.
    data[2000] ^= 1
    open(name, "wb").write(data)
damage("damaged.npz", a=a, b=a[:3])
damage("both.npz", a=a, o=o)
open("text.npz", "w").write("no container")
open("taken", "w").write("a file")
"#;
    let dir = scratch();
    let at = |name: &str| dir.path().join(name);
    python(&[&"-c", &script, &dir.path()]);
    let onda = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/onda/test.onda.signal.arrow");
    std::fs::copy(onda, at("missing.onda.signal.arrow")).unwrap();
    let whole = (".zmetadata", true);
    let partly = (".zmetadata", false);
    for (file, more, code, outcome, (name, is_there)) in [
        ("good.npz", &[][..], 0, "", whole),
        ("good.npz", &["a"], 0, "", whole),
        ("damaged.npz", &[], 12, "dataset \"a\"", partly),
        ("damaged.npz", &["b"], 0, "", whole),
        ("refused.npz", &[], 1, "dataset \"o\": it holds Python objects", whole),
        // The worst of them.
        ("both.npz", &[], 12, "dataset \"o\": it holds Python objects", partly),
        // The files of the samples are not there.
        ("missing.onda.signal.arrow", &[], 10, "int16_eeg.lpcm: dataset", whole),
        ("text.npz", &[], 11, "not a container of a known format", partly),
        ("nothing.npz", &[], 10, "cannot be opened", partly),
        ("good.npz", &["other"], 3, "has no dataset \"other\"", partly),
        ("good.npz", &["--jobs", "none"], 2, "--jobs", partly),
    ] {
        let store = at("store");
        let _ = std::fs::remove_dir_all(&store);
        let (file, words) = (at(file), more.iter().map(|word| word as &dyn AsRef<std::ffi::OsStr>));
        let mut arguments: Vec<&dyn AsRef<std::ffi::OsStr>> =
            vec![&"unpack", &"--as", &"zarr", &file, &store];
        arguments.extend(words);
        let found = rab(&arguments);
        assert!(found.code == code && found.err.contains(outcome), "{file:?} {more:?}: {found:?}");
        assert_eq!(store.join(name).is_file(), is_there, "{file:?} {more:?}: {found:?}");
        let lacks = ["damaged.npz", "both.npz"].iter().any(|bad| file.ends_with(bad)) && more.is_empty();
        assert!(!lacks || !store.join("a/.zarray").exists(), "{file:?}");
    }
    let good_file = at("good.npz");
    for (target, outcome) in [("taken", "taken"), ("good.npz", "good.npz")] {
        let found = rab(&[&"unpack", &"--as", &"zarr", &good_file, &at(target)]);
        assert!(found.code == 1 && found.err.contains(outcome), "{found:?}");
    }
}

#[test]
fn interrupted_it_announces_no_array() {
    let dir = scratch();
    let [file, store] = ["x.rab", "store"].map(|name| dir.path().join(name));
    let codec = |length: u64, count: u64| {
        [
            format!("byteLength: {length}"),
            "byteOffset: 0".into(),
            "byteOrder: C".into(),
            "endianness: little".into(),
            format!("shape: [{count}]"),
            "type: float32".into(),
        ]
    };
    let entry =
        |name: &str, length: u64| entry(name, &codec(length, length / 4).each_ref().map(String::as_str));
    let header = format!("\n{}\n", entry("a", 40) + &entry("big", 40 << 30));
    crate::kit::write_rab(&file, &header, &[7; 40]);
    let len = file.metadata().unwrap().len() - 40 + (40 << 30);
    std::fs::File::options().write(true).open(&file).unwrap().set_len(len).unwrap();
    let mut child = Command::new(RAB);
    child.arg("unpack").args([&file, &store]).args(["--as", "zarr"]);
    let child = child.stdin(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    eventually("chunks are written", || store.join("big/3").exists());
    kill(Pid::from_raw(child.id() as i32), Signal::SIGINT).unwrap();
    let ended = child.wait_with_output().unwrap();
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&ended.status), Some(2));
    let outcome = String::from_utf8(ended.stderr).unwrap();
    assert!(outcome.contains("store/big: is incomplete, so .zarray"), "{outcome}");
    let there = |name: &str| store.join(name).exists();
    assert!(there("a/.zarray") && there("big/.zattrs") && !there("big/.zarray") && !there(".zmetadata"));
}

#[test]
fn what_is_damaged_is_not_taken_for_something_else() {
    let dir = scratch();
    let file = dir.path().join("x.npz");
    let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/npz/small.npz");
    let mut raw = std::fs::read(samples).unwrap();
    let at = raw.windows(7).position(|bytes| bytes == b"'descr'").unwrap();
    raw[at + 1] = b'x';
    std::fs::write(&file, raw).unwrap();
    for (verb, name, options) in [
        ("cat", "grid", &[][..]),
        ("cat", "grid", &["--as", "npy"]),
        ("get", "grid[0]", &[]),
        ("get", "grid[0]", &["--as", "csv"]),
    ] {
        let mut words: Vec<&dyn AsRef<std::ffi::OsStr>> = vec![&verb, &file, &name];
        words.extend(options.iter().map(|option| option as &dyn AsRef<std::ffi::OsStr>));
        let outcome = rab(&words);
        assert!(
            outcome.code == 12 && outcome.err.contains("NPY header is invalid"),
            "{verb} {options:?}: {outcome:?}"
        );
    }
}

/// Not a dataset, but a file that the container derives.
#[test]
fn cat_prints_files_that_a_format_derives() {
    let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let cat =
        |sample: &str, name: &str, kind: &str| rab(&[&"cat", &samples.join(sample), &name, &"--as", &kind]);
    assert_eq!(cat("awkward/named_single.awkd", "only", "jsonl").out, "0\n1\n2\n");
    assert!(cat("awkward/table.awkd", "", "jsonl").out.starts_with("{\"x\":1,"));
    assert!(
        cat("onda/test.onda.signal.arrow", "tables/test.onda.signal", "jsonl")
            .out
            .starts_with("{\"sensor_type\"")
    );
    assert!(cat("ffrecord/n1.ffr", "records", "arrow").out.starts_with("ARROW1"));
    let (lines, table) = ("ffrecord/text_lines.ffr", "onda/test.onda.signal.arrow");
    assert!(cat(lines, "records", "csv").out.starts_with("data,crc32\nbGluZSAwOiBjYWbDqQ==,1235655400\n"));
    let first = "{\"data\":\"bGluZSAwOiBjYWbDqQ==\",\"crc32\":1235655400}\n";
    assert!(cat(lines, "records", "jsonl").out.starts_with(first));
    let text = cat(table, "tables/test.onda.signal", "csv").out;
    assert!(text.starts_with("sensor_type,channels,") && text.contains(r#"eeg,"[""fp1"",""f3"","#), "{text}");
    // The only one of its kind needs no name, also where arrays have the view.
    assert_eq!(good(&[&"cat", &sample(table), &"--as", &"csv"]), text);
    // Whatever characters are in its name, as it is and as a mount has it.
    let dir = scratch();
    let odd = dir.path().join("odd.awkd");
    let npy = dir.path().join("grid.npy");
    good(&[&"convert", &samples.join("npz/small.npz"), &npy, &"grid"]);
    good(&[&"convert", &npy, &odd, &"--name", &"100%/a"]);
    let lines = good(&[&"cat", &odd, &"100%/a", &"--as", &"jsonl"]);
    assert!(lines.lines().count() == 2, "{lines}");
    assert_eq!(good(&[&"cat", &odd, &"100%25/a", &"--as", &"jsonl"]), lines);
    let none = cat("awkward/table.awkd", "nope", "jsonl");
    assert!(none.code == 3 && none.err.contains("has no dataset \"nope\""), "{none:?}");
    let other = cat("awkward/named_single.awkd", "only/data", "jsonl");
    assert!(other.code == 2 && other.err.contains("which cannot be shown as jsonl"), "{other:?}");
}

fn sample(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

/// The files that `rab unpack --as` writes.
fn unpacked(words: &[&dyn AsRef<std::ffi::OsStr>]) -> Vec<String> {
    let dir = scratch();
    let out = dir.path().join("out");
    let outcome = rab(&[&[&"unpack" as &dyn AsRef<std::ffi::OsStr>, &words[0], &out], &words[1..]].concat());
    assert!(outcome.code == 0 || outcome.err.contains("--allow-url"), "{outcome:?}");
    let found = crate::kit::sh(r#"cd "$1" && find . -type f ! -name '*.meta.yaml' | sort"#, &[&out]);
    found.lines().map(|line| line.trim_start_matches("./").to_owned()).collect()
}

#[test]
fn unpack_writes_what_only_a_format_has() {
    let found = unpacked(&[&sample("ffrecord/text_lines.ffr"), &"--as", &"arrow"]);
    assert!(found.contains(&"records.arrow".into()) && found.iter().any(|name| name.starts_with("records/")));
    assert_eq!(
        unpacked(&[&sample("ffrecord/text_lines.ffr"), &"records", &"--as", &"arrow"]),
        ["records.arrow"]
    );
    assert!(
        unpacked(&[&sample("awkward/named_single.awkd"), &"--as", &"jsonl"]).contains(&"only.jsonl".into())
    );
    let table = "tables/test.onda.signal.jsonl";
    let onda = sample("onda/test.onda.signal.arrow");
    assert!(unpacked(&[&onda, &"--as", &"jsonl"]).contains(&table.into()));
    let both = unpacked(&[&onda, &"--as", &"csv"]);
    let signal = "b14d2c6d-8d84-4e46-824f-5c5d857215b4/eeg.csv";
    assert!(
        both.contains(&"tables/test.onda.signal.csv".into()) && both.contains(&signal.into()),
        "{both:?}"
    );
    assert_eq!(unpacked(&[&sample("ffrecord/text_lines.ffr"), &"records", &"--as", &"csv"]), ["records.csv"]);
    assert_eq!(unpacked(&[&onda, &"tables/*", &"--as", &"jsonl"]), [table]);
    // What is below a directory of which nothing else is wanted.
    assert_eq!(unpacked(&[&onda, &"tables/test.onda.signal", &"--as", &"jsonl"]), [table]);
    for (file, name, kind) in [
        ("ffrecord/text_lines.ffr", "records", "csv"),
        ("awkward/multi_names.awkd", "one", "jsonl"),
        ("onda/test.onda.signal.arrow", "tables/test.onda.signal", "csv"),
    ] {
        let (get, cat) = (
            good(&[&"get", &sample(file), &name, &"--as", &kind]),
            good(&[&"cat", &sample(file), &name, &"--as", &kind]),
        );
        assert!(!get.is_empty() && get == cat, "{file}: {get} {cat}");
    }
    let dir = scratch();
    let none = rab(&[&"unpack", &onda, &dir.path().join("x"), &"nothing*", &"--as", &"jsonl"]);
    assert!(none.code == 3 && none.err.contains("has no dataset \"nothing*\""), "{none:?}");
}

#[test]
fn the_header_is_a_view_of_containers_that_have_one() {
    let whole = std::fs::read(data("readme.rab")).unwrap();
    let len = u32::from_le_bytes(whole[3..7].try_into().unwrap()) as usize;
    let header = std::str::from_utf8(&whole[7..7 + len]).unwrap();
    assert_eq!(rab(&[&"cat", &data("readme.rab"), &"--as", &"header"]).out, header);
    assert!(unpacked(&[&data("readme.rab"), &"--as", &"header"]).contains(&"header.yaml".into()));
    let dir = scratch();
    for words in [
        &[&"cat" as &dyn AsRef<std::ffi::OsStr>, &sample("npz/small.npz"), &"--as", &"header"][..],
        &[&"unpack", &sample("npz/small.npz"), &dir.path().join("out"), &"--as", &"header"],
    ] {
        let outcome = refused(words);
        assert!(outcome.contains("small.npz: NPZ has no header to show"), "{outcome}");
    }
    let outcome = refused(&[&"cat", &data("readme.rab"), &"my first array", &"--as", &"header"]);
    assert!(outcome.contains("which cannot be shown as header"), "{outcome}");
    let outcome = refused(&[&"cat", &data("readme.rab"), &"--as", &"npy"]);
    assert!(outcome.contains("the name of a dataset is needed"), "{outcome}");
}
