//! The file that is being written. The header stands before the data and is only known after it, so the data
//! goes into a temporary file beside the target from its first byte on, and [`Output::finish`] puts the header
//! before it: where the file system can insert room (ext4, XFS), there; elsewhere the kernel copies the data
//! behind the header of a second temporary file, and shares the blocks where it can (Btrfs), for which the
//! data begins at a multiple of 4096. At most a mebibyte of data is always copied, and stands right behind the
//! header. Where the data begins depends on lengths alone, so the same datasets give the same file everywhere.
//!
//! The target is not touched before it is replaced, in one step, by a file that is whole and on disk.

use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use rustix::fs::{FallocateFlags, fallocate};
use tempfile::NamedTempFile;

use crate::format::target::file::{directory, replace, resolved, temporary};

/// What the data begins at a multiple of.
const ALIGN: u64 = 4096;
/// So much longer may the header become for it.
pub const ROUNDING: u64 = ALIGN - 1;
/// Data up to this length is copied, and begins right behind the header.
const SMALL: u64 = 1 << 20;

pub struct Output {
    target: PathBuf,
    data: NamedTempFile,
    /// Bytes of the data that are to stay.
    pub len: u64,
}

impl Output {
    pub fn create(target: &Path) -> io::Result<Output> {
        let target = resolved(target)?;
        let data = temporary(&target)?;
        Ok(Output { target, data, len: 0 })
    }

    /// Where the target is, and temporary files are.
    pub fn directory(&self) -> &Path {
        directory(&self.target)
    }

    /// Where the data goes, from byte 0 on.
    pub fn file(&self) -> &File {
        self.data.as_file()
    }

    /// Writes the header, and puts the file in the target's place.
    pub fn finish(self, text: &mut dyn Read, text_len: u64) -> io::Result<()> {
        let Output { target, data, len } = self;
        let room = room(text_len, len);
        let header_len = u32::try_from(room - FIXED).map_err(|_| too_long(room - FIXED, u32::MAX.into()))?;
        data.as_file().set_len(len)?;
        let whole =
            if len > SMALL && insert(data.as_file(), room) { data } else { copy(&data, room, &target)? };

        let mut to = whole.as_file();
        to.seek(SeekFrom::Start(0))?;
        let mut to = BufWriter::new(to);
        to.write_all(super::super::MAGIC)?;
        to.write_all(&header_len.to_le_bytes())?;
        let copied = io::copy(&mut text.take(text_len), &mut to)?;
        io::copy(&mut io::repeat(b'\n').take(room - FIXED - copied), &mut to)?;
        to.flush()?;
        drop(to);
        replace(whole, &target)
    }
}

/// Magic and length.
const FIXED: u64 = 7;

/// What stands before the data.
fn room(text_len: u64, data_len: u64) -> u64 {
    let exact = FIXED + text_len;
    if data_len > SMALL { exact.next_multiple_of(ALIGN) } else { exact }
}

pub fn too_long(len: u64, limit: u64) -> io::Error {
    io::Error::other(format!(
        "the header would take {len} bytes, {limit} are the most that a RAB file can have"
    ))
}

/// Moves the data of a file up by `room` bytes; false if its file system cannot.
fn insert(file: &File, room: u64) -> bool {
    fallocate(file, FallocateFlags::INSERT_RANGE, 0, room).is_ok()
}

/// The data behind `room` bytes of a new file.
fn copy(data: &NamedTempFile, room: u64, target: &Path) -> io::Result<NamedTempFile> {
    let whole = temporary(target)?;
    let (mut from, mut to) = (data.as_file(), whole.as_file());
    from.seek(SeekFrom::Start(0))?;
    to.seek(SeekFrom::Start(room))?;
    io::copy(&mut from, &mut to)?;
    Ok(whole)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn written(len: u64, text: &str) -> Vec<u8> {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("x");
        let mut output = Output::create(&target).unwrap();
        let data: Vec<u8> = (0..len).map(|n| n as u8).collect();
        output.file().write_all(&data).unwrap();
        output.file().write_all(b"not to stay").unwrap();
        output.len = len;
        output.finish(&mut text.as_bytes(), text.len() as u64).unwrap();
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
        let bytes = fs::read(&target).unwrap();
        assert!(bytes.ends_with(&data) && bytes.starts_with(b"rab"));
        bytes[..bytes.len() - data.len()].to_vec()
    }

    #[test]
    fn small_data_stands_right_behind_the_header() {
        assert_eq!(written(SMALL, "abc"), b"rab\x03\0\0\0abc");
        assert_eq!(written(0, "abc"), b"rab\x03\0\0\0abc");
    }

    #[test]
    fn other_data_begins_at_a_block() {
        let head = written(SMALL + 1, "abc");
        assert_eq!(head.len(), 4096);
        assert!(head.starts_with(b"rab\xF9\x0F\0\0abc\n\n") && head[10..].iter().all(|b| *b == b'\n'));
        assert_eq!(written(SMALL + 1, &"x".repeat(5000)).len(), 8192);
    }

    #[test]
    fn inserting_and_copying_come_to_the_same() {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("x");
        let data = temporary(&target).unwrap();
        data.as_file().write_all(b"0123456789").unwrap();
        let copied = fs::read(copy(&data, 4096, &target).unwrap()).unwrap();
        assert_eq!(copied, [&[0; 4096][..], b"0123456789"].concat());
        if insert(data.as_file(), 4096) {
            assert_eq!(fs::read(&data).unwrap(), copied);
        }
    }
}
