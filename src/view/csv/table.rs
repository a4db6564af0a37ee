//! Tables of numbers as padded CSV, with column names in the header.

use std::ops::Range;

use super::padded::{self, PLAIN_ROWS, Padding, Rows, Style};
use crate::Result;
use crate::content::Content;
use crate::lines::{self, Cell, Cells as _};
use crate::view::frame::{Cells, Column, Frame};

/// None if it is longer than files can be, or has columns of text.
pub fn padded(frame: Frame) -> Option<Content> {
    let mut header = Vec::new();
    frame.columns.iter().for_each(|column| lines::field(column.name.as_bytes(), &mut header));
    lines::end(&mut header);
    // Their lengths differ, and there is no number to make up for that.
    let is_of_truth = frame.columns.iter().all(|column| column.cells == Cells::Truth);
    let styles: Vec<Style> =
        frame.columns.iter().map(|column| style(column, is_of_truth)).collect::<Option<_>>()?;
    let size = styles.iter().map(|style| style.width as u64 + 1).sum();
    let plain = if styles.iter().any(|style| style.padding == Padding::Spaces) { PLAIN_ROWS } else { 0 };
    let count = frame.rows;
    let rows = Numbers { frame, styles, is_of_truth };
    padded::content(vec![Content::Inline(header.into())], size, count, plain, rows)
}

fn style(column: &Column, is_of_truth: bool) -> Option<Style> {
    let padding = match column.cells {
        Cells::Truth if is_of_truth => return Some(Style { width: 1, padding: Padding::Elsewhere }),
        Cells::Truth => Padding::Elsewhere,
        Cells::Number(dtype) => Padding::of(dtype.element),
        Cells::Text | Cells::Unicode(_) => return None,
    };
    Some(Style { width: column.texts()?.width, padding })
}

struct Numbers {
    frame: Frame,
    styles: Vec<Style>,
    /// No column has numbers: truth values are `1` and `0`.
    is_of_truth: bool,
}

impl Rows for Numbers {
    fn each(&self, rows: Range<u64>, cell: &mut impl FnMut(&[u8], Style, u8)) -> Result<()> {
        let (mut text, columns) = (Vec::new(), self.styles.len());
        self.frame.each(rows, &mut |column, value| {
            text.clear();
            match value {
                Cell::Truth(yes) if self.is_of_truth => text.push(if yes { b'1' } else { b'0' }),
                value => lines::value(&value, &mut text),
            }
            if let Some(style) = self.styles.get(column) {
                cell(&text, *style, if column + 1 == columns { b'\n' } else { b',' });
            }
            Ok(())
        })
    }
}
