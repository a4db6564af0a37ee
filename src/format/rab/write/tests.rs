//! Our own reader reads back exactly what was written.

use std::collections::HashSet;
use std::sync::Arc;

use proptest::prelude::*;

use super::super::super::Context;
use super::super::datasets::RabDatasets;
use super::super::header::{self, Header};
use super::super::layout::Layout;
use super::super::{entry, fast, records};
use super::*;
use crate::array::{Array, Dtype, Element, Endian, Order, byte_len};
use crate::codec::Engine;
use crate::source::{FileSource, Source};
use crate::tree::Datasets;
use crate::yaml::{Node, Value};

/// A dataset to write.
#[derive(Clone, Debug)]
struct Dataset {
    name: Text,
    metadata: Value,
    compression: Compression,
    data: Data,
}

#[derive(Clone, Debug)]
enum Data {
    Text(String),
    Bytes(Vec<u8>),
    Object(Value),
    Array(Array, Vec<u8>),
}

/// A dataset as read: name, metadata, array, bytes; for an object its value.
#[derive(Debug, PartialEq)]
struct ReadBack {
    name: Vec<u8>,
    metadata: String,
    array: Option<Array>,
    bytes: Vec<u8>,
    object: Option<String>,
}

/// A comparable form: NaN does not equal itself but is written the same; only the header's mappings keep their order.
fn shown(node: &Node) -> String {
    match node {
        Node::Map(pairs) => {
            let mut all: Vec<String> =
                pairs.iter().map(|(key, value)| format!("{}: {}", shown(key), shown(value))).collect();
            all.sort();
            format!("{{{}}}", all.join(", "))
        }
        Node::Seq(items) => {
            format!("[{}]", items.iter().map(|item| shown(item)).collect::<Vec<_>>().join(", "))
        }
        Node::Str(text) => format!("text {}", text.as_bytes().escape_ascii()),
        other => format!("{other:?}"),
    }
}

fn write(path: &Path, datasets: &[Dataset]) {
    let mut writer = Writer::create(path).unwrap();
    for Dataset { name, metadata, compression, data } in datasets {
        let add = writer.add(name.clone()).metadata(metadata.clone()).compression(*compression);
        match data {
            Data::Text(text) => add.text(text),
            Data::Bytes(bytes) => add.bytes(bytes.as_slice()),
            Data::Object(value) => add.object(value),
            Data::Array(array, bytes) => add.array_from(array, bytes.as_slice()),
        }
        .unwrap();
    }
    writer.finish().unwrap();
}

fn wanted(datasets: &[Dataset]) -> Vec<ReadBack> {
    let found = datasets.iter().map(|Dataset { name, metadata, data, .. }| {
        let (array, bytes, object) = match data {
            Data::Text(text) => (None, text.clone().into_bytes(), None),
            Data::Bytes(bytes) => (None, bytes.clone(), None),
            Data::Object(value) => (None, Vec::new(), Some(shown(&value.node().unwrap()))),
            Data::Array(array, bytes) => (Some(array.clone()), bytes.clone(), None),
        };
        let metadata = shown(&metadata.node().unwrap());
        ReadBack { name: name.as_bytes().to_vec(), metadata, array, bytes, object }
    });
    found.collect()
}

fn read(path: &Path) -> Vec<ReadBack> {
    let source: Arc<dyn Source> = Arc::new(FileSource::open(path).unwrap());
    let layout = Layout::read(&*source).unwrap();
    let text = |records: &records::Records, number| records.text(number, &*source, layout).unwrap().node;
    let Header { names, records } = header::read(&*source, layout).unwrap();
    let nodes: Vec<Arc<Node>> = (0..records.len() as u32).map(|number| text(&records, number)).collect();
    let names: Vec<Vec<u8>> = names.iter().map(|name| name.to_vec()).collect();
    let archive =
        RabDatasets::new(Context::new(source.clone(), Arc::new(Engine::new(1 << 20))), layout, records);
    let found = (0..).zip(nodes.iter().zip(names)).map(|(number, (node, name))| {
        let content = archive.content(number).unwrap();
        let bytes = content.read(0, usize::MAX >> 1).unwrap().to_vec();
        if archive.size(number).len.is_some_and(|len| len > 0) {
            assert_eq!(archive.size(number).len, Some(bytes.len() as u64));
        }
        let codec = node.get("codecMeta").unwrap();
        let is_object = codec.get("type").unwrap().as_str() == Some("object");
        let object = is_object.then(|| shown(&parsed(&bytes)));
        let array = entry::entry(node, layout).unwrap().array;
        let bytes = if is_object { Vec::new() } else { bytes };
        ReadBack { name, metadata: shown(node.get("metadata").unwrap()), array, bytes, object }
    });
    found.collect()
}

/// Parses YAML text, wrapped as the only key of a list's only item so that the header parser accepts it.
fn parsed(text: &[u8]) -> Arc<Node> {
    let lines = std::str::from_utf8(text).unwrap().lines();
    let indented: String = lines.map(|line| format!("    {line}\n")).collect();
    let mut found = None;
    let keep = &mut |item: crate::yaml::Item, _: &crate::yaml::Anchors<'_>| {
        found = item.node.get_shared("v").cloned();
        Ok(())
    };
    crate::yaml::each_item(&format!("- v:\n{indented}"), &mut Default::default(), keep).unwrap();
    found.unwrap()
}

fn text() -> impl Strategy<Value = Text> {
    let odd = prop::sample::select(vec![
        "yes",
        "~",
        "",
        " ",
        "1e3",
        "12:30:00",
        "2020-01-01",
        "=",
        "<<",
        "a: b",
        "\u{85}",
        "\u{2028}x",
        "\0",
        "'",
        "a\nb ",
        "\u{feff}",
        "null",
        "- a",
        "# c",
        "[",
        "0x1F",
        "../..",
        "a/b",
        "\r\n",
    ]);
    prop_oneof![
        4 => any::<String>().prop_map(Text::from),
        4 => "[a-z ./_0-9]{0,12}".prop_map(Text::from),
        3 => odd.prop_map(Text::from),
        1 => prop::sample::select(vec![&b"\xED\xA0\x80"[..], b"a\xED\xBF\xBF"]).prop_map(|bytes| Text::from_wtf8(bytes).unwrap()),
    ]
}

/// Keeps one of several equal keys, as Python would.
fn mapping(pairs: Vec<(Value, Value)>) -> Value {
    let mut kept: Vec<(Value, Value)> = Vec::new();
    for pair in pairs {
        kept.push(pair);
        if Value::Map(kept.clone()).node().is_err() {
            kept.pop();
        }
    }
    Value::Map(kept)
}

fn value() -> impl Strategy<Value = Value> {
    let times = vec!["2020-01-02", "1999-12-31 23:59:59.123456", "2020-01-02 03:04:05+01:00"];
    let leaf = prop_oneof![
        1 => Just(Value::Null),
        1 => any::<bool>().prop_map(Value::Bool),
        2 => any::<i128>().prop_map(Value::Int),
        1 => "-?[1-9][0-9]{40,80}".prop_map(Value::BigInt),
        2 => any::<f64>().prop_map(Value::Float),
        1 => prop::sample::select(times).prop_map(|time| Value::Timestamp(time.into())),
        1 => prop::collection::vec(any::<u8>(), 0..40).prop_map(Value::Bytes),
        5 => text().prop_map(Value::Str),
    ];
    leaf.clone().prop_recursive(6, 40, 5, move |inner| {
        let pairs = prop::collection::vec((leaf.clone(), inner.clone()), 0..5);
        prop_oneof![prop::collection::vec(inner, 0..5).prop_map(Value::Seq), pairs.prop_map(mapping)]
    })
}

fn data() -> impl Strategy<Value = Data> {
    let types = vec![
        "bool",
        "int8",
        "uint8",
        "int16",
        "uint16",
        "int32",
        "uint32",
        "int64",
        "uint64",
        "float16",
        "float32",
        "float64",
        "complex64",
        "complex128",
    ];
    let array =
        (prop::sample::select(types), prop::collection::vec(0u64..5, 0..4), any::<[bool; 2]>(), any::<u8>());
    let array = array.prop_map(|(name, shape, [big, fortran], seed)| {
        let element = Element::from_name(name).unwrap();
        let endian = if big && element.size > 1 { Endian::Big } else { Endian::Little };
        let order = if fortran { Order::F } else { Order::C };
        let len = byte_len(element, &shape).unwrap();
        let bytes = (0..len).map(|n| (n as u8).wrapping_mul(seed)).collect();
        Data::Array(Array::new(Dtype { element, endian }, shape, order), bytes)
    });
    let long = (0usize..600_000, any::<u8>());
    let long = long.prop_map(|(len, seed)| Data::Bytes((0..len).map(|n| (n / 3) as u8 ^ seed).collect()));
    prop_oneof![
        3 => array,
        2 => any::<String>().prop_map(Data::Text),
        2 => prop::collection::vec(any::<u8>(), 0..2000).prop_map(Data::Bytes),
        1 => long,
        2 => value().prop_map(Data::Object),
    ]
}

fn datasets() -> impl Strategy<Value = Vec<Dataset>> {
    let metadata = prop_oneof![
        1 => Just(Value::Null),
        3 => prop::collection::vec((value(), value()), 0..4).prop_map(mapping),
    ];
    let compression = prop_oneof![Just(Compression::None), (0u32..10).prop_map(Compression::Zlib)];
    let dataset = (text(), metadata, compression, data())
        .prop_map(|(name, metadata, compression, data)| Dataset { name, metadata, compression, data });
    prop::collection::vec(dataset, 0..8).prop_map(|mut datasets| {
        let mut names = HashSet::new();
        datasets.retain(|dataset| names.insert(dataset.name.clone()));
        datasets
    })
}

/// The parser's own limit: text with lone surrogates must not contain these.
fn is_readable(datasets: &[Dataset]) -> bool {
    let text = format!("{datasets:?}");
    !text.chars().any(|c| ('\u{E800}'..='\u{EFFF}').contains(&c))
        && !text.contains("\\u{e")
        && !text.contains("\\u{E")
}

#[test]
fn whatever_is_written_is_read_back() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.rab");
    let config = ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() };
    let mut runner = proptest::test_runner::TestRunner::new(config);
    let result = runner.run(&datasets(), |datasets| {
        prop_assume!(is_readable(&datasets));
        write(&path, &datasets);
        prop_assert_eq!(read(&path), wanted(&datasets));
        Ok(())
    });
    result.unwrap_or_else(|failure| panic!("{failure}"));
}

#[test]
fn the_header_is_full_before_it_is_too_long() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.rab");
    let mut writer = Writer::with_limit(&path, true, 5000).unwrap();
    writer.add("a").text("1").unwrap();
    let long = Value::map([("key", "x".repeat(900).into())]);
    let message = writer.add("b").metadata(long).text("2").unwrap_err().to_string();
    let problem = "dataset \"b\": cannot be written: the header would take 5";
    assert!(
        message.contains(problem) && message.ends_with("and a RAB file can have at most 5000"),
        "{message}"
    );
    writer.add("c").text("3").unwrap();
    writer.finish().unwrap();
    let names: Vec<_> = read(&path).into_iter().map(|found| (found.name, found.bytes)).collect();
    assert_eq!(names, [(b"a".to_vec(), b"1".to_vec()), (b"c".to_vec(), b"3".to_vec())]);
}

#[test]
fn usual_entries_are_read_line_by_line() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.rab");
    let mut writer = Writer::create(&path).unwrap();
    let metadata = Value::map([("unit", "mV".into()), ("channel", 5.into()), ("gain", 0.5.into())]);
    // Enough for checksums that begin with letters, and with digits.
    for number in 0..20u32 {
        let [a, b, c, d] = ["array", "packed", "text", "scalar"].map(|name| format!("group {number}/{name}"));
        let (row, single) = (ndarray::arr1(&[number, 1]), ndarray::arr0(number));
        writer.add(a).metadata(metadata.clone()).array(row.view()).unwrap();
        writer.add(b).compression(Compression::Zlib(1)).array(row.view()).unwrap();
        writer.add(c).compression(Compression::Zlib(1)).text(&number.to_string()).unwrap();
        writer.add(d).metadata(Value::Map(vec![])).array(single.view()).unwrap();
    }
    writer.finish().unwrap();
    let bytes = std::fs::read(&path).unwrap();
    let layout = Layout::read(&FileSource::open(&path).unwrap()).unwrap();
    let (mut text, mut count) = (&bytes[8..layout.data as usize], 0);
    while let Some(entry) = fast::entry(text, true, layout) {
        text = &text[entry.len..];
        count += 1;
    }
    assert_eq!((count, text), (80, &b"\n"[..]), "stopped at {}", text.escape_ascii());
}
