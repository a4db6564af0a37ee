use super::*;
use crate::Archive;
use crate::array::{Dtype, Element, Endian, Order};
use crate::format::target::{self, WriteOptions};
use crate::tree::{ColumnInfo, Table};
use crate::yaml::{Node, Text};

fn add(
    to: &mut dyn NewContainer,
    name: &str,
    what: What<'_>,
    deflated: bool,
    data: &[u8],
) -> Result<Vec<String>> {
    let compression = if deflated { Compression::Zlib(6) } else { Compression::None };
    let (name, metadata) = (Text::from(name), Node::map([("unit", Node::text("mV"))]));
    let dataset = NewDataset { name: &name, metadata: &metadata, what, compression, origin: None };
    to.add(&dataset, &mut &*data)
}

fn array(name: &str, shape: &[u64], order: Order) -> Array {
    let dtype = Dtype { element: Element::from_name(name).unwrap(), endian: Endian::Little };
    Array { dtype, shape: shape.into(), order }
}

fn create(path: &Path) -> Box<dyn NewContainer> {
    target::create(path, &WriteOptions { jobs: 1 }).unwrap()
}

#[test]
fn what_is_written_is_read() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.npz");
    let data: Vec<u8> = (0..240_000u32).map(|n| (n.wrapping_mul(n) >> 9) as u8).collect();
    let samples = array("int16", &[3, 40_000], Order::F);
    let mut writer = create(&path);
    for (name, deflated) in [("a/plain", false), ("é packed", true)] {
        let left_out = add(&mut *writer, name, What::Array(&samples), deflated, &data).unwrap();
        assert_eq!(left_out, ["its metadata is left out"]);
        assert!(add(&mut *writer, name, What::Array(&samples), deflated, &data).is_err(), "twice");
        assert!(add(&mut *writer, "short", What::Array(&samples), deflated, &data[1..]).is_err());
    }
    add(&mut *writer, "text", What::Text, true, "é漢".as_bytes()).unwrap();
    add(&mut *writer, "none", What::Bytes, false, b"").unwrap();
    assert!(add(&mut *writer, "x.npy", What::Bytes, false, b"").is_err());
    assert!(!path.exists());
    writer.finish().unwrap();

    let archive = Archive::open(&path).unwrap();
    assert_eq!(archive.names().collect::<Vec<_>>(), ["a/plain", "é packed", "text", "none"]);
    for name in ["a/plain", "é packed"] {
        let dataset = archive.dataset(name).unwrap();
        assert_eq!(dataset.array_description().unwrap(), &samples);
        assert!(dataset.bytes().unwrap() == data);
        dataset.verify(&mut |_| ()).unwrap();
    }
    assert_eq!(archive.dataset("a/plain").unwrap().stored_range().unwrap().start % 64, 0);
    assert_eq!(archive.dataset("text").unwrap().text().unwrap(), "é漢");
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
}

#[test]
fn tables_become_structures() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.npz");
    let column = |name: &str, element: Option<&str>, width, original: &str| ColumnInfo {
        name: name.into(),
        element: element.and_then(Element::from_name),
        big_endian: element.is_some(),
        width,
        original: original.into(),
    };
    let columns = vec![column("n", Some("uint16"), 2, "int64"), column("label", None, 3, "text")];
    let mut table = Table { rows: 2, columns };
    let mut writer = create(&path);
    let left_out = add(&mut *writer, "t", What::Table(&table), false, b"\x00\x01\x00\x02abcxy\0").unwrap();
    assert!(left_out[1].contains("\"n\" (int64)"), "{left_out:?}");
    table.columns[1].name = "n".into();
    assert!(add(&mut *writer, "u", What::Table(&table), false, b"\x00\x01\x00\x02abcxy\0").is_err());
    writer.finish().unwrap();
    let archive = Archive::open(&path).unwrap();
    let dataset = archive.dataset("t").unwrap();
    assert_eq!(
        (dataset.kind(), dataset.bytes().unwrap()),
        ("structure", b"\x00\x01abc\x00\x02xy\0".to_vec())
    );
}

#[test]
fn an_archive_without_members() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.npz");
    create(&path).finish().unwrap();
    assert!(Archive::open(&path).unwrap().is_empty());
}

#[test]
fn the_end_of_large_archives() {
    assert_eq!(member::end(1, 2, 3).len(), 22);
    assert_eq!(member::end(1 << 32, 2, 3).len(), 98);
    assert_eq!(member::end(1, 2, 65535).len(), 98);
}
