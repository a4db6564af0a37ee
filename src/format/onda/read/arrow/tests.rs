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

/// The expectation in the words of ours: UUIDs of Julia are read backwards, others are shown as they are.
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

fn same(found: &Json, wanted: &Json) -> bool {
    match (found, wanted) {
        (Json::Number(found), Json::Number(wanted)) => found.as_f64() == wanted.as_f64(),
        (Json::Array(found), Json::Array(wanted)) => {
            found.len() == wanted.len() && found.iter().zip(wanted).all(|(found, wanted)| same(found, wanted))
        }
        (Json::Object(found), Json::Object(wanted)) => {
            found.len() == wanted.len()
                && found.iter().all(|(key, found)| wanted.get(key).is_some_and(|wanted| same(found, wanted)))
        }
        _ => found == wanted,
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
        for (row, wanted) in rows.iter().enumerate() {
            for column in table.columns() {
                let value = column.value(row).unwrap();
                let found = value.map_or(Json::Null, |value| to_json(&value.node(&mut budget()).unwrap()));
                let wanted = &wanted[&column.field.name];
                let wanted = match (wanted.get("bytes_hex"), column.field.extension()) {
                    (Some(hex), None) => hex.clone(),
                    _ => expected(wanted),
                };
                assert!(same(&found, &wanted), "{path:?} {row} {}: {found} {wanted}", column.field.name);
                cells += 1;
            }
        }
    }
    assert!(cells > 1500, "{cells}");
}

/// An Arrow file with one column, of which no value takes a byte.
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
fn rows_are_as_many_as_a_file_of_its_size_may_have() {
    let read = |bytes| read(&MemorySource { bytes, ..MemorySource::default() });
    assert_eq!(read(nulls(1 << 18)).unwrap().rows(), 1 << 18);
    for rows in [(1 << 18) + 1, 1 << 30] {
        let limit = read(nulls(rows)).err().unwrap();
        assert!(matches!(limit, crate::Error::Unsupported { .. }), "nothing is wrong with it");
        let said = limit.to_string();
        assert!(said.contains(&format!("a batch of {rows} rows")), "{said}");
        assert!(said.contains("the limit for a file of this size is 262144"), "{said}");
    }
    // What is read of a longer one: bytes between its messages and the footer do not matter.
    let short = nulls(1 << 20);
    let footer =
        short.len() - 10 - u32::from_le_bytes(*short[short.len() - 10..].first_chunk().unwrap()) as usize;
    let (messages, footer) = short.split_at(footer);
    assert_eq!(read([messages, &vec![0; 4 << 20], footer].concat()).unwrap().rows(), 1 << 20);
}

/// Everything in it is looked at.
fn look(bytes: Vec<u8>) -> Result<()> {
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
fn damage_is_an_error_or_another_value() {
    let mut refused = 0;
    for name in [
        "v2_extended.mylab.eeg-signal.arrow",
        "v2_dict.onda.signal.arrow",
        "v2_lz4.onda.signal.arrow",
        "v2_zstd_stream.onda.signal.arrow",
        "merged.onda.merged-annotation.arrow",
    ] {
        let bytes = std::fs::read(folder().join(name)).unwrap();
        assert!(look(bytes.clone()).is_ok());
        for at in (0..bytes.len()).step_by(3) {
            for with in [0, 0x7f, 0xff, bytes[at] ^ 1, bytes[at] ^ 0x80] {
                let mut damaged = bytes.clone();
                damaged[at] = with;
                refused += usize::from(look(damaged).is_err());
            }
        }
        for end in (0..bytes.len()).step_by(7) {
            let _ = look(bytes[..end].to_vec());
        }
    }
    assert!(refused > 1000, "{refused}");
}

#[test]
fn what_claims_more_than_the_file_has_takes_no_memory() {
    // A buffer of a compressed body claims 2^40 bytes.
    let path = folder().join("v2_zstd_stream.onda.signal.arrow");
    let bytes = std::fs::read(path).unwrap();
    let magic = [0x28, 0xb5, 0x2f, 0xfd];
    let places: Vec<usize> = (8..bytes.len() - 4).filter(|at| bytes[*at..].starts_with(&magic)).collect();
    assert!(places.len() > 10);
    for at in places {
        let mut damaged = bytes.clone();
        damaged[at - 8..at].copy_from_slice(&(1i64 << 40).to_le_bytes());
        let said = look(damaged).unwrap_err().to_string();
        assert!(said.contains("decompress to more than"), "{said}");
    }
}
