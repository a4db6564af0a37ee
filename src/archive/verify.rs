//! Checks a dataset against its description and its checksums. Everything is read once (stored bytes of a compressed
//! dataset with a checksum twice), in bounded memory.

use std::ops::ControlFlow;
use std::sync::mpsc;
use std::thread;

use sha2::{Digest, Sha256};

use super::{Dataset, Meter};
use crate::codec::crc32;
use crate::content::Content;
use crate::error::Place;
use crate::tree::{Checksum, Validate};
use crate::{Error, Result};

/// What could be compared for a dataset that is right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checked {
    /// All bytes are there, and nothing tells what they should be.
    Readable,
    /// As `Readable` or `Decoded`, and there is a checksum of an algorithm that is not known here.
    UnknownChecksum,
    /// It decoded without error; a checksum within the compressed stream was right.
    Decoded,
    /// The checksum was right.
    Checksum,
    /// The bytes were compared with a checksum, but not interpreted (Python objects).
    BytesOnly,
}

impl Dataset<'_> {
    /// Reads all of it. `passed` receives the number of stored bytes read, now and then.
    ///
    /// # Errors
    /// [`Error::Damaged`] if it is damaged, [`Error::Unsupported`] if it may be intact but cannot be decoded,
    /// [`Error::Read`] if its bytes cannot be read.
    pub fn verify(&self, passed: &dyn Fn(u64)) -> Result<Checked> {
        let verified = self.verify_data(passed).and_then(|checked| {
            self.validate().map_or(Ok(()), |validate| validate.check(self.number))?;
            Ok(checked)
        });
        self.with_violations(verified)
    }

    fn validate(&self) -> Option<&dyn Validate> {
        self.archive.abilities().validate
    }

    /// What is against the format's rules comes first.
    pub(super) fn with_violations<T>(&self, verified: Result<T>) -> Result<T> {
        let mut against = match self.violations() {
            Ok(against) => against,
            Err(error) => return verified.and(Err(error)),
        };
        if against.is_empty() {
            return verified;
        }
        if let Err(error) = verified {
            against.push(format!("and its data: {error}"));
        }
        let place = Place { file: self.archive.path().to_owned(), ..self.place() };
        Err(Error::damaged(place, against.join("; ")))
    }

    /// Fails if a dataset before it has its name.
    pub(super) fn is_first(&self) -> Result<()> {
        match self.archive.is_first(self.number as usize) {
            true => Ok(()),
            false => Err(self.wrong("there is another dataset of this name before it".into())),
        }
    }

    /// What it holds can be taken for right: no other has its name, and its checksum, if there is one, is that of its
    /// stored bytes.
    pub(crate) fn can_be_copied(&self) -> Result<()> {
        self.is_first()?;
        self.verify_checksum()
    }

    fn verify_data(&self, passed: &dyn Fn(u64)) -> Result<Checked> {
        self.is_first()?;
        let described = self.description();
        if described.is_opaque {
            return self.verify_bytes(passed);
        }
        let is_made = described.stored.is_none() && described.fault.is_none();
        let mut refused = None;
        if is_made {
            if !self.validate().is_some_and(|validate| validate.follows(self.number)) {
                self.verify_decoded(&|_| ())?;
            }
        } else if described.compression.is_none() || described.fault.is_some() {
            self.verify_stored(passed)?;
        } else {
            // Decoding is what takes the time, so that is what tells how far it is.
            match self.verify_decoded(passed) {
                // It is whole all the same, or not.
                Err(error @ Error::Unsupported { .. }) => {
                    self.remains()?.pass(&mut |_| ControlFlow::Continue(()))?;
                    refused = Some(error);
                }
                verified => verified?,
            }
            if described.checksum.as_ref().is_some_and(is_known) {
                self.verify_stored(&|_| ())?;
            }
        }
        if let Some(error) = refused {
            return Err(error);
        }
        Ok(match (&described.checksum, &described.compression) {
            (Some(checksum), _) if is_known(checksum) => Checked::Checksum,
            (Some(_), _) => Checked::UnknownChecksum,
            (None, Some(_)) => Checked::Decoded,
            (None, None) => Checked::Readable,
        })
    }

    /// The bytes of what is not interpreted, however they are stored.
    fn verify_bytes(&self, passed: &dyn Fn(u64)) -> Result<Checked> {
        match self.description().compression {
            None => self.verify_stored(passed)?,
            Some(_) => {
                self.remains()?.pass(&mut |_| ControlFlow::Continue(()))?;
                passed(self.stored_len());
            }
        }
        Ok(Checked::BytesOnly)
    }

    /// Once for all that have the same bytes.
    fn verify_decoded(&self, passed: &dyn Fn(u64)) -> Result<()> {
        let mut meter = Meter::new(self.stored_len(), self.known_len(), passed);
        match self.validate().and_then(|validate| validate.identity(self.number)) {
            Some(of) => self.archive.known.decoded(of, &self.place(), || self.verify_all_decoded(&mut meter)),
            None => self.verify_all_decoded(&mut meter),
        }
    }

    fn verify_all_decoded(&self, meter: &mut Meter<'_>) -> Result<()> {
        let mut len = 0;
        self.pieces(&mut |piece| {
            len += piece.len() as u64;
            meter.passed(piece.len() as u64);
            ControlFlow::Continue(())
        })?;
        self.expect_len(len)
    }

    /// Compares the checksum of the stored bytes, if there is one.
    ///
    /// # Errors
    /// [`Error::Damaged`] if it differs, [`Error::Read`] if the bytes cannot be read.
    pub fn verify_checksum(&self) -> Result<()> {
        match self.description().checksum.as_ref().is_some_and(is_known) {
            true => self.verify_stored(&|_| ()),
            false => Ok(()),
        }
    }

    fn verify_stored(&self, passed: &dyn Fn(u64)) -> Result<()> {
        let described = self.description();
        let stored = described.stored.clone().unwrap_or(0..0);
        let checksum = described.checksum.as_ref().filter(|checksum| is_known(checksum));
        let range = checksum.map_or(stored.clone(), |checksum| checksum.range.clone());
        let len = range.end - range.start;
        let read = |each: &mut dyn FnMut(&[u8])| {
            Content::Stored { source: self.file(), range: range.clone() }.pass(&mut |piece| {
                each(piece);
                passed(piece.len() as u64);
                ControlFlow::Continue(())
            })
        };
        let made = |sum: Sum| match len {
            SMALL.. => beside(sum, &read).map(Sum::finish),
            _ => summed(sum, &read).map(Sum::finish),
        };
        let is_own = self.other_file().is_none();
        let sum = match checksum.and_then(|checksum| Some((checksum, Sum::of(&checksum.algorithm)?))) {
            None => {
                let source = self.file();
                let is_read = self.archive.known.read(source.path(), &range, || read(&mut |_| ()))?;
                passed(if is_read { 0 } else { len });
                None
            }
            Some((checksum, sum)) if is_own => {
                let mut is_known = true;
                let found = self.archive.known.sum(&range, &checksum.algorithm, || {
                    is_known = false;
                    made(sum)
                })?;
                passed(if is_known { len } else { 0 });
                Some(found)
            }
            Some((_, sum)) => Some(made(sum)?),
        };
        // Of this dataset, whoever else has the bytes.
        self.described_well()?;
        if described.compression.is_none() {
            self.expect_len(stored.end - stored.start)?;
        }
        let (Some(Checksum { algorithm, value, .. }), Some(found)) = (checksum, sum) else { return Ok(()) };
        if found.eq_ignore_ascii_case(value) {
            return Ok(());
        }
        Err(self.wrong(format!("the {algorithm} of its stored bytes is {found}, but {value} is recorded")))
    }

    fn expect_len(&self, found: u64) -> Result<()> {
        let described = self.description();
        for needed in [described.recorded_len, described.decoded_len].into_iter().flatten() {
            if needed != found {
                return Err(
                    self.wrong(format!("decodes to {found} bytes, but its description needs {needed}"))
                );
            }
        }
        Ok(())
    }

    fn wrong(&self, problem: String) -> Error {
        let start = self.stored_range().map_or(0, |range| range.start);
        Error::damaged(self.place().at(start), problem)
    }
}

/// What is not worth a thread.
const SMALL: u64 = 1 << 20;
/// Pieces on their way to the thread that sums.
const WAITING: usize = 4;

/// Hands out all bytes, piece by piece.
type Read<'a> = &'a dyn Fn(&mut dyn FnMut(&[u8])) -> Result<()>;

fn summed(mut sum: Sum, read: Read<'_>) -> Result<Sum> {
    read(&mut |piece| sum.update(piece))?;
    Ok(sum)
}

/// Sums on a second thread, if one can be started, what `read` hands out, while it reads on.
fn beside(sum: Sum, read: Read<'_>) -> Result<Sum> {
    let mut own = sum.clone();
    thread::scope(|scope| {
        let (to_sum, full) = mpsc::sync_channel::<Vec<u8>>(WAITING);
        let (give_back, empty) = mpsc::sync_channel::<Vec<u8>>(WAITING + 2);
        let work = move || {
            for piece in full {
                own.update(&piece);
                let _ = give_back.send(piece);
            }
            own
        };
        let summing = thread::Builder::new().name("checksum".into()).spawn_scoped(scope, work);
        let Ok(summing) = summing else { return summed(sum, read) };
        read(&mut |piece| {
            let mut buffer = empty.try_recv().unwrap_or_default();
            buffer.clear();
            buffer.extend_from_slice(piece);
            // If the thread is gone, `join` reports it below.
            let _ = to_sum.send(buffer);
        })?;
        drop(to_sum);
        summing.join().map_err(|_| Error::Other("the thread that computes the checksum is gone".into()))
    })
}

/// Others cannot be computed here.
fn is_known(checksum: &Checksum) -> bool {
    Sum::of(&checksum.algorithm).is_some()
}

/// A checksum on its way.
#[derive(Clone)]
enum Sum {
    Sha256(Box<Sha256>),
    Crc32(u32),
}

impl Sum {
    fn of(algorithm: &str) -> Option<Sum> {
        match algorithm.to_ascii_lowercase().as_str() {
            "sha256" | "sha-256" => Some(Sum::Sha256(Box::default())),
            "crc32" => Some(Sum::Crc32(0)),
            _ => None,
        }
    }

    fn update(&mut self, bytes: &[u8]) {
        match self {
            Sum::Sha256(hash) => hash.update(bytes),
            Sum::Crc32(value) => *value = crc32(*value, bytes),
        }
    }

    /// In hexadecimal digits.
    fn finish(self) -> String {
        match self {
            Sum::Sha256(hash) => hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect(),
            Sum::Crc32(value) => format!("{value:08x}"),
        }
    }
}
