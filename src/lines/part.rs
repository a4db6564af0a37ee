//! Some rows of a table.

use std::ops::Range;

use super::{Cell, Cells};
use crate::Result;
use crate::array::Slab;
use crate::error::Place;

pub struct Part<C> {
    pub of: C,
    /// Rows that it has.
    pub rows: Slab,
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

    fn at_once(&self) -> Option<u64> {
        self.of.at_once()
    }

    fn names(&self) -> Vec<&str> {
        self.of.names()
    }

    fn each(&self, rows: Range<u64>, cell: &mut dyn FnMut(usize, Cell<'_>) -> Result<()>) -> Result<()> {
        for row in rows.map(|number| self.rows.position(number)) {
            self.of.each(row..row + 1, cell)?;
        }
        Ok(())
    }
}
