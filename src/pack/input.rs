//! The sources of datasets' bytes.

use std::fmt;
use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::error::Place;
use crate::tree::Table;
use crate::{Error, Result};

#[derive(Debug)]
pub enum Input {
    Stdin,
    /// The bytes of a file from `from` on.
    File {
        origin: Origin,
        from: u64,
    },
    /// Text converted from a file.
    Made {
        origin: Origin,
        text: String,
    },
    /// The bytes of a .npz member from `from` on.
    Member {
        origin: Origin,
        number: usize,
        name: String,
        from: u64,
        len: u64,
    },
    Csv {
        origin: Origin,
        table: Table,
    },
}

/// The identity of a file when the plan was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    pub path: PathBuf,
    pub dev: u64,
    pub ino: u64,
    pub len: u64,
    /// Seconds and nanoseconds.
    mtime: (i64, i64),
}

impl Origin {
    /// Records the identity of a file, which must be readable.
    pub fn open(path: &Path) -> Result<Origin> {
        let meta = File::open(path).and_then(|file| file.metadata());
        meta.map(|meta| Origin::new(path, &meta)).map_err(|cause| Error::open(path, cause))
    }

    fn new(path: &Path, meta: &Metadata) -> Origin {
        let mtime = (meta.mtime(), meta.mtime_nsec());
        Origin { path: path.to_owned(), dev: meta.dev(), ino: meta.ino(), len: meta.len(), mtime }
    }

    /// Fails if the file has changed.
    pub fn check(&self) -> Result<()> {
        match Origin::open(&self.path) {
            Ok(now) if now == *self => Ok(()),
            _ => Err(Error::Other(format!(
                "{}: changed while it was packed: pack it again",
                self.path.display()
            ))),
        }
    }
}

impl Input {
    pub fn origin(&self) -> Option<&Origin> {
        match self {
            Input::Stdin => None,
            Input::File { origin, .. }
            | Input::Made { origin, .. }
            | Input::Member { origin, .. }
            | Input::Csv { origin, .. } => Some(origin),
        }
    }

    /// The error for bytes that cannot be read.
    pub fn unread(&self, cause: io::Error) -> Error {
        match self {
            Input::Member { origin, name, .. } if cause.raw_os_error().is_none() => {
                Error::damaged(Place::file(&origin.path), format!("member {name:?} cannot be read: {cause}"))
            }
            Input::Stdin => Error::read(Place::file(Path::new("standard input")), cause),
            Input::File { origin, .. }
            | Input::Made { origin, .. }
            | Input::Member { origin, .. }
            | Input::Csv { origin, .. } => Error::read(Place::file(&origin.path), cause),
        }
    }

    /// Number of bytes to be read, as far as known.
    pub fn len(&self) -> u64 {
        match self {
            Input::Stdin => 0,
            Input::File { origin, from } => origin.len.saturating_sub(*from),
            Input::Made { text, .. } => text.len() as u64,
            Input::Member { len, .. } => *len,
            Input::Csv { table, .. } => table.byte_len().unwrap_or(0),
        }
    }
}

/// The name used in errors.
impl fmt::Display for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Input::Stdin => f.write_str("standard input"),
            Input::File { origin, .. } | Input::Made { origin, .. } | Input::Csv { origin, .. } => {
                write!(f, "{}", origin.path.display())
            }
            Input::Member { origin, name, .. } => write!(f, "{} (member {name:?})", origin.path.display()),
        }
    }
}
