//! The differences found by `rab diff`, as JSON objects. The manual page describes them.

use std::sync::Arc;

use data_encoding::HEXLOWER;

use crate::array::json;
use crate::array::text::simplest;
use crate::diff::{ColumnDifference, DiffCell, Difference, Finding, Side, Values};
use crate::report::{Fields, list, number};
use crate::{Node, Scalar, yaml};

pub fn object(found: &Finding) -> Node {
    let mut fields = Fields::default();
    match found {
        Finding::Only(side, name) => {
            fields.add("name", Node::text(name));
            only(*side, &mut fields);
        }
        Finding::Different(name, difference) => {
            fields.add("name", Node::text(name));
            dataset(difference, &mut fields);
        }
        Finding::Failed(name, error) => {
            fields.add("name", Node::text(name));
            fields.add("difference", Node::text("unknown"));
            fields.add("error", Node::text(&error.to_string()));
        }
    }
    in_json(&fields.finish())
}

/// Replaces values without a JSON form by objects with one key, as in `rab get --json`, so that they differ from
/// strings.
fn in_json(node: &Node) -> Node {
    let tagged = |tag: &str, text: &str| Node::map([(tag, Node::text(text))]);
    match node {
        Node::Float(value) if !value.is_finite() => tagged("__float__", yaml::special(*value)),
        Node::Timestamp(time) => tagged("__date__", time),
        Node::Binary(bytes) => tagged("__bytes_hex__", &HEXLOWER.encode(bytes)),
        Node::Seq(items) | Node::Set(items) => list(items.iter().map(|item| in_json(item))),
        Node::Map(pairs) => {
            Node::Map(pairs.iter().map(|(key, value)| (key.clone(), in_json(value).into())).collect())
        }
        other => other.clone(),
    }
}

fn dataset(difference: &Difference, fields: &mut Fields) {
    match difference {
        Difference::Type(a, b) => both("type", Node::text(a), Node::text(b), fields),
        Difference::Shape(a, b) => both("shape", numbers(a), numbers(b), fields),
        Difference::Metadata(key, a, b) => keyed("metadata", key, [a, b], fields),
        Difference::Object(key, a, b) => keyed("object", key, [a, b], fields),
        Difference::Values(found) => values(found, fields),
        Difference::Byte(at, a, b) => {
            both("bytes", number(*a), number(*b), fields);
            fields.add("offset", number(*at));
        }
        Difference::Length(a, b) => both("length", number(*a), number(*b), fields),
        Difference::Column(name, difference) => {
            fields.add("column", Node::text(name));
            match difference {
                ColumnDifference::Only(side) => only(*side, fields),
                ColumnDifference::Type(a, b) => both("type", Node::text(a), Node::text(b), fields),
                ColumnDifference::Values(found) => values(found, fields),
            }
        }
    }
}

fn only(side: Side, fields: &mut Fields) {
    fields.add("difference", Node::text("only"));
    fields.add("in", Node::text(if side == Side::First { "a" } else { "b" }));
}

fn both(kind: &str, a: Node, b: Node, fields: &mut Fields) {
    fields.add("difference", Node::text(kind));
    fields.add("a", a);
    fields.add("b", b);
}

/// Leaves out the value of a side that lacks the key.
fn keyed(kind: &str, key: &str, [a, b]: [&Option<Arc<Node>>; 2], fields: &mut Fields) {
    fields.add("difference", Node::text(kind));
    fields.add("key", Node::text(key));
    fields.add_some("a", a.as_deref().cloned());
    fields.add_some("b", b.as_deref().cloned());
}

fn values(found: &Values, fields: &mut Fields) {
    let (a, b) = &found.cells;
    both("values", cell(a), cell(b), fields);
    fields.add("first", numbers(&found.first));
    fields.add("differing", number(found.differing));
    fields.add("compared", number(found.compared));
    fields.add("largest", found.largest.map_or(Node::Null, scalar));
    fields.add_some("unit", Some(found.unit).filter(|unit| !unit.is_empty()).map(Node::text));
}

fn cell(cell: &DiffCell) -> Node {
    match cell {
        DiffCell::Number(value) => scalar(*value),
        DiffCell::Time(text) | DiffCell::Text(text) => Node::text(text),
        DiffCell::Item(item, meaning) => {
            let written = json::item(item, meaning.as_deref());
            let node = yaml::json(&String::from_utf8_lossy(&written)).ok();
            node.map_or_else(|| Node::Binary(item.as_slice().into()), |node| (*node).clone())
        }
    }
}

fn scalar(value: Scalar) -> Node {
    match value {
        Scalar::Bool(value) => Node::Bool(value),
        Scalar::Int(value) => number(value),
        Scalar::Big(value) => Node::Int(value.to_string().into()),
        Scalar::Float(value, width) => Node::Float(simplest(value, width)),
        Scalar::Complex(real, imaginary, width) => {
            list([real, imaginary].into_iter().map(|part| Node::Float(simplest(part, width))))
        }
    }
}

fn numbers(values: &[u64]) -> Node {
    list(values.iter().map(|value| number(*value)))
}
