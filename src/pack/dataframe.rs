//! CSV as a dataframe, in two passes: the first finds out the types of the columns as pandas does, the second
//! puts the cells into columns, in a file without name where they do not fit into memory.
//!
//! A column is `bool` if all its cells are `true`, `True`, `TRUE` or the like; `int64` (else `uint64`) if they are
//! whole numbers; `float64` if they are numbers, empty, or one of pandas' words for a missing value, which become
//! NaN, and no whole number among them would be rounded; else text, as it stands.

use std::cell::Cell;
use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

use csv::{ByteRecord, ErrorKind, Position, Reader, ReaderBuilder};
use tempfile::SpooledTempFile;

use crate::array::{Element, Kind};
use crate::error::Place;
use crate::tree::{ColumnInfo, Table};
use crate::{Error, Result};

/// A longer line is the sign of a quote that is never closed.
const LONGEST: u64 = 16 << 20;
/// Bytes of the table that stay in memory.
const IN_MEMORY: usize = 8 << 20;
/// Bytes that are put into columns at a time.
const PIECE: u64 = 4 << 20;

/// What pandas takes for a missing value, besides an empty cell.
const MISSING: &[&str] = &[
    "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>", "N/A",
    "NA", "NULL", "NaN", "None", "n/a", "nan", "null",
];

/// The columns of a CSV file, whose first line has their names.
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
                    "its column {name:?} has a text that ends in a NUL, which would be lost"
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

/// The bytes of the table, column after column.
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
    /// Rows.
    done: u64,
}

impl Store<'_> {
    /// The next cells of each column.
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

/// Appends a cell; None if it is not what the column was found to be.
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

/// What a cell alone would be.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Meaning {
    Empty,
    /// A word for a missing value.
    Missing,
    Truth(bool),
    Whole(i128),
    /// A whole number that no type holds.
    Huge,
    Number(f64),
    Text,
}

impl Meaning {
    fn of(cell: &str) -> Meaning {
        let bare = cell.trim_matches([' ', '\t']);
        match bare {
            _ if cell.is_empty() => return Meaning::Empty,
            "true" | "True" | "TRUE" => return Meaning::Truth(true),
            "false" | "False" | "FALSE" => return Meaning::Truth(false),
            _ => {}
        }
        let digits = bare.strip_prefix(['+', '-']).unwrap_or(bare);
        if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return bare.parse().map_or(Meaning::Huge, Meaning::Whole);
        }
        if MISSING.contains(&cell) {
            return Meaning::Missing;
        }
        // Other spellings of NaN, such as the name Nan, are texts for pandas.
        let number = bare.parse().ok().filter(|number: &f64| !number.is_nan());
        number.map_or(Meaning::Text, Meaning::Number)
    }
}

/// What a column has.
#[derive(Clone, Debug, Default)]
struct Seen {
    empty: bool,
    missing: bool,
    truth: bool,
    whole: bool,
    fraction: bool,
    text: bool,
    /// A whole number that a float64 would round.
    rounded: bool,
    least: i128,
    most: i128,
    /// Of the longest cell, in bytes.
    width: u64,
}

impl Seen {
    fn add(&mut self, cell: &str) {
        self.width = self.width.max(cell.len() as u64);
        match Meaning::of(cell) {
            Meaning::Empty => self.empty = true,
            Meaning::Missing => self.missing = true,
            Meaning::Truth(_) => self.truth = true,
            Meaning::Number(_) => self.fraction = true,
            Meaning::Text | Meaning::Huge => self.text = true,
            Meaning::Whole(number) => {
                self.whole = true;
                self.least = self.least.min(number);
                self.most = self.most.max(number);
                self.rounded |= number as f64 as i128 != number;
            }
        }
    }

    fn column(&self, name: String) -> ColumnInfo {
        let element = self.element();
        let original = match element {
            None => "text",
            Some(_) if self.truth => "bool",
            Some(Element { kind: Kind::Float, .. }) => "float64",
            Some(_) if self.most > i64::MAX.into() => "uint64",
            Some(_) => "int64",
        };
        let width = element.map_or(self.width, |element| element.size.into());
        ColumnInfo { name, element, big_endian: false, width, original: original.into() }
    }

    /// None: text. Whole numbers and truths are stored as narrow as can be.
    fn element(&self) -> Option<Element> {
        let numbers = self.whole || self.fraction;
        let gaps = self.empty || self.missing;
        if self.text || self.truth && (numbers || gaps) || !numbers && self.missing {
            None
        } else if self.truth {
            Element::narrowest(0, 1)
        } else if self.whole && !self.fraction && !gaps {
            Element::narrowest(self.least, self.most)
        } else if (numbers || self.empty) && !self.rounded {
            Element::from_name("float64")
        } else {
            None
        }
    }
}

/// A CSV file line by line.
struct Lines<'a> {
    path: &'a Path,
    reader: Reader<Bounded>,
    record: ByteRecord,
    /// The last record in which a cell has line breaks.
    broken: Option<Position>,
}

impl<'a> Lines<'a> {
    fn open(path: &'a Path) -> Result<Lines<'a>> {
        let file = File::open(path).map_err(|cause| Error::open(path, cause))?;
        let input = Bounded { file, since: Cell::new(0) };
        let reader = ReaderBuilder::new().buffer_capacity(64 << 10).from_reader(input);
        Ok(Lines { path, reader, record: ByteRecord::new(), broken: None })
    }

    fn names(&mut self) -> Result<Vec<String>> {
        let first = self.reader.byte_headers().cloned().map_err(|problem| failed(self.path, problem))?;
        if first.is_empty() {
            return Err(Error::Other(format!(
                "{}: has no first line with the names of the columns",
                self.path.display()
            )));
        }
        let names =
            first.iter().map(|name| self.text(name).map(str::to_owned)).collect::<Result<Vec<_>>>()?;
        let mut known = HashSet::new();
        match names.iter().find(|name| !known.insert(name.as_str())) {
            Some(twice) => Err(self.wrong(&format!("it has two columns {twice:?}: rename one of them"))),
            None => Ok(names),
        }
    }

    /// False at the end.
    fn next(&mut self) -> Result<bool> {
        self.reader.get_ref().since.set(0);
        let is_there =
            self.reader.read_byte_record(&mut self.record).map_err(|problem| failed(self.path, problem))?;
        if is_there && self.record.iter().any(|cell| cell.contains(&b'\n')) {
            self.broken = self.record.position().cloned();
        }
        Ok(is_there)
    }

    /// The parser takes the end of the file for the end of a quoted cell, and with it all lines that came after the
    /// quote. Then one quote has no other.
    fn is_closed(&self) -> Result<()> {
        let Some(position) = &self.broken else { return Ok(()) };
        let file = File::open(self.path).map_err(|cause| Error::open(self.path, cause))?;
        let mut quotes = 0u64;
        for byte in io::BufReader::new(file).bytes() {
            let byte = byte.map_err(|cause| Error::read(Place::file(self.path), cause))?;
            quotes += u64::from(byte == b'"');
        }
        if quotes.is_multiple_of(2) {
            return Ok(());
        }
        let (shown, line) = (self.path.display(), line(self.path, position));
        Err(Error::Other(format!(
            "{shown}: line {line}: a quote that is opened here or before is never closed"
        )))
    }

    fn text<'c>(&self, cell: &'c [u8]) -> Result<&'c str> {
        std::str::from_utf8(cell).map_err(|_| self.wrong("it is not UTF-8: convert it first, with iconv(1)"))
    }

    fn wrong(&self, problem: &str) -> Error {
        let line = self.record.position().map_or(1, |position| line(self.path, position));
        Error::Other(format!("{}: line {line}: {problem}", self.path.display()))
    }
}

fn failed(path: &Path, problem: csv::Error) -> Error {
    let shown = path.display();
    let line = problem.position().map_or(0, |position| line(path, position));
    match problem.into_kind() {
        ErrorKind::Io(cause) if cause.raw_os_error().is_some() => Error::read(Place::file(path), cause),
        ErrorKind::Io(cause) => Error::Other(format!("{shown}: {cause}")),
        ErrorKind::UnequalLengths { expected_len, len, .. } => Error::Other(format!(
            "{shown}: line {line}: it has {len} cells, the first line has {expected_len}"
        )),
        _ => Error::Other(format!("{shown}: cannot be read as CSV")),
    }
}

/// The line of a record, which the reader counts without the empty lines before it.
fn line(path: &Path, record: &Position) -> u64 {
    let mut bytes = Vec::new();
    let file = File::open(path).and_then(|mut file| file.seek(SeekFrom::Start(record.byte())).map(|_| file));
    let _ = file.and_then(|file| file.take(4096).read_to_end(&mut bytes));
    let empty = bytes.iter().take_while(|byte| matches!(byte, b'\r' | b'\n'));
    record.line() + empty.filter(|byte| **byte == b'\n').count() as u64
}

/// Fails if a line is too long.
struct Bounded {
    file: File,
    /// Bytes read since the last line.
    since: Cell<u64>,
}

impl Read for Bounded {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.since.get() > LONGEST {
            let problem = format!("a line is longer than {LONGEST} bytes: maybe a quote is not closed");
            return Err(io::Error::other(problem));
        }
        let count = self.file.read(into)?;
        self.since.set(self.since.get() + count as u64);
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The types that a column of these cells has in the file and for its readers.
    fn types(cells: &[&str]) -> (String, String) {
        let mut seen = Seen::default();
        cells.iter().for_each(|cell| seen.add(cell));
        let column = seen.column("x".into());
        let stored = column.element.and_then(Element::name).unwrap_or("text");
        (stored.to_owned(), column.original)
    }

    #[test]
    fn types_as_pandas_finds_them() {
        let cases: [(&[&str], &str, &str); 23] = [
            (&["1", "200"], "uint8", "int64"),
            (&["-1", "+5", " 7 "], "int8", "int64"),
            (&["0", "9223372036854775807"], "uint64", "int64"),
            (&["0", "9223372036854775808"], "uint64", "uint64"),
            (&["-1", "9223372036854775808"], "text", "text"),
            (&["18446744073709551616"], "text", "text"),
            (&["1", ""], "float64", "float64"),
            (&["1", "NA", "2.5"], "float64", "float64"),
            (&["9007199254740993", ""], "text", "text"),
            (&["9007199254740992", "0.5"], "float64", "float64"),
            (&["1e5", "-inf", "nan", ".5", "1."], "float64", "float64"),
            (&["", ""], "float64", "float64"),
            (&["NA", ""], "text", "text"),
            (&["NA", "DE"], "text", "text"),
            (&["1.5", "Nan"], "text", "text"),
            (&["1.5", "-NAN"], "text", "text"),
            (&["True", "false"], "uint8", "bool"),
            (&["True", ""], "text", "text"),
            (&["True", "1"], "text", "text"),
            (&["1", "x"], "text", "text"),
            (&["0x10"], "text", "text"),
            (&["1_000"], "text", "text"),
            (&[], "text", "text"),
        ];
        for (cells, stored, original) in cases {
            assert_eq!(types(cells), (stored.to_owned(), original.to_owned()), "{cells:?}");
        }
    }

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
        let said = |text: &[u8]| table(text).unwrap_err().to_string();
        assert!(said(b"a,b\n1,2\n\n3\n").ends_with("line 4: it has 1 cells, the first line has 2"));
        assert!(said(b"").contains("no first line"));
        assert!(said(b"a,b,a\n").contains("line 1: it has two columns \"a\""));
        assert!(said(b"a\nx\n\xFF\n").contains("line 3: it is not UTF-8"));
        assert!(said(b"a\nx\0\n").contains("ends in a NUL"));
        let open = [b"a\n\"".to_vec(), vec![b'x'; 20 << 20]].concat();
        assert!(said(&open).contains("a quote is not closed"));
    }
}
