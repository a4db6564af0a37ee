//! Reading entry by entry must find what the general parser finds in the whole text: for generated headers of every
//! style, for the samples, and for both with a few bytes changed.

use std::sync::atomic::{AtomicUsize, Ordering};

use proptest::prelude::*;

use super::super::entry;
use super::*;
use crate::source::memory::MemorySource;

fn source(header: &[u8]) -> MemorySource {
    let mut bytes = b"rab".to_vec();
    bytes.extend((header.len() as u32).to_le_bytes());
    bytes.extend(header);
    bytes.extend([b'x'; 64]);
    MemorySource { bytes, ..MemorySource::default() }
}

/// Everything known about the datasets, as text.
fn described(header: &Header, source: &MemorySource, layout: Layout) -> Vec<String> {
    let names = header.names.iter().map(|name| name.escape_ascii().to_string());
    let rest = (0..header.records.len() as u32).map(|number| {
        let text = header.records.text(number, source, layout).unwrap();
        let data = header.records.data(number).map_err(|fault| (&fault.problem, fault.claimed));
        let array = entry::entry(&text.node, layout).unwrap().array;
        let stored = header.records.data(number);
        let place = sidecar::place(number, stored.as_ref().map_err(|fault| *fault), Some(&text.node));
        let built = sidecar::build(&text, &place, array.as_ref(), b"f\xC3\xA9");
        let parts = header.records.sidecar_len(number);
        let literal = if parts.description > 0 { numpy::literal_len(b"f\xC3\xA9") } else { 0 };
        assert_eq!(built.len(), parts.entry + parts.description + literal, "{}", text.text);
        format!("{data:?} {array:?} {:?} {parts:?} {}", text.own, String::from_utf8(built).unwrap())
    });
    names.chain(rest).collect()
}

/// Checks that both ways agree; false if the header cannot be read entry by entry.
fn agree(text: &[u8]) -> bool {
    let source = source(text);
    let layout = Layout::read(&source).unwrap();
    let Some(pieces) = in_pieces(&source, layout).unwrap() else { return false };
    match whole(&source, layout) {
        Ok(all) => assert_eq!(described(&pieces, &source, layout), described(&all, &source, layout)),
        Err(error) => panic!("read in pieces, but not as a whole: {error}\n{}", text.escape_ascii()),
    }
    true
}

fn sample(name: &str) -> Vec<u8> {
    let path = format!("{}/tests/data/rab/{name}.rab", env!("CARGO_MANIFEST_DIR"));
    let bytes = std::fs::read(path).unwrap();
    let len = u32::from_le_bytes(bytes[3..7].try_into().unwrap()) as usize;
    bytes[7..7 + len].to_vec()
}

const SAMPLES: [&str; 8] =
    ["readme", "types", "orders", "empty_arrays", "names", "metadata", "gzip", "readme_flow"];

#[test]
fn the_samples_are_read_entry_by_entry() {
    for name in SAMPLES {
        assert!(agree(&sample(name)), "{name}");
    }
}

#[test]
fn the_usual_layout_is_read_fast() {
    let layout = Layout { header: 7, data: 0, end: 1 << 40 };
    for name in ["types", "empty_arrays", "gzip"] {
        let text = sample(name);
        let mut at = text.iter().take_while(|b| **b == b'\n').count();
        let mut read = 0;
        while let Some(entry) = fast::entry(&text[at..], true, layout) {
            at += entry.len;
            read += 1;
        }
        assert!(read > 2, "{name}: stopped at {}", String::from_utf8_lossy(&text[at..]));
    }
}

fn scalar() -> impl Strategy<Value = String> {
    let odd = prop::sample::select(vec![
        "yes",
        "No",
        "null",
        "~",
        "''",
        "'it''s'",
        "\"q\\n\"",
        "1",
        "-5",
        "007",
        "0o17",
        "1e3",
        "1.0e+3",
        "0.5",
        ".5",
        "1_0",
        "12:30:00",
        "2020-01-02",
        "x y",
        "x  y",
        "x: y",
        "x #y",
        "#x",
        "&a x",
        "*a",
        "!!str 5",
        "[1, 2]",
        "{a: 1}",
        "{}",
        "[]",
        "|",
        ">-",
        "- x",
        "? x",
        "'a",
        "\"a",
        "é",
        "漢",
        "=",
        "<<",
        "x\t",
        "-",
        "--- x",
        "true",
        "True",
        "nan",
        "Infinity",
        "on",
        "'yes'",
        "'1'",
        "a/b",
        "group0/signal 1",
        "-rf",
        "5 apples",
        "1.5.2",
        "0x1F",
        "'# c'",
        "''''",
        "a,b",
        "a]",
        "%x",
        "@x",
    ]);
    prop_oneof![12 => "[a-z]{1,6}", 4 => "[0-9]{1,4}", 2 => odd.prop_map(str::to_owned)]
}

fn metadata() -> impl Strategy<Value = String> {
    let flat = prop::collection::vec((scalar(), scalar()), 1..4)
        .prop_map(|pairs| pairs.iter().map(|(k, v)| format!("    {k}: {v}\n")).collect::<String>());
    let list = ("[a-z]{1,4}", prop::collection::vec(scalar(), 1..4)).prop_map(|(key, items)| {
        format!("    {key}:\n") + &items.iter().map(|i| format!("    - {i}\n")).collect::<String>()
    });
    let nested = ("[a-z]{1,4}", "[a-z]{1,4}", scalar(), 1usize..6)
        .prop_map(|(a, b, v, deep)| format!("    {a}:\n{}{b}: {v}\n", " ".repeat(4 + deep)));
    let lines = "(    [a-z: '\"#|&*\\[{-]{0,8}\n){1,3}";
    let block = prop_oneof![6 => flat, 4 => list, 3 => nested, 1 => lines];
    prop_oneof![
        1 => Just(" {}\n".to_owned()),
        1 => Just(" null\n".to_owned()),
        1 => Just(" *id001\n".to_owned()),
        9 => prop::collection::vec(block, 1..3).prop_map(|blocks| format!("\n{}", blocks.concat())),
    ]
}

fn codec() -> impl Strategy<Value = String> {
    let kind = prop::sample::select(vec!["int16", "float32", "bool", "text", "bytes", "float80", "'int16'"]);
    let shape = prop::sample::select(vec![
        "    shape:\n    - 2\n    strides:\n    - 1\n",
        "    shape: []\n    strides: []\n",
        "    shape: [2]\n",
        "    shape:\n    - 0\n    - 3\n    strides:\n    - 3\n    - 1\n",
        "    shape:\n      - 2\n",
        "    shape:\n    - 02\n",
        "",
    ]);
    let order =
        prop::sample::select(vec!["    byteOrder: C\n", "    byteOrder: F\n", "    byteOrder: 'C'\n", ""]);
    let pack = prop::sample::select(vec![
        "    compression: null\n",
        "    compression: gzip\n",
        "    compression: ~\n",
        "",
    ]);
    let endian = prop::sample::select(vec![
        "    endianness: little\n",
        "    endianness: big\n",
        "    endianness: na\n",
        "",
    ]);
    let sum = prop::sample::select(vec![
        "",
        "",
        "    checksum:\n      algorithm: sha256\n      value: 'a1b2'\n",
        "    checksum:\n      algorithm: sha256\n      value: 1e45\n",
        "    checksum: null\n",
    ]);
    let decoded = prop::sample::select(vec![
        "",
        "",
        "    decodedLength: 3\n",
        "    decodedLength: 99999\n",
        "    decodedLength: -1\n",
        "    decodedLength: x\n",
    ]);
    (0u64..9, 0u64..70, order, (sum, pack, decoded), endian, shape, kind).prop_map(
        |(length, offset, order, (sum, pack, decoded), endian, shape, kind)| {
            format!(
                "    byteLength: {length}\n    byteOffset: {offset}\n{order}{sum}{pack}{decoded}{endian}{shape}    type: {kind}\n"
            )
        },
    )
}

fn header() -> impl Strategy<Value = String> {
    let entry = (codec(), metadata(), scalar()).prop_map(|(codec, metadata, name)| {
        format!("- codecMeta:\n{codec}  metadata:{metadata}  name: {name}\n")
    });
    let odd =
        prop::sample::select(vec!["# note\n", "\n", "---\n", "...\n", "%YAML 1.1\n", "- x\n", "a: b\n"]);
    let between = prop_oneof![20 => Just(""), 1 => odd];
    let head =
        prop_oneof![12 => Just("\n"), 1 => prop::sample::select(vec!["", "---\n", "# c\n", "\u{feff}"])];
    let anchor = "- codecMeta: {byteLength: 1, byteOffset: 0, type: bytes}\n  metadata: &id001\n    a: 1\n  name: anchor\n";
    (head, prop::collection::vec((entry, between), 1..5)).prop_map(move |(head, entries)| {
        let rest = entries.into_iter().fold(String::new(), |text, (entry, between)| text + &entry + between);
        let anchor = if rest.contains("*id001") { anchor } else { "" };
        format!("{head}{anchor}{rest}\n")
    })
}

/// Replaces, removes or inserts a few bytes.
fn mutate(mut text: Vec<u8>, changes: &[(usize, u8, u8)]) -> Vec<u8> {
    for (at, kind, byte) in changes {
        let at = at % text.len().max(1);
        let byte = *b" \n\r\t-:#'\"&*!|>[]{}0aZ\xC2\x85,?%".get(usize::from(*byte) % 28).unwrap_or(&b'x');
        match kind % 3 {
            0 if at < text.len() => text[at] = byte,
            1 if at < text.len() => drop(text.remove(at)),
            _ => text.insert(at, byte),
        }
    }
    text
}

fn changes() -> impl Strategy<Value = Vec<(usize, u8, u8)>> {
    prop::collection::vec((0usize..1 << 20, any::<u8>(), any::<u8>()), 0..4)
}

/// Checks that enough cases were compared: a test whose headers are all rejected proves nothing.
fn compared(counter: &AtomicUsize, at_least: usize) {
    let count = counter.load(Ordering::Relaxed);
    assert!(count >= at_least, "only {count} headers could be compared");
}

fn config(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

#[test]
fn generated_headers() {
    let counter = AtomicUsize::new(0);
    let mut runner = proptest::test_runner::TestRunner::new(config(3000));
    let result = runner.run(&(header(), changes(), any::<bool>()), |(text, changes, crlf)| {
        let text = if crlf && changes.len() == 3 { text.replace('\n', "\r\n") } else { text };
        let text = mutate(text.into_bytes(), if changes.len() > 2 { &changes } else { &[] });
        counter.fetch_add(usize::from(agree(&text)), Ordering::Relaxed);
        Ok(())
    });
    result.unwrap_or_else(|failure| panic!("{failure}"));
    compared(&counter, 900);
}

#[test]
fn mutated_samples() {
    let counter = AtomicUsize::new(0);
    let samples: Vec<Vec<u8>> = ["readme", "orders", "metadata"].map(sample).to_vec();
    let mut runner = proptest::test_runner::TestRunner::new(config(400));
    let result = runner.run(&(0..samples.len(), changes()), |(which, changes)| {
        let text = mutate(samples[which].clone(), &changes);
        counter.fetch_add(usize::from(agree(&text)), Ordering::Relaxed);
        Ok(())
    });
    result.unwrap_or_else(|failure| panic!("{failure}"));
    compared(&counter, 100);
}

/// The decoded length of a compressed text with this `decodedLength`.
fn decoded(value: &str) -> Result<Option<u64>, String> {
    let text = format!(
        "- codecMeta:\n    byteLength: 8\n    byteOffset: 0\n    checksum:\n      algorithm: sha256\n      value: ab\n    \
         compression: gzip\n    decodedLength: {value}\n    type: text\n  metadata: null\n  name: x\n"
    );
    assert!(agree(text.as_bytes()));
    let source = source(text.as_bytes());
    let layout = Layout::read(&source).unwrap();
    let header = read(&source, layout).unwrap();
    let data = header.records.data(0).map_err(|fault| fault.problem.clone())?;
    Ok(data.decoded)
}

#[test]
fn the_decoded_length_is_believed_where_it_is_one() {
    assert_eq!(decoded("5000"), Ok(Some(5000)));
    assert_eq!(decoded("0"), Ok(Some(0)));
    for other in ["-1", "5.0", "null", "many", "[5]", "99999999999999999999999"] {
        assert_eq!(decoded(other), Ok(None), "{other}");
    }
    assert!(decoded("8257").unwrap_err().contains("cannot decode"));
}

#[test]
fn the_keys_of_our_writer_are_read_fast() {
    let text = "- codecMeta:\n    byteLength: 8\n    byteOffset: 0\n    byteOrder: C\n    checksum:\n      algorithm: sha256\n      \
                value: '12ab'\n    compression: gzip\n    decodedLength: 16\n    endianness: little\n    shape:\n    - 2\n    \
                type: float64\n  metadata: null\n  name: x\n";
    let layout = Layout { header: 7, data: 0, end: 1 << 40 };
    assert_eq!(fast::entry(text.as_bytes(), true, layout).unwrap().data.decoded, Some(16));
}
