//! `.zattrs`: the dataset's metadata as far as JSON can hold it, and the axis names, which xarray needs.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use crate::array::Array;
use crate::yaml::{self, Node};

const AXES: &str = "_ARRAY_DIMENSIONS";

/// Metadata that is no mapping is the attribute `metadata`.
pub fn of(array: &Array, metadata: &Node) -> Value {
    let mut attributes = match yaml::to_json(metadata) {
        Value::Object(attributes) => attributes,
        Value::Null => Map::new(),
        other => Map::from_iter([("metadata".to_owned(), other)]),
    };
    let axes = attributes.remove(AXES).filter(|axes| can_name(axes, array.shape.len()));
    let mut all = Map::from_iter([(AXES.to_owned(), axes.unwrap_or_else(|| names(&array.shape)))]);
    all.append(&mut attributes);
    Value::Object(all)
}

/// Does the dataset itself name its axes, each by another name?
fn can_name(axes: &Value, count: usize) -> bool {
    let Value::Array(axes) = axes else { return false };
    let names: HashSet<&str> = axes.iter().filter_map(Value::as_str).collect();
    axes.len() == count && names.len() == count
}

/// One name is one size in all of a store, or xarray refuses it: so axes are called by their size, and arrays of one
/// shape can be computed with.
fn names(shape: &[u64]) -> Value {
    let name = |(axis, size): (usize, &u64)| {
        let before = shape.iter().take(axis).filter(|other| *other == size).count();
        if before == 0 { format!("dim_{size}") } else { format!("dim_{size}_{}", before + 1) }
    };
    json!(shape.iter().enumerate().map(name).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::array::{Dtype, Element, Endian, Order};

    fn attributes(shape: &[u64], metadata: Node) -> String {
        let dtype = Dtype { element: Element::from_name("int8").unwrap(), endian: Endian::Little };
        of(&Array::new(dtype, shape, Order::C), &metadata).to_string()
    }

    #[test]
    fn axes_are_called_by_their_sizes() {
        assert_eq!(
            attributes(&[3, 0, 3, 5, 3], Node::Null),
            r#"{"_ARRAY_DIMENSIONS":["dim_3","dim_0","dim_3_2","dim_5","dim_3_3"]}"#
        );
        assert_eq!(attributes(&[], Node::int(5)), r#"{"_ARRAY_DIMENSIONS":[],"metadata":5}"#);
    }

    #[test]
    fn a_dataset_may_name_its_axes() {
        let axes = |names: &[&str]| Node::map([(AXES, Node::seq(names.iter().map(|name| Node::text(name))))]);
        assert_eq!(attributes(&[3, 3], axes(&["t", "x"])), r#"{"_ARRAY_DIMENSIONS":["t","x"]}"#);
        for wrong in [&["t"][..], &["t", "t"], &["t", "x", "y"]] {
            assert_eq!(attributes(&[3, 3], axes(wrong)), r#"{"_ARRAY_DIMENSIONS":["dim_3","dim_3_2"]}"#);
        }
    }
}
