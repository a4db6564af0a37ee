//! Reads .npz files, which are ZIP archives of .npy files. Members are read sequentially, and each checksum is verified
//! at the end.

use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

use super::input::{Input, Origin};
use super::plan::Planned;
use super::{Options, rules};
use crate::array::npy;
use crate::codec::zip::{self, Record, Window};
use crate::codec::{self, Engine, Stream, crc32};
use crate::content::{Content, Reader};
use crate::error::Place;
use crate::format::writer::Described;
use crate::source::{FileSource, Source};
use crate::yaml::Text;
use crate::{Error, Result};

/// No cache, because each member is read only once.
const CACHE: u64 = 0;

/// An opened archive.
pub struct Npz {
    origin: Origin,
    source: Arc<dyn Source>,
    members: Vec<(String, Record)>,
    engine: Arc<Engine>,
}

impl Npz {
    pub fn open(origin: &Origin) -> Result<Npz> {
        // Packing checks later whether the file has changed.
        let source = FileSource::open_live(&origin.path)?;
        let mut names = Vec::new();
        let directory = zip::read(&source, &mut |name| names.push(name.to_owned()));
        let records = directory.map_err(|error| failed(&origin.path, error))?.records;
        let members = names.into_iter().zip(records).collect();
        let engine = Arc::new(Engine::new(CACHE));
        Ok(Npz { origin: origin.clone(), source: Arc::new(source), members, engine })
    }

    pub fn is_of(&self, origin: &Origin) -> bool {
        self.origin == *origin
    }

    /// The bytes of a member from `from` on.
    pub fn read(&self, number: usize, from: u64) -> Result<impl Read + use<>> {
        let (name, record) = self.members.get(number).ok_or(Error::NotFound)?;
        let mut member = self.member(name, record)?;
        let skipped = io::copy(&mut member.by_ref().take(from), &mut io::sink());
        skipped.map_err(|cause| Error::read(Place::file(&self.origin.path), cause))?;
        Ok(member)
    }

    fn member(&self, name: &str, record: &Record) -> Result<Member> {
        let window = Window::new(&*self.source, record.header)?;
        let found = zip::find(record, name, &window)?;
        let place = Place::file(&self.origin.path);
        let stored =
            found.and_then(|stored| record.check_readable().map(|()| stored)).map_err(|mut fault| {
                fault.problem = format!("member {name:?} cannot be read: {}", fault.problem);
                fault.error(place.clone())
            })?;
        let content = match record.is_deflated() {
            false => Content::Stored { source: self.source.clone(), range: stored },
            true => {
                let (wrapper, expected) = (Some(record.wrapper()), Some(record.len));
                let described = codec::Described { stored, wrapper, expected, place };
                let (engine, source) = (self.engine.clone(), self.source.clone());
                Content::Decoded(Stream::kept_in(None, engine, source, described))
            }
        };
        Ok(Member { reader: content.reader()?, crc: 0, needed: record.crc })
    }
}

/// The bytes of a member; reading fails at the end if they do not match the checksum in the directory.
struct Member {
    reader: Reader,
    crc: u32,
    needed: u32,
}

impl Read for Member {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.reader.read(into).map_err(plain)?;
        self.crc = crc32(self.crc, into.get(..count).unwrap_or_default());
        match count {
            0 if !into.is_empty() && self.crc != self.needed => {
                Err(io::Error::other("its checksum is wrong"))
            }
            count => Ok(count),
        }
    }
}

/// Strips the place from a problem in the data, which is reported with the member's name instead.
fn plain(cause: io::Error) -> io::Error {
    match Error::inside(&cause) {
        Some(Error::Damaged { problem, .. }) => io::Error::other(problem.clone()),
        _ => cause,
    }
}

fn failed(path: &Path, error: Error) -> Error {
    match error {
        Error::Damaged { place, problem } => Error::damaged(
            Place { offset: place.offset, ..Place::file(path) },
            format!("cannot be read as a .npz file: {problem}"),
        ),
        other => other,
    }
}

/// One dataset per member, called `NAME/MEMBER`.
pub fn datasets(origin: Origin, name: &Text, options: &Options) -> Result<Vec<Planned>> {
    let npz = Npz::open(&origin)?;
    let numbered = npz.members.iter().enumerate();
    numbered.map(|(number, member)| dataset(&npz, name, number, member, options)).collect()
}

fn dataset(
    npz: &Npz,
    name: &Text,
    number: usize,
    (file, record): &(String, Record),
    options: &Options,
) -> Result<Planned> {
    let origin = &npz.origin;
    let (own, what, from) = match file.strip_suffix(".npy") {
        Some(own) => {
            let parsed = npy::parse(&mut npz.member(file, record)?);
            let (array, from) =
                parsed.map_err(|refused| rules::unsuitable(&origin.path, Some(file), refused))?;
            (own, Described::Array(array), from)
        }
        None => (file.as_str(), rules::other(options), 0),
    };
    let len = record.len.saturating_sub(from);
    rules::check_len(&origin.path, Some(file), &what, len)?;
    let full = [name.as_bytes(), b"/", own.as_bytes()].concat();
    let full =
        Text::from_wtf8(&full).ok_or_else(|| Error::Other(format!("{file:?} cannot be part of a name")))?;
    let input = Input::Member { origin: origin.clone(), number, name: file.clone(), from, len };
    Ok(rules::planned(full, what, input, options))
}
