//! Turns a header entry into a [`Description`].

use std::ops::Range;
use std::sync::Arc;

use super::entry::{self, Entry};
use super::fast;
use super::layout::Layout;
use crate::array::Element;
use crate::tree::{Checksum, ColumnInfo, Description, Table};
use crate::yaml::{Node, Text};

/// Errors are phrased to follow "entry N".
pub fn describe(node: &Node, layout: Layout) -> Result<Description, String> {
    let Entry { array, data, name, .. } = entry::entry(node, layout)?;
    let codec = node.get_shared("codecMeta").cloned().unwrap_or_else(null);
    let kind = word(&codec, "type").unwrap_or_default();
    let (fault, decoded) = match data {
        Ok(data) => (None, data.decoded),
        Err(fault) => (Some(fault.problem), None),
    };
    let recorded_len = codec.get("decodedLength").and_then(Node::as_u64);
    let stored = present(&codec, layout);
    let name = match node.get("name") {
        Some(Node::Str(text)) => text.clone(),
        _ => Text::from(&*String::from_utf8_lossy(&name)),
    };
    Ok(Description {
        array,
        table: if kind == "dataframe" { table(&codec) } else { None },
        compression: word(&codec, "compression"),
        decoded_len: decoded.or(recorded_len),
        recorded_len,
        checksum: codec.get("checksum").and_then(|node| checksum(node, stored.clone()?)),
        stored,
        fault,
        metadata: node.get_shared("metadata").cloned().unwrap_or_else(null),
        codec,
        ..Description::of(name, kind)
    })
}

/// Describes an entry in PyYAML's usual layout, given from its dash on, without metadata and codecMeta.
pub fn briefly(text: &[u8], layout: Layout) -> Option<Description> {
    let entry = fast::entry(text, true, layout).filter(|entry| entry.len == text.len())?;
    Some(Description {
        array: entry.array,
        compression: entry.data.compressed.then(|| "gzip".to_owned()),
        stored: Some(entry.data.stored),
        decoded_len: entry.data.decoded,
        ..Description::of(Text::from_wtf8(entry.name)?, String::from_utf8_lossy(entry.kind))
    })
}

fn null() -> Arc<Node> {
    Arc::new(Node::Null)
}

fn word(map: &Node, key: &str) -> Option<String> {
    map.get(key).and_then(Node::as_text).map(|text| text.lossy().into_owned())
}

/// The part of the stored bytes that lies within the file.
fn present(codec: &Node, layout: Layout) -> Option<Range<u64>> {
    let start = entry::integer(codec, "byteOffset")?.checked_add(layout.data.into())?;
    let end = start.checked_add(entry::integer(codec, "byteLength")?)?.min(layout.end.into());
    let (start, end) = (u64::try_from(start).ok()?, u64::try_from(end).ok()?);
    (layout.data <= start && start <= end).then_some(start..end)
}

fn checksum(node: &Node, range: Range<u64>) -> Option<Checksum> {
    Some(Checksum { range, algorithm: word(node, "algorithm")?, value: word(node, "value")? })
}

pub fn table(codec: &Node) -> Option<Table> {
    let rows = codec.get("rows")?.as_u64()?;
    let Node::Seq(columns) = codec.get("columnInfo")? else { return None };
    let columns = columns.iter().map(|node| column(node)).collect::<Option<_>>()?;
    Some(Table { rows, columns })
}

fn column(node: &Node) -> Option<ColumnInfo> {
    let encoding = word(node, "encodingType")?;
    let element = Element::from_name(&encoding);
    let width = match element {
        Some(element) => element.size.into(),
        None => node.get("maxByteSize")?.as_u64()?,
    };
    let name = node.get("key").map_or(String::new(), |key| match key {
        Node::Str(text) => text.lossy().into_owned(),
        Node::Int(digits) => digits.to_string(),
        _ => String::new(),
    });
    Some(ColumnInfo {
        name,
        element,
        // (sic)
        big_endian: word(node, "endianess").as_deref() == Some("big"),
        width,
        original: word(node, "originalType").unwrap_or(encoding),
    })
}
