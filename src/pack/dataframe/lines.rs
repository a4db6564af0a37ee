//! Reads a CSV file line by line, and locates errors by line number.

use std::cell::Cell;
use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use csv::{ByteRecord, ErrorKind, Position, Reader, ReaderBuilder};

use crate::error::Place;
use crate::{Error, Result};

/// Maximum length of a line in bytes. A longer one suggests a quote that is never closed.
const MAX_LEN: u64 = 16 << 20;

/// Reads a CSV file line by line.
pub struct Lines<'a> {
    path: &'a Path,
    reader: Reader<Bounded>,
    pub record: ByteRecord,
    /// The last record with line breaks in a cell.
    broken: Option<Position>,
}

impl<'a> Lines<'a> {
    pub fn open(path: &'a Path) -> Result<Lines<'a>> {
        let file = File::open(path).map_err(|cause| Error::open(path, cause))?;
        let input = Bounded { file, since: Cell::new(0) };
        let reader = ReaderBuilder::new().buffer_capacity(64 << 10).from_reader(input);
        Ok(Lines { path, reader, record: ByteRecord::new(), broken: None })
    }

    pub fn names(&mut self) -> Result<Vec<String>> {
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

    /// Reads the next record; false at the end.
    pub fn next(&mut self) -> Result<bool> {
        self.reader.get_ref().since.set(0);
        let is_there =
            self.reader.read_byte_record(&mut self.record).map_err(|problem| failed(self.path, problem))?;
        if is_there && self.record.iter().any(|cell| cell.contains(&b'\n')) {
            self.broken = self.record.position().cloned();
        }
        Ok(is_there)
    }

    /// Fails if a quote is never closed. The parser silently ends a quoted cell at the end of the file, which swallows
    /// all lines after the quote; an odd number of quotes gives that away.
    pub fn is_closed(&self) -> Result<()> {
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

    pub fn text<'c>(&self, cell: &'c [u8]) -> Result<&'c str> {
        std::str::from_utf8(cell).map_err(|_| self.wrong("it is not UTF-8: convert it first, with iconv(1)"))
    }

    pub fn wrong(&self, problem: &str) -> Error {
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

/// The line number of a record. The reader's own does not count empty lines directly before it.
fn line(path: &Path, record: &Position) -> u64 {
    let mut bytes = Vec::new();
    let file = File::open(path).and_then(|mut file| file.seek(SeekFrom::Start(record.byte())).map(|_| file));
    let _ = file.and_then(|file| file.take(4096).read_to_end(&mut bytes));
    let empty = bytes.iter().take_while(|byte| matches!(byte, b'\r' | b'\n'));
    record.line() + empty.filter(|byte| **byte == b'\n').count() as u64
}

/// Fails when a line is too long.
struct Bounded {
    file: File,
    /// Bytes read since the end of the last line.
    since: Cell<u64>,
}

impl Read for Bounded {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.since.get() > MAX_LEN {
            let problem = format!("a line is longer than {MAX_LEN} bytes: maybe a quote is not closed");
            return Err(io::Error::other(problem));
        }
        let count = self.file.read(into)?;
        self.since.set(self.since.get() + count as u64);
        Ok(count)
    }
}
