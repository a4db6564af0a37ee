//! Files that the library writes, as the format's Python codec reads them (tests/python/check_written.py), and
//! what becomes of the target.

use std::fs;
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use half::f16;
use ndarray::{ArrayD, ArrayView, ArrayViewD, Dimension, IxDyn, s};
use num_complex::Complex;
use proptest::prelude::{Just, Strategy, any, prop, prop_oneof};
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use rab::{Column, Compression, Editor, Endian, Item, Order, Text, Value, Writer};
use serde_json::{Value as Json, json};
use tempfile::TempDir;

const ZLIB: Compression = Compression::Zlib(6);

fn scratch() -> TempDir {
    TempDir::with_prefix("rab-test-").unwrap()
}

fn entries(dir: &Path) -> Vec<PathBuf> {
    fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect()
}

/// Of the project's directory, or what an environment variable names.
fn installed(variable: &str, path: &str) -> PathBuf {
    std::env::var_os(variable).map_or(Path::new(env!("CARGO_MANIFEST_DIR")).join(path), PathBuf::from)
}

/// Returns the number of datasets that Python and JavaScript read as expected, or Python's error output.
fn checked(path: &Path, expected: &[Json]) -> Result<usize, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let json = path.with_extension("json");
    fs::write(&json, Json::from(expected).to_string()).unwrap();
    let mut python = Command::new(installed("RAB_TEST_PYTHON", "target/python/bin/python"));
    python.env("PYTHONDONTWRITEBYTECODE", "1").arg(root.join("tests/python/check_written.py"));
    let mut node = Command::new("node");
    node.env("NODE_PATH", installed("RAB_TEST_NODE_PATH", "target/js/node_modules"));
    node.arg(root.join("tests/js/check_written.js"));
    let in_python = counted(python.args([path, &json]));
    let in_javascript = counted(node.args([path, &json]));
    assert_eq!(in_python.is_ok(), in_javascript.is_ok(), "{in_python:?} {in_javascript:?}");
    in_python
}

fn counted(checker: &mut Command) -> Result<usize, String> {
    let outcome = checker.output().unwrap_or_else(|error| panic!("{checker:?}: {error}: run scripts/test"));
    match outcome.status.success() {
        true => Ok(String::from_utf8_lossy(&outcome.stdout).trim().parse().unwrap()),
        false => Err(String::from_utf8_lossy(&outcome.stderr).into_owned()),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A value in the words of check_written.py.
fn plain(value: &Value) -> Json {
    let sorted = |mut items: Vec<Json>| {
        // As json.dumps writes them, which has spaces; the order is the same without escapes.
        items.sort_by_key(|item| item.to_string().replace(',', ", ").replace(':', ": "));
        Json::from(items)
    };
    match value {
        Value::Null => Json::Null,
        Value::Bool(value) => json!(value),
        Value::Int(value) => json!({ "int": value.to_string() }),
        Value::BigInt(digits) => json!({ "int": digits }),
        Value::Float(value) if value.is_nan() => json!({ "float": "nan" }),
        Value::Float(value) => json!({ "float": hex(&value.to_be_bytes()) }),
        Value::Str(text) => json!({ "str": hex(text.as_bytes()) }),
        Value::Timestamp(time) => json!({ "date": time }),
        Value::Bytes(bytes) => json!({ "bytes": hex(bytes) }),
        Value::Seq(items) => items.iter().map(plain).collect(),
        Value::Set(items) => json!({ "set": sorted(items.iter().map(plain).collect()) }),
        Value::Map(pairs) => {
            json!({ "map": sorted(pairs.iter().map(|(k, v)| json!([plain(k), plain(v)])).collect()) })
        }
    }
}

fn expected(name: &str, kind: &str, compression: Json, value: Json) -> Json {
    json!({ "name": plain(&name.into()), "type": kind, "compression": compression, "value": value })
}

/// Texts that YAML could take for something else.
fn odd_texts() -> Vec<Text> {
    let texts = [
        "yes",
        "No",
        "on",
        "OFF",
        "y",
        "n",
        "null",
        "~",
        "",
        " ",
        "\t",
        "1",
        "-1",
        "1.0",
        "1e3",
        "1.e+3",
        ".5",
        "0o17",
        "017",
        "0x1F",
        "0b1",
        "1_000",
        "12:30:00",
        "190:20:30.15",
        "2020-01-01",
        "2020-01-01 10:00:00",
        ".inf",
        "-.inf",
        ".nan",
        "nan",
        "=",
        "<<",
        "- x",
        "-",
        "?",
        "? x",
        ":",
        "a: b",
        "a :b",
        "a:",
        "# c",
        "a #c",
        "a#c",
        "[a]",
        "{a}",
        "a, b",
        "&a",
        "*a",
        "!a",
        "!!python/object/apply:os.system",
        "|",
        ">-",
        "%TAG",
        "@a",
        "`a",
        "'",
        "\"",
        "''",
        "\\",
        "\\n",
        "...",
        "---",
        "--- x",
        " lead",
        "trail ",
        "  both  ",
        "two  spaces",
        "line\nbreak",
        "\n",
        "ends\n",
        "\nbegins",
        "a\n\n  b",
        "tab\there",
        "\r",
        "\r\n",
        "nul\0",
        "\u{1}",
        "\u{7f}",
        "\u{80}",
        "\u{85}",
        "a\u{85}b",
        "\u{a0}",
        "\u{ad}",
        "\u{2028}",
        "x\u{2029}",
        "\u{feff}",
        "a\u{feff}",
        "\u{fffe}",
        "\u{ffff}",
        "\u{202e}evil",
        "é",
        "漢字",
        "🦏",
        "\u{10ffff}",
        "\u{e000}",
        "true",
        "False",
        "none",
        "None",
        "NaN",
        "Infinity",
    ];
    let long = ["word ".repeat(500), "x".repeat(3000), "é: ".repeat(200), "\n".repeat(300)];
    let surrogates = [&b"\xED\xA0\x80"[..], b"a\xED\xBF\xBFb", b"\xED\xB0\x80\xED\xA0\x80"];
    let surrogates = surrogates.map(|bytes| Text::from_wtf8(bytes).unwrap());
    texts.map(Text::from).into_iter().chain(long.map(Text::from)).chain(surrogates).collect()
}

fn values() -> Value {
    let texts = odd_texts();
    let big = "-123456789012345678901234567890123456789012345678901234567890";
    let floats = [
        0.0,
        -0.0,
        0.1,
        1e16,
        1e15,
        1e-5,
        1e300,
        5e-324,
        f64::MAX,
        f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
    ];
    let times = ["2020-01-02", "2020-01-02 03:04:05.678900", "2020-01-02 03:04:05+01:00"];
    let deep =
        (0..150).fold(
            Value::Null,
            |inner, n| if n % 2 == 0 { vec![inner].into() } else { Value::map([("k", inner)]) },
        );
    Value::map([
        ("as values", Value::Seq(texts.iter().cloned().map(Value::Str).collect())),
        ("as keys", Value::Map(texts.iter().cloned().map(|text| (text.into(), Value::Null)).collect())),
        ("as members", Value::Set(texts.into_iter().map(Value::Str).collect())),
        (
            "integers",
            vec![0.into(), (-5).into(), u64::MAX.into(), i128::MIN.into(), Value::BigInt(big.into())].into(),
        ),
        ("floats", Value::Seq(floats.map(Value::Float).to_vec())),
        ("times", Value::Seq(times.map(|time| Value::Timestamp(time.into())).to_vec())),
        (
            "bytes",
            Value::Seq([&b""[..], b"\0", b"\xff\xfe", b"abc"].map(|b| Value::Bytes(b.to_vec())).to_vec()),
        ),
        (
            "empty",
            vec![Value::Map(vec![]), Value::Seq(vec![]), Value::Set(vec![]), Value::Null, true.into()].into(),
        ),
        (
            "keys",
            Value::Map(vec![
                (5.into(), 1.into()),
                (Value::Null, 2.into()),
                (true.into(), 3.into()),
                (1.5.into(), 4.into()),
            ]),
        ),
        ("deep", deep),
    ])
}

#[test]
fn texts_bytes_files_and_objects() {
    let dir = scratch();
    let path = dir.path().join("x.rab");
    let file = dir.path().join("picture");
    fs::write(&file, b"\x89PNG \0\xff").unwrap();
    let long: String = (0..50_000).map(|n| format!("line {n}, é\n")).collect();

    let mut writer = Writer::create(&path).unwrap();
    writer.add("text").text("é 漢字\n").unwrap();
    writer.add("empty").text("").unwrap();
    writer.add("empty, compressed").compression(ZLIB).text("").unwrap();
    writer.add("long").text_from(long.as_bytes()).unwrap();
    writer.add("long, compressed").compression(ZLIB).text_from(long.as_bytes()).unwrap();
    writer.add("stored blocks").compression(Compression::Zlib(0)).text(&long).unwrap();
    writer.add("bytes").metadata(values()).bytes(&b"\0\xff"[..]).unwrap();
    writer.add("file").metadata(Value::Map(vec![])).file(&file).unwrap();
    writer.add("file, compressed").compression(ZLIB).file(&file).unwrap();
    writer.add("object").object(&values()).unwrap();
    writer.add("object, compressed").compression(Compression::Zlib(9)).object(&values()).unwrap();
    writer.add("null").object(&Value::Null).unwrap();
    writer.finish().unwrap();

    let text = |text: &str| json!(hex(text.as_bytes()));
    let mut all = vec![
        expected("text", "text", Json::Null, text("é 漢字\n")),
        expected("empty", "text", Json::Null, text("")),
        expected("empty, compressed", "text", json!("gzip"), text("")),
        expected("long", "text", Json::Null, text(&long)),
        expected("long, compressed", "text", json!("gzip"), text(&long)),
        expected("stored blocks", "text", json!("gzip"), text(&long)),
        expected("bytes", "bytes", Json::Null, json!("00ff")),
        expected("file", "bytes", json!("no key"), json!("89504e472000ff")),
        expected("file, compressed", "bytes", json!("gzip"), json!("89504e472000ff")),
        expected("object", "object", Json::Null, plain(&values())),
        expected("object, compressed", "object", json!("gzip"), plain(&values())),
        expected("null", "object", Json::Null, Json::Null),
    ];
    all[6]["metadata"] = plain(&values());
    all[7]["metadata"] = json!({ "map": [] });
    all[0]["metadata"] = Json::Null;
    assert_eq!(checked(&path, &all), Ok(all.len()));
    // The checker is able to find fault.
    all[9]["value"]["map"][0] = Json::Null;
    assert!(checked(&path, &all).is_err());
}

#[test]
fn every_odd_text_as_a_name() {
    let dir = scratch();
    let path = dir.path().join("x.rab");
    let mut writer = Writer::create(&path).unwrap();
    let names = odd_texts();
    for name in &names {
        writer
            .add(name.clone())
            .metadata(Value::map([(name.clone(), name.clone().into())]))
            .text("x")
            .unwrap();
    }
    let twice = writer.add("yes").text("x").unwrap_err().to_string();
    assert!(
        twice.ends_with("x.rab: dataset \"yes\": cannot be written: there is already a dataset of this name"),
        "{twice}"
    );
    writer.finish().unwrap();
    let named = |name: &Text| {
        let metadata = plain(&Value::map([(name.clone(), name.clone().into())]));
        json!({ "name": plain(&name.clone().into()), "metadata": metadata })
    };
    let all: Vec<Json> = names.iter().map(named).collect();
    assert_eq!(checked(&path, &all), Ok(names.len()));
}

/// Writes an array in both orders, both byte orders and compressed, and says what Python must find.
fn add<T: Item, D: Dimension>(
    writer: &mut Writer,
    all: &mut Vec<Json>,
    name: &str,
    view: ArrayView<'_, T, D>,
) {
    let kind = T::ELEMENT.name().unwrap();
    let logical: Vec<u8> = view.iter().flat_map(|item| bytemuck::bytes_of(item).to_vec()).collect();
    let value = json!({ "shape": view.shape(), "bytes": hex(&logical) });
    for (order, endian, compression) in [
        (Order::C, Endian::Little, Compression::None),
        (Order::F, Endian::Little, Compression::None),
        (Order::C, Endian::Big, ZLIB),
        (Order::F, Endian::Big, Compression::None),
        (Order::F, Endian::Little, Compression::Zlib(1)),
    ] {
        let name = format!("{name} {order} {endian:?} {compression:?}");
        let stored = if compression == Compression::None { Json::Null } else { json!("gzip") };
        writer
            .add(name.as_str())
            .order(order)
            .endian(endian)
            .compression(compression)
            .array(view.view())
            .unwrap();
        all.push(expected(&name, kind, stored, value.clone()));
    }
}

fn of<T: Clone>(item: impl Fn(usize) -> T) -> ArrayD<T> {
    ArrayD::from_shape_vec(IxDyn(&[2, 3, 4]), (0..24).map(item).collect()).unwrap()
}

#[test]
fn arrays_of_every_type_and_layout() {
    let dir = scratch();
    let path = dir.path().join("x.rab");
    let mut writer = Writer::create(&path).unwrap();
    let mut all = Vec::new();
    let (w, a) = (&mut writer, &mut all);
    add(w, a, "bool", of(|n| n % 3 == 0).view());
    add(w, a, "i8", of(|n| n as i8 - 12).view());
    add(w, a, "i16", of(|n| n as i16 * 999 - 12).view());
    add(w, a, "i32", of(|n| n as i32 * 99_999 - 12).view());
    add(w, a, "i64", of(|n| i64::MIN + n as i64).view());
    add(w, a, "u8", of(|n| n as u8 + 200).view());
    add(w, a, "u16", of(|n| n as u16 + 999).view());
    add(w, a, "u32", of(|n| u32::MAX - n as u32).view());
    add(w, a, "u64", of(|n| u64::MAX - n as u64).view());
    add(w, a, "f16", of(|n| f16::from_f32(n as f32 / 3.0)).view());
    add(w, a, "f32", of(|n| n as f32 / 3.0).view());
    add(w, a, "f64", of(|n| 1.0 / (n as f64 - 5.0)).view());
    add(w, a, "c64", of(|n| Complex::new(n as f32, -0.5)).view());
    add(w, a, "c128", of(|n| Complex::new(n as f64, -0.5)).view());

    let base = of(|n| n as i16);
    add(w, a, "transposed", base.t());
    add(w, a, "every other", base.slice(s![.., ..;2, 1..]));
    add(w, a, "backwards", base.slice(s![..;-1, .., ..;-1]));
    add(
        w,
        a,
        "broadcast",
        ArrayViewD::from_shape(IxDyn(&[1]), &[9i16]).unwrap().broadcast(IxDyn(&[2, 3])).unwrap(),
    );
    add(w, a, "scalar", ArrayViewD::from_shape(IxDyn(&[]), &[2.5f64]).unwrap());
    add(w, a, "no elements", ArrayViewD::<f32>::from_shape(IxDyn(&[0, 3]), &[]).unwrap());
    let large = ArrayD::from_shape_fn(IxDyn(&[700, 500]), |at| (at[0] * 1000 + at[1]) as f32);
    add(w, a, "large", large.view());
    writer.finish().unwrap();
    assert_eq!(checked(&path, &all), Ok(all.len()));
    all[1]["value"]["bytes"] = json!(all[1]["value"]["bytes"].as_str().unwrap().replacen("01", "00", 1));
    assert!(checked(&path, &all).is_err());
}

#[test]
fn dataframes() {
    let dir = scratch();
    let path = dir.path().join("x.rab");
    let labels: Vec<String> = (0..9000).map(|n| format!("é {n} ").repeat(n % 4)).collect();
    let wide: Vec<i64> = (0..9000).map(|n| (n - 100) << 30).collect();
    let small: Vec<u64> = (0..9000).map(|n| n % 7).collect();
    let flags: Vec<bool> = (0..9000).map(|n| n % 3 == 0).collect();
    let (floats, halves): (Vec<f64>, Vec<f32>) = (0..9000).map(|n| (n as f64 / 3.0, n as f32 / 2.0)).unzip();
    let blank = vec![""; 9000];
    let columns = [
        Column::new("label", &labels),
        Column::new("wide", &wide),
        Column::new("small", &small),
        Column::new("flag", &flags),
        Column::new("floats", &floats),
        Column::new("halves", &halves),
        Column::new("", &blank),
    ];
    let mut writer = Writer::create(&path).unwrap();
    writer.add("table").dataframe(&columns).unwrap();
    writer.add("compressed").compression(ZLIB).dataframe(&columns).unwrap();
    writer.add("no columns").dataframe(&[]).unwrap();
    writer.add("no rows").dataframe(&[Column::new::<i32>("a", &[]), Column::new::<&str>("b", &[])]).unwrap();
    writer.finish().unwrap();

    fn cells<T: Clone>(cells: &[T], value: impl Fn(T) -> Value) -> Json {
        cells.iter().map(|cell| plain(&value(cell.clone()))).collect()
    }
    let table = json!([
        ["label", "text", "text", cells(&labels, Value::from)],
        ["wide", "int64", "int64", cells(&wide, Value::from)],
        ["small", "uint8", "uint64", cells(&small, Value::from)],
        ["flag", "uint8", "bool", cells(&flags, Value::from)],
        ["floats", "float64", "float64", cells(&floats, Value::from)],
        ["halves", "float32", "float32", cells(&halves, |half| Value::Float(half.into()))],
        ["", "text", "text", cells(&blank, Value::from)],
    ]);
    let all = [
        expected("table", "dataframe", Json::Null, table.clone()),
        expected("compressed", "dataframe", json!("gzip"), table),
        expected("no columns", "dataframe", Json::Null, json!([])),
        expected(
            "no rows",
            "dataframe",
            Json::Null,
            json!([["a", "uint8", "int32", []], ["b", "text", "text", []]]),
        ),
    ];
    assert_eq!(checked(&path, &all), Ok(4));
}

/// As old data, longer than what is copied behind the header, so that both ways are gone.
fn large() -> Vec<u8> {
    (0..3_000_000u32).map(|n| (n / 7) as u8).collect()
}

#[test]
fn the_data_begins_at_a_block_where_there_is_much_of_it() {
    let dir = scratch();
    let path = dir.path().join("x.rab");
    let mut writer = Writer::create(&path).unwrap();
    writer.add("large").bytes(large().as_slice()).unwrap();
    writer.add("last").text("end").unwrap();
    assert_eq!(writer.data_len(), 3_000_003);
    writer.finish().unwrap();
    assert_eq!(fs::metadata(&path).unwrap().len(), 4096 + 3_000_003);
    let all = [
        expected("large", "bytes", Json::Null, json!(hex(&large()))),
        expected("last", "text", Json::Null, json!(hex(b"end"))),
    ];
    assert_eq!(checked(&path, &all), Ok(2));
}

#[test]
fn a_dropped_writer_leaves_the_old_file_or_none() {
    let dir = scratch();
    let path = dir.path().join("x.rab");
    let half_done = || {
        let mut writer = Writer::create(&path).unwrap();
        writer.add("x").bytes(large().as_slice()).unwrap();
        writer
    };
    drop(half_done());
    assert!(entries(dir.path()).is_empty());
    fs::write(&path, "old").unwrap();
    let writer = half_done();
    assert_eq!(fs::read(&path).unwrap(), b"old");
    drop(writer);
    assert_eq!(fs::read(&path).unwrap(), b"old");
    assert_eq!(entries(dir.path()), std::slice::from_ref(&path));
    half_done().finish().unwrap();
    assert!(fs::read(&path).unwrap().starts_with(b"rab"));
    assert_eq!(entries(dir.path()), [path]);
}

#[test]
fn a_dataset_that_fails_leaves_no_trace() {
    struct Torn;
    impl Read for Torn {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("torn"))
        }
    }
    let dir = scratch();
    let path = dir.path().join("x.rab");
    let mut writer = Writer::create(&path).unwrap();
    writer.add("first").text("1").unwrap();
    let array = rab::Array::new(
        rab::Dtype { element: rab::Element::from_name("int16").unwrap(), endian: Endian::Big },
        [2, 2],
        Order::F,
    );
    let outcome = |result: rab::Result<()>| result.unwrap_err().to_string();
    let refused = [
        (outcome(writer.add("a").bytes(large().chain(Torn))), "torn"),
        (outcome(writer.add("a").text_from(&b"a\xff"[..])), "its text is not UTF-8 at byte 1"),
        (
            outcome(writer.add("a").array_from(&array, &[0; 7][..])),
            "it has 7 bytes, but its description needs 8",
        ),
        (
            outcome(writer.add("a").array_from(&array, &[0; 9][..])),
            "it has more than the 8 bytes of its description",
        ),
        (outcome(writer.add("a").metadata("x".into()).text("")), "its metadata is not a mapping"),
        (outcome(writer.add("a").object(&Value::BigInt("x".into()))), "\"x\" are not the digits of a number"),
    ];
    for (outcome, problem) in refused {
        assert_eq!(outcome, format!("{}: dataset \"a\": cannot be written: {problem}", path.display()));
    }
    let missing = dir.path().join("missing");
    let outcome = writer.add("a").file(&missing).unwrap_err().to_string();
    assert!(outcome.starts_with(&format!("{}: cannot be opened", missing.display())), "{outcome}");
    let outcome = writer.add("a").file(dir.path()).unwrap_err().to_string();
    assert!(outcome.starts_with(&format!("{}: cannot be read", dir.path().display())), "{outcome}");
    writer.add("a").array_from(&array, &[0, 1, 0, 2, 0, 3, 0, 4][..]).unwrap();
    writer.finish().unwrap();
    let all = [
        expected("first", "text", Json::Null, json!(hex(b"1"))),
        expected("a", "int16", Json::Null, json!({ "shape": [2, 2], "bytes": "0100030002000400" })),
    ];
    assert_eq!(checked(&path, &all), Ok(2));
}

#[test]
fn targets_that_cannot_be() {
    let dir = scratch();
    let outcome = |path: &Path| Writer::create(path).err().map(|error| error.to_string()).unwrap_or_default();
    assert!(outcome(dir.path()).ends_with("cannot be written: is a directory"), "{}", outcome(dir.path()));
    assert!(outcome(Path::new("/dev/null")).ends_with("it is not a regular file"));
    assert!(outcome(&dir.path().join("no/such")).contains("cannot be written: No such file"));
    let path = dir.path().join("read-only");
    fs::write(&path, "old").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).unwrap();
    assert!(outcome(&path).ends_with("it is read-only"));
    assert_eq!(entries(dir.path()), [path]);
}

#[test]
fn modes_and_links_stay() {
    let dir = scratch();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
    let (plain, path, link) = (dir.path().join("plain"), dir.path().join("x.rab"), dir.path().join("link"));
    fs::write(&plain, "").unwrap();
    Writer::create(&path).unwrap().finish().unwrap();
    assert_eq!(mode(&path), mode(&plain));
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    std::os::unix::fs::symlink("x.rab", &link).unwrap();
    let mut writer = Writer::create(&link).unwrap();
    writer.add("x").text("").unwrap();
    writer.finish().unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(mode(&path), 0o640);
    assert_eq!(checked(&path, &[expected("x", "text", Json::Null, json!(""))]), Ok(1));
}

#[test]
fn two_writers_at_once() {
    let dir = scratch();
    let path = dir.path().join("x.rab");
    let write = |byte: u8| {
        let mut writer = Writer::create(&path).unwrap();
        for name in ["a", "b", "c"] {
            writer.add(name).bytes(io::repeat(byte).take(700_000)).unwrap();
        }
        writer.finish().unwrap();
    };
    for _ in 0..5 {
        std::thread::scope(|scope| {
            scope.spawn(|| write(1));
            scope.spawn(|| write(2));
        });
        let byte = *fs::read(&path).unwrap().last().unwrap();
        let value = json!(hex(&vec![byte; 700_000]));
        let all = ["a", "b", "c"].map(|name| expected(name, "bytes", Json::Null, value.clone()));
        assert_eq!(checked(&path, &all), Ok(3));
        assert_eq!(entries(dir.path()).len(), 2, "the file, and the JSON of this test");
    }
}

/// Random texts, most of what YAML could take for something else: pieces of numbers, dates, words and signs.
fn any_text() -> impl Strategy<Value = Text> {
    let signs = "[-+0-9.:_eExXoOTZ /~=,#?&*!|>'\"%@`{}\\[\\]<]{0,12}";
    let numbers = "[-+]?(0|0x|0o|0b|[.])?[0-9_]{1,6}([.:][0-9_]{0,3}){0,3}([eE][-+]?[0-9]{1,3})?";
    let dates = "[12][0-9]{3}-[0-9]{1,2}-[0-9]{1,2}([Tt ][0-9]{1,2}:[0-9]{2}:[0-9]{2}([.][0-9]{0,7})?(Z|[-+][0-9]{1,2})?)?";
    let words =
        "([yY]|[nN]|[Yy]es|[Nn]o|[Oo]n|OFF|[tT]rue|FALSE|[Nn]ull|[.](inf|Inf|nan|NaN)|[iI]nf|NaN)[ .:a]?";
    let odd = "[ \\t\\n\\r\0\u{1}\u{7f}-\u{a0}\u{2028}\u{2029}\u{feff}\u{fffe}\u{ad}\u{202e}é漢🦏a:#-]{0,10}";
    let lone = prop::sample::select(vec![&b"\xED\xA0\x80"[..], b"a", b"\xED\xBF\xBFb"]);
    let lone = prop::collection::vec(lone, 0..4);
    // Surrogates side by side would be one character in JavaScript.
    let lone = lone.prop_map(|parts| Text::from_wtf8(&parts.join(&b"-"[..])).unwrap());
    let text = prop_oneof![signs, numbers, dates, words, odd, ".{0,12}"].prop_map(Text::from);
    prop_oneof![15 => text, 1 => lone]
}

fn any_scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        8 => any_text().prop_map(Value::Str),
        2 => any::<i64>().prop_map(Value::from),
        2 => any::<f64>().prop_map(Value::Float),
        2 => (any::<i16>(), -30..30i32).prop_map(|(n, to)| Value::Float(f64::from(n) * 10f64.powi(to))),
        1 => any::<bool>().prop_map(Value::from),
        1 => Just(Value::Null),
        1 => prop::collection::vec(any::<u8>(), 0..9).prop_map(Value::Bytes),
    ]
}

fn any_map(value: impl Strategy<Value = Value>) -> impl Strategy<Value = Value> {
    prop::collection::btree_map(any_text().prop_map(|key| key.as_bytes().to_vec()), value, 0..4).prop_map(
        |pairs| Value::map(pairs.into_iter().map(|(key, value)| (Text::from_wtf8(&key).unwrap(), value))),
    )
}

fn any_value() -> impl Strategy<Value = Value> {
    any_scalar().prop_recursive(40, 60, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Seq),
            any_map(inner.clone()),
            // So deep that it is written in flow style.
            (inner, 30..40).prop_map(|(inner, depth)| (0..depth).fold(inner, |inner, _| vec![inner].into())),
        ]
    })
}

/// A dataset of any kind: how it is added, and what must be found.
fn add_any(
    writer: &mut Writer,
    (name, metadata): (&Text, &Value),
    draw: &mut impl FnMut(u32) -> u32,
    value: &Value,
) -> (Json, Json) {
    let level = draw(10);
    let compression = if level < 4 { Compression::None } else { Compression::Zlib(level) };
    let data: Vec<u8> = (0..draw(200)).map(|_| draw(256) as u8).collect();
    let add = writer.add(name.clone()).metadata(metadata.clone()).compression(compression);
    match draw(4) {
        0 => {
            let text = String::from_utf8_lossy(&data).into_owned();
            add.text(&text).unwrap();
            (json!("text"), json!(hex(text.as_bytes())))
        }
        1 => {
            add.bytes(data.as_slice()).unwrap();
            (json!("bytes"), json!(hex(&data)))
        }
        2 => {
            add.object(value).unwrap();
            (json!("object"), plain(value))
        }
        _ => {
            let shape = [draw(4) as usize, draw(4) as usize, draw(4) as usize];
            let items = ArrayD::from_shape_fn(IxDyn(&shape), |_| (draw(1 << 16) as i32 - 9) as i16);
            let order = if draw(2) == 0 { Order::C } else { Order::F };
            let endian = if draw(2) == 0 { Endian::Little } else { Endian::Big };
            add.order(order).endian(endian).array(items.view()).unwrap();
            let bytes: Vec<u8> = items.iter().flat_map(|item| item.to_le_bytes()).collect();
            (json!("int16"), json!({ "shape": shape, "bytes": hex(&bytes) }))
        }
    }
}

/// What the library itself finds, in the same words.
fn found(archive: &rab::Archive, number: usize) -> (Json, Json) {
    let dataset = archive.dataset_at(number).unwrap();
    let value = match dataset.kind() {
        "text" | "bytes" => json!(hex(&dataset.bytes().unwrap())),
        "object" => plain(&Value::from(&*dataset.object().unwrap())),
        _ => {
            let mut bytes = Vec::new();
            let array = dataset.array().unwrap();
            array.write(Endian::Little, &mut bytes).unwrap();
            json!({ "shape": array.shape(), "bytes": hex(&bytes) })
        }
    };
    (plain(&Value::from(&**dataset.metadata())), value)
}

#[test]
fn any_set_of_datasets_is_read_back() {
    let dir = scratch();
    let path = dir.path().join("x.rab");
    let mut runner = TestRunner::deterministic();
    let mut names: Vec<Text> = Vec::new();
    let mut writer = Writer::create(&path).unwrap();
    let mut all = Vec::new();
    for _ in 0..1500 {
        let name = any_text().new_tree(&mut runner).unwrap().current();
        if names.contains(&name) {
            continue;
        }
        let metadata = any_map(any_value()).new_tree(&mut runner).unwrap().current();
        let value = any_value().new_tree(&mut runner).unwrap().current();
        let mut draw = |below: u32| (0..below.max(1)).new_tree(&mut runner).unwrap().current();
        let (kind, data) = add_any(&mut writer, (&name, &metadata), &mut draw, &value);
        all.push(json!({ "name": plain(&name.clone().into()), "type": kind, "value": data, "metadata": plain(&metadata) }));
        names.push(name);
    }
    writer.finish().unwrap();
    assert!(all.len() > 1000);
    let archive = rab::Archive::open(&path).unwrap();
    for (number, expected) in all.iter().enumerate() {
        assert_eq!(archive.raw_name(number), names[number].as_bytes());
        let (metadata, value) = found(&archive, number);
        assert_eq!((&metadata, &value), (&expected["metadata"], &expected["value"]), "dataset {number}");
    }
    assert_eq!(checked(&path, &all), Ok(all.len()));
}

#[test]
fn edited_files() {
    let dir = scratch();
    let path = dir.path().join("x.rab");
    let mut state = 1u64;
    let mut next = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 56) as u8
    };
    let noise: Vec<u8> = (0..2_000_000).map(|_| next()).collect();
    let mut writer = Writer::create(&path).unwrap();
    for name in ["a", "b", "c", "d"] {
        writer
            .add(name)
            .metadata(values())
            .compression(ZLIB)
            .bytes(noise[..500_000].chain(name.as_bytes()))
            .unwrap();
    }
    writer.finish().unwrap();
    let value = |name: &str| json!(hex(&[&noise[..500_000], name.as_bytes()].concat()));
    let mut all =
        ["a", "b", "c", "d"].map(|name| expected(name, "bytes", json!("gzip"), value(name))).to_vec();

    let mut editor = Editor::open(&path).unwrap();
    editor.add("e").compression(Compression::ZlibIfSmaller(6)).bytes(noise.as_slice()).unwrap();
    editor.add("f").compression(Compression::ZlibIfSmaller(6)).bytes(&noise[..0]).unwrap();
    editor.finish().unwrap();
    all.push(expected("e", "bytes", Json::Null, json!(hex(&noise))));
    all.push(expected("f", "bytes", Json::Null, json!("")));
    assert_eq!(checked(&path, &all), Ok(6));

    let mut editor = Editor::open(&path).unwrap();
    editor.remove("a").unwrap();
    editor.replace("c").unwrap().text("new").unwrap();
    editor.rename("d", "yes").unwrap();
    editor.set_metadata("b", values()).unwrap();
    editor.add("=").object(&values()).unwrap();
    editor.finish().unwrap();
    all.remove(0);
    all[0]["metadata"] = plain(&values());
    all[1] = expected("c", "text", Json::Null, json!(hex(b"new")));
    all[1]["metadata"] = plain(&values());
    all[2]["name"] = plain(&"yes".into());
    all.push(expected("=", "object", Json::Null, plain(&values())));
    assert_eq!(checked(&path, &all), Ok(6));
}

#[test]
fn the_file_does_not_depend_on_jobs() {
    let dir = scratch();
    let bytes: Vec<u8> =
        (0..3_000_000u32).map(|n| ((n / 5 % 251) ^ (n.wrapping_mul(2_654_435_761) >> 30)) as u8).collect();
    let write = |jobs: usize| {
        let path = dir.path().join(format!("{jobs}.rab"));
        let mut writer = Writer::create(&path).unwrap().jobs(jobs);
        for level in 0..10 {
            let name = level.to_string();
            writer.add(name.as_str()).compression(Compression::Zlib(level)).bytes(bytes.as_slice()).unwrap();
            let name = format!("{level}, small");
            writer.add(name.as_str()).compression(Compression::Zlib(level)).bytes(&bytes[..99]).unwrap();
        }
        writer.finish().unwrap();
        path
    };
    let one = write(1);
    for jobs in [2, 5] {
        assert!(fs::read(write(jobs)).unwrap() == fs::read(&one).unwrap(), "{jobs}");
    }
    let names = (0..10)
        .flat_map(|level| [(level.to_string(), &bytes[..]), (format!("{level}, small"), &bytes[..99])]);
    let all: Vec<Json> =
        names.map(|(name, bytes)| expected(&name, "bytes", json!("gzip"), json!(hex(bytes)))).collect();
    assert_eq!(checked(&one, &all), Ok(20));
}
