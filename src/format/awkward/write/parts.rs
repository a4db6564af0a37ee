//! Reads what a mount's `meta.yaml` says about an array, or a part of one, that is to be written. With it, arrays are
//! refused that are neither flat nor jagged (their parts alone would form other arrays), or that changed on the way.

use std::io::{self, Read};

use crate::yaml::{self, Node};

/// Maximum length read, as YAML takes many times its size in memory; descriptions of flat and jagged arrays are short.
const MAX_LEN: u64 = 1 << 20;
/// Maximum length of a type in characters; flat and jagged arrays stay below it with any supported number of
/// dimensions.
const MAX_TYPE_LEN: usize = 16 << 10;

#[derive(Clone)]
pub struct Declared {
    /// The array, or part of one, that it describes, where the file name does not show it.
    pub name: Option<String>,
    /// The array's name, if it is an array by itself rather than a part.
    pub array: Option<String>,
    pub is_flat: bool,
    /// In the reference's notation: `[0, 3) -> [0, inf) -> float64`.
    shape: String,
}

/// None if the file is something else under this name.
pub fn read(data: &mut dyn Read) -> io::Result<Option<Declared>> {
    let mut bytes = Vec::new();
    data.take(MAX_LEN + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_LEN {
        return Err(io::Error::other(format!(
            "a meta.yaml has more than {MAX_LEN} bytes, which is the limit"
        )));
    }
    let Some(node) = String::from_utf8(bytes).ok().and_then(|text| yaml::value(&text).ok()) else {
        return Ok(None);
    };
    let Some(class) = node.get("class").and_then(Node::as_str) else { return Ok(None) };
    if let Some(why) = refused(&node) {
        return Err(io::Error::other(format!("not all of the array ({class}) is there: {why}")));
    }
    if !matches!(class, "numpy.ndarray" | "JaggedArray") {
        return Err(io::Error::other(format!(
            "the array is of the class {class}; from files and other containers only flat and jagged arrays \
             are written (rab convert from .awkd to .awkd keeps every class)"
        )));
    }
    let shape = node.get("type").and_then(Node::as_str).unwrap_or_default();
    let text = |key| node.get(key).and_then(Node::as_str).map(str::to_owned);
    let (name, array) = (text("name"), text("array"));
    let shape = shape.chars().take(MAX_TYPE_LEN).collect();
    Ok(Some(Declared { name, array, is_flat: class == "numpy.ndarray", shape }))
}

/// The first reason given for something being missing.
fn refused(node: &Node) -> Option<String> {
    let text = |node: &Node, key: &str| node.get(key).and_then(Node::as_str).map(str::to_owned);
    match node.get("refused") {
        Some(Node::Seq(parts)) => parts.first().and_then(|part| text(part, "why")),
        _ => text(node, "refused").or_else(|| text(node, "problem")),
    }
}

/// The sizes of dimensions (None for lists) in the reference's notation.
pub fn shown(dimensions: &[Option<u64>]) -> String {
    let size = |size: &Option<u64>| size.map_or("inf".into(), |size| size.to_string());
    dimensions.iter().map(|dimension| format!("[0, {}) -> ", size(dimension))).collect()
}

impl Declared {
    /// Fails unless the array has the described dimensions. If the description may refer to two arrays, one match is
    /// enough.
    pub fn check(declared: &[Declared], dimensions: &[Option<u64>]) -> Result<(), String> {
        let found = shown(dimensions);
        let is_so = |declared: &Declared| {
            declared.shape.strip_prefix(&found).is_some_and(|element| !element.starts_with("[0, "))
        };
        match declared.first() {
            Some(first) if !declared.iter().any(is_so) => Err(format!(
                "meta.yaml says that it is {}, but its parts make {found}... (without meta.yaml they are \
                 written so)",
                first.shape
            )),
            _ => Ok(()),
        }
    }
}
