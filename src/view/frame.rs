//! A dataset as rows of named columns: a table, or an array of one axis whose elements are records. The cells of a
//! column are read by row numbers.

use std::ops::Range;

use super::Dataset;
use crate::array::text::Texts;
use crate::array::{self, Array, Cell, Dtype, Element, Endian, Kind, Record, to_utf8, trimmed};
use crate::content::Content;
use crate::error::Place;
use crate::lines;
use crate::tree::{ColumnInfo, Description, Table};
use crate::{Error, Result};

/// More columns have no rows: a field of a record may be many.
const MAX_COLUMNS: usize = 1 << 16;
/// Bytes of a row at most: rows are made whole.
const MAX_BYTES: u64 = 64 << 20;

pub struct Frame {
    pub rows: u64,
    pub columns: Vec<Column>,
    content: Content,
    /// For messages.
    place: Place,
}

#[derive(Clone)]
pub struct Column {
    pub name: String,
    pub cells: Cells,
    /// Bytes of a cell.
    pub width: u64,
    /// Where its first cell is, and how far it is from there to the next one.
    pub start: u64,
    pub step: u64,
}

#[derive(Clone, Copy, PartialEq)]
pub enum Cells {
    Number(Dtype),
    /// One byte, which is yes or no.
    Truth,
    /// UTF-8, filled up with NULs.
    Text,
    /// Characters of four bytes, filled up with NULs. As UTF-8 they take no more.
    Unicode(Endian),
}

impl Frame {
    /// Has such a dataset rows and columns?
    pub fn shows(about: &Description) -> bool {
        match (&about.table, &about.array) {
            (Some(table), _) => {
                let is_known = |column: &ColumnInfo| column.element.is_none_or(|of| Texts::of(of).is_some());
                !table.columns.is_empty() && table.columns.iter().all(is_known)
            }
            (None, Some(array)) => record_of(array).is_some_and(|record| fields(record, 0).is_some()),
            (None, None) => false,
        }
    }

    /// Has every column numbers? Asked of what [`Frame::shows`].
    pub fn is_of_numbers(about: &Description) -> bool {
        match (&about.table, about.array.as_ref().and_then(record_of)) {
            (Some(table), _) => table.columns.iter().all(|column| column.element.is_some()),
            (None, Some(record)) => {
                record.fields().iter().all(|field| matches!(field.cell, Cell::Number(_) | Cell::Void(_)))
            }
            (None, None) => false,
        }
    }

    /// How many rows such a dataset has, and its columns.
    pub fn layout(about: &Description) -> Option<(u64, Vec<Column>)> {
        match (&about.table, &about.array) {
            (Some(table), _) => Some((table.rows, columns(table))),
            (None, Some(array)) => {
                let step = u64::from(array.dtype.element.size);
                Some((array.shape.iter().product(), fields(record_of(array)?, step)?))
            }
            (None, None) => None,
        }
    }

    /// The rows of a dataset that has some, or its bytes if they make no sense.
    pub fn of(dataset: &Dataset) -> Result<Result<Frame, Content>> {
        let about = dataset.about();
        let (rows, columns) = Frame::layout(about).ok_or(Error::NotFound)?;
        let content = match (&about.table, &about.array) {
            (None, Some(array)) => dataset.elements(array)?,
            (table, _) => dataset.exactly(table.as_ref().and_then(Table::byte_len))?,
        };
        if let broken @ Content::Broken { .. } = content {
            return Ok(Err(broken));
        }
        if columns.iter().fold(0, |sum: u64, column| sum.saturating_add(column.width)) > MAX_BYTES {
            return Err(dataset.wrong(&format!("more than {MAX_BYTES} bytes are too many for a row")));
        }
        let place = content.file().unwrap_or_default().dataset(&about.printed_name());
        Ok(Ok(Frame { rows, columns, content, place }))
    }

    /// The dataset, for messages.
    pub fn place(&self) -> Place {
        self.place.clone()
    }

    /// The bytes of a column's cells, those of numbers in the machine's byte order, characters as UTF-8.
    pub fn cells(&self, column: &Column, rows: &Range<u64>) -> Result<Vec<u8>> {
        let mut cells = self.bytes(column, rows.start, rows.end - rows.start)?;
        match column.cells {
            Cells::Number(dtype) => array::to_native(dtype, &mut cells),
            Cells::Unicode(endian) => {
                for (row, cell) in rows.clone().zip(cells.chunks_exact_mut(column.width.max(1) as usize)) {
                    to_utf8(cell, endian).ok_or_else(|| self.no_text(column, row))?;
                }
            }
            Cells::Truth | Cells::Text => {}
        }
        Ok(cells)
    }

    fn bytes(&self, column: &Column, first: u64, count: u64) -> Result<Vec<u8>> {
        let Column { width, start, step, .. } = *column;
        if width == 0 || count == 0 {
            return Ok(Vec::new());
        }
        // All of it lies inside the content.
        let mut bytes = room((count - 1) * step + width)?;
        self.content.fill(&mut bytes, start + first * step)?;
        if step > width {
            let (width, step) = (width as usize, step as usize);
            for cell in 1..count as usize {
                bytes.copy_within(cell * step..cell * step + width, cell * width);
            }
            bytes.truncate(count as usize * width);
        }
        Ok(bytes)
    }

    /// A cell of a column of texts as text.
    pub fn text<'a>(&self, column: &Column, row: u64, cell: &'a [u8]) -> Result<&'a str> {
        std::str::from_utf8(trimmed(cell)).map_err(|_| self.no_text(column, row))
    }

    fn no_text(&self, column: &Column, row: u64) -> Error {
        let problem = format!("row {row} of column {:?} is not Unicode", column.name);
        Error::Unsupported { place: self.place(), problem }
    }

    /// Hands out all cells of some rows, row by row, each with the number of its column: numbers as text, texts as
    /// they are stored.
    fn each_cell(&self, rows: &Range<u64>, each: &mut dyn FnMut(usize, &[u8]) -> Result<()>) -> Result<()> {
        let columns = self.columns.iter().map(|column| self.written(column, rows));
        let mut columns = columns.collect::<Result<Vec<_>>>()?;
        for _ in rows.clone() {
            for (number, column) in columns.iter_mut().enumerate() {
                each(number, column.next())?;
            }
        }
        Ok(())
    }

    fn written(&self, column: &Column, rows: &Range<u64>) -> Result<Written> {
        let cells = match column.cells {
            Cells::Unicode(_) => self.bytes(column, rows.start, rows.end - rows.start)?,
            _ => self.cells(column, rows)?,
        };
        let Some(texts) = column.texts() else {
            return Ok(Written {
                bytes: cells,
                widths: Vec::new(),
                width: column.width as usize,
                at: (0, 0),
            });
        };
        let (mut bytes, mut widths) = (Vec::new(), Vec::with_capacity(cells.len() / texts.size));
        texts.each(&cells, &mut |text| {
            bytes.extend_from_slice(text);
            widths.push(text.len() as u8);
        });
        Ok(Written { bytes, widths, width: 0, at: (0, 0) })
    }

    /// The bytes of a column that are stored as its cells, one after the other; None if others are between them.
    pub fn stored(&self, column: &Column) -> Option<Content> {
        let len = column.width * self.rows;
        let is_dense = column.step == column.width && !matches!(column.cells, Cells::Unicode(_));
        is_dense.then(|| Content::Part {
            whole: self.content.clone().into(),
            range: column.start..column.start + len,
        })
    }
}

impl lines::Cells for Frame {
    fn count(&self) -> u64 {
        self.rows
    }

    fn place(&self) -> Place {
        self.place.clone()
    }

    fn stored(&self) -> u64 {
        self.columns.iter().map(|column| column.width).sum()
    }

    fn names(&self) -> Vec<&str> {
        self.columns.iter().map(|column| column.name.as_str()).collect()
    }

    fn each(
        &self,
        rows: Range<u64>,
        cell: &mut dyn FnMut(usize, lines::Cell<'_>) -> Result<()>,
    ) -> Result<()> {
        let cells: Vec<Cells> = self.columns.iter().map(|column| column.cells).collect();
        self.each_cell(&rows, &mut |column, written| match cells.get(column) {
            Some(Cells::Truth) => cell(column, lines::Cell::Truth(written == b"True")),
            Some(Cells::Number(dtype)) if dtype.element.kind != Kind::Complex => {
                cell(column, lines::Cell::Number(written))
            }
            Some(Cells::Unicode(endian)) => cell(column, lines::Cell::Unicode(written, *endian)),
            _ => cell(column, lines::Cell::Text(trimmed(written))),
        })
    }
}

impl Column {
    /// How its numbers are written; None for texts.
    pub fn texts(&self) -> Option<Texts> {
        match self.cells {
            Cells::Number(dtype) => Texts::of(dtype.element),
            Cells::Truth => Some(Texts::of_truth()),
            Cells::Text | Cells::Unicode(_) => None,
        }
    }
}

/// The cells of a column, one after the other.
struct Written {
    bytes: Vec<u8>,
    /// The width of each cell; all have the same `width` if this is empty.
    widths: Vec<u8>,
    width: usize,
    /// Cells and bytes that were handed out.
    at: (usize, usize),
}

impl Written {
    fn next(&mut self) -> &[u8] {
        let (cell, start) = self.at;
        let end = start + self.widths.get(cell).map_or(self.width, |width| (*width).into());
        self.at = (cell + 1, end);
        self.bytes.get(start..end).unwrap_or_default()
    }
}

fn room(len: u64) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let count = usize::try_from(len).ok().filter(|count| bytes.try_reserve_exact(*count).is_ok());
    let count = count.ok_or_else(|| Error::Other(format!("{len} bytes do not fit into memory")))?;
    bytes.resize(count, 0);
    Ok(bytes)
}

/// Those of a table whose length fits into 64 bits; one whose length does not has no content.
fn columns(table: &Table) -> Vec<Column> {
    let mut start = 0u64;
    let column = |info: &ColumnInfo| {
        let from = start;
        start = start.saturating_add(info.width.saturating_mul(table.rows));
        let endian = if info.big_endian { Endian::Big } else { Endian::Little };
        let cells = match info.element {
            None => Cells::Text,
            Some(element) if is_truth(info, element) => Cells::Truth,
            Some(element) => Cells::Number(Dtype { element, endian }),
        };
        Column { name: info.name.clone(), cells, width: info.width, start: from, step: info.width }
    };
    table.columns.iter().map(column).collect()
}

/// Is every cell of the column yes or no, whatever it is stored as?
pub fn is_truth(info: &ColumnInfo, element: Element) -> bool {
    element.size == 1 && (info.original == "bool" || element.name() == Some("bool"))
}

fn record_of(array: &Array) -> Option<&Record> {
    let record = array.record.as_deref()?;
    (array.shape.len() == 1 && !record.is_plain()).then_some(record)
}

/// The columns that records of `step` bytes have; None if some are neither numbers nor texts.
fn fields(record: &Record, step: u64) -> Option<Vec<Column>> {
    let mut all = Vec::new();
    for field in record.fields() {
        let cells = match field.cell {
            Cell::Number(dtype) if dtype.element.name() == Some("bool") => Cells::Truth,
            Cell::Number(dtype) => Texts::of(dtype.element).map(|_| Cells::Number(dtype))?,
            Cell::Text(_) => Cells::Text,
            Cell::Unicode(_, endian) => Cells::Unicode(endian),
            // What fills a record up.
            Cell::Void(_) if field.name.is_empty() => continue,
            Cell::Void(_) => return None,
        };
        let width = field.cell.size();
        for number in 0..field.repeat.unwrap_or(1) {
            if all.len() == MAX_COLUMNS {
                return None;
            }
            let name = match field.repeat {
                None => field.name.clone(),
                Some(_) => format!("{}[{number}]", field.name),
            };
            all.push(Column { name, cells, width, start: field.offset + number * width, step });
        }
    }
    Some(all).filter(|all| !all.is_empty())
}
