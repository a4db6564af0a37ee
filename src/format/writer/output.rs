//! A file whose header precedes the data but is only known after it. The data goes into a temporary file beside the
//! target, from offset 0 on, and [`Output::assemble`] puts the header in front: in place where the file system can
//! insert space (ext4, XFS); elsewhere the kernel copies the data behind the header of a second temporary file, sharing
//! blocks where it can (Btrfs), which is why the data begins at a multiple of 4096. Data of up to 1 MiB is always
//! copied, and begins right behind the header. The data offset depends on lengths alone, so the same datasets give the
//! same file everywhere.
//!
//! An edited file is assembled from [`Piece`]s: the kernel copies what stays from the old file.
//!
//! The target is untouched until it is atomically replaced by a complete file that is on disk.

use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::Path;

use rustix::fs::{FallocateFlags, fallocate};

use super::Temporary;

/// Alignment of the data in bytes.
const ALIGN: u64 = 4096;
/// Maximum number of bytes that alignment adds to the header.
pub const ROUNDING: u64 = ALIGN - 1;
/// Data up to this length is copied, and begins right behind the header.
const SMALL: u64 = 1 << 20;

pub struct Output {
    data: Temporary,
    /// Length of the data to keep; bytes of the file beyond it are dropped.
    pub len: u64,
}

/// A part of the data of the new file.
#[derive(Clone, Copy, Debug)]
pub struct Piece<'f> {
    /// The file to copy from; None: the output's own data.
    pub from: Option<&'f File>,
    pub start: u64,
    pub len: u64,
    /// Its offset in the new data. Pieces are contiguous.
    pub at: u64,
}

impl Output {
    pub fn create(target: &Path, force: bool) -> io::Result<Output> {
        Ok(Output { data: Temporary::create(target, force)?, len: 0 })
    }

    /// The directory of the target and of temporary files.
    pub fn directory(&self) -> &Path {
        self.data.directory()
    }

    /// The file to write data to, from offset 0 on.
    pub fn file(&self) -> &File {
        &self.data.file
    }

    /// All of the data, as one piece.
    pub fn all(&self) -> [Piece<'static>; 1] {
        [Piece { from: None, start: 0, len: self.len, at: 0 }]
    }

    /// Assembles the header, `room` bytes of it, and the pieces into a file that is on disk but not yet at the target.
    pub fn assemble(self, pieces: &[Piece<'_>], header: &mut dyn Read, room: u64) -> io::Result<Temporary> {
        let Output { data, .. } = self;
        let len = data_len(pieces);
        let file = if len > SMALL && insert(&data.file, pieces, len, room)? {
            copy(pieces.iter().filter(|piece| piece.from.is_some()), room, &data.file, &data.file)?;
            data
        } else {
            let whole = data.another()?;
            copy(pieces.iter(), room, &data.file, &whole.file)?;
            whole
        };

        let mut to = &file.file;
        to.seek(SeekFrom::Start(0))?;
        let mut to = BufWriter::new(to);
        if io::copy(&mut header.take(room), &mut to)? < room {
            return Err(io::Error::other("the header has become shorter"));
        }
        to.flush()?;
        drop(to);
        file.sync()?;
        Ok(file)
    }
}

/// The total length of the pieces.
pub fn data_len(pieces: &[Piece<'_>]) -> u64 {
    pieces.last().map_or(0, |piece| piece.at + piece.len)
}

/// The offset of the data after a header of `len` bytes: a multiple of `align`.
pub fn room(header_len: u64, data_len: u64, align: u64) -> u64 {
    header_len.next_multiple_of(if data_len > SMALL { ALIGN } else { align })
}

/// Inserts `room` bytes before the data; false if a piece is not at its final offset, or the file system cannot.
fn insert(data: &File, pieces: &[Piece<'_>], len: u64, room: u64) -> io::Result<bool> {
    if pieces.iter().any(|piece| piece.from.is_none() && piece.start != piece.at) {
        return Ok(false);
    }
    data.set_len(len)?;
    Ok(fallocate(data, FallocateFlags::INSERT_RANGE, 0, room).is_ok())
}

/// Has the kernel copy pieces behind the first `room` bytes of `to`. Pieces that name no file come from `own`.
fn copy<'p, 'f: 'p>(
    pieces: impl Iterator<Item = &'p Piece<'f>>,
    room: u64,
    own: &File,
    mut to: &File,
) -> io::Result<()> {
    for Piece { from, start, len, at } in pieces {
        let mut from = from.unwrap_or(own);
        from.seek(SeekFrom::Start(*start))?;
        to.seek(SeekFrom::Start(room + at))?;
        if io::copy(&mut from.take(*len), &mut to)? < *len {
            return Err(io::Error::other("the file that is copied from has become shorter"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {

    use super::*;
    use std::fs;

    /// With `text`, padded with zeros, as the header.
    fn assemble(output: Output, pieces: &[Piece<'_>], text: &str) -> io::Result<Temporary> {
        let room = room(text.len() as u64, data_len(pieces), 1);
        output.assemble(pieces, &mut text.as_bytes().chain(io::repeat(0)), room)
    }

    fn written(len: u64, text: &str) -> Vec<u8> {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("x");
        let mut output = Output::create(&target, true).unwrap();
        let data: Vec<u8> = (0..len).map(|n| n as u8).collect();
        output.file().write_all(&data).unwrap();
        output.file().write_all(b"not to stay").unwrap();
        output.len = len;
        let pieces = output.all();
        assemble(output, &pieces, text).unwrap().replace().unwrap();
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
        let bytes = fs::read(&target).unwrap();
        assert!(bytes.ends_with(&data) && bytes.starts_with(text.as_bytes()));
        bytes[..bytes.len() - data.len()].to_vec()
    }

    #[test]
    fn small_data_stands_right_behind_the_header() {
        assert_eq!(written(SMALL, "abc"), b"abc");
        assert_eq!(written(0, "abc"), b"abc");
        assert_eq!([room(3, 0, 8), room(16, SMALL, 8), room(16, SMALL + 1, 8)], [8, 16, 4096]);
    }

    #[test]
    fn other_data_begins_at_a_block() {
        let head = written(SMALL + 1, "abc");
        assert_eq!(head.len(), 4096);
        assert!(head.starts_with(b"abc\0\0") && head[3..].iter().all(|b| *b == 0));
        assert_eq!(written(SMALL + 1, &"x".repeat(5000)).len(), 8192);
    }

    #[test]
    fn pieces_are_put_together_in_both_ways() {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("x");
        let mut old = tempfile::tempfile_in(dir.path()).unwrap();
        let noise: Vec<u8> = (0..3 * SMALL).map(|n| (n * n / 7) as u8).collect();
        old.write_all(&noise).unwrap();
        let half = SMALL / 2;
        for own_at in [3 * half, 0] {
            // At its final offset it stays; elsewhere it has to be moved.
            let output = Output::create(&target, true).unwrap();
            output.file().seek(SeekFrom::Start(3 * half)).unwrap();
            output.file().write_all(b"own").unwrap();
            let kept =
                Piece { from: Some(&old), start: 7, len: 3 * half, at: if own_at == 0 { 3 } else { 0 } };
            let own = Piece { from: None, start: 3 * half, len: 3, at: own_at };
            let mut pieces = [kept, own];
            pieces.sort_by_key(|piece| piece.at);
            assemble(output, &pieces, "abc").unwrap().replace().unwrap();
            let found = fs::read(&target).unwrap();
            let kept = &noise[7..7 + 3 * half as usize];
            let want = if own_at == 0 { [b"own", kept].concat() } else { [kept, b"own"].concat() };
            assert!(found[..4] == *b"abc\0" && found[4096..] == want);
            let long = Piece { from: Some(&old), start: 1, len: 3 * SMALL, at: 0 };
            let failed = assemble(Output::create(&target, true).unwrap(), &[long], "");
            assert!(failed.err().unwrap().to_string().contains("shorter"));
            assert!(fs::read(&target).unwrap() == found && fs::read_dir(dir.path()).unwrap().count() == 1);
        }
    }
}
