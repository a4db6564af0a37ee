//! The type of an array as the reference shows it: `[0, 3) -> [0, inf) -> float64`, over several lines where there are
//! columns or possibilities.

use super::array::Array;
use super::dtype::Type;
use super::graph::{Encoding, Ix, Kind};

/// After so many parts the rest is left out: shared parts are shown wherever they are used.
const MOST: usize = 10_000;
/// And so much deeper.
const DEEPEST: usize = 128;

/// With the length.
pub fn text(array: &Array, ix: Ix) -> String {
    let mut types = Types { array, open: Vec::new(), named: Vec::new(), left: MOST };
    let len = array.node(ix).map_or(0, |node| node.len);
    let item = types.item(ix);
    after(&format!("[0, {len}) -> "), item).join("\n")
}

struct Types<'a> {
    array: &'a Array,
    /// The parts that are being shown, one inside the other.
    open: Vec<Ix>,
    /// Those of them that contain themselves, by their numbers.
    named: Vec<Ix>,
    left: usize,
}

type Block = Vec<String>;

/// What comes before the first line; the others are indented by as much.
fn after(before: &str, block: Block) -> Block {
    let room = " ".repeat(before.chars().count());
    let line = |(at, line)| format!("{}{line}", if at == 0 { before } else { &room });
    block.into_iter().enumerate().map(line).collect()
}

fn ending(mut block: Block, end: &str) -> Block {
    if let Some(last) = block.last_mut() {
        last.push_str(end);
    }
    block
}

impl Types<'_> {
    fn item(&mut self, ix: Ix) -> Block {
        if self.open.contains(&ix) {
            let number = self.named.iter().position(|named| *named == ix).unwrap_or_else(|| {
                self.named.push(ix);
                self.named.len() - 1
            });
            return vec![format!("T{number}")];
        }
        if self.left == 0 || self.open.len() == DEEPEST {
            return vec!["...".into()];
        }
        self.left -= 1;
        self.open.push(ix);
        let block = self.of(ix);
        self.open.pop();
        match self.named.iter().position(|named| *named == ix) {
            Some(number) => after(&format!("T{number} := "), block),
            None => block,
        }
    }

    fn of(&mut self, ix: Ix) -> Block {
        let array = self.array;
        let Ok(node) = array.node(ix) else { return Vec::new() };
        match &node.kind {
            Kind::Flat(flat) => flat_type(&flat.of),
            Kind::Jagged { lists, content } => {
                let inner = array.lists(lists).map_or(&[][..], |(_, inner)| inner);
                after(&format!("{}[0, inf) -> ", dimensions(inner)), self.item(content.to))
            }
            Kind::Strings { lists, encoding, .. } => {
                let inner = array.lists(lists).map_or(&[][..], |(_, inner)| inner);
                let class = if *encoding == Encoding::Bytes { "bytes" } else { "str" };
                vec![format!("{}<class '{class}'>", dimensions(inner))]
            }
            Kind::Table { columns } | Kind::Record { columns, .. } => columns
                .iter()
                .flat_map(|(name, edge)| after(&format!("'{name}' -> "), self.item(edge.to)))
                .collect(),
            Kind::View { table, .. } => self.item(table.to),
            Kind::Masked { content, .. }
            | Kind::BitMasked { content, .. }
            | Kind::IndexedMasked { content, .. } => ending(after("?(", self.item(content.to)), ")"),
            Kind::Union { contents, .. } => {
                let blocks = contents.iter().map(|edge| self.item(edge.to)).collect();
                one_of(blocks)
            }
            Kind::Chunked { chunks, .. } => {
                chunks.first().map_or_else(|| vec!["?".into()], |(edge, _)| self.item(edge.to))
            }
            Kind::Indexed { content, .. } | Kind::Sparse { content, .. } => self.item(content.to),
            Kind::Object { generator, .. } => {
                let names = generator.as_list().unwrap_or_default();
                vec![names.iter().filter_map(super::json::Json::as_str).collect::<Vec<_>>().join(".")]
            }
            Kind::Refused { .. } => vec!["?".into()],
        }
    }
}

/// Possibilities one under the other, with bars between them.
fn one_of(blocks: Vec<Block>) -> Block {
    let width = blocks.iter().flatten().map(|line| line.chars().count()).max().unwrap_or(0);
    let count = blocks.len();
    let mut lines = Vec::new();
    for (number, block) in (1..).zip(blocks) {
        let end = if number == count { " )" } else { " |" };
        let height = block.len();
        let padded = |(at, line): (usize, String)| {
            let room = " ".repeat(width - line.chars().count());
            if at + 1 == height { format!("{line}{room}{end}") } else { line }
        };
        lines.extend(block.into_iter().enumerate().map(padded));
    }
    after("(", lines)
}

fn dimensions(shape: &[u64]) -> String {
    shape.iter().map(|size| format!("[0, {size}) -> ")).collect()
}

fn flat_type(of: &Type) -> Block {
    let inner = match &of.cell {
        super::dtype::Cell::Fields(fields) => {
            fields.iter().flat_map(|(name, _, of)| after(&format!("'{name}' -> "), flat_type(of))).collect()
        }
        _ => vec![of.name()],
    };
    after(&dimensions(&of.shape), inner)
}
