//! What `meta.yaml` of a mount tells of an array, or of a part of one, that is to be written: by it what is neither flat
//! nor jagged is refused, as its parts alone would be other arrays, and what became something else on its way.

use std::io::{self, Read};

use crate::yaml::{self, Node};

/// The longest that is read, as YAML takes many times its length; what is told of flat and jagged arrays is short.
const MAX_LEN: u64 = 1 << 20;
/// The longest type that is kept, in characters; that of a flat or jagged array with as many dimensions as there can be
/// is shorter.
const MAX_TYPE_LEN: usize = 16 << 10;

#[derive(Clone)]
pub struct Told {
    /// The array, or part of one, that it is said of, where the name of the file does not tell.
    pub name: Option<String>,
    /// Of what is an array by itself, and no part: its name.
    pub array: Option<String>,
    pub is_flat: bool,
    /// As the reference shows it: `[0, 3) -> [0, inf) -> float64`.
    shape: String,
}

/// None: it is something else that is called so.
pub fn read(data: &mut dyn Read) -> io::Result<Option<Told>> {
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
    Ok(Some(Told { name, array, is_flat: class == "numpy.ndarray", shape }))
}

/// Why something of it is not there: what is said first.
fn refused(node: &Node) -> Option<String> {
    let text = |node: &Node, key: &str| node.get(key).and_then(Node::as_str).map(str::to_owned);
    match node.get("refused") {
        Some(Node::Seq(parts)) => parts.first().and_then(|part| text(part, "why")),
        _ => text(node, "refused").or_else(|| text(node, "problem")),
    }
}

/// The sizes of dimensions, None for those of lists, as the reference shows them.
pub fn shown(dimensions: &[Option<u64>]) -> String {
    let size = |size: &Option<u64>| size.map_or("inf".into(), |size| size.to_string());
    dimensions.iter().map(|dimension| format!("[0, {}) -> ", size(dimension))).collect()
}

impl Told {
    /// An array that was told so has these dimensions. Of two arrays that may be meant one has.
    pub fn check(told: &[Told], dimensions: &[Option<u64>]) -> Result<(), String> {
        let found = shown(dimensions);
        let is_so =
            |told: &Told| told.shape.strip_prefix(&found).is_some_and(|element| !element.starts_with("[0, "));
        match told.first() {
            Some(first) if !told.iter().any(is_so) => Err(format!(
                "meta.yaml says that it is {}, but its parts make {found}... (without meta.yaml they are \
                 written so)",
                first.shape
            )),
            _ => Ok(()),
        }
    }
}
