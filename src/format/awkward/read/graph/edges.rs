//! The parts of a node: from which nodes it is made.

use super::{Edge, Kind, Lists, Node, Rows};

impl Node {
    /// From first to last.
    pub fn edges(&self) -> Vec<Edge> {
        let both = |lists: &Lists, content: &Edge| [lists.edges(), vec![*content]].concat();
        match &self.kind {
            Kind::Flat(_) | Kind::Refused { .. } => Vec::new(),
            Kind::Jagged { lists, content } | Kind::Strings { lists, content, .. } => both(lists, content),
            Kind::Table { columns } | Kind::Record { columns, .. } => {
                columns.iter().map(|column| column.edge).collect()
            }
            Kind::View { rows: Rows::Numbers(rows), table } => vec![*rows, *table],
            Kind::View { table, .. } => vec![*table],
            Kind::Masked { mask, content, .. }
            | Kind::BitMasked { mask, content, .. }
            | Kind::IndexedMasked { mask, content, .. } => vec![*mask, *content],
            Kind::Union { tags, index, contents } => {
                [vec![*tags], index.iter().copied().collect(), contents.clone()].concat()
            }
            Kind::Chunked { chunks, .. } => chunks.iter().map(|(edge, _)| *edge).collect(),
            Kind::Indexed { index, content } | Kind::Sparse { index, content, .. } => vec![*index, *content],
            Kind::Object { content, .. } => vec![*content],
        }
    }
}

impl Kind {
    /// Shows every edge, to be changed.
    pub fn each_edge(&mut self, each: &mut dyn FnMut(&mut Edge)) {
        let lists = |lists: &mut Lists, each: &mut dyn FnMut(&mut Edge)| match lists {
            Lists::Counts(edge) | Lists::Offsets(edge) => each(edge),
            Lists::Bounds { starts, stops } => {
                each(starts);
                each(stops);
            }
        };
        match self {
            Kind::Flat(_) | Kind::Refused { .. } => {}
            Kind::Jagged { lists: own, content } | Kind::Strings { lists: own, content, .. } => {
                lists(own, each);
                each(content);
            }
            Kind::Table { columns } | Kind::Record { columns, .. } => {
                columns.iter_mut().for_each(|column| each(&mut column.edge))
            }
            Kind::View { rows, table } => {
                if let Rows::Numbers(rows) = rows {
                    each(rows);
                }
                each(table);
            }
            Kind::Masked { mask, content, .. }
            | Kind::BitMasked { mask, content, .. }
            | Kind::IndexedMasked { mask, content, .. } => {
                each(mask);
                each(content);
            }
            Kind::Union { tags, index, contents } => {
                each(tags);
                index.iter_mut().for_each(&mut *each);
                contents.iter_mut().for_each(each);
            }
            Kind::Chunked { chunks, .. } => chunks.iter_mut().for_each(|(edge, _)| each(edge)),
            Kind::Indexed { index, content } | Kind::Sparse { index, content, .. } => {
                each(index);
                each(content);
            }
            Kind::Object { content, .. } => each(content),
        }
    }
}
