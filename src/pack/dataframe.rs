//! Reads CSV as a dataframe in two passes: the first infers the types of the columns as pandas does, the second
//! collects the cells column by column, in an unnamed file if they do not fit into memory.
//!
//! | | |
//! |---|---|
//! | `lines` | reads the file line by line |
//! | `types` | infers the types of columns |

mod lines;
mod types;

use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

use tempfile::SpooledTempFile;

use self::lines::Lines;
use self::types::{Meaning, Seen};
use crate::array::Kind;
use crate::error::Place;
use crate::tree::{ColumnInfo, Table};
use crate::{Error, Result};

/// Maximum size of a table kept in memory, in bytes.
const IN_MEMORY: usize = 8 << 20;
/// Bytes of rows collected before they are written into columns.
const PIECE: u64 = 4 << 20;

/// Infers the columns of a CSV file, whose first line contains their names.
pub fn infer(path: &Path) -> Result<Table> {
    let mut lines = Lines::open(path)?;
    let names = lines.names()?;
    let mut columns = vec![Seen::default(); names.len()];
    let mut rows = 0;
    while lines.next()? {
        rows += 1;
        for (number, (cell, seen)) in lines.record.iter().zip(&mut columns).enumerate() {
            let cell = lines.text(cell)?;
            seen.add(cell);
            if cell.ends_with('\0') {
                let name = names.get(number).map_or("", String::as_str);
                return Err(lines.wrong(&format!(
                    "its column {name:?} has a string that ends in a NUL, which would be lost"
                )));
            }
        }
    }
    lines.is_closed()?;
    let columns = names.into_iter().zip(&columns).map(|(name, seen)| seen.column(name)).collect();
    let table = Table { rows, columns };
    match table.byte_len() {
        Some(_) => Ok(table),
        None => Err(Error::Other(format!("{}: its table does not fit into 64 bits", path.display()))),
    }
}

/// The bytes of the table, column by column.
pub fn bytes(path: &Path, table: &Table, scratch: &Path) -> Result<impl Read + use<>> {
    let mut lines = Lines::open(path)?;
    lines.names()?;
    let failed = |cause| Error::write(Place::file(scratch), cause);
    let width: u64 = table.columns.iter().map(|column| column.width).sum();
    let most = PIECE.checked_div(width).unwrap_or(PIECE).max(1);
    let mut store = Store { file: SpooledTempFile::new_in(IN_MEMORY, scratch), table, done: 0 };
    let mut columns = vec![Vec::new(); table.columns.len()];
    let mut waiting = 0;
    while lines.next()? {
        for ((cell, column), bytes) in lines.record.iter().zip(&table.columns).zip(&mut columns) {
            encode(lines.text(cell)?, column, bytes)
                .ok_or_else(|| lines.wrong("it changed while it was packed"))?;
        }
        waiting += 1;
        if waiting == most {
            store.put(&mut columns, waiting).map_err(failed)?;
            waiting = 0;
        }
    }
    store.put(&mut columns, waiting).map_err(failed)?;
    let mut file = store.file;
    file.seek(SeekFrom::Start(0)).map_err(failed)?;
    Ok(file)
}

struct Store<'a> {
    file: SpooledTempFile,
    table: &'a Table,
    /// Number of rows written.
    done: u64,
}

impl Store<'_> {
    /// Writes the next cells of each column.
    fn put(&mut self, columns: &mut [Vec<u8>], rows: u64) -> io::Result<()> {
        let mut begin = 0;
        for (bytes, column) in columns.iter_mut().zip(&self.table.columns) {
            self.file.seek(SeekFrom::Start(begin + self.done * column.width))?;
            self.file.write_all(bytes)?;
            bytes.clear();
            begin += self.table.rows * column.width;
        }
        self.done += rows;
        Ok(())
    }
}

/// Appends a cell; None if it does not fit the inferred type of its column.
fn encode(cell: &str, column: &ColumnInfo, out: &mut Vec<u8>) -> Option<()> {
    let width = usize::try_from(column.width).ok()?;
    match column.element.map(|element| element.kind) {
        None => {
            let end = out.len() + width;
            out.extend_from_slice(cell.as_bytes());
            let fits = out.len() <= end;
            out.resize(end, 0);
            return fits.then_some(());
        }
        Some(Kind::Float) => {
            let number = match Meaning::of(cell) {
                Meaning::Whole(number) => number as f64,
                Meaning::Number(number) => number,
                _ => f64::NAN,
            };
            out.extend(number.to_le_bytes());
        }
        Some(_) => {
            let number = match Meaning::of(cell) {
                Meaning::Whole(number) => number,
                Meaning::Truth(truth) => truth.into(),
                _ => return None,
            };
            out.extend_from_slice(number.to_le_bytes().get(..width)?);
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(text: &[u8]) -> Result<(Table, Vec<u8>)> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.csv");
        std::fs::write(&path, text).unwrap();
        let table = infer(&path)?;
        let mut out = Vec::new();
        bytes(&path, &table, dir.path())?.read_to_end(&mut out).unwrap();
        assert_eq!(Some(out.len() as u64), table.byte_len());
        Ok((table, out))
    }

    #[test]
    fn columns_one_after_the_other() {
        let (table, bytes) = table(b"\xEF\xBB\xBFid,who,x\r\n1,\"a\nb\",\r\n300,\"\"\"q\",0.5\r\n").unwrap();
        let names: Vec<_> = table.columns.iter().map(|column| column.name.as_str()).collect();
        assert_eq!((table.rows, names), (2, vec!["id", "who", "x"]));
        let expected =
            [&[1, 0, 44, 1][..], b"a\nb\"q\0", &f64::NAN.to_le_bytes(), &0.5f64.to_le_bytes()].concat();
        assert_eq!(bytes, expected);
    }

    #[test]
    fn tables_larger_than_a_piece() {
        let mut text = b"n,text\n".to_vec();
        for n in 0..300_000u32 {
            text.extend(format!("{n},{}\n", "x".repeat(n as usize % 60)).as_bytes());
        }
        let (table, bytes) = table(&text).unwrap();
        assert_eq!((table.rows, bytes.len()), (300_000, 300_000 * (4 + 59)));
        for n in [0u32, 1, 65_535, 70_000, 299_999] {
            assert_eq!(&bytes[n as usize * 4..][..4], n.to_le_bytes());
            let cell = &bytes[1_200_000 + n as usize * 59..][..59];
            assert_eq!(cell.iter().filter(|byte| **byte == b'x').count(), n as usize % 60);
        }
    }

    #[test]
    fn what_is_no_table() {
        let message = |text: &[u8]| table(text).unwrap_err().to_string();
        assert!(message(b"a,b\n1,2\n\n3\n").ends_with("line 4: it has 1 cells, the first line has 2"));
        assert!(message(b"").contains("no first line"));
        assert!(message(b"a,b,a\n").contains("line 1: it has two columns \"a\""));
        assert!(message(b"a\nx\n\xFF\n").contains("line 3: it is not UTF-8"));
        assert!(message(b"a\nx\0\n").contains("ends in a NUL"));
        let open = [b"a\n\"".to_vec(), vec![b'x'; 20 << 20]].concat();
        assert!(message(&open).contains("a quote is not closed"));
    }
}
