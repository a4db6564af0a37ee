//! Writes strictly conforming FFRecord files: with a header checksum, the first record right behind the tables, and
//! nothing after the last. The tables precede the data and grow with every record, so unless the number of records is
//! known in advance, the data goes into a temporary file and is finally copied behind them (by the kernel, which shares
//! blocks where it can).
//!
//! `container` is the writer as a `NewContainer`; `pack` packs files and pipes, divided into records by their
//! `framing`, into one file or a directory of `shards`; `folder` packs a directory. `unpacked` finds the records in a
//! directory that they were unpacked into.

mod container;
mod folder;
mod framing;
mod input;
mod pack;
mod shards;
mod tables;
mod unpacked;

use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::EXTENSION;
use super::head::tables_end;
use crate::codec::Check;
use crate::error::Place;
use crate::format::writer::Temporary;
use crate::{Error, Result};

pub use container::Container;
pub use folder::{pack_folder, surrogates};
pub use framing::Framing;
pub use pack::{Packing, pack_files};
use tables::Tables;
pub use unpacked::{above_records, unpacked};

/// Receives the number of further bytes read now and then; its error ends everything.
pub type Passed<'p> = &'p mut dyn FnMut(u64) -> Result<()>;

/// Writes an FFRecord file that the format's own readers open.
///
/// The target is untouched until [`Writer::finish`], which replaces it atomically. Records may be larger than memory.
/// A record that could not be added leaves no trace.
///
/// ```
/// use rab::ffrecord::{Reader, Writer};
///
/// # let dir = tempfile::tempdir().unwrap();
/// # let path = dir.path().join("new.ffr");
/// let mut writer = Writer::create(&path)?;
/// writer.add(b"first")?;
/// writer.add_from(&mut &b"second"[..])?;
/// writer.finish()?;
///
/// let reader = Reader::open(&path)?;
/// assert_eq!((reader.len(), reader.get(1)?), (2, b"second".to_vec()));
/// # Ok::<(), rab::Error>(())
/// ```
pub struct Writer {
    path: PathBuf,
    data: BufWriter<File>,
    temporary: Temporary,
    /// The offset of the data in the temporary file.
    begin: u64,
    /// Total length of the added records, in bytes.
    len: u64,
    /// The number of records announced.
    announced: Option<u64>,
    tables: Tables,
}

const BUFFER: usize = 256 << 10;

impl Writer {
    /// Begins a file at `path`, which must end in `.ffr` and may exist already.
    pub fn create(path: impl AsRef<Path>) -> Result<Writer> {
        Writer::new(path.as_ref(), None, true)
    }

    /// Like [`Writer::create`] for exactly `count` records, which are then written in place and not copied.
    pub fn create_for(path: impl AsRef<Path>, count: u64) -> Result<Writer> {
        Writer::new(path.as_ref(), Some(count), true)
    }

    /// Without `force` an existing file is not replaced.
    fn new(path: &Path, announced: Option<u64>, force: bool) -> Result<Writer> {
        if path.extension().is_none_or(|extension| extension != EXTENSION) {
            return Err(Error::Usage(format!(
                "{}: an FFRecord file's name must end in .ffr",
                path.display()
            )));
        }
        if announced.is_some_and(|count| count >= u32::MAX.into()) {
            return Err(Error::Usage(format!("{}: the limit is {} records", path.display(), u32::MAX - 1)));
        }
        let open = || -> io::Result<Writer> {
            let temporary = Temporary::create(path, force)?;
            let mut data = BufWriter::with_capacity(BUFFER, temporary.file.try_clone()?);
            let begin = announced.map_or(0, tables_end);
            data.seek(SeekFrom::Start(begin))?;
            let (path, tables) = (path.to_owned(), Tables::new(temporary.directory()));
            Ok(Writer { path, data, temporary, begin, len: 0, announced, tables })
        };
        open().map_err(|cause| Error::write(Place::file(path), cause))
    }

    /// The number of records added so far.
    pub fn len(&self) -> u64 {
        self.tables.count()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds a record and returns its number.
    pub fn add(&mut self, bytes: &[u8]) -> Result<u64> {
        self.add_from(&mut { bytes })
    }

    /// Adds all bytes of `from` as a record and returns its number.
    pub fn add_from(&mut self, from: &mut dyn Read) -> Result<u64> {
        let number = self.len();
        if self.announced.is_some_and(|count| number >= count) {
            return Err(self.wrong(format!("{number} records were announced, and one more is added")));
        }
        match self.copy(from) {
            Ok(()) => Ok(number),
            Err(cause) => {
                let _ = self.data.seek(SeekFrom::Start(self.begin + self.len));
                Err(self.failed(cause))
            }
        }
    }

    fn copy(&mut self, from: &mut dyn Read) -> io::Result<()> {
        let mut buffer = [0; 16 << 10];
        let (mut crc, mut len) = (Check::Crc.of_nothing(), 0u64);
        loop {
            let count = match from.read(&mut buffer) {
                Ok(0) => break,
                Ok(count) => count,
                Err(cause) if cause.kind() == io::ErrorKind::Interrupted => continue,
                Err(cause) => return Err(cause),
            };
            let piece = buffer.get(..count).unwrap_or_default();
            crc = Check::Crc.update(crc, piece);
            self.data.write_all(piece)?;
            len += count as u64;
        }
        self.tables.push(crc, self.len + len)?;
        self.len += len;
        Ok(())
    }

    /// Puts the file in the target's place once all of it is on disk. Without this call, nothing is left.
    pub fn finish(self) -> Result<()> {
        let (count, announced) = (self.len(), self.announced);
        if let Some(announced) = announced.filter(|announced| *announced != count) {
            return Err(self.wrong(format!("{announced} records were announced, {count} were added")));
        }
        let path = self.path.clone();
        self.write().map_err(|cause| Error::write(Place::file(&path), cause))
    }

    fn write(mut self) -> io::Result<()> {
        self.data.flush()?;
        let data = self.temporary;
        data.file.set_len(self.begin + self.len)?;
        let whole = match self.announced {
            Some(_) => data,
            None => copied(&data, tables_end(self.tables.count()))?,
        };
        self.tables.write(&whole.file)?;
        whole.finish()
    }

    fn wrong(&self, problem: String) -> Error {
        Error::Usage(format!("{}: {problem}", self.path.display()))
    }

    fn failed(&self, cause: io::Error) -> Error {
        Error::write(Place::file(&self.path), cause)
    }
}

/// Copies all of `data` into a new file, at offset `room`.
fn copied(data: &Temporary, room: u64) -> io::Result<Temporary> {
    let whole = data.another()?;
    let (mut data, mut to) = (&data.file, &whole.file);
    data.seek(SeekFrom::Start(0))?;
    to.seek(SeekFrom::Start(room))?;
    io::copy(&mut data, &mut to)?;
    Ok(whole)
}
