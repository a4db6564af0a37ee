//! Flips every bit and tries every truncation: whatever `verify` accepts must be intact.

use std::path::Path;

use super::*;
use crate::Archive;
use crate::array::{Array, Dtype, Element, Endian, Order};
use crate::format::Compression;
use crate::format::writer::{self, NewContent, NewDataset};
use crate::yaml::{Node, Text};

fn write(path: &Path) {
    let mut writer = writer::create(path, &WriteOptions { jobs: 1, force: true }).unwrap();
    let mut add = |name: &str, what: NewContent<'_>, compression, data: &[u8]| {
        let (name, metadata) = (Text::from(name), Node::Null);
        let dataset = NewDataset {
            name: &name,
            metadata: &metadata,
            what,
            compression: Some(compression),
            origin: None,
            facts: None,
        };
        writer.add(&dataset, &mut &*data).unwrap();
    };
    let dtype = Dtype { element: Element::from_name("int16").unwrap(), endian: Endian::Little };
    let array = Array::new(dtype, [6, 5], Order::C);
    let data: Vec<u8> = (0..60).map(|n| n % 7).collect();
    add("a", NewContent::Array(&array), Compression::None, &data);
    add("b", NewContent::Array(&array), Compression::Zlib(6), &data);
    add("c", NewContent::Bytes, Compression::Zlib(9), &data);
    writer.finish().unwrap();
}

/// Names and bytes of the intact datasets; None if the archive cannot be opened.
fn right(path: &Path) -> Option<Vec<(String, Vec<u8>)>> {
    let archive = Archive::open(path).ok()?;
    let mut found = Vec::new();
    for number in 0..archive.len() {
        let Ok(dataset) = archive.dataset_at(number) else { continue };
        // No call may panic.
        let _ = (
            dataset.array(),
            dataset.stats(),
            dataset.stored_pieces(&mut |_| std::ops::ControlFlow::Continue(())),
        );
        if dataset.verify(&|_| ()).is_ok() {
            found
                .push((dataset.description().name.lossy().into_owned(), dataset.bytes().unwrap_or_default()));
        }
    }
    Some(found)
}

#[test]
fn damage_anywhere_never_gives_other_bytes() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.npz");
    write(&path);
    let (whole, want) = (std::fs::read(&path).unwrap(), right(&path).unwrap());
    assert_eq!(want.len(), 3);
    let mut lost = 0;
    for at in 0..whole.len() {
        for bit in 0..8 {
            let mut bytes = whole.clone();
            bytes[at] ^= 1 << bit;
            std::fs::write(&path, &bytes).unwrap();
            let Some(found) = right(&path) else {
                lost += 1;
                continue;
            };
            for (name, bytes) in &found {
                let same = want.iter().any(|(_, wanted)| wanted == bytes);
                assert!(same || bytes.is_empty(), "bit {bit} of byte {at}: {name:?} has {bytes:?}");
            }
            lost += want.len() - found.len().min(want.len());
        }
    }
    assert!(lost > 1000, "{lost}");
    for len in 0..whole.len() {
        std::fs::write(&path, &whole[..len]).unwrap();
        assert!(right(&path).is_none(), "cut at {len}");
    }
}
