//! Reports about datasets: one value, printed as YAML for people and as JSON for programs.

use std::borrow::Cow;
use std::sync::Arc;

use crate::tree::{ColumnInfo, Description};
use crate::yaml::{self, Node};

/// Pairs in the order in which they are printed.
#[derive(Default)]
pub struct Fields(Vec<(Arc<Node>, Arc<Node>)>);

impl Fields {
    pub fn add(&mut self, key: &str, value: impl Into<Arc<Node>>) {
        self.0.push((Arc::new(Node::text(key)), value.into()));
    }

    /// Adds a value if there is one.
    pub fn add_some(&mut self, key: &str, value: Option<Node>) {
        if let Some(value) = value {
            self.add(key, value);
        }
    }

    pub fn finish(self) -> Node {
        Node::Map(self.0)
    }
}

pub fn number(value: impl Into<i128>) -> Node {
    Node::Int(value.into().to_string().into())
}

pub fn list(items: impl Iterator<Item = Node>) -> Node {
    Node::Seq(items.map(Arc::new).collect())
}

/// Of an array, or rows and columns of a table.
fn shape(described: &Description) -> Node {
    match (&described.array, &described.table) {
        (Some(array), _) => sizes(&array.shape),
        (None, Some(table)) => sizes(&[table.rows, table.columns.len() as u64]),
        (None, None) => Node::Null,
    }
}

fn or_null(value: Option<u64>) -> Node {
    value.map_or(Node::Null, number)
}

/// What a listing shows of a dataset, which is printed as `name`.
pub fn brief(described: &Description, name: &str) -> Fields {
    let mut fields = Fields::default();
    fields.add("name", Node::text(name));
    fields.add("type", Node::text(&described.kind));
    fields.add("shape", shape(described));
    fields.add("compression", described.compression.as_deref().map_or(Node::Null, Node::text));
    fields.add("stored", or_null(described.stored.as_ref().map(|_| described.stored_len())));
    fields.add("length", or_null(described.decoded_len));
    fields.add_some("problem", described.fault.as_deref().map(Node::text));
    fields
}

/// Everything; `stats` is what was counted of its elements.
pub fn full(described: &Description, name: &str, stats: Option<Node>) -> Node {
    let mut fields = brief(described, name);
    fields.add("offset", or_null(described.stored_range().map(|range| range.start)));
    if let Some(array) = &described.array {
        fields.add("dtype", Node::text(&array.numpy_type()));
        fields.add("order", Node::text(&array.order.to_string()));
    }
    if let Some(table) = &described.table {
        fields.add("rows", number(table.rows));
        fields.add("columns", list(table.columns.iter().map(column)));
    }
    fields.add_some("stats", stats);
    fields.add("metadata", described.metadata.clone());
    fields.add("codecMeta", described.codec.clone());
    fields.finish()
}

/// As it is printed for people.
pub fn text(node: &Node) -> String {
    let mut text = String::new();
    yaml::write(node, 0, &mut text);
    text
}

fn sizes(shape: &[u64]) -> Node {
    list(shape.iter().map(|size| number(*size)))
}

fn column(column: &ColumnInfo) -> Node {
    let mut fields = Fields::default();
    fields.add("name", Node::text(&column.name));
    fields.add("type", Node::text(&column.original));
    fields.add("bytes", number(column.width));
    fields.finish()
}

/// The unit of the stored values, from the metadata: `sample_unit` is the unit of scaled values.
pub fn units(metadata: &Node) -> Option<String> {
    let mut keys = vec!["units", "unit", "Units", "Unit"];
    if is(metadata, "sample_resolution_in_unit", 1) && is(metadata, "sample_offset_in_unit", 0) {
        keys.push("sample_unit");
    }
    let found = keys.iter().find_map(|key| metadata.get(key)?.as_text());
    found.map(|text| text.lossy().into_owned())
}

/// Whether the key is absent or has this number.
fn is(metadata: &Node, key: &str, number: i32) -> bool {
    match metadata.get(key) {
        None => true,
        Some(Node::Float(found)) => *found == f64::from(number),
        Some(found) => found.as_i128() == Some(number.into()),
    }
}

/// A text for a terminal, without characters that move the cursor, colour the terminal or turn the direction of
/// writing.
pub fn escaped(name: &str) -> Cow<'_, str> {
    let odd = |c: char| c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    if !name.contains(odd) {
        return name.into();
    }
    let shown = |c: char| if odd(c) { c.escape_default().to_string() } else { c.to_string() };
    name.chars().map(shown).collect::<String>().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_play_with_the_terminal() {
        assert_eq!(escaped("Dürer's 漢字"), "Dürer's 漢字");
        assert_eq!(escaped("a\x1b[31m\nb\u{202e}c"), "a\\u{1b}[31m\\nb\\u{202e}c");
    }
}
