use super::*;
use crate::Archive;
use crate::array::{Array, Dtype, Element, Endian, Order};
use crate::format::writer::{self, NewContainer, WriteOptions};
use crate::tree::{ColumnInfo, Table};
use crate::yaml::{Node, Text};

fn add(
    to: &mut dyn NewContainer,
    name: &str,
    what: NewContent<'_>,
    deflated: bool,
    data: &[u8],
) -> Result<Vec<String>> {
    let compression = if deflated { Compression::Zlib(6) } else { Compression::None };
    let (name, metadata) = (Text::from(name), Node::map([("unit", Node::text("mV"))]));
    let dataset = NewDataset {
        name: &name,
        metadata: &metadata,
        what,
        compression: Some(compression),
        origin: None,
        facts: None,
    };
    to.add(&dataset, &mut &*data)
}

fn array(name: &str, shape: &[u64], order: Order) -> Array {
    let dtype = Dtype { element: Element::from_name(name).unwrap(), endian: Endian::Little };
    Array::new(dtype, shape, order)
}

fn create(path: &Path) -> Box<dyn NewContainer> {
    writer::create(path, &WriteOptions { jobs: 1, force: true }).unwrap()
}

#[test]
fn written_archives_read_back() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.npz");
    let data: Vec<u8> = (0..240_000u32).map(|n| (n.wrapping_mul(n) >> 9) as u8).collect();
    let samples = array("int16", &[3, 40_000], Order::F);
    let mut writer = create(&path);
    for (name, deflated) in [("a/plain", false), ("é packed", true)] {
        let left_out = add(&mut *writer, name, NewContent::Array(&samples), deflated, &data).unwrap();
        assert_eq!(left_out, ["its metadata is not kept"]);
        assert!(add(&mut *writer, name, NewContent::Array(&samples), deflated, &data).is_err(), "twice");
        assert!(add(&mut *writer, "short", NewContent::Array(&samples), deflated, &data[1..]).is_err());
    }
    add(&mut *writer, "text", NewContent::Text, true, "é漢".as_bytes()).unwrap();
    add(&mut *writer, "none", NewContent::Bytes, false, b"").unwrap();
    assert!(add(&mut *writer, "x.npy", NewContent::Bytes, false, b"").is_err());
    assert!(!path.exists());
    writer.finish().unwrap();

    let archive = Archive::open(&path).unwrap();
    assert_eq!(archive.names().collect::<Vec<_>>(), ["a/plain", "é packed", "text", "none"]);
    for name in ["a/plain", "é packed"] {
        let dataset = archive.dataset(name).unwrap();
        assert_eq!(dataset.array_description().unwrap(), &samples);
        assert!(dataset.bytes().unwrap() == data);
        dataset.verify(&|_| ()).unwrap();
    }
    assert_eq!(archive.dataset("a/plain").unwrap().stored_range().unwrap().start % 64, 0);
    assert_eq!(archive.dataset("text").unwrap().text().unwrap(), "é漢");
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
}

#[test]
fn incompressible_data_is_stored() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.npz");
    let mut state = 1u32;
    let mut noise = || {
        state = state.wrapping_mul(1664525).wrapping_add(1013904223);
        (state >> 24) as u8
    };
    let noise: Vec<u8> = (0..500_000).map(|_| noise()).collect();
    let zeros = vec![0; 500_000];
    let mut writer = create(&path);
    for (name, data) in [("noise", &noise), ("zeros", &zeros)] {
        let array = array("uint8", &[500_000], Order::C);
        let (name, compression) = (Text::from(name), Compression::ZlibIfSmaller(6));
        let what = NewContent::Array(&array);
        let dataset = NewDataset {
            name: &name,
            metadata: &Node::Null,
            what,
            compression: Some(compression),
            origin: None,
            facts: None,
        };
        writer.add(&dataset, &mut data.as_slice()).unwrap();
    }
    writer.finish().unwrap();
    let archive = Archive::open(&path).unwrap();
    for (name, data, is_stored) in [("noise", &noise, true), ("zeros", &zeros, false)] {
        let dataset = archive.dataset(name).unwrap();
        assert_eq!(dataset.description().compression.is_none(), is_stored, "{name}");
        assert!(&dataset.bytes().unwrap() == data);
        dataset.verify(&|_| ()).unwrap();
    }
}

#[test]
fn tables_become_structured_arrays() {
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
    let left_out =
        add(&mut *writer, "t", NewContent::Table(&table), false, b"\x00\x01\x00\x02abcxy\0").unwrap();
    assert!(left_out[1].contains("\"n\" (int64)"), "{left_out:?}");
    table.columns[1].name = "n".into();
    assert!(add(&mut *writer, "u", NewContent::Table(&table), false, b"\x00\x01\x00\x02abcxy\0").is_err());
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

/// As numpy reads it: values, layouts, and members without spare bytes.
#[test]
fn numpy_opens_written_archives() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.npz");
    let mut writer = create(&path);
    let data: Vec<u8> = (0..48u16).flat_map(u16::to_le_bytes).collect();
    for (name, order) in [("c", Order::C), ("f", Order::F)] {
        for deflated in [false, true] {
            let array = array("uint16", &[4, 12], order);
            add(&mut *writer, &format!("{name}/é {deflated}"), NewContent::Array(&array), deflated, &data)
                .unwrap();
        }
    }
    add(&mut *writer, "scalar", NewContent::Array(&array("int8", &[], Order::C)), false, b"\x07").unwrap();
    add(&mut *writer, "empty", NewContent::Array(&array("int8", &[0, 3], Order::C)), true, b"").unwrap();
    add(&mut *writer, "notes", NewContent::Text, true, b"text").unwrap();
    let columns = vec![ColumnInfo {
        name: "q\"'é".into(),
        element: Element::from_name("float32"),
        big_endian: false,
        width: 4,
        original: "float32".into(),
    }];
    add(&mut *writer, "table", NewContent::Table(&Table { rows: 1, columns }), false, &1.5f32.to_le_bytes())
        .unwrap();
    writer.finish().unwrap();
    let script = r#"
import sys, zipfile, numpy as np
assert zipfile.ZipFile(sys.argv[1]).testzip() is None
x = np.load(sys.argv[1])
want = np.arange(48, dtype="u2")
for state in ("false", "true"):
    assert np.array_equal(x["c/é " + state], want.reshape(4, 12))
    assert np.array_equal(x["f/é " + state], want.reshape(4, 12, order="F"))
assert x["scalar"] == 7 and x["scalar"].shape == () and x["empty"].shape == (0, 3) and x["notes"] == b"text"
assert x["table"].tolist() == [(1.5,)] and x["table"].dtype.names == ("q\"'é",)
"#;
    let python = std::env::var_os("RAB_TEST_PYTHON").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("target/python/bin/python"),
        PathBuf::from,
    );
    let message = std::process::Command::new(python).arg("-c").arg(script).arg(&path).output();
    let message = message.expect("a Python with numpy, which scripts/test installs");
    assert!(message.status.success(), "{}", String::from_utf8_lossy(&message.stderr));
}
