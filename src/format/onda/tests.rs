//! Short tables that expand enormously, for example by referring to one long text many times: they are refused with the
//! limit, or need only reasonable memory.

use std::collections::HashMap;
use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;

use arrow_array::types::Int8Type;
use arrow_array::{ArrayRef, DictionaryArray, Int8Array, ListArray, StringArray};
use arrow_buffer::OffsetBuffer;
use arrow_schema::Field;

use super::super::{Context, Format};
use super::Onda;
use super::read::schema::QUALIFIED;
use super::read::set::Set;
use super::read::table::{Signal, Span};
use super::views::{annotations, sidecar};
use super::write::canonical::{self, NewTable, SIGNALS};
use super::write::rewrite;
use crate::codec::Engine;
use crate::source::FileSource;
use crate::tree::{Datasets as _, ROOT, Sampled as _, Tree, Validate as _};
use crate::yaml::to_json;
use crate::{Error, Result};

pub const LONG: usize = 1 << 20;

/// A dictionary column with one text, repeated; each repetition takes one byte.
fn repeated(text: &str, count: usize) -> ArrayRef {
    let values = Arc::new(StringArray::from_iter_values([text]));
    Arc::new(DictionaryArray::<Int8Type>::new(Int8Array::from(vec![0; count]), values))
}

fn lists(items: ArrayRef, each: usize) -> ArrayRef {
    let field = Arc::new(Field::new("item", items.data_type().clone(), false));
    let offsets = OffsetBuffer::from_lengths(std::iter::repeat_n(each, items.len() / each));
    Arc::new(ListArray::new(field, offsets, items, None))
}

fn signal(row: usize) -> canonical::Row {
    let text = |text: &str| Some(text.to_owned());
    let signal = Signal {
        recording: Some(1),
        path: Some(format!("{row}.lpcm")),
        format: text("lpcm"),
        span: Some(Span { start: 0, stop: 1_000_000_000 }),
        label: text("eeg"),
        sensor_type: text("eeg"),
        channels: 1,
        unit: text("volt"),
        resolution: Some(1.0),
        offset: Some(0.0),
        sample_type: text("int8"),
        rate: Some(4.0),
    };
    (signal, vec![Some("a".into())])
}

/// Writes a table, with `others` replacing columns of the same name or added after them.
fn write(path: &Path, columns: canonical::Columns, others: Vec<(&str, ArrayRef)>, schema: &str) {
    let mut columns = columns;
    for (name, array) in others {
        let column = (Field::new(name, array.data_type().clone(), false), array);
        match columns.iter_mut().find(|(field, _)| field.name() == name) {
            Some(there) => *there = column,
            None => columns.push(column),
        }
    }
    let (fields, arrays) = columns.into_iter().unzip();
    let metadata = HashMap::from([(QUALIFIED.to_owned(), schema.to_owned())]);
    let file = File::create(path).unwrap();
    let mut table = NewTable::create(&file, fields, metadata).unwrap();
    table.add(arrays).unwrap();
    table.finish().unwrap();
}

/// A table of signals in a new directory, with the data of the first one.
fn signals(rows: usize, others: Vec<(&str, ArrayRef)>) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let rows: Vec<_> = (0..rows).map(signal).collect();
    write(&dir.path().join("x.arrow"), canonical::signals(&rows).unwrap(), others, SIGNALS);
    std::fs::write(dir.path().join("0.lpcm"), vec![0; 40_000]).unwrap();
    dir
}

fn context(dir: &tempfile::TempDir) -> Context {
    let source = Arc::new(FileSource::open(&dir.path().join("x.arrow")).unwrap());
    Context::new(source, Arc::new(Engine::new(1 << 20)))
}

fn message<T>(result: Result<T>) -> String {
    result.err().map_or("nothing".into(), |error| error.to_string())
}

fn names_in(tree: &dyn Tree, path: &[&str]) -> Vec<String> {
    let mut dir = ROOT;
    for name in path {
        dir = tree.lookup(dir, name.as_bytes()).unwrap().unwrap().0;
    }
    let mut names = Vec::new();
    let mut each = |name: &[u8], _| {
        names.push(String::from_utf8(name.to_owned()).unwrap());
        true
    };
    tree.list(dir, 0, &mut each).unwrap();
    for name in &names {
        assert!(tree.lookup(dir, name.as_bytes()).unwrap().is_some(), "{name}");
    }
    names
}

const RECORDING: &str = "00000000-0000-0000-0000-000000000001";

/// 10 GiB of channel names.
#[test]
fn many_channels_with_one_long_name() {
    let channels = lists(repeated(&"a".repeat(LONG), 10_000), 10_000);
    let dir = signals(1, vec![("channels", channels)]);
    let set = Set::open(context(&dir)).unwrap();
    let text = String::from_utf8(sidecar::build(&set, 0, b"eeg")).unwrap();
    assert!(text.contains("takes more than 67108864 bytes, which is the limit"), "{}", &text[..2000]);
    assert!(text.contains("the names of its channels have more than 16777216 bytes"), "{}", &text[..2000]);
    assert!(text.contains("shape: [4, 10000]") && text.len() < 10_000, "{}", text.len());
    let archive = super::OndaDatasets { set: Arc::new(set) };
    assert!(
        matches!(archive.violations(0), Err(Error::Unsupported { problem, .. }) if problem.contains("16777216"))
    );
    assert!(archive.sampling(0).is_none());
    // Each channel still has its file, since only its own name is read.
    let tree = Onda.open(context(&dir)).unwrap().into_tree().unwrap();
    let names = names_in(&*tree, &[".views", "channels", RECORDING, "eeg"]);
    assert!(names.len() == 10_000 && names.iter().all(|name| name.len() <= 255));
    let rewritten =
        rewrite::rewrite(&archive.set.tables[0], &[0], &dir.path().join("y"), &tempfile::tempfile().unwrap());
    assert!(message(rewritten).contains("16777216"));
}

#[test]
fn problems_of_channels_are_limited() {
    let dir = signals(1, vec![("channels", lists(repeated(&"A".repeat(1000), 10_000), 10_000))]);
    let archive = super::OndaDatasets { set: Arc::new(Set::open(context(&dir)).unwrap()) };
    let problems = archive.violations(0).unwrap();
    assert!(
        problems.len() < 1100 && problems.iter().all(|problem| problem.len() < 500),
        "{}",
        problems.len()
    );
    assert!(problems.iter().any(|problem| problem.contains("there are more problems")));
}

#[test]
fn many_signals_with_one_long_label() {
    let dir = signals(65, vec![("sensor_label", repeated(&"a".repeat(LONG), 65))]);
    let message = message(Set::open(context(&dir)));
    assert!(
        message.contains("x.arrow: the labels of signals have in all more than 67108864 bytes"),
        "{message}"
    );
    let dir = signals(3, vec![("sensor_label", repeated(&"a".repeat(LONG), 3))]);
    assert!(Set::open(context(&dir)).is_ok());
}

/// Reads 100 paths of 1 MiB, but not many more.
#[test]
fn many_signals_with_one_long_path() {
    let dir = signals(100, vec![("file_path", repeated(&"a".repeat(LONG), 100))]);
    let set = Set::open(context(&dir)).unwrap();
    let text = to_json(&sidecar::table(&set.tables[0])).to_string();
    assert!(text.contains("the texts in its file_path have more than"), "{text}");
}

/// Including names with slashes, and duplicates.
#[test]
fn signals_below_an_annotation_are_found_by_their_names() {
    let labels = StringArray::from_iter_values((0..100).map(|row| format!("a/{}", row / 2)));
    let others = vec![("sensor_label", Arc::new(labels) as ArrayRef), ("file_path", repeated("0.lpcm", 100))];
    let dir = signals(100, others);
    let columns =
        canonical::annotations(&[(1, 7, Span { start: 0, stop: 1 }), (2, 8, Span { start: 0, stop: 1 })]);
    let path = dir.path().join("y.arrow");
    write(&path, columns.unwrap(), Vec::new(), canonical::ANNOTATIONS);
    let other: Arc<dyn crate::source::Source> = Arc::new(FileSource::open(&path).unwrap());
    let tree = Onda.open(Context { others: vec![other], ..context(&dir) }).unwrap().into_tree().unwrap();
    let id = |number: u32| format!("00000000-0000-0000-0000-00000000000{number}");
    let names = names_in(&*tree, &[".views", "spans", &id(7)]);
    assert!(names.len() == 100 && names.contains(&"a%2F3@0.npy".into()), "{names:?}");
    assert_eq!(names_in(&*tree, &[".views", "spans", &id(8)]), [""; 0]);
    let dir = [".views", "spans", &id(7)];
    let dir = dir.iter().fold(ROOT, |dir, name| tree.lookup(dir, name.as_bytes()).unwrap().unwrap().0);
    let mut nodes: Vec<_> =
        names.iter().map(|name| tree.lookup(dir, name.as_bytes()).unwrap().unwrap().0).collect();
    assert!(nodes.is_sorted());
    nodes.dedup();
    assert_eq!(nodes.len(), 100);
    for missing in ["a%2F3@0", "a/3@0.npy", ".npy", "annotations.csv.npy"] {
        assert!(tree.lookup(dir, missing.as_bytes()).unwrap().is_none(), "{missing}");
    }
}

fn annotated(rows: usize, others: Vec<(&str, ArrayRef)>) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let span = Span { start: 0, stop: 1 };
    let rows: Vec<_> = (0..rows).map(|row| (1, row as u128, span)).collect();
    let columns = canonical::annotations(&rows).unwrap();
    write(&dir.path().join("x.arrow"), columns, others, canonical::ANNOTATIONS);
    dir
}

#[test]
fn duplicate_ids_are_reported_with_their_rows() {
    let dir = tempfile::tempdir().unwrap();
    let span = Span { start: 0, stop: 1 };
    let columns = canonical::annotations(&[(1, 7, span), (1, 8, span), (2, 7, span)]).unwrap();
    write(&dir.path().join("x.arrow"), columns, Vec::new(), canonical::ANNOTATIONS);
    let archive = super::OndaDatasets { set: Arc::new(Set::open(context(&dir)).unwrap()) };
    let table = archive.count() as u32 - 1;
    let problem = "row 2: id 00000000-0000-0000-0000-000000000007 is the same as in row 0";
    assert_eq!(archive.violations(table).unwrap(), [problem]);
}

#[test]
fn rows_of_alternating_recordings_keep_their_order() {
    let dir = tempfile::tempdir().unwrap();
    let span = Span { start: 0, stop: 1 };
    let columns = canonical::annotations(&[(1, 7, span), (2, 8, span), (3, 9, span), (1, 10, span)]).unwrap();
    write(&dir.path().join("x.arrow"), columns, Vec::new(), canonical::ANNOTATIONS);
    let archive = super::OndaDatasets { set: Arc::new(Set::open(context(&dir)).unwrap()) };
    assert_eq!(archive.rows(&[0, 1, 3]), [0, 1, 3]);
    assert_eq!(archive.rows(&[2]), [2]);
}

#[test]
fn many_annotations_with_one_long_text() {
    let text = "a".repeat(LONG);
    let nested = lists(repeated(&text, 20), 1);
    for (others, nests) in [(vec![("note", repeated(&text, 20))], false), (vec![("notes", nested)], true)] {
        let dir = annotated(20, others);
        let set = Set::open(context(&dir)).unwrap();
        let built = |max| annotations::built(&set, &set.recordings[0], nests, annotations::limit(max));
        let problem = message(built(10 << 20));
        assert!(
            problem.contains("x.arrow: the annotations of a recording have as text more than 10485760"),
            "{problem}"
        );
        let whole = built(annotations::MAX_LEN).unwrap();
        assert!(whole.len() > 20 * LONG && whole.len() < 21 * LONG);
    }
}

#[test]
fn columns_without_values_count_towards_the_limit() {
    let names: Vec<String> = (0..1000).map(|number| number.to_string()).collect();
    let nulls = || Arc::new(arrow_array::NullArray::new(100)) as ArrayRef;
    let dir = annotated(100, names.iter().map(|name| (name.as_str(), nulls())).collect());
    let set = Set::open(context(&dir)).unwrap();
    let built = |max| annotations::built(&set, &set.recordings[0], false, annotations::limit(max));
    assert!(message(built(100_000)).contains("more than 100000 bytes"));
    assert!(built(200_000).unwrap().len() > 100_000);
}

#[test]
fn rewritten_batches_are_limited_in_size() {
    let dir = signals(100, vec![("file_path", repeated(&"a".repeat(LONG), 100))]);
    let set = Set::open(context(&dir)).unwrap();
    let mut rewriting = rewrite::Rewriting::new(&set.tables[0], &dir.path().join("y")).unwrap();
    let rows: Vec<u32> = (0..100).collect();
    assert_eq!(rewriting.onda_columns(&rows).unwrap().1, 64);
    assert_eq!(rewriting.onda_columns(&rows[64..]).unwrap().1, 36);
    rewriting.budget = super::read::arrow::Budget::new("Onda's own columns take", 1 << 20);
    let Err(Error::Unsupported { problem, .. }) = rewriting.onda_columns(&rows) else { panic!() };
    assert!(problem.contains("Onda's own columns take more than 1048576 bytes"), "{problem}");
    // Every value has been written.
    let mut new = tempfile::NamedTempFile::new_in(dir.path()).unwrap();
    rewrite::rewrite(&set.tables[0], &rows, new.path(), new.as_file()).unwrap();
    let mut bytes = Vec::new();
    new.as_file_mut().read_to_end(&mut bytes).unwrap();
    let source = Arc::new(FileSource::open(new.path()).unwrap());
    let again = Set::open(Context::new(source, Arc::new(Engine::new(1 << 20)))).unwrap();
    assert_eq!((again.tables[0].arrow.batches(), again.tables[0].arrow.rows()), (2, 100));
    assert_eq!(again.tables[0].text("file_path", 99).unwrap().map(str::len), Some(LONG));
}

#[test]
fn texts_beyond_32_bit_offsets_are_refused() {
    assert!(canonical::fits([1 << 30, (1 << 30) - 1].into_iter()).is_ok());
    let problem = canonical::fits([1 << 30, 1 << 30].into_iter()).unwrap_err();
    assert!(problem.text().contains("more than 2147483647 bytes"), "{problem:?}");
    assert_eq!(canonical::len(&signal(7)), "7.lpcmlpcmeegeegvoltint8a".len() + 4);
}

/// Tables `x.arrow`, `y.arrow`, ... of annotations, each with its user columns.
fn several(tables: Vec<Vec<(&str, ArrayRef)>>) -> (tempfile::TempDir, Set) {
    let dir = tempfile::tempdir().unwrap();
    let mut paths = Vec::new();
    for (number, others) in (0..).zip(tables) {
        let path = dir.path().join(format!("{}.arrow", ["x", "y"][number]));
        let span = Span { start: 10 * number as i128, stop: 100 };
        let columns = canonical::annotations(&[(1, number as u128, span)]).unwrap();
        write(&path, columns, others, canonical::ANNOTATIONS);
        paths.push(Arc::new(FileSource::open(&path).unwrap()) as Arc<dyn crate::source::Source>);
    }
    let context = Context { others: paths.split_off(1), ..context(&dir) };
    (dir, Set::open(context).unwrap())
}

#[test]
fn user_columns_do_not_clash_with_fixed_ones() {
    let texts = |text: &str| Arc::new(StringArray::from_iter_values([text])) as ArrayRef;
    let user_columns = || vec![("start", texts("a")), ("table", texts("")), ("start~2", texts("c"))];
    let read = |tables, nested| {
        let (_dir, set) = several(tables);
        String::from_utf8(annotations::build(&set, &set.recordings[0], nested).unwrap()).unwrap()
    };
    let ids = [0, 1].map(|number| format!("00000000-0000-0000-0000-00000000000{number}"));
    let of_one = format!("id,start,stop,start~2,table,start~2~2\n{},0,100,a,\"\",c\n", ids[0]);
    assert_eq!(read(vec![user_columns()], false), of_one);
    let of_both = format!(
        "id,start,stop,start~2,table~2,start~2~2,table\n{},0,100,a,\"\",c,x\n{},10,100,b,,,y\n",
        ids[0], ids[1]
    );
    assert_eq!(read(vec![user_columns(), vec![("start", texts("b"))]], false), of_both);
    let nests = || ("tags", lists(texts("t"), 1));
    let lines =
        read(vec![[user_columns(), vec![nests()]].concat(), vec![("stop", texts("b")), nests()]], true);
    let first = format!(
        r#"{{"id":"{}","start":0,"stop":100,"start~2":"a","table~2":"","start~2~2":"c","tags":["t"],"table":"x"}}"#,
        ids[0]
    );
    let second =
        format!(r#"{{"id":"{}","start":10,"stop":100,"tags":["t"],"stop~2":"b","table":"y"}}"#, ids[1]);
    assert_eq!(lines.lines().collect::<Vec<_>>(), [first, second]);
}

/// However the length is determined.
#[test]
fn a_file_is_decoded_once_for_all_rows() {
    let columns = vec![("file_path", repeated("0.zst", 3)), ("file_format", repeated("lpcm.zst", 3))];
    let dir = signals(3, columns);
    let file = File::create(dir.path().join("0.zst")).unwrap();
    crate::codec::zstd_frame(file, |to| to.write_all(&[1; 40])).unwrap();
    let archive = super::OndaDatasets { set: Arc::new(Set::open(context(&dir)).unwrap()) };
    let identities: Vec<_> = (0..3).map(|row| archive.identity(row).unwrap()).collect();
    assert!(identities.iter().all(|identity| *identity == identities[0]));
    assert_eq!(archive.set.data(0).unwrap().known_len(), None);
    assert_eq!(archive.set.data(2).unwrap().len().unwrap(), 40);
    assert_eq!(archive.set.data(0).unwrap().known_len(), Some(40));
}
