//! Container formats. A format reads a container's index (never its data) and gives a
//! [`Container`]; nothing outside this room names a format. A new one costs a file or folder here, its `mod` line and its line
//! in [`FORMATS`].

mod abilities;
mod awkward;
mod container;
pub mod ffrecord;
mod npy;
mod npz;
mod onda;
mod rab;
mod rawarray;
mod safetensors;
mod several;
pub mod writer;
mod zip;

use std::path::Path;
use std::sync::Arc;

pub use abilities::{Marks, MultiFile, Salvage, WriteFormat};
pub use container::Container;
/// Sidecars speak RAB's language.
pub use rab::described;
pub use rab::{Add, Column, ColumnValue, Compression, Editor, Item, Writer};
pub use several::{Parts, are_one, only_parts, parts};

use crate::codec::Engine;
use crate::source::{Policy, Siblings, Source};
use crate::{Error, Result};

/// What a format gets to open a container.
#[derive(Clone)]
pub struct Context {
    pub source: Arc<dyn Source>,
    /// Further files of the same format that make one container with the first, in their order.
    pub others: Vec<Arc<dyn Source>>,
    pub engine: Arc<Engine>,
    pub options: Options,
}

impl Context {
    /// A single file, as it tells itself.
    pub fn new(source: Arc<dyn Source>, engine: Arc<Engine>) -> Context {
        Context { source, others: Vec::new(), engine, options: Options::default() }
    }

    /// The files that the container names.
    pub fn siblings(&self) -> Siblings {
        Siblings::new(self.source.path(), self.options.policy.clone(), self.engine.files.clone())
    }
}

/// What a user may say about containers. Each is for some of the formats and nothing to the others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// The name of the format, which is then not looked for.
    pub format: Option<String>,
    /// What the elements are where the container does not tell.
    pub dtype: Option<String>,
    /// Checksums are not compared when data is read.
    pub no_verify: bool,
    /// Which other files a container may name.
    pub policy: Policy,
    /// Programs that decode formats of data which are not known here, by the names of the formats: each reads its standard
    /// input and writes to its standard output.
    pub decoders: Vec<(String, String)>,
}

/// What tells a format: a file's name, its first bytes and its length.
#[derive(Clone, Copy, Debug)]
pub struct Candidate<'a> {
    pub path: &'a Path,
    /// At most [`HEAD`] bytes; all of them if the file is not longer.
    pub head: &'a [u8],
    pub len: u64,
    /// The user named this file, or its format, so that little is enough; others are met in directories.
    pub asked_for: bool,
}

impl Candidate<'_> {
    /// Is this the extension of the file's name, in small or capital letters?
    pub fn has_extension(&self, extension: &str) -> bool {
        self.path.extension().is_some_and(|found| found.eq_ignore_ascii_case(extension))
    }
}

/// What every format has. What only some have they return as a trait or a value of its own.
pub trait Format: Sync {
    /// What users call it.
    fn name(&self) -> &'static str;

    /// Is this file of this format, as far as its beginning tells?
    fn detect(&self, candidate: &Candidate<'_>) -> bool;

    fn open(&self, context: Context) -> Result<Container>;

    fn marks(&self) -> Marks {
        Marks::default()
    }

    fn multi_file(&self) -> Option<&'static dyn MultiFile> {
        None
    }

    fn salvage(&self) -> Option<&'static dyn Salvage> {
        None
    }

    fn write(&self) -> Option<&'static dyn WriteFormat> {
        None
    }
}

pub static FORMATS: &[&dyn Format] = &[
    &npz::Npz,
    &rab::Rab,
    &rawarray::RawArray,
    &ffrecord::FFRecord,
    &onda::Onda,
    &awkward::Awkward,
    &safetensors::Safetensors,
    &npy::Npy,
    &zip::Zip,
];

/// How many first bytes a format is told by.
pub const HEAD: usize = 4096;

/// Opens a container of any format that we know.
pub fn open(context: Context) -> Result<Container> {
    of(&context)?.open(context)
}

/// The format of all files.
fn of(context: &Context) -> Result<&'static dyn Format> {
    let first = chosen(&*context.source, &context.options)?;
    for other in &context.others {
        let other_format = chosen(&**other, &context.options)?;
        if first.multi_file().is_none() || other_format.name() != first.name() {
            let (name, first, other) = (other.path().display(), first.name(), other_format.name());
            let problem = format!("{name}: {other} files do not make one container with {first} files");
            return Err(Error::Usage(problem));
        }
    }
    Ok(first)
}

/// The format that the user names, or that the file shows.
pub fn chosen(source: &dyn Source, options: &Options) -> Result<&'static dyn Format> {
    match &options.format {
        Some(name) => named(name),
        None => shown(source),
    }
}

/// The format that a file shows.
pub fn shown(source: &dyn Source) -> Result<&'static dyn Format> {
    let head = source.read_range(0..source.len().min(HEAD as u64))?;
    let candidate = Candidate { path: source.path(), head: &head, len: source.len(), asked_for: true };
    detect(&candidate).ok_or_else(|| not_a_container(source.path(), &head))
}

/// The format of a file; None if it is no container of a known one.
pub fn detect(candidate: &Candidate<'_>) -> Option<&'static dyn Format> {
    FORMATS.iter().find(|format| format.detect(candidate)).copied()
}

/// The format of a file that was met in a directory, if that is the one that the user names or none was named. None: it
/// is no container, and is not called like one. An error: it is called like one, and is none.
pub fn met(source: &dyn Source, options: &Options) -> Result<Option<&'static dyn Format>> {
    let (path, head) = (source.path(), source.read_range(0..source.len().min(HEAD as u64))?);
    let candidate = Candidate { path, head: &head, len: source.len(), asked_for: false };
    let is_wanted = |format: &&dyn Format| {
        options.format.as_ref().is_none_or(|wanted| format.name().eq_ignore_ascii_case(wanted))
    };
    if let Some(found) = detect(&candidate) {
        return Ok(Some(found).filter(is_wanted));
    }
    let Some(claimed) = writer::named_by(path).filter(is_wanted) else { return Ok(None) };
    // macOS keeps attributes of `x.rab` in `._x.rab`.
    if path.file_name().is_none_or(|name| name.as_encoded_bytes().starts_with(b".")) {
        return Ok(None);
    }
    match detect(&Candidate { asked_for: true, ..candidate }) {
        Some(_) if claimed.marks().shares_extension => Ok(None),
        None => Err(not_a_container(path, &head)),
        damaged => Ok(damaged),
    }
}

/// What users call the formats.
pub fn names() -> impl Iterator<Item = &'static str> {
    FORMATS.iter().map(|format| format.name())
}

/// All of them, for messages and help.
pub fn known() -> String {
    let mut names: Vec<&str> = names().collect();
    names.sort_by_key(|name| name.to_lowercase());
    names.join(", ")
}

/// A format by what users call it.
pub fn named(name: &str) -> Result<&'static dyn Format> {
    let found = FORMATS.iter().find(|format| format.name().eq_ignore_ascii_case(name)).copied();
    found.ok_or_else(|| Error::Usage(format!("{name:?} is no format that is known: {}", known())))
}

fn not_a_container(path: &Path, head: &[u8]) -> Error {
    let head = &head[..head.len().min(16)];
    let known = known();
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
        (b"PK\x03\x04", "a ZIP file (--format zip reads its members)"),
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
