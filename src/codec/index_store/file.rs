//! The index file of one container. Any number of threads may get and put concurrently: a get waits only for its own
//! disk reads, a put only for other puts.
//!
//! The first mount that puts something locks the file and writes it; other mounts of the container see the file as it
//! was at their first get.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::SystemTime;

use log::Level;
use parking_lot::{Mutex, MutexGuard};

use super::Key;
use super::directory::{self, Directory, Temporary};
use super::layout::{Head, MAX_PAYLOAD};
use super::table::{self, MAX_RECORDS, Table};
use crate::private;

/// The limit on all index files is checked each time the file has grown by this many bytes.
const GROWTH: u64 = 1 << 20;
/// Minimum bytes of replaced records worth rewriting the file for.
const MIN_DEAD: u64 = 1 << 20;

pub struct IndexFile {
    directory: Directory,
    path: PathBuf,
    key: Key,
    /// Read at the first get. None: there is no valid file.
    known: OnceLock<Mutex<Option<Known>>>,
    writer: Mutex<Writer>,
    /// A problem was logged already.
    pub(super) complained: AtomicBool,
}

#[derive(Clone)]
struct Known {
    file: Arc<File>,
    table: Table,
}

enum Writer {
    /// Nothing has been put yet.
    Waiting,
    /// `known` is a file that we have locked; `checked` is its length when the limit was last checked.
    Appending { checked: u64 },
    /// Another mount writes it, or writing failed.
    Off,
}

impl IndexFile {
    pub fn new(directory: Directory, key: Key) -> IndexFile {
        let path = directory.path.join(key.file_name());
        let (known, writer) = (OnceLock::new(), Mutex::new(Writer::Waiting));
        IndexFile { directory, path, key, known, writer, complained: AtomicBool::new(false) }
    }

    /// The last payload put for the stored range `start..end`.
    pub fn get(&self, start: u64, end: u64) -> Option<Vec<u8>> {
        let range = (start, end);
        let (file, entry) = {
            let known = self.known();
            let known = known.as_ref()?;
            (Arc::clone(&known.file), known.table.get(range)?)
        };
        let payload = entry.payload(&file, &self.key, range);
        if payload.is_none() {
            self.complain(&format!("the record of bytes {start}..{end} is damaged and ignored"));
            // Only in the same file: offsets are meaningless in a rewritten one.
            if let Some(known) = self.known().as_mut().filter(|known| Arc::ptr_eq(&known.file, &file)) {
                known.table.forget(range, entry);
            }
        }
        payload
    }

    /// Stores the payload for the stored range `start..end`, if possible.
    pub fn put(&self, start: u64, end: u64, payload: &[u8]) {
        if payload.len() as u64 > u64::from(MAX_PAYLOAD) {
            let text =
                format!("{} bytes for {start}..{end} are too many, the limit is 256 MiB", payload.len());
            return self.complain(&text);
        }
        let Some(head) = Head::new(start, end, payload, self.key.len) else {
            return log::debug!("{}: {start}..{end} is not a range of the container", self.path.display());
        };
        let mut writer = self.writer.lock();
        if let Writer::Waiting = *writer {
            *writer = self.begin();
        }
        if let Writer::Appending { checked } = &mut *writer
            && let Err(cause) = self.append(&head, payload).and_then(|()| self.tidy(checked))
        {
            self.complain(&format!("{cause}; nothing more is kept in it"));
            *writer = Writer::Off;
        }
    }

    #[cfg(test)]
    pub(super) fn written(&self) -> Option<Arc<File>> {
        self.known().as_ref().map(|known| Arc::clone(&known.file))
    }

    fn known(&self) -> MutexGuard<'_, Option<Known>> {
        self.known.get_or_init(|| Mutex::new(self.load())).lock()
    }

    /// Reads what an earlier mount left.
    fn load(&self) -> Option<Known> {
        match self.directory.check() {
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => return None,
            Err(cause) => {
                self.give_up(&cause);
                return None;
            }
            Ok(()) => {}
        }
        let known = match private::open(&self.path, false) {
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => return None,
            Err(cause) => Err(cause.to_string()),
            Ok(file) => self.read(file),
        };
        let known = known.inspect_err(|why| self.complain(&format!("{why}; it is ignored"))).ok()?;
        // The mtime records the last use, for eviction.
        let _ = known.file.set_modified(SystemTime::now());
        Some(known)
    }

    fn read(&self, file: File) -> Result<Known, String> {
        let len = file.metadata().map_err(|cause| cause.to_string())?.len();
        let table = Table::read(&file, len, &self.key)?;
        if table.end < len {
            let text = format!("the bytes from {} on are not a whole record, and are ignored", table.end);
            self.complain(&text);
        }
        Ok(Known { file: Arc::new(file), table })
    }

    /// Tries to become the one mount that writes.
    fn begin(&self) -> Writer {
        // Read it first, so that problems are logged before it is replaced.
        drop(self.known());
        match self.claim() {
            Ok(Some(known)) => {
                let checked = known.table.end;
                *self.known() = Some(known);
                self.directory.remove_left_over();
                self.directory.shrink(&self.path);
                Writer::Appending { checked }
            }
            Ok(None) => {
                log::debug!("{}: another mount is writing it", self.path.display());
                Writer::Off
            }
            Err(cause) => {
                self.give_up(&cause);
                Writer::Off
            }
        }
    }

    /// The file, locked and without a torn end; recreated if missing or invalid. None if another mount has it.
    fn claim(&self) -> io::Result<Option<Known>> {
        self.directory.create()?;
        // Retry if it was replaced or removed between opening and locking.
        for _ in 0..10 {
            let Ok(file) = private::open(&self.path, true) else {
                return self.create().map(Some);
            };
            if !directory::lock(&file) {
                return Ok(None);
            }
            if directory::is_at(&file, &self.path) {
                return self.own(file).map(Some);
            }
        }
        Ok(None)
    }

    fn own(&self, file: File) -> io::Result<Known> {
        match self.read(file) {
            // The limit is lower than last time.
            Ok(known) if known.table.end > self.directory.limit => self.create(),
            Ok(known) => known.file.set_len(known.table.end).map(|()| known),
            Err(_) => self.create(),
        }
    }

    fn create(&self) -> io::Result<Known> {
        let new = Temporary::new(&self.path)?;
        table::write_header(&new.file, &self.key)?;
        Ok(Known { file: Arc::new(new.keep()?), table: Table::new() })
    }

    fn append(&self, head: &Head, payload: &[u8]) -> io::Result<()> {
        let Some((file, at)) = self.room_for(head)? else { return Ok(()) };
        if let Err(cause) = table::write(&file, &self.key, at, head, payload) {
            let _ = file.set_len(at);
            return Err(cause);
        }
        if let Some(known) = self.known().as_mut() {
            known.table.insert(head);
        }
        Ok(())
    }

    /// The file and the offset for the record. Only the holder of `writer` changes the file, so its end stays put while
    /// we write and others read.
    fn room_for(&self, head: &Head) -> io::Result<Option<(Arc<File>, u64)>> {
        let known = self.known();
        let Some(known) = known.as_ref() else { return Ok(None) };
        let limit = self.directory.limit;
        if known.table.end.saturating_add(head.size()) > limit {
            return Err(io::Error::other(format!("it is at the limit of {limit} bytes")));
        }
        if !known.table.has_room() {
            return Err(io::Error::other(format!("it holds {MAX_RECORDS} records already")));
        }
        Ok(Some((Arc::clone(&known.file), known.table.end)))
    }

    /// After an append: removes old files of other containers, and replaced records of this one.
    fn tidy(&self, checked: &mut u64) -> io::Result<()> {
        let (end, dead) = self.known().as_ref().map_or((0, 0), |known| (known.table.end, known.table.dead));
        if end.saturating_sub(*checked) > GROWTH {
            *checked = end;
            if !self.directory.shrink(&self.path) {
                return Err(io::Error::other("all indexes together are at the limit"));
            }
        }
        if dead > MIN_DEAD && dead > end / 2 {
            *checked = self.rewrite()?.min(*checked);
        }
        Ok(())
    }

    /// Rewrites the file without replaced records; returns its new length.
    fn rewrite(&self) -> io::Result<u64> {
        let Some(old) = self.known().clone() else { return Ok(0) };
        let new = Temporary::new(&self.path)?;
        let table = old.table.copy(&old.file, &new.file, &self.key)?;
        let (file, end) = (Arc::new(new.keep()?), table.end);
        *self.known() = Some(Known { file, table });
        Ok(end)
    }

    /// A directory that is not private is a danger. One that cannot be created is common: no home, or a read-only one.
    fn give_up(&self, cause: &io::Error) {
        let level = if cause.raw_os_error().is_none() { Level::Warn } else { Level::Info };
        self.say(level, &self.directory.path, &format!("{cause}; no index is read or kept in it"));
    }

    fn complain(&self, text: &str) {
        self.say(Level::Warn, &self.path, text);
    }

    /// Logs at `level` once per container, then only at debug level.
    fn say(&self, level: Level, path: &Path, text: &str) {
        let was_reported = self.complained.swap(true, Ordering::Relaxed);
        log::log!(if was_reported { Level::Debug } else { level }, "index {}: {text}", path.display());
    }
}

impl Drop for IndexFile {
    /// Closing alone is not enough: a child forked a moment ago holds the file open until its exec.
    fn drop(&mut self) {
        if let Writer::Appending { .. } = *self.writer.lock()
            && let Some(known) = self.known().as_ref()
        {
            directory::unlock(&known.file);
        }
    }
}
