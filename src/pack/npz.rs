//! .npz files: ZIP archives of .npy files. Members are read from front to back, and their check values compared
//! at their ends.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

use zip::ZipArchive;
use zip::read::ZipFile;
use zip::result::ZipError;

use super::input::{Input, Origin};
use super::plan::Planned;
use super::{Options, rules};
use crate::array::npy;
use crate::error::Place;
use crate::format::target::Described;
use crate::yaml::Text;
use crate::{Error, Result};

/// An opened archive.
pub struct Npz {
    origin: Origin,
    zip: ZipArchive<BufReader<File>>,
}

type Member<'a> = ZipFile<'a, BufReader<File>>;

impl Npz {
    pub fn open(origin: &Origin) -> Result<Npz> {
        let path = &origin.path;
        let file = File::open(path).map_err(|cause| Error::open(path, cause))?;
        let zip = ZipArchive::new(BufReader::new(file)).map_err(|problem| failed(path, None, problem))?;
        Ok(Npz { origin: origin.clone(), zip })
    }

    pub fn is_of(&self, origin: &Origin) -> bool {
        self.origin == *origin
    }

    /// The bytes of a member from `from` on.
    pub fn read(&mut self, number: usize, from: u64) -> Result<impl Read + '_> {
        let path = self.origin.path.clone();
        let mut member = self.zip.by_index(number).map_err(|problem| failed(&path, None, problem))?;
        let skipped = io::copy(&mut member.by_ref().take(from), &mut io::sink());
        skipped.map_err(|cause| Error::read(Place::file(&path), cause))?;
        Ok(member)
    }
}

fn failed(path: &Path, member: Option<&str>, problem: ZipError) -> Error {
    let shown = member.map_or(String::new(), |member| format!("member {member:?}: "));
    match problem {
        ZipError::Io(cause) => Error::read(Place::file(path), cause),
        other => Error::damaged(Place::file(path), format!("{shown}cannot be read as a .npz file: {other}")),
    }
}

/// One for each member, called `NAME/MEMBER`.
pub fn datasets(origin: Origin, name: &Text, options: &Options) -> Result<Vec<Planned>> {
    let Npz { mut zip, .. } = Npz::open(&origin)?;
    let mut found = Vec::new();
    for number in 0..zip.len() {
        let mut member = zip.by_index(number).map_err(|problem| {
            let member = format!("number {number}");
            failed(&origin.path, Some(&member), problem)
        })?;
        if !member.is_dir() {
            found.push(dataset(&origin, name, number, &mut member, options)?);
        }
    }
    Ok(found)
}

fn dataset(
    origin: &Origin,
    name: &Text,
    number: usize,
    member: &mut Member<'_>,
    options: &Options,
) -> Result<Planned> {
    let file = String::from_utf8(member.name_raw().to_vec()).map_err(|_| {
        let problem = format!("the name of member {:?} is not UTF-8", member.name());
        Error::damaged(Place::file(&origin.path), problem)
    })?;
    let (own, what, from) = match file.strip_suffix(".npy") {
        Some(own) => {
            let parsed = npy::parse(member);
            let (array, from) =
                parsed.map_err(|refused| rules::unsuitable(&origin.path, Some(&file), refused))?;
            (own, Described::Array(array), from)
        }
        None => (file.as_str(), rules::other(options), 0),
    };
    let len = member.size().saturating_sub(from);
    rules::check_len(&origin.path, Some(&file), &what, len)?;
    let full = [name.as_bytes(), b"/", own.as_bytes()].concat();
    let full =
        Text::from_wtf8(&full).ok_or_else(|| Error::Other(format!("{file:?} cannot be part of a name")))?;
    let input = Input::Member { origin: origin.clone(), number, name: file, from, len };
    Ok(rules::planned(full, what, input, options))
}
