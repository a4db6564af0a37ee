//! Files as records: one of each file, or one of each of its lines; into one FFRecord file or several.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use super::shards::Shards;
use super::{Passed, Writer, input};
use crate::error::Place;
use crate::{Error, Result};

/// How files become records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Packing {
    /// A record for each line, without its line break, in place of one for each file.
    pub lines: bool,
    /// So many files `PART_00000.ffr`, ... in a new directory, in place of one file.
    pub shards: Option<u32>,
    /// What is at the target may be replaced: a file, or with shards a directory of .ffr files alone.
    pub force: bool,
}

/// Makes an FFRecord file at `target` (or a directory of them) of `inputs`, in their order. Returns how many records
/// there are. If it fails nothing is left.
///
/// With shards, each gets the same number of records but the last, which may get fewer; as in the reference
/// writer they can be fewer than was asked for.
pub fn pack_files(target: &Path, inputs: &[PathBuf], packing: &Packing, passed: Passed<'_>) -> Result<u64> {
    match packing.shards {
        None => {
            let announced = (!packing.lines).then_some(inputs.len() as u64);
            let writer = Writer::new(target, announced, packing.force)?;
            let mut to = To { writer: Some(writer), parts: None, count: 0, passed };
            to.all(inputs, packing.lines)?;
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
        return Err(Error::Usage(format!("{shards} shards: 1 to 100000 can be made")));
    }
    let directory = Shards::new(target, packing.force)?;
    let count = if packing.lines { count_lines(inputs, passed)? } else { inputs.len() as u64 };
    let each = count.div_ceil(shards.into()).max(1);
    let parts = Parts { directory: directory.path().to_owned(), each, count };
    let mut to = To { writer: None, parts: Some(parts), count: 0, passed };
    to.all(inputs, packing.lines)?;
    if to.count == 0 {
        to.next_part()?;
    }
    let added = to.finish()?;
    if added != count {
        let problem = format!("{count} lines were counted, {added} came: the input changed meanwhile");
        return Err(failed(problem));
    }
    directory.finish()?;
    Ok(added)
}

fn count_lines(inputs: &[PathBuf], passed: Passed<'_>) -> Result<u64> {
    let mut count = 0;
    for input in inputs {
        let failed = |cause| Error::read(Place::file(input), cause);
        let mut file = open(input)?;
        if !file.get_ref().metadata().map_err(failed)?.is_file() {
            let shown = input.display();
            let problem = "its lines cannot be counted before they are read, which shards need";
            return Err(Error::Usage(format!("{shown}: {problem}; it is not a regular file")));
        }
        while has_more(&mut file).map_err(failed)? {
            io::copy(&mut Line::new(&mut file), &mut io::sink()).map_err(failed)?;
            passed(0)?;
            count += 1;
        }
    }
    Ok(count)
}

fn open(input: &Path) -> Result<BufReader<File>> {
    let file = File::open(input).map_err(|cause| Error::open(input, cause))?;
    Ok(BufReader::with_capacity(256 << 10, file))
}

/// Is there another line?
fn has_more(from: &mut impl BufRead) -> io::Result<bool> {
    loop {
        match from.fill_buf() {
            Ok(bytes) => return Ok(!bytes.is_empty()),
            Err(cause) if cause.kind() == io::ErrorKind::Interrupted => {}
            Err(cause) => return Err(cause),
        }
    }
}

/// A line without its line break, which is passed over at the end. No line is whole in memory.
struct Line<'l, R> {
    from: &'l mut R,
    is_over: bool,
}

impl<'l, R: BufRead> Line<'l, R> {
    fn new(from: &'l mut R) -> Line<'l, R> {
        Line { from, is_over: false }
    }
}

impl<R: BufRead> Read for Line<'_, R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.is_over || into.is_empty() {
            return Ok(0);
        }
        let here = self.from.fill_buf()?;
        let end = memchr::memchr(b'\n', here);
        let count = end.unwrap_or(here.len()).min(into.len());
        into.iter_mut().zip(here).take(count).for_each(|(to, from)| *to = *from);
        let is_break = end == Some(count);
        self.is_over = is_break || here.is_empty();
        self.from.consume(count + usize::from(is_break));
        Ok(count)
    }
}

/// Where records go.
struct To<'p> {
    writer: Option<Writer>,
    parts: Option<Parts>,
    count: u64,
    passed: Passed<'p>,
}

struct Parts {
    directory: PathBuf,
    /// Records of a part.
    each: u64,
    /// Of all parts.
    count: u64,
}

impl To<'_> {
    fn all(&mut self, inputs: &[PathBuf], lines: bool) -> Result<()> {
        for input in inputs {
            let mut file = open(input)?;
            let failed = |cause| Error::read(Place::file(input), cause);
            if lines {
                while has_more(&mut file).map_err(failed)? {
                    let writer = next_writer(&mut self.writer, &self.parts, &mut self.count)?;
                    input::add(writer, input, &mut Line::new(&mut file), self.passed)?;
                    (self.passed)(1)?;
                }
            } else {
                if file.get_ref().metadata().map_err(failed)?.is_dir() {
                    return Err(failed(io::ErrorKind::IsADirectory.into()));
                }
                let writer = next_writer(&mut self.writer, &self.parts, &mut self.count)?;
                input::add(writer, input, &mut file, self.passed)?;
            }
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

/// The writer of the record with number `count`, which is counted.
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

/// The writer of the part that begins with the record `first`.
fn next_part(parts: Option<&Parts>, first: u64) -> Result<Option<Writer>> {
    let Some(parts) = parts else { return Ok(None) };
    let path = parts.directory.join(format!("PART_{:05}.ffr", first / parts.each));
    Writer::create_for(path, parts.each.min(parts.count.saturating_sub(first))).map(Some)
}
