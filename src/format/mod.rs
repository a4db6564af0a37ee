//! Container formats. A format reads a container's index (never its data) and gives a tree; nothing
//! outside this room names a format. A new one costs a file or folder here, its `mod` line and its line
//! in [`FORMATS`].

mod rab;
pub mod target;

use std::path::Path;
use std::sync::Arc;

/// Sidecars speak RAB's language.
pub use rab::described;
pub use rab::{Add, Cell, Column, Compression, Editor, Item, Writer};

use crate::codec::Engine;
use crate::source::Source;
use crate::tree::{Datasets, NameList, Tree};
use crate::{Error, Result};
use target::{NewContainer, WriteOptions};

/// What a format gets to open a container.
pub struct Context {
    pub source: Arc<dyn Source>,
    pub engine: Arc<Engine>,
}

pub trait Format: Sync {
    /// What users call it.
    fn name(&self) -> &'static str;

    /// Is a file that begins with `head` (at most [`HEAD`] bytes) of this format?
    fn detect(&self, head: &[u8]) -> bool;

    /// The extensions of files of this format that can be written, in small letters.
    fn extensions(&self) -> &'static [&'static str];

    fn open(&self, context: Context) -> Result<Arc<dyn Tree>>;

    /// The datasets without a tree, for who knows their names.
    fn list(&self, context: Context) -> Result<Listing>;

    /// A new container at `path`.
    fn create(&self, path: &Path, options: &WriteOptions) -> Result<Box<dyn NewContainer>>;
}

/// The datasets of a container and, by their numbers, their true names.
pub struct Listing {
    pub format: &'static str,
    pub names: NameList,
    pub datasets: Box<dyn Datasets>,
}

pub static FORMATS: &[&dyn Format] = &[&rab::Rab];

/// How many first bytes a format is told by.
pub const HEAD: usize = 16;

/// Opens a container of any format that we know.
pub fn open(context: Context) -> Result<Arc<dyn Tree>> {
    detect(&*context.source)?.open(context)
}

/// Lists a container of any format that we know.
pub fn list(context: Context) -> Result<Listing> {
    detect(&*context.source)?.list(context)
}

fn detect(source: &dyn Source) -> Result<&'static dyn Format> {
    let head = source.read_range(0..source.len().min(HEAD as u64))?;
    let format = FORMATS.iter().find(|format| format.detect(&head));
    format.copied().ok_or_else(|| not_a_container(source.path(), &head))
}

fn not_a_container(path: &Path, head: &[u8]) -> Error {
    let known = FORMATS.iter().map(|format| format.name()).collect::<Vec<_>>().join(", ");
    let found = if head.is_empty() {
        format!("it is empty (known are: {known})")
    } else {
        let shown = &head[..head.len().min(8)];
        let hex = shown.iter().map(|b| format!("{b:02x}")).collect::<Vec<_>>().join(" ");
        let like = looks_like(head).map_or(String::new(), |what| format!(", like {what}"));
        format!("it begins with {hex} (\"{}\"){like} (known are: {known})", shown.escape_ascii())
    };
    Error::NotAContainer { file: path.to_owned(), found }
}

/// What other files begin with, for the message only.
fn looks_like(head: &[u8]) -> Option<&'static str> {
    const SIGNATURES: &[(&[u8], &str)] = &[
        (b"\x89HDF\r\n\x1a\n", "an HDF5 file"),
        (b"\x93NUMPY", "a numpy .npy file"),
        (b"PK\x03\x04", "a ZIP or .npz file"),
        (b"PK\x05\x06", "an empty ZIP file"),
        (b"\x1f\x8b", "a gzip file"),
        (b"\x28\xb5\x2f\xfd", "a zstd file"),
        (b"BZh", "a bzip2 file"),
        (b"\xfd7zXZ\0", "an xz file"),
        (b"ARROW1", "an Arrow file"),
        (b"PAR1", "a Parquet file"),
        (b"CDF\x01", "a NetCDF file"),
        (b"CDF\x02", "a NetCDF file"),
        (b"CDF\x05", "a NetCDF file"),
        (b"SIMPLE  =", "a FITS file"),
        (b"MATLAB 5.0", "a MATLAB file"),
        (b"rawarray", "a RawArray file"),
        (b"\x89PNG", "a PNG image"),
        (b"\xff\xd8\xff", "a JPEG image"),
        (b"II*\0", "a TIFF image"),
        (b"MM\0*", "a TIFF image"),
        (b"%PDF", "a PDF document"),
        (b"\x7fELF", "a program"),
        (b"#!", "a script"),
        (b"SQLite format 3", "an SQLite database"),
    ];
    let known = SIGNATURES.iter().find(|(first, _)| head.starts_with(first)).map(|(_, what)| *what);
    let zeros = head.iter().all(|b| *b == 0).then_some("a file of zeros");
    let text = head.iter().all(|b| matches!(b, 9..=13 | 32..=126)).then_some("a text file");
    known.or(zeros).or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(head: &[u8]) -> String {
        not_a_container(Path::new("x"), head).to_string()
    }

    #[test]
    fn the_message_says_what_the_first_bytes_look_like() {
        assert!(said(b"").contains("it is empty"));
        let hdf = said(b"\x89HDF\r\n\x1a\n\0\0\0\0");
        assert!(hdf.contains(r#"89 48 44 46 0d 0a 1a 0a ("\x89HDF\r\n\x1a\n"), like an HDF5 file"#), "{hdf}");
        assert!(said(b"hello world").contains("like a text file"));
        assert!(said(&[0xfe, 0xed, 0xfa, 0xce]).contains("fe ed fa ce"));
    }
}
