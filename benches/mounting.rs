//! Benchmarks the steps of mounting: reading headers of the usual and of other layouts, building the tree, naming. Run
//! with `cargo bench`; rates are per dataset.

use std::fmt::Write;
use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use rab::bench::{Names, components, open};

const COUNT: u64 = 20_000;

fn header(entry: impl Fn(u64) -> String) -> tempfile::NamedTempFile {
    let text = (0..COUNT).fold("\n".to_owned(), |mut text, number| {
        let _ = write!(text, "{}", entry(number));
        text
    });
    let file = tempfile::NamedTempFile::new().expect("a scratch file");
    let length = (text.len() as u32).to_le_bytes();
    let data = vec![0; COUNT as usize * 8];
    std::fs::write(file.path(), [b"rab", &length[..], text.as_bytes(), &data].concat()).expect("writes");
    file
}

fn usual(n: u64) -> String {
    let offset = n * 8;
    format!(
        "- codecMeta:\n    byteLength: 8\n    byteOffset: {offset}\n    byteOrder: C\n    compression: null\n    \
         endianness: little\n    shape:\n    - 2\n    strides:\n    - 1\n    type: float32\n  metadata:\n    \
         channel: {n}\n    unit: microvolt\n  name: group{}/signal {n}\n",
        n / 1000
    )
}

/// As written by PyYAML before 5.1, which needs the general parser.
fn inline(n: u64) -> String {
    let offset = n * 8;
    format!(
        "- codecMeta:\n    byteLength: 8\n    byteOffset: {offset}\n    byteOrder: C\n    compression: null\n    \
         endianness: little\n    shape: [2]\n    strides: [1]\n    type: float32\n  metadata: {{channel: {n}}}\n  \
         name: group{}/signal {n}\n",
        n / 1000
    )
}

fn headers(c: &mut Criterion) {
    let mut group = c.benchmark_group("open");
    group.throughput(Throughput::Elements(COUNT)).sample_size(20);
    for (name, file) in [("usual layout", header(usual)), ("inline collections", header(inline))] {
        assert_eq!(open(file.path()).expect("opens"), COUNT);
        group.bench_function(name, |b| b.iter(|| open(file.path())));
    }
    group.finish();
}

fn trees(c: &mut Criterion) {
    let nested: Vec<String> = (0..COUNT).map(|n| format!("group{}/signal {n}", n / 100)).collect();
    let flat: Vec<String> = (0..COUNT).map(|n| format!("signal {n}")).collect();
    let mut group = c.benchmark_group("tree");
    group.throughput(Throughput::Elements(COUNT)).sample_size(20);
    for (name, names) in [("in directories", nested), ("flat", flat)] {
        let names = Names::new(names.iter().map(String::as_str));
        group.bench_function(name, |b| b.iter(|| names.tree()));
    }
    group.finish();
}

fn naming(c: &mut Criterion) {
    let mut group = c.benchmark_group("naming");
    group.throughput(Throughput::Elements(1));
    for (name, dataset) in
        [("plain", "group7/signal 12"), ("escaped", "50%\n/é/.."), ("long", &"x".repeat(300))]
    {
        group.bench_function(name, |b| b.iter(|| components(black_box(dataset))));
    }
    group.finish();
}

criterion_group!(benches, headers, trees, naming);
criterion_main!(benches);
