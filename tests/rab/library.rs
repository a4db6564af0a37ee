//! What the library gives that no verb shows: columns, objects, parts of bytes.

use rab::{AnyArray, Archive, ColumnValues, Error};

use crate::kit::{data, entry, rab as write};

fn open(sample: &str) -> Archive {
    Archive::open(data(sample)).unwrap()
}

#[test]
fn columns_have_their_original_types() {
    let archive = open("dataframe.rab");
    let plain = archive.dataset("table").unwrap().columns().unwrap();
    assert_eq!(plain, archive.dataset("table gzip").unwrap().columns().unwrap());
    let names: Vec<_> = plain.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["x", "count", "small", "flag", "label", "wide"]);
    let ColumnValues::Texts(labels) = &plain[4].1 else { panic!("{:?}", plain[4]) };
    assert_eq!((labels.len(), labels[7].as_str()), (50, "ligne é 7ligne é 7ligne é 7"));
    let ints = |column: usize| match &plain[column].1 {
        ColumnValues::Values(AnyArray::Int64(values)) => values.iter().copied().collect::<Vec<_>>(),
        other => panic!("{other:?}"),
    };
    assert_eq!(ints(1), (0..50).map(|i| i * 1000 - 7).collect::<Vec<_>>());
    assert_eq!(ints(5), (0..50).map(|i| i << 40).collect::<Vec<_>>());
    assert!(matches!(&plain[3].1, ColumnValues::Values(AnyArray::Bool(flags)) if flags.len() == 50));
    assert!(archive.dataset("blank text").unwrap().columns().is_ok());
}

#[test]
fn rows_without_bytes_take_no_memory() {
    let codec = [
        "byteLength: 0",
        "byteOffset: 0",
        "columnInfo:",
        "- {encodingType: text, key: a, maxByteSize: 0, originalType: text}",
        "rows: 1000000000000",
        "type: dataframe",
    ];
    let (_dir, file) = write(&entry("x", &codec), b"");
    let archive = Archive::open(file).unwrap();
    let error = archive.dataset("x").unwrap().columns().unwrap_err();
    assert!(
        matches!(&error, Error::Damaged { problem, .. } if problem.contains("rows without a byte")),
        "{error}"
    );
}

#[test]
fn elements_and_parts_of_bytes() {
    let archive = open("gzip.rab");
    let numbers = archive.dataset("array gzip members").unwrap();
    assert!(matches!(numbers.element(&[77_777]).unwrap(), AnyArray::Int32(one) if one[[]] == 77_777));
    assert_eq!(numbers.element(&[120_000]).unwrap_err().exit_code(), 2);
    let mut bytes = [0; 4];
    numbers.read_at(&mut bytes, 4 * 119_999).unwrap();
    assert_eq!(i32::from_le_bytes(bytes), 119_999);
    assert!(numbers.read_at(&mut bytes, 4 * 119_999 + 1).is_err());
}

#[test]
fn arrays_keep_their_layout() {
    let archive = open("orders.rab");
    let AnyArray::Int16(c) = archive.dataset("C of C").unwrap().array().unwrap() else { panic!() };
    let AnyArray::Int16(f) = archive.dataset("F of C").unwrap().array().unwrap() else { panic!() };
    assert_eq!(c, f);
    assert!(c.is_standard_layout() && f.view().reversed_axes().is_standard_layout());
}

#[test]
fn objects_are_values() {
    let object = open("readme.rab").dataset("an object").unwrap().object().unwrap();
    assert!(object.as_map().is_some_and(|pairs| !pairs.is_empty()));
    assert_eq!(open("readme.rab").dataset("Some text").unwrap().object().unwrap_err().exit_code(), 1);
}
