//! Is a dataset what its description and its checksums say? Everything is read once (stored bytes of a
//! compressed dataset with a checksum twice), in bounded memory.

use std::ops::ControlFlow;

use sha2::{Digest, Sha256};

use super::Dataset;
use crate::codec::Check;
use crate::tree::Checksum;
use crate::{Error, Result};

/// What could be compared for a dataset that is right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checked {
    /// All bytes are there, and nothing tells what they should be.
    Readable,
    /// The compressed stream's own check value was right.
    Decoded,
    /// The checksum was right.
    Checksum,
}

impl Dataset<'_> {
    /// Reads all of it. `passed` is told how many stored bytes were read, now and then.
    pub fn verify(&self, passed: &mut dyn FnMut(u64)) -> Result<Checked> {
        let described = self.description();
        if described.compression.is_none() || described.fault.is_some() {
            self.verify_stored(passed)?;
        } else {
            self.verify_decoded()?;
            match described.checksum.is_some() {
                true => self.verify_stored(passed)?,
                false => passed(self.stored_len()),
            }
        }
        let known = described.checksum.as_ref().is_some_and(is_known);
        Ok(match (known, &described.compression) {
            (true, _) => Checked::Checksum,
            (false, Some(_)) => Checked::Decoded,
            (false, None) => Checked::Readable,
        })
    }

    fn verify_decoded(&self) -> Result<()> {
        let mut len = 0;
        self.pieces(&mut |piece| {
            len += piece.len() as u64;
            ControlFlow::Continue(())
        })?;
        self.expect_len(len)
    }

    fn verify_stored(&self, passed: &mut dyn FnMut(u64)) -> Result<()> {
        let checksum = self.description().checksum.as_ref().filter(|checksum| is_known(checksum));
        let (mut len, mut hash) = (0, checksum.and_then(Hash::of));
        self.stored_pieces(&mut |piece| {
            len += piece.len() as u64;
            if let Some(hash) = &mut hash {
                hash.update(piece);
            }
            passed(piece.len() as u64);
            ControlFlow::Continue(())
        })?;
        if self.description().compression.is_none() {
            self.expect_len(len)?;
        }
        let (Some(checksum), Some(hash)) = (checksum, hash) else { return Ok(()) };
        let found = hash.finish();
        if found.eq_ignore_ascii_case(&checksum.value) {
            return Ok(());
        }
        let Checksum { algorithm, value } = checksum;
        Err(self.wrong(format!("the {algorithm} of its stored bytes is {found}, recorded is {value}")))
    }

    fn expect_len(&self, found: u64) -> Result<()> {
        let described = self.description();
        for needed in [described.recorded_len, described.decoded_len].into_iter().flatten() {
            if needed != found {
                return Err(self.wrong(format!("decodes to {found} bytes, its description needs {needed}")));
            }
        }
        Ok(())
    }

    fn wrong(&self, problem: String) -> Error {
        let start = self.stored_range().map_or(0, |range| range.start);
        Error::damaged(self.place().at(start), problem)
    }
}

/// Others cannot be computed here.
fn is_known(checksum: &Checksum) -> bool {
    Hash::of(checksum).is_some()
}

/// The algorithms of checksums that can be computed here.
enum Hash {
    Sha256(Sha256),
    Crc32(u32),
}

impl Hash {
    fn of(checksum: &Checksum) -> Option<Hash> {
        match checksum.algorithm.to_ascii_lowercase().as_str() {
            "sha256" | "sha-256" => Some(Hash::Sha256(Sha256::new())),
            "crc32" => Some(Hash::Crc32(Check::Crc.of_nothing())),
            _ => None,
        }
    }

    fn update(&mut self, bytes: &[u8]) {
        match self {
            Hash::Sha256(hash) => hash.update(bytes),
            Hash::Crc32(value) => *value = Check::Crc.update(*value, bytes),
        }
    }

    /// In hexadecimal digits.
    fn finish(self) -> String {
        match self {
            Hash::Sha256(hash) => hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect(),
            Hash::Crc32(value) => format!("{value:08x}"),
        }
    }
}
