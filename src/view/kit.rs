//! Test helpers: datasets built from a description and bytes.

use std::sync::Arc;

use super::dataset::Origin;
use super::{Dataset, Representation, View};
use crate::array::{Array, Dtype, Element, Endian, Order};
use crate::content::Content;
use crate::tree::{ColumnInfo, Description, Table};
use crate::{Error, Result};

struct One(Content);

impl Origin for One {
    fn describe(&self) -> Result<Description> {
        Err(Error::NotFound)
    }
    fn content(&self) -> Result<Content> {
        Ok(self.0.clone())
    }
}

pub fn about(array: Option<Array>, table: Option<Table>) -> Description {
    Description { array, table, ..Description::of("x", "any") }
}

pub fn dataset(about: Description, content: Content) -> Dataset {
    Dataset::new(about, Arc::new(One(content)))
}

pub fn element(name: &str) -> Element {
    let other = |kind, size| Element { kind, size };
    match name {
        "int128" => other(crate::array::Kind::Int, 16),
        "bfloat16" => other(crate::array::Kind::Bfloat, 2),
        "float8_e5m2" => other(crate::array::Kind::Float8(crate::array::Float8::E5m2), 1),
        name => Element::from_name(name).unwrap(),
    }
}

pub fn array(name: &str, endian: Endian, shape: &[u64], order: Order) -> Array {
    Array::new(Dtype { element: element(name), endian }, shape, order)
}

/// Little-endian columns by name and type; a number instead of a type is the width of texts.
pub fn table(rows: u64, columns: &[(&str, &str)]) -> Table {
    let column = |(name, of): &(&str, &str)| {
        let (name, original) = (name.to_string(), of.to_string());
        let of = if *of == "bool" { "uint8" } else { *of };
        let (element, width) = match of.parse::<u64>() {
            Ok(width) => (None, width),
            Err(_) => (Some(element(of)), element(of).size.into()),
        };
        ColumnInfo { name, element, big_endian: false, width, original }
    };
    Table { rows, columns: columns.iter().map(column).collect() }
}

/// A dataset in a view; None if the view does not show it.
pub fn represent(view: &dyn View, about: Description, bytes: &[u8]) -> Option<Content> {
    if !view.shows(&about) {
        return None;
    }
    match view.represent(&dataset(about, Content::Inline(bytes.into()))).unwrap() {
        Representation::File(content) => Some(content),
        Representation::Directory(_) => panic!("it is a directory"),
    }
}

/// All of a content, after looking at ranges of it.
pub fn read(content: &Content) -> Vec<u8> {
    let len = content.len().unwrap();
    assert_eq!(content.known_len(), Some(len));
    let whole = content.read(0, usize::MAX).unwrap().to_vec();
    assert_eq!(whole.len() as u64, len);
    let mut seed = len.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    for _ in 0..200 {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let from = (seed >> 33) % (len + 1);
        let size = [1, 2, 7, 64, 4096][(seed >> 20) as usize % 5];
        let end = (from + size).min(len) as usize;
        let part = content.read(from, size as usize).unwrap();
        assert!(part.to_vec() == whole[from as usize..end], "{from} {size} of {len}");
    }
    whole
}
