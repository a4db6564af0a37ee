//! The edges of a node to its parts.

use super::{ArrayKind, Edge, Lists, Node, Rows};

impl Node {
    /// In order.
    pub fn edges(&self) -> Vec<Edge> {
        let both = |lists: &Lists, content: &Edge| [lists.edges(), vec![*content]].concat();
        match &self.kind {
            ArrayKind::Flat(_) | ArrayKind::Refused { .. } => Vec::new(),
            ArrayKind::Jagged { lists, content } | ArrayKind::Strings { lists, content, .. } => {
                both(lists, content)
            }
            ArrayKind::Table { columns } | ArrayKind::Record { columns, .. } => {
                columns.iter().map(|column| column.edge).collect()
            }
            ArrayKind::View { rows: Rows::Numbers(rows), table } => vec![*rows, *table],
            ArrayKind::View { table, .. } => vec![*table],
            ArrayKind::Masked { mask, content, .. }
            | ArrayKind::BitMasked { mask, content, .. }
            | ArrayKind::IndexedMasked { mask, content, .. } => vec![*mask, *content],
            ArrayKind::Union { tags, index, contents } => {
                [vec![*tags], index.iter().copied().collect(), contents.clone()].concat()
            }
            ArrayKind::Chunked { chunks, .. } => chunks.iter().map(|(edge, _)| *edge).collect(),
            ArrayKind::Indexed { index, content } | ArrayKind::Sparse { index, content, .. } => {
                vec![*index, *content]
            }
            ArrayKind::Object { content, .. } => vec![*content],
        }
    }
}

impl ArrayKind {
    /// Calls `each` with every edge, which it may change.
    pub fn each_edge(&mut self, each: &mut dyn FnMut(&mut Edge)) {
        let lists = |lists: &mut Lists, each: &mut dyn FnMut(&mut Edge)| match lists {
            Lists::Counts(edge) | Lists::Offsets(edge) => each(edge),
            Lists::Bounds { starts, stops } => {
                each(starts);
                each(stops);
            }
        };
        match self {
            ArrayKind::Flat(_) | ArrayKind::Refused { .. } => {}
            ArrayKind::Jagged { lists: own, content } | ArrayKind::Strings { lists: own, content, .. } => {
                lists(own, each);
                each(content);
            }
            ArrayKind::Table { columns } | ArrayKind::Record { columns, .. } => {
                columns.iter_mut().for_each(|column| each(&mut column.edge))
            }
            ArrayKind::View { rows, table } => {
                if let Rows::Numbers(rows) = rows {
                    each(rows);
                }
                each(table);
            }
            ArrayKind::Masked { mask, content, .. }
            | ArrayKind::BitMasked { mask, content, .. }
            | ArrayKind::IndexedMasked { mask, content, .. } => {
                each(mask);
                each(content);
            }
            ArrayKind::Union { tags, index, contents } => {
                each(tags);
                index.iter_mut().for_each(&mut *each);
                contents.iter_mut().for_each(each);
            }
            ArrayKind::Chunked { chunks, .. } => chunks.iter_mut().for_each(|(edge, _)| each(edge)),
            ArrayKind::Indexed { index, content } | ArrayKind::Sparse { index, content, .. } => {
                each(index);
                each(content);
            }
            ArrayKind::Object { content, .. } => each(content),
        }
    }
}
