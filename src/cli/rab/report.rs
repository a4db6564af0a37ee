//! What is told of datasets, as one value that is printed as YAML for people and as JSON for programs.

use std::sync::Arc;

use crate::yaml::Node;
use crate::{ColumnInfo, Dataset, Description, Extreme, Stats};

/// Pairs in the order in which they are printed.
#[derive(Default)]
pub struct Fields(Vec<(Arc<Node>, Arc<Node>)>);

impl Fields {
    pub fn add(&mut self, key: &str, value: impl Into<Arc<Node>>) {
        self.0.push((Arc::new(Node::text(key)), value.into()));
    }

    /// Added only if it is there.
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

fn list(items: impl Iterator<Item = Node>) -> Node {
    Node::Seq(items.map(Arc::new).collect())
}

fn or_null(value: Option<u64>) -> Node {
    value.map_or(Node::Null, number)
}

/// What a listing shows.
pub fn brief(described: &Description) -> Fields {
    let mut fields = Fields::default();
    fields.add("name", Node::Str(described.name.clone()));
    fields.add("type", Node::text(&described.kind));
    fields.add("shape", described.array.as_ref().map_or(Node::Null, |array| sizes(&array.shape)));
    fields.add("compression", described.compression.as_deref().map_or(Node::Null, Node::text));
    fields.add("stored", number(described.stored_len()));
    fields.add("length", or_null(described.decoded_len));
    fields.add_some("problem", described.fault.as_deref().map(Node::text));
    fields
}

/// Everything.
pub fn full(dataset: &Dataset<'_>, stats: Option<&Stats>) -> Node {
    let described = dataset.description();
    let mut fields = brief(described);
    fields.add("offset", or_null(dataset.stored_range().map(|range| range.start)));
    if let Some(array) = &described.array {
        fields.add("dtype", Node::text(&array.numpy_type()));
        fields.add("order", Node::text(&array.order.to_string()));
    }
    if let Some(table) = &described.table {
        fields.add("rows", number(table.rows));
        fields.add("columns", list(table.columns.iter().map(column)));
    }
    fields.add_some("stats", stats.map(stats_fields));
    fields.add("metadata", described.metadata.clone());
    fields.add("codecMeta", described.codec.clone());
    fields.finish()
}

pub fn sizes(shape: &[u64]) -> Node {
    list(shape.iter().map(|size| number(*size)))
}

fn column(column: &ColumnInfo) -> Node {
    let mut fields = Fields::default();
    fields.add("name", Node::text(&column.name));
    fields.add("type", Node::text(&column.original));
    fields.add("bytes", number(column.width));
    fields.finish()
}

fn stats_fields(stats: &Stats) -> Node {
    let extreme = |value: Option<Extreme>| match value {
        Some(Extreme::Int(value)) => number(value),
        Some(Extreme::Float(value)) => Node::Float(value),
        None => Node::Null,
    };
    let mut fields = Fields::default();
    fields.add("count", number(stats.count));
    fields.add("min", extreme(stats.min));
    fields.add("max", extreme(stats.max));
    let mean = stats.mean.map_or(Node::Null, Node::Float);
    fields.add(
        "mean",
        match stats.imaginary_mean {
            Some(imaginary) => list([mean, Node::Float(imaginary)].into_iter()),
            None => mean,
        },
    );
    fields.add("nans", number(stats.nans));
    fields.add("zeros", number(stats.zeros));
    fields.finish()
}
