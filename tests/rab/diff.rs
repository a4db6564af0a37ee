//! `rab diff`: differences are printed, one line each; equal values in different forms do not differ.

use std::path::{Path, PathBuf};

use ndarray::{Array2, ArrayView, IxDyn, arr1};
use rab::{Column, Compression, Endian, Order, Value, Writer};

use crate::kit::{TempDir, bytes_entry, data, python, rab as write, scratch};
use crate::{SAMPLES, good, rab};

fn written(dir: &TempDir, name: &str, fill: impl FnOnce(&mut Writer)) -> PathBuf {
    let path = dir.path().join(name);
    let mut writer = Writer::create(&path).unwrap();
    fill(&mut writer);
    writer.finish().unwrap();
    path
}

fn lines(code: i32, a: &Path, b: &Path, options: &[&str]) -> Vec<String> {
    let mut arguments: Vec<&dyn AsRef<std::ffi::OsStr>> = vec![&"diff", &a, &b];
    arguments.extend(options.iter().map(|option| option as &dyn AsRef<std::ffi::OsStr>));
    let outcome = rab(&arguments);
    assert_eq!((outcome.code, outcome.err.as_str()), (code, ""), "{outcome:?}");
    outcome.out.lines().map(str::to_owned).collect()
}

#[test]
fn every_sample_is_the_same_as_itself() {
    for sample in SAMPLES {
        let file = data(&format!("{sample}.rab"));
        assert_eq!(good(&[&"diff", &file, &file]), "");
    }
    // Three generations of the format's writer.
    assert_eq!(good(&[&"diff", &data("readme.rab"), &data("readme_flow.rab")]), "");
}

#[test]
fn how_it_is_stored_makes_no_difference() {
    let dir = scratch();
    let numbers = Array2::from_shape_fn((700, 900), |(i, j)| (i * 1000 + j) as f64 - 0.5);
    let special = arr1(&[f64::NAN, 0.0, f64::INFINITY]);
    let negated = arr1(&[-f64::NAN, -0.0, f64::INFINITY]);
    let ids: &[i64] = &[1, 2, 300];
    let store =
        |name: &str, order, endian, compression, special: &ndarray::Array1<f64>, table: &[Column<'_>]| {
            written(&dir, name, |writer| {
                writer
                    .add("numbers")
                    .order(order)
                    .endian(endian)
                    .compression(compression)
                    .array(numbers.view())
                    .unwrap();
                writer.add("special").array(special.view()).unwrap();
                writer.add("table").compression(compression).dataframe(table).unwrap();
            })
        };
    let table = [Column::new("id", ids), Column::new("text", &["a", "bc", ""])];
    let turned = [Column::new("text", &["a", "bc", ""]), Column::new("id", ids)];
    let plain = store("a.rab", Order::C, Endian::Little, Compression::None, &special, &table);
    for (order, endian) in [(Order::C, Endian::Big), (Order::F, Endian::Little), (Order::F, Endian::Big)] {
        for compression in [Compression::None, Compression::Zlib(1)] {
            let other = store("b.rab", order, endian, compression, &negated, &turned);
            assert!(lines(0, &plain, &other, &[]).is_empty(), "{order:?} {endian:?} {compression:?}");
        }
    }
}

#[test]
fn every_kind_of_difference_has_its_line() {
    let dir = scratch();
    let meta =
        |unit: &str| Value::map([("unit", unit.into()), ("list", vec![Value::from(1), 2.into()].into())]);
    let base = Array2::from_shape_fn((3, 4), |(i, j)| (i * 4 + j) as f32);
    let mut other = base.clone();
    other[[1, 2]] = 60.0;
    other[[2, 3]] = f32::NAN;
    let a = written(&dir, "a.rab", |writer| {
        writer.add("only a").text("").unwrap();
        writer.add("array").metadata(meta("mV")).array(base.view()).unwrap();
        writer.add("f").array(base.view()).unwrap();
        writer.add("type").array(arr1(&[1i32]).view()).unwrap();
        writer.add("shape").array(base.view()).unwrap();
        writer.add("text").text("hello").unwrap();
        writer.add("long").bytes(&b"hello"[..]).unwrap();
        writer.add("object").object(&Value::map([("a", 1.into()), ("b", 2.into())])).unwrap();
        writer.add("kind").text("x").unwrap();
        let columns =
            [Column::new("n", &[1i32, 2]), Column::new("t", &["x", "y"]), Column::new("gone", &[1i32, 2])];
        writer.add("table").dataframe(&columns).unwrap();
        writer.add("rows").dataframe(&columns).unwrap();
    });
    let b = written(&dir, "b.rab", |writer| {
        writer
            .add("array")
            .metadata(Value::map([
                ("unit", "V".into()),
                ("list", vec![1.into()].into()),
                ("new", true.into()),
            ]))
            .array(other.view())
            .unwrap();
        writer.add("f").order(Order::F).array(other.view()).unwrap();
        writer.add("type").array(arr1(&[1i64]).view()).unwrap();
        writer.add("shape").array(base.t()).unwrap();
        writer.add("text").text("help!").unwrap();
        writer.add("long").bytes(&b"hello world"[..]).unwrap();
        writer.add("object").object(&Value::map([("b", 3.into()), ("a", 1.into())])).unwrap();
        writer.add("kind").bytes(&b"x"[..]).unwrap();
        let columns = [Column::new("t", &["x", "yy"]), Column::new("n", &[1i32, 70_000])];
        writer.add("table").dataframe(&columns).unwrap();
        writer.add("rows").dataframe(&[Column::new("n", &[1i32])]).unwrap();
        writer.add("only b").text("").unwrap();
    });
    let (shown_a, shown_b) = (a.display(), b.display());
    let expected = [
        format!("only in {shown_a}: only a"),
        "array: metadata: list[1]: 2 -> nothing".into(),
        r#"array: metadata: unit: "mV" -> "V""#.into(),
        "array: metadata: new: nothing -> true".into(),
        "array: values: 2 of 12 differ, largest difference 54, first [1, 2]: 6.0 -> 60.0".into(),
        "f: values: 2 of 12 differ, largest difference 54, first [1, 2]: 6.0 -> 60.0".into(),
        "type: type: int32 -> int64".into(),
        "shape: shape: (3, 4) -> (4, 3)".into(),
        "text: bytes: the first that differs is 3: 0x6c -> 0x70".into(),
        "long: length: 5 -> 11".into(),
        "object: object: b: 2 -> 3".into(),
        "kind: type: text -> bytes".into(),
        "table: column n: values: 1 of 2 differ, largest difference 69998, first [1]: 2 -> 70000".into(),
        r#"table: column t: values: 1 of 2 differ, first [1]: "y" -> "yy""#.into(),
        format!("table: column gone: only in {shown_a}"),
        "rows: shape: (2, 3) -> (1, 1)".into(),
        format!("only in {shown_b}: only b"),
    ];
    assert_eq!(lines(1, &a, &b, &[]), expected);
    assert_eq!(lines(1, &a, &b, &["-q"]), [""; 0]);
    assert_eq!(lines(1, &a, &b, &["--no-meta", "a*"]), [&*expected[4]]);
    assert_eq!(lines(1, &a, &b, &["only*"]), [&*expected[0], &*expected[16]]);
    assert_eq!(rab(&[&"diff", &a, &b, &"nothing"]).code, 3);
}

#[test]
fn bytes_that_are_other_things_to_numpy_differ() {
    let dir = scratch();
    let [a, b] = ["a.npz", "b.npz"].map(|name| dir.path().join(name));
    let script = r#"
import sys, numpy as np
when, n = np.array(["2020-01-02", "NaT"], "M8[s]"), np.zeros(2, [("x", [("y", "<i2")])])
grid = np.arange(6).reshape(2, 3).astype("M8[s]")
other = np.asfortranarray(grid.astype(">M8[s]"))
other[1, 2] = 9
np.savez(sys.argv[1], grid=grid, layout=grid, same=when, unit=when, order=when, span=when, n=n)
np.savez(sys.argv[2], grid=other, layout=np.asfortranarray(grid).astype(">M8[s]"), same=when, unit=when.view("M8[ms]"), order=when.astype(">M8[s]"), span=when.view("m8[s]"), n=n)
"#;
    python(&[&"-c", &script, &a, &b]);
    let mut found = lines(1, &a, &b, &["--no-meta"]);
    found.sort();
    let to = |name: &str, other: &str| format!("{name}: type: <M8[s] -> {other}");
    let (five, nine) = ("1970-01-01T00:00:05", "1970-01-01T00:00:09");
    let grid = format!("grid: values: 1 of 6 differ, largest difference 4 s, first [1, 2]: {five} -> {nine}");
    assert_eq!(found, [grid, to("span", "<m8[s]"), to("unit", "<M8[ms]")]);
}

#[test]
fn structures_and_texts_are_compared_by_what_they_mean() {
    let dir = scratch();
    let [a, b] = ["a.npz", "b.npz"].map(|name| dir.path().join(name));
    let script = r#"
import sys, numpy as np
kept = np.dtype([("n", "u1"), ("x", "<f8"), ("d", "<M8[D]"), ("in", [("t", "<U2"), ("l", "<i2", (2, 3))])], align=True)
row = (1, np.nan, "2024-05-17", ("ab", [[1, 2, 3], [4, 5, 6]]))
filled = np.frombuffer(b"\7" * (2 * kept.itemsize), kept).copy()
plain = np.zeros(2, kept)
for name in kept.names:
    filled[name] = plain[name] = np.array([row, row], kept)[name]
other = plain.astype(np.dtype([(name, kept[name].newbyteorder(">")) for name in kept.names]))
other["x"] = -np.nan
other[1] = (1, 2.5, "NaT", ("ac", [[1, 2, 3], [4, 5, 9]]))
zero = np.array([(0.0, 7)], [("x", "<f8"), ("n", "<i4")])
negative = np.array([(-0.0, 7)], [("x", "<f8"), ("n", "<i4")])
near = np.array([(0.5, 6)], [("x", "<f8"), ("n", "<i4")])
words = np.array(["ab", "c", "ü"])
grid = np.array([["ab", "c"], ["d", "e"]])
nothing = dict(filled=plain, zero=zero, words=words, grid=grid)
same = dict(filled=filled, zero=negative, words=words.astype(">U2"), grid=np.asfortranarray(grid.astype(">U2")))
one = dict(nothing, names=np.array([(1, 2)], "<f4,<f4"), rows=plain, near=zero, text=words, bits=np.array([b"a", b"b"]), width=words)
two = dict(same, names=np.array([(1, 2)], [("f1", "<f4"), ("f0", "<f4")]), rows=other, near=near, text=np.array(["ab", "c", "it's"], ">U2"), bits=np.array([b"a", b"c"]), width=words.astype("U9"))
for path, arrays in zip(sys.argv[1:], [one, two]):
    np.savez(path, **arrays)
"#;
    python(&[&"-c", &script, &a, &b]);
    let found = |options: &[&str]| {
        let mut found = lines(1, &a, &b, &[&["--no-meta"], options].concat());
        found.sort();
        found
    };
    let row = |cells: &str| format!("rows: values: 1 of 2 differ, largest difference 3, first [1]: {cells}");
    let bits = "bits: values: 1 of 2 differ, first [1]: b'b' -> b'c'";
    let near = "near: values: 1 of 1 differ, largest difference 1, first [0]: (0.0, 7) -> (0.5, 6)";
    let names = "names: type: [('f0', '<f4'), ('f1', '<f4')] -> [('f1', '<f4'), ('f0', '<f4')]";
    let outcome = "text: values: 1 of 3 differ, first [2]: 'ü' -> 'it'";
    let rows = row(
        "(1, nan, '2024-05-17', ('ab', [[1, 2, 3], [4, 5, 6]])) -> (1, 2.5, 'NaT', ('ac', [[1, 2, 3], [4, 5, 9]]))",
    );
    let width = "width: type: <U2 -> <U9";
    assert_eq!(found(&[]), [bits, names, near, &rows, outcome, width]);
    assert_eq!(found(&["--atol", "1"]), [bits, names, &rows, outcome, width]);
}

#[test]
fn elements_of_every_size_are_compared_whole() {
    let dir = scratch();
    let [a, b] = ["a.npz", "b.npz"].map(|name| dir.path().join(name));
    let script = r#"
import sys, numpy as np
a, b = np.zeros(100_000, "V3"), np.zeros(100_000, "V3")
c, d = a.view("S3"), b.view("S3").copy()
bytes_of_b = b.view("u1")
bytes_of_b[256 << 10] = 1
d[-1] = b"end"
np.savez(sys.argv[1], bits=a, texts=c)
np.savez(sys.argv[2], bits=b, texts=d)
"#;
    python(&[&"-c", &script, &a, &b]);
    let at = (256 << 10) / 3;
    let bits = format!(r"bits: values: 1 of 100000 differ, first [{at}]: b'\x00\x00\x00' -> b'\x00\x01\x00'");
    let texts = "texts: values: 1 of 100000 differ, first [99999]: b'' -> b'end'";
    assert_eq!(lines(1, &a, &b, &["--no-meta"]), [bits.as_str(), texts]);
}

#[test]
fn dates_are_texts_and_none_is_near_to_nothing() {
    let dir = scratch();
    let [a, b] = ["a.npz", "b.npz"].map(|name| dir.path().join(name));
    let script = r#"
import sys, numpy as np
day, none = np.datetime64("2024-05-17"), np.datetime64("NaT")
span = np.array([1, 2, "NaT", 4], "m8[25s]")
for path, days, spans in (sys.argv[1], [none, day, none, day], span), (sys.argv[2], [none, none, day, day], span[[0, 3, 2, 3]]):
    days = np.array(days, "M8[D]")
    far = np.array([0, 9223372036854775807 if path == sys.argv[1] else 1, 2], "m8[25s]")
    np.savez(path, days=days, far=far, turned=np.asfortranarray(days.reshape(2, 2)) if path == sys.argv[1] else days.reshape(2, 2), spans=spans)
"#;
    python(&[&"-c", &script, &a, &b]);
    let found = |options: &[&str]| {
        let mut found = lines(1, &a, &b, &[&["--no-meta"], options].concat());
        found.sort();
        found
    };
    let days = "days: values: 2 of 4 differ, first [1]: 2024-05-17 -> NaT";
    let turned = "turned: values: 2 of 4 differ, first [0, 1]: 2024-05-17 -> NaT";
    let spans = "spans: values: 1 of 4 differ, largest difference 50 s, first [1]: 2 -> 4";
    // To the second, however far.
    let far = "far: values: 1 of 3 differ, largest difference 230584300921369395150 s, first [1]: 9223372036854775807 -> 1";
    assert_eq!(found(&[]), [days, far, spans, turned]);
    assert_eq!(found(&["--rtol", "1", "--atol", "1e30"]), [days, turned]);
    // What may be between two is in the unit that is printed, whatever a step is.
    assert_eq!(found(&["--atol", "49.9"]), [days, far, spans, turned]);
    assert_eq!(found(&["--atol", "50"]), [days, far, turned]);
}

#[test]
fn tolerances_are_those_of_numpy() {
    let dir = scratch();
    let store = |name: &str, values: &[f64]| {
        written(&dir, name, |writer| {
            writer.add("x").array(ArrayView::from_shape(IxDyn(&[values.len()]), values).unwrap()).unwrap()
        })
    };
    let (a, b) = (store("a.rab", &[100.0, 1.0]), store("b.rab", &[100.5, 1.0]));
    for (options, code) in [
        (&["--rtol", "0.01"][..], 0),
        (&["--rtol", "1e-3"], 1),
        (&["--atol", "0.5"], 0),
        (&["--atol", "0.4"], 1),
        (&["--atol", "0.4", "--rtol", "0.001"], 0),
        (&[], 1),
    ] {
        assert_eq!(lines(code, &a, &b, options).len(), code as usize, "{options:?}");
    }
    assert_eq!(rab(&[&"diff", &a, &b, &"--rtol=-1"]).code, 2);
    assert_eq!(rab(&[&"diff", &a, &b, &"--rtol=nan"]).code, 2);
}

#[test]
fn a_damaged_dataset_is_named_and_the_others_are_compared() {
    let (_a, whole) = write(&(bytes_entry("a", 0, 2) + &bytes_entry("b", 2, 2)), b"0123");
    let (_b, short) = write(&(bytes_entry("a", 0, 2) + &bytes_entry("b", 2, 9)), b"x123");
    let outcome = rab(&[&"diff", &"--json", &whole, &short]);
    let found: Vec<serde_json::Value> = serde_json::from_str(&outcome.out).unwrap();
    assert_eq!(
        (found[1]["name"].as_str(), found[1]["difference"].as_str()),
        (Some("b"), Some("unknown")),
        "{outcome:?}"
    );
    let outcome = rab(&[&"diff", &whole, &short]);
    assert_eq!((outcome.code, outcome.err.lines().count()), (12, 1), "{outcome:?}");
    assert!(outcome.err.contains("dataset \"b\"") && outcome.out.starts_with("a: bytes: "), "{outcome:?}");
    assert_eq!(rab(&[&"diff", &whole, &data("nothing.rab")]).code, 10);
}

#[test]
fn values_as_json_are_not_taken_for_texts() {
    let of = |metadata: &str| {
        let entry = bytes_entry("a", 0, 1).replace("metadata: {}", &format!("metadata: {metadata}"));
        assert!(entry.contains(metadata), "{entry}");
        write(&entry, b"0")
    };
    let (_a, a) = of("{f: .nan, t: 2020-01-02, b: !!binary AP8=, l: [.inf]}");
    let (_b, b) = of("{f: nan, t: '2020-01-02', b: AP8=, l: [inf]}");
    let outcome = rab(&[&"diff", &"--json", &a, &b]);
    let found: Vec<serde_json::Value> = serde_json::from_str(&outcome.out).unwrap();
    let of_key = |key: &str| {
        let one = found.iter().find(|one| one["key"] == key).unwrap();
        (one["a"].clone(), one["b"].clone())
    };
    use serde_json::json;
    assert_eq!(of_key("f"), (json!({"__float__": "nan"}), json!("nan")));
    assert_eq!(of_key("t"), (json!({"__date__": "2020-01-02"}), json!("2020-01-02")));
    assert_eq!(of_key("b"), (json!({"__bytes_hex__": "00ff"}), json!("AP8=")));
    assert!(found.iter().any(|one| one["a"].to_string().contains(r#"{"__float__":"inf"}"#)), "{found:?}");
}

#[test]
fn differences_as_json() {
    let dir = crate::kit::scratch();
    let at = |name: &str| dir.path().join(name);
    crate::kit::python(&[
        &"-c",
        &"import sys, numpy as np
nan, inf = float('nan'), float('inf')
np.savez(sys.argv[1], only=np.arange(2), x=np.array([1.5, nan, inf]), t=np.arange(3), s=np.zeros((2, 3)), c=np.array([1j]),
         d=np.array(['2020-01-01'], 'M8[D]'), S=np.array([b'a', b'b']), B=np.array([b'a\\xff']), U=np.array(['\u{e9}']))
np.savez(sys.argv[2], x=np.array([1.5, -inf, inf]), t=np.arange(3.0), s=np.zeros((3, 2)), c=np.array([2j]),
         d=np.array(['2020-01-03'], 'M8[D]'), S=np.array([b'a', b'c']), B=np.array([b'a\\xfe']), U=np.array(['e']))",
        &at("a.npz"),
        &at("b.npz"),
    ]);
    let json = |a: &str, b: &str| -> (i32, Vec<serde_json::Value>) {
        let outcome = rab(&[&"diff", &"--json", &at(a), &at(b)]);
        assert_eq!(outcome.err, "");
        (outcome.code, serde_json::from_str(&outcome.out).unwrap())
    };
    assert_eq!(json("a.npz", "a.npz"), (0, vec![]));
    let (code, found) = json("a.npz", "b.npz");
    let by_name = |name: &str| found.iter().find(|one| one["name"] == name).unwrap().clone();
    assert_eq!((code, found.len()), (1, 9), "{found:?}");
    let cells = |name: &str| (by_name(name)["a"].clone(), by_name(name)["b"].clone());
    assert_eq!(cells("S"), (serde_json::json!("b"), serde_json::json!("c")));
    assert_eq!(cells("U"), (serde_json::json!("\u{e9}"), serde_json::json!("e")));
    let hex = |digits: &str| serde_json::json!({"__bytes_hex__": digits});
    assert_eq!(cells("B"), (hex("61ff"), hex("61fe")));
    assert_eq!(by_name("only"), serde_json::json!({"name": "only", "difference": "only", "in": "a"}));
    assert_eq!(
        by_name("t"),
        serde_json::json!({"name": "t", "difference": "type", "a": "int64", "b": "float64"})
    );
    assert_eq!(
        (&by_name("s")["a"], &by_name("s")["b"]),
        (&serde_json::json!([2, 3]), &serde_json::json!([3, 2]))
    );
    let x = by_name("x");
    assert_eq!(
        (&x["a"], &x["b"], &x["first"]),
        (
            &serde_json::json!({"__float__": "nan"}),
            &serde_json::json!({"__float__": "-inf"}),
            &serde_json::json!([1])
        )
    );
    assert_eq!((x["differing"].as_u64(), x["compared"].as_u64()), (Some(1), Some(3)));
    assert!(x["largest"].is_null(), "{x}");
    let c = by_name("c");
    assert_eq!(
        (&c["a"], &c["b"], &c["largest"]),
        (&serde_json::json!([0.0, 1.0]), &serde_json::json!([0.0, 2.0]), &serde_json::json!(1.0))
    );
    let d = by_name("d");
    assert_eq!(
        (d["a"].as_str(), d["largest"].as_u64(), d["unit"].is_string()),
        (Some("2020-01-01"), Some(2), true),
        "{d}"
    );
    assert_eq!(rab(&[&"diff", &"--json", &"-q", &at("a.npz"), &at("b.npz")]).code, 2);
}

/// Files that have no names for their arrays are compared whatever they are called themselves.
#[test]
fn arrays_that_are_named_after_their_files_are_compared() {
    let dir = crate::kit::scratch();
    let at = |name: &str| dir.path().join(name);
    let script = "import sys, numpy as np\nd = sys.argv[1] + '/'\n\
        for name, of in ('a', np.arange(5)), ('b', np.arange(5) + 1), ('c', np.arange(5)): np.save(d + name, of)";
    crate::kit::python(&[&"-c", &script, &dir.path()]);
    let (a, b, c) = (at("a.npy"), at("b.npy"), at("c.npy"));
    let outcome = rab(&[&"diff", &a, &b]);
    assert!(outcome.code == 1 && outcome.out.starts_with("a: values: 5 of 5 differ"), "{outcome:?}");
    assert_eq!(rab(&[&"diff", &a, &c]).code, 0);
    for name in ["a", "b"] {
        good(&[&"convert", &at(&format!("{name}.npy")), &at(&format!("{name}.ra"))]);
    }
    assert_eq!(rab(&[&"diff", &at("a.ra"), &c]).code, 0);
    let outcome = rab(&[&"diff", &at("a.ra"), &at("b.ra")]);
    assert!(outcome.code == 1 && outcome.out.starts_with("a: values: 5 of 5 differ"), "{outcome:?}");
    // In an NPZ the array has a name of its own.
    good(&[&"convert", &b, &at("b.npz")]);
    let outcome = rab(&[&"diff", &a, &at("b.npz")]);
    assert!(outcome.code == 1 && outcome.out.contains("only in"), "{outcome:?}");
}
