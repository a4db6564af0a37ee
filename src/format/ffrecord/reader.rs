//! The library's reader of records by number.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::folder::{self, Folder, FolderEntry};
use super::records::Records;
use super::{Batch, EXTENSION, batch};
use crate::codec::Check;
use crate::source::{FileSource, Source};
use crate::{Error, Result};

/// An opened FFRecord file, or several as one.
///
/// Opening reads the header and its tables, but no record. As in the reference reader, files are given as a path, a
/// directory of `.ffr` files (sorted by name), or a list; records are numbered across them. A record's CRC-32 is
/// verified whenever it is read. A reader can be shared between threads.
///
/// ```
/// use rab::ffrecord::Reader;
///
/// let reader = Reader::open("tests/data/ffrecord/text_lines.ffr")?;
/// assert_eq!(reader.len(), 10);
/// assert_eq!(reader.get(3)?.len(), 13);
/// for record in reader.read(&[7, 1, 7])?.iter() {
///     assert!(record.starts_with(b"line"));
/// }
/// assert_eq!(reader.offsets(0)?.len(), 11);
/// reader.validate()?;
///
/// let folder = Reader::open("tests/data/ffrecord/packed_readme_example.ffr")?;
/// let number = folder.record_at("just_another_folder/004.txt").unwrap();
/// assert_eq!(folder.get(number)?.len(), 5);
/// # Ok::<(), rab::Error>(())
/// ```
pub struct Reader {
    records: Records,
    folder: Option<Folder>,
}

impl Reader {
    /// Opens a file, or all `.ffr` files that are directly in a directory.
    pub fn open(path: impl AsRef<Path>) -> Result<Reader> {
        let path = path.as_ref();
        if path.is_dir() { Reader::open_files(&files_in(path)?) } else { Reader::open_files(&[path]) }
    }

    /// Opens several files as one, in this order.
    pub fn open_files<P: AsRef<Path>>(paths: &[P]) -> Result<Reader> {
        Reader::open_with(paths, true)
    }

    /// Like [`Reader::open_files`]; without `verify` no checksums are verified, now or later.
    pub fn open_with<P: AsRef<Path>>(paths: &[P], verify: bool) -> Result<Reader> {
        if paths.is_empty() {
            return Err(Error::Usage("no FFRecord file was named".into()));
        }
        let open = |path: &P| Ok(Arc::new(FileSource::open(path.as_ref())?) as Arc<dyn Source>);
        let sources = paths.iter().map(open).collect::<Result<_>>()?;
        let records = Records::open(sources, verify)?;
        let folder = folder::of(&records)?;
        Ok(Reader { records, folder })
    }

    /// The number of records in all files.
    pub fn len(&self) -> u64 {
        self.records.count().into()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of files.
    pub fn files(&self) -> usize {
        self.records.shards().count()
    }

    /// A record's bytes.
    ///
    /// # Errors
    ///
    /// There is no such record, it is damaged, or it cannot be read.
    pub fn get(&self, number: u64) -> Result<Vec<u8>> {
        let number = batch::number(&self.records, number)?;
        let found = self.records.find(number)?;
        let len = usize::try_from(found.len()).ok();
        let mut bytes = Vec::new();
        let fits = len.is_some_and(|len| bytes.try_reserve_exact(len).is_ok());
        if !fits {
            return Err(Error::Other(format!("record {number} does not fit into memory")));
        }
        bytes.resize(len.unwrap_or(0), 0);
        found.shard.source.read_exact_at(&mut bytes, found.record.range.start)?;
        found.shard.source.check()?;
        let computed = Check::Crc.update(Check::Crc.of_nothing(), &bytes);
        if self.records.verifies() && computed != found.record.crc {
            return Err(self.records.damaged(number, &found, computed));
        }
        Ok(bytes)
    }

    /// Reads many records at once, in this order; numbers may repeat.
    ///
    /// # Errors
    ///
    /// As for [`Reader::get`]; one bad record fails the whole batch.
    pub fn read(&self, numbers: &[u64]) -> Result<Batch> {
        batch::read(&self.records, numbers)
    }

    /// The byte offsets of the records of a file (counted from 0), and the end of the last: one more number than it has
    /// records.
    pub fn offsets(&self, file: usize) -> Result<Vec<u64>> {
        let shard = self.records.shards().nth(file).ok_or(Error::NotFound)?;
        let mut bytes = vec![0; 8 * shard.count as usize];
        shard.table.fill_offsets(&mut bytes, 0)?;
        let number = |bytes: &[u8]| bytes.try_into().map_or(0, u64::from_le_bytes);
        Ok(bytes.chunks_exact(8).map(number).chain([shard.data.end]).collect())
    }

    /// The CRC-32 of every record of a file (counted from 0).
    pub fn checksums(&self, file: usize) -> Result<Vec<u32>> {
        let shard = self.records.shards().nth(file).ok_or(Error::NotFound)?;
        let bytes = shard.source.read_range(shard.table.checksums())?;
        Ok(bytes.chunks_exact(4).map(|bytes| bytes.try_into().map_or(0, u32::from_le_bytes)).collect())
    }

    /// Reads every record and verifies its CRC-32, in little memory. (Headers are verified when they are opened.)
    ///
    /// # Errors
    ///
    /// The first damaged record.
    pub fn validate(&self) -> Result<()> {
        for number in 0..self.records.count() {
            let found = self.records.find(number)?;
            let computed = found.shard.crc(found.record.range.clone())?;
            if computed != found.record.crc {
                return Err(self.records.damaged(number, &found, computed));
            }
        }
        Ok(())
    }

    /// Is this a packed folder, whose records have paths?
    pub fn is_folder(&self) -> bool {
        self.folder.is_some()
    }

    /// The record of the file at a path of a packed folder. As in the reference reader, doubled slashes, `./` and a
    /// trailing slash are ignored.
    pub fn record_at(&self, path: impl AsRef<[u8]>) -> Option<u64> {
        let path = path.as_ref();
        let folder = self.folder.as_ref().filter(|_| !path.starts_with(b"/"))?;
        match folder.what(folder.at_path(path)?)? {
            FolderEntry::File { record, .. } => Some((*record).into()),
            FolderEntry::Directory { .. } => None,
        }
    }

    /// The files of a packed folder: their paths, as bytes, and records.
    pub fn paths(&self) -> impl Iterator<Item = (Vec<u8>, u64)> {
        let folder = self.folder.iter();
        folder
            .flat_map(|folder| (0..folder.files()).filter_map(|file| folder.file(file)))
            .map(|(record, path)| (path, record.into()))
    }
}

/// The `.ffr` files of a directory, sorted by name.
fn files_in(directory: &Path) -> Result<Vec<PathBuf>> {
    let failed = |cause| Error::open(directory, cause);
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(directory).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.extension().is_some_and(|extension| extension == EXTENSION) {
            paths.push(path);
        }
    }
    paths.sort();
    if paths.is_empty() {
        return Err(failed(std::io::Error::other("it has no .ffr files")));
    }
    Ok(paths)
}
