//! A file whose header stands before the data and is only known after it. The data goes into a temporary file beside
//! the target from its first byte on, and [`Output::assemble`] puts the header before it: where the file system can insert room (ext4, XFS), there; elsewhere the kernel copies the data
//! behind the header of a second temporary file, and shares the blocks where it can (Btrfs), for which the
//! data begins at a multiple of 4096. At most a mebibyte of data is always copied, and stands right behind the
//! header. Where the data begins depends on lengths alone, so the same datasets give the same file everywhere.
//!
//! An edited file is put together from [`Piece`]s: the kernel copies what stays from the old file.
//!
//! The target is not touched before it is replaced, in one step, by a file that is whole and on disk.

use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::Path;

use rustix::fs::{FallocateFlags, fallocate};

use super::Temporary;

/// What the data begins at a multiple of.
const ALIGN: u64 = 4096;
/// So much longer may the header become for it.
pub const ROUNDING: u64 = ALIGN - 1;
/// Data up to this length is copied, and begins right behind the header.
const SMALL: u64 = 1 << 20;

pub struct Output {
    data: Temporary,
    /// Bytes of the data that are to stay.
    pub len: u64,
}

/// A part of the data of the new file.
#[derive(Clone, Copy, Debug)]
pub struct Piece<'f> {
    /// The file that has it; None: the output's own.
    pub from: Option<&'f File>,
    pub start: u64,
    pub len: u64,
    /// Where it goes in the data. The pieces follow each other.
    pub at: u64,
}

impl Output {
    pub fn create(target: &Path, force: bool) -> io::Result<Output> {
        Ok(Output { data: Temporary::create(target, force)?, len: 0 })
    }

    /// Where the target is, and temporary files are.
    pub fn directory(&self) -> &Path {
        self.data.directory()
    }

    /// A file that comes to the target from now on is not replaced.
    pub fn without_force(&mut self) {
        self.data.without_force();
    }

    /// Where the data goes, from byte 0 on.
    pub fn file(&self) -> &File {
        &self.data.file
    }

    /// The one piece that is all of the data.
    pub fn all(&self) -> [Piece<'static>; 1] {
        [Piece { from: None, start: 0, len: self.len, at: 0 }]
    }

    /// Puts the header, of which there are `room` bytes, and all the data together, on disk, and not in the target's
    /// place yet.
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

/// The bytes of data of all pieces.
pub fn data_len(pieces: &[Piece<'_>]) -> u64 {
    pieces.last().map_or(0, |piece| piece.at + piece.len)
}

/// The offset of the data after a header of `len` bytes: a multiple of `align`.
pub fn room(header_len: u64, data_len: u64, align: u64) -> u64 {
    header_len.next_multiple_of(if data_len > SMALL { ALIGN } else { align })
}

/// Moves the data up by `room` bytes; false if some of it is not where it has to be, or if the file system
/// cannot.
fn insert(data: &File, pieces: &[Piece<'_>], len: u64, room: u64) -> io::Result<bool> {
    if pieces.iter().any(|piece| piece.from.is_none() && piece.start != piece.at) {
        return Ok(false);
    }
    data.set_len(len)?;
    Ok(fallocate(data, FallocateFlags::INSERT_RANGE, 0, room).is_ok())
}

/// Has the kernel copy pieces behind `room` bytes of a file; `own` is where those are that tell no other file.
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

    /// `text` and zeros.
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
            // Where it has to be it is left; elsewhere it has to be moved.
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
