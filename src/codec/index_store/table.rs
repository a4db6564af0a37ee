//! The table of records in a file, read from the heads alone, so that opening a large index is cheap. An entry means
//! that a valid head was found; payloads are verified when read.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use super::Key;
use super::layout::{HEAD, HEADER, Head};

/// More records than any container needs, about 100 MB: bounds the memory that a false file can take.
pub const MAX_RECORDS: usize = 1 << 21;
/// Bytes read at once: many heads of small records, and little waste after a large payload.
const WINDOW: usize = 4096;

#[derive(Clone, Copy, Debug)]
pub struct Entry {
    pub at: u64,
    length: u32,
}

#[derive(Clone)]
pub struct Table {
    entries: HashMap<(u64, u64), Entry>,
    /// Offset for the next record; no valid record starts here or later.
    pub end: u64,
    /// Bytes of replaced records.
    pub dead: u64,
}

impl Table {
    /// The table of a file that has only a header.
    pub fn new() -> Table {
        Table { entries: HashMap::new(), end: HEADER as u64, dead: 0 }
    }

    /// The records of a file of `len` bytes, up to the first incomplete one. Fails if the file is not the container's
    /// index.
    pub fn read(file: &File, len: u64, key: &Key) -> Result<Table, String> {
        let mut header = [0; HEADER];
        match file.read_exact_at(&mut header, 0) {
            Ok(()) => key.check(&header)?,
            Err(cause) if cause.kind() == io::ErrorKind::UnexpectedEof => {
                return Err("it is cut short".into());
            }
            Err(cause) => return Err(format!("it cannot be read: {cause}")),
        }
        let mut table = Table::new();
        let mut heads = Heads { file, seed: key.seed(), limit: key.len, window: Vec::new(), from: 0 };
        while table.has_room() {
            let Some(head) = heads.at(table.end) else { break };
            match table.end.checked_add(head.size()) {
                Some(end) if end <= len => table.insert(&head),
                _ => break,
            }
        }
        Ok(table)
    }

    pub fn has_room(&self) -> bool {
        self.entries.len() < MAX_RECORDS
    }

    /// Adds a record that was appended at the end.
    pub fn insert(&mut self, head: &Head) {
        let entry = Entry { at: self.end, length: head.length };
        self.end += head.size();
        if let Some(earlier) = self.entries.insert((head.start, head.end), entry) {
            self.dead += HEAD as u64 + u64::from(earlier.length);
        }
    }

    pub fn get(&self, range: (u64, u64)) -> Option<Entry> {
        self.entries.get(&range).copied()
    }

    /// Removes a damaged record, unless it has been replaced meanwhile.
    pub fn forget(&mut self, range: (u64, u64), entry: Entry) {
        if self.entries.get(&range).is_some_and(|now| now.at == entry.at) {
            self.entries.remove(&range);
            self.dead += HEAD as u64 + u64::from(entry.length);
        }
    }

    /// Copies the current, valid records to a new file, in the same order.
    pub fn copy(&self, from: &File, to: &File, key: &Key) -> io::Result<Table> {
        let mut all: Vec<_> = self.entries.iter().map(|(range, entry)| (*range, *entry)).collect();
        all.sort_unstable_by_key(|(_, entry)| entry.at);
        write_header(to, key)?;
        let mut copy = Table::new();
        for (range, entry) in all {
            let Some(payload) = entry.payload(from, key, range) else { continue };
            if let Some(head) = Head::new(range.0, range.1, &payload, key.len) {
                write(to, key, copy.end, &head, &payload)?;
                copy.insert(&head);
            }
        }
        Ok(copy)
    }
}

impl Entry {
    /// The payload, if it is whole and was written for this range.
    pub fn payload(&self, file: &File, key: &Key, range: (u64, u64)) -> Option<Vec<u8>> {
        let mut head = [0; HEAD];
        file.read_exact_at(&mut head, self.at).ok()?;
        let head = Head::read(&head, key.seed(), self.at, key.len)?;
        if (head.start, head.end) != range || head.length != self.length {
            return None;
        }
        // The file was long enough when its table was read, and the size is within the limit for payloads.
        let mut payload = vec![0; self.length as usize];
        file.read_exact_at(&mut payload, self.at.checked_add(HEAD as u64)?).ok()?;
        head.fits(&payload).then_some(payload)
    }
}

pub fn write_header(file: &File, key: &Key) -> io::Result<()> {
    file.write_all_at(&key.header(), 0)
}

/// Writes a record, its head last, so that a head implies a written payload.
pub fn write(file: &File, key: &Key, at: u64, head: &Head, payload: &[u8]) -> io::Result<()> {
    file.write_all_at(payload, at + HEAD as u64)?;
    file.write_all_at(&head.bytes(key.seed(), at), at)
}

/// Reads heads, a few at once.
struct Heads<'a> {
    file: &'a File,
    seed: u64,
    limit: u64,
    window: Vec<u8>,
    /// Where the window begins in the file.
    from: u64,
}

impl Heads<'_> {
    fn at(&mut self, at: u64) -> Option<Head> {
        if self.in_window(at).is_none() {
            self.window.resize(WINDOW, 0);
            let read = read_at_most(self.file, &mut self.window, at)?;
            self.window.truncate(read);
            self.from = at;
        }
        Head::read(self.in_window(at)?, self.seed, at, self.limit)
    }

    fn in_window(&self, at: u64) -> Option<&[u8]> {
        let start = usize::try_from(at.checked_sub(self.from)?).ok()?;
        self.window.get(start..start.checked_add(HEAD)?)
    }
}

fn read_at_most(file: &File, buf: &mut [u8], at: u64) -> Option<usize> {
    let mut filled = 0;
    while let Some(rest) = buf.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match file.read_at(rest, at.checked_add(filled as u64)?) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(cause) if cause.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return None,
        }
    }
    Some(filled)
}
