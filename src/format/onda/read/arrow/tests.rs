use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value as Json;

use super::*;
use crate::source::FileSource;
use crate::source::memory::MemorySource;
use crate::yaml::to_json;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/onda")
}

fn samples() -> Vec<PathBuf> {
    let all = std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path());
    all.filter(|path| path.extension().is_some_and(|extension| extension == "arrow")).collect()
}

fn budget() -> Budget {
    Budget::new("it has", 1 << 20)
}

/// Converts an expected value to our notation: Julia's UUIDs are reversed.
fn expected(value: &Json) -> Json {
    match value {
        Json::Object(map) if map.contains_key("uuid_if_little_endian") => {
            map["uuid_if_little_endian"].clone()
        }
        Json::Object(map) => map.iter().map(|(key, value)| (key.clone(), expected(value))).collect(),
        Json::Array(items) => items.iter().map(expected).collect(),
        Json::String(time) if time.ends_with("+00:00") => {
            let time = time.trim_end_matches("+00:00");
            let (whole, part) = time.split_once('.').unwrap_or((time, "000"));
            format!("{whole}.{}Z", &part[..3]).into()
        }
        other => other.clone(),
    }
}

fn same(found: &Json, want: &Json) -> bool {
    match (found, want) {
        (Json::Number(found), Json::Number(want)) => found.as_f64() == want.as_f64(),
        (Json::Array(found), Json::Array(want)) => {
            found.len() == want.len() && found.iter().zip(want).all(|(found, want)| same(found, want))
        }
        (Json::Object(found), Json::Object(want)) => {
            found.len() == want.len()
                && found.iter().all(|(key, found)| want.get(key).is_some_and(|want| same(found, want)))
        }
        _ => found == want,
    }
}

fn read(source: &dyn Source) -> Result<Table> {
    Table::read(source, messages(source)?)
}

#[test]
fn every_value_of_every_sample() {
    let mut cells = 0;
    for path in samples() {
        let json = path.with_extension("arrow.expected.json");
        let about: Json = serde_json::from_str(&std::fs::read_to_string(json).unwrap()).unwrap();
        let table = read(&FileSource::open(&path).unwrap()).unwrap();
        let rows = about["rows"].as_array().unwrap();
        assert_eq!((table.rows(), table.is_stream), (rows.len(), about["ipc"] == "stream"), "{path:?}");
        let fields = about["fields"].as_array().unwrap();
        let names: Vec<&str> = fields.iter().map(|field| field["name"].as_str().unwrap()).collect();
        assert_eq!(table.schema.fields.iter().map(|field| &*field.name).collect::<Vec<_>>(), names);
        let metadata = about["schema_metadata"].as_object().unwrap();
        assert_eq!(table.schema.metadata.len(), metadata.len());
        for (row, want) in rows.iter().enumerate() {
            for column in table.columns() {
                let value = column.value(row).unwrap();
                let found = value.map_or(Json::Null, |value| to_json(&value.node(&mut budget()).unwrap()));
                let want = &want[&column.field.name];
                let want = match (want.get("bytes_hex"), column.field.extension()) {
                    (Some(hex), None) => hex.clone(),
                    _ => expected(want),
                };
                assert!(same(&found, &want), "{path:?} {row} {}: {found} {want}", column.field.name);
                cells += 1;
            }
        }
    }
    assert!(cells > 1500, "{cells}");
}

/// An Arrow file with one column of nulls, which take no bytes.
fn nulls(rows: usize) -> Vec<u8> {
    let array = Arc::new(arrow_array::NullArray::new(rows));
    let field = arrow_schema::Field::new("x", arrow_schema::DataType::Null, true);
    let schema = Arc::new(arrow_schema::Schema::new(vec![field]));
    let mut bytes = Vec::new();
    let mut file = arrow_ipc::writer::FileWriter::try_new(&mut bytes, &schema).unwrap();
    let batch = arrow_array::RecordBatch::try_new(schema.clone(), vec![array]).unwrap();
    file.write(&batch).unwrap();
    file.finish().unwrap();
    drop(file);
    bytes
}

#[test]
fn the_number_of_rows_is_limited_by_the_file_size() {
    let read = |bytes| read(&MemorySource { bytes, ..MemorySource::default() });
    assert_eq!(read(nulls(1 << 18)).unwrap().rows(), 1 << 18);
    for rows in [(1 << 18) + 1, 1 << 30] {
        let limit = read(nulls(rows)).err().unwrap();
        assert!(matches!(limit, crate::Error::Unsupported { .. }), "nothing is wrong with it");
        let message = limit.to_string();
        assert!(message.contains(&format!("a batch of {rows} rows")), "{message}");
        assert!(message.contains("the limit for a file of this size is 262144"), "{message}");
    }
    // A longer file may have more: bytes between messages and footer are ignored.
    let short = nulls(1 << 20);
    let footer =
        short.len() - 10 - u32::from_le_bytes(*short[short.len() - 10..].first_chunk().unwrap()) as usize;
    let (messages, footer) = short.split_at(footer);
    assert_eq!(read([messages, &vec![0; 4 << 20], footer].concat()).unwrap().rows(), 1 << 20);
}

/// Reads every value.
fn read_everything(bytes: Vec<u8>) -> Result<()> {
    let source = Arc::new(MemorySource { bytes, ..MemorySource::default() });
    let table = read(&*source)?;
    for row in 0..table.rows().min(1000) {
        for column in table.columns() {
            if let Ok(Some(value)) = column.value(row) {
                let _ = value.node(&mut budget());
            }
        }
    }
    Ok(())
}

#[test]
fn damage_causes_errors_or_other_values() {
    let mut refused = 0;
    for name in [
        "v2_extended.mylab.eeg-signal.arrow",
        "v2_dict.onda.signal.arrow",
        "v2_lz4.onda.signal.arrow",
        "v2_zstd_stream.onda.signal.arrow",
        "merged.onda.merged-annotation.arrow",
    ] {
        let bytes = std::fs::read(folder().join(name)).unwrap();
        assert!(read_everything(bytes.clone()).is_ok());
        for at in (0..bytes.len()).step_by(3) {
            for with in [0, 0x7f, 0xff, bytes[at] ^ 1, bytes[at] ^ 0x80] {
                let mut damaged = bytes.clone();
                damaged[at] = with;
                refused += usize::from(read_everything(damaged).is_err());
            }
        }
        for end in (0..bytes.len()).step_by(7) {
            let _ = read_everything(bytes[..end].to_vec());
        }
    }
    assert!(refused > 1000, "{refused}");
}

#[test]
fn claimed_sizes_are_not_allocated() {
    // A buffer of a compressed body claims 2^40 bytes.
    let path = folder().join("v2_zstd_stream.onda.signal.arrow");
    let bytes = std::fs::read(path).unwrap();
    let magic = [0x28, 0xb5, 0x2f, 0xfd];
    let places: Vec<usize> = (8..bytes.len() - 4).filter(|at| bytes[*at..].starts_with(&magic)).collect();
    assert!(places.len() > 10);
    for at in places {
        let mut damaged = bytes.clone();
        damaged[at - 8..at].copy_from_slice(&(1i64 << 40).to_le_bytes());
        let message = read_everything(damaged).unwrap_err().to_string();
        assert!(message.contains("decompress to more than"), "{message}");
    }
}

/// A file with one batch of these columns.
fn written(columns: Vec<(&str, arrow_array::ArrayRef)>) -> Vec<u8> {
    let batch = arrow_array::RecordBatch::try_from_iter(columns).unwrap();
    let mut file = arrow_ipc::writer::FileWriter::try_new(Vec::new(), &batch.schema()).unwrap();
    file.write(&batch).unwrap();
    file.finish().unwrap();
    file.into_inner().unwrap()
}

/// The first column, each value or what is wrong with it.
fn values(bytes: Vec<u8>) -> Result<Vec<std::result::Result<Option<String>, String>>> {
    let table = read(&MemorySource { bytes, ..MemorySource::default() })?;
    let column = table.column(0).unwrap();
    let text = |value: Value<'_>| value.node(&mut budget()).map(|node| to_json(&node).to_string());
    let value = |row| column.value(row).and_then(|value| value.map(text).transpose());
    Ok((0..table.rows()).map(|row| value(row).map_err(|problem| problem.text().to_owned())).collect())
}

fn position(bytes: &[u8], numbers: &[i32]) -> usize {
    let pattern: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
    memchr::memmem::find(bytes, &pattern).unwrap()
}

#[test]
fn what_contradicts_itself_is_never_another_value() {
    let texts = arrow_array::StringArray::from(vec![Some("aa"), None, Some("bbb")]);
    let whole = written(vec![("x", Arc::new(texts))]);
    let good = [Ok(Some("\"aa\"".to_owned())), Ok(None), Ok(Some("\"bbb\"".to_owned()))];
    assert_eq!(values(whole.clone()).unwrap(), good);

    // Where the value of the last row begins, which is also where a null ends.
    let offsets = position(&whole, &[0, 2, 2, 5]);
    let mut bytes = whole.clone();
    bytes[offsets + 8] = 0;
    let found = values(bytes).unwrap();
    assert_eq!(found[..2], good[..2]);
    assert!(found[2].as_ref().is_err_and(|problem| problem.contains("offset")), "{found:?}");

    // A null that is none.
    let validity = offsets - 64;
    assert_eq!(whole[validity], 0b101);
    let mut bytes = whole.clone();
    bytes[validity] = 0b111;
    let found = values(bytes).unwrap();
    assert!(
        found.iter().all(|value| value.as_ref().is_err_and(|problem| problem.contains("null"))),
        "{found:?}"
    );

    // Numbers of rows: of the batch, and of its columns.
    let lengths: Vec<usize> =
        (0..offsets).step_by(4).filter(|at| whole[*at..].starts_with(&3u64.to_le_bytes())).collect();
    assert!(lengths.len() >= 2);
    for at in lengths {
        let mut bytes = whole.clone();
        bytes[at] = 2;
        let found = values(bytes).unwrap_or_default();
        assert!(found.is_empty() || found == good, "byte {at}: {found:?}");
    }
}

#[test]
fn ends_of_runs_rise() {
    let ends = arrow_array::Int32Array::from(vec![10, 15, 100]);
    let runs = arrow_array::RunArray::try_new(&ends, &arrow_array::Int64Array::from(vec![7, 8, 9])).unwrap();
    let whole = written(vec![("x", Arc::new(runs))]);
    assert_eq!(values(whole.clone()).unwrap()[12], Ok(Some("8".to_owned())));
    let mut bytes = whole.clone();
    bytes[position(&whole, &[10, 15, 100]) + 4] = 5;
    let found = values(bytes).unwrap();
    assert!(
        found.iter().all(|value| value.as_ref().is_err_and(|problem| problem.contains("run 1"))),
        "{found:?}"
    );
}
