//! Writes stored bytes to the file. A second thread hashes them while this one reads (and compresses) the next, so
//! that with two processors the checksum costs no time. A few buffers circulate between the two, so memory use is
//! constant.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Read};
use std::num::NonZeroU64;
use std::os::unix::fs::FileExt;
use std::sync::mpsc;
use std::thread;

use rustix::fs::{Advice, fadvise};
use sha2::{Digest, Sha256};

/// Buffer size in bytes. Data that fits into one buffer is not worth a thread.
const PIECE: usize = 256 << 10;
const BUFFERS: usize = 4;
/// Writeback is started every this many bytes.
const STRETCH: u64 = 32 << 20;

pub struct Stored {
    pub len: u64,
    /// In hexadecimal.
    pub sha256: String,
}

/// Which side failed.
pub enum Failure {
    Input(io::Error),
    Output(io::Error),
}

/// Writes all of `input` to `file` at offset `start`.
pub fn store(file: &File, start: u64, input: &mut dyn Read) -> Result<Stored, Failure> {
    let mut first = Vec::new();
    fill(&mut first, input)?;
    match first.len() {
        PIECE => beside(file, start, first, input),
        _ => alone(file, start, first, input),
    }
}

/// Like [`store`] on one thread; `piece` has the first bytes.
fn alone(file: &File, start: u64, mut piece: Vec<u8>, input: &mut dyn Read) -> Result<Stored, Failure> {
    let (mut hash, mut len) = (Sha256::new(), 0);
    loop {
        file.write_all_at(&piece, start + len).map_err(Failure::Output)?;
        hash.update(&piece);
        len += piece.len() as u64;
        if piece.len() < PIECE {
            return Ok(Stored { len, sha256: hex(&hash.finalize()) });
        }
        fill(&mut piece, input)?;
    }
}

/// Like [`alone`], with a second thread if one can be started.
fn beside(file: &File, start: u64, first: Vec<u8>, input: &mut dyn Read) -> Result<Stored, Failure> {
    let gone = || Failure::Output(io::Error::other("the thread that computes the checksum is gone"));
    thread::scope(|scope| {
        let (to_hash, full) = mpsc::sync_channel::<Vec<u8>>(BUFFERS);
        let (give_back, empty) = mpsc::sync_channel(BUFFERS);
        for _ in 1..BUFFERS {
            give_back.send(Vec::new()).map_err(|_| gone())?;
        }
        let hash = move || {
            let mut hash = Sha256::new();
            for piece in full {
                hash.update(&piece);
                // After the last piece nobody receives buffers any more.
                let _ = give_back.send(piece);
            }
            hash.finalize()
        };
        let hashing = thread::Builder::new().name("checksum".into()).spawn_scoped(scope, hash);
        let Ok(hashing) = hashing else { return alone(file, start, first, input) };

        let (mut piece, mut len) = (first, 0);
        loop {
            file.write_all_at(&piece, start + len).map_err(Failure::Output)?;
            len += piece.len() as u64;
            if len.is_multiple_of(STRETCH) {
                start_writing(file, start + len - STRETCH);
            }
            let is_last = piece.len() < PIECE;
            to_hash.send(piece).map_err(|_| gone())?;
            if is_last {
                break;
            }
            piece = empty.recv().map_err(|_| gone())?;
            fill(&mut piece, input)?;
        }
        drop(to_hash);
        let sum = hashing.join().map_err(|_| gone())?;
        Ok(Stored { len, sha256: hex(&sum) })
    })
}

/// Starts writeback of a stretch while the next ones are read, so that the final sync is short. The kernel also drops
/// clean pages of it, which is harmless: they will not be read soon.
fn start_writing(file: &File, at: u64) {
    // Only a hint; failure does no harm.
    let _ = fadvise(file, at, NonZeroU64::new(STRETCH), Advice::DontNeed);
}

/// Fills a buffer with the next bytes; it is shorter only at the end.
fn fill(piece: &mut Vec<u8>, input: &mut dyn Read) -> Result<(), Failure> {
    if piece.len() < PIECE {
        piece.clear();
        return input.take(PIECE as u64).read_to_end(piece).map(drop).map_err(Failure::Input);
    }
    // A reused buffer can be filled with large reads; `read_to_end` would start with small ones.
    let mut len = 0;
    while let Some(room) = piece.get_mut(len..).filter(|room| !room.is_empty()) {
        match input.read(room) {
            Ok(0) => break,
            Ok(count) => len += count,
            Err(cause) if cause.kind() == io::ErrorKind::Interrupted => {}
            Err(cause) => return Err(Failure::Input(cause)),
        }
    }
    piece.truncate(len);
    Ok(())
}

fn hex(sum: &[u8]) -> String {
    sum.iter().fold(String::new(), |mut text, byte| {
        // writing to a String cannot fail
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_length_around_the_size_of_a_buffer() {
        for len in [0, 1, PIECE - 1, PIECE, PIECE + 1, 7 * PIECE, 9 * PIECE + 5] {
            let bytes: Vec<u8> = (0..len).map(|n| (n * 7 / 8) as u8).collect();
            let file = tempfile::tempfile().unwrap();
            let Ok(stored) = store(&file, 3, &mut bytes.as_slice()) else { panic!("{len}") };
            assert_eq!(stored.len, len as u64);
            assert_eq!(stored.sha256, hex(&Sha256::digest(&bytes)), "{len}");
            let (mut first, mut input) = (Vec::new(), bytes.as_slice());
            assert!(fill(&mut first, &mut input).is_ok());
            let Ok(same) = alone(&tempfile::tempfile().unwrap(), 3, first, &mut input) else {
                panic!("{len}")
            };
            assert_eq!((same.len, same.sha256), (stored.len, stored.sha256), "{len}");
            let mut found = vec![0; len];
            file.read_exact_at(&mut found, 3).unwrap();
            assert!(
                found == bytes && file.metadata().unwrap().len() == if len == 0 { 0 } else { len as u64 + 3 }
            );
        }
    }

    #[test]
    fn the_side_that_failed_is_named() {
        struct Broken;
        impl Read for Broken {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::Error::other("torn"))
            }
        }
        let file = tempfile::tempfile().unwrap();
        let long = vec![1; 3 * PIECE];
        assert!(matches!(store(&file, 0, &mut Broken), Err(Failure::Input(_))));
        assert!(matches!(store(&file, 0, &mut long.chain(Broken)), Err(Failure::Input(_))));
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        assert!(matches!(store(&full, 0, &mut long.as_slice()), Err(Failure::Output(_))));
    }
}
