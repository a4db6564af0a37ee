//! Writing flat and jagged arrays, as the reference reads them: stored members one after the other, then a schema for
//! each array. A flat array called N is N; a jagged one is recognised by the names of its parts, as a mount has them:
//! ```text
//! N/counts, or N/offsets, or N/starts and N/stops      where its lists are
//! N/content   (or N/content/data)                      their items; or the parts of another jagged array
//! ```
//! An array that `meta.yaml` declares independent is one, even if it is named like a part. Redundant parts (offsets
//! beside counts, as a mount shows both) are compared and then left out, as is `meta.yaml`; arrays that it declares to
//! be of another class are refused.

mod pairs;
mod parts;
pub mod rewrite;
mod schema;
mod types;

use std::collections::{BTreeMap, HashSet};
use std::hash::{DefaultHasher, Hasher};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::array::{self, Array, Dtype, Kind, byte_len};
use crate::error::Place;
use crate::format::Compression;
use crate::format::writer::input::Exactly;
use crate::format::writer::zip::{Body, Members, Written};
use crate::format::writer::{NewContent, NewDataset, NewFile, Temporary, WriteOptions, lost};
use crate::tree::naming;
use crate::{Error, Result};
use parts::Declared;
use schema::{Schema, ascii};
use types::dtype;

/// The reference version whose format is written.
const VERSION: &str = "0.15.5";

pub struct Writer {
    path: PathBuf,
    file: Temporary,
    members: Members,
    arrays: BTreeMap<String, Added>,
    /// In order of writing.
    names: Vec<String>,
    /// Descriptions by the possible name of the array, or part of one, that they describe.
    declared: BTreeMap<String, Vec<Declared>>,
    /// Arrays declared to be independent: where their parts are, and their names.
    wholes: BTreeMap<String, String>,
}

/// A flat array whose bytes are written.
struct Added {
    array: Array,
    member: String,
    /// Offset of its bytes in the file, if they are not compressed.
    at: u64,
    /// For integers only.
    numbers: Option<Numbers>,
}

/// A summary of integers, so that they need not be read again.
#[derive(Clone)]
struct Numbers {
    /// Hash of the numbers, and of the boundaries of lists with these lengths.
    values: DefaultHasher,
    starts: DefaultHasher,
    stops: DefaultHasher,
    sum: Option<i128>,
    least: i128,
    first: Option<i128>,
    last: i128,
    is_rising: bool,
}

impl Numbers {
    fn none() -> Numbers {
        let hash = DefaultHasher::new;
        let (values, starts, stops) = (hash(), hash(), hash());
        Numbers { values, starts, stops, sum: Some(0), least: 0, first: None, last: 0, is_rising: true }
    }

    fn add(&mut self, number: i128) {
        self.values.write_i128(number);
        self.starts.write_i128(self.sum.unwrap_or(-1));
        self.sum = self.sum.and_then(|sum| sum.checked_add(number)).filter(|sum| i64::try_from(*sum).is_ok());
        self.stops.write_i128(self.sum.unwrap_or(-1));
        self.is_rising &= self.first.is_none() || number >= self.last;
        self.least = if self.first.is_none() { number } else { self.least.min(number) };
        self.first.get_or_insert(number);
        self.last = number;
    }

    /// Hash of the offsets of lists with these lengths.
    fn offsets(&self) -> u64 {
        let mut hash = self.starts.clone();
        hash.write_i128(self.sum.unwrap_or(-1));
        hash.finish()
    }
}

impl Writer {
    pub fn create(path: &Path, options: &WriteOptions) -> Result<Writer> {
        let failed = |cause| Error::write(Place::file(path), cause);
        let file = Temporary::create(path, options.force).map_err(failed)?;
        let (path, members) = (path.to_owned(), Members::new(options.jobs));
        let (arrays, names) = (BTreeMap::new(), Vec::new());
        Ok(Writer { path, file, members, arrays, names, declared: BTreeMap::new(), wholes: BTreeMap::new() })
    }

    /// Why the numbers just read are redundant: others already give the same list boundaries.
    fn follows(&self, name: &str, numbers: Option<&Numbers>) -> Option<&'static str> {
        let (place, part) = name.rsplit_once('/').unwrap_or(("", name));
        let numbers = numbers?;
        // With several dimensions they carry more than counts and offsets do.
        let is_plain = |added: &&Added| added.array.shape.len() == 1;
        let of =
            |part: &str| self.part(place, part).filter(is_plain).and_then(|added| added.numbers.as_ref());
        let (counts, offsets) = (of("counts"), of("offsets"));
        let is = |known: Option<&Numbers>, hash: fn(&Numbers) -> u64| {
            known.is_some_and(|known| hash(known) == numbers.values.finish())
        };
        let is_said = match part {
            "offsets" => is(counts, |counts| counts.offsets()),
            "starts" => is(counts, |counts| counts.starts.finish()),
            "stops" => is(counts, |counts| counts.stops.finish()),
            "counts" => offsets.is_some_and(|offsets| offsets.values.finish() == numbers.offsets()),
            _ => false,
        };
        let has_bounds = part == "counts" && of("starts").is_some() && of("stops").is_some();
        let follows = "not written: it follows from the numbers beside it";
        (is_said || has_bounds).then_some(follows)
    }

    fn written(&self, name: &str, data: &mut dyn Read, compression: Compression) -> io::Result<Written> {
        let body = Body { head: Vec::new(), data, compression };
        self.members.write(&self.file.file, self.file.directory(), name, body)
    }

    /// Names in the root that are parts of an array without a name: the elements of a flat one, or the parts of a
    /// jagged one.
    fn nameless(&self) -> &'static [&'static str] {
        let has = |part: &str| self.arrays.contains_key(part);
        if has("data")
            && self.declared.get("").is_some_and(|declared| declared.iter().any(|declared| declared.is_flat))
        {
            return &["data"];
        }
        let has_lists = has("counts") || has("offsets") || (has("starts") && has("stops"));
        let has_content = || self.names.iter().any(|name| name == "content" || name.starts_with("content/"));
        if has_lists && has_content() { &JAGGED } else { &[] }
    }

    /// The elements of the flat array at a path.
    fn elements(&self, place: &str) -> Option<&Added> {
        let is_array = !place.is_empty() || self.nameless() == ["data"];
        // A dataset named like a directory may be the data of another array.
        let of_that_name = self.arrays.get(place).filter(|_| !self.wholes.contains_key(place));
        of_that_name.or_else(|| self.part(place, "data").filter(|_| is_array))
    }

    fn part(&self, place: &str, part: &str) -> Option<&Added> {
        self.arrays.get(&below(place, part))
    }

    /// The path of the array that a dataset belongs to.
    fn place<'n>(&self, name: &'n str, nameless: &[&str]) -> &'n str {
        let is_whole =
            |(place, part): &(&str, &str)| is_part(first(part)) && self.wholes.contains_key(*place);
        let above =
            name.rmatch_indices('/').filter_map(|(at, _)| Some((name.get(..at)?, name.get(at + 1..)?)));
        above.into_iter().find(is_whole).map_or_else(|| root(name, nameless), |(place, _)| place)
    }

    /// The schemas, with their member names.
    fn schemas(&self) -> io::Result<Vec<(String, Vec<u8>)>> {
        let mut schemas = Vec::new();
        let (mut done, mut roots, mut used) = (HashSet::new(), HashSet::new(), HashSet::new());
        let nameless = self.nameless();
        for name in &self.names {
            let place = self.place(name, nameless);
            if !done.insert(place) {
                continue;
            }
            let root = self.wholes.get(place).map_or(place, |name| name);
            if !roots.insert(root) {
                return Err(io::Error::other(format!("there are two arrays {root:?}: rename one of them")));
            }
            let mut schema = Schema::new(self, root);
            let made = schema.array(place, 0).and_then(|dimensions| match self.declared.get(place) {
                Some(declared) => Declared::check(declared, &dimensions),
                None => Ok(()),
            });
            made.map_err(|problem| {
                let is_meant_otherwise = place != name && !self.wholes.contains_key(place);
                let hint = if is_meant_otherwise { OTHERWISE } else { "" };
                io::Error::other(format!("array {root:?}: {problem}{hint}"))
            })?;
            let mut text = format!("{{\"awkward0\": \"{VERSION}\", \"schema\": ").into_bytes();
            used.extend(schema.used);
            text.extend(schema.json);
            if !root.is_empty() {
                text.extend(b", \"prefix\": ");
                ascii(&format!("{root}-"), &mut text);
            }
            text.push(b'}');
            schemas.push((format!("{root}.json"), text));
        }
        let is_lost = |(_, added): &(&String, &Added)| !used.contains(&*added.member);
        if let Some((name, _)) = self.arrays.iter().find(is_lost) {
            let place = self.place(name, nameless);
            return Err(io::Error::other(format!(
                "dataset {name:?} is not part of array {place:?}{OTHERWISE}"
            )));
        }
        Ok(schemas)
    }
}

fn below(place: &str, part: &str) -> String {
    if place.is_empty() { part.to_owned() } else { format!("{place}/{part}") }
}

/// The first component of a name.
fn first(name: &str) -> &str {
    name.split_once('/').map_or(name, |(first, _)| first)
}

fn is_part(component: &str) -> bool {
    component == "data" || JAGGED.contains(&component)
}

/// How to fix an array that was read as another kind.
const OTHERWISE: &str = " (datasets called counts, offsets, starts, stops, content or data are taken as \
    parts of an array: an array of its own needs another name)";

/// The parts of a jagged array.
const JAGGED: [&str; 5] = ["counts", "offsets", "starts", "stops", "content"];

/// Python truncates member names at a NUL, which would change the array's name.
fn whole(name: &str) -> io::Result<()> {
    match name.contains('\0') {
        true => Err(io::Error::other(
            "its name has a NUL, at which Awkward Array's ZIP files end names: rename it",
        )),
        false => Ok(()),
    }
}

/// The array that a file named `name` describes, if it is a description.
fn described_array(name: &str) -> Option<&str> {
    let (place, file) = name.rsplit_once('/').unwrap_or(("", name));
    (file == "meta.yaml").then_some(place)
}

/// The array that a dataset belongs to: its name up to the first part of a jagged array, or of one without a name.
fn root<'n>(name: &'n str, nameless: &[&str]) -> &'n str {
    if nameless.contains(&first(name)) {
        return "";
    }
    let mut at = 0;
    for part in name.split('/') {
        if at > 0 && is_part(part) {
            return name.get(..at - 1).unwrap_or(name);
        }
        at += part.len() + 1;
    }
    name
}

/// Summarises integers as they pass through.
struct Watched<'r> {
    input: &'r mut dyn Read,
    dtype: Option<Dtype>,
    /// Bytes of an incomplete number.
    rest: Vec<u8>,
    found: Numbers,
}

impl<'r> Watched<'r> {
    fn new(input: &'r mut dyn Read, array: &Array) -> Watched<'r> {
        let is_int = matches!(array.dtype.element.kind, Kind::Int | Kind::Uint);
        Watched { input, dtype: is_int.then_some(array.dtype), rest: Vec::new(), found: Numbers::none() }
    }

    fn look(&mut self, bytes: &[u8]) {
        let Some(dtype) = self.dtype else { return };
        self.rest.extend_from_slice(bytes);
        let size = (dtype.element.size as usize).max(1);
        let whole = self.rest.len() / size * size;
        for item in self.rest.get(..whole).unwrap_or_default().chunks_exact(size) {
            self.found.add(array::int(item, dtype));
        }
        self.rest.drain(..whole);
    }

    /// None if they are not integers.
    fn numbers(&self) -> Option<Numbers> {
        self.dtype.map(|_| self.found.clone())
    }
}

impl Read for Watched<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.input.read(into)?;
        self.look(into.get(..count).unwrap_or_default());
        Ok(count)
    }
}

impl NewFile for Writer {
    fn path(&self) -> &Path {
        &self.path
    }

    fn put(&mut self, dataset: &NewDataset<'_>, data: &mut dyn Read) -> io::Result<Vec<String>> {
        let name = dataset.name.as_str().ok_or_else(|| io::Error::other("its name is not Unicode"))?;
        whole(name)?;
        let NewContent::Array(array) = dataset.what else {
            if let Some(place) = described_array(name)
                && let Some(declared) = parts::read(data)?
            {
                let is_so = |own: &&str| naming::can_become(own.as_bytes(), place.as_bytes());
                let own = declared.name.clone().filter(|own| is_so(&&**own));
                // A name that would be ambiguous is replaced by the path of the file.
                if let Some(array) = &declared.array {
                    whole(array)?;
                    self.wholes.insert(own.clone().unwrap_or_else(|| place.to_owned()), array.clone());
                }
                for name in own.into_iter().chain([place.to_owned()]) {
                    self.declared.entry(name).or_default().push(declared.clone());
                }
                return Ok(vec!["not written: a schema is written instead".into()]);
            }
            return Err(io::Error::other(
                "it is not an array, and Awkward containers hold flat and jagged arrays: leave it out (a \
                 .rab file holds everything)",
            ));
        };
        let mut left_out = Vec::new();
        if array.shape.is_empty() {
            left_out.push("it becomes an array of one element".into());
        }
        left_out.extend(lost::metadata(dataset));
        dtype(array).map_err(io::Error::other)?;
        if self.arrays.contains_key(name) {
            return Err(io::Error::other("there is already a dataset of this name"));
        }
        let need = byte_len(array.dtype.element, &array.shape);
        let need = need.ok_or_else(|| io::Error::other("its shape is too large for an array"))?;
        let mut exactly = Exactly::new(data, need);
        let mut watched = Watched::new(&mut exactly, array);
        // The blob's name must begin with the name of the array it belongs to.
        let member = format!("{}-{}.raw", root(name, &[]), self.members.count());
        // Starts and stops are read again later.
        let is_read_again = matches!(name.rsplit('/').next(), Some("starts" | "stops"));
        let compression = dataset.compression.filter(|_| !is_read_again).unwrap_or_default();
        let written = self.written(&member, &mut watched, compression)?;
        let numbers = watched.numbers();
        if let Some(why) = self.follows(name, numbers.as_ref()) {
            // The next member overwrites it.
            return Ok(vec![why.into()]);
        }
        let at = written.end.saturating_sub(need);
        self.members.keep(written);
        self.names.push(name.to_owned());
        self.arrays.insert(name.to_owned(), Added { array: array.clone(), member, at, numbers });
        Ok(left_out)
    }

    fn close(mut self) -> io::Result<()> {
        if self.names.is_empty() {
            return Err(io::Error::other(
                "there is no array to write, and a container without one cannot be read",
            ));
        }
        for (name, text) in self.schemas()? {
            let written = self.written(&name, &mut text.as_slice(), Compression::None)?;
            self.members.keep(written);
        }
        self.members.finish(&self.file.file)?;
        self.file.finish()
    }
}
