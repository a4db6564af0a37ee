//! The buffers of the columns, as contents: those that are there already as they are, the others made range by range.

use std::sync::Arc;

use crate::array::names::distinct;
use crate::array::trimmed;
use crate::array::{Dtype, Element, Endian, Kind, narrow};
use crate::arrow::{Column, Of};
use crate::content::Content;
use crate::view::frame::{self, Cells, Frame};
use crate::view::slots::{self, Slots};
use crate::{Error, Result};

/// Texts up to this length are inside their view.
const INLINE: usize = 12;

/// The columns of a frame; None if they are too long.
pub fn columns(frame: Frame) -> Option<Vec<Column>> {
    let frame = Arc::new(frame);
    let names = distinct(frame.columns.iter().map(|column| column.name.as_str()));
    let columns = frame.columns.iter().zip(names).enumerate().map(|(number, (column, name))| {
        let of = of(column.cells)?;
        Some(Column {
            name,
            of,
            buffers: contents(&ColumnCells { frame: frame.clone(), number }, column, of)?,
        })
    });
    columns.collect()
}

fn of(cells: Cells) -> Option<Of> {
    let Element { kind, size } = match cells {
        Cells::Text | Cells::Unicode(_) => return Some(Of::Text),
        Cells::Truth => return Some(Of::Bool),
        Cells::Number(dtype) => dtype.element,
    };
    let size = i32::try_from(size).ok()?;
    Some(match (kind, size) {
        (Kind::Bool, 1) => Of::Bool,
        (Kind::Int | Kind::Uint, 1 | 2 | 4 | 8) => Of::Int { size, is_signed: kind == Kind::Int },
        (Kind::Float, 2 | 4 | 8) => Of::Float(size),
        (Kind::Complex, 4 | 8 | 16) => Of::Pair(size / 2),
        // As numbers of 32 bits, which they are the upper halves of, or exact in.
        (Kind::Bfloat, 2) | (Kind::Float8(_), 1) => Of::Float(4),
        // What Arrow has no type for.
        _ => Of::Bytes(size),
    })
}

/// The buffers of one column. The first says which cells are there: all.
fn contents(cell: &ColumnCells, column: &frame::Column, of: Of) -> Option<Vec<Content>> {
    let none = Content::Inline([][..].into());
    let rows = cell.frame.rows;
    Some(match (of, column.cells) {
        (Of::Bool, _) => vec![none, slots::content(1, rows.div_ceil(8), Bits(cell.clone()))?],
        (Of::Text, _) => {
            let views = slots::content(16, rows, Views { cell: cell.clone(), per: per_buffer(column) })?;
            let texts = cell.dense(column)?;
            [none, views].into_iter().chain(divided(&texts, column, rows)).collect()
        }
        (Of::Pair(_), _) => vec![none.clone(), none, cell.dense(column)?],
        (Of::Float(4), Cells::Number(dtype)) if dtype.element.kind != Kind::Float => {
            vec![none, slots::content(4, rows, Widened(cell.clone(), dtype.element))?]
        }
        _ => vec![none, cell.dense(column)?],
    })
}

/// Rows whose texts are in one buffer: places in it have 31 bits.
fn per_buffer(column: &frame::Column) -> u64 {
    (i32::MAX as u64 / column.width.max(1)).max(1)
}

fn divided(texts: &Content, column: &frame::Column, rows: u64) -> Vec<Content> {
    let (per, width) = (per_buffer(column), column.width);
    let starts = (0..rows).step_by(usize::try_from(per).unwrap_or(usize::MAX));
    let part = |start: u64| {
        let end = start.saturating_add(per).min(rows);
        Content::Part { whole: Arc::new(texts.clone()), range: start * width..end * width }
    };
    if width == 0 { Vec::new() } else { starts.map(part).collect() }
}

/// The cells of one column.
#[derive(Clone)]
struct ColumnCells {
    frame: Arc<Frame>,
    number: usize,
}

impl ColumnCells {
    fn column(&self) -> Result<&frame::Column> {
        self.frame.columns.get(self.number).ok_or(Error::NotFound)
    }

    /// Cell after cell, little-endian: the stored bytes if they are that.
    fn dense(&self, column: &frame::Column) -> Option<Content> {
        let is_little = |dtype: Dtype| dtype.endian == Endian::Little || dtype.element.swapped() == 1;
        let is_stored = !matches!(column.cells, Cells::Number(dtype) if !is_little(dtype));
        let stored = if is_stored { self.frame.stored(column) } else { None };
        stored.map_or_else(|| slots::content(column.width, self.frame.rows, Dense(self.clone())), Some)
    }
}

struct Dense(ColumnCells);

impl Slots for Dense {
    fn make(&self, slots: &mut [u8], first: u64) -> Result<()> {
        let column = self.0.column()?;
        let rows = first..first + slots.len() as u64 / column.width.max(1);
        slots.copy_from_slice(&self.0.frame.cells(column, &rows)?);
        if let (Cells::Number(dtype), Endian::Big) = (column.cells, Endian::NATIVE) {
            slots.chunks_exact_mut(dtype.element.swapped() as usize).for_each(<[u8]>::reverse);
        }
        Ok(())
    }
}

/// Eight cells of yes and no in a byte, the first in the lowest bit.
struct Bits(ColumnCells);

impl Slots for Bits {
    fn make(&self, slots: &mut [u8], first: u64) -> Result<()> {
        let ColumnCells { frame, .. } = &self.0;
        let rows = 8 * first..(8 * (first + slots.len() as u64)).min(frame.rows);
        let cells = frame.cells(self.0.column()?, &rows)?;
        for (byte, cells) in slots.iter_mut().zip(cells.chunks(8)) {
            *byte = cells.iter().enumerate().fold(0, |bits, (at, cell)| bits | u8::from(*cell != 0) << at);
        }
        Ok(())
    }
}

/// Floats of 32 bits out of their upper halves.
struct Widened(ColumnCells, Element);

impl Slots for Widened {
    fn make(&self, slots: &mut [u8], first: u64) -> Result<()> {
        let rows = first..first + slots.len() as u64 / 4;
        let cells = self.0.frame.cells(self.0.column()?, &rows)?;
        let dtype = Dtype { element: self.1, endian: Endian::NATIVE };
        let cells = cells.chunks_exact(self.1.size as usize);
        for (slot, cell) in slots.chunks_exact_mut(4).zip(cells) {
            slot.copy_from_slice(&narrow(cell, dtype).to_le_bytes());
        }
        Ok(())
    }
}

/// The length of a text without its padding, then the text, or its first bytes and where it is.
struct Views {
    cell: ColumnCells,
    per: u64,
}

impl Slots for Views {
    fn make(&self, slots: &mut [u8], first: u64) -> Result<()> {
        let ColumnCells { frame, .. } = &self.cell;
        let column = self.cell.column()?;
        slots.fill(0);
        let rows = first..first + slots.len() as u64 / 16;
        let cells = frame.cells(column, &rows)?;
        let width = column.width.max(1) as usize;
        for ((row, slot), cell) in rows.zip(slots.chunks_exact_mut(16)).zip(cells.chunks_exact(width)) {
            let text = trimmed(cell);
            frame.text(column, row, text)?;
            let place = [row / self.per, row % self.per * column.width];
            let words = place.map(|word| (word as i32).to_le_bytes());
            let inside = match text.len() <= INLINE {
                true => text,
                false => &[text.get(..4).unwrap_or_default(), words.as_flattened()].concat(),
            };
            let (len, rest) = slot.split_at_mut(4);
            len.copy_from_slice(&(text.len() as i32).to_le_bytes());
            rest.iter_mut().zip(inside).for_each(|(to, from)| *to = *from);
        }
        Ok(())
    }
}
