//! Packs files into one or several FFRecord files: each file becomes one record, or is divided by its framing.

use std::cell::RefCell;
use std::fs::File;
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};

use super::framing::{Frames, Framing};
use super::shards::Shards;
use super::{Passed, Writer, input};
use crate::error::Place;
use crate::source::interruptible::{self, Interruptible};
use crate::{Error, Result};

/// How files become records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Packing {
    /// How an input is divided into records.
    pub framing: Framing,
    /// This many files `PART_00000.ffr`, ... in a new directory, in place of one file.
    pub shards: Option<u32>,
    /// An existing target may be replaced: a file, or with shards a directory that has only .ffr files.
    pub force: bool,
}

/// The input name that stands for standard input.
const STDIN: &str = "-";

/// Packs `inputs`, in order, into an FFRecord file at `target`, or a directory of them; `-` is standard input, which
/// may be a pipe. Returns the number of records. On failure nothing is left behind.
///
/// All shards get the same number of records, except that the last may get fewer; as in the reference writer, there can
/// be fewer shards than requested.
pub fn pack_files(target: &Path, inputs: &[PathBuf], packing: &Packing, passed: Passed<'_>) -> Result<u64> {
    match packing.shards {
        None => {
            let announced = (packing.framing == Framing::Whole).then_some(inputs.len() as u64);
            let writer = Writer::new(target, announced, packing.force)?;
            let passed = shared(passed);
            let mut to = To { writer: Some(writer), parts: None, count: 0, passed: &passed };
            to.all(inputs, packing.framing)?;
            to.finish()
        }
        Some(shards) => pack_shards(target, inputs, packing, shards, passed),
    }
}

fn pack_shards(
    target: &Path,
    inputs: &[PathBuf],
    packing: &Packing,
    shards: u32,
    passed: Passed<'_>,
) -> Result<u64> {
    let failed = |problem: String| Error::write(Place::file(target), io::Error::other(problem));
    if shards == 0 || shards > 100_000 {
        return Err(Error::Usage(format!("{shards} shards: choose a number from 1 to 100000")));
    }
    let directory = Shards::new(target, packing.force)?;
    let count = match packing.framing {
        Framing::Whole => inputs.len() as u64,
        framing => count_records(inputs, framing, passed)?,
    };
    let passed = shared(passed);
    let each = count.div_ceil(shards.into()).max(1);
    let parts = Parts { directory: directory.path().to_owned(), each, count };
    let mut to = To { writer: None, parts: Some(parts), count: 0, passed: &passed };
    to.all(inputs, packing.framing)?;
    if to.count == 0 {
        to.next_part()?;
    }
    let added = to.finish()?;
    if added != count {
        let problem =
            format!("{count} records were counted, but {added} were read: the input changed meanwhile");
        return Err(failed(problem));
    }
    directory.finish()?;
    Ok(added)
}

fn count_records(inputs: &[PathBuf], framing: Framing, passed: Passed<'_>) -> Result<u64> {
    let mut count = 0;
    for input in inputs {
        let failed = |cause| Error::read(place(input), cause);
        let file = open(input)?;
        if is_stdin(input) || !file.metadata().map_err(failed)?.is_file() {
            return Err(Error::Usage(format!(
                "{}: --shards counts the records before it reads them, which only regular files allow: save \
                 the input to a file first",
                place(input)
            )));
        }
        let mut frames = Frames::new(buffered(file), framing, place(input));
        while frames.advance()? {
            io::copy(&mut frames, &mut io::sink()).map_err(failed)?;
            passed(0)?;
            count += 1;
        }
    }
    Ok(count)
}

fn is_stdin(input: &Path) -> bool {
    input.as_os_str() == STDIN
}

fn place(input: &Path) -> Place {
    Place::file(if is_stdin(input) { Path::new("standard input") } else { input })
}

fn open(input: &Path) -> Result<File> {
    let file = match is_stdin(input) {
        true => interruptible::stdin(),
        false => interruptible::open(input),
    };
    file.map_err(|cause| Error::open(&place(input).file, cause))
}

fn buffered<R: io::Read>(from: R) -> BufReader<R> {
    BufReader::with_capacity(256 << 10, from)
}

fn shared(passed: Passed<'_>) -> impl Fn(u64) -> Result<()> {
    let passed = RefCell::new(passed);
    move |bytes| (passed.borrow_mut())(bytes)
}

/// Where records go.
struct To<'p> {
    writer: Option<Writer>,
    parts: Option<Parts>,
    count: u64,
    /// Also called by an input's reader while it waits.
    passed: &'p dyn Fn(u64) -> Result<()>,
}

struct Parts {
    directory: PathBuf,
    /// Records per part.
    each: u64,
    /// Total records, over all parts.
    count: u64,
}

impl To<'_> {
    fn all(&mut self, inputs: &[PathBuf], framing: Framing) -> Result<()> {
        for input in inputs {
            let (file, place) = (open(input)?, place(input));
            let is_dir = file.metadata().map(|meta| meta.is_dir());
            if is_dir.map_err(|cause| Error::read(place.clone(), cause))? {
                return Err(Error::read(place, io::ErrorKind::IsADirectory.into()));
            }
            let go_on = || (self.passed)(0);
            let from = buffered(Interruptible::new(file, &go_on));
            let mut frames = Frames::new(from, framing, place.clone());
            while frames.advance()? {
                let writer = next_writer(&mut self.writer, &self.parts, &mut self.count)?;
                input::add(writer, &place.file, &mut frames, &mut { self.passed })?;
                (self.passed)(framing.around())?;
            }
            // A signal may have killed the producer too; the end of its pipe is then not the end of its records.
            go_on()?;
        }
        Ok(())
    }

    fn next_part(&mut self) -> Result<()> {
        self.writer = next_part(self.parts.as_ref(), 0)?;
        Ok(())
    }

    fn finish(self) -> Result<u64> {
        self.writer.map_or(Ok(()), Writer::finish)?;
        Ok(self.count)
    }
}

/// The writer for record number `count`, which is then incremented.
fn next_writer<'w>(
    writer: &'w mut Option<Writer>,
    parts: &Option<Parts>,
    count: &mut u64,
) -> Result<&'w mut Writer> {
    if let Some(parts) = parts.as_ref().filter(|parts| count.is_multiple_of(parts.each)) {
        writer.take().map_or(Ok(()), Writer::finish)?;
        *writer = next_part(Some(parts), *count)?;
    }
    *count += 1;
    writer.as_mut().ok_or_else(|| Error::Other("there is no file for the record".into()))
}

/// The writer for the part that begins with record `first`.
fn next_part(parts: Option<&Parts>, first: u64) -> Result<Option<Writer>> {
    let Some(parts) = parts else { return Ok(None) };
    let path = parts.directory.join(format!("PART_{:05}.ffr", first / parts.each));
    Writer::create_for(path, parts.each.min(parts.count.saturating_sub(first))).map(Some)
}
