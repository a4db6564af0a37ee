//! The type of an array as the reference prints it: `[0, 3) -> [0, inf) -> float64`, over several lines where there
//! are columns or alternatives.

use super::super::read::array::Array;
use super::super::read::dtype::{ElementKind, Type};
use super::super::read::encoding::Encoding;
use super::super::read::graph::{ArrayKind, Ix};
use crate::array::numpy::python_repr;

/// Maximum number of parts printed: shared parts are printed at each use.
const MAX_PARTS: usize = 10_000;
/// Maximum bytes printed; they count again each time they are indented.
const MAX_BYTES: usize = 4 << 20;
/// Maximum nesting.
const MAX_DEPTH: usize = 128;

/// The type, with the length.
pub fn text(array: &Array, ix: Ix) -> String {
    let mut types = Types { array, open: Vec::new(), named: Vec::new(), left: MAX_PARTS, bytes: MAX_BYTES };
    let len = array.node(ix).map_or(0, |node| node.len);
    let item = types.item(ix);
    types.after(&format!("[0, {len}) -> "), item).join("\n")
}

struct Types<'a> {
    array: &'a Array,
    /// The parts being printed, outermost first.
    open: Vec<Ix>,
    /// Those of them that contain themselves, by index.
    named: Vec<Ix>,
    left: usize,
    bytes: usize,
}

type Block = Vec<String>;

/// Stands for what is left out.
fn rest() -> Block {
    vec!["...".into()]
}

fn ending(mut block: Block, end: &str) -> Block {
    if let Some(last) = block.last_mut() {
        last.push_str(end);
    }
    block
}

impl Types<'_> {
    /// Reserves `bytes`; once that fails, nothing more fits.
    fn has_room(&mut self, bytes: usize) -> bool {
        let left = self.bytes.checked_sub(bytes);
        self.bytes = left.unwrap_or(0);
        left.is_some_and(|left| left > 0)
    }

    /// Puts `before` in front of the first line, and indents the others by its width.
    fn after(&mut self, before: &str, block: Block) -> Block {
        let lines: usize = block.iter().map(String::len).sum();
        if !self.has_room(lines.saturating_add(before.len().saturating_mul(block.len()))) {
            return rest();
        }
        let room = " ".repeat(before.chars().count());
        let line = |(at, line)| format!("{}{line}", if at == 0 { before } else { &room });
        block.into_iter().enumerate().map(line).collect()
    }

    fn item(&mut self, ix: Ix) -> Block {
        if self.open.contains(&ix) {
            let number = self.named.iter().position(|named| *named == ix).unwrap_or_else(|| {
                self.named.push(ix);
                self.named.len() - 1
            });
            return vec![format!("T{number}")];
        }
        if self.left == 0 || self.bytes == 0 || self.open.len() == MAX_DEPTH {
            return rest();
        }
        self.left -= 1;
        self.open.push(ix);
        let block = self.of(ix);
        self.open.pop();
        match self.named.iter().position(|named| *named == ix) {
            Some(number) => self.after(&format!("T{number} := "), block),
            None => block,
        }
    }

    fn of(&mut self, ix: Ix) -> Block {
        let array = self.array;
        let Ok(node) = array.node(ix) else { return Vec::new() };
        match &node.kind {
            ArrayKind::Flat(flat) => self.element(&flat.of),
            ArrayKind::Jagged { lists, content } => {
                let inner = array.lists(lists).map_or(&[][..], |(_, inner)| inner);
                let content = self.item(content.to);
                self.after(&format!("{}[0, inf) -> ", dimensions(inner)), content)
            }
            ArrayKind::Strings { lists, encoding, .. } => {
                let inner = array.lists(lists).map_or(&[][..], |(_, inner)| inner);
                let class = if *encoding == Encoding::Bytes { "bytes" } else { "str" };
                vec![format!("{}<class '{class}'>", dimensions(inner))]
            }
            ArrayKind::Table { columns } | ArrayKind::Record { columns, .. } => {
                self.columns(columns, |column| &column.name, |types, column| types.item(column.edge.to))
            }
            ArrayKind::View { table, .. } => self.item(table.to),
            ArrayKind::Masked { content, .. }
            | ArrayKind::BitMasked { content, .. }
            | ArrayKind::IndexedMasked { content, .. } => {
                let content = self.item(content.to);
                ending(self.after("?(", content), ")")
            }
            ArrayKind::Union { contents, .. } => {
                let mut blocks = Vec::new();
                self.each(contents, |types, edge| {
                    blocks.push(types.item(edge.to));
                    Vec::new()
                });
                self.one_of(blocks)
            }
            ArrayKind::Chunked { chunks, .. } => {
                chunks.first().map_or_else(|| vec!["?".into()], |(edge, _)| self.item(edge.to))
            }
            ArrayKind::Indexed { content, .. } | ArrayKind::Sparse { content, .. } => self.item(content.to),
            ArrayKind::Object { generator, .. } => vec![generator.to_string()],
            ArrayKind::Refused { .. } => vec!["?".into()],
        }
    }

    /// Prints parts one below the other, as long as they fit.
    fn each<T>(&mut self, parts: &[T], mut each: impl FnMut(&mut Self, &T) -> Block) -> Block {
        let mut lines = Vec::new();
        for part in parts {
            if self.left == 0 || self.bytes == 0 {
                lines.extend(rest());
                break;
            }
            lines.extend(each(self, part));
        }
        lines
    }

    /// Prints columns one below the other, with names padded to the widest.
    fn columns<T>(
        &mut self,
        columns: &[T],
        name: impl Fn(&T) -> &str,
        mut of: impl FnMut(&mut Self, &T) -> Block,
    ) -> Block {
        let width = columns.iter().map(|column| python_repr(name(column)).chars().count()).max().unwrap_or(0);
        self.each(columns, |types, column| {
            let item = of(types, column);
            match types.has_room(width) {
                true => types.after(&padded(&python_repr(name(column)), width), item),
                false => rest(),
            }
        })
    }

    fn element(&mut self, of: &Type) -> Block {
        let inner = match &of.cell {
            ElementKind::Fields(fields) => {
                self.columns(fields, |(name, ..)| name, |_, (_, _, of)| vec![of.of_field()])
            }
            _ => vec![of.name()],
        };
        self.after(&dimensions(&of.shape), inner)
    }

    /// Prints alternatives one below the other, with bars between them.
    fn one_of(&mut self, blocks: Vec<Block>) -> Block {
        let width = blocks.iter().flatten().map(|line| line.chars().count()).max().unwrap_or(0);
        let count = blocks.len();
        if !self.has_room(width.saturating_mul(count)) {
            return rest();
        }
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
        self.after("(", lines)
    }
}

fn dimensions(shape: &[u64]) -> String {
    shape.iter().map(|size| format!("[0, {size}) -> ")).collect()
}
/// A column's name and the arrow after it. (Format strings accept no width above 65,535.)
fn padded(name: &str, width: usize) -> String {
    let missing = width.saturating_sub(name.chars().count());
    format!("{name}{} -> ", " ".repeat(missing))
}
