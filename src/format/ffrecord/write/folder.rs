//! Writes a directory as a packed folder: its files become records, depth first and sorted by name, followed by the
//! index, a pickle of the names that Python 3.8 and later can read. Symbolic links are followed; modes, times and
//! owners are not kept.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::{Passed, Writer, input};
use crate::error::Place;
use crate::format::ffrecord::folder::{MAGIC, MAX_DEPTH};
use crate::{Error, Result};

/// Packs the contents of the directory `from` into a packed folder at `target`, which is replaced only with `force`.
/// Returns the number of files. On failure nothing is left behind.
pub fn pack_folder(target: &Path, from: &Path, force: bool, passed: Passed<'_>) -> Result<u64> {
    refuse_inside(target, from)?;
    let mut walk = Walk { files: Vec::new(), index: Pickle::new(), above: Vec::new() };
    walk.directory(from)?;
    let Walk { files, index, .. } = walk;
    let mut writer = Writer::new(target, Some(files.len() as u64 + 1), force)?;
    for path in &files {
        let mut file = fs::File::open(path).map_err(|cause| Error::open(path, cause))?;
        input::add(&mut writer, path, &mut file, passed)?;
    }
    writer.add(&index.finish())?;
    writer.finish()?;
    Ok(files.len() as u64)
}

fn refuse_inside(target: &Path, from: &Path) -> Result<()> {
    let outer = from.canonicalize().map_err(|cause| Error::open(from, cause))?;
    let parent = crate::format::writer::directory(target);
    let inner = parent.canonicalize().map_err(|cause| Error::write(Place::file(target), cause))?;
    if inner.starts_with(&outer) {
        let (target, from) = (target.display(), from.display());
        return Err(Error::Usage(format!(
            "{target}: lies inside {from}, which is packed: write it elsewhere"
        )));
    }
    Ok(())
}

struct Walk {
    /// In record order.
    files: Vec<PathBuf>,
    index: Pickle,
    /// Device and inode of the directories above, to detect symbolic link loops.
    above: Vec<(u64, u64)>,
}

impl Walk {
    fn directory(&mut self, path: &Path) -> Result<()> {
        let failed = |cause| Error::open(path, cause);
        let meta = fs::metadata(path).map_err(failed)?;
        let own = (meta.dev(), meta.ino());
        if self.above.contains(&own) {
            return Err(failed(io::Error::other("it leads back to a directory above it by a symbolic link")));
        }
        if self.above.len() > MAX_DEPTH {
            return Err(failed(io::Error::other(format!("it is more than {MAX_DEPTH} directories deep"))));
        }
        self.above.push(own);
        let entries = fs::read_dir(path).map_err(failed)?;
        let names = entries.map(|entry| entry.map(|entry| entry.file_name()));
        let mut names: Vec<OsString> = names.collect::<io::Result<_>>().map_err(failed)?;
        // By code point, as Python sorts.
        names.sort_by_cached_key(|name| surrogates(name.as_bytes()));
        self.index.open();
        for batch in names.chunks(BATCH) {
            self.index.mark();
            for name in batch {
                self.index.name(name.as_bytes());
                self.entry(&path.join(name))?;
            }
            self.index.set();
        }
        self.above.pop();
        Ok(())
    }

    fn entry(&mut self, path: &Path) -> Result<()> {
        let meta = fs::metadata(path).map_err(|cause| Error::open(path, cause))?;
        if meta.is_dir() {
            return self.directory(path);
        }
        if !meta.is_file() {
            return Err(Error::open(path, io::Error::other("it is neither a file nor a directory")));
        }
        self.index.number(self.files.len() as u64);
        self.files.push(path.to_owned());
        Ok(())
    }
}

/// Python adds this many names to a directory at a time.
const BATCH: usize = 1000;

/// The index record: the magic number, and a protocol 4 pickle in one frame.
struct Pickle {
    body: Vec<u8>,
    has_class: bool,
}

impl Pickle {
    fn new() -> Pickle {
        Pickle { body: Vec::new(), has_class: false }
    }

    /// Begins a directory. The class is spelled out once, then fetched from the memo.
    fn open(&mut self) {
        if self.has_class {
            self.body.extend(b"h\0");
        } else {
            self.body.extend(b"\x8c\x0bcollections\x8c\x0bOrderedDict\x93\x94");
            self.has_class = true;
        }
        self.body.extend(b")R");
    }

    fn mark(&mut self) {
        self.body.push(b'(');
    }

    /// Adds the items after the mark to the directory before it.
    fn set(&mut self) {
        self.body.push(b'u');
    }

    fn name(&mut self, name: &[u8]) {
        let text = surrogates(name);
        match u8::try_from(text.len()) {
            Ok(len) => self.body.extend([0x8c, len]),
            Err(_) => {
                self.body.push(b'X');
                self.body.extend((text.len() as u32).to_le_bytes());
            }
        }
        self.body.extend(text);
    }

    fn number(&mut self, number: u64) {
        let [a, b, c, d, ..] = number.to_le_bytes();
        match number {
            0..=0xFF => self.body.extend([b'K', a]),
            0x100..=0xFFFF => self.body.extend([b'M', a, b]),
            0x1_0000..=0x7FFF_FFFF => self.body.extend([b'J', a, b, c, d]),
            _ => {
                self.body.extend([0x8a, 8]);
                self.body.extend(number.to_le_bytes());
            }
        }
    }

    fn finish(mut self) -> Vec<u8> {
        self.body.push(b'.');
        let mut index = MAGIC.to_vec();
        index.extend(b"\x80\x04\x95");
        index.extend((self.body.len() as u64).to_le_bytes());
        index.extend(self.body);
        index
    }
}

/// A file name as in Python: bytes that are not UTF-8 become surrogates U+DC80 to U+DCFF.
pub fn surrogates(name: &[u8]) -> Vec<u8> {
    let mut text = Vec::with_capacity(name.len());
    for chunk in name.utf8_chunks() {
        text.extend_from_slice(chunk.valid().as_bytes());
        for byte in chunk.invalid() {
            text.extend([0xED, 0xB0 | byte >> 6, 0x80 | byte & 0x3F]);
        }
    }
    text
}
