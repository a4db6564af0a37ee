//! Written files have the given data, and headers that strict readers accept.

use std::fs;

use tempfile::TempDir;

use super::*;
use crate::array::Record;
use crate::format::Compression;
use crate::yaml::Node;
use std::sync::Arc;

fn array(kind: Kind, size: u32, endian: Endian, shape: &[u64], order: Order) -> Array {
    Array::new(Dtype { element: Element { kind, size }, endian }, shape, order)
}

fn dataset<'a>(name: &'a Text, what: NewContent<'a>, metadata: &'a Node) -> NewDataset<'a> {
    NewDataset { name, metadata, what, compression: None, origin: None, facts: None }
}

struct Written {
    dir: TempDir,
    notes: Vec<String>,
}

impl Written {
    fn bytes(&self) -> Vec<u8> {
        fs::read(self.dir.path().join("x.ra")).unwrap()
    }
}

fn write(what: NewContent<'_>, data: &[u8]) -> Result<Written> {
    let dir = tempfile::tempdir().unwrap();
    let mut writer = Box::new(Writer::create(&dir.path().join("x.ra"), true)?);
    let notes = writer.add(&dataset(&"x".into(), what, &Node::Null), &mut &*data)?;
    assert!(fs::read_dir(dir.path()).unwrap().all(|entry| entry.unwrap().file_name() != "x.ra"));
    writer.finish()?;
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    Ok(Written { dir, notes })
}

fn words(bytes: &[u8], count: usize) -> Vec<u64> {
    assert!(bytes.starts_with(b"rawarray"));
    bytes[8..].chunks(8).take(count).map(|word| u64::from_le_bytes(word.try_into().unwrap())).collect()
}

#[test]
fn header_words_for_every_type() {
    for (kind, size, eltype) in [
        (Kind::Bool, 1, 2),
        (Kind::Int, 16, 1),
        (Kind::Uint, 2, 2),
        (Kind::Float, 2, 3),
        (Kind::Complex, 4, 4),
        (Kind::Bfloat, 2, 5),
        (Kind::Opaque, 12, 0),
    ] {
        let array = array(kind, size, Endian::Little, &[2, 3], Order::C);
        let data: Vec<u8> = (0..6 * size as u8).collect();
        let written = write(NewContent::Array(&array), &data).unwrap();
        let bytes = written.bytes();
        assert_eq!(words(&bytes, 7), [0, eltype, size.into(), 6 * u64::from(size), 2, 3, 2]);
        assert_eq!(bytes[64..], data);
        assert_eq!(written.notes.len(), usize::from(kind == Kind::Bool));
    }
}

#[test]
fn scalars_and_empty_arrays() {
    let scalar = array(Kind::Float, 4, Endian::Little, &[], Order::C);
    let bytes = write(NewContent::Array(&scalar), b"1234").unwrap().bytes();
    assert_eq!((words(&bytes, 5), &bytes[48..]), (vec![0, 3, 4, 4, 0], &b"1234"[..]));
    let empty = array(Kind::Float, 4, Endian::Big, &[3, 0], Order::C);
    let bytes = write(NewContent::Array(&empty), b"").unwrap().bytes();
    assert_eq!((words(&bytes, 7), bytes.len()), (vec![0, 3, 4, 0, 2, 0, 3], 64));
}

#[test]
fn data_becomes_little_endian() {
    let big = array(Kind::Int, 2, Endian::Big, &[2, 3], Order::C);
    let data: Vec<u8> = (0..6u16).flat_map(u16::to_be_bytes).collect();
    let want = |values: [u16; 6]| values.into_iter().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
    let bytes = write(NewContent::Array(&big), &data).unwrap().bytes();
    assert_eq!((words(&bytes, 7), &bytes[64..]), (vec![0, 1, 2, 12, 2, 3, 2], &*want([0, 1, 2, 3, 4, 5])));
    let of_f = Array { order: Order::F, ..big };
    assert!(write(NewContent::Array(&of_f), &data).err().unwrap().to_string().contains("in C order"));
    let complex = array(Kind::Complex, 8, Endian::Big, &[1], Order::C);
    assert_eq!(write(NewContent::Array(&complex), b"abcdefgh").unwrap().bytes()[56..], *b"dcbahgfe");
}

#[test]
fn bytes_and_texts_become_uint8_arrays() {
    for what in [NewContent::Bytes, NewContent::Text] {
        let written = write(what, b"some text").unwrap();
        let bytes = written.bytes();
        assert_eq!((words(&bytes, 6), &bytes[56..]), (vec![0, 2, 1, 9, 1, 9], &b"some text"[..]));
        assert_eq!(written.notes, ["it is written as an array of uint8"]);
    }
    assert!(
        write(NewContent::Object, b"{}")
            .err()
            .unwrap()
            .to_string()
            .contains("holds an array, and this is not one")
    );
}

#[test]
fn notes_list_what_is_not_kept() {
    let dir = tempfile::tempdir().unwrap();
    let mut writer = Writer::create(&dir.path().join("x.ra"), true).unwrap();
    let record = Record::parse("u1,u1", Endian::Little).unwrap();
    let array =
        Array { record: Some(Arc::new(record)), ..array(Kind::Opaque, 2, Endian::Little, &[1], Order::C) };
    let date = Record::foreign("<M8[s]", 8).unwrap();
    let dates = Array {
        record: Some(Arc::new(date)),
        ..self::array(Kind::Opaque, 8, Endian::Little, &[1], Order::C)
    };
    assert_eq!(
        write(NewContent::Array(&dates), &[1; 8]).unwrap().notes,
        ["its type <M8[s] is not kept: it becomes bytes"]
    );
    let metadata = Node::map([("a", Node::int(1))]);
    let (name, what) = ("other".into(), NewContent::Array(&array));
    let dataset = NewDataset { compression: Some(Compression::Zlib(6)), ..dataset(&name, what, &metadata) };
    let notes = writer.add(&dataset, &mut &b"ab"[..]).unwrap().join("; ");
    for part in
        ["fields of its elements", "its metadata is not kept", "its name is not kept", "not compressed"]
    {
        assert!(notes.contains(part), "{notes}");
    }
}

#[test]
fn only_one_array_and_its_trailer_fit() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.ra");
    let mut writer = Box::new(Writer::create(&path, true).unwrap());
    let array = array(Kind::Uint, 1, Endian::Little, &[4], Order::C);
    let mut add = |name: &str, what, data: &[u8]| {
        writer.add(&dataset(&name.into(), what, &Node::Null), &mut &*data).map_err(|error| error.to_string())
    };
    let short = add("x", NewContent::Array(&array), b"abc").unwrap_err();
    assert!(
        short.contains("dataset \"x\": cannot be written: it has 3 bytes, but its description needs 4"),
        "{short}"
    );
    add("x", NewContent::Array(&array), b"abcd").unwrap();
    assert!(add("y", NewContent::Array(&array), b"abcd").unwrap_err().contains("holds one array"));
    assert!(
        add("x.trailer", NewContent::Bytes, b"more").unwrap()[0]
            .contains("readers in Python and Rust refuse")
    );
    assert!(add("x.trailer", NewContent::Bytes, b"more").is_err());
    writer.finish().unwrap();
    assert_eq!(fs::read(path).unwrap()[56..], *b"abcdmore");
    let nothing = Box::new(Writer::create(&dir.path().join("y.ra"), true).unwrap()).finish().unwrap_err();
    assert!(nothing.to_string().contains("there is none"));
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
}

#[test]
fn opaque_numbers_keep_the_eltype_of_their_origin() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.ra");
    let mut writer = Box::new(Writer::create(&path, true).unwrap());
    let array = array(Kind::Opaque, 16, Endian::Little, &[1], Order::C);
    let origin = Node::map([("eltype", Node::int(3)), ("elbyte", Node::int(16))]);
    let name = "x".into();
    let dataset =
        NewDataset { origin: Some(&origin), ..dataset(&name, NewContent::Array(&array), &Node::Null) };
    writer.add(&dataset, &mut &[7; 16][..]).unwrap();
    writer.finish().unwrap();
    assert_eq!(words(&fs::read(path).unwrap(), 3), [0, 3, 16]);
}
