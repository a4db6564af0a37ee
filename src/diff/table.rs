//! Compares dataframes column by column. Columns are matched by name; numbers are compared regardless of width.

use std::ops::ControlFlow;

use super::tally::Tally;
use super::{Both, ColumnDifference, DiffCell, Difference, Emit, Flow, Side, Values};
use crate::archive::{Dataset, Meter};
use crate::array::{Dtype, Endian, trimmed};
use crate::tree::{ColumnInfo, Table};
use crate::{Error, Result};

/// Bytes of a column that are read at once, and the limit for very wide cells.
const PIECE: u64 = 256 << 10;
const MAX_PIECE: u64 = 8 << 20;

/// A column, and the offset of its cells.
type Placed<'t> = (&'t ColumnInfo, u64);

impl Both<'_> {
    pub fn tables(&self, a: &Table, b: &Table, emit: Emit<'_>) -> Flow {
        // Opening also reports invalid descriptions.
        self.a.reader()?;
        self.b.reader()?;
        if a.rows != b.rows {
            let shape = |table: &Table| vec![table.rows, table.columns.len() as u64];
            return Ok(emit(Difference::Shape(shape(a), shape(b))));
        }
        let mut meters = self.meters();
        let others = placed(b);
        let find = |name: &str, columns: &[Placed<'_>]| columns.iter().any(|(column, _)| column.name == name);
        let columns = placed(a);
        for column in &columns {
            let name = &column.0.name;
            let other = others.iter().find(|other| other.0.name == *name);
            let difference = match other {
                Some(other) => self.columns(column, other, a.rows, &mut meters)?,
                None => Some(ColumnDifference::Only(Side::First)),
            };
            if let Some(difference) = difference
                && emit(Difference::Column(name.clone(), difference)).is_break()
            {
                return Ok(ControlFlow::Break(()));
            }
        }
        for (column, _) in others.iter().filter(|(column, _)| !find(&column.name, &columns)) {
            let only = Difference::Column(column.name.clone(), ColumnDifference::Only(Side::Second));
            if emit(only).is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    fn columns(
        &self,
        a: &Placed<'_>,
        b: &Placed<'_>,
        rows: u64,
        meters: &mut [Meter<'_>; 2],
    ) -> Result<Option<ColumnDifference>> {
        let (x, y) = (a.0, b.0);
        if x.original != y.original || x.element.is_some() != y.element.is_some() {
            return Ok(Some(ColumnDifference::Type(x.original.clone(), y.original.clone())));
        }
        let values = self.cells(a, b, rows, meters)?;
        Ok(values.map(ColumnDifference::Values))
    }

    fn cells(
        &self,
        a: &Placed<'_>,
        b: &Placed<'_>,
        rows: u64,
        [of_a, of_b]: &mut [Meter<'_>; 2],
    ) -> Result<Option<Values>> {
        let widest = a.0.width.max(b.0.width).max(1);
        if widest > MAX_PIECE {
            let name = self.a.description().printed_name();
            return Err(Error::Other(format!(
                "dataset {name:?}: column {:?} has cells of {widest} bytes, and at most {MAX_PIECE} can be \
                 compared",
                a.0.name
            )));
        }
        let mut tally = Tally::default();
        if a.0.width == 0 && b.0.width == 0 {
            return Ok(None);
        }
        let (mut x, mut y) = (Vec::new(), Vec::new());
        let mut row = 0;
        while row < rows {
            let count = (PIECE / widest).max(1).min(rows - row);
            read(self.a, a, row, count, &mut x)?;
            read(self.b, b, row, count, &mut y)?;
            of_a.passed(x.len() as u64);
            of_b.passed(y.len() as u64);
            match (dtype(a.0), dtype(b.0)) {
                (Some(of_a), Some(of_b)) => {
                    tally.elements((&x, of_a), (&mut y, of_b), self.options, &|number| row + number);
                }
                _ => texts(&mut tally, (&x, a.0.width), (&y, b.0.width), row, count),
            }
            row += count;
        }
        Ok(tally.finish(|row| vec![row]))
    }
}

fn placed(table: &Table) -> Vec<Placed<'_>> {
    let (mut offset, mut placed) = (0u64, Vec::with_capacity(table.columns.len()));
    for column in &table.columns {
        placed.push((column, offset));
        // Saturates only for invalid descriptions; valid tables fit into 64 bits.
        offset = offset.saturating_add(table.rows.saturating_mul(column.width));
    }
    placed
}

fn dtype(column: &ColumnInfo) -> Option<Dtype> {
    let endian = if column.big_endian { Endian::Big } else { Endian::Little };
    column.element.map(|element| Dtype { element, endian })
}

fn read(
    dataset: &Dataset<'_>,
    (column, start): &Placed<'_>,
    row: u64,
    count: u64,
    to: &mut Vec<u8>,
) -> Result<()> {
    to.resize((column.width * count) as usize, 0);
    if to.is_empty() { Ok(()) } else { dataset.read_at(to, start + row * column.width) }
}

/// Compares cells of text without their NUL padding.
fn texts(tally: &mut Tally, (a, wide): (&[u8], u64), (b, other): (&[u8], u64), row: u64, count: u64) {
    for number in 0..count {
        let (x, y) = (cell(a, wide, number), cell(b, other, number));
        tally.compared += 1;
        if x != y {
            let text = |cell: &[u8]| match std::str::from_utf8(cell) {
                Ok(text) => DiffCell::Text(text.to_owned()),
                Err(_) => DiffCell::Item(cell.to_vec(), None),
            };
            tally.differs(row + number, || (text(x), text(y)));
        }
    }
}

fn cell(column: &[u8], width: u64, number: u64) -> &[u8] {
    let start = (number * width) as usize;
    trimmed(column.get(start..start + width as usize).unwrap_or_default())
}
