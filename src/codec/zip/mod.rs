//! Reads ZIP files: each member's record in the directory at the end, and the location of its data. All numbers are
//! little-endian.
//! ```text
//! for each member:
//!   30 + n + m   local header, name, extra field
//!                data: as it is or as a bare deflate stream
//! the directory:
//!   46 + n + m + k for each member: sizes, CRC-32, where its local header is
//!   22 + c (ZIP64: 56 + 20 before it): where the directory is; comment
//! ```
//! Names are keys, never file system paths. Values in both the directory and a local header must agree, and no member
//! may overlap the next.

mod directory;
mod local;
pub mod names;

pub use directory::read;
pub use local::{WINDOW, Window, find};

use super::Wrapper;
use crate::Error;
use crate::error::Place;

/// Signature of a local header.
pub const LOCAL: [u8; 4] = *b"PK\x03\x04";
/// Signature of the end of the directory, which is all that an archive without members has.
pub const END: [u8; 4] = *b"PK\x05\x06";
/// Compression methods.
pub const STORED: u16 = 0;
pub const DEFLATED: u16 = 8;
/// The length of a local header without name and extra field.
pub const LOCAL_LEN: usize = 30;

/// Flags of encryption: of the data, strong, and of the directory (which masks local headers).
const ENCRYPTED: u16 = 1 | 1 << 6 | 1 << 13;
/// The data is a patch for other data.
const PATCH: u16 = 1 << 5;

/// A member's entry in the directory.
#[derive(Clone, Debug)]
pub struct Record {
    /// Offset of its local header.
    pub header: u64,
    /// Offset of the next structure in the file, before which the member must end.
    pub limit: u64,
    /// Bytes of its data, in the file and decoded.
    pub stored_len: u64,
    pub len: u64,
    pub crc: u32,
    pub method: u16,
    pub flags: u16,
}

impl Record {
    pub fn is_deflated(&self) -> bool {
        self.method == DEFLATED
    }

    /// Is it unencrypted, with a known compression method?
    pub fn is_readable(&self) -> bool {
        self.unsupported().is_none() && matches!(self.method, STORED | DEFLATED)
    }

    /// What its flags say of data that cannot be read, whatever its compression.
    fn unsupported(&self) -> Option<&'static str> {
        match self.flags {
            flags if flags & ENCRYPTED != 0 => Some("encrypted"),
            flags if flags & PATCH != 0 => Some("patch data"),
            _ => None,
        }
    }

    pub fn wrapper(&self) -> Wrapper {
        Wrapper::Bare { crc: self.crc }
    }

    /// The name of the compression; None if the data is stored as is.
    pub fn compression(&self) -> Option<String> {
        Some(match self.method {
            _ if self.unsupported().is_some() => self.unsupported()?.into(),
            STORED => return None,
            DEFLATED => "deflate".into(),
            12 => "bzip2".into(),
            14 => "lzma".into(),
            93 => "zstd".into(),
            95 => "xz".into(),
            other => format!("method {other}"),
        })
    }

    /// Checks that the member can be read, as far as the directory shows.
    pub fn check_readable(&self) -> Result<(), Fault> {
        let Record { stored_len, len, .. } = *self;
        if let Some(what) = self.unsupported() {
            return Err(Fault::unsupported(format!("it is {what}, which is not supported")));
        }
        match (self.compression(), self.method) {
            (None, _) if stored_len != len => {
                Err(format!("it is stored in {stored_len} bytes, but claims to have {len}").into())
            }
            // An empty member is never decoded, so its checksum is all that shows a wrong length.
            (None | Some(_), STORED | DEFLATED) if len == 0 && self.crc != 0 => {
                Err(format!("it claims to be empty, but its CRC-32 is {:08x}", self.crc).into())
            }
            (None, _) => Ok(()),
            (Some(_), DEFLATED) => {
                // Deflate takes at least two bits for 258 bytes.
                let is_possible = len <= stored_len.saturating_mul(1032) && len <= i64::MAX as u64;
                let problem = || {
                    format!(
                        "it claims to have {len} bytes, to which {stored_len} compressed bytes cannot \
                         decode"
                    )
                };
                if is_possible { Ok(()) } else { Err(problem().into()) }
            }
            (Some(name), _) => Err(Fault::unsupported(format!(
                "its compression is {name}; only stored and deflate are supported"
            ))),
        }
    }
}

/// Why a member cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    pub problem: String,
    /// The member is valid but not supported.
    pub is_unsupported: bool,
}

impl Fault {
    pub fn unsupported(problem: impl Into<String>) -> Fault {
        Fault { problem: problem.into(), is_unsupported: true }
    }

    pub fn error(&self, place: Place) -> Error {
        let problem = self.problem.clone();
        match self.is_unsupported {
            true => Error::Unsupported { place, problem },
            false => Error::Damaged { place, problem },
        }
    }
}

impl From<String> for Fault {
    fn from(problem: String) -> Fault {
        Fault { problem, is_unsupported: false }
    }
}

impl From<&str> for Fault {
    fn from(problem: &str) -> Fault {
        problem.to_owned().into()
    }
}
