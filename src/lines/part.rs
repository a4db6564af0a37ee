//! Selected rows and columns of a table.

use std::ops::Range;

use super::{Cell, Cells};
use crate::Result;
use crate::array::{Slab, select};
use crate::error::Place;

pub struct Part<C> {
    of: C,
    /// The columns by number, in the order in which they are written.
    columns: Vec<usize>,
    rows: Slab,
}

impl<C: Cells> Part<C> {
    /// Applies an index such as `10:20, x, y`. The error says what is wrong with it.
    pub fn new(of: C, expression: &str) -> Result<Part<C>, String> {
        let (columns, rows) = select(expression, &of.names(), of.count())?;
        Ok(Part { of, columns, rows })
    }

    pub fn columns(&self) -> &[usize] {
        &self.columns
    }

    pub fn rows(&self) -> &Slab {
        &self.rows
    }
}

impl<C: Cells> Cells for Part<C> {
    fn count(&self) -> u64 {
        self.rows.len()
    }

    fn place(&self) -> Place {
        self.of.place()
    }

    fn stored(&self) -> u64 {
        self.of.stored()
    }

    fn most(&self) -> u64 {
        self.of.most()
    }

    fn rows_per_block(&self) -> Option<u64> {
        self.of.rows_per_block()
    }

    fn names(&self) -> Vec<&str> {
        let names = self.of.names();
        self.columns.iter().filter_map(|column| names.get(*column).copied()).collect()
    }

    /// The table yields cells in its own column order, so columns selected in another order are read in several passes.
    fn each(&self, rows: Range<u64>, cell: &mut dyn FnMut(usize, Cell<'_>) -> Result<()>) -> Result<()> {
        for row in rows.map(|number| self.rows.position(number)) {
            let mut written = 0;
            for run in self.columns.chunk_by(|column, next| column < next) {
                self.of.each(row..row + 1, &mut |column, value| match run.binary_search(&column) {
                    Ok(at) => cell(written + at, value),
                    Err(_) => Ok(()),
                })?;
                written += run.len();
            }
        }
        Ok(())
    }
}
