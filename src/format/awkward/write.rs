//! Writing flat and jagged arrays, as the reference reads them: members one after the other, stored, and then a schema
//! for each array. A flat array called N is N; a jagged one is told by the names of its parts, as a mount has them:
//! ```text
//! N/counts, or N/offsets, or N/starts and N/stops      where its lists are
//! N/content   (or N/content/data)                      what they are of; or the parts of another jagged array
//! ```
//! What follows from what came before (offsets from counts, as a mount shows both) is left out, after it was compared;
//! so is `meta.yaml`.

mod schema;

use std::collections::{BTreeMap, HashSet};
use std::hash::{DefaultHasher, Hasher};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use crate::array::{self, Array, Dtype, Kind, byte_len};
use crate::codec::deflate::Compressor;
use crate::error::Place;
use crate::format::Compression;
use crate::format::target::input::Exactly;
use crate::format::target::zip::{self, Body, Written};
use crate::format::target::{NewContainer, NewDataset, Temporary, What, WriteOptions};
use crate::{Error, Result};
use schema::{Schema, ascii, dtype};

/// What is written is what this version of the reference reads and writes.
const VERSION: &str = "0.15.5";

pub struct Writer {
    path: PathBuf,
    file: Temporary,
    compressor: Compressor,
    /// Bytes that are to stay.
    len: u64,
    directory: Vec<u8>,
    count: u64,
    arrays: BTreeMap<String, Added>,
    /// In their order.
    names: Vec<String>,
}

/// A flat array whose bytes are written.
struct Added {
    array: Array,
    member: String,
    /// Of whole numbers.
    numbers: Option<Numbers>,
}

/// What is known of whole numbers without reading them again.
#[derive(Clone)]
struct Numbers {
    /// Of the numbers, and of where lists with so many items each begin and end.
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

    /// Of the offsets of lists with so many items each.
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
        let compressor = Compressor::new(options.jobs);
        let (directory, arrays, names) = (Vec::new(), BTreeMap::new(), Vec::new());
        Ok(Writer { path: path.to_owned(), file, compressor, len: 0, directory, count: 0, arrays, names })
    }

    fn put(&mut self, dataset: &NewDataset<'_>, data: &mut dyn Read) -> io::Result<Vec<String>> {
        let name = dataset.name.as_str().ok_or_else(|| io::Error::other("its name is not Unicode"))?;
        let What::Array(array) = dataset.what else {
            if name.rsplit('/').next() == Some("meta.yaml") {
                io::copy(data, &mut io::sink())?;
                return Ok(vec![
                    "it is left out: flat and jagged arrays are written, and nothing else that it tells"
                        .into(),
                ]);
            }
            return Err(io::Error::other(
                "it is no array, and Awkward containers hold flat and jagged arrays",
            ));
        };
        let mut left_out = Vec::new();
        if array.shape.is_empty() {
            left_out.push("it becomes an array of one element".into());
        }
        if dataset.metadata.as_map().is_some_and(|pairs| !pairs.is_empty()) {
            left_out.push("its metadata is left out".into());
        }
        dtype(array).map_err(io::Error::other)?;
        if self.arrays.contains_key(name) {
            return Err(io::Error::other("there is a dataset of this name already"));
        }
        let need = byte_len(array.dtype.element, &array.shape);
        let need = need.ok_or_else(|| io::Error::other("there is no array of its shape"))?;
        let mut exactly = Exactly::new(data, need);
        let mut watched = Watched::new(&mut exactly, array);
        // The blob's name has to begin with that of the array that it becomes a part of.
        let member = format!("{}-{}.raw", root(name), self.count);
        let written = self.written(&member, &mut watched)?;
        let numbers = watched.numbers();
        if let Some(why) = self.follows(name, numbers.as_ref()) {
            // The next member takes its place.
            return Ok(vec![why.into()]);
        }
        self.keep(written);
        self.names.push(name.to_owned());
        self.arrays.insert(name.to_owned(), Added { array: array.clone(), member, numbers });
        Ok(left_out)
    }

    /// Why the numbers just read say nothing new beside others that tell where the same lists are.
    fn follows(&self, name: &str, numbers: Option<&Numbers>) -> Option<&'static str> {
        let (place, part) = name.rsplit_once('/').unwrap_or(("", name));
        let numbers = numbers?;
        let of = |part: &str| self.part(place, part).and_then(|added| added.numbers.as_ref());
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
        let follows = "it is left out: it follows from the numbers beside it";
        (is_said || has_bounds).then_some(follows)
    }

    fn written(&self, name: &str, data: &mut dyn Read) -> io::Result<Written> {
        let body = Body { head: Vec::new(), data, compression: Compression::None };
        let (file, directory) = (&self.file.file, self.file.directory());
        let place = zip::Place { file, directory, compressor: &self.compressor };
        zip::write(&place, self.len, name, body)
    }

    fn keep(&mut self, Written { entry, end }: Written) {
        self.directory.extend(entry);
        (self.len, self.count) = (end, self.count + 1);
    }

    /// Are parts of a jagged array in the root? Then they are those of an array without a name.
    fn has_nameless(&self) -> bool {
        let has = |part: &str| self.arrays.contains_key(part);
        let has_lists = has("counts") || has("offsets") || (has("starts") && has("stops"));
        has_lists && self.names.iter().any(|name| name == "content" || name.starts_with("content/"))
    }

    fn part(&self, place: &str, part: &str) -> Option<&Added> {
        self.arrays.get(&below(place, part))
    }

    /// Writes the schemas.
    fn schemas(&mut self) -> io::Result<()> {
        let mut schemas: Vec<(String, Vec<u8>)> = Vec::new();
        let (mut done, has_nameless) = (HashSet::new(), self.has_nameless());
        for name in &self.names {
            let root = if has_nameless && is_part_of_nameless(name) { "" } else { root(name) };
            if !done.insert(root) {
                continue;
            }
            let mut schema = Schema::new(self, root);
            schema
                .array(root, 0)
                .map_err(|problem| io::Error::other(format!("array {root:?}: {problem}")))?;
            let mut text = format!("{{\"awkward0\": \"{VERSION}\", \"schema\": ").into_bytes();
            text.extend(schema.json);
            if !root.is_empty() {
                text.extend(b", \"prefix\": ");
                ascii(&format!("{root}-"), &mut text);
            }
            text.push(b'}');
            schemas.push((format!("{root}.json"), text));
        }
        for (name, text) in schemas {
            let written = self.written(&name, &mut text.as_slice())?;
            self.keep(written);
        }
        Ok(())
    }

    fn close(mut self) -> io::Result<()> {
        self.schemas()?;
        let Writer { file, len, directory, count, .. } = self;
        let end = zip::end(len, directory.len() as u64, count);
        file.file.set_len(len)?;
        let mut to = zip::At { file: &file.file, at: len };
        to.write_all(&directory)?;
        to.write_all(&end)?;
        file.finish()
    }
}

fn below(place: &str, part: &str) -> String {
    if place.is_empty() { part.to_owned() } else { format!("{place}/{part}") }
}

fn is_part_of_nameless(name: &str) -> bool {
    let first = name.split('/').next();
    matches!(first, Some("counts" | "offsets" | "starts" | "stops" | "content"))
}

/// The array that a dataset is a part of: its name up to the first part of a jagged array.
fn root(name: &str) -> &str {
    let mut at = 0;
    for part in name.split('/') {
        let is_part = matches!(part, "counts" | "offsets" | "starts" | "stops" | "content" | "data");
        if is_part && at > 0 {
            return name.get(..at - 1).unwrap_or(name);
        }
        at += part.len() + 1;
    }
    name
}

/// Looks at whole numbers on their way.
struct Watched<'r> {
    input: &'r mut dyn Read,
    dtype: Option<Dtype>,
    /// Of a number that is not all there yet.
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

    /// None: they are no whole numbers.
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

impl NewContainer for Writer {
    fn add(&mut self, dataset: &NewDataset<'_>, data: &mut dyn Read) -> Result<Vec<String>> {
        let place = Place::file(&self.path).dataset(&dataset.name.lossy());
        self.put(dataset, data).map_err(|cause| Error::write(place, cause))
    }

    fn finish(self: Box<Self>) -> Result<()> {
        let place = Place::file(&self.path);
        self.close().map_err(|cause| Error::write(place, cause))
    }
}
