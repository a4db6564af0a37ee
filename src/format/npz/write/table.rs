//! Writes a table, which arrives column by column, as a structured array, row by row.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::array::numpy::python_literal;
use crate::array::{Dtype, Endian};
use crate::tree::{ColumnInfo, Table};

/// Bytes of rows produced at a time.
const PIECE: u64 = 1 << 20;

/// The element type in Python syntax; the error names what numpy does not support.
pub fn descr(table: &Table) -> Result<String, String> {
    let mut names = HashSet::new();
    let mut fields = Vec::with_capacity(table.columns.len());
    for column in &table.columns {
        if column.name.is_empty() || !names.insert(&column.name) {
            return Err(format!("numpy cannot have two columns {0:?}, nor one without a name", column.name));
        }
        fields.push(format!("({}, '{}')", python_literal(&column.name), dtype(column)));
    }
    Ok(format!("[{}]", fields.join(", ")))
}

fn dtype(column: &ColumnInfo) -> String {
    let endian = if column.big_endian { Endian::Big } else { Endian::Little };
    match column.element {
        Some(element) => Dtype { element, endian }.to_string(),
        None => format!("|S{}", column.width),
    }
}

/// What the array does not preserve.
pub fn left_out(table: &Table) -> Option<String> {
    let is_kept =
        |column: &ColumnInfo| column.element.and_then(|element| element.name()) == Some(&column.original);
    let lost: Vec<_> = table.columns.iter().filter(|column| !is_kept(column)).collect();
    let names = lost.iter().map(|column| format!("{:?} ({})", column.name, column.original));
    let names = names.collect::<Vec<_>>().join(", ");
    (!lost.is_empty()).then(|| format!("original column types are not kept: {names}"))
}

/// Reads rows from columns that were spooled to a temporary file.
pub struct Rows<'t> {
    table: &'t Table,
    columns: File,
    width: u64,
    next: u64,
    piece: Vec<u8>,
    used: usize,
}

impl<'t> Rows<'t> {
    pub fn new(table: &'t Table, data: &mut dyn Read, directory: &Path) -> io::Result<Rows<'t>> {
        let need = table.byte_len().ok_or_else(|| io::Error::other("it is too large for a table"))?;
        let mut columns = tempfile::tempfile_in(directory)?;
        let have = io::copy(data, &mut columns)?;
        if have != need {
            return Err(io::Error::other(format!("it has {have} bytes, but its description needs {need}")));
        }
        let width = table.columns.iter().map(|column| column.width).sum();
        Ok(Rows { table, columns, width, next: 0, piece: Vec::new(), used: 0 })
    }

    fn fill(&mut self) -> io::Result<()> {
        let rows = (PIECE / self.width.max(1)).max(1).min(self.table.rows - self.next);
        self.used = 0;
        self.piece.clear();
        self.piece.resize((rows * self.width) as usize, 0);
        let (mut start, mut at) = (0, 0);
        for column in &self.table.columns {
            let mut cells = vec![0; (rows * column.width) as usize];
            self.columns.read_exact_at(&mut cells, start + self.next * column.width)?;
            let (width, row) = (column.width as usize, self.width as usize);
            if width > 0 {
                let into = self.piece.chunks_mut(row).filter_map(|row| row.get_mut(at..at + width));
                cells.chunks(width).zip(into).for_each(|(cell, into)| into.copy_from_slice(cell));
            }
            at += width;
            start += self.table.rows * column.width;
        }
        self.next += rows;
        Ok(())
    }
}

impl Read for Rows<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.used == self.piece.len() && self.next < self.table.rows && self.width > 0 {
            self.fill()?;
        }
        let count = self.piece.get(self.used..).unwrap_or_default().read(into)?;
        self.used += count;
        Ok(count)
    }
}
