//! `rab get`: parts of arrays as numpy sees them, and as it prints them.

use std::path::Path;

use crate::kit::{bytes_entry, data, entry, python, rab as write, scratch};
use crate::{RAB, good, rab};

/// Compares `rab get` with numpy for every array of a sample (read with the independent reader) and many indexes.
const COMPARE: &str = r#"
import io, json, math, subprocess, sys
import numpy as np
import random, zlib, gzip
program, path, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
rng = random.Random(7)
raw = open(path, "rb").read()
infos = [json.loads(l) for l in subprocess.check_output([program, "info", "--json", path, "*"]).splitlines()]

def get(what, *options):
    return subprocess.check_output([program, "get", *options, "--", path, what])

def index(shape):
    def one(n):
        bound = lambda: rng.choice(["", str(rng.randint(-n - 2, n + 2))])
        kinds = ["slice"] * 3 + (["at"] if n else [])
        if rng.choice(kinds) == "at":
            return str(rng.randrange(-n, n))
        return f"{bound()}:{bound()}:{rng.choice(['', '1', '2', '-1', '-3', '50'])}"
    items = [one(n) for n in shape][: rng.randint(1, len(shape))]
    if rng.random() < .2:
        items.append("...")
    return ", ".join(items)

done = 0
for info in infos:
    if info["shape"] is None:
        continue
    data = raw[info["offset"]:info["offset"] + info["stored"]]
    if info["compression"]:
        data = gzip.decompress(data) if data[:2] == b"\x1f\x8b" else zlib.decompress(data)
    a = np.frombuffer(data, info["dtype"]).reshape(info["shape"], order=info["order"])
    name = info["name"]
    for expression in [None] + ([index(a.shape) for _ in range(count)] if a.ndim else ["..."]):
        what = name if expression is None else f"{name}[{expression}]"
        want = a if expression is None else eval(f"a[{expression}]")
        got = np.load(io.BytesIO(get(what, "--as", "npy")))
        assert got.dtype == a.dtype and got.shape == want.shape, (what, got.dtype, got.shape, want.shape)
        assert got.tobytes() == want.tobytes(), what
        assert get(what, "--as", "raw") == want.tobytes(), what
        text, shown = get(what).decode(), str(want) + "\n"
        for a_line, b_line in zip(text.splitlines(), shown.splitlines()):
            assert a_line == b_line, f"{what}\n{a_line}\n{b_line}"
        assert len(text) == len(shown), what
        done += 1
print(done)
"#;

fn compare(sample: &str, count: &str) -> u32 {
    compare_with_numpy(&data(sample), count)
}

/// How many parts of its arrays are as numpy has them.
pub fn compare_with_numpy(container: &Path, count: &str) -> u32 {
    python(&[&"-c", &COMPARE, &RAB, &container, &count]).trim().parse().unwrap()
}

#[test]
fn every_type_and_byte_order() {
    assert!(compare("types.rab", "2") > 60);
}

#[test]
fn every_layout_of_the_bytes() {
    assert!(compare("orders.rab", "25") > 100);
}

#[test]
fn compressed_arrays() {
    assert!(compare("gzip.rab", "8") > 10);
    compare("readme.rab", "8");
}

#[test]
fn arrays_without_elements_and_without_axes() {
    assert!(compare("empty_arrays.rab", "4") > 5);
}

/// A container with the array `x` of these float64 values.
fn floats(values: &[f64]) -> (tempfile::TempDir, std::path::PathBuf) {
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    let (length, shape) = (format!("byteLength: {}", bytes.len()), format!("shape: [{}]", values.len()));
    let codec = [&length, "byteOffset: 0", "byteOrder: C", "endianness: little", &shape, "type: float64"];
    write(&entry("x", &codec), &bytes)
}

#[test]
fn floating_point_numbers_are_printed_as_numpy_does() {
    let rows: [&[f64]; 9] = [
        &[1.0, 2.5, -3.25],
        &[0.1, 0.123456789123, 100.0],
        &[1e8, 1.0],
        &[1e-5, 1.5],
        &[f64::NAN, 1.0, f64::INFINITY],
        &[f64::NAN, f64::NEG_INFINITY],
        &[1e300, -2.123456789123e-7, f64::NAN],
        &[0.0, -0.0],
        &[123456.789, 1e5],
    ];
    for row in rows {
        let (_dir, file) = floats(row);
        let literal = format!("{row:?}").replace("NaN", "np.nan").replace("inf", "np.inf");
        let numpy = python(&[&"-c", &format!("import numpy as np; print(np.array({literal}))")]);
        assert_eq!(good(&[&"get", &file, &"x"]), numpy);
        for (at, _) in row.iter().enumerate() {
            let numpy = python(&[&"-c", &format!("import numpy as np; print(np.array({literal})[{at}])")]);
            assert_eq!(good(&[&"get", &file, &format!("x[{at}]")]), numpy);
        }
    }
}

/// 24 Mi elements out of a small file.
#[test]
fn what_is_printed_in_full_is_never_whole_in_memory() {
    let dir = crate::kit::scratch();
    let script = "import sys, numpy as np; np.savez_compressed(sys.argv[1], x=np.zeros((3, 1 << 23), 'u1'))";
    let file = dir.path().join("x.npz");
    python(&[&"-c", &script, &file]);
    for (options, bytes) in [(&["--json"][..], 3 * (1 << 24) + 3 * 2 + 2), (&["--as", "raw"], 3 << 23)] {
        let script = "ulimit -v 400000; \"$@\" | wc -c; exit ${PIPESTATUS[0]}";
        let mut command = std::process::Command::new("bash");
        command.args(["-c", script, "bash", RAB, "get"]).arg(&file).arg("x").args(options);
        let outcome = crate::kit::run(&mut command);
        assert_eq!((outcome.code, outcome.out.trim()), (0, &*bytes.to_string()), "{outcome:?}");
    }
}

/// 32 Mi lists out of no byte.
#[test]
fn lists_without_elements_come_to_an_end() {
    let empty = |shape: &str| {
        let shape = format!("shape: [{shape}]");
        let codec =
            ["byteLength: 0", "byteOffset: 0", "byteOrder: C", "endianness: na", &shape, "type: uint8"];
        write(&entry("x", &codec), b"")
    };
    let (_dir, file) = empty("2, 0");
    assert_eq!(good(&[&"get", &file, &"x", &"--json"]), "[[],[]]\n");
    let (_dir, file) = empty("33554432, 0");
    let outcome = rab(&[&"get", &file, &"x", &"--json"]);
    assert_eq!((outcome.code, outcome.out.as_str()), (1, ""));
    assert!(
        outcome.err.contains("\"x\"") && outcome.err.contains("more than 16777216 empty lists"),
        "{}",
        outcome.err
    );
    assert_eq!(good(&[&"get", &file, &"x[:1]", &"--json"]), "[[]]\n");
}

#[test]
fn names_that_end_in_brackets() {
    let codec = |offset: u64| {
        let offset = format!("byteOffset: {offset}");
        ["byteLength: 2", &offset, "byteOrder: C", "endianness: na", "shape: [2]", "type: uint8"]
            .map(str::to_owned)
    };
    let entry = |name: &str, offset| entry(name, &codec(offset).each_ref().map(String::as_str));
    let (_dir, file) = write(&(entry("x", 0) + &entry("'x[0]'", 2)), &[5, 6, 7, 8]);
    assert_eq!(good(&[&"get", &file, &"x"]), "[5 6]\n");
    assert_eq!(good(&[&"get", &file, &"x[0]"]), "[7 8]\n");
    assert_eq!(good(&[&"get", &file, &"x[0][1]"]), "8\n");
    assert_eq!(good(&[&"get", &file, &"x[-1]"]), "6\n");
    let (_dir, file) = write(&(entry("x", 0) + &entry("\"x['y']\"", 2)), &[5, 6, 7, 8]);
    assert_eq!(good(&[&"get", &file, &"x['y']"]), "[7 8]\n");
    assert_eq!(good(&[&"get", &file, &"x['y'][1]"]), "8\n");
}

#[test]
fn impossible_requests_are_refused_with_the_reason() {
    let file = data("readme.rab");
    let fails = |what: &str, code: i32, says: &str| {
        let outcome = rab(&[&"get", &file, &what]);
        assert_eq!((outcome.code, outcome.out.as_str()), (code, ""), "{what}: {outcome:?}");
        assert!(outcome.err.starts_with("rab: ") && outcome.err.contains(says), "{what}: {}", outcome.err);
    };
    fails("my first array[5]", 2, "index 5 is out of bounds");
    fails("my first array[0,0,0]", 2, "the index has 3 axes, the array 2");
    fails("my first array[x]", 2, "is not an index");
    fails("my *array", 2, "matches 3 datasets");
    fails("Some text", 1, "is text, not an array: rab cat prints its bytes");
    fails("nothing[1]", 3, "has no dataset \"nothing\"");
}

#[test]
fn claims_of_damaged_arrays_take_no_memory() {
    let codec = [
        "byteLength: 4",
        "byteOffset: 0",
        "byteOrder: C",
        "endianness: little",
        "shape: [1000000000000]",
        "type: int32",
    ];
    let (_dir, file) = write(&(entry("x", &codec) + &bytes_entry("y", 0, 4)), b"data");
    let outcome = rab(&[&"get", &file, &"x"]);
    assert!(outcome.code == 12 && outcome.err.contains("dataset \"x\""), "{outcome:?}");
}

#[test]
fn texts_dates_and_structures_are_printed_as_numpy_does() {
    let dir = crate::kit::scratch();
    let file = dir.path().join("x.npz");
    let make = r#"
import sys, numpy as np
all = dict(
    spans=np.array([1, -200, "NaT", 30], "m8[s]"),
    dates=np.array(["2020-01-02", "NaT"], ">M8[D]"),
    nothing=np.array(["NaT"] * 2, "m8[s]"),
    true=np.array([True]),
    bools=np.array([[True, True], [True, True]]),
    mixed=np.array([True, False]),
    texts=np.array(["a\0b", "it's", 'say "x"', "'\"", "\\\n\t\x1b\x7f\xa0\u200b\U0001f600e\u0301"]),
    bytes=np.array([b"a\0b", b"it's", b"'\"", b"\xff\n"]),
    padded=np.array([(1, 2.5), (3, 4.0)], np.dtype([("a", "u1"), ("b", "f4")], align=True)),
    nested=np.array([(b"a\xff", ("2020-01-02", [[1.5, np.nan]]), "é", 2j)],
        [("s", "S3"), ("in", [("d", ">M8[D]"), ("l", "<f2", (1, 2))]), ("u", ">U3"), ("c", "c8")]),
    odd=np.frombuffer("a\ud800b\0\0".encode("utf-32-le", "surrogatepass"), "<U5"),
)
np.savez(sys.argv[1], **all)
for name, array in all.items():
    if name == "odd":
        print(repr(array[0]).removeprefix("np.str_(").removesuffix(")"))
    elif name == "nested":
        pass
    elif name == "padded":
        print("[(1, 2.5) (3, 4.0)]")
    else:
        print(array)
"#;
    let want = python(&[&"-c", &make, &file]);
    let names = ["spans", "dates", "nothing", "true", "bools", "mixed", "texts", "bytes", "padded"];
    let mut found: String = names.iter().map(|name| good(&[&"get", &file, name])).collect();
    found += &good(&[&"get", &file, &"odd[0]"]);
    assert_eq!(found, want);
    for (name, json) in [
        ("texts[:2]", r#"["a\u0000b","it's"]"#),
        ("texts[4]", "\"\\\\\\n\\t\\u001b\u{7f}\u{a0}\u{200b}\u{1f600}e\u{301}\""),
        ("bytes", r#"["a\u0000b","it's","'\"",{"__bytes_hex__":"ff0a"}]"#),
        ("odd", r#"[{"__bytes_hex__":"6100000000d80000620000000000000000000000"}]"#),
        ("true", "[true]"),
        ("padded", r#"[{"a":1,"b":2.5},{"a":3,"b":4.0}]"#),
        ("padded[1]", r#"{"a":3,"b":4.0}"#),
        (
            "nested",
            r#"[{"s":{"__bytes_hex__":"61ff"},"in":{"d":"2020-01-02","l":[[1.5,{"__float__":"nan"}]]},"u":"é","c":{"__complex__":[0.0,2.0]}}]"#,
        ),
    ] {
        assert_eq!(good(&[&"get", &file, &name, &"--json"]), format!("{json}\n"), "{name}");
    }
    // Names in each of many elements of a small file.
    let script = "import sys, numpy as np; np.savez_compressed(sys.argv[1], k=np.zeros(10**6, 'u1').view([('k' * 2000, 'u1')]))";
    python(&[&"-c", &script, &file]);
    let outcome = rab(&[&"get", &file, &"k", &"--json"]);
    let want = "dataset \"k\": as JSON 1000000 elements have more than 1073741824 bytes of names, which is the limit";
    assert!(outcome.code == 1 && outcome.out.is_empty() && outcome.err.contains(want), "{outcome:?}");
    good(&[&"get", &file, &"k[:9]", &"--json"]);
}

#[test]
fn tables_are_printed_as_rows() {
    let file = data("dataframe.rab");
    let get = |what: &str, options: &[&str]| {
        let mut all: Vec<&dyn AsRef<std::ffi::OsStr>> = vec![&"get", &file, &what];
        all.extend(options.iter().map(|option| option as &dyn AsRef<std::ffi::OsStr>));
        good(&all)
    };
    let whole = get("table", &[]);
    assert_eq!(whole, get("table", &["--as", "csv"]));
    assert_eq!((whole.lines().count(), whole.lines().next()), (51, Some("x,count,small,flag,label,wide")));
    assert_eq!(get("table[1:3]", &[]), get("table[1:3]", &["--as", "csv"]));
    assert_eq!(get("table[-1]", &[]).lines().nth(1), whole.lines().last());
    let column = |at: usize| -> Vec<String> {
        whole.lines().map(|line| line.split(',').nth(at).unwrap().to_owned()).collect()
    };
    let lines = |text: String| text.lines().map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(lines(get("table[count]", &[])), column(1));
    assert_eq!(lines(get("table['flag', 2:4]", &[])), [&column(3)[..1], &column(3)[3..5]].concat());
    let two = lines(get("table[::-1, small, x]", &[]));
    let last = whole.lines().last().unwrap().split(',').collect::<Vec<_>>();
    assert_eq!(two[1].split(',').collect::<Vec<_>>(), [last[2], last[0]]);
    let rows: Vec<serde_json::Value> = serde_json::from_str(&get("table[:2, count]", &["--json"])).unwrap();
    assert_eq!(rows, [serde_json::json!({"count": -7}), serde_json::json!({"count": 993})]);
    let outcome = rab(&[&"get", &file, &"table[cuont]"]);
    assert!(
        outcome.code == 2 && outcome.err.contains("has no column \"cuont\"; its columns are \"x\", "),
        "{outcome:?}"
    );
}

/// With this many cells, a mount reports a size without formatting them, and pads them to that size.
#[test]
fn csv_is_printed_without_padding_however_long_it_is() {
    let dir = crate::kit::scratch();
    let file = dir.path().join("x.npz");
    let make = "import sys, numpy as np
t = np.zeros(1_500_000, [('n', 'i8'), ('yes', '?'), ('x', 'f4')])
t['n'], t['x'][3:] = np.arange(len(t)), np.nan
np.savez(sys.argv[1], t=t, a=np.arange(-5, 2**22, dtype='i4'))";
    python(&[&"-c", &make, &file]);
    for (name, start) in
        [("t", "n,yes,x\n0,False,0.0\n1,False,0.0\n2,False,0.0\n3,False,NaN\n"), ("a", "#0\n-5\n-4\n")]
    {
        let text = good(&[&"get", &file, &name, &"--as", &"csv"]);
        assert!(text.starts_with(start) && !text.contains(' '), "{}", &text[..100]);
        assert_eq!(text.lines().count(), if name == "t" { 1_500_001 } else { (1 << 22) + 6 });
        assert!(text == good(&[&"cat", &file, &name, &"--as", &"csv"]));
    }
}

/// numpy has no arrays of more than 64 axes; RawArray may have 1024.
#[test]
fn arrays_of_many_axes_are_printed_or_refused() {
    let dir = scratch();
    let script = "import sys, struct, numpy as np\n\
        def npy(axes):\n\
        \x20   head = repr({'descr': '<i4', 'fortran_order': False, 'shape': (1,) * axes}).encode() + b'\\n'\n\
        \x20   return b'\\x93NUMPY\\x02\\0' + struct.pack('<I', len(head)) + head + b'\\7\\0\\0\\0'\n\
        import zipfile\n\
        with zipfile.ZipFile(sys.argv[1] + '/x.npz', 'w') as z:\n\
        \x20   for axes in 2, 64, 65, 60000: z.writestr(f'a{axes}.npy', npy(axes))\n\
        open(sys.argv[1] + '/x.ra', 'wb').write(struct.pack('<QQQQQQ', 0x7961727261776172, 0, 1, 4, 4, 1024)\n\
        \x20   + struct.pack('<1024Q', *[1] * 1024) + b'\\7\\0\\0\\0')";
    python(&[&"-c", &script, &dir.path()]);
    let npz = dir.path().join("x.npz");
    assert_eq!(good(&[&"get", &npz, &"a2"]), "[[7]]\n");
    assert_eq!(good(&[&"get", &npz, &"a64"]).matches('[').count(), 64);
    for name in ["a65", "a60000"] {
        let outcome = rab(&[&"get", &npz, &name]);
        assert!(outcome.code == 12 && outcome.err.contains("axes, and the limit is 64"), "{outcome:?}");
    }
    let outcome = rab(&[&"verify", &npz]);
    assert!(outcome.code == 12 && outcome.out.contains("it has 60000 axes"), "{outcome:?}");
    let ra = dir.path().join("x.ra");
    assert_eq!(good(&[&"get", &ra, &"x"]).matches('[').count(), 1024);
    let outcome = rab(&[&"convert", &ra, &dir.path().join("x.rab")]);
    assert!(
        outcome.code == 1 && outcome.err.contains("it has 1024 axes, and the limit is 64"),
        "{outcome:?}"
    );
}

#[test]
fn indices_that_are_names_of_fields_or_lack_a_bracket() {
    let dir = scratch();
    let file = dir.path().join("x.npz");
    let script = "import sys, numpy as np; np.savez(sys.argv[1], rec=np.array([(1, 2.5)], [('a', 'i4'), ('b', 'f8')]))";
    python(&[&"-c", &script, &file]);
    let outcome = rab(&[&"get", &file, &"rec[a]"]);
    assert!(
        outcome.code == 2 && outcome.err.contains("--as csv prints all fields as columns"),
        "{outcome:?}"
    );
    let outcome = rab(&[&"get", &file, &"rec[a"]);
    assert!(
        outcome.code == 2 && outcome.err.contains("\"rec[a\" has no closing bracket: rec[INDEX]"),
        "{outcome:?}"
    );
}
