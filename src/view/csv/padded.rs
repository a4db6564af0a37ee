//! Rows of numbers: each column has a width of its own, that of its type or of its name.

use std::ops::Range;

use super::right;
use crate::Result;
use crate::array::text::Texts;
use crate::content::{Content, joined};
use crate::lines;
use crate::view::frame::{Column, Frame};
use crate::view::slots::{self, Slots};

/// None if it is longer than files can be.
pub fn csv(frame: Frame) -> Option<Content> {
    let names = frame.columns.iter().map(|column| {
        let mut name = Vec::new();
        lines::cell(column.name.as_bytes(), &mut name);
        name
    });
    let names: Vec<_> = names.collect();
    let (mut places, mut end) = (Vec::new(), 0);
    for (column, name) in frame.columns.iter().zip(&names) {
        let texts = column.texts()?;
        let slot = end..end + texts.width.max(name.len()) + 1;
        end = slot.end;
        places.push((column.clone(), texts, slot));
    }
    let mut header = vec![b' '; end];
    for (name, (_, _, slot)) in names.iter().zip(&places) {
        put(&mut header, slot, name);
    }
    if let Some(end) = header.last_mut() {
        *end = b'\n';
    }
    let rows = frame.rows;
    let rows = slots::content(end as u64, rows, Padded { frame, places, row: end })?;
    (rows.known_len()? < i64::MAX as u64 - end as u64).then_some(())?;
    Some(joined(vec![Content::Inline(header.into()), rows]))
}

struct Padded {
    frame: Frame,
    /// Each with the place of its cells in a row, the byte that follows them included.
    places: Vec<(Column, Texts, Range<usize>)>,
    row: usize,
}

impl Slots for Padded {
    fn make(&self, slots: &mut [u8], first: u64) -> Result<()> {
        slots.fill(b' ');
        let rows = first..first + (slots.len() / self.row) as u64;
        for (column, texts, slot) in &self.places {
            let cells = self.frame.cells(column, &rows)?;
            let mut rows = slots.chunks_exact_mut(self.row);
            texts.each(&cells, &mut |text| {
                if let Some(row) = rows.next() {
                    put(row, slot, text);
                }
            });
        }
        let ends = slots.iter_mut().skip(self.row - 1).step_by(self.row);
        ends.for_each(|end| *end = b'\n');
        Ok(())
    }
}

fn put(row: &mut [u8], slot: &Range<usize>, text: &[u8]) {
    if let Some(cell) = row.get_mut(slot.clone()) {
        right(cell, text);
        if let Some(end) = cell.last_mut() {
            *end = b',';
        }
    }
}
