//! The index of one container. Any number of threads ask and put at once: whoever asks waits for no disk but
//! its own reading, and who puts waits only for others who put.
//!
//! The first mount that puts something locks the file and writes; other mounts of the container read it as it
//! was when they first asked.

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

/// After so much growth all index files are held against the limit.
const GROWTH: u64 = 1 << 20;
/// Less is not worth a new file.
const MIN_DEAD: u64 = 1 << 20;

pub struct IndexFile {
    directory: Directory,
    path: PathBuf,
    key: Key,
    /// Read when first asked for. None: there is no file to believe.
    known: OnceLock<Mutex<Option<Known>>>,
    writer: Mutex<Writer>,
    /// Something was wrong, and said.
    pub(super) complained: AtomicBool,
}

#[derive(Clone)]
struct Known {
    file: Arc<File>,
    table: Table,
}

enum Writer {
    /// Nothing was put yet.
    Waiting,
    /// `known` is a file that we have locked. `checked` is its length when the limit was last looked at.
    Appending { checked: u64 },
    /// It is another's, or writing failed.
    Off,
}

impl IndexFile {
    pub fn new(directory: Directory, key: Key) -> IndexFile {
        let path = directory.path.join(key.file_name());
        let (known, writer) = (OnceLock::new(), Mutex::new(Writer::Waiting));
        IndexFile { directory, path, key, known, writer, complained: AtomicBool::new(false) }
    }

    /// What was put last for the stored range `start..end`.
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
            // Of the same file only: offsets mean nothing in a later one.
            if let Some(known) = self.known().as_mut().filter(|known| Arc::ptr_eq(&known.file, &file)) {
                known.table.forget(range, entry);
            }
        }
        payload
    }

    /// Keeps this for the stored range `start..end`, if it can.
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
        let known = match directory::open(&self.path, false) {
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => return None,
            Err(cause) => Err(cause.to_string()),
            Ok(file) => self.read(file),
        };
        let known = known.inspect_err(|why| self.complain(&format!("{why}; it is ignored"))).ok()?;
        // For whoever looks for what was used longest ago.
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

    /// Becomes the one mount that writes, or not.
    fn begin(&self) -> Writer {
        // Read by now, so that what is wrong with it is in the log before it is made anew.
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

    /// The file, locked and without a torn end; made anew where it is missing or not to be believed. None if
    /// another mount has it.
    fn claim(&self) -> io::Result<Option<Known>> {
        self.directory.create()?;
        // Again if it was replaced or dropped between opening and locking.
        for _ in 0..10 {
            let Ok(file) = directory::open(&self.path, true) else {
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
            // A lower limit than last time.
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

    /// The file, and where in it the record goes. Only who holds `writer` changes it, so that its end stays
    /// where it is while we write and readers go on.
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

    /// After an append: drops old files of other containers, and the dead records of this one.
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

    /// Leaves the replaced records behind; the length of the new file.
    fn rewrite(&self) -> io::Result<u64> {
        let Some(old) = self.known().clone() else { return Ok(0) };
        let new = Temporary::new(&self.path)?;
        let table = old.table.copy(&old.file, &new.file, &self.key)?;
        let (file, end) = (Arc::new(new.keep()?), table.end);
        *self.known() = Some(Known { file, table });
        Ok(end)
    }

    /// A directory that is not private is a danger. One that cannot be had is quite usual: a user without a
    /// home, a read-only one.
    fn give_up(&self, cause: &io::Error) {
        let level = if cause.raw_os_error().is_none() { Level::Warn } else { Level::Info };
        self.say(level, &self.directory.path, &format!("{cause}; no index is read or kept in it"));
    }

    fn complain(&self, text: &str) {
        self.say(Level::Warn, &self.path, text);
    }

    /// Once for each container: the rest is for who debugs.
    fn say(&self, level: Level, path: &Path, text: &str) {
        let said = self.complained.swap(true, Ordering::Relaxed);
        log::log!(if said { Level::Debug } else { level }, "index {}: {text}", path.display());
    }
}

impl Drop for IndexFile {
    /// Closing alone would do, but for a child that was forked a moment ago: it holds the file until its exec.
    fn drop(&mut self) {
        if let Writer::Appending { .. } = *self.writer.lock()
            && let Some(known) = self.known().as_ref()
        {
            directory::unlock(&known.file);
        }
    }
}
