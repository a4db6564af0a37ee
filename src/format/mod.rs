//! Container formats. A format reads a container's index (never its data) into a [`Container`]; nothing outside this
//! module names a format. To add one, add a file or folder here, its `mod` line and its line in [`FORMATS`].

mod abilities;
mod awkward;
mod container;
pub mod ffrecord;
mod foreign;
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
use foreign::not_a_container;
pub use foreign::store as foreign_store;
/// Sidecars of every format use RAB's schema.
pub use rab::described;
pub use rab::{Add, Column, ColumnValue, Compression, Editor, Item, Writer};
pub use several::{Parts, are_one, only_parts, parts};

use crate::codec::Engine;
use crate::source::{self, Policy, Siblings, Source};
use crate::{Error, Result};

/// What a format needs to open a container.
#[derive(Clone)]
pub struct Context {
    pub source: Arc<dyn Source>,
    /// The remaining files of a multi-file container, in order.
    pub others: Vec<Arc<dyn Source>>,
    pub engine: Arc<Engine>,
    pub options: Options,
}

impl Context {
    /// A single file, with default options.
    pub fn new(source: Arc<dyn Source>, engine: Arc<Engine>) -> Context {
        Context { source, others: Vec::new(), engine, options: Options::default() }
    }

    /// The other files that the container refers to.
    pub fn siblings(&self) -> Siblings {
        Siblings::new(self.source.path(), self.options.policy.clone(), self.engine.files.clone())
    }
}

/// What a user may specify about containers. Formats ignore the options that do not apply to them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// The name of the format; detected if not given.
    pub format: Option<String>,
    /// The element type, for containers that do not record one.
    pub dtype: Option<String>,
    /// Do not verify checksums when data is read.
    pub no_verify: bool,
    /// Which other files a container may refer to.
    pub policy: Policy,
    /// External decoders for data formats unknown to us, as (format name, program): each reads its standard input and
    /// writes to its standard output.
    pub decoders: Vec<(String, String)>,
}

/// What a format is detected by: a file's name, its first bytes and its length.
#[derive(Clone, Copy, Debug)]
pub struct Candidate<'a> {
    pub path: &'a Path,
    /// The first [`HEAD`] bytes, or the whole file if it is shorter.
    pub head: &'a [u8],
    pub len: u64,
    /// The user named this file or its format, so weak evidence is enough. False for files found in directories.
    pub asked_for: bool,
}

impl Candidate<'_> {
    /// Does the file's name have this extension, ignoring ASCII case?
    pub fn has_extension(&self, extension: &str) -> bool {
        self.path.extension().is_some_and(|found| found.eq_ignore_ascii_case(extension))
    }
}

/// What every format implements. Optional abilities are returned as separate traits.
pub trait Format: Sync {
    /// The name users know it by.
    fn name(&self) -> &'static str;

    /// Does this look like a file of this format?
    fn detect(&self, candidate: &Candidate<'_>) -> bool;

    fn open(&self, context: Context) -> Result<Container>;

    /// Is a file of this name one of its containers, as far as a name tells?
    fn is_known_by(&self, path: &Path) -> bool {
        let extension = path.extension().map(|extension| extension.to_string_lossy().to_ascii_lowercase());
        let Some(extension) = extension.as_deref() else { return false };
        let written = self.write().map_or(&[][..], |write| write.extensions());
        written.contains(&extension) || self.marks().old_extensions.contains(&extension)
    }

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

/// Number of bytes at the start of a file by which its format is detected.
pub const HEAD: usize = 4096;

/// Opens a container of any known format.
pub fn open(context: Context) -> Result<Container> {
    of(&context)?.open(context)
}

/// The common format of all files; an error if they differ or the format has no multi-file containers.
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

/// The format that the user names, or else the one detected.
pub fn chosen(source: &dyn Source, options: &Options) -> Result<&'static dyn Format> {
    match &options.format {
        Some(name) => named(name),
        None => shown(source),
    }
}

/// Detects the format of a file that the user named.
pub fn shown(source: &dyn Source) -> Result<&'static dyn Format> {
    let head = source.read_range(0..source.len().min(HEAD as u64))?;
    let candidate = Candidate { path: source.path(), head: &head, len: source.len(), asked_for: true };
    detect(&candidate).ok_or_else(|| not_a_container(source.path(), &head))
}

/// Opens a file or a URL that may be a container.
///
/// # Errors
/// As [`source::open`].
pub fn source(path: &Path) -> Result<Arc<dyn Source>> {
    let shown = source::without_secrets(path);
    let extension = shown.extension().map(|extension| extension.to_string_lossy().to_ascii_lowercase());
    let is_last = |format: &&dyn Format| {
        extension.as_deref().is_some_and(|extension| format.marks().directory_last.contains(&extension))
    };
    source::open(path, FORMATS.iter().any(is_last))
}

/// The format whose files have such a name, where nothing else is known of a file.
pub fn known_by_name(path: &Path) -> Option<&'static dyn Format> {
    FORMATS.iter().find(|format| format.is_known_by(path)).copied()
}

/// The first format that recognizes the file, if any does.
pub fn detect(candidate: &Candidate<'_>) -> Option<&'static dyn Format> {
    FORMATS.iter().find(|format| format.detect(candidate)).copied()
}

/// The format of a file that was met in a directory, if that is the one that the user names or none was named. None: it
/// is not a container, nor named like one. An error: it is named like a container, but is not one.
pub fn met(source: &dyn Source, options: &Options) -> Result<Option<&'static dyn Format>> {
    let (path, head) = (source.path(), source.read_range(0..source.len().min(HEAD as u64))?);
    let candidate = Candidate { path, head: &head, len: source.len(), asked_for: options.format.is_some() };
    let is_wanted = |format: &&dyn Format| {
        options.format.as_ref().is_none_or(|wanted| format.name().eq_ignore_ascii_case(wanted))
    };
    if let Some(found) = detect(&candidate) {
        return Ok(Some(found).filter(is_wanted));
    }
    let is_old = |format: &&dyn Format| {
        format.marks().old_extensions.iter().any(|extension| candidate.has_extension(extension))
    };
    let claimed = writer::named_by(path).or_else(|| FORMATS.iter().copied().find(is_old));
    let Some(claimed) = claimed.filter(is_wanted) else { return Ok(None) };
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

/// The names of all formats.
pub fn names() -> impl Iterator<Item = &'static str> {
    FORMATS.iter().map(|format| format.name())
}

/// The names of all formats, sorted, for messages and help.
pub fn known() -> String {
    let mut names: Vec<&str> = names().collect();
    names.sort_by_key(|name| name.to_lowercase());
    names.join(", ")
}

/// Looks up a format by name, ignoring ASCII case.
pub fn named(name: &str) -> Result<&'static dyn Format> {
    let found = FORMATS.iter().find(|format| format.name().eq_ignore_ascii_case(name)).copied();
    found.ok_or_else(|| Error::Usage(format!("{name:?} is not a known format: choose one of {}", known())))
}
