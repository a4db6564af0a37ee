//! Mapping keys, compared as in Python (`1`, `1.0` and `true` are equal), and PyYAML's merging of mappings.

use std::collections::HashMap;
use std::sync::Arc;

use super::{Node, Pair};

#[derive(PartialEq, Eq, Hash)]
enum Key<'n> {
    Null,
    Number(String),
    Text(&'n [u8]),
    Time(&'n str),
    Binary(&'n [u8]),
    /// A collection, which is never equal to another key; identified by its index.
    Unique(usize),
}

fn key(index: usize, node: &Node) -> Key<'_> {
    match node {
        Node::Null => Key::Null,
        Node::Bool(value) => Key::Number(u8::from(*value).to_string()),
        Node::Int(digits) => Key::Number(digits.to_string()),
        Node::Float(value) if value.fract() == 0.0 => Key::Number(format!("{:.0}", value + 0.0)),
        Node::Float(value) => Key::Number(value.to_string()),
        Node::Str(text) => Key::Text(text.as_bytes()),
        Node::Timestamp(time) => Key::Time(time),
        Node::Binary(bytes) => Key::Binary(bytes),
        Node::Set(_) | Node::Seq(_) | Node::Map(_) => Key::Unique(index),
    }
}

pub fn is_collection(node: &Node) -> bool {
    matches!(node, Node::Set(_) | Node::Seq(_) | Node::Map(_))
}

/// Removes duplicate keys: the last value wins, in the position of the first.
pub fn unique(pairs: Vec<Pair>) -> Vec<Pair> {
    let mut first = HashMap::with_capacity(pairs.len());
    let mut later = Vec::new();
    for (index, (node, _)) in pairs.iter().enumerate() {
        let place = *first.entry(key(index, node)).or_insert(index);
        if place != index {
            later.push((place, index));
        }
    }
    drop(first);
    if later.is_empty() { pairs } else { overwrite(pairs, &later) }
}

fn overwrite(mut pairs: Vec<Pair>, later: &[(usize, usize)]) -> Vec<Pair> {
    for (place, index) in later {
        let value = pairs.get(*index).map(|(_, value)| value.clone());
        if let Some(((_, old), value)) = pairs.get_mut(*place).zip(value) {
            *old = value;
        }
    }
    let mut dropped = later.iter().map(|(_, index)| *index).peekable();
    let kept = pairs.into_iter().enumerate().filter(|(index, _)| dropped.next_if_eq(index).is_none());
    kept.map(|(_, pair)| pair).collect()
}

/// Merges the value of `<<`: a mapping, or a list of mappings, the earlier of which take precedence. `false` for any
/// other value.
pub fn merge(merged: &mut Vec<Pair>, value: &Node) -> bool {
    match value {
        Node::Map(pairs) => merged.extend(pairs.iter().cloned()),
        Node::Seq(items) if items.iter().all(|item| item.as_map().is_some()) => {
            merged.extend(items.iter().rev().filter_map(|item| item.as_map()).flatten().cloned());
        }
        _ => return false,
    }
    true
}

/// Converts the items of `!!omap` or `!!pairs`, mappings of one pair each, to lists of two.
pub fn pairs(items: &[Arc<Node>]) -> Option<Vec<Arc<Node>>> {
    let pair = |item: &Arc<Node>| match item.as_map()? {
        [(key, value)] => Some(Arc::new(Node::Seq(vec![key.clone(), value.clone()]))),
        _ => None,
    };
    items.iter().map(pair).collect()
}
