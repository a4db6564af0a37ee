//! Interprets a header entry as a dataset: where its bytes are, what they are, and their decoded length. An entry
//! without name, type or offsets means a damaged header; any other problem is the dataset's own: it is listed, and
//! reading it returns that error.
//!
//! `strides` are ignored: they describe the array in the writer's memory, while the stored bytes are always contiguous
//! in `byteOrder`.

use std::ops::Range;

use super::describe::table;
use super::layout::Layout;
use crate::array::{self, Array, Dtype, Element, Endian, Order};
use crate::format::writer::Described;
use crate::yaml::Node;

/// A dataset as its entry describes it.
pub struct Entry {
    /// The original name, in WTF-8.
    pub name: Box<[u8]>,
    pub array: Option<Array>,
    /// Where the bytes are, or the fault in the description.
    pub data: Result<Data, Fault>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Data {
    /// The range of the stored bytes in the file.
    pub stored: Range<u64>,
    pub compressed: bool,
    /// Length of the decoded bytes, if the entry records it.
    pub decoded: Option<u64>,
}

#[derive(Debug)]
pub struct Fault {
    pub problem: String,
    /// The length that the dataset claims, capped at the file's, so that a program that allocates before it reads still
    /// gets to see the error.
    pub claimed: u64,
}

/// A problem, phrased to follow "entry N of the header".
type Missing = String;

/// Interprets an item of the header.
pub fn entry(node: &Node, layout: Layout) -> Result<Entry, Missing> {
    let Node::Map(_) = node else { return Err("is not a mapping".into()) };
    let name = text_of(node, "name").ok_or("has no name that is a string")?;
    let shown = String::from_utf8_lossy(&name);
    let codec = match node.get("codecMeta") {
        Some(codec @ Node::Map(_)) => codec,
        _ => return Err(format!("(dataset {shown:?}) has no codecMeta that is a mapping")),
    };
    let lacks = |what: &str, kind: &str| format!("(dataset {shown:?}) has no {what} that is a {kind}");
    let kind = text_of(codec, "type").ok_or_else(|| lacks("type", "text"))?;
    let kind = String::from_utf8_lossy(&kind).into_owned();
    let offset = integer(codec, "byteOffset").ok_or_else(|| lacks("byteOffset", "whole number"))?;
    let length = integer(codec, "byteLength").ok_or_else(|| lacks("byteLength", "whole number"))?;

    let mut array = None;
    let data = describe(&mut array, codec, &kind, offset, length, layout).map_err(|problem| {
        let claimed = length.clamp(0, layout.end.into()) as u64;
        Fault { problem, claimed }
    });
    Ok(Entry { name, array, data })
}

/// Interprets a sidecar's `codecMeta`: what the bytes beside it are, and whether the container compresses them.
pub fn described(codec: &Node) -> Result<(Described, bool), String> {
    let kind = text_of(codec, "type").ok_or("it has no type that is a string")?;
    let described = match &*String::from_utf8_lossy(&kind) {
        "bytes" => Described::Bytes,
        "text" => Described::Text,
        "object" => Described::Object,
        "dataframe" => {
            dataframe_len(codec)?;
            Described::Table(table(codec).ok_or("its columns are not described")?)
        }
        kind => {
            let mut array = None;
            array_len(&mut array, codec, kind)?;
            Described::Array(array.ok_or("it has no known byteOrder or endianness")?)
        }
    };
    Ok((described, compression(codec)?))
}

/// Where the bytes are; the error says what is invalid.
fn describe(
    array: &mut Option<Array>,
    codec: &Node,
    kind: &str,
    offset: i128,
    length: i128,
    layout: Layout,
) -> Result<Data, String> {
    let compressed = compression(codec)?;
    let described = match kind {
        "text" | "bytes" | "object" => {
            codec.get("decodedLength").filter(|_| compressed).and_then(Node::as_u64)
        }
        "dataframe" => Some(dataframe_len(codec)?),
        _ => Some(array_len(array, codec, kind)?),
    };
    if let Some(len) = described.filter(|len| *len > i64::MAX as u64) {
        return Err(format!("its description needs {len} bytes, more than any file can have"));
    }
    let stored = layout.stored(offset, length)?;
    let have = stored.end - stored.start;
    if let Some(len) = described.filter(|len| compressed && *len > most_decoded(have)) {
        return Err(format!(
            "its description needs {len} bytes, to which {have} compressed bytes cannot decode"
        ));
    }
    match described {
        Some(need) if !compressed && need != have => {
            Err(format!("its byteLength is {have}, but its description needs {need} bytes"))
        }
        _ => Ok(Data { stored, compressed, decoded: if compressed { described } else { Some(have) } }),
    }
}

/// Maximum decoded length: deflate needs at least two bits for 258 bytes.
pub fn most_decoded(stored: u64) -> u64 {
    stored.saturating_mul(1032)
}

pub fn compression(codec: &Node) -> Result<bool, String> {
    match codec.get("compression") {
        None | Some(Node::Null) => Ok(false),
        Some(node) => match node.as_str() {
            Some("gzip") => Ok(true),
            _ => Err(format!("its compression is {}; only null and gzip are supported", shown(node))),
        },
    }
}

fn array_len(array: &mut Option<Array>, codec: &Node, kind: &str) -> Result<u64, String> {
    let element = Element::from_name(kind).ok_or_else(|| format!("its type {kind:?} is not known"))?;
    let shape = shape(codec)?;
    let len = array::byte_len(element, &shape).ok_or_else(|| {
        format!("its shape {shape:?} times {} bytes does not fit into 64 bits", element.size)
    })?;
    *array = layout_of(codec, element).map(|(dtype, order)| Array::new(dtype, shape, order));
    Ok(len)
}

fn shape(codec: &Node) -> Result<Box<[u64]>, String> {
    match codec.get("shape") {
        Some(Node::Seq(sizes)) => {
            array::check_axes(sizes.len())?;
            let sizes = sizes.iter().map(|size| size.as_u64());
            sizes
                .collect::<Option<_>>()
                .ok_or_else(|| "its shape has a size that is not a number from 0 to 2^64 - 1".to_owned())
        }
        Some(other) => Err(format!("its shape is {}, not a list of sizes", shown(other))),
        None => Err("it has no shape".into()),
    }
}

/// Byte order and layout, if the entry has valid values for both. They only describe the bytes, which can be served
/// without.
fn layout_of(codec: &Node, element: Element) -> Option<(Dtype, Order)> {
    let endian = match codec.get("endianness").and_then(Node::as_str) {
        Some("little") => Endian::Little,
        Some("big") => Endian::Big,
        _ if element.size == 1 => Endian::Little,
        _ => return None,
    };
    let order = match codec.get("byteOrder").map(Node::as_str) {
        None | Some(Some("C")) => Order::C,
        Some(Some("F")) => Order::F,
        _ => return None,
    };
    Some((Dtype { element, endian }, order))
}

/// Total length of all columns, each `rows` cells of its encodingType; text cells are maxByteSize bytes wide.
fn dataframe_len(codec: &Node) -> Result<u64, String> {
    let rows =
        codec.get("rows").and_then(Node::as_u64).ok_or("it has no rows that are a number from 0 on")?;
    let Some(Node::Seq(columns)) = codec.get("columnInfo") else {
        return Err("it has no columnInfo that is a list".into());
    };
    let too_long = || format!("its {} columns of {rows} rows do not fit into 64 bits", columns.len());
    let mut row: u64 = 0;
    for (number, column) in (1..).zip(columns.iter()) {
        let width = cell_width(column).map_err(|problem| format!("its column {number} {problem}"))?;
        row = row.checked_add(width).ok_or_else(too_long)?;
    }
    rows.checked_mul(row).ok_or_else(too_long)
}

fn cell_width(column: &Node) -> Result<u64, String> {
    match column.get("encodingType").and_then(Node::as_str) {
        Some("text") => column
            .get("maxByteSize")
            .and_then(Node::as_u64)
            .ok_or_else(|| "has no maxByteSize that is a number from 0 on".into()),
        Some(name) => Element::from_name(name)
            .map(|element| element.size.into())
            .ok_or_else(|| format!("has the encodingType {name:?}, which is not known")),
        None => Err("has no encodingType that is a string".into()),
    }
}

/// A scalar as text: a name that lost its quotes and became a number is still a name.
pub fn text_of(map: &Node, key: &str) -> Option<Box<[u8]>> {
    match map.get(key)? {
        Node::Str(text) => Some(text.as_bytes().into()),
        Node::Int(digits) => Some(digits.as_bytes().into()),
        _ => None,
    }
}

pub fn integer(map: &Node, key: &str) -> Option<i128> {
    map.get(key)?.as_i128()
}

fn shown(node: &Node) -> String {
    match node {
        Node::Str(text) => format!("{:?}", text.lossy()),
        Node::Int(digits) => digits.to_string(),
        Node::Map(_) | Node::Set(_) => "a mapping".into(),
        Node::Seq(_) => "a list".into(),
        Node::Null => "null".into(),
        _ => "no word".into(),
    }
}
