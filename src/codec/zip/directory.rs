//! The directory at the end of a ZIP file, read once. A member takes 48 bytes of memory.
//!
//! It is read with the crate rawzip rather than the better known `zip`, which keys members by name and so loses
//! duplicates, takes ten times the memory, and rejects a whole archive for one bad member.

use std::cell::RefCell;
use std::io;

use rawzip::{ErrorKind, ReaderAt, ZipArchive, ZipLocator};

use super::{Record, names};
use crate::error::Place;
use crate::source::Source;
use crate::{Error, Result};

/// Large enough for an entry with the longest name, extra field and comment.
const BUFFER: usize = 256 << 10;
/// Large enough for the end of the directory, however short the file is.
const MIN_BUFFER: usize = 4 << 10;

pub struct Directory {
    /// The members in order, without directory entries.
    pub records: Vec<Record>,
    /// The names of directory entries, which end in a slash.
    pub directories: Vec<String>,
    /// Offset of the directory.
    pub start: u64,
}

/// Reads the directory; `named` is called with the name of each member, in order.
pub fn read(source: &dyn Source, named: &mut dyn FnMut(&str)) -> Result<Directory> {
    let reader = Reader { source, failure: RefCell::default() };
    // No entry is longer than the file.
    let needed = usize::try_from(source.len()).unwrap_or(BUFFER);
    let mut buffer = vec![0; needed.clamp(MIN_BUFFER, BUFFER)];
    let found = ZipLocator::new().locate_in_reader(&reader, &mut buffer, source.len());
    let archive = found.map_err(|(_, error)| reader.explain(&error))?;
    if archive.directory_offset() > source.len() {
        let problem =
            format!("the ZIP directory claims to begin at byte {}, past the end", archive.directory_offset());
        return Err(Error::damaged(source.place(), problem));
    }
    let mut directory =
        Directory { records: Vec::new(), directories: Vec::new(), start: archive.directory_offset() };
    entries(&archive, &mut buffer, named, &mut directory)?;
    limit(&mut directory.records, directory.start);
    source.check()?;
    Ok(directory)
}

fn entries(
    archive: &ZipArchive<&Reader<'_>>,
    buffer: &mut [u8],
    named: &mut dyn FnMut(&str),
    Directory { records, directories, .. }: &mut Directory,
) -> Result<()> {
    let reader = archive.get_ref();
    let mut count = 0u64;
    let mut entries = archive.entries(buffer);
    while let Some(entry) = entries.next_entry().map_err(|error| reader.explain(&error))? {
        count += 1;
        let (path, flags) = (entry.file_path(), entry.flags().bits());
        let name = names::decode(path.as_ref(), flags);
        let len = entry.uncompressed_size_hint();
        // One with a checksum has lost its bytes: it stays a member, which is damaged.
        if name.ends_with('/') && len == 0 && entry.crc32() == 0 {
            directories.push(name.into_owned());
            continue;
        }
        named(&name);
        records.push(Record {
            header: entry.local_header_offset(),
            limit: 0,
            stored_len: entry.compressed_size_hint(),
            len,
            crc: entry.crc32(),
            method: entry.compression_method().as_u16(),
            flags,
        });
    }
    // Without ZIP64 the count has 16 bits, and some writers let it overflow.
    let hint = archive.entries_hint();
    if hint != count && hint != count & 0xffff {
        let problem = format!("the ZIP directory has {count} members, but its end says {hint}");
        return Err(Error::damaged(reader.source.place().at(archive.directory_offset()), problem));
    }
    u32::try_from(records.len())
        .map_err(|_| Error::damaged(reader.source.place(), "it has more than 2^32 members"))?;
    records.shrink_to_fit();
    Ok(())
}

/// Sets the end of each member: the next member, or the directory.
fn limit(records: &mut [Record], directory: u64) {
    let mut order: Vec<u32> = (0..records.len() as u32).collect();
    order.sort_by_key(|number| records.get(*number as usize).map(|record| record.header));
    let mut limit = directory;
    for number in order.into_iter().rev() {
        if let Some(record) = records.get_mut(number as usize) {
            record.limit = limit;
            limit = record.header;
        }
    }
}

/// Adapts a source for the crate, and keeps the first error in our own form.
struct Reader<'s> {
    source: &'s dyn Source,
    failure: RefCell<Option<Error>>,
}

impl ReaderAt for Reader<'_> {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        let count = self.source.len().saturating_sub(offset).min(buf.len() as u64) as usize;
        let part = buf.get_mut(..count).unwrap_or_default();
        self.source.read_exact_at(part, offset).map_err(|error| {
            let copy = io::Error::other(error.to_string());
            self.failure.borrow_mut().get_or_insert(error);
            copy
        })?;
        Ok(count)
    }
}

impl Reader<'_> {
    fn explain(&self, error: &rawzip::Error) -> Error {
        if let Some(failure) = self.failure.take() {
            return failure;
        }
        let place: Place = self.source.place();
        let problem = match error.kind() {
            ErrorKind::MissingEndOfCentralDirectory => {
                "it has no ZIP directory, which stands at the end: the file is cut off, or still being written".into()
            }
            ErrorKind::InvalidSignature { .. } => "the ZIP directory is not where the end of the file says".into(),
            ErrorKind::InvalidEndOfCentralDirectory | ErrorKind::Eof => "the ZIP directory does not fit the file".into(),
            ErrorKind::IO(_) => "the ZIP directory ends early".into(),
            _ => format!("the ZIP directory cannot be read: {}", error.to_string().to_lowercase()),
        };
        Error::damaged(place, problem)
    }
}
