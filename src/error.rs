//! The one error type. It says what was wrong and where: the file, the dataset and the byte offset,
//! what was found and what was needed. It imports nothing of the project, so every room may use it.
//!
//! Messages are lower case without a full stop, and are part of the interface. `fuse.rs` maps errors to
//! errno, [`Error::exit_code`] to the exit codes that the manual page lists.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Where in which container something was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    pub file: PathBuf,
    /// The dataset's true name, lossily as text.
    pub dataset: Option<String>,
    /// What describes the dataset, where that is a row of a table.
    pub row: Option<Box<Row>>,
    /// A byte offset into the file.
    pub offset: Option<u64>,
}

/// A row of a table that describes datasets, counted from 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    pub table: PathBuf,
    pub number: u64,
}

impl Place {
    pub fn file(path: &Path) -> Place {
        Place { file: path.to_owned(), ..Place::default() }
    }

    pub fn dataset(&self, name: &str) -> Place {
        Place { dataset: Some(name.to_owned()), ..self.clone() }
    }

    pub fn at(&self, offset: u64) -> Place {
        Place { offset: Some(offset), ..self.clone() }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = self.file.display();
        match &self.dataset {
            None => write!(f, "{file}")?,
            // Of what is in memory no file is known.
            Some(name) if self.file.as_os_str().is_empty() => write!(f, "dataset {:?}", shortened(name))?,
            Some(name) => write!(f, "{file}: dataset {:?}", shortened(name))?,
        }
        match self.row.as_deref() {
            Some(Row { table, number }) if *table == self.file => write!(f, ": row {number}")?,
            Some(Row { table, number }) => write!(f, ": row {number} of {}", table.display())?,
            None => {}
        }
        if let Some(offset) = self.offset {
            write!(f, ": at byte {offset}")?;
        }
        Ok(())
    }
}

/// A name of a megabyte, or a type of many fields, would hide the message.
pub(crate) fn shortened(name: &str) -> String {
    match name.char_indices().nth(200) {
        Some((end, _)) => format!("{}...", &name[..end]),
        None => name.to_owned(),
    }
}

/// A number of things, in the singular or plural: `1 byte`.
pub(crate) fn counted(count: impl fmt::Display, noun: &str) -> String {
    let count = count.to_string();
    let ending = if count == "1" { "" } else { "s" };
    format!("{count} {noun}{ending}")
}

/// Has a path a scheme, as in `https://host/x` or, once it is absolute, `/work/https:/host/x`?
fn is_url(path: &Path) -> bool {
    let schemes = ["abfs:", "abfss:", "adl:", "file:", "ftp:", "gcs:", "hdfs:", "s3a:", "sftp:", "webdav:"];
    path.components().any(|part| schemes.iter().any(|scheme| part.as_os_str() == *scheme))
}

/// Cheap to clone: a damaged dataset keeps its error and hands it to every reader.
#[derive(Clone, Debug)]
pub enum Error {
    /// The command line asks for something that cannot be.
    Usage(String),
    /// The container cannot be opened or is not a file.
    Open { file: PathBuf, cause: Arc<io::Error> },
    /// The first bytes are of no format that we know; what was found, and what to do then.
    NotAContainer { file: PathBuf, found: String },
    /// Bytes that contradict the format or each other.
    Damaged { place: Place, problem: String },
    /// Something of the format that is not read here; nothing is wrong with it.
    Unsupported { place: Place, problem: String },
    /// Reading bytes failed; keeps the operating system's error.
    Read { place: Place, cause: Arc<io::Error> },
    /// Something cannot be put into a container that is being written.
    Write { place: Place, cause: Arc<io::Error> },
    /// The container is not the file that was opened any more.
    Changed { file: PathBuf },
    /// The container has no dataset of this name, or none that a pattern matches. `near` are names that it has and
    /// that may have been meant, the best first.
    NoDataset { file: PathBuf, name: String, near: Vec<String> },
    /// A directory or file that is not there.
    NotFound,
    /// A directory was used as a file.
    IsADirectory,
    /// A file was used as a directory.
    NotADirectory,
    /// The mountpoint cannot be used, or not be unmounted.
    Mountpoint { path: PathBuf, problem: String },
    /// FUSE itself is missing or refuses.
    Fuse(String),
    /// Anything else.
    Other(String),
}

impl Error {
    pub fn damaged(place: Place, problem: impl Into<String>) -> Error {
        Error::Damaged { place, problem: problem.into() }
    }

    pub fn open(file: &Path, cause: io::Error) -> Error {
        Error::Open { file: file.to_owned(), cause: Arc::new(cause) }
    }

    pub fn read(place: Place, cause: io::Error) -> Error {
        Error::Read { place, cause: Arc::new(cause) }
    }

    /// As an error of another dataset that has the same bytes.
    pub fn of(self, dataset: &Place) -> Error {
        let of = |place: Place| Place { file: place.file, offset: place.offset, ..dataset.clone() };
        match self {
            Error::Damaged { place, problem } => Error::Damaged { place: of(place), problem },
            Error::Unsupported { place, problem } => Error::Unsupported { place: of(place), problem },
            other => other,
        }
    }

    /// Will it be the same the next time? What the operating system says may not be.
    pub fn lasts(&self) -> bool {
        matches!(self, Error::Damaged { .. } | Error::Unsupported { .. })
    }

    /// Is there nothing at the path or URL that was to be opened?
    pub fn is_missing(&self) -> bool {
        matches!(self, Error::Open { cause, .. } if cause.kind() == io::ErrorKind::NotFound)
    }

    /// The error that a reader of a dataset has put into an [`io::Error`].
    pub fn inside(cause: &io::Error) -> Option<&Error> {
        cause.get_ref()?.downcast_ref()
    }

    /// `cause` is the operating system's error, or an [`io::Error::other`] that says what is wrong.
    pub fn write(place: Place, cause: io::Error) -> Error {
        Error::Write { place, cause: Arc::new(cause) }
    }

    pub fn mountpoint(path: &Path, problem: impl Into<String>) -> Error {
        Error::Mountpoint { path: path.to_owned(), problem: problem.into() }
    }

    /// The exit code of a command that ends with this error (see the manual page, EXIT STATUS).
    pub fn exit_code(&self) -> u8 {
        match self {
            Error::Usage(_) => 2,
            Error::NotFound | Error::NoDataset { .. } => 3,
            Error::Open { .. } | Error::Read { .. } => 10,
            Error::NotAContainer { .. } => 11,
            Error::Damaged { .. } | Error::Changed { .. } => 12,
            Error::Mountpoint { .. } => 20,
            Error::Fuse(_) => 21,
            Error::Unsupported { .. }
            | Error::Write { .. }
            | Error::IsADirectory
            | Error::NotADirectory
            | Error::Other(_) => 1,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Usage(what) | Error::Fuse(what) | Error::Other(what) => f.write_str(what),
            Error::Open { file, .. } if is_url(file) => write!(
                f,
                "{}: URLs can be https://, http://, s3://, gs:// or az://: for others, download the file or mount the remote \
                 directory first (rclone mount)",
                file.display()
            ),
            Error::Open { file, cause } => write!(f, "{}: cannot be opened: {cause}", file.display()),
            Error::NotAContainer { file, found } => {
                write!(f, "{}: {found}", file.display())
            }
            Error::Damaged { place, problem } | Error::Unsupported { place, problem } => {
                write!(f, "{place}: {problem}")
            }
            Error::Read { place, cause } => write!(f, "{place}: cannot be read: {cause}"),
            Error::Write { place, cause } => write!(f, "{place}: cannot be written: {cause}"),
            Error::Changed { file } => write!(
                f,
                "{}: changed{} since it was opened: nothing more is read from it; reopen it (for a mount, unmount and \
                 mount again)",
                file.display(),
                if file.to_string_lossy().contains("://") { "" } else { " on disk" }
            ),
            Error::NoDataset { file, name, near } => {
                write!(f, "{}: has no dataset {:?}", file.display(), shortened(name))?;
                let near: Vec<String> = near.iter().map(|name| format!("{:?}", shortened(name))).collect();
                match near.split_last() {
                    None => Ok(()),
                    Some((one, [])) => write!(f, ": did you mean {one}?"),
                    Some((last, others)) => write!(f, ": did you mean {} or {last}?", others.join(", ")),
                }
            }
            Error::NotFound => f.write_str("no such file or directory"),
            Error::IsADirectory => f.write_str("is a directory"),
            Error::NotADirectory => f.write_str("is not a directory"),
            Error::Mountpoint { path, problem } => write!(f, "{}: {problem}", path.display()),
        }
    }
}

impl std::error::Error for Error {}
