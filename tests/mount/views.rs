//! Views of datasets: `.views`, its NPY files as numpy opens them, and mounts that list a view.

use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;

use crate::kit::*;

/// How many NPY views numpy has opened.
fn checked(mount: &Path) -> usize {
    python(&[&"check_npy_views.py", &mount]).trim().parse().unwrap()
}

#[test]
fn numpy_opens_the_views_of_every_sample() {
    let mount = Mount::new(&data(""));
    let count = checked(&mount.path);
    assert_eq!(mount.log(), "");
    assert!(count > 70, "{count}");
    for (folder, least) in [("c", 5), ("python", 5), ("handmade", 1), ("rust", 1), ("trailer", 1)] {
        let mount = Mount::new(&rawarray(folder));
        let count = checked(&mount.path);
        assert!(count >= least, "{folder}: {count}");
    }
}

#[test]
fn views_are_there_and_not_listed() {
    let mount = Mount::new(&data("names.rab"));
    assert!(!mount.names().contains(&".views".to_owned()) && mount.join(".views").is_dir());
    // A dataset of that name is escaped.
    assert!(mount.join("%2Eviews").exists());
    assert!(names(&mount.join(".views")).contains(&"npy".to_owned()));
    assert!(mount.read(".views/npy/nothing.npy").is_err() && mount.read(".views/other").is_err());
    assert!(std::fs::write(mount.join(".views/npy/new.npy"), "x").is_err());
    let found = sh(r#"find "$1" -name .views"#, &[&mount.path]);
    assert_eq!(found, "");
}

#[test]
fn what_a_format_has_there_is_there_too() {
    let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/ffrecord/variable_50.ffr");
    let mount = Mount::new(&sample);
    let kinds = names(&mount.join(".views"));
    assert!(kinds.contains(&"npy".to_owned()) && kinds.contains(&"table".to_owned()), "{kinds:?}");
    assert!(!mount.read(".views/table/data.npy").unwrap().is_empty());
    // Records are no arrays.
    assert_eq!(names(&mount.join(".views/npy")), ["records"]);
    assert_eq!(names(&mount.join(".views/npy/records")), [""; 0]);
}

#[test]
fn directories_have_views_at_their_root_and_in_each_container() {
    let dir = scratch();
    std::fs::create_dir(dir.path().join("sub")).unwrap();
    std::fs::copy(data("readme.rab"), dir.path().join("x.rab")).unwrap();
    std::fs::copy(data("orders.rab"), dir.path().join("sub/y.rab")).unwrap();
    std::fs::write(dir.path().join("notes.txt"), "notes").unwrap();
    for options in [&[][..], &["--max-open", "1"], &["--union"]] {
        let mount = Mount::with(dir.path(), options);
        let npy = "my second array.npy";
        let want = mount.read(format!("x.rab/.views/npy/{npy}")).unwrap();
        assert_eq!(mount.read(format!(".views/npy/x.rab/{npy}")).unwrap(), want);
        assert_eq!(names(&mount.join(".views/npy")), ["sub", "x.rab"]);
        assert!(!mount.join("sub/.views").exists() && mount.join("sub/y.rab/.views").is_dir());
        assert!(!names(&mount.path).contains(&".views".to_owned()));
        assert!(checked(&mount.path) > 6);
        let modified = std::fs::metadata(dir.path().join("x.rab")).unwrap().mtime();
        assert_eq!(
            std::fs::metadata(mount.join(format!("x.rab/.views/npy/{npy}"))).unwrap().mtime(),
            modified
        );
    }
    // Several sources, and one laid over the other.
    let both = [dir.path().join("x.rab"), dir.path().join("sub/y.rab")];
    let mount = scratch();
    let point = mount.path().join("mnt");
    for union in [false, true] {
        let mut command = program();
        command.args(union.then_some("--union")).args(&both).arg(&point);
        let outcome = run(&mut command);
        assert_eq!(outcome.code, 0, "{outcome:?}");
        let npy = if union { "my second array.npy" } else { "x.rab/my second array.npy" };
        assert!(point.join(".views/npy").join(npy).is_file(), "{union}");
        assert!(checked(&point) > 6);
        assert_eq!(run(program().arg("-u").arg(&point)).code, 0);
    }
}

#[test]
fn what_only_a_format_has_is_below_the_root_of_a_directory_too() {
    let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let dir = scratch();
    std::fs::create_dir_all(dir.path().join("sub/deep")).unwrap();
    std::fs::create_dir(dir.path().join("nothing")).unwrap();
    for (from, to) in [
        ("ffrecord/text_lines.ffr", "x.ffr"),
        ("ffrecord/packed_one_file.ffr", "sub/folder.ffr"),
        ("awkward/named_single.awkd", "sub/y.awkd"),
        ("onda/test.onda.signal.arrow", "sub/deep/z.onda.signal.arrow"),
        ("rab/readme.rab", "sub/r.rab"),
    ] {
        std::fs::copy(samples.join(from), dir.path().join(to)).unwrap();
    }
    let onda = samples.join("onda/samples");
    sh(r#"cp -r "$1" "$2""#, &[&onda, &dir.path().join("sub/deep/")]);
    let own = [
        ("x.ffr", "table"),
        ("sub/folder.ffr", "table"),
        ("sub/y.awkd", "blobs"),
        ("sub/deep/z.onda.signal.arrow", "decoded"),
        ("sub/deep/z.onda.signal.arrow", "channels"),
        ("sub/deep/z.onda.signal.arrow", "spans"),
    ];
    for options in [&[][..], &["--union"], &["--max-open", "1"]] {
        let mount = Mount::with(dir.path(), options);
        for (container, name) in own {
            let there = mount.join(container).join(".views").join(name);
            let below = mount.join(".views").join(name).join(container);
            let outcome = sh(r#"diff -r "$1" "$2" && find "$2" -type f | wc -l"#, &[&there, &below]);
            let files: usize = outcome.trim().parse().unwrap();
            assert!(files > 0 || name == "spans", "{container} {name}");
        }
        let listed = names(&mount.join(".views"));
        for name in ["table", "blobs", "decoded", "channels", "spans", "npy"] {
            assert_eq!(listed.iter().filter(|other| *other == name).count(), 1, "{name}: {listed:?}");
        }
        // What leads to nothing is not there.
        assert_eq!(names(&mount.join(".views/table")), ["nothing", "sub", "x.ffr"]);
        assert_eq!(names(&mount.join(".views/table/sub")), ["deep", "folder.ffr"]);
        for missing in ["other", "table/sub/r.rab", "blobs/x.ffr", "table/x.ffr/other", "sub/.views/table"] {
            assert!(!mount.join(".views").join(missing).exists(), "{missing}");
        }
        assert!(!mount.join("sub/r.rab/.views/table").exists() && !mount.join("sub/.views").exists());
        // Beside them are parts and other views, and the header where it is named as one.
        let part = mount.read(".views/table/x.ffr/offsets[:3].csv").unwrap();
        assert_eq!(part.iter().filter(|byte| **byte == b'\n').count(), 4);
        let header = mount.read(".views/header/sub/r.rab/header.yaml").unwrap();
        assert_eq!(header, mount.read("sub/r.rab/.views/header.yaml").unwrap());
    }
    // One that comes and goes.
    let mount = Mount::with(dir.path(), &["--refresh", "1"]);
    assert!(mount.join(".views/table/x.ffr/data").is_file());
    std::fs::remove_file(dir.path().join("x.ffr")).unwrap();
    eventually("it is gone", || !mount.join(".views/table/x.ffr").exists());
    std::fs::copy(samples.join("ffrecord/text_lines.ffr"), dir.path().join("sub/new.ffr")).unwrap();
    eventually("it is there", || names(&mount.join(".views/table/sub")).contains(&"new.ffr".to_owned()));
}

#[test]
fn a_replaced_container_has_new_views() {
    let dir = scratch();
    let path = dir.path().join("x.rab");
    let array = |count: u32| {
        let codec = [
            format!("byteLength: {}", 4 * count),
            "byteOffset: 0".into(),
            "byteOrder: C".into(),
            "endianness: little".into(),
            "shape:".into(),
            format!("- {count}"),
            "type: uint32".into(),
        ];
        let header = entry("a", &codec.iter().map(String::as_str).collect::<Vec<_>>());
        let new = dir.path().join("new");
        write_rab(&new, &header, &(0..count).flat_map(u32::to_le_bytes).collect::<Vec<_>>());
        std::fs::rename(new, &path).unwrap();
    };
    array(5);
    let mount = Mount::with(dir.path(), &["--refresh", "0"]);
    let view = mount.join(".views/npy/x.rab/a.npy");
    assert_eq!(std::fs::read(&view).unwrap().len(), 128 + 20);
    let open = std::fs::File::open(&view).unwrap();
    array(7);
    eventually("the view is another one", || std::fs::read(&view).is_ok_and(|read| read.len() == 128 + 28));
    let mut last = [0; 4];
    open.read_exact_at(&mut last, 128 + 16).unwrap();
    assert_eq!(last, [4, 0, 0, 0], "what is open stays what it is");
    std::fs::remove_file(&path).unwrap();
    eventually("it is gone", || !view.exists());
}

#[test]
fn damaged_datasets_are_input_errors_in_their_views() {
    fn codec(shape: &'static str, more: &[&'static str]) -> Vec<&'static str> {
        let lines = ["byteLength: 40", "byteOffset: 0", "byteOrder: C"];
        let last = ["endianness: little", shape, "type: float32"];
        [&lines[..], more, &last].concat()
    }
    let header = [
        entry("good", &codec("shape: [10]", &[])),
        entry("long", &codec("shape: [11]", &[])),
        entry("zip", &codec("shape: [100]", &["compression: gzip", "decodedLength: 400"])),
        bytes_entry("bytes", 0, 40),
    ];
    let (_dir, file) = rab(&format!("\n{}\n", header.concat()), &[7; 40]);
    let mount = Mount::new(&file);
    assert_eq!(mount.read(".views/npy/good.npy").unwrap().len(), 128 + 40);
    assert!(!mount.join(".views/npy/bytes.npy").exists());
    for bad in ["long", "zip"] {
        let error = mount.read(format!(".views/npy/{bad}.npy")).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::EIO), "{bad}");
    }
    let log = mount.log();
    assert_eq!(log.lines().count(), 2, "{log}");
}

/// numpy opens headers of up to 10,000 bytes by default.
#[test]
fn long_headers_are_not_made_longer_by_a_page() {
    let script = r#"
import sys, numpy as np
of = np.dtype([(f"column_with_a_long_name_{at:04}", "<f4") for at in range(210)])
array = np.arange(2000 * 210, dtype="<f4").view(of)
np.savez(sys.argv[1], array=array)
"#;
    let dir = scratch();
    let path = dir.path().join("wide.npz");
    python(&[&"-c", &script, &path]);
    let mount = Mount::new(&path);
    let script = "import sys, numpy as np
assert np.array_equal(np.load(sys.argv[1]), np.load(sys.argv[2])['array'])";
    python(&[&"-c", &script, &mount.join(".views/npy/array.npy"), &path]);
}

#[test]
fn many_elements_begin_on_a_page() {
    let floats = |len: usize| {
        let codec = format!("shape: [{}]", len / 4);
        let len = format!("byteLength: {len}");
        entry("a", &[&len, "byteOffset: 0", "byteOrder: C", "endianness: little", &codec, "type: float32"])
    };
    for (len, head) in [((1 << 20) - 4, 128), (1 << 20, 4096)] {
        let bytes: Vec<u8> = (0..len).map(|i| (i % 251) as u8).collect();
        let (_dir, file) = rab(&format!("\n{}\n", floats(len)), &bytes);
        let mount = Mount::new(&file);
        let view = mount.read(".views/npy/a.npy").unwrap();
        assert!(view.len() == head + len && view[head..] == bytes, "{len}");
        assert_eq!(checked(&mount.path), 1);
    }
}

#[test]
fn any_range_of_a_view_is_that_of_the_whole() {
    let mount = Mount::new(&data("gzip.rab"));
    let table = Mount::new(&data("dataframe.rab"));
    for path in [mount.join(".views/npy/array zlib.npy"), table.join(".views/npy/table gzip.npy")] {
        check_any_range(&path, 100);
    }
}

#[test]
fn a_mount_lists_the_requested_view() {
    let plain = Mount::new(&data("readme.rab"));
    for options in [&["--as", "npy"], &["-o", "as=npy"]] {
        let mount = Mount::with(&data("readme.rab"), options);
        let listed = mount.names();
        assert!(listed.contains(&"my second array.npy".to_owned()), "{listed:?}");
        assert!(!listed.contains(&"my second array".to_owned()), "{listed:?}");
        assert!(listed.contains(&"my second array.meta.yaml".to_owned()), "{listed:?}");
        assert!(listed.contains(&"Some text".to_owned()), "{listed:?}");
        assert_eq!(mount.read("my second array").unwrap(), plain.read("my second array").unwrap());
        let view = plain.read(".views/npy/my second array.npy").unwrap();
        assert_eq!(mount.read("my second array.npy").unwrap(), view);
        sh(r#"ls -l "$1" > /dev/null && cp -r "$1" "$2/copy""#, &[&mount.path, &scratch().path()]);
    }
    let dir = scratch();
    std::fs::copy(data("readme.rab"), dir.path().join("x.rab")).unwrap();
    std::fs::write(dir.path().join("notes.txt"), "notes").unwrap();
    let mount = Mount::with(dir.path(), &["--as", "npy"]);
    assert_eq!(mount.names(), ["notes.txt", "x.rab"]);
    assert!(names(&mount.join("x.rab")).contains(&"my second array.npy".to_owned()));
    let outcome = run(program().args(["--as", "tiff"]).arg(data("readme.rab")).arg(dir.path().join("mnt")));
    assert!(outcome.code == 2 && outcome.err.contains("npy"), "{outcome:?}");
}

/// How many parts of arrays are as numpy cuts them.
fn slices(mount: &Path, count: usize) -> usize {
    python(&[&"check_slices.py", &mount, &count.to_string()]).trim().parse().unwrap()
}

#[test]
fn parts_are_those_that_numpy_cuts() {
    let mount = Mount::new(&data(""));
    let count = slices(&mount.path, 8);
    assert!(count > 500, "{count}");
    assert_eq!(mount.log(), "");
    let mount = Mount::new(&rawarray("python"));
    assert!(slices(&mount.path, 5) > 20);
}

#[test]
fn rows_of_tables_are_parts_too() {
    let script = r#"
import os, sys
import numpy as np, pyarrow as pa
views = os.path.join(sys.argv[1], ".views")
view = lambda kind, name: os.path.join(views, kind, f"{name}.{kind}")
lines = lambda kind, name: open(view(kind, name)).read().splitlines()
arrow = lambda name: pa.ipc.open_file(pa.memory_map(view("arrow", name))).read_all().to_pandas()
for name in sys.argv[2:]:
    for index in "2:10", "::-7", "5:5", "-3:", "...", "49:0:-3":
        part, cut = f"{name}[{index}]", lambda rows: eval(f"rows[{index}]")
        want = np.load(view("npy", name))
        want = want if index == "..." else cut(want)
        got = np.load(view("npy", part))
        assert got.dtype == want.dtype and np.array_equal(got, want), part
        every = cut if index != "..." else list
        assert lines("jsonl", part) == every(lines("jsonl", name)), part
        whole = lines("csv", name)
        assert lines("csv", part) == whole[:1] + every(whole[1:]), part
        frame = arrow(name)
        frame = frame if index == "..." else frame.iloc[eval(f"np.s_[{index}]")]
        assert arrow(part).equals(frame.reset_index(drop=True)), part
"#;
    let mount = Mount::new(&data("dataframe.rab"));
    python(&[&"-c", &script, &mount.path, &"table", &"table gzip"]);
    assert_eq!(mount.log(), "");
    // What was bool is that, whatever it is stored as.
    let column = "columnInfo: [{encodingType: uint8, key: b, originalType: bool}, {encodingType: uint8, key: n, originalType: uint8}]";
    let codec = ["byteLength: 4", "byteOffset: 0", column, "rows: 2", "type: dataframe"];
    let (_dir, file) = rab(&format!("\n{}\n", entry("t", &codec)), &[1, 0, 7, 8]);
    let bools = Mount::new(&file);
    let types = "import sys, numpy as np; a = np.load(sys.argv[1]); assert a.dtype == [('b', '?'), ('n', 'u1')] and a.tolist() == [(True, 7), (False, 8)], a";
    python(&[&"-c", &types, &bools.join(".views/npy/t.npy")]);
    // A number is a row, and names are columns.
    let part = "import sys, numpy as np; a, b = map(np.load, sys.argv[1:]); assert (a == b[3:4][['small', 'x']]).all() and a.dtype.names == ('small', 'x')";
    python(&[
        &"-c",
        &part,
        &mount.join(".views/npy/table[3, small, x].npy"),
        &mount.join(".views/npy/table.npy"),
    ]);
    assert!(!mount.join(".views/npy/table[50].npy").exists());
    assert!(mount.log().contains("[50]: index 50 is out of bounds"), "{}", mount.log());
}

#[test]
fn a_wrong_index_has_no_file_and_is_logged() {
    let mount = Mount::new(&data("readme.rab"));
    let path = |index: &str| mount.join(format!(".views/npy/my second array[{index}].npy"));
    assert_eq!(std::fs::read(path("1, ::2")).unwrap().len(), 128 + 16);
    assert!(!names(&mount.join(".views/npy")).iter().any(|name| name.contains('[')));
    for (index, why) in [
        ("5", "index 5 is out of bounds"),
        ("1, 2, 3", "the index has 3 axes, the array 2"),
        ("None", "adds an axis"),
        ("1:2:0", "the step of"),
        ("x", "is not an index"),
        ("", "an index is empty"),
    ] {
        let error = std::fs::read(path(index)).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::ENOENT), "{index}");
        sh(r#"! ls -l "$1" 2> /dev/null"#, &[&path(index)]);
        assert_eq!(mount.log().matches(why).count(), 1, "{why:?} is not once in {}", mount.log());
    }
    assert!(mount.log().contains("readme.rab: dataset \"my second array\": [5]: "), "{}", mount.log());
    // Some parts are in views that do not show the whole, and the other way round.
    assert!(mount.join(".views/csv/my second array[1:2].csv").is_file());
    assert!(!mount.join(".views/csv/my second array[1, 2].csv").exists());
    assert!(mount.log().contains("[1, 2]: such a part cannot be shown as csv"), "{}", mount.log());
    let types = Mount::new(&data("types.rab"));
    assert!(!types.join(".views/csv/bool gzip.csv").exists());
    assert!(types.join(".views/csv/bool gzip[0].csv").is_file());
    // Datasets that the view does not show have no parts there, and parts have no parts.
    assert!(!mount.join(".views/npy/Some text[0].npy").exists());
    assert!(!path("0][0").exists());
}

#[test]
fn datasets_that_look_like_parts_win_over_them() {
    let array = |name: &str, at: u32| {
        let (offset, name) = (format!("byteOffset: {at}"), format!("'{name}'"));
        let codec =
            ["byteLength: 8", &offset, "byteOrder: C", "endianness: little", "shape: [2]", "type: uint32"];
        entry(&name, &codec)
    };
    let header = [array("v", 0), array("v[0]", 8), array("v[1].npy", 16), bytes_entry("w", 0, 4)].concat();
    let data: Vec<u8> = (0..6u32).flat_map(u32::to_le_bytes).collect();
    let (_dir, file) = rab(&format!("\n{header}\n"), &data);
    let last = |mount: &Mount, path: &str| mount.read(path).unwrap().last_chunk::<4>().unwrap()[0];
    let mount = Mount::new(&file);
    assert_eq!(last(&mount, ".views/npy/v[0].npy"), 3, "the dataset, all of it");
    assert_eq!(last(&mount, ".views/npy/v[1].npy"), 1);
    assert_eq!(last(&mount, ".views/npy/v[0][0].npy"), 2);
    assert_eq!(last(&mount, ".views/npy/v[1].npy.npy"), 5);
    let mount = Mount::with(&file, &["--as", "npy"]);
    assert_eq!(last(&mount, "v[0].npy"), 3);
    assert_eq!(last(&mount, "v[-1].npy"), 1);
    // The name of a dataset wins, also where it is not listed.
    assert_eq!(mount.read("v[1].npy").unwrap().len(), 8);
    assert_eq!(mount.names().len(), 8);
}

#[test]
fn extended_attributes_say_what_a_dataset_is() {
    let script = r#"
import os, sys
at = lambda path: {name: os.getxattr(path, name).decode() for name in os.listxattr(path)}
root = sys.argv[1]
got = at(root + "/my second array")
assert {k: got[k] for k in ("user.dtype", "user.shape", "user.order", "user.format")} == {
    "user.dtype": "<f8", "user.shape": "[5, 3]", "user.order": "C", "user.format": "RAB"}, got
first = at(root + "/my first array")
assert first["user.dtype"] == "<i4" and first["user.compression"], first
assert at(root + "/.views/npy/my second array[1].npy")["user.shape"] == "[3]"
assert at(root + "/Some text") == {k: v for k, v in at(root + "/Some text").items() if k in
    ("user.format", "user.compression", "user.checksum")}
assert at(root) == {} and at(root + "/Some text.meta.yaml") == {}
try:
    os.getxattr(root + "/Some text", "user.none")
except OSError as e:
    assert e.errno == 61, e
else:
    raise AssertionError("an attribute that nobody has")
"#;
    let mount = Mount::with(&data("readme.rab"), &["--xattr"]);
    python(&[&"-c", &script, &mount.path]);
    let plain = Mount::new(&data("readme.rab"));
    let none = r#"
import os, sys
try:
    assert os.listxattr(sys.argv[1]) == []
except OSError as e:
    assert e.errno == 95, e
"#;
    python(&[&"-c", &none, &plain.join("Some text")]);
    let dir = scratch();
    std::fs::copy(data("readme.rab"), dir.path().join("x.rab")).unwrap();
    let units = entry(
        "u",
        &[
            "byteLength: 8",
            "byteOffset: 0",
            "byteOrder: C",
            "endianness: little",
            "shape: [2]",
            "type: float32",
        ],
    );
    write_rab(&dir.path().join("u.rab"), &units.replace("metadata: {}", "metadata: {units: mV}"), &[0; 8]);
    let mount = Mount::with(dir.path(), &["-o", "xattr"]);
    python(&[&"-c", &script, &mount.join("x.rab")]);
    let script = "import os, sys; assert os.getxattr(sys.argv[1], 'user.units') == b'mV'";
    python(&[&"-c", &script, &mount.join("u.rab/u")]);
}

/// In the root of a directory, and listed instead of datasets.
#[test]
fn files_that_a_format_derives_are_beside_those_of_datasets() {
    let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let dir = scratch();
    std::fs::create_dir(dir.path().join("sub")).unwrap();
    for (from, to) in [
        ("ffrecord/text_lines.ffr", "text_lines.ffr"),
        ("awkward/named_single.awkd", "sub/named_single.awkd"),
        ("rab/dataframe.rab", "dataframe.rab"),
    ] {
        std::fs::copy(samples.join(from), dir.path().join(to)).unwrap();
    }
    let files = |mount: &Mount, below: &str| {
        let outcome =
            sh(r#"cd "$1/$2" && find . -type f ! -name '*.yaml' -name '*.*' | sort"#, &[&mount.path, &below]);
        outcome.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let (only, tables) = ("./sub/named_single.awkd/only.jsonl", ["blank text", "table gzip", "table"]);
    let tables = |kind: &str| tables.map(|name| format!("./dataframe.rab/{name}.{kind}"));
    let mount = Mount::new(dir.path());
    let plain = mount.read("sub/named_single.awkd/.views/jsonl/only.jsonl").unwrap();
    let records = mount.read("text_lines.ffr/.views/arrow/records.arrow").unwrap();
    assert!(plain == b"0\n1\n2\n" && records.starts_with(b"ARROW1"));
    let all = |kind: &str, others: &[&str]| {
        let records = format!("./text_lines.ffr/records.{kind}");
        [&tables(kind)[..], &others.iter().map(|name| name.to_string()).collect::<Vec<_>>(), &[records]]
            .concat()
    };
    assert_eq!(files(&mount, ".views/jsonl"), all("jsonl", &[only]));
    assert_eq!(files(&mount, ".views/arrow"), all("arrow", &[]));
    let arrays = files(&mount, ".views/csv");
    assert_eq!(
        arrays.iter().filter(|name| !name.contains("awkd")).cloned().collect::<Vec<_>>(),
        all("csv", &[])
    );
    assert!(arrays.contains(&"./sub/named_single.awkd/only/data.csv".to_owned()), "{arrays:?}");
    assert_eq!(mount.read(".views/arrow/text_lines.ffr/records.arrow").unwrap(), records);
    let shown = Mount::with(dir.path(), &["--as", "jsonl"]);
    assert_eq!(files(&shown, ""), all("jsonl", &[only]));
    assert_eq!(shown.read("sub/named_single.awkd/only.jsonl").unwrap(), plain);
    let shown = Mount::with(&dir.path().join("text_lines.ffr"), &["--as", "arrow"]);
    assert_eq!(files(&shown, ""), ["./records.arrow"]);
    assert_eq!(shown.read("records.arrow").unwrap(), records);
    // Rows of them are parts there too, in each place.
    let part = mount.read("text_lines.ffr/.views/arrow/records[2:5].arrow").unwrap();
    assert!(part.starts_with(b"ARROW1") && part.len() < records.len());
    for place in [".views/arrow/text_lines.ffr", "text_lines.ffr/.views/arrow"] {
        assert_eq!(mount.read(format!("{place}/records[2:5].arrow")).unwrap(), part);
    }
    assert_eq!(shown.read("records[2:5].arrow").unwrap(), part);
    let whole = mount.read(".views/csv/text_lines.ffr/records.csv").unwrap();
    let last = mount.read(".views/csv/text_lines.ffr/records[-1:].csv").unwrap();
    assert!(last.starts_with(b"data,crc32\n") && whole.ends_with(&last[11..]), "{last:?}");
    assert_eq!(shown.read("records[2].arrow").unwrap(), shown.read("records[2:3].arrow").unwrap());
    let checksums = mount.read(".views/csv/text_lines.ffr/records[crc32, -1].csv").unwrap();
    assert!(checksums.starts_with(b"crc32\n") && last.ends_with(&checksums[6..]), "{checksums:?}");
    assert!(shown.read("records[crc].arrow").is_err());
    assert!(shown.log().contains("[crc]: has no column \"crc\""), "{}", shown.log());
    assert!(shown.read("records/0").is_ok() && shown.read("other.arrow").is_err());
    // Also in directories that datasets have.
    let table = samples.join("onda/test.onda.signal.arrow");
    let (plain, shown) = (Mount::new(&table), Mount::with(&table, &["--as", "jsonl"]));
    let name = "tables/test.onda.signal.jsonl".to_owned();
    assert_eq!(files(&shown, ""), [format!("./{name}")]);
    assert_eq!(shown.read(&name).unwrap(), plain.read(format!(".views/jsonl/{name}")).unwrap());
    assert!(shown.read("tables/other.jsonl").is_err());
    // Where arrays have the view too, both are there.
    let shown = Mount::with(&table, &["--as", "csv"]);
    let there = files(&shown, "");
    assert_eq!(there, files(&plain, ".views/csv"));
    assert!(there.contains(&"./tables/test.onda.signal.csv".into()) && there.len() > 10, "{there:?}");
    for name in there {
        assert_eq!(shown.read(&name).unwrap(), plain.read(format!(".views/csv/{name}")).unwrap());
    }
    assert!(plain.read(".views/csv/tables/other.csv").is_err());
    let above = Mount::with(table.parent().unwrap(), &["--as", "jsonl", "--only-containers"]);
    let inner = format!("./test.onda.signal.arrow/{name}");
    assert!(files(&above, "").contains(&inner), "{:?}", files(&above, ""));
}

/// The checksum of a ZIP member also covers the .npy header, so it is not the checksum of the array's bytes.
#[test]
fn a_checksum_of_other_bytes_is_no_attribute() {
    let script = r#"
import os, sys
of = lambda path: "user.checksum" in os.listxattr(os.path.join(sys.argv[1], path))
assert [of(path) for path in sys.argv[2:]] == [True] + [False] * (len(sys.argv) - 3), sys.argv
"#;
    let npz =
        Mount::with(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/npz/small.npz"), &["--xattr"]);
    let ffrecord = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/ffrecord/text_lines.ffr");
    let records = Mount::with(&ffrecord, &["--xattr"]);
    let first = names(&records.join("records")).remove(0);
    let record = records.join("records").join(first);
    python(&[&"-c", &script, &npz.path, &record, &"grid", &".views/npy/grid.npy"]);
}

#[test]
fn the_header_of_a_rab_file_is_there_as_it_is() {
    for name in ["readme.rab", "readme_json.rab", "no_datasets.rab"] {
        let mount = Mount::new(&data(name));
        let whole = std::fs::read(data(name)).unwrap();
        let len = u32::from_le_bytes(whole[3..7].try_into().unwrap()) as usize;
        assert_eq!(mount.read(".views/header.yaml").unwrap(), whole[7..7 + len], "{name}");
        assert_eq!(std::fs::metadata(mount.join(".views/header.yaml")).unwrap().size(), len as u64);
        assert!(names(&mount.join(".views")).contains(&"header.yaml".to_owned()));
    }
    let mount = Mount::new(&data(""));
    let header = mount.read("types.rab/.views/header.yaml").unwrap();
    assert!(!header.is_empty());
    assert_eq!(mount.read(".views/header/types.rab/header.yaml").unwrap(), header);
    let shown = Mount::with(&data("types.rab"), &["--as", "header"]);
    assert_eq!(shown.read("header.yaml").unwrap(), header);
    let (name, plain) = ("header.yaml".to_owned(), Mount::new(&data("types.rab")));
    assert!(shown.names().contains(&name) && !plain.names().contains(&name));
    // Beside a dataset of that name.
    let entry = |name: &str| entry(name, &["byteLength: 1", "byteOffset: 0", "type: bytes"]);
    let (_dir, file) = rab(&format!("\n{}{}\n", entry("header.yaml"), entry("header.yaml~2")), b"x");
    let shown = Mount::with(&file, &["--as", "header"]);
    assert_eq!(shown.read("header.yaml").unwrap(), b"x");
    assert!(shown.read("header.yaml~3").unwrap().starts_with(b"\n- codecMeta:"));
    let listed = shown.names();
    for name in ["header.yaml", "header.yaml~2", "header.yaml~3"] {
        assert_eq!(listed.iter().filter(|listed| *listed == name).count(), 1, "{listed:?}");
    }
    assert!(std::fs::metadata(shown.join("header.yaml~4")).is_err());
    let npz = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/npz/small.npz");
    let mount = Mount::new(&npz);
    assert!(!names(&mount.join(".views")).contains(&"header".to_owned()));
    assert!(std::fs::metadata(mount.join(".views/header")).is_err());
    let dir = scratch();
    let outcome = run(std::process::Command::new(PROGRAM).args(["--as", "header"]).arg(&npz).arg(dir.path()));
    assert!(outcome.code == 2 && outcome.err.contains("small.npz: NPZ has no header to show"), "{outcome:?}");
}
