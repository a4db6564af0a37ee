//! Rows of numbers under the names of their columns.

use std::ops::Range;

use super::filled::{self, Filling, Group, Rows, Style};
use crate::Result;
use crate::array::text::Texts;
use crate::array::{Element, Kind};
use crate::content::{Content, joined};
use crate::lines;
use crate::view::frame::{Cells, Column, Frame};

/// None if it is longer than files can be.
pub fn csv(frame: Frame) -> Option<Content> {
    let mut header = Vec::new();
    frame.columns.iter().for_each(|column| lines::field(column.name.as_bytes(), &mut header));
    lines::end(&mut header);
    let styles = styles(&frame.columns)?;
    let row = styles.iter().map(|style| style.texts.width as u64 + 1).sum();
    let count = frame.rows;
    let [groups, rest] = filled::content(row, count, Numbers { frame, styles })?;
    let len = groups.known_len()?.checked_add(rest.known_len()?)?.checked_add(header.len() as u64)?;
    i64::try_from(len).ok()?;
    Some(joined(vec![Content::Inline(header.into()), groups, rest]))
}

/// Truth is `True` and `False`, of different lengths, unless no number is beside it that could make up for that.
fn styles(columns: &[Column]) -> Option<Vec<Style>> {
    let only_truth = columns.iter().all(|column| column.cells == Cells::Truth);
    let style = |column: &Column| match column.cells {
        Cells::Truth if only_truth => Style::of(Element { kind: Kind::Bool, size: 1 }),
        Cells::Truth => Some(Style { texts: Texts::of_truth(), filling: Filling::None }),
        Cells::Number(dtype) => Style::of(dtype.element),
        Cells::Text | Cells::Unicode(_) => None,
    };
    columns.iter().map(style).collect()
}

struct Numbers {
    frame: Frame,
    styles: Vec<Style>,
}

impl Rows for Numbers {
    fn write(&self, rows: Range<u64>, group: usize, out: &mut Vec<u8>) -> Result<()> {
        let columns = self.frame.columns.iter().zip(&self.styles);
        let cells: Vec<Texted> = columns
            .map(|(column, style)| Ok(Texted::of(style.texts, &self.frame.cells(column, &rows)?)))
            .collect::<Result<_>>()?;
        let (count, columns) = ((rows.end - rows.start) as usize, self.styles.len());
        let mut texts = Group::default();
        for first in (0..count).step_by(group.max(1)) {
            for row in first..count.min(first + group) {
                let cells = cells.iter().zip(&self.styles);
                cells.for_each(|(cells, style)| texts.push(cells.get(row), style));
            }
            let mut column = 0;
            let ends = || {
                column = if column + 1 == columns { 0 } else { column + 1 };
                if column == 0 { b'\n' } else { b',' }
            };
            texts.write(columns, ends, out);
        }
        Ok(())
    }
}

/// The cells of a column as text.
struct Texted {
    text: Vec<u8>,
    ends: Vec<usize>,
}

impl Texted {
    fn of(texts: Texts, items: &[u8]) -> Texted {
        let count = items.len() / texts.size.max(1);
        let (mut text, mut ends) = (Vec::with_capacity(items.len()), Vec::with_capacity(count));
        texts.each(items, &mut |cell| {
            text.extend_from_slice(cell);
            ends.push(text.len());
        });
        Texted { text, ends }
    }

    fn get(&self, row: usize) -> &[u8] {
        let start = row.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or(0);
        self.ends.get(row).and_then(|end| self.text.get(start..*end)).unwrap_or_default()
    }
}
